"""An MCP server as a process. Imports the SDK: import it late.

The SDK's own transport loses its reader to a byte that is no UTF-8, waits for ever for an answer that is no JSON, and
keeps whatever is sent. This one fails the call in question and reads on; a line may have 128 MB. A broken line that
names no call may be a stray print: it is told where no answer comes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from dogu.contract import JsonObject
from dogu.language import told
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.starting import talked_to
from dogu.workspace.process.talked_to import Start, TalkedTo

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
            told("not valid JSON ({error})", error=error), json.loads(found[1]) if found else None
        ) from error
    return _message(fields)


def _messages_of(line: bytes) -> list[bytes]:
    """Return what a line holds: a message, or several in a list, which 2025-03-26 allowed."""
    if not line.lstrip().startswith(b"["):
        return [line]
    try:
        found = [bytes(raw) for raw in msgspec.json.decode(line, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [line]
    return found if found and all(each.startswith(b"{") and b'"jsonrpc"' in each for each in found) else [line]


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
    if request_id is None or not fields.keys() & {"jsonrpc", "result"}:  # a row of a log may have an id of its own
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
    message = str(fields.get("message") or told("an error without a message"))[:2_000]
    return ErrorData(code=code if isinstance(code, int) else -32603, message=message, data=fields.get("data"))


MAX_LINE_BYTES = 128_000_000
_STDERR_TAIL_BYTES = 4_000
_EXIT_GRACE_S = 0.7
_PROGRESS_EVERY_S = 0.05
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)


class StdioLink:
    """A started server: the two streams the SDK works with, `closed` when it is gone, and the end of its errors."""

    def __init__(self, program: TalkedTo, tell: Callable[[str], None]) -> None:
        self.closed = anyio.Event()
        self._program = program
        self._tell = tell
        self._deliver, self.read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.write_stream, self._to_send = anyio.create_memory_object_stream[SessionMessage](0)
        self._stderr: deque[bytes] = deque()
        self._waiting: dict[int | str, None] = {}
        self._progressed: dict[Any, float] = {}
        self._is_odd = False
        self._stray = ""
        self._last_sent = -1

    def stderr_tail(self) -> str:
        """Return the last lines the server wrote to standard error."""
        return b"".join(self._stderr)[-_STDERR_TAIL_BYTES:].decode("utf-8", "replace").strip()

    def stray(self) -> str:
        """Return what was wrong with the last line that seemed to be an answer, and named no call; '' for none."""
        return self._stray

    @property
    def streams(self) -> Streams:
        """What the SDK reads and writes."""
        return self.read_stream, self.write_stream

    async def read(self) -> None:
        """Read standard output until its end."""
        try:
            async with self._deliver:
                await self._read_lines()
        except _GONE:
            pass
        finally:
            self.closed.set()

    async def _read_lines(self) -> None:
        line = bytearray()
        is_too_long = False
        while piece := await self._program.receive("stdout"):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line += end
                taking = self._take(b"" if is_too_long else bytes(line))
                line.clear()
                is_too_long = False
                await taking
            line += rest
            if len(line) > MAX_LINE_BYTES and not is_too_long:
                is_too_long = True
                await self._fail(None, told("it answered with more than {limit} MB", limit=MAX_LINE_BYTES // 10**6))
            if is_too_long:
                line.clear()

    async def _take(self, line: bytes) -> None:
        for each in _messages_of(line):
            await self._take_one(each)

    async def _take_one(self, line: bytes) -> None:
        try:
            message = read_line(line)
        except MalformedLine as error:
            if error.request_id in self._waiting:
                await self._fail(error.request_id, told("its answer is {error}", error=error))
                return
            self._stray = str(error)
            message = None
        if message is None:
            self._count_noise(line)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._waiting.pop(message.id, None)
            self._stray = self._stray if self._waiting else ""  # every call has its answer: it was none
            if not self._was_sent(message.id):
                self._tell_once(told("it answered what nobody had asked (id {id!r}), which is ignored", id=message.id))
                return
        del line  # a hundred megabytes, perhaps, of which the message holds all
        if not (isinstance(message, JSONRPCNotification) and self._is_too_soon(message)):
            await self._deliver.send(SessionMessage(message))

    def _was_sent(self, request_id: int | str) -> bool:
        """Whether a request of that number was sent, now waited for or not; the SDK numbers them 1, 2, 3."""
        number = _number_of(request_id)
        return number is None or 0 <= number <= self._last_sent

    def _count_noise(self, line: bytes) -> None:
        if line.strip():
            shown = line[:80].decode("utf-8", "replace")
            self._tell_once(
                told(
                    "it writes lines to standard output that aren't messages, which are ignored: {shown!r}", shown=shown
                )
            )

    def _tell_once(self, what: str) -> None:
        """Tell what a server does that it shouldn't, the first time it does anything of the kind."""
        if not self._is_odd:
            self._is_odd = True
            self._tell(what)

    def _is_too_soon(self, message: JSONRPCNotification) -> bool:
        """Whether this is progress right after progress: twenty a second are enough for any user."""
        if message.method != "notifications/progress" or not message.params:
            return False
        token = str(message.params.get("progressToken"))
        now = anyio.current_time()
        if now - self._progressed.get(token, -1.0) < _PROGRESS_EVERY_S:
            return True
        self._progressed = {token: now} if len(self._progressed) > 1000 else {**self._progressed, token: now}
        return False

    async def _fail(self, request_id: int | str | None, why: str) -> None:
        """Answer the call in question with an error; every one that waits, when it can't be told which."""
        is_known = request_id is not None and request_id in self._waiting
        ids = [request_id] if request_id is not None and is_known else [*self._waiting]
        for waiting in ids:
            self._waiting.pop(waiting, None)
            error = JSONRPCError(jsonrpc="2.0", id=waiting, error=ErrorData(code=-32700, message=why))
            await self._deliver.send(SessionMessage(error))

    async def write(self) -> None:
        """Write messages to standard input."""
        try:
            async with self._to_send:
                async for item in self._to_send:
                    if isinstance(item.message, JSONRPCRequest):
                        self._waiting[item.message.id] = None
                        self._last_sent = max(self._last_sent, _number_of(item.message.id) or 0)
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._program.send(text.encode() + b"\n")
        except _GONE:
            self.closed.set()  # a server that no longer listens is as good as gone
            await self._deliver.aclose()

    async def read_errors(self) -> None:
        """Read standard error for as long as it comes; the end of it is kept."""
        with suppress(*_GONE):
            while piece := await self._program.receive("stderr"):
                self._stderr.append(piece[-_STDERR_TAIL_BYTES:])
                while len(self._stderr) > 1 and sum(map(len, self._stderr)) > 2 * _STDERR_TAIL_BYTES:
                    self._stderr.popleft()

    async def aclose(self) -> None:
        """Close the server's standard input, and give it a moment to end by itself."""
        self.read_stream.close()
        self.write_stream.close()
        self._program.close_input()
        with anyio.move_on_after(_EXIT_GRACE_S):
            await self._program.ended.wait()


def _number_of(request_id: int | str) -> int | None:
    return int(request_id) if isinstance(request_id, int) or request_id.isdecimal() else None


@asynccontextmanager
async def started(launch: Launch, start: Start, tell: Callable[[str], None]) -> AsyncGenerator[StdioLink]:
    """Start a server and end it, with whatever it started, when the context is left. Raises `OSError`."""
    async with talked_to(launch, start) as program:
        link = StdioLink(program, tell)
        async with anyio.create_task_group() as group:
            for task in (link.read, link.write, link.read_errors):
                group.start_soon(task)
            try:
                yield link
            finally:
                with anyio.CancelScope(shield=True):
                    await link.aclose()
                group.cancel_scope.cancel()
