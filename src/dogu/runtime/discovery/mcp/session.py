"""A connection to one MCP server: opened, greeted, listed, called. Imports the SDK: import it late."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

import anyio
import httpx2
import mcp_types
import msgspec
from mcp.client._probe import negotiate_auto
from mcp.client.auth import OAuthFlowError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from dogu.contract import JsonObject
from dogu.language import told
from dogu.runtime.discovery.mcp.answers import Answering
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.http import HttpLink, opened_http
from dogu.runtime.discovery.mcp.oauth import ShowAddress
from dogu.runtime.discovery.mcp.requests import RawDispatcher, Requests
from dogu.runtime.discovery.mcp.stdio import StdioLink, started
from dogu.version import __version__
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.talked_to import Start

for _name in ("mcp", "client"):  # the SDK's loggers: what they say of failures is told in our own words
    logging.getLogger(_name).addHandler(logging.NullHandler())

# What goes wrong with a server or on the way to it; anything else is a defect of ours.
# (The SDK raises whatever Python does when a server sends what it doesn't foresee.)
FAILURES: tuple[type[Exception], ...] = (
    MCPError,
    OAuthFlowError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
)
_LISTENS_AGAIN_AFTER_S = 1.0
_KINDS = ("tools", "prompts", "resources")
_CHANGES = {
    mcp_types.ToolListChangedNotification: "tools",
    mcp_types.PromptListChangedNotification: "prompts",
    mcp_types.ResourceListChangedNotification: "resources",
}

_PINGED_S = 5.0


class Connection:
    """An open connection. `closed` is set when the server is gone, `listens` once it will tell of changes."""

    def __init__(
        self, session: ClientSession, requests: Requests, answering: Answering, link: HttpLink | _Program
    ) -> None:
        self.requests = requests
        self.answering = answering
        self.closed = link.closed
        self.stderr_tail = link.stderr_tail
        self.stray = link.stray
        self.wants_login = link.wants_login
        self.listens = anyio.Event()
        self.is_doubtful = False  # a request was given up: the server may hang
        self._session = session
        self._asks_first = link.asks_first

    async def is_alive(self) -> bool:
        """Ask the server for a sign of life; one that gives none within some seconds hangs, and counts as gone."""
        self.is_doubtful = False
        with anyio.move_on_after(_PINGED_S):
            try:  # 2026-07-28 has no ping
                await (self._session.discover() if self._is_modern else self._session.send_ping())
            except MCPError:
                return not self.closed.is_set()  # it says that it knows no such request
            except FAILURES:
                return False
            return True
        return False

    async def greet(self, protocol: str = "") -> None:
        """Agree on a protocol. `protocol` names one where the two can't agree by themselves.

        A program is greeted by the handshake, because it may wait for it and nothing else, and by 2026-07-28 where it
        refuses that. Over HTTP, where a request that isn't understood costs nothing, 2026-07-28 comes first.
        """
        if protocol in MODERN_PROTOCOL_VERSIONS:
            await self._session.discover()
        elif protocol:
            await self._session.initialize()
        elif self._asks_first:
            await negotiate_auto(self._session)
        else:
            await self._greet_program()

    async def _greet_program(self) -> None:
        try:
            await self._session.initialize()
        except (MCPError, ValueError) as error:
            if self.closed.is_set():
                raise
            try:
                await self._session.discover()
            except (MCPError, ValueError):
                raise error from None

    @property
    def offers(self) -> frozenset[str]:
        """What the server says it has: `tools`, `prompts`, `resources`."""
        said = self._session.server_capabilities
        return frozenset(what for what in _KINDS if getattr(said, what, None) is not None)

    async def list_tools(self) -> tuple[list[object], list[str]]:
        """Return the raw declarations of all pages, and what was wrong with the pages."""
        rows, problems = await self.requests.rows("tools")
        return [row for row in rows if self._learn_headers(row)], problems

    async def list_offers(self, what: str) -> tuple[list[object], list[str]]:
        """Return the raw rows of `prompts` or `resources`, templates of resources among these; as `list_tools`."""
        rows, problems = await self.requests.rows(what)
        if what == "resources":
            try:
                templates, more = await self.requests.rows("resource templates")
            except MCPError:  # a server may have none, and say so in this way
                return rows, problems
            rows, problems = [*rows, *templates], [*problems, *more]
        return rows, problems

    async def listen(self, on_change: Callable[[str], None]) -> None:
        """Hear of changes for as long as the connection lasts, where that needs a request of its own (2026-07-28).

        A stream that broke is opened again; what changed in between is not known, so that everything counts as changed.
        """
        wanted = self._changes_told() if self._is_modern else []
        while wanted:
            if not await self._hears(wanted, on_change):
                break
            await anyio.sleep(_LISTENS_AGAIN_AFTER_S)
        self.listens.set()

    async def _hears(self, wanted: list[str], on_change: Callable[[str], None]) -> bool:
        """Listen until the stream ends; False for a server that has no such streams."""
        tools, prompts, resources = (what in wanted for what in _KINDS)
        stream = listen(
            self._session, tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
        )
        try:
            async with stream as subscription:
                if self.listens.is_set():
                    for what in wanted:
                        on_change(what)
                self.listens.set()
                async for _ in subscription:
                    pass  # `hear` is told of each, as in the other generation
        except MCPError as error:
            return error.code != mcp_types.METHOD_NOT_FOUND
        except RuntimeError:
            return True  # the SDK's SubscriptionLost
        finally:
            self.listens.set()
        return True

    def _changes_told(self) -> list[str]:
        said = self._session.server_capabilities
        return [what for what in _KINDS if getattr(getattr(said, what, None), "list_changed", None)]

    def _learn_headers(self, tool: object) -> bool:
        """Learn which arguments a tool of 2026-07-28 wants as HTTP headers; False for a tool that may not be used.

        Source: the specification of 2026-07-28, `x-mcp-header`.
        """
        declared = cast("JsonObject", tool) if isinstance(tool, dict) else {}
        name, schema = declared.get("name"), declared.get("inputSchema")
        if not self._is_modern or not isinstance(name, str) or not isinstance(schema, dict):
            return True
        try:
            if find_invalid_x_mcp_header(cast("JsonObject", schema)) is not None:
                return False
            found = x_mcp_header_map(cast("JsonObject", schema))
        except FAILURES:
            return True  # no schema that any tool can be made of: it is told later
        self._session._x_mcp_header_maps[name] = found  # pyright: ignore[reportPrivateUsage]  (filled by the SDK only from lists it has checked as a whole)
        return True

    @property
    def _is_modern(self) -> bool:
        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def protocol(self) -> str:
        """The protocol agreed on."""
        return self._session.protocol_version or ""


class _Program:
    """A program's link, as a connection sees it."""

    asks_first = False

    def __init__(self, link: StdioLink) -> None:
        self.closed = link.closed
        self.stderr_tail = link.stderr_tail
        self.stray = link.stray
        self.wants_login = bool


