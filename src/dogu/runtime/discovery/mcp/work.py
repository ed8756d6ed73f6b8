"""One request to an MCP server: its time, its progress, what the server asks meanwhile, and what went wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from pydantic import ValidationError

from dogu.contract import ErrorKind, JsonObject, ToolError
from dogu.language import joined, told
from dogu.runtime.discovery.mcp.answers import Clock
from dogu.runtime.discovery.mcp.session import FAILURES

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.entries import ServerEntry
    from dogu.runtime.discovery.mcp.requests import Requests
    from dogu.runtime.discovery.mcp.session import Connection

_WANTS_ADDRESSES = -32042  # Source: the specification of 2025-11-25, URLElicitationRequiredError

_REPORT_EVERY_S = 0.05
_MOST_WRONG, _LONGEST_WRONG = 5, 160
_SILENT_S = 10.0
_BROKE_OFF = "SSE stream failed: "  # Source: the SDK 2.3, which has the code of a lost connection for it too


class Progress(Protocol):
    """Is told how far the server is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take note."""
        ...


Ask = Callable[["Requests", Progress], Awaitable[JsonObject]]


class Work:
    """Requests on one connection. `report` is told progress."""

    def __init__(self, entry: ServerEntry, connection: Connection, report: Callable[[str], None]) -> None:
        self._entry = entry
        self._connection = connection
        self._report = report

    async def do(self, what: str, ask: Ask) -> JsonObject:
        """Return the raw answer. Raises `ToolError` that names the server, what happened and what to do."""
        clock, reporting = Clock(self._entry.timeout_s), _Reporting()

        async def tell_progress(progress: float, total: float | None, message: str | None) -> None:
            clock.extend()
            if reporting.is_due():
                self._report(f"{message or _how_far(progress, total)}\n")

        try:
            with clock.scope, self._connection.answering.during(clock):
                answer = await self._asked(ask, tell_progress, clock)
                if isinstance(answer, Exception):
                    raise answer
                return answer
        except FAILURES as error:
            raise await self._failed(what, error) from error
        except anyio.get_cancelled_exc_class():
            self._connection.is_doubtful = True
            raise
        raise await self._ended(what, clock)

    async def _asked(self, ask: Ask, tell_progress: Progress, clock: Clock) -> JsonObject | Exception:
        """Return the answer, or which of the `FAILURES` came; a long silence is told, with how long it may last."""
        answers: list[JsonObject | Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_wait, clock)
            try:
                answers.append(await ask(self._connection.requests, tell_progress))
            except FAILURES as error:
                answers.append(error)
            group.cancel_scope.cancel()
        return answers[0]

    async def _tell_wait(self, clock: Clock) -> None:
        await anyio.sleep(_SILENT_S)
        if not clock.was_extended:
            alias, limit_s = self._entry.alias, clock.limit_s
            waits = told("Waiting for the MCP server {alias}, {limit_s:g} s at most.", alias=alias, limit_s=limit_s)
            self._report(waits + "\n")

    async def _ended(self, what: str, clock: Clock) -> ToolError:
        alias = self._entry.alias
        if clock.stopped:
            message = f"The MCP server {alias} was told to stop {what}: {clock.stopped}. Do without it."
            return ToolError(ErrorKind.REMOTE_FAILED, message)
        within = f"within {clock.limit_s:g} s"
        if clock.was_extended:
            within = f"in time: it told progress, and had {clock.limit_s:g} s after each until it was too long in all"
        late = f"The MCP server {alias} did not answer {what} {within}."
        if stray := self._connection.stray():
            late += f" It wrote a line that may have been its answer, and is {stray}."
        if not await self._connection.is_alive():
            self._connection.closed.set()
            message = f"{late} It doesn't answer a ping either, so it was ended: the next call starts it again."
            return ToolError(ErrorKind.TIMED_OUT, message)
        advice = 'Try smaller steps, or have the user raise "timeout" in its entry.'
        return ToolError(ErrorKind.TIMED_OUT, f"{late} It was told to stop. {advice}")

    async def _failed(self, what: str, error: BaseException) -> ToolError:
        connection, alias = self._connection, self._entry.alias
        if getattr(error, "code", None) == _WANTS_ADDRESSES:
            return ToolError(ErrorKind.REMOTE_FAILED, f"The MCP server {alias}: {await self._addresses(error)}.")
        if connection.wants_login():
            return ToolError(ErrorKind.REMOTE_FAILED, _log_in_first(alias, what))
        if not self._entry.command and _is_lost(error):
            connection.closed.set()
        if not connection.closed.is_set():
            return ToolError(
                ErrorKind.REMOTE_FAILED,
                f"The MCP server {alias} failed in {what}: {reason_of(error)}. Put right what it was given, if that "
                "was wrong, or go on without it.",
            )
        ended = with_tail("It ended before it answered", connection)
        ended = ended if "\n" in ended else f"{ended}."
        return ToolError(
            ErrorKind.REMOTE_FAILED,
            f"The MCP server {alias} failed in {what}. {ended}\nWhether the call was carried out is not "
            "known: look before you repeat it. The next call starts the server again.",
        )

    async def _addresses(self, error: BaseException) -> str:
        data: Any = getattr(getattr(error, "error", None), "data", None)
        clock = Clock(self._entry.timeout_s)
        with self._connection.answering.during(clock):
            return await self._connection.answering.open_addresses(
                data.get("elicitations") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  (foreign JSON)
            )


class _Reporting:
    """Lets progress through at most twenty times a second: enough for any user, however much a server tells."""

    def __init__(self) -> None:
        self._last = -math.inf

    def is_due(self) -> bool:
        """Whether to report now."""
        now = time.monotonic()
        if now - self._last < _REPORT_EVERY_S:
            return False
        self._last = now
        return True


def _how_far(progress: float, total: float | None) -> str:
    return f"{progress:.12g}" if total is None else f"{progress:.12g} of {total:.12g}"


def _log_in_first(alias: str, what: str) -> str:
    return (
        f"The MCP server {alias} refused {what}: it wants a login. Have the user run `dogu mcp-servers login {alias}`."
    )


def _is_lost(error: BaseException) -> bool:
    """Whether a far server is gone or, started anew, has forgotten the session; a new one costs little."""
    if str(error).startswith(_BROKE_OFF):
        return False
    return getattr(error, "code", None) == -32000 or "session" in str(error).lower()


def with_tail(what: str, connection: Connection | None) -> str:
    """Return what happened, and the end of what the server wrote to standard error."""
    tail = connection.stderr_tail() if connection is not None else ""
    return joined("\n", (told("{what}. Its standard error ends so:", what=what), tail)) if tail else what


def _wrong_in(error: ValidationError) -> list[str]:
    """Name each place of an answer that isn't as the protocol has it, and what is wrong there."""
    return [
        f"{'.'.join(map(str, row['loc'])) or 'the answer'}: {row['msg']}"[:_LONGEST_WRONG]
        for row in error.errors(include_url=False, include_input=False)[:_MOST_WRONG]
    ]


def reason_of(error: BaseException) -> str:
    """Return what happened, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return joined(": ", (error.strerror, str(error.filename))) if error.filename else error.strerror
    if isinstance(error, ValidationError):
        return told("its answer is no {kind}: {wrong}", kind=error.title, wrong="; ".join(_wrong_in(error)))
    if not str(error).strip() and type(error).__name__.endswith("Timeout"):  # an HTTP library's
        return told("it did not answer in time")
    return (str(error).strip() or type(error).__name__).splitlines()[0][:500].rstrip(".")
