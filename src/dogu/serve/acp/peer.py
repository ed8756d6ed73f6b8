"""JSON-RPC 2.0 over lines, both ways at once: requests of theirs answered, requests of ours awaited.

Source: the JSON-RPC 2.0 specification; agentclientprotocol.com, "Transports", "Cancellation". Knows no method but
`$/cancel_request`. What the other side sends is never trusted to have a shape.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeGuard, cast

import anyio
import anyio.abc
import msgspec

from dogu.serve.defects import contained
from dogu.serve.private_streams import lines_of, request_id_in, text_to_bytes, write_all

LONGEST_MESSAGE_BYTES = 256 << 20
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, CANCELLED, AUTH_REQUIRED, NOT_FOUND = -32603, -32800, -32000, -32002
_LAST_WORDS_S = 2.0

Json: TypeAlias = Any


class RpcError(Exception):
    """An error as JSON-RPC tells it; `message` is for a user."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ConnectionLostError(Exception):
    """The other side is gone: nothing will be answered any more."""


class Answer(msgspec.Struct, frozen=True):
    """A result, and what to do once it has been sent."""

    result: Json
    then: Callable[[], None] | None = None


Handler: TypeAlias = Callable[[str, Json], Awaitable[Answer]]


class Peer:
    """One connection. `handler` answers requests and hears notifications, each in a task of its own.

    It raises `RpcError` for what the other side should hear; whatever else it raises is a defect, and an error that
    says so. Messages are sent in the order of the calls here.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._out, self._to_send = anyio.create_memory_object_stream[bytes](float("inf"))
        self._running: dict[object, anyio.CancelScope] = {}
        self._waiting: dict[int, tuple[anyio.Event, list[Json]]] = {}
        self._count = 0
        self._is_lost = False

    async def run(self, reader: int, writer: int) -> None:
        """Serve until the other side closes its end; what still runs is cancelled then, and its answers are sent."""
        async with anyio.create_task_group() as sending:
            sending.start_soon(self._send_all, writer)
            try:
                async with anyio.create_task_group() as group:
                    async for line in lines_of(reader, LONGEST_MESSAGE_BYTES):
                        self._take(line, group)
                    self._lose()
                    group.cancel_scope.cancel()
            finally:
                self._lose()
                self._out.close()
                sending.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and return its result; cancelled, the other side is told.

        Raises `RpcError` as it was answered, and `ConnectionLostError`.
        """
        if self._is_lost:
            raise ConnectionLostError
        self._count += 1
        number, answered = self._count, anyio.Event()
        box: list[Json] = []
        self._waiting[number] = (answered, box)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            await answered.wait()
        except anyio.get_cancelled_exc_class():
            self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            self._waiting.pop(number, None)
        if not box:
            raise ConnectionLostError
        message = box[0]
        if "error" not in message:
            return message["result"]
        error: object = message["error"]
        told = cast("dict[str, Json]", error) if isinstance(error, dict) else {"message": f"{error}"}
        code, words = told.get("code"), told.get("message")
        raise RpcError(code if isinstance(code, int) else INTERNAL_ERROR, str(words or "(no words)"), told.get("data"))

    # what comes in

    def _take(self, line: bytes | None, group: anyio.abc.TaskGroup) -> None:
        if line is None:
            limit = LONGEST_MESSAGE_BYTES >> 20
            self._refuse(None, RpcError(PARSE_ERROR, f"A message is longer than {limit} MB, and was not read."))
            return
        if not line.strip():
            return
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else f"{error}"
            self._refuse(request_id_in(line), RpcError(PARSE_ERROR, f"A line is no JSON that can be read: {why}"))
            return
        if not isinstance(message, dict):
            self._refuse(None, RpcError(INVALID_REQUEST, "A message must be one JSON object."))
            return
        self._take_message(cast("dict[str, Json]", message), group)

    def _take_message(self, message: dict[str, Json], group: anyio.abc.TaskGroup) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            if "id" not in message:
                group.start_soon(self._hear, method, message.get("params"))
            elif _is_id(number):
                group.start_soon(self._answer, number, method, message.get("params"))
            else:
                self._refuse(None, RpcError(INVALID_REQUEST, f"{method}: an id must be a number or a text."))
        elif "result" in message or "error" in message:
            self._take_answer(number, message)
        else:
            problem = RpcError(INVALID_REQUEST, "A message has neither a method nor a result.")
            self._refuse(number if _is_id(number) else None, problem)

    def _take_answer(self, number: Json, message: dict[str, Json]) -> None:
        waiting = self._waiting.get(number) if _is_id(number) and not isinstance(number, str) else None
        if waiting is not None:
            answered, box = waiting
            box.append(message)
            answered.set()

    async def _hear(self, method: str, params: Json) -> None:
        if method == "$/cancel_request":
            number = params.get("requestId") if isinstance(params, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  (foreign JSON)
            scope = self._running.get(number) if _is_id(number) else None
            if scope is not None:
                scope.cancel()
            return
        try:
            with contained(_defect, RpcError):
                await self._handler(method, params)
        except RpcError as error:
            sys.stderr.write(f"{method}: {error.message}\n")

    async def _answer(self, number: str | int, method: str, params: Json) -> None:
        if number in self._running:
            self._refuse(number, RpcError(INVALID_REQUEST, f"{method}: the id {number!r} is in use."))
            return
        answer: Answer | None = None
        with anyio.CancelScope() as scope:
            self._running[number] = scope
            try:
                with contained(_defect, RpcError):
                    answer = await self._handler(method, params)
                    self._send({"jsonrpc": "2.0", "id": number, "result": answer.result})
            except RpcError as error:
                self._refuse(number, error)
                return
            finally:
                del self._running[number]
        if answer is None:
            self._refuse(number, RpcError(CANCELLED, f"{method}: cancelled."))
            return
        try:
            with contained(_defect, RpcError):
                if answer.then is not None:
                    answer.then()
        except RpcError as error:
            sys.stderr.write(f"{method}: {error.message}\n")

    # what goes out

    def _refuse(self, number: str | int | None, error: RpcError) -> None:
        told: dict[str, Json] = {"code": error.code, "message": error.message}
        if error.data is not None:
            told["data"] = error.data
        self._send({"jsonrpc": "2.0", "id": number, "error": told})

    def _send(self, message: dict[str, Json]) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        try:
            self._out.send_nowait(text_to_bytes(text) + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # nobody is there any more to be told

    async def _send_all(self, writer: int) -> None:
        async with self._to_send:
            async for data in self._to_send:
                try:
                    await write_all(writer, data)
                except OSError:
                    self._lose()  # the reading end finds the end of its input by itself, or is told by a signal
                    return

    def _lose(self) -> None:
        self._is_lost = True
        for answered, _ in self._waiting.values():
            answered.set()


def _defect(words: str) -> RpcError:
    return RpcError(INTERNAL_ERROR, words)


def _is_id(number: Json) -> TypeGuard[str | int]:
    return isinstance(number, str | int) and not isinstance(number, bool)  # True would be found under 1
