"""Others' JSON Schemas: checked without ever fetching a remote reference, in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from dogu.contract import ErrorKind, JsonObject, ToolError


def schema_problem(name: str, schema: JsonObject) -> str:
    """Say what is wrong with the schema of a tool's parameters; '' when arguments can be checked against it."""
    try:
        _validator(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        return f"the parameters of {name!r} are no valid JSON Schema: {str(error).splitlines()[0][:200]}"
    return ""


def check_arguments(name: str, schema: JsonObject, arguments: Mapping[str, Any]) -> None:
    """Raise `ToolError` (INVALID_ARGUMENTS) that names each argument which doesn't fit, at most five."""
    problems: list[str] = []
    for error in _validator(schema).iter_errors(dict(arguments)):
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path).lstrip(".")
        problems.append(f"{path or 'the arguments'}: {error.message[:300]}")
        if len(problems) == 5:
            break
    if problems:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {name}: {'; '.join(problems)}.")


def _validator(schema: JsonObject) -> Any:
    options = jsonschema_rs.RegexOptions()  # a linear-time engine
    return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=options)


def _refuse(uri: str) -> Any:
    raise ValueError(f"remote references are not fetched: {uri}")
