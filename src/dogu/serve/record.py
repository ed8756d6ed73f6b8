"""What sessions did and what an undo brought back, in words."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from dogu.runtime.journal_entries import Entry
from dogu.runtime.journal_undo import UndoReport
from dogu.runtime.session_folder import KeptSession
from dogu.serve.exit_codes import ExitCode
from dogu.workspace.visible import make_visible


def undo_lines(report: UndoReport) -> list[str]:
    """Say what was brought back and what wasn't, a line each; never empty."""
    lines = [f"{what}: {_shown(path)}" for path, what in report.restored]
    if report.refused:
        lines.append("Not brought back:" if report.restored else "Nothing was undone:")
        lines += [f"  {_shown(refusal.path)}: {refusal.reason}" for refusal in report.refused]
    if report.needs_force:
        lines.append("--force undoes all that can be, whatever was changed since.")
    elif not report.done:
        lines.append("Undo again when that is put right.")
    return lines or ["All was already as before."]


def entry_lines(entry: Entry) -> list[str]:
    """Say what a call changed."""
    when = time.strftime("%H:%M:%S", time.localtime(entry.time_s))
    state = "  (undone)" if entry.is_undone else ""
    lines = [f"{entry.number:>4}  {when}  {_shown(entry.title or entry.call_id)}{state}"]
    lines += [f"        {change.what} {_shown(change.path)}" for change in entry.changes]
    return lines + [f"        {note}" for note in entry.notes]


def print_undo(report: UndoReport) -> int:
    """Print what an undo did; the status says whether it did."""
    out = sys.stdout if report.done else sys.stderr
    out.write("\n".join(undo_lines(report)) + "\n")
    return ExitCode.DONE if report.done else ExitCode.TOOL_FAILED


def print_sessions(sessions: Sequence[KeptSession]) -> int:
    """Print a line a session, the newest first."""
    for session in sessions:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.facts.began))
        print(f"{session.session_id}  {began}  {_shown(', '.join(session.facts.roots))}")
    if not sessions:
        print("No session kept anything for this folder.")
    return ExitCode.DONE


def print_entries(session: KeptSession, entries: Sequence[Entry]) -> int:
    """Print what a session did, by call."""
    print(f"Session {session.session_id} in {_shown(', '.join(session.facts.roots))}")
    for entry in entries:
        print("\n".join(entry_lines(entry)))
    kept = sorted(name for name in os.listdir(session.path) if name.endswith(".txt"))
    if kept:
        print("Whole outputs: " + ", ".join(os.path.join(session.path, name) for name in kept))
    return ExitCode.DONE


def _shown(text: str) -> str:
    return make_visible(text, keep="")