class Hearing(msgspec.Struct, frozen=True):
    """Who hears of a server: a sentence for the user, and what changed (`tools`, `prompts`, `resources`)."""

    tell: Callable[[str], None]
    on_change: Callable[[str], None]


@asynccontextmanager
async def connected(
    entry: ServerEntry,
    program: Callable[[ServerEntry], tuple[Launch, Start]],
    host: Host,
    hearing: Hearing,
    login: ShowAddress | None = None,
) -> AsyncGenerator[Connection]:
    """Open a connection; nothing is said yet. `login` may begin a login where the server wants one.

    Raises one of `FAILURES`, perhaps in an exception group.
    """

    async def hear(message: object) -> None:
        what = _CHANGES.get(type(message))  # pyright: ignore[reportArgumentType]  (any class may be asked for)
        if what is not None:
            hearing.on_change(what)
        await anyio.lowlevel.checkpoint()

    answering = Answering(entry.alias, host, hearing.tell)
    async with AsyncExitStack() as stack:
        if entry.command:
            launch, start = program(entry)
            started_link = await stack.enter_async_context(started(launch, _found(start), hearing.tell))
            link, streams = _Program(started_link), started_link.streams
        else:
            link = HttpLink()
            streams = await opened_http(stack, entry, answering, link, login)
        dispatcher = RawDispatcher(*streams)
        session = ClientSession(
            dispatcher=dispatcher,
            client_info=mcp_types.Implementation(name="dogu", version=__version__),
            message_handler=hear,
            elicitation_callback=answering.elicitation,
            sampling_callback=answering.sampling,
            list_roots_callback=answering.roots,
        )
        entered = await stack.enter_async_context(session)
        yield Connection(entered, Requests(entered, dispatcher), answering, link)


def failure_in(error: BaseException) -> Exception | None:
    """Return which of the `FAILURES` it is, of a group the first; None where there is anything else in it."""
    if isinstance(error, FAILURES):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    found = [failure_in(each) for each in cast("BaseExceptionGroup[BaseException]", error).exceptions]
    return None if None in found else found[0]


def _found(program: Start) -> Start:
    """Find the program on the server's own PATH, which need not be ours. Raises `FileNotFoundError`."""
    command = program.argv[0]
    path = shutil.which(
        os.path.join(program.directory, command) if "/" in command else command, path=program.environment.get("PATH")
    )
    if path is None:
        raise FileNotFoundError(2, told("there is no such program"), command)
    return msgspec.structs.replace(program, argv=(path, *program.argv[1:]))
