"""Configured objects (model, regime, attacker, head, method) to plain types and back, through the registries."""

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator

from holdtrue._types import Json
from holdtrue.causal import SCM
from holdtrue.errors import DataError
from holdtrue.methods import METHODS
from holdtrue.models import ARCHITECTURES
from holdtrue.schema import Schema
from holdtrue.training import ATTACKERS, REGIMES, HeadSettings

FAMILIES: Mapping[str, Mapping[str, type]] = {
    "model": ARCHITECTURES, "regime": REGIMES, "attacker": ATTACKERS, "method": METHODS,
    "settings": {"head": HeadSettings},
}  # fmt: skip


def describe(value: Json) -> Json:
    """Plain types for JSON; a configured object becomes its registered name and its parameters."""
    if isinstance(value, Schema):
        return {"$schema": value.to_dict()}
    if isinstance(value, SCM):
        return {"$scm": value.to_dict()}
    if isinstance(value, BaseEstimator):
        for family, registry in FAMILIES.items():
            for name, cls in registry.items():
                if type(value) is cls:
                    params = {k: describe(v) for k, v in value.get_params(deep=False).items()}
                    return {f"${family}": name, "params": params}
        raise DataError(
            f"save: {type(value).__name__} is not registered, so a model file cannot name it. Call "
            "holdtrue.methods.register, holdtrue.training.register or holdtrue.models.register first."
        )
    if isinstance(value, (list, tuple)):
        return [describe(v) for v in value]
    if isinstance(value, dict):
        return {"$pairs": [[describe(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise DataError(f"save: cannot write a parameter of type {type(value).__name__}; got {value!r}.")


def rebuild(raw: Json) -> Json:
    """The inverse of `describe`. Only registered classes are made; nothing is imported by name."""
    if isinstance(raw, list):
        return tuple(rebuild(v) for v in raw)
    if not isinstance(raw, dict):
        return raw
    if "$schema" in raw:
        return Schema.from_dict(raw["$schema"])
    if "$scm" in raw:
        return SCM.from_dict(raw["$scm"])
    if "$pairs" in raw:
        return {rebuild(k): rebuild(v) for k, v in raw["$pairs"]}
    for family, registry in FAMILIES.items():
        name = raw.get(f"${family}")
        if name is None:
            continue
        if name not in registry:
            raise DataError(
                f"load: the file names an unknown {family}; got {name!r}. Register it, then load again."
            )
        params = {k: rebuild(v) for k, v in raw["params"].items()}
        try:
            return registry[name](**params)
        except (TypeError, DataError) as error:
            raise DataError(f"load: the {family} {name!r} does not take these parameters ({error}).") from error
    raise DataError(f"load: the file is damaged; got {str(raw)[:80]!r} where an object was expected.")
