"""Events told to an ACP client, without a wire."""

from __future__ import annotations

from typing import Any

from acp import schema

from dogu.agent.events import EndReason, PromptGiven, RecordedEvent, Rewound, TurnEnd, TurnEnded
from dogu.contract import Tool, function_tool
from dogu.contract.content import Blob
from dogu.contract.display import FileDiff, TerminalOutput, Todo, TodoList
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.events import FunctionCallEvent, Retrying, TextDelta, ThoughtDelta
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, ToolCall
from dogu.runtime.registry import ToolRegistry
from dogu.serve.acp.session import _not_taken_back
from dogu.serve.acp.updates import Updates


class Told:
    """Updates as the SDK reads them."""

    def __init__(self, *tools: Tool[Any]) -> None:
        self.raw: list[dict[str, Any]] = []
        self.updates = Updates(self.raw.append, ToolRegistry([*tools]), ("/root",))

    def take(self, *events: RecordedEvent) -> list[Any]:
        before = len(self.raw)
        for event in events:
            self.updates.event(event)
        read = schema.SessionNotification.model_validate
        return [read({"sessionId": "s", "update": update}).update for update in self.raw[before:]]


def finished(result: ToolResult, **args: Any) -> list[RecordedEvent]:
    call = ToolCall("1", "tool", args)
    return [CallStarted(call, "Tool", "Do it"), CallFinished(call, "Tool", result)]


def test_a_call_of_anothers_tool_is_shown_by_its_name_with_what_is_invisible():
    def echo(text: str) -> str:
        """Echo."""
        return text

    told = Told(function_tool(echo, name="server__echo"))
    call = ToolCall("1", "server__echo", {"text": "a\x1bb"})
    started, running = told.take(CallStarted(call, "server__echo", '{"text": "a\x1bb"}'))
    assert "server__echo" in started.title
    assert running.title == 'server__echo {"text": "a␛b"}'


def test_a_plan_is_told_as_a_plan_without_what_was_cancelled():
    todos = TodoList((Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "cancelled"), Todo("d", "pending")))
    plan = next(update for update in Told().take(*finished(ToolResult("ok", todos))) if update.session_update == "plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [
        ("a", "completed"),
        ("b", "in_progress"),
        ("d", "pending"),
    ]


def test_a_diff_has_the_absolute_path_its_texts_its_line_and_its_notes():
    diff = FileDiff("a.txt", "old", "new", "--- a\n+++ b\n@@ -3,1 +4,1 @@\n", ("The file stays in UTF-16.",))
    last = Told().take(*finished(ToolResult("ok", diff), file_path="sub/a.txt"))[-1]
    shown, note = last.content
    assert (shown.path, shown.old_text, shown.new_text) == ("/root/sub/a.txt", "old", "new")
    assert note.content.text == "The file stays in UTF-16."
    assert [(place.path, place.line) for place in last.locations] == [("/root/sub/a.txt", 4)]


def test_a_new_file_has_no_old_text():
    last = Told().take(*finished(ToolResult("ok", FileDiff("a", None, "new", "")), file_path="/root/a"))[-1]
    assert last.content[0].old_text is None


def test_a_picture_is_shown_and_invisible_characters_are_visible():
    result = ToolResult([Blob("image/png", b"png", "a.png")], TerminalOutput("ls", "a\u202eb"))
    last = Told().take(*finished(result))[-1]
    assert [block.content.type for block in last.content] == ["text", "image"]
    assert "‹U+202E›" in last.content[0].content.text


def test_a_failure_is_failed_and_says_why():
    failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "no such file"))
    last = Told().take(*finished(failed))[-1]
    assert (last.status, last.raw_output["error"]["kind"]) == ("failed", "not_found")
    assert "no such file" in last.content[0].content.text


def test_live_output_is_told_whole_and_bounded():
    told = Told()
    call = ToolCall("1", "tool", {})
    updates = told.take(CallStarted(call, "Tool", "x"), CallOutput("1", "a" * 9000), CallOutput("1", "b"))
    assert len(updates[-1].content[0].content.text) == 8000
    assert updates[-1].content[0].content.text.endswith("ab")
    assert told.take(CallOutput("unknown", "x")) == []


def test_the_same_id_in_a_later_turn_is_another_call():
    told = Told()
    first = told.take(FunctionCallEvent("1", "tool", {}), *finished(ToolResult("ok")))
    second = told.take(FunctionCallEvent("1", "tool", {}), *finished(ToolResult("ok")))
    assert {update.tool_call_id for update in first} == {"1"}
    assert {update.tool_call_id for update in second} == {"1~2"}


def test_another_speaker_and_another_try_begin_another_message():
    told = Told()
    retry = Retrying("Busy.", 2.0, 1, 3)
    updates = told.take(ThoughtDelta("hm"), TextDelta("a"), TextDelta("b"), retry, TextDelta("c"))
    ids = [update.message_id for update in updates]
    assert ids[1] == ids[2]
    assert len({*ids}) == 4
    assert "Trying again in 2 s (1 of 3): Busy." in updates[3].content.text


def test_what_was_cancelled_is_ended():
    told = Told()
    told.take(FunctionCallEvent("1", "tool", {}), FunctionCallEvent("2", "tool", None, "bad"))
    told.updates.end_all()
    assert [(update["toolCallId"], update["status"]) for update in told.raw[2:]] == [("1", "failed"), ("2", "failed")]
    told.updates.end_all()
    assert len(told.raw) == 4


def test_a_note_at_the_end_is_said():
    [update] = Told().take(TurnEnded(TurnEnd(EndReason.LOOP, "", note="Stopped.")))
    assert update.content.text == "Stopped."


def test_turns_that_were_taken_back_are_not_played_again():
    past = [PromptGiven("a", 1), TextDelta("x"), PromptGiven("b", 2), TextDelta("y"), Rewound(2), PromptGiven("c", 2)]
    assert _not_taken_back(past) == [PromptGiven("a", 1), TextDelta("x"), PromptGiven("c", 2)]
