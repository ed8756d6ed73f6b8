"""The life of one MCP server: started, listed, called, started again when it died. It costs only its own calls."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import anyio

from dogu.contract import CallContext, ErrorKind, JsonObject, ToolError
from dogu.language import told
from dogu.runtime.discovery.mcp.content import Prompt, Resource, prompts_of, resources_of
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.host import Host
from dogu.workspace.process.talked_to import Start

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.session import Connection
    from dogu.runtime.discovery.mcp.work import Ask
    from dogu.workspace.process.launch import Launch

_START_TIMEOUT_S = 30.0
_MOST_BACK_OFF_S = 60.0
_LONGEST_WAIT_S = 5.0
_MOST_TRIES = 6
_LISTENS_WITHIN_S = 2.0
_END_GRACE_S = 0.7


def sdk():
    """Load what speaks the protocol: half a second, which the first prompt doesn't wait for."""
    from dogu.runtime.discovery.mcp import session, work

    return session, work


def _say_nothing(_text: str) -> None:
    pass


class Owner(Protocol):
    """Whom a server tells, and who starts its program."""

    def launch(self) -> Launch:
        """Give what starts programs and keeps them."""
        ...

    def take(self, server: McpServer, rows: list[object]) -> None:
        """Take its raw declarations of tools, whenever they are listed."""
        ...

    def tell(self, note: str) -> None:
        """Tell the user a sentence."""
        ...


