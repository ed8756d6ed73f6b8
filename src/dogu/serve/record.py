"""Prints what sessions did and what an undo brought back."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dogu.agent.session.lines import ChainReport
from dogu.agent.session.record import RecordSummary, summarize
from dogu.language import joined, say, told
from dogu.runtime.journal.entries import Entry
from dogu.runtime.journal.undo import UndoReport
from dogu.runtime.journal.words import entry_lines, undo_lines
from dogu.runtime.session_expiry import size_bytes
from dogu.runtime.session_folder import StoredSession
from dogu.serve.exit_codes import ExitCode
from dogu.serve.wire import to_line
from dogu.workspace.columns import padded
from dogu.workspace.visible import visible_line


def print_undo(report: UndoReport) -> int:
    """Print what an undo did; the status says whether it did."""
    is_done = report.done and bool(report.restored or not report.refused)
    out = sys.stdout if is_done else sys.stderr
    out.write("\n".join(undo_lines(report)) + "\n")
    return ExitCode.DONE if is_done else ExitCode.TOOL_FAILED


def print_sessions(sessions: Sequence[StoredSession], *, as_json: bool = False, of_all: bool = False) -> int:
    """Print a line a session, the last used first: when, how many turns, the model, the first prompt."""
    if as_json:
        print(to_line([session_json(session) for session in sessions]))
        return ExitCode.DONE
    for session in sessions:
        summary = summary_of(session)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.last_s or session.facts.began))
        where = ", ".join(session.facts.roots)
        said = summary.first_prompt[:100] or say("(calls only, in {roots})", roots=where)
        if of_all and summary.first_prompt:
            said = f"{where}: {said}"
        said = visible_line(said)
        print(f"{session.session_id}  {when}  {len(summary.turns):>4}  {padded(summary.model, 16)}  {said}")
    if not sessions:
        print(say("No session kept anything for this folder."))
    return ExitCode.DONE


def session_json(session: StoredSession) -> dict[str, Any]:
    """Return what `sessions list --json` says of a session; times are POSIX seconds."""
    summary = summary_of(session)
    return {
        "id": session.session_id,
        "path": session.path,
        "roots": session.facts.roots,
        "origin": session.facts.origin or None,
        "began": session.facts.began,
        "lastEvent": summary.last_s or None,
        "model": summary.model or None,
        "firstPrompt": summary.first_prompt or None,
        "turns": len(summary.turns),
        "calls": summary.calls,
        "tokens": msgspec.structs.asdict(summary.usage),
        "bytes": size_bytes(session.path),
        "canBeResumed": session.has_record,
    }


def summary_of(session: StoredSession) -> RecordSummary:
    """Return what the record says in a line; one that isn't there says nothing."""
    try:
        return summarize(session.path)
    except OSError:
        return RecordSummary()


def print_session(session: StoredSession, entries: Sequence[Entry], *, as_json: bool = False) -> int:
    """Print what a session did: its prompts, and by call what was changed."""
    turns = summary_of(session).turns
    if as_json:
        told = [{**msgspec.structs.asdict(turn), "changes": _changes(entries, turn.turn)} for turn in turns]
        print(to_line({**session_json(session), "turns": told, "otherChanges": _changes(entries, 0)}))
        return ExitCode.DONE
    roots = visible_line(", ".join(session.facts.roots))
    print(say("Session {session_id} in {shown}", session_id=session.session_id, shown=roots))
    shown_turns = {turn.turn for turn in turns}
    for turn in turns:
        print(f"[{turn.turn}] {time.strftime('%H:%M:%S', time.localtime(turn.time_s))}  › {visible_line(turn.prompt)}")
        _print_entries(entry for entry in entries if entry.turn == turn.turn)
    _print_entries(entry for entry in entries if entry.turn not in shown_turns)
    stored = sorted(name for name in os.listdir(session.path) if name.endswith(".txt"))
    if stored:
        print(say("Full outputs:") + " " + ", ".join(os.path.join(session.path, name) for name in stored))
    return ExitCode.DONE


def print_chain(session: StoredSession, report: ChainReport, *, as_json: bool = False) -> int:
    """Print whether a record is as it was written; the status is 1 when it isn't."""
    if as_json:
        print(to_line({"id": session.session_id, **msgspec.structs.asdict(report)}))
    elif report.problems:
        print(say("The record of {id} was changed after it was written:", id=session.session_id))
        print("\n".join(f"  {say(problem)}" for problem in report.problems))
    else:
        whole = told("{lines} lines, none of them changed.", lines=report.lines)
        last = told("The last hash is {hash}.", hash=report.last_hash)
        print(f"{session.session_id}: {say(joined(' ', (whole, last)))}")
    return 1 if report.problems else ExitCode.DONE


def _print_entries(entries: Iterable[Entry]) -> None:
    for entry in entries:
        print("\n".join(entry_lines(entry)))


def _changes(entries: Sequence[Entry], turn: int) -> list[dict[str, Any]]:
    return [
        {
            "call": entry.number,
            "title": entry.title,
            "path": change.path,
            "what": change.what,
            "undone": entry.is_undone,
        }
        for entry in entries
        if entry.turn == turn
        for change in entry.changes
    ]
