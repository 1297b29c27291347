"""The JSON Schema of a schema file: what editors complete and check YAML by."""

import json
from importlib.resources import files

from holdtrue._types import JsonObject

FILE_NAME = "holdtrue-schema.json"


def json_schema() -> JsonObject:
    """The JSON Schema that a schema file keeps, as plain types; a file of the package has it.

    It says all about one entry; what entries must have in common, such as levels that a constraint names, is said
    when the file is read.

    Examples
    --------
    >>> json_schema()["properties"]["features"]["minItems"]
    1
    """
    return json.loads((files("holdtrue.schema") / FILE_NAME).read_text(encoding="utf-8"))
