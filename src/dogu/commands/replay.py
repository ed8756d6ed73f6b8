"""`dogu replay`: run a session's calls again in a copy of the workspace, and say what differs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dogu.app import Options, read_settings
from dogu.app.replaying import copied_workspace, replay_calls
from dogu.app.sessions import check_record, find_recorded
from dogu.commands.running import run_async, tell
from dogu.language import say
from dogu.serve.wire import to_line
from dogu.workspace.diff import unified_diff
from dogu.workspace.visible import make_visible, visible_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.app.replaying import Replayed

_MOST_LINES = 40


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("session", nargs="?", metavar="ID", help=say("the session (default: the last one here)"))
    parser.add_argument(
        "--unverified", action="store_true", help=say("continue even if the record was damaged or changed")
    )
    parser.add_argument("--json", action="store_true", help=say("print one line of JSON a call"))


def run(options: Options, space: Namespace) -> int:
    """Replay the session; the status is 1 when an answer differs."""
    kept = find_recorded(options, space.session or "")
    check_record(kept, is_unverified=space.unverified)
    settings = read_settings(options)
    counts = {"same": 0, "differs": 0, "not run": 0}

    async def replay() -> int:
        with copied_workspace(options, kept) as copied:
            tell(copied.notes)
            async for replayed in replay_calls(copied, settings):
                counts[_outcome(replayed)] += 1
                sys.stdout.write(_as_json(replayed) if space.json else _as_text(replayed))
                sys.stdout.flush()
        return 1 if counts["differs"] else 0

    status = run_async(replay)
    tell(
        [
            say(
                "{same} calls answered as then, {differs} otherwise, {skipped} not run again.",
                same=counts["same"],
                differs=counts["differs"],
                skipped=counts["not run"],
            )
        ]
    )
    return status


def _outcome(replayed: Replayed) -> str:
    if replayed.answer is None:
        return "not run"
    return "same" if replayed.is_same else "differs"


def _as_json(replayed: Replayed) -> str:
    call = replayed.call
    row: dict[str, Any] = {"tool": call.name, "args": call.args, "outcome": _outcome(replayed).replace(" ", "_")}
    if replayed.why:
        row["why"] = replayed.why
    elif not replayed.is_same:
        row |= {"before": replayed.before, "now": replayed.answer}
    return to_line(row) + "\n"


def _as_text(replayed: Replayed) -> str:
    marks = {"same": "=", "differs": "≠", "not run": "-"}
    shown = visible_line(f"{replayed.call.name} {to_line(replayed.call.args)}")[:160]
    line = f"{marks[_outcome(replayed)]} {shown}"
    if replayed.answer is None:
        return f"{line}  ({replayed.why})\n"
    if replayed.is_same:
        return f"{line}\n"
    diff = unified_diff(f"{replayed.before}\n", f"{replayed.answer}\n", "answer").splitlines()[2:]
    if len(diff) > _MOST_LINES:
        diff = [*diff[:_MOST_LINES], say("({count} more lines)", count=len(diff) - _MOST_LINES)]
    return "\n".join([line, *(f"    {make_visible(each)}" for each in diff)]) + "\n"
