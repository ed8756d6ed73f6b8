"""Resuming: the very conversation again, however its process ended; nothing is run twice."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.session.recorded import Recorded
from dogu.agent.events import PromptGiven
from dogu.agent.history import ContentAdded, History, HistoryChange, apply_change
from dogu.agent.session.lines import LineFile
from dogu.agent.session.record import read_record
from dogu.agent.session.resume import reopen, restore
from dogu.contract.confirmation import CallContext
from dogu.contract.function_tool import function_tool
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.models.contents import model_content, user_content
from dogu.models.events import Finished, FinishReason, FunctionCallEvent, ModelError, ModelErrorKind, TextDelta
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio


def look(name: str) -> str:
    """Look."""
    return f"saw {name}"


LOOK = function_tool(look, kind=Kind.READ)
SIGNED = b'{"role":"model","parts":[{"text":"","thoughtSignature":"c2lnbmVk","somethingNew": {"a":\n[1,null]}}]}'


class ActArgs(msgspec.Struct):
    how: str


class Act(Tool[ActArgs]):
    """Act."""

    name = "act"
    display_name = "Act"
    kind = Kind.EXECUTE

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.inside = anyio.Event()

    def get_description(self, args: ActArgs) -> str:
        return args.how

    async def execute(self, args: ActArgs, context: CallContext) -> ToolResult:
        self.runs.append(args.how)
        if args.how == "hang":
            context.report("half of it\n")
            self.inside.set()
            await anyio.sleep_forever()
        return ToolResult(f"did {args.how}")


def contents(history: Sequence[bytes]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", msgspec.json.decode(content)) for content in history]


def assert_it_can_be_sent(history: Sequence[bytes]) -> None:
    """What the API demands: roles alternate, every call is answered by the next content, in its order."""
    sent = contents(history)
    assert [content["role"] for content in sent] == ["user", "model"] * (len(sent) // 2) + ["user"] * (len(sent) % 2)
    for at, content in enumerate(sent):
        asked = [part["functionCall"]["id"] for part in content["parts"] if "functionCall" in part]
        given = [part["functionResponse"]["id"] for part in sent[at + 1]["parts"][: len(asked)]] if asked else []
        assert given == asked


async def finished(tmp_path: Path) -> Recorded:
    """A session with a bit of everything that changes a history."""
    turns = [
        Turn(text="Let me look.", pieces=3, calls=[call("look", name="a"), call("look", name="b")]),
        Turn(text="Again.", calls=[call("act", how="twice")]),
        "Done.",
        Turn(error=ModelError(ModelErrorKind.BLOCKED, "No.")),
        Turn(calls=[call("look", name="c")]),
        Turn(text="I", error=ModelError(ModelErrorKind.OVERLOADED, "Later.")),
        "Fine.",
    ]
    recorded = Recorded(tmp_path, turns, [LOOK, Act()]).begin()
    await recorded.agent.run("first")
    for prompt in ("blocked", "fails later"):
        with pytest.raises(ModelError):
            await recorded.agent.run(prompt)
    await recorded.agent.run("go on")
    recorded.agent.history.add_prompt("a thought, please")
    recorded.agent.history.add_model(Finished(FinishReason.STOP, SIGNED))
    recorded.session.close()
    return recorded


async def test_a_resumed_conversation_is_the_very_same(tmp_path: Path):
    recorded = await finished(tmp_path)
    resumed = recorded.resume(["Hello again."])
    *same, signed = resumed.agent.history.contents
    assert same == recorded.agent.history.contents[:-1]
    assert signed == SIGNED.replace(b"\n", b" ")  # a line is a line
    assert resumed.agent.usage == recorded.agent.usage
    await resumed.agent.run("and now")
    recorded_turns = [each.event.turn for each in read_record(str(recorded.folder)) if type(each.event) is PromptGiven]
    assert recorded_turns == [1, 2, 3, 4, 5]


async def test_a_record_cut_at_any_byte_resumes_to_a_conversation_that_can_be_sent(tmp_path: Path):
    """A kill leaves a beginning of the record: any."""
    recorded = await finished(tmp_path)
    record = recorded.record
    ends = {at + 1 for at, byte in enumerate(record) if byte == 10}
    ends |= {end + more for end in ends for more in (1, 40, 120)}
    whole = recorded.agent.history.contents
    for end in sorted(each for each in ends if each <= len(record)):
        (recorded.folder / "record.jsonl").write_bytes(record[:end])
        resumed = recorded.resume()
        assert_it_can_be_sent(resumed.agent.history.contents)
        unchanged = [one for one, other in zip(resumed.agent.history.contents, whole, strict=False) if one == other]
        assert len(unchanged) >= len(resumed.agent.history.contents) - 2
        resumed.session.close()
        assert recorded.resume().agent.history.contents == resumed.agent.history.contents
    (recorded.folder / "record.jsonl").write_bytes(record)


async def test_calls_cut_short_are_answered_and_never_run_again(tmp_path: Path):
    tool = Act()
    calls = [call("act", how="fast"), call("act", how="hang"), call("act", how="never")]
    recorded = Recorded(tmp_path, [Turn(text="On it.", calls=calls)], [tool]).begin()
    killed = tmp_path / "killed"
    async with anyio.create_task_group() as group:
        group.start_soon(recorded.agent.run, "act")
        with anyio.fail_after(30):
            await tool.inside.wait()
        shutil.copytree(recorded.folder, killed)  # as it is when the process is killed now
        group.cancel_scope.cancel()
    recorded.session.close()
    shutil.rmtree(recorded.folder)
    killed.rename(recorded.folder)
    again = Act()
    resumed = recorded.resume(["I see."], [again])
    assert [each.args for each in resumed.interrupted.begun] == [{"how": "hang"}]
    assert [each.args for each in resumed.interrupted.not_run] == [{"how": "never"}]
    assert resumed.interrupted.is_mid_turn
    await resumed.agent.run("go on")
    fast, hung, never = (
        part["functionResponse"]["response"]
        for part in resumed.model.requests[0].contents[-1]["parts"]
        if "functionResponse" in part
    )
    assert fast == {"output": "did fast"}
    assert "not run again" in hung["error"]
    assert "half of it" in hung["error"]
    assert "Not run" in never["error"]
    assert again.runs == []
    assert_it_can_be_sent(resumed.agent.history.contents)


async def test_text_that_was_shown_when_the_process_was_killed_is_kept_and_marked(tmp_path: Path):
    recorded = Recorded(tmp_path, [Turn(text="half an answer", pieces=2)]).begin()
    scope = anyio.CancelScope()
    killed = tmp_path / "killed"

    def kill_at_text(event: object) -> None:
        if isinstance(event, TextDelta):
            shutil.copytree(recorded.folder, killed)
            scope.cancel()

    with scope:
        await recorded.agent.run("ask", kill_at_text)
    shutil.rmtree(recorded.folder)
    killed.rename(recorded.folder)
    resumed = recorded.resume()
    assert contents(resumed.agent.history.contents)[-1]["parts"] == [
        {"text": "half an\n[interrupted by the user]"},
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.sampled_from(["prompt", "text", "calls", "answer", "back", "replace", "interrupt"])))
def test_replaying_the_changes_makes_the_same_contents(acts: list[str]):
    history, replayed = History(), list[bytes]()
    marks = [history.mark()]

    def follow(change: HistoryChange) -> None:
        apply_change(replayed, change)

    history.observe(follow)
    for number, act in enumerate(acts):
        if act == "prompt":
            marks.append(history.mark())
        if act == "replace":
            history.replace([user_content(f"r{number}"), model_content("so far")])
            marks = [history.mark()]
        elif act != "back" or marks[-1][0] <= len(history.contents):
            change_history(history, act, number, marks[-1])
        assert replayed == history.contents


def change_history(history: History, act: str, number: int, mark: tuple[int, bytes]) -> None:
    match act:
        case "prompt":
            history.add_prompt(f"p{number}")
        case "text":
            history.add_model(Finished(FinishReason.STOP, model_content(f"m{number}")))
        case "calls":
            part = {"functionCall": {"id": f"c{number}", "name": "look", "args": {}}}
            content = msgspec.json.encode({"role": "model", "parts": [part]})
            history.add_model(Finished(FinishReason.STOP, content, (FunctionCallEvent(f"c{number}", "look", {}),)))
        case "answer":
            history.answer({})
        case "back":
            history.rewind(mark)
        case _:
            history.interrupt("half", {})


async def test_contents_that_were_all_replaced_are_the_ones_that_come_back(tmp_path: Path):
    recorded = Recorded(tmp_path, ["one", "two", "three"], [LOOK]).begin()
    for prompt in ("a", "b"):
        await recorded.agent.run(prompt)
    recorded.agent.history.replace([user_content("In short: a, b."), model_content("I see.")])
    await recorded.agent.run("c")
    recorded.session.close()
    assert recorded.resume().agent.history.contents == recorded.agent.history.contents


async def test_a_conversation_as_it_stood_before_a_turn_is_found_even_behind_a_replacement(tmp_path: Path):
    recorded = Recorded(tmp_path, ["one", "two", "three"]).begin()
    await recorded.agent.run("a")
    before = list(recorded.agent.history.contents)
    await recorded.agent.run("b")
    recorded.agent.history.replace([user_content("In short.")])
    await recorded.agent.run("c")
    restored = restore(str(recorded.folder), until_turn=2)
    assert restored.contents == before
    assert restored.next_prompt == "b"


async def test_the_order_is_that_of_the_numbers_whatever_clocks_say(tmp_path: Path):
    file = LineFile(str(tmp_path / "record.jsonl"))
    for number, time_s in enumerate((2e9, 1e9, 0.0, -5.0, 1.5e9)):
        content = user_content(str(number)) if number % 2 == 0 else model_content(str(number))
        file.add("history_added", time_s, content)
    assert [each.seq for each in read_record(str(tmp_path))] == [1, 2, 3, 4, 5]
    changes = [each.event.content for each in read_record(str(tmp_path)) if isinstance(each.event, ContentAdded)]
    assert restore(str(tmp_path)).contents == changes


async def test_lines_that_are_damaged_cost_themselves_and_the_rest_is_mended(tmp_path: Path):
    recorded = await finished(tmp_path)
    lines = recorded.record.splitlines(keepends=True)
    for at in range(1, len(lines)):
        (recorded.folder / "record.jsonl").write_bytes(b"".join([*lines[:at], b"\x00junk\n", *lines[at + 1 :]]))
        restored = restore(str(recorded.folder))
        assert restored.unreadable == 1
        history, _ = reopen(restored, lambda _history: None)
        assert_it_can_be_sent(history.contents)


def test_the_first_versions_record_can_be_read_for_good():
    folder = str(Path(__file__).parent / "records" / "version-1.jsonl")
    restored = restore(folder)
    assert [content["role"] for content in contents(restored.contents)] == ["user", "model", "user", "model"]
    assert (restored.turn, restored.version, restored.usage.prompt) == (1, 1, 20)
    assert [type(each.event).__name__ for each in read_record(folder)] == [
        "SessionBegun",
        "StateChanged",
        "PromptGiven",
        "ContentAdded",
        "TextDelta",
        "Usage",
        "Finished",
        "ContentAdded",
        "QuestionAsked",
        "QuestionAnswered",
        "CallStarted",
        "CallOutput",
        "CallFinished",
        "ContentAdded",
        "TextDelta",
        "Usage",
        "Finished",
        "ContentAdded",
        "TurnEnded",
    ]
