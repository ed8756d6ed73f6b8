"""A session's record: all that happens is in it before anybody sees it, and nothing that is secret."""

from __future__ import annotations

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from agent.session.recorded import Recorded
from cancelling import cancelled_when
from dogu.agent.events import (
    PromptGiven,
    QuestionAnswered,
    QuestionAsked,
    RecordGap,
    SessionBegun,
    StateChanged,
    TurnCancelled,
    TurnEnded,
    TurnFailed,
    UnknownEvent,
)
from dogu.agent.history import AllReplaced
from dogu.agent.session.lines import InUseError, LineFile, verify
from dogu.agent.session.live import Session
from dogu.agent.session.record import read_record, summarize
from dogu.contract.content import Blob, Text
from dogu.contract.display import FileDiff, TerminalOutput, Todo, TodoList
from dogu.contract.errors import ErrorKind
from dogu.contract.function_tool import function_tool
from dogu.contract.result import ToolFailure, ToolResult
from dogu.contract.tool import Kind
from dogu.models.events import ModelError, ModelErrorKind, TextDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, ToolCall, Within
from dogu.runtime.questions import Declined
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio
KEY = "sk-0123456789abcdef"


def look(name: str) -> str:
    """Look."""
    return f"saw {name}"


LOOK = function_tool(look, kind=Kind.READ)


def events(recorded: Recorded | Session) -> list[object]:
    folder = recorded.folder if isinstance(recorded, Recorded) else recorded.path
    return [each.event for each in read_record(str(folder))]


def of(found: list[object], kind: type) -> list[object]:
    return [event for event in found if isinstance(event, kind)]


async def test_every_event_is_in_the_record_before_the_door_is_told(tmp_path: Path):
    recorded = Recorded(tmp_path, [Turn(text="Let me see.", pieces=4, calls=[call("look", name="a")]), "Done."], [LOOK])
    recorded.begin()
    shown: list[object] = []

    def door(event: object) -> None:
        shown.append(event)
        last = events(recorded)[-1]
        if isinstance(event, TextDelta | CallStarted | CallFinished | Usage):
            assert last == event
        elif isinstance(event, TurnEnded):
            assert isinstance(last, TurnEnded)

    await recorded.agent.run("look", door)
    kinds = [type(event) for event in events(recorded)]
    assert kinds[:2] == [SessionBegun, StateChanged]
    assert [kind for kind in kinds if kind in (TextDelta, CallStarted, CallFinished)] == [
        type(event) for event in shown if isinstance(event, TextDelta | CallStarted | CallFinished)
    ]


async def test_prompts_questions_answers_failures_and_cancellations_are_recorded(tmp_path: Path):
    def write(name: str) -> str:
        """Write."""
        return name

    async def decline(_question: object) -> Declined:
        return Declined("not now")

    down = ModelError(ModelErrorKind.OVERLOADED, "Overloaded.")
    turns = [Turn(calls=[call("write", name="a")]), "ok", Turn(error=down), Turn(hangs=True)]
    recorded = Recorded(tmp_path, turns, [function_tool(write)], confirm=decline).begin()
    await recorded.agent.run("write a")
    with pytest.raises(ModelError):
        await recorded.agent.run([Text("again"), Blob("image/png", b"png", "a.png")])
    await cancelled_when(lambda: len(recorded.model.requests) == 4, lambda: recorded.agent.run("and then"))
    found = events(recorded)
    assert of(found, PromptGiven) == [
        PromptGiven("write a", 1),
        PromptGiven([Text("again"), Blob("image/png", b"png", "a.png")], 2),
        PromptGiven("and then", 3),
    ]
    (asked,) = of(found, QuestionAsked)
    assert isinstance(asked, QuestionAsked)
    assert asked.tool == "write"
    assert of(found, QuestionAnswered) == [QuestionAnswered(asked.call_id, "declined", "not now")]
    assert of(found, TurnFailed) == [TurnFailed("overloaded", "Overloaded.")]
    assert of(found, TurnCancelled) == [TurnCancelled()]


DISPLAYS = [
    "a text",
    FileDiff("/a", "old\n", "new\n", "--- a\n+++ b\n", ("a note",)),
    FileDiff("/a", None, "new\n", "--- a\n+++ b\n"),
    TerminalOutput("ls", "a\n", 1, ("note",)),
    TodoList((Todo("one", "pending"),)),
]


