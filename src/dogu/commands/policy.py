"""`dogu policy explain`: may this command run, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dogu.app import Options
from dogu.app.explaining import explain_command, explain_rows
from dogu.commands.running import tell
from dogu.language import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", choices=["explain"])
    parser.add_argument("text", nargs="?", metavar="COMMAND", help=say("the shell command to judge"))
    parser.add_argument("--json", action="store_true", help=say("print one JSON object"))
    parser.add_argument("--jsonl", action="store_true", help=say("judge {id?, command, coreTools?, ...} lines"))


def run(options: Options, space: Namespace) -> int:
    """Explain what the settings in force say of a command."""
    if space.jsonl:
        return explain_rows(options, sys.stdin.buffer)
    if space.text is None:
        tell([say("Which command? dogu policy explain 'git push'")])
        return 2
    return explain_command(options, space.text, as_json=space.json)
