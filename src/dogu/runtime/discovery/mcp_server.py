"""The life of one MCP server: started, listed, called, started again when it died. It costs only its own calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio

from dogu.contract import CallContext, ErrorKind, JsonObject, ToolError
from dogu.runtime.discovery.mcp_entries import ServerEntry

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp_session import Connection
    from dogu.runtime.discovery.mcp_stdio import ServerProgram

_START_TIMEOUT_S = 30.0
_MOST_BACK_OFF_S = 60.0
_MOST_TIMES_EXTENDED = 6
_LONGEST_WAIT_S = 5.0
_MOST_TRIES = 6


class McpServer:
    """One server. `take` is given its raw declarations whenever they are listed, `tell` a sentence for the person."""

    def __init__(
        self,
        entry: ServerEntry,
        directory: str,
        environment: Callable[[], Mapping[str, str]],
        take: Callable[[McpServer, list[object]], None],
        tell: Callable[[str], None],
    ) -> None:
        self.entry = entry
        self.settled = anyio.Event()  # listed, or failed for now
        self._directory = directory
        self._environment = environment
        self._take = take
        self._tell = tell
        self._connection: Connection | None = None
        self._last: Connection | None = None
        self._was_listed = False
        self._problem = "it is not started yet"
        self._deaths = 0
        self._not_before = 0.0
        self._wanted = anyio.Event()
        self._changed = anyio.Event()

    async def run(self) -> None:
        """Keep the server running until cancelled: after a death it starts again when a call wants it.

        One that could not be started is tried again by itself a few times, after 2, 4, 8 s and so on.
        """
        while True:
            await self._live()
            self._deaths += 1
            wait_s = 2.0 ** min(10, self._deaths - 2 if self._was_listed else self._deaths)
            self._not_before = anyio.current_time() + min(_MOST_BACK_OFF_S, wait_s)
            self._wanted = anyio.Event()
            self.settled.set()
            if self._was_listed or self._deaths >= _MOST_TRIES:
                await self._wanted.wait()
            await anyio.sleep(max(0.0, self._not_before - anyio.current_time()))

    async def _live(self) -> None:
        """Run the server once, to its end; `_problem` says how that came."""
        from dogu.runtime.discovery.mcp_session import FAILURES

        how = "it ended"
        try:
            await self._live_once()
        except FAILURES as error:
            how = _reason(error)
        except BaseExceptionGroup as group:
            known, unknown = group.split(FAILURES)
            if unknown is not None or known is None:
                raise
            how = _reason(_first_of(known))
        self._problem = _with_tail(how, self._last)
        if not self._was_listed and self._deaths == 0:
            self._say(f"it could not be started: {self._problem}")

    async def _live_once(self) -> None:
        from dogu.runtime.discovery.mcp_session import connected

        async with connected(self.entry, self._program, self._say, self._hear_change) as connection:
            self._last = connection
            with anyio.fail_after(_START_TIMEOUT_S):
                await connection.greet()
                await self._list(connection)
            if not self._was_listed:
                self._was_listed, self._deaths = True, 0
            self._connection = connection
            self.settled.set()
            async with anyio.create_task_group() as group:
                group.start_soon(self._relist, connection)
                await connection.closed.wait()
                group.cancel_scope.cancel()
            self._lose(connection)

    def _lose(self, connection: Connection) -> None:
        """Take note that the connection is gone: until it is wound up, nothing is settled."""
        if self._connection is connection:
            self._connection = None
            self.settled = anyio.Event()

    async def _list(self, connection: Connection) -> None:
        rows, problems = await connection.list_tools()
        for problem in problems:
            self._say(problem)
        self._take(self, rows)

    async def _relist(self, connection: Connection) -> None:
        from dogu.runtime.discovery.mcp_session import FAILURES

        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(_START_TIMEOUT_S):
                    await self._list(connection)
            except FAILURES as error:
                self._say(f"it said that its tools changed, and could not list them: {_reason(error)}")

    def _hear_change(self) -> None:
        self._changed.set()

    def _say(self, problem: str) -> None:
        self._tell(f"MCP server {self.entry.alias}: {problem}.")

    def _program(self, entry: ServerEntry) -> ServerProgram:
        from dogu.runtime.discovery.mcp_stdio import ServerProgram

        environment = {**self._environment(), **entry.env}
        directory = os.path.join(self._directory, os.path.expanduser(entry.cwd))
        return ServerProgram((os.path.expanduser(entry.command), *entry.args), environment, directory)

    async def call(self, tool: str, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return the raw answer to a call. Raises `ToolError` that names the server, what happened and what to do.

        The time limit starts anew with each progress the server tells, six times as long in all at most. A call is
        never repeated by itself: whether the server did it is not known.
        """
        from dogu.runtime.discovery.mcp_session import FAILURES

        connection = await self._running()
        limit = self.entry.timeout_s
        last = anyio.current_time() + _MOST_TIMES_EXTENDED * limit
        scope = anyio.CancelScope(deadline=anyio.current_time() + limit)

        async def tell_progress(progress: float, total: float | None, message: str | None) -> None:
            scope.deadline = min(anyio.current_time() + limit, last)
            context.report(f"{message or (f'{progress:g}' if total is None else f'{progress:g} of {total:g}')}\n")

        try:
            with scope:
                answer = await connection.call(tool, arguments, tell_progress)
                self._deaths = 0
                return answer
        except FAILURES as error:
            raise self._failed_call(tool, connection, error) from error
        raise ToolError(
            ErrorKind.TIMED_OUT,
            f"The MCP server {self.entry.alias} did not answer {tool} within {limit:g} s; it was told to stop. Try "
            'smaller steps, or have the user raise "timeout" in its entry.',
        )

    def _failed_call(self, tool: str, connection: Connection, error: BaseException) -> ToolError:
        if not self.entry.command and _is_lost(error):
            connection.closed.set()
        if not connection.closed.is_set():
            message = f"The MCP server {self.entry.alias} failed in {tool}: {_reason(error)}."
            return ToolError(ErrorKind.REMOTE_FAILED, message)
        what = _with_tail("It ended before it answered", connection)
        return ToolError(
            ErrorKind.REMOTE_FAILED,
            f"The MCP server {self.entry.alias} failed in {tool}. {what}.\nWhether the call was carried out is not "
            "known: look before you repeat it. The next call starts the server again.",
        )

    async def _running(self) -> Connection:
        """Return the connection, started again if need be. Raises `ToolError` (REMOTE_FAILED)."""
        if self._connection is not None and self._connection.closed.is_set():
            self._lose(self._connection)
        with anyio.move_on_after(_START_TIMEOUT_S + 10):
            await self.settled.wait()
            if self._connection is None:
                self._want()
                await self.settled.wait()
        if self._connection is None:
            raise self._not_running("Go on without its tools; the user can look at its entry in mcpServers.")
        return self._connection

    def _want(self) -> None:
        if self._wanted.is_set():
            return  # another call has asked for it already
        left = self._not_before - anyio.current_time()
        if left > _LONGEST_WAIT_S:
            raise self._not_running(f"It died {self._deaths} times and may start again in {left:.0f} s.")
        self.settled = anyio.Event()
        self._wanted.set()

    def _not_running(self, what_next: str) -> ToolError:
        message = f"The MCP server {self.entry.alias} is not running: {self._problem}. {what_next}"
        return ToolError(ErrorKind.REMOTE_FAILED, message)


def _is_lost(error: BaseException) -> bool:
    """Whether a far server is gone or, started anew, has forgotten the session; a new one costs little."""
    return getattr(error, "code", None) == -32000 or "session" in str(error).lower()


def _with_tail(what: str, connection: Connection | None) -> str:
    tail = connection.stderr_tail() if connection is not None else ""
    return f"{what}. Its standard error ends so:\n{tail}" if tail else what


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"it did not answer within {_START_TIMEOUT_S:g} s"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0][:500].rstrip(".")


def _first_of(group: BaseExceptionGroup[Exception]) -> Exception:
    for error in group.exceptions:
        return _first_of(error) if isinstance(error, BaseExceptionGroup) else error
    raise ValueError("a group holds one exception at least")