@pytest.mark.parametrize("display", DISPLAYS)
def test_results_come_back_with_what_the_model_and_the_user_were_given(tmp_path: Path, display: str | FileDiff):
    session = Session(str(tmp_path))
    tool_call = ToolCall("1", "t", {"a": [1, "二"]})
    result = ToolResult([Text("x"), Blob("image/png", b"\x00\xff")], display, ToolFailure(ErrorKind.STALE, "stale"))
    given = [CallStarted(tool_call, "T", "t"), CallOutput("1", "x"), CallFinished(tool_call, "T", result)]
    refused = CallFinished(ToolCall("2", "t", None, "no JSON"), "T", ToolResult("bad"))
    for event in [*given, refused]:
        session.event(event)
    assert [event for event in events(session)[1:] if not isinstance(event, StateChanged)] == [*given, refused]


def test_a_helpers_events_are_kept_apart_and_unknown_ones_are_kept(tmp_path: Path):
    session = Session(str(tmp_path))
    session.event(Within("7", CallOutput("7/1", "inside")))
    session.close()
    newer = LineFile(session.record_path)
    newer.add("novelty", 0.0, b'{"number":3}')
    newer.close()
    within, unknown = events(session)[1:]
    assert within == Within("7", CallOutput("7/1", "inside"))
    assert isinstance(unknown, UnknownEvent)
    assert unknown.data == {"number": 3}


def test_names_that_are_no_text_are_recorded(tmp_path: Path):
    session = Session(str(tmp_path))
    session.event(CallStarted(ToolCall("1", "t", {"path": "a\udc80"}), "T", "a\udc80"))
    (started,) = of(events(session), CallStarted)
    assert isinstance(started, CallStarted)
    assert started.description == "a\\udc80"


