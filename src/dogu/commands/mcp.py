"""`dogu mcp`: the tools, served to another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options, open_runtime
from dogu.commands.running import run_async
from dogu.language import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "--http", metavar="PORT", type=int, help=say("serve over HTTP at this port of 127.0.0.1 (0: any)")
    )


def run(options: Options, space: Namespace) -> int:
    """Serve the tools over the Model Context Protocol; its client asks the person."""
    from dogu.serve.mcp import serve_mcp
    from dogu.serve.mcp_asking import ElicitationConfirm

    asking = ElicitationConfirm()

    async def serve() -> int:
        async with open_runtime(options, confirm=asking) as runtime:
            return await serve_mcp(runtime, asking, http_port=space.http)

    return run_async(serve)
