"""`dogu call`: tool calls without a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import msgspec

from dogu.app import Options, open_runtime
from dogu.commands.running import run_async, settling_jobs, tell
from dogu.language import say
from dogu.serve.call import call_lines, call_once
from dogu.serve.terminal.confirm import TerminalConfirm
from dogu.serve.terminal.plain_screen import PlainScreen
from dogu.serve.terminal.style import Style

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("tool", nargs="?", help=say("the tool's name; `dogu tools` lists them"))
    parser.add_argument("arguments", nargs="*", help=say("one JSON object, or key=value ..."))
    parser.add_argument("--json", action="store_true", help=say("print {llmContent, returnDisplay, error}"))
    parser.add_argument(
        "--preview", action="store_true", help=say("for a command: show what it would change, and keep none of it")
    )
    parser.add_argument(
        "--jsonl", action="store_true", help=say("read {id?, tool, args} lines, answer each with one line")
    )


def run(options: Options, space: Namespace) -> int:
    """Run one call, or calls from JSON lines, without a model."""
    if not space.jsonl and not space.tool:
        tell([say("Which tool? dogu tools lists them; dogu call read_file path=README.md")])
        return 2
    if space.jsonl and space.tool:
        tell([say("--jsonl reads lines from standard input alone: '{word}' would do nothing.", word=space.tool)])
        return 2
    if space.preview:
        if space.tool != "run_shell_command":
            tell([say("--preview is for run_shell_command alone: what another tool changes can't be held back.")])
            return 2
        # A dry run of the user's own command: nothing of it needs their word, as in plan mode.
        mode = options.approval_mode or "plan"
        options = msgspec.structs.replace(options, commands="discard", approval_mode=mode)
    has_user = not space.jsonl and not space.json and sys.stdin.isatty() and sys.stderr.isatty()

    async def call() -> int:
        async with open_runtime(options) as runtime, settling_jobs(runtime, keep=not space.jsonl):
            tell(runtime.notes)
            told = len(runtime.notes)
            if space.jsonl:
                code = await call_lines(runtime, sys.stdin.fileno())
            else:
                code = await call_once(runtime, space.tool, space.arguments, as_json=space.json)
            tell(runtime.notes[told:])
            return code

    async def call_asking() -> int:
        code = 130
        screen = PlainScreen(Style.of(sys.stderr), sys.stderr)
        confirm = TerminalConfirm(screen)
        async with anyio.create_task_group() as group:
            group.start_soon(screen.hear_answers)
            async with (
                open_runtime(options, confirm=confirm, elicit=confirm.elicit) as runtime,
                settling_jobs(runtime, keep=True),
            ):
                tell(runtime.notes)
                told = len(runtime.notes)
                code = await call_once(runtime, space.tool, space.arguments, as_json=False)
                tell(runtime.notes[told:])
            group.cancel_scope.cancel()
        return code

    return run_async(call_asking if has_user else call)