async def test_the_record_is_for_its_owner_only(tmp_path: Path):
    recorded = Recorded(tmp_path, ["hi"]).begin()
    await recorded.agent.run("hello")
    assert (recorded.folder / "record.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 40])
async def test_no_secret_gets_into_the_record_in_whatever_pieces_it_comes(tmp_path: Path, pieces: int):
    def leak(name: str) -> str:
        """Leak."""
        return f"{name}: {KEY}"

    def deltas(text: str) -> str:
        return "".join(event.text for event in events(recorded) if isinstance(event, TextDelta) and text)

    said = f"The key is {KEY}, and sk-012 is none."
    turns = [Turn(text=said, pieces=pieces, calls=[call("leak", name=f'"{KEY}"')]), "ok"]
    recorded = Recorded(tmp_path, turns, [function_tool(leak, kind=Kind.READ)], secrets=[KEY, "short"]).begin()
    await recorded.agent.run(f"what is {KEY}? a short answer")
    recorded.session.close()
    assert KEY.encode() not in recorded.record
    assert b"a short answer" in recorded.record
    assert deltas("x") == said.replace(KEY, "[secret]") + "ok"


def test_no_secret_gets_in_with_what_helpers_and_commands_print_at_the_same_time(tmp_path: Path):
    session = Session(str(tmp_path), secrets=[KEY])
    for piece in (KEY[:5], KEY[5:12], KEY[12:], " and more"):
        session.event(Within("7", CallOutput("7/1", piece)))
        session.event(CallOutput("8", piece))
        session.event(CallOutput("9", piece))
        session.event(TextDelta(piece))
    session.event(Within("7", CallOutput("7/1", KEY[:5])))
    for call_id in ("7", "8"):
        session.event(CallFinished(ToolCall(call_id, "t", {}), "T", ToolResult("")))
    session.close()
    record = Path(session.record_path).read_bytes()
    assert record.count(b"[secret]") == 4
    assert KEY[5:12].encode() not in record
    texts: dict[str, str] = {}
    for event in events(session):
        name, piece = (event.call_id, event.event) if isinstance(event, Within) else ("", event)
        if isinstance(piece, TextDelta | CallOutput):
            name = name or getattr(piece, "call_id", "model")
            texts[name] = texts.get(name, "") + piece.text
    whole = "[secret] and more"
    assert texts == {"7": whole + KEY[:5], "8": whole, "9": whole, "model": whole}


def test_a_secret_is_found_in_json_within_json_and_as_googles_servers_escape_it(tmp_path: Path):
    secret = 'p"ss\\w<rd=1'
    session = Session(str(tmp_path), secrets=[secret])
    inner = msgspec.json.encode({"key": secret}).decode()
    for text in (secret, inner, 'p\\"ss\\\\w\\u003crd\\u003d1'):
        session.event(TextDelta(text))
    session.event(AllReplaced((b'{"role":"user","parts":[{"text":"p\\"ss\\\\w\\u003crd\\u003d1"}]}',)))
    session.close()
    record = Path(session.record_path).read_text()
    assert record.count("[secret]") == 3
    assert "ss\\\\\\\\w" in record  # the third text spells the escapes out: that isn't the secret


def test_a_changed_removed_moved_or_added_line_breaks_the_chain(tmp_path: Path):
    session = Session(str(tmp_path))
    for number in range(5):
        session.event(TextDelta(f"number {number}"))
    session.close()
    path = Path(session.record_path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert verify(str(path)).problems == ()
    assert verify(str(path)).lines == 6
    changed = [*lines[:3], lines[3].replace(b"number 2", b"number 9"), *lines[4:]]
    for tampered in (changed, lines[:3] + lines[4:], [*lines[:2], lines[3], lines[2], *lines[4:]], [*lines, lines[-1]]):
        path.write_bytes(b"".join(tampered))
        assert verify(str(path)).problems


@pytest.mark.parametrize("torn", [b"x", b'{"seq":7,"kind":"text"', b"\x00" * 5000, b"junk\n", b"\x00\n\x00"])
def test_a_torn_end_counts_as_not_written_and_is_cut_off(tmp_path: Path, torn: bytes):
    session = Session(str(tmp_path))
    session.event(TextDelta("one"))
    session.close()
    path = Path(session.record_path)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = Session(str(tmp_path))
    again.event(TextDelta("two"))
    again.close()
    assert path.read_bytes().startswith(whole)
    assert verify(str(path)).problems == ()
    assert of(events(again), TextDelta) == [TextDelta("one"), TextDelta("two")]


def test_lines_longer_than_a_block_are_found_from_the_end(tmp_path: Path):
    session = Session(str(tmp_path))
    for size in (10, 3_000_000, 10, 5_000_000):
        session.event(TextDelta("x" * size))
        session.close()
    session.event(TextDelta("end"))
    assert verify(session.record_path).problems == ()


def test_a_second_process_is_kept_from_writing_the_same_record(tmp_path: Path):
    notes: list[str] = []
    first, second = Session(str(tmp_path)), Session(str(tmp_path), tell=notes.append)
    first.event(TextDelta("mine"))
    with pytest.raises(InUseError):
        LineFile(second.record_path)
    second.event(TextDelta("yours"))
    second.event(TextDelta("yours"))
    assert len(notes) == 1
    first.event(TextDelta("mine"))
    assert of(events(first), TextDelta) == [TextDelta("mine")] * 2
    assert verify(first.record_path).problems == ()


@contextmanager
def full_disk(path: Path) -> Generator[None]:
    """No file can grow past what the record takes now and 20 bytes more: a write is cut short, the next one fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


async def test_on_a_full_disk_the_session_goes_on_says_so_once_and_is_whole_again_when_there_is_room(tmp_path: Path):
    recorded = Recorded(tmp_path, [str(number) * 30 for number in range(5)]).begin()
    await recorded.agent.run("zero")
    with full_disk(recorded.folder / "record.jsonl"):
        await recorded.agent.run("one")
        await recorded.agent.run("two")
    assert len(recorded.notes) == 1
    assert "can't be recorded" in recorded.notes[0]
    await recorded.agent.run("three")
    assert verify(str(recorded.folder / "record.jsonl")).problems == ()
    assert len(of(events(recorded), RecordGap)) == 1
    recorded.session.close()
    assert recorded.resume().agent.history.contents == recorded.agent.history.contents


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everywhere")
async def test_where_the_record_cannot_be_made_the_session_goes_on(tmp_path: Path):
    recorded = Recorded(tmp_path, ["fine", "fine"]).begin()
    recorded.folder.chmod(0o500)
    assert (await recorded.agent.run("hello")).text == "fine"
    await recorded.agent.run("hello")
    recorded.folder.chmod(0o700)
    assert len(recorded.notes) == 1


async def test_a_folder_that_is_gone_costs_the_record_and_not_the_session(tmp_path: Path):
    notes: list[str] = []
    session = Session(str(tmp_path / "gone"), tell=notes.append)
    for _ in range(3):
        session.event(PromptGiven("x", 1))
    assert len(notes) == 1


async def test_a_session_is_summed_up_and_the_sum_is_kept(tmp_path: Path):
    turns = [Turn(calls=[call("look", name="a"), call("look", name="b")]), "ok", "fine"]
    recorded = Recorded(tmp_path, turns, [LOOK], state=lambda: StateChanged(model="scripted")).begin()
    await recorded.agent.run("first\n  prompt")
    await recorded.agent.run("second")
    summary = summarize(str(recorded.folder))
    assert (summary.first_prompt, summary.calls, summary.model) == ("first prompt", 2, "scripted")
    assert [(turn.turn, turn.prompt, turn.calls) for turn in summary.turns] == [
        (1, "first prompt", 2),
        (2, "second", 0),
    ]
    assert summary.usage == recorded.agent.usage
    assert summarize(str(recorded.folder)) == summary
    assert (recorded.folder / "summary.json").stat().st_mode & 0o777 == 0o600
