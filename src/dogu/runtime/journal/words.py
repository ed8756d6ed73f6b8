"""What a call changed, what an undo would do and what it did, in words for a user; names in them are made visible."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence

from dogu.language import said, say, told
from dogu.runtime.journal.entries import Entry
from dogu.runtime.journal.log import ChangeRecord, Damage
from dogu.runtime.journal.steps import FORCE, UNSURE, UndoRefusal
from dogu.runtime.journal.undo import UndoPlan, UndoReport
from dogu.workspace.visible import visible_line

_MOST_LINES = 200
_MOST_NAMED = 5


def undo_lines(report: UndoReport, folder: str = "") -> list[str]:
    """Say what was brought back and what wasn't, a line each; never empty. Paths are told from `folder` on."""
    restored = [(path_within(folder, path), what) for path, what in report.restored]
    lines = _bounded([say("{what}: {path}", what=say(what), path=path) for path, what in restored])
    if report.refused:
        lines.append(say("Left as they are:") if report.restored else say("Nothing was undone:"))
        lines += _refused_lines(report.refused, folder)
    lines += _advice(report.refused)
    return lines or [say("Everything was already as it was before.")]


def plan_lines(plan: UndoPlan, folder: str = "") -> list[str]:
    """Say what an undo would do: the calls, then each path, from `folder` on."""
    lines = [say("This would redo:") if plan.is_redo else say("This would undo:")]
    lines += [
        f"{entry.number:>4}  {_when(entry)}  {visible_line(said(entry.title) or entry.call_id)}" for entry in plan.calls
    ]
    lines += _bounded(
        [
            f"  {_intention(step.now.state.kind, step.target.kind)} {path_within(folder, step.path)}"
            for step in plan.steps
        ]
    )
    if plan.refused:
        lines.append(say("It would leave as they are:"))
        lines += _refused_lines(plan.refused, folder)
    return [*lines, *_advice(plan.refused)]


def damage_lines(damages: Sequence[Damage], path: str) -> list[str]:
    """Say where a journal or a record is damaged."""
    lines = [say("{path} was damaged or changed:", path=visible_line(path))]
    return lines + [f"  {say('byte {offset}: {what}', offset=each.offset, what=say(each.what))}" for each in damages]


def entry_lines(entry: Entry, folder: str = "") -> list[str]:
    """Say what a call changed; paths are told from `folder` on."""
    state = f"  {say('(undone)')}" if entry.is_undone else ""
    lines = [f"{entry.number:>4}  {_when(entry)}  {visible_line(said(entry.title) or entry.call_id)}{state}"]
    for change in entry.changes:
        unsure = f"  {say('(by it or by somebody else)')}" if change.is_unsure else ""
        lines.append(f"        {say(change.what)} {path_within(folder, change.path)}{unsure}")
    return lines + [f"        {say(note)}" for note in entry.notes]


def unsure_notes(changes: Sequence[ChangeRecord]) -> tuple[str, ...]:
    """Say with a call which of its changes an undo won't take back unasked."""
    paths = [os.fsdecode(each.path) for each in changes if each.is_unsure and not each.is_outside]
    if not paths:
        return ()
    names = writable(", ".join(paths[:_MOST_NAMED]) + (", ..." if len(paths) > _MOST_NAMED else ""))
    return (told("Undo leaves what somebody else may have changed, unless you add --unsure: {names}.", names=names),)


def writable(text: str) -> str:
    """Return a text that can be encoded: names of files may hold bytes that are no characters."""
    written = text.encode("utf-8", "backslashreplace").decode()
    return text if written == text else written


def path_within(folder: str, path: str) -> str:
    """Return a path as it is told: from `folder` on where it is in it."""
    inside = path.startswith(os.path.join(folder, "")) and folder
    return visible_line(os.path.relpath(path, folder) if inside else path)


def _refused_lines(refused: Iterable[UndoRefusal], folder: str) -> list[str]:
    return _bounded([f"  {path_within(folder, each.path)}: {say(each.reason)}" for each in refused])


def _advice(refused: Sequence[UndoRefusal]) -> list[str]:
    lines: list[str] = []
    if any(each.needs == UNSURE for each in refused):
        lines.append(
            say("--unsure also includes what somebody else may have changed; you can also name a single file.")
        )
    if any(each.needs == FORCE for each in refused):
        lines.append(say("--force also includes what was changed since."))
    return lines


def _intention(now: str, target: str) -> str:
    if target == "missing":
        return say("remove")
    return say("bring back") if now == "missing" else say("restore")


def _when(entry: Entry) -> str:
    return time.strftime("%H:%M:%S", time.localtime(entry.time_s))


def _bounded(lines: Sequence[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return list(lines)
    return [*lines[:_MOST_LINES], say("... and {count} more", count=len(lines) - _MOST_LINES)]


def lost_notes(lost: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Say which files, with their sizes in bytes, can't be undone because they aren't kept."""
    if not lost:
        return ()
    names = ", ".join(path for path, _ in lost[:3])
    size_mb = (sum(size for _, size in lost) + 999_999) // 1_000_000
    if len(lost) > 3:
        return (
            told(
                "Can't be undone, because what they held isn't kept (no room by journal.keep, or it can't be read): "
                "{names} and {count} more, {size} MB in all.",
                names=names,
                count=len(lost) - 3,
                size=size_mb,
            ),
        )
    return (
        told(
            "Can't be undone, because what it held isn't kept (no room by journal.keep, or it can't be read): "
            "{names}, {size} MB.",
            names=names,
            size=size_mb,
        ),
    )
