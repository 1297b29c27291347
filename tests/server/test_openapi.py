"""What the OpenAPI says is what the service does: generated requests, right and wrong."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


REFUSED = {400, 401, 404, 422}
QUICK = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
def test_generated_requests(world, mode):
    admin = {"Authorization": f"Bearer {world.tokens['admin']}"}

    async def alive(scope, receive, send):
        """The application, which is not started and ended with every request."""
        if scope["type"] != "lifespan":
            await world.app(scope, receive, send)
            return
        for _ in ("startup", "shutdown"):
            message = await receive()
            await send({"type": f"{message['type']}.complete"})

    described = schemathesis.openapi.from_asgi("/openapi.json", alive, headers=admin)
    codes: dict[str, set[int]] = {}
    for found in described.get_all_operations():
        operation = found.ok()
        if mode.is_negative and operation.method == "get" and "{" not in operation.path:
            continue  # nothing in it could be wrong

        @QUICK
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            response = case.call(headers=admin, timeout=60)
            codes.setdefault(case.operation.label, set()).add(response.status_code)
            wrong = {place.value for place, part in case.meta.components.items() if part.mode.is_negative}
            assert "body" not in wrong or response.status_code in REFUSED
            case.validate_response(response, checks=CHECKS)

        ask()
    asked = codes["POST /v1/recourse"]
    assert asked & REFUSED if mode.is_negative else 200 in asked


def test_the_models_columns_are_described(world, bank):
    person = world.app.openapi()["components"]["schemas"]["Person"]
    assert list(person["properties"]) == bank.schema.names
    assert person["additionalProperties"] is False
    assert set(person["required"]) == set(bank.schema.names)
    assert person["properties"]["cons"]["enum"] == list(bank.schema["cons"].levels)
    assert person["properties"]["dep"]["type"] == "integer"
