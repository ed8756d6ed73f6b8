"""Helpers: their own history and fewer tools, the same approvals, their calls in the same record."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest

import dogu
from cancelling import cancelled_when
from dogu.agent.budget import Meter
from dogu.agent.events import EndReason, TurnEnd, Within
from dogu.agent.housekeeping import AgentServices
from dogu.agent.loop import Agent
from dogu.agent.session.record import read_record
from dogu.agent.subagent import Subagents
from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolResult
from dogu.models.events import ModelError, ModelErrorKind
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.events import CallFinished, CallStarted
from dogu.runtime.executor import Executor
from dogu.runtime.journal.choice import Consent
from dogu.runtime.questions import Approved, Confirm, Declined, Outcome, Question, approve
from dogu.runtime.registry import ToolRegistry
from dogu.serve.exit_codes import ExitCode, of_answers
from dogu.testing.scripted_model import ModelRequest, ScriptedModel, ScriptedTurn
from dogu.testing.turn import Turn, call
from dogu.tools.ask_user import AskUser
from dogu.tools.run_subagent import RunSubagent
from dogu.tools.write_todos import WriteTodos

pytestmark = pytest.mark.anyio


class NoteArgs(msgspec.Struct, kw_only=True):
    text: Annotated[str, msgspec.Meta(description="What to note.")] = ""


class Look(Tool[NoteArgs]):
    """Look at something."""

    name, display_name, kind = "look", "Look", Kind.READ

    def get_description(self, args: NoteArgs) -> str:
        return f"Look at {args.text}"

    async def execute(self, args: NoteArgs, context: CallContext) -> ToolResult:
        return ToolResult(f"seen {args.text}")


class Change(Tool[NoteArgs]):
    """Change something."""

    name, display_name, kind = "change", "Change", Kind.OTHER

    def __init__(self) -> None:
        self.running = self.most = 0
        self.done: list[str] = []

    def get_description(self, args: NoteArgs) -> str:
        return f"Change {args.text}"

    async def execute(self, args: NoteArgs, context: CallContext) -> ToolResult:
        self.running += 1
        self.most = max(self.most, self.running)
        await anyio.lowlevel.checkpoint()
        self.running -= 1
        self.done.append(args.text)
        return ToolResult(f"changed {args.text}")


class Session:
    """An agent whose tools are a reading one, a changing one, and helpers."""

    def __init__(self, turns: Sequence[ScriptedTurn], confirm: Confirm | None = approve, mode: str = "default") -> None:
        self.model = ScriptedModel(turns)
        self.change = Change()
        registry = ToolRegistry([Look(), self.change, WriteTodos(), AskUser()])
        self.executor = Executor(registry, Approval(Policy(Rules(), ApprovalMode(mode)), confirm))
        system, meter = "You are main.", Meter(self.model)
        registry.register(RunSubagent(Subagents(self.executor, self.model, system, meter)))
        self.agent = Agent(self.model, self.executor, system, services=AgentServices(meter))
        self.events: list[object] = []

    async def run(self) -> TurnEnd:
        return await self.agent.run("go", self.events.append)

    @property
    def started(self) -> list[tuple[str, str, str]]:
        calls = [event.call for event in self.events if isinstance(event, CallStarted)]
        return [(found.name, found.call_id, found.parent) for found in calls]


def helper(task: str = "look around", **args: Any) -> Turn:
    return Turn(calls=[call("run_subagent", task=task, **args)])


async def test_a_helper_works_by_itself_and_its_last_words_are_the_result() -> None:
    session = Session([helper(), Turn(calls=[call("look", text="a")]), "I saw a.", "Done."])
    end = await session.run()
    assert end.text == "Done."
    first, inner, answered, last = session.model.requests
    assert inner.contents == [{"role": "user", "parts": [{"text": "look around"}]}]
    assert inner.system.startswith("You are main.")
    assert "helper" in inner.system
    assert answered.responses[0]["response"] == {"output": "seen a"}
    assert last.responses[0]["response"] == {"output": "I saw a."}
    assert len(session.agent.history.contents) == 4
    assert first.contents[0] == last.contents[0]


async def test_its_calls_are_told_under_the_call_that_it_works_for() -> None:
    session = Session([helper(), Turn(calls=[call("look"), call("look", text="b")]), "Seen.", "Done."])
    await session.run()
    outer = session.started[0][1]
    assert session.started == [
        ("run_subagent", outer, ""),
        ("look", f"{outer}/1", outer),
        ("look", f"{outer}/2", outer),
    ]
    finished = [event.call.call_id for event in session.events if isinstance(event, CallFinished)]
    assert finished[-1] == outer


async def test_by_default_a_helper_only_reads() -> None:
    session = Session([helper(), "ok", "Done."])
    await session.run()
    assert [declared.name for declared in session.model.requests[1].declarations] == ["look"]


async def test_a_helper_has_the_tools_it_was_given_and_no_helpers() -> None:
    session = Session([helper(tools=["change", "look"]), Turn(calls=[call("change", text="x")]), "ok", "Done."])
    await session.run()
    assert [declared.name for declared in session.model.requests[1].declarations] == ["look", "change"]
    assert session.change.done == ["x"]


@pytest.mark.parametrize("name", ["run_subagent", "ask_user", "write_todos", "no_such_tool"])
async def test_tools_that_a_helper_cant_have_are_an_error(name: str) -> None:
    session = Session([helper(tools=["look", name]), "Done."])
    await session.run()
    response = session.model.requests[-1].responses[0]["response"]
    assert name in response["error"]
    assert "It may have: look, change." in response["error"]


async def test_a_helpers_calls_are_judged_and_asked_about_as_any() -> None:
    asked: list[Question] = []

    async def confirm(question: Question) -> Outcome:
        asked.append(question)
        return Approved() if question.call.args == {"text": "good"} else Declined("not that")

    turns = [
        helper(tools=["change"]),
        Turn(calls=[call("change", text="good"), call("change", text="bad")]),
        "Half.",
        "Done.",
    ]
    session = Session(turns, confirm)
    await session.run()
    assert [question.call.parent for question in asked] == [session.started[0][1]] * 2
    assert session.change.done == ["good"]
    assert "not that" in session.model.requests[2].responses[1]["response"]["error"]


async def test_without_a_user_what_asks_is_refused_within_a_helper_too() -> None:
    session = Session([helper(tools=["change"]), Turn(calls=[call("change")]), "I couldn't.", "Done."], None)
    end = await session.run()
    assert session.change.done == []
    assert of_answers(end.answers) is ExitCode.NOBODY_TO_ASK
    assert "nobody is here to ask" in session.model.requests[2].responses[0]["response"]["error"]


async def test_a_stop_within_a_helper_stops_the_turn() -> None:
    async def confirm(_question: Question) -> Outcome:
        return Declined(stop=True)

    session = Session([helper(tools=["change"]), Turn(calls=[call("change")])], confirm)
    end = await session.run()
    assert end.reason is EndReason.STOPPED


async def test_a_helper_that_reaches_its_limit_is_told_as_a_failure() -> None:
    session = Session(
        [helper(max_steps=2), *[Turn(text=f"step {n}", calls=[call("look", text=str(n))]) for n in (1, 2)], "Done."]
    )
    await session.run()
    error = session.model.requests[-1].responses[0]["response"]["error"]
    assert "2 times, which is its limit" in error
    assert "Its last words: step 2" in error


async def test_a_helper_that_goes_in_circles_is_told_as_a_failure() -> None:
    session = Session([helper(), *[Turn(calls=[call("look", text="same")])] * 10, *["Done."] * 5])
    await session.run()
    assert "again and again" in str(session.model.requests[-1].responses)


async def test_a_model_that_fails_within_a_helper_costs_that_call() -> None:
    error = ModelError(ModelErrorKind.OVERLOADED, "The server is overloaded.")
    session = Session([helper(), Turn(error=error), "Done."])
    assert (await session.run()).text == "Done."
    assert "The server is overloaded." in session.model.requests[-1].responses[0]["response"]["error"]


async def test_its_tokens_count_for_the_conversation() -> None:
    session = Session(
        [
            Turn(calls=helper().calls, prompt_tokens=1),
            Turn(text="ok", prompt_tokens=20),
            Turn(text="x", prompt_tokens=300),
        ]
    )
    await session.run()
    assert session.agent.usage.prompt == 321


async def test_helpers_of_one_turn_work_beside_one_another_and_change_one_at_a_time() -> None:
    def answer(request: ModelRequest) -> Turn | str:
        text = request.contents[0]["parts"][0]["text"]
        if text == "go":
            return (
                "Done."
                if len(request.contents) > 1
                else Turn(calls=[call("run_subagent", task=name, tools=["change"]) for name in "ab"])
            )
        return f"{text} done" if request.responses else Turn(calls=[call("change", text=text)])

    session = Session([answer] * 6)
    await session.run()
    assert sorted(session.change.done) == ["a", "b"]
    assert session.change.most == 1
    outputs = [response["response"]["output"] for response in session.model.requests[-1].responses]
    assert outputs == ["a done", "b done"]


async def test_cancelling_the_turn_ends_the_helper_and_leaves_a_usable_history() -> None:
    session = Session([helper(), Turn(hangs=True), "Back."])
    await cancelled_when(lambda: len(session.model.requests) == 2, session.run)
    assert (await session.run()).text == "Back."


async def test_without_a_model_there_are_no_helpers(tmp_path: Path) -> None:
    async with dogu.open_runtime(dogu.Options(root=str(tmp_path), home=str(tmp_path))) as runtime:
        answer = await runtime.call("run_subagent", task="x")
    assert answer.result.error is not None
    assert answer.result.error.kind is ErrorKind.START_FAILED


async def test_a_helpers_edit_belongs_to_the_turn_and_can_be_undone_with_it(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    turns = [
        helper(tools=["write_file"]),
        Turn(calls=[call("write_file", file_path="a.txt", content="by the helper\n")]),
        "Written.",
        "Done.",
    ]
    options = dogu.Options(root=str(tmp_path / "ws"), home=str(tmp_path))
    async with dogu.open_agent(options, confirm=approve, model=ScriptedModel(turns)) as opened:
        await opened.agent.run("go")
        assert (tmp_path / "ws" / "a.txt").read_text() == "by the helper\n"
        opened.runtime.journal.undo(consent=Consent(unsure=True))
    assert not (tmp_path / "ws" / "a.txt").exists()


async def test_its_calls_are_in_the_sessions_record_as_within_its_call(tmp_path: Path) -> None:
    turns = [helper(tools=["list_directory"]), Turn(calls=[call("list_directory", path=".")]), "Empty.", "Done."]
    options = dogu.Options(root=str(tmp_path), home=str(tmp_path))
    async with dogu.open_agent(options, model=ScriptedModel(turns)) as opened:
        await opened.agent.run("go")
        recorded = [each.event for each in read_record(opened.session.path)]
    outer = [event.call.call_id for event in recorded if isinstance(event, CallStarted)]
    within = [event for event in recorded if isinstance(event, Within)]
    assert len(outer) == 1
    assert {event.call_id for event in within} == set(outer)
    kinds = [type(event.event) for event in within]
    assert kinds == [CallStarted, CallFinished]
