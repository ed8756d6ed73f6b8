"""Reads a session's record: its events with their types, and what can be said of it in a line."""

from __future__ import annotations

import os
from collections.abc import Generator

import msgspec

from dogu.agent.events import PromptGiven, RecordedEvent, Rewound, SessionForked, StateChanged, UnknownEvent, sum_usage
from dogu.agent.session.codec import EventReader
from dogu.agent.session.lines import kind_of, parse_line, raw_lines
from dogu.models.events import Usage
from dogu.runtime.session_folder import RECORD_NAME, SUMMARY_NAME
from dogu.workspace.private_file import read_private_file, write_private_file

_MOST_PROMPT_CHARS = 200


class Recorded(msgspec.Struct, frozen=True):
    """An event of the record. `seq` says its place; `time_s` (POSIX) is for people and may go back."""

    seq: int
    time_s: float
    event: RecordedEvent


def read_record(path: str) -> Generator[Recorded]:
    """Give the events of a record (its file, or its session's folder), one at a time, in their order.

    They are those that doors were shown, `session_events`, and each change of the history (`HistoryChange`). `Finished`
    is without its content, which the history has; `TurnEnded` without text and answers, which came before. What this
    version can't read is an `UnknownEvent`. Raises OSError.
    """
    reader = EventReader()
    for raw in raw_lines(record_file(path)):
        line = parse_line(raw)
        if line is None:
            yield Recorded(0, 0.0, UnknownEvent("unreadable", raw[:200].decode("utf-8", "replace")))
            continue
        try:
            event = reader.decode(line.kind, line.data)
        except (msgspec.DecodeError, LookupError, ValueError, TypeError, AttributeError):
            event = UnknownEvent(line.kind, msgspec.json.decode(line.data))
        yield Recorded(line.seq, line.time, event)


def record_file(path: str) -> str:
    """Return the record's file, given it or its folder."""
    return path if path.endswith(".jsonl") else os.path.join(path, RECORD_NAME)


class TurnSummary(msgspec.Struct):
    """One prompt of the user and what came of it. `calls` counts those that ended."""

    turn: int
    prompt: str
    time_s: float
    calls: int = 0


class RecordSummary(msgspec.Struct):
    """What can be said of a session in a line; `size` is the record's in bytes when it was said.

    A copy's `origin` is the session that it was copied from, after its turn `forked_after`.
    """

    size: int = 0
    model: str = ""
    first_s: float = 0.0
    last_s: float = 0.0
    calls: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    origin: str = ""
    forked_after: int = 0
    turns: list[TurnSummary] = msgspec.field(default_factory=list[TurnSummary])

    @property
    def first_prompt(self) -> str:
        """What the user said first."""
        return self.turns[0].prompt if self.turns else ""


_TOLD = {b"begun", b"forked", b"prompt", b"call_finished", b"state", b"rewound", b"usage"}


def summarize(folder: str) -> RecordSummary:
    """Sum up the record of a session's folder; what was summed up before is kept beside it. Raises OSError."""
    record = record_file(folder)
    size = os.stat(record).st_size
    kept = _kept_summary(folder)
    if kept is not None and kept.size == size:
        return kept
    summary = RecordSummary(size)
    reader = EventReader()
    for raw in raw_lines(record):
        if kind_of(raw) in _TOLD:
            _add(summary, reader, raw)
    _keep_summary(folder, summary)
    return summary


def _add(summary: RecordSummary, reader: EventReader, raw: bytes) -> None:
    line = parse_line(raw)
    if line is None:
        return
    summary.first_s = summary.first_s or line.time
    summary.last_s = line.time
    if line.kind == "call_finished":
        summary.calls += 1
        if summary.turns:
            summary.turns[-1].calls += 1
    else:
        _add_event(summary, line.time, reader.decode(line.kind, line.data))


def _add_event(summary: RecordSummary, time_s: float, event: RecordedEvent) -> None:
    match event:
        case PromptGiven(shown=shown, turn=turn):
            text = " ".join(shown.split())[:_MOST_PROMPT_CHARS]
            summary.turns.append(TurnSummary(turn, text, time_s))
        case StateChanged(model=model):
            summary.model = model
        case SessionForked(origin=origin):
            summary.origin = origin
            summary.forked_after = summary.turns[-1].turn if summary.turns else 0
        case Rewound(turn=turn):
            summary.turns = [each for each in summary.turns if each.turn < turn]
        case Usage() as usage:
            summary.usage = sum_usage(summary.usage, usage)
        case _:
            pass


def _kept_summary(folder: str) -> RecordSummary | None:
    try:
        return msgspec.json.decode(read_private_file(os.path.join(folder, SUMMARY_NAME))[0], type=RecordSummary)
    except (OSError, msgspec.DecodeError):
        return None


def _keep_summary(folder: str, summary: RecordSummary) -> None:
    """Keep it for the next list; where it can't be written it is worked out again."""
    try:
        write_private_file(os.path.join(folder, SUMMARY_NAME), msgspec.json.encode(summary), is_synced=False)
    except OSError:
        return
