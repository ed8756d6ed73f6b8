"""One call from request to answer, and several of one turn."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec
import pytest

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import function_tool
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, ToolCall
from dogu.runtime.executor import Executor
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Outcome, Question
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.testing.workspace import check_question, run_tool

pytestmark = pytest.mark.anyio


class PaintArgs(msgspec.Struct, kw_only=True):
    color: str


class Paint(Tool[PaintArgs]):
    """Paints the wall."""

    name = "paint"
    display_name = "Paint"
    kind = Kind.EDIT

    def __init__(self) -> None:
        self.wall: list[object] = []

    def get_description(self, args: PaintArgs) -> str:
        return f"Paint it {args.color}"

    async def should_confirm_execute(self, args: PaintArgs) -> Confirmation | None:
        return self._confirmation(args.color)

    def _confirmation(self, color: str) -> Confirmation:
        if color == "invisible":
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "That is no color.")
        return Confirmation(
            "Paint?", color, color.upper(), color, self._confirmation, color == "gold", ("gold is dear",)
        )

    async def execute(self, args: PaintArgs, context: CallContext) -> ToolResult:
        context.report(f"painting {args.color}")
        self.wall.append(context.approved)
        return ToolResult("painted", "**painted**")


class Door:
    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Outcome:
        self.questions.append(question)
        return self.outcomes.pop(0)


def executor(
    *tools: AnyTool,
    door: Door | None = None,
    mode: str = "default",
    allowed: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Executor:
    rules = Rules.from_lists(exclude=exclude, allowed=allowed)
    return Executor(ToolRegistry(tools), Approval(Policy(rules, ApprovalMode(mode)), door))


def paint(color: str = "red", call_id: str = "1") -> ToolCall:
    return ToolCall(call_id, "paint", {"color": color})


def kind_of(result: ToolResult) -> ErrorKind | None:
    return result.error.kind if result.error else None


@pytest.mark.requirement("api.flow.5_prompted")
async def test_what_was_shown_is_what_is_done():
    tool, door = Paint(), Door(Approved())
    answer = await executor(tool, door=door).run(paint())
    assert door.questions[0].confirmation.proposal == "RED"
    assert tool.wall == ["RED"]
    assert answer.result == ToolResult("painted", "**painted**")


async def test_an_edited_proposal_is_worked_out_anew_and_done():
    tool = Paint()
    await executor(tool, door=Door(Approved(edited="blue"))).run(paint())
    assert tool.wall == ["BLUE"]


async def test_an_edit_that_cannot_be_done_is_an_error_and_nothing_runs():
    tool = Paint()
    answer = await executor(tool, door=Door(Approved(edited="invisible"))).run(paint())
    assert kind_of(answer.result) is ErrorKind.INVALID_ARGUMENTS
    assert tool.wall == []


async def test_a_refusal_tells_the_model_the_reason():
    tool = Paint()
    answer = await executor(tool, door=Door(Declined("I like it white"))).run(paint())
    assert kind_of(answer.result) is ErrorKind.DECLINED
    assert "I like it white" in str(answer.result.llm_content)
    assert tool.wall == []


async def test_without_a_user_a_question_is_a_refusal():
    answer = await executor(Paint()).run(paint())
    assert kind_of(answer.result) is ErrorKind.NOBODY_TO_ASK


async def test_always_is_not_asked_again_and_its_rule_was_shown():
    tool, door = Paint(), Door(ApprovedAlways())
    runs = executor(tool, door=door)
    await runs.run(paint("red"))
    await runs.run(paint("blue"))
    assert len(door.questions) == 1
    assert door.questions[0].always_rule is not None
    assert tool.wall == ["RED", "BLUE"]


@pytest.mark.parametrize("mode", ["default", "auto_edit", "yolo"])
async def test_what_must_be_seen_each_time_is_asked_in_every_mode(mode: str):
    door = Door(Approved(), Approved())
    runs = executor(Paint(), door=door, mode=mode, allowed=["paint"])
    await runs.run(paint("gold"))
    await runs.run(paint("gold"))
    assert len(door.questions) == 2
    assert door.questions[0].always_rule is None


async def test_an_excluded_tool_is_refused_without_a_question():
    door = Door()
    answer = await executor(Paint(), door=door, mode="yolo", exclude=["paint"]).run(paint())
    assert kind_of(answer.result) is ErrorKind.REFUSED


async def test_yolo_asks_nothing():
    tool = Paint()
    await executor(tool, mode="yolo").run(paint())
    assert tool.wall == ["RED"]


@pytest.mark.requirement("api.flow.3_lookup")
async def test_an_unknown_tool_names_near_ones():
    answer = await executor(Paint()).run(ToolCall("1", "pain", {}))
    assert kind_of(answer.result) is ErrorKind.UNKNOWN_TOOL
    assert "'paint'" in str(answer.result.llm_content)


async def test_a_call_without_a_name_is_answered():
    answer = await executor(Paint()).run(ToolCall("1", "", {}))
    assert kind_of(answer.result) is ErrorKind.UNKNOWN_TOOL


async def test_arguments_that_are_no_object_are_answered_with_the_problem():
    answer = await executor(Paint()).run(ToolCall("1", "paint", None, "the arguments are no JSON object"))
    assert kind_of(answer.result) is ErrorKind.INVALID_ARGUMENTS
    assert "no JSON object" in str(answer.result.llm_content)


@pytest.mark.requirement("api.flow.9_display")
async def test_a_door_hears_of_start_output_and_end():
    events: list[object] = []
    await executor(Paint(), mode="yolo").run(paint(), events.append)
    started, output, finished = events
    assert isinstance(started, CallStarted)
    assert started.description == "Paint it red"
    assert output == CallOutput("1", "painting red")
    assert isinstance(finished, CallFinished)
    assert finished.result.return_display == "**painted**"


async def test_reads_run_together_and_anything_else_alone_in_order():
    running: list[str] = []
    most: dict[str, int] = {}
    started = anyio.Event()

    async def read(name: str) -> str:
        """Read."""
        running.append(name)
        most["read"] = max(most.get("read", 0), len(running))
        if most["read"] == 2:
            started.set()
        await started.wait()
        running.remove(name)
        return name

    async def write(name: str) -> str:
        """Write."""
        most["write"] = max(most.get("write", 0), len(running) + 1)
        return name

    runs = executor(function_tool(read, kind=Kind.READ), function_tool(write, kind=Kind.EDIT), mode="yolo")
    calls = [("read", "a"), ("read", "b"), ("write", "c"), ("read", "d"), ("write", "e")]
    with anyio.fail_after(30):
        answers = await runs.run_all([ToolCall(str(n), tool, {"name": name}) for n, (tool, name) in enumerate(calls)])
    assert [answer.result.llm_content for answer in answers] == ["a", "b", "c", "d", "e"]
    assert most == {"read": 2, "write": 1}


async def test_a_hundred_parallel_calls_are_bounded_and_answered_in_order_though_one_fails():
    running, most = 0, 0

    async def read(number: int) -> str:
        """Read."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        if number == 50:
            raise ToolError(ErrorKind.NOT_FOUND, "No 50.")
        return str(number)

    runs = executor(function_tool(read, kind=Kind.READ))
    answers = await runs.run_all([ToolCall(str(n), "read", {"number": n}) for n in range(100)])
    texts = [answer.result.llm_content for answer in answers]
    assert texts == [str(n) if n != 50 else "No 50." for n in range(100)]
    assert most <= 8


