"""One line of a stdio server into a message, forgiving what a server gets wrong. Imports the SDK: import it late."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, cast

import msgspec
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from dogu.contract import JsonObject
from dogu.language import told

_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,80}")')
_DEEP = 5_000


class MalformedLine(ValueError):  # noqa: N818  (it says what a line is)
    """A line that begins like a message and isn't one; `request_id` is what it seems to answer."""

    def __init__(self, what: str, request_id: int | str | None) -> None:
        super().__init__(what)
        self.request_id = request_id


def read_line(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line; None for an empty line or one that is no JSON object (a log line).

    A byte order mark is skipped, bytes that are no UTF-8 are replaced, an answer with both a result and an error is an
    error. Raises `MalformedLine`.
    """
    line = line.strip().removeprefix(b"\xef\xbb\xbf")
    if not line.startswith(b"{"):
        return None
    try:
        fields = cast("JsonObject", _decoded(line))
    except (ValueError, RecursionError) as error:
        found = _ID.search(line[:1_000]) or _ID.search(line[-200:])
        raise MalformedLine(
            told("no valid JSON ({error})", error=error), json.loads(found[1]) if found else None
        ) from error
    return _message(fields)


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(line.decode("utf-8", "replace"))  # it knows lone surrogates and NaN
    except RecursionError:
        present = sys.getrecursionlimit()
        sys.setrecursionlimit(_DEEP)  # one schema that is too deep must not cost the others in its line
        try:
            return json.loads(line.decode("utf-8", "replace"))
        finally:
            sys.setrecursionlimit(present)


def _message(fields: JsonObject) -> JSONRPCMessage | None:
    request_id = fields.get("id")
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)
    if not isinstance(request_id, int | str) or isinstance(request_id, bool):
        request_id = None
    method, params = fields.get("method"), _object(fields.get("params"))
    # The SDK's own checks are skipped (model_construct): they would go through every value of a large answer.
    if isinstance(method, str):
        if request_id is None:
            return JSONRPCNotification.model_construct(jsonrpc="2.0", method=method, params=params)
        return JSONRPCRequest.model_construct(jsonrpc="2.0", id=request_id, method=method, params=params)
    if fields.get("error") is not None:
        return JSONRPCError.model_construct(jsonrpc="2.0", id=request_id, error=_error(fields["error"]))
    if request_id is None:
        return None
    result = fields.get("result")
    if not isinstance(result, dict):
        error = ErrorData(code=-32603, message=told("it answered without a result"))
        return JSONRPCError.model_construct(jsonrpc="2.0", id=request_id, error=error)
    return JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=cast("JsonObject", result))


def _object(value: object) -> JsonObject | None:
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _error(value: object) -> ErrorData:
    fields = _object(value) or {"message": value}
    code = fields.get("code")
    message = str(fields.get("message"))[:2_000]
    return ErrorData(code=code if isinstance(code, int) else -32603, message=message, data=fields.get("data"))
