"""What fake servers of models share: a script of turns, a lock, requests received and refused, an answer's shape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

from dogu.testing.turn import Turn
from dogu.testing.wire_server import Reply, Served, WireRequest, WireServer

Request = TypeVar("Request")


class RefusedError(Exception):
    """The request would be refused; the message is like the server's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ScriptedServer(Served, Generic[Request]):
    """Answers the turns in order at one path; a string is a turn of text, a function makes one of its request."""

    path = ""

    def __init__(self, turns: Iterable[Turn | str | Callable[[Request], Turn | str]]) -> None:
        self.requests: list[Request] = []
        self.problems: list[str] = []
        self._turns = iter(turns)
        self._lock = threading.Lock()
        self.server = WireServer(self._answer)

    def request_of(self, wire: WireRequest) -> Request:
        """Check a request, and note it. Raises `RefusedError`."""
        raise NotImplementedError

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """Make the body of a refusal."""
        raise NotImplementedError

    def play(self, request: Request, turn: Turn, reply: Reply) -> None:
        """Answer."""
        raise NotImplementedError

    def _answer(self, wire: WireRequest, reply: Reply) -> None:
        try:
            if (wire.method, wire.path) != ("POST", self.path):
                raise RefusedError(404, f"Not found: {wire.method} {wire.path}")
            with self._lock:
                request = self.request_of(wire)
                turn = self._next(request)
        except (RefusedError, msgspec.DecodeError) as error:
            self.problems.append(str(error))
            status = error.status if isinstance(error, RefusedError) else 400
            reply.send(status, msgspec.json.encode(self.refusal(status, str(error))))
            return
        reply.wait(turn.delay_s)
        if turn.hangs:
            reply.stall()
        self.play(request, turn, reply)

    def _next(self, request: Request) -> Turn:
        turn = next(self._turns, None)
        if turn is None:
            raise RefusedError(400, f"The script has no turn for request {len(self.requests)}.")
        made = turn(request) if callable(turn) else turn
        return Turn(text=made) if isinstance(made, str) else made


_FIELDS = frozenset(("type", "name", "description", "schema", "strict", "json_schema"))


def shape_problem(form: Mapping[str, Any], *, demands: bool = True, is_closed: bool = True) -> str:
    """Return what is wrong with a format of the answer, '' where nothing is, or none is asked for.

    With `is_closed` objects hold nothing that they don't name; with `demands` all of that is required.
    """
    if not form or form.get("type") == "text":
        return ""
    schema = cast("Mapping[str, Any]", form.get("schema") or {})
    if form.get("type") != "json_schema" or form.keys() - _FIELDS or schema.get("type") != "object":
        return "a format is json_schema with a schema of 'type: \"object\"'"
    return _problem(schema, demands=demands) if is_closed else ""


def _problem(schema: Mapping[str, Any], *, demands: bool) -> str:
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    if odd := schema.keys() & {"allOf", "oneOf", "not", "if", "patternProperties", "default", "minLength"}:
        return f"{min(odd)!r} is not permitted"
    if "object" in str(schema.get("type")):
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if demands and set(properties) != set(schema.get("required") or ()):
            return "'required' is required to be supplied and to be an array including every key in properties"
    named = cast("Mapping[str, Any]", schema.get("$defs") or {})
    inner: list[Any] = [*properties.values(), *named.values(), *(schema.get("anyOf") or ())]
    inner += [schema["items"]] if "items" in schema else []
    return next((problem for each in inner if (problem := _problem(each, demands=demands))), "")
