"""One connection for a look or a login, without a session around it. Imports the SDK: import it late."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.discovery.mcp.entries import ServerEntry
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.oauth import ShowAddress
from dogu.runtime.discovery.mcp.session import FAILURES, Hearing, connected, failure_in
from dogu.runtime.discovery.mcp.work import reason_of
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.talked_to import Start

LOGIN_TIMEOUT_S = 330.0


class Seen(msgspec.Struct, frozen=True):
    """What a server was found to be."""

    protocol: str
    tools: int


async def log_in(entry: ServerEntry, host: Host, show: ShowAddress, tell: Callable[[str], None]) -> Seen:
    """Log in to a server that wants it, and list its tools. Raises `ToolError` that says what went wrong."""

    def no_program(_entry: ServerEntry) -> tuple[Launch, Start]:
        raise ToolError(
            ErrorKind.INVALID_ARGUMENTS, told("{alias} is a program, which has no login.", alias=entry.alias)
        )

    try:
        with anyio.fail_after(LOGIN_TIMEOUT_S):
            async with connected(entry, no_program, host, Hearing(tell, _ignore), show) as connection:
                await connection.greet(entry.protocol)
                rows, _ = await connection.list_tools()
                return Seen(connection.protocol, len(rows))
    except (*FAILURES, BaseExceptionGroup) as error:
        failure = failure_in(error)
        if failure is None:
            raise
        raise ToolError(
            ErrorKind.REMOTE_FAILED,
            told("Login to the MCP server {alias} failed: {reason}.", alias=entry.alias, reason=reason_of(failure)),
        ) from error


def _ignore(_what: str) -> None:
    pass
