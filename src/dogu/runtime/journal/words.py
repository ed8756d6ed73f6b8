"""What a call changed and what an undo brought back, in words for a user; names in them are made visible."""

from __future__ import annotations

import time

from dogu.language import said, say
from dogu.runtime.journal.entries import Entry
from dogu.runtime.journal.undo import UndoReport
from dogu.workspace.visible import visible_line


def undo_lines(report: UndoReport) -> list[str]:
    """Say what was brought back and what wasn't, a line each; never empty."""
    lines = [f"{say(what)}: {visible_line(path)}" for path, what in report.restored]
    if report.refused:
        lines.append(say("Not brought back:") if report.restored else say("Nothing was undone:"))
        lines += [f"  {visible_line(refusal.path)}: {say(refusal.reason)}" for refusal in report.refused]
    if report.needs_force:
        lines.append(say("--force undoes all that can be, whatever was changed since."))
    elif not report.done:
        lines.append(say("Undo again when that is put right."))
    return lines or [say("All was already as before.")]


def entry_lines(entry: Entry) -> list[str]:
    """Say what a call changed."""
    when = time.strftime("%H:%M:%S", time.localtime(entry.time_s))
    state = f"  {say('(undone)')}" if entry.is_undone else ""
    lines = [f"{entry.number:>4}  {when}  {visible_line(said(entry.title) or entry.call_id)}{state}"]
    lines += [f"        {say(change.what)} {visible_line(change.path)}" for change in entry.changes]
    return lines + [f"        {say(note)}" for note in entry.notes]