async def test_one_refusal_does_not_cancel_the_others_unless_the_user_says_stop():
    tool = Paint()
    answers = await executor(tool, door=Door(Declined(), Approved())).run_all([paint(), paint("blue", "2")])
    assert [kind_of(answer.result) for answer in answers] == [ErrorKind.DECLINED, None]

    tool = Paint()
    answers = await executor(tool, door=Door(Declined(stop=True))).run_all([paint(), paint("blue", "2")])
    assert [kind_of(answer.result) for answer in answers] == [ErrorKind.DECLINED, ErrorKind.CANCELLED]
    assert tool.wall == []


@pytest.mark.requirement("api.flow.6_execution")
async def test_cancellation_passes_through_and_reaches_the_tool():
    seen: list[str] = []
    inside = anyio.Event()

    async def sleep() -> str:
        """Sleep."""
        try:
            inside.set()
            await anyio.sleep_forever()
        finally:
            seen.append("cleaned up")
        return ""

    runs = executor(function_tool(sleep), mode="yolo")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(runs.run, ToolCall("1", "sleep", {}))
            await inside.wait()
            group.cancel_scope.cancel()
    assert seen == ["cleaned up"]


async def test_a_long_result_loses_its_middle_and_says_so():
    def flood() -> str:
        """Flood."""
        return "start" + "x" * 100_000 + "end"

    text = str((await run_tool(function_tool(flood))).llm_content)
    assert len(text) < 41_000
    assert text.startswith("start")
    assert text.rstrip().endswith("end")


def test_nothing_shadows_another_tool():
    registry = ToolRegistry([Paint()])
    with pytest.raises(ValueError, match="paint"):
        registry.register(Paint())


def test_a_filtered_registry_holds_what_was_kept():
    registry = ToolRegistry([Paint()])
    assert len(registry.filtered(lambda tool: tool.kind is Kind.READ)) == 0
    assert "paint" in registry.filtered(lambda tool: True)


class Mail(Tool[PaintArgs]):
    """Sends a mail, and says that it only thinks."""

    name, display_name, kind = "mail", "Mail", Kind.THINK

    def __init__(self, *, asks: bool = True) -> None:
        self.asks = asks
        self.sent = 0

    def get_description(self, args: PaintArgs) -> str:
        return "Mail"

    async def should_confirm_execute(self, args: PaintArgs) -> Confirmation | None:
        return Confirmation("Send a mail?", args.color) if self.asks else None

    async def execute(self, args: PaintArgs, context: CallContext) -> ToolResult:
        self.sent += 1
        return ToolResult("sent")


@pytest.mark.parametrize("kind", [Kind.THINK, Kind.READ, Kind.SEARCH, Kind.FETCH, Kind.OTHER])
async def test_a_tools_own_question_counts_whatever_its_kind(kind: Kind) -> None:
    mail = Mail()
    mail.kind = kind
    call, door = ToolCall("1", "mail", {"color": "red"}), Door(Approved(), Declined())
    assert await check_question(mail, color="red")
    assert kind_of((await executor(mail).run(call)).result) is ErrorKind.NOBODY_TO_ASK
    assert kind_of((await executor(mail, mode="plan", door=door).run(call)).result) is ErrorKind.REFUSED
    assert mail.sent == 0
    assert kind_of((await executor(mail, door=door).run(call)).result) is None
    assert mail.sent == 1
    assert kind_of((await executor(mail, door=door).run(call)).result) is ErrorKind.DECLINED
    assert [question.confirmation.title for question in door.questions] == ["Send a mail?"] * 2


async def test_a_tool_that_asks_nothing_is_not_asked_about_unless_the_mode_wants_it() -> None:
    mail = Mail(asks=False)
    call = ToolCall("1", "mail", {"color": "red"})
    assert not await check_question(mail, color="red")
    assert kind_of((await executor(mail).run(call)).result) is None
    mail.kind = Kind.OTHER
    assert kind_of((await executor(mail).run(call)).result) is ErrorKind.NOBODY_TO_ASK