class McpServer:
    """One server. `directory` is what its entry's `cwd` is relative to."""

    def __init__(self, entry: ServerEntry, directory: str, host: Host, owner: Owner) -> None:
        self.entry = entry
        self.settled = anyio.Event()  # listed, or failed for now
        self.listed = anyio.Event()  # its prompts and resources too
        self.prompts: list[Prompt] = []
        self.resources: list[Resource] = []
        self.wants_login = False
        self._directory = directory
        self._host = host
        self._owner = owner
        self._connection: Connection | None = None
        self._last: Connection | None = None
        self._was_listed = False
        self._problem = told("it is not started yet")
        self._deaths = 0
        self._not_before = 0.0
        self._wanted = anyio.Event()
        self._changed: set[str] = set()
        self._heard = anyio.Event()

    @property
    def problem(self) -> str:
        """Why it isn't running; '' when it is."""
        return "" if self._connection is not None else self._problem

    @property
    def protocol(self) -> str:
        """The protocol spoken; '' when it isn't running."""
        return self._connection.protocol if self._connection is not None else ""

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
            self.listed.set()
            if self._was_listed or self._deaths >= _MOST_TRIES:
                await self._wanted.wait()
            await anyio.sleep(max(0.0, self._not_before - anyio.current_time()))

    async def _live(self) -> None:
        """Run the server once, to its end; `_problem` says how that came."""
        session, work = sdk()
        how = told("it ended")
        try:
            await self._live_once()
        except (*session.FAILURES, BaseExceptionGroup) as error:
            failure = session.failure_in(error)
            if failure is None:
                raise
            how = _reason(failure)
        self._connection = None
        self._problem = work.with_tail(how, self._last)
        if self._last is not None and self._last.wants_login():
            self.wants_login = True
            self._problem = told("it needs a login: dogu mcp-servers login {alias}", alias=self.entry.alias)
        if not self._was_listed and self._deaths == 0:
            self._say(told("it could not be started: {problem}", problem=self._problem))

    async def _live_once(self) -> None:
        session, _ = sdk()
        hearing = session.Hearing(self._say, self._hear_change)
        # To connect, to greet, to list: each has its time. (`fail_after` would forget a limit that has passed already.)
        with anyio.CancelScope(deadline=anyio.current_time() + _START_TIMEOUT_S) as starting:
            async with session.connected(self.entry, self._program, self._host, hearing) as connection:
                self._last = connection
                starting.deadline = anyio.current_time() + _START_TIMEOUT_S
                await connection.greet(self.entry.protocol)
                starting.deadline = anyio.current_time() + _START_TIMEOUT_S
                await self._serve(connection, starting)
        if starting.cancelled_caught:
            raise TimeoutError

    async def _serve(self, connection: Connection, starting: anyio.CancelScope) -> None:
        """List what the server has and hold its connection until it is gone; then there is no hurry any more."""
        async with anyio.create_task_group() as group:
            group.start_soon(connection.listen, self._hear_change)
            with anyio.move_on_after(_LISTENS_WITHIN_S):
                await connection.listens.wait()
            await self._list(connection)
            starting.deadline = math.inf
            self._settle(connection)
            group.start_soon(self._relist, connection)
            await connection.closed.wait()
            group.cancel_scope.cancel()
        self._lose(connection)

    def _settle(self, connection: Connection) -> None:
        if not self._was_listed:
            self._was_listed, self._deaths = True, 0
        self.wants_login = False
        self._connection = connection
        self.settled.set()
        for what in connection.offers & {"prompts", "resources"}:
            self._hear_change(what)

    def _lose(self, connection: Connection) -> None:
        """Take note that the connection is gone: until it is wound up, nothing is settled."""
        if self._connection is connection:
            self._connection = None
            self.settled = anyio.Event()

    async def _list(self, connection: Connection, what: str = "tools") -> None:
        if what == "tools":
            rows, problems = await connection.list_tools()
        else:
            rows, problems = await connection.list_offers(what)
        for problem in problems:
            self._say(problem)
        if what == "tools":
            self._owner.take(self, rows)
        elif what == "prompts":
            self.prompts = prompts_of(self.entry.alias, rows)
        else:
            self.resources = resources_of(self.entry.alias, rows)

    async def _relist(self, connection: Connection) -> None:
        session, _ = sdk()
        while True:
            while self._changed:
                what = self._changed.pop()
                try:
                    with anyio.fail_after(_START_TIMEOUT_S):
                        await self._list(connection, what)
                except session.FAILURES as error:
                    if not connection.closed.is_set():
                        self._say(told("it could not list its {what}: {error}", what=what, error=_reason(error)))
            self.listed.set()
            await self._heard.wait()
            self._heard = anyio.Event()

    def _hear_change(self, what: str) -> None:
        self._changed.add(what)
        self._heard.set()

    def _say(self, problem: str) -> None:
        self._owner.tell(told("MCP server {alias}: {problem}.", alias=self.entry.alias, problem=problem))

    def _program(self, entry: ServerEntry) -> tuple[Launch, Start]:
        environment = {**self._host.environment(), **entry.env}
        directory = os.path.join(self._directory, os.path.expanduser(entry.cwd))
        argv = (os.path.expanduser(entry.command), *entry.args)
        return self._owner.launch(), Start(argv, environment, directory, _END_GRACE_S)

    async def call(self, tool: str, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return the raw answer to a call, as `Work.do`.

        A call is never repeated by itself: whether the server did it is not known.
        """
        return await self._do(tool, lambda requests, tell: requests.call_tool(tool, arguments, tell), context.report)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        """Return the raw answer to `prompts/get`, as `Work.do`."""
        return await self._do(f"the prompt {name}", lambda requests, _: requests.get_prompt(name, arguments))

    async def read_resource(self, uri: str, report: Callable[[str], None] = _say_nothing) -> JsonObject:
        """Return the raw answer to `resources/read`, as `Work.do`."""
        return await self._do(f"reading {uri}", lambda requests, _: requests.read_resource(uri), report)

    async def _do(self, what: str, ask: Ask, report: Callable[[str], None] = _say_nothing) -> JsonObject:
        _, work = sdk()
        answer = await work.Work(self.entry, await self._running(), report).do(what, ask)
        self._deaths = 0
        return answer

    async def _running(self) -> Connection:
        """Return the connection, started again if need be. Raises `ToolError` (REMOTE_FAILED)."""
        present = self._connection
        if present is not None and present.is_doubtful and not await present.is_alive():
            present.closed.set()
        if present is not None and present.closed.is_set():
            self._lose(present)
        with anyio.move_on_after(_START_TIMEOUT_S + 10):
            await self.settled.wait()
            if self._connection is None:
                self._want()
                await self.settled.wait()
        if self._connection is None:
            raise self._not_running(told("Go on without its tools; the user can look at its entry in mcpServers."))
        return self._connection

    def _want(self) -> None:
        if self._wanted.is_set():
            return  # another call has asked for it already
        left = self._not_before - anyio.current_time()
        if left > _LONGEST_WAIT_S:
            raise self._not_running(
                told("It died {count} times and may start again in {left:.0f} s.", count=self._deaths, left=left)
            )
        self.settled = anyio.Event()
        self._wanted.set()

    def _not_running(self, what_next: str) -> ToolError:
        message = told(
            "The MCP server {alias} is not running: {problem}. {what_next}",
            alias=self.entry.alias,
            problem=self._problem,
            what_next=what_next,
        )
        return ToolError(ErrorKind.REMOTE_FAILED, message)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return told("it did not answer within {limit_s:g} s", limit_s=_START_TIMEOUT_S)
    _, work = sdk()
    return work.reason_of(error)
