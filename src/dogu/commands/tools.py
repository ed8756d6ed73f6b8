"""`dogu tools`: what the model has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from dogu.app import Options, open_runtime
from dogu.commands.running import run_async, tell
from dogu.language import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "--declarations", action="store_true", help=say("print the FunctionDeclarations as sent, as JSON")
    )


def run(options: Options, space: Namespace) -> int:
    """List the tools."""

    async def show() -> int:
        async with open_runtime(options) as runtime:
            tell(runtime.notes)
            if space.declarations:
                declarations = msgspec.json.encode(runtime.registry.declarations)
                sys.stdout.write(msgspec.json.format(declarations).decode() + "\n")
                return 0
            for tool in runtime.registry:
                first = tool.description.split("\n")[0]
                print(f"{tool.name:<20} {tool.display_name:<16} {tool.kind:<8} {first}")
            return 0

    return run_async(show)
