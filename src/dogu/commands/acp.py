"""`dogu acp`: the agent, in an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options
from dogu.app.acp import AcpSessions
from dogu.commands.running import run_async
from dogu.language import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "--client-terminal",
        action="store_true",
        help=say("run commands in the editor's own terminals, which dogu's sandbox doesn't reach"),
    )


def run(options: Options, space: Namespace) -> int:
    """Serve the agent to an editor over the Agent Client Protocol."""
    from dogu.serve.acp.door import serve_acp  # which needs the package acp; help and completion don't

    async def serve() -> int:
        return await serve_acp(AcpSessions(options), uses_client_terminals=space.client_terminal)

    return run_async(serve)
