"""`dogu policy explain`: may this command run, and why."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dogu.app import Options, read_settings
from dogu.app.policy_files import rules_of
from dogu.commands.running import tell
from dogu.language import say
from dogu.policy.explain import explain, explain_lines, limit_of_exclusions, verdict_json, verdict_text
from dogu.policy.verdict import ApprovalMode
from dogu.serve.wire import to_line
from dogu.workspace.nearby import Nearby
from dogu.workspace.system import shell_called

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
    if space.jsonl and space.text:
        tell([say("--jsonl reads lines from standard input alone: '{word}' would do nothing.", word=space.text)])
        return 2
    if space.jsonl:
        return _explain_rows(options, sys.stdin.buffer)
    if space.text is None:
        tell([say("Which command? dogu policy explain 'git push'")])
        return 2
    return _explain_command(options, space.text, as_json=space.json)


def _explain_command(options: Options, command: str, *, as_json: bool) -> int:
    """Print the verdict on one command; the status is 0 whatever it is."""
    settings = read_settings(options)
    mode = ApprovalMode(settings.tools.approval_mode)
    shell = shell_called(settings.shell.program)
    rules = rules_of(options, settings)
    verdict = explain(command, rules, mode, shell=shell, place=Nearby(os.getcwd()))
    print(json.dumps(verdict_json(verdict), ensure_ascii=False, indent=2) if as_json else verdict_text(verdict))
    limit = limit_of_exclusions(rules, verdict)
    if limit and not as_json:
        print(limit)
    return 0


def _explain_rows(options: Options, lines: Iterable[bytes]) -> int:
    """Print one line of JSON for each row, as soon as it is judged."""
    settings = read_settings(options)
    mode = ApprovalMode(settings.tools.approval_mode)
    for answer in explain_lines(lines, rules_of(options, settings), mode, Nearby(os.getcwd())):
        sys.stdout.write(to_line(answer) + "\n")
        sys.stdout.flush()
    return 0
