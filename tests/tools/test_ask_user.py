"""ask_user as a model calls it, and how its questions reach a door."""

from collections.abc import Sequence
from typing import Any

import pytest

from dogu.agent.asking import UserAsked
from dogu.contract import ErrorKind, ToolResult
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.testing.workspace import run_tool
from dogu.tools.ask_user import AskUser

pytestmark = pytest.mark.anyio

COLOR = {
    "question": "Which color?",
    "header": "Color",
    "options": [{"label": "Red", "description": "like fire"}, {"label": "Blue"}],
}
NAME = {"question": "What is it called?", "placeholder": "thing.py"}


class Door:
    """Answers elicitations in order and keeps them."""

    def __init__(self, *answers: Given | Declined | None) -> None:
        self.elicitations: list[Elicitation] = []
        self._answers = list(answers)

    async def __call__(self, elicitation: Elicitation) -> Given | Declined | None:
        self.elicitations.append(elicitation)
        return self._answers.pop(0)


async def ask(door: Door, *questions: dict[str, Any]) -> ToolResult:
    return await run_tool(AskUser(UserAsked(door)), questions=list(questions))


async def test_the_users_answers_are_told_to_the_model() -> None:
    door = Door(Given({"answer1": "Red", "answer2": "paint.py"}))
    result = await ask(door, COLOR, NAME)
    assert result.error is None
    assert result.llm_content == "The user answered:\n\nWhich color?\nRed\n\nWhat is it called?\npaint.py"
    [elicitation] = door.elicitations
    assert elicitation.is_question
    assert elicitation.required == ("answer1", "answer2")
    assert elicitation.fields["answer1"]["description"] == "Which color?"
    assert [option["title"] for option in elicitation.fields["answer1"]["oneOf"]] == [
        "Red: like fire",
        "Blue",
        "Type your own answer",
    ]
    assert elicitation.fields["answer2"] == {
        "type": "string",
        "title": "Answer",
        "description": "What is it called? (thing.py)",
    }


async def test_several_options_may_be_chosen_where_the_question_says_so() -> None:
    door = Door(Given({"answer1": ["Red", "Blue"]}))
    result = await ask(door, {**COLOR, "multiSelect": True})
    assert str(result.llm_content).endswith("Which color?\nRed, Blue")
    assert door.elicitations[0].fields["answer1"]["type"] == "array"


async def test_the_user_may_answer_in_their_own_words() -> None:
    door = Door(Given({"answer1": "own words"}), Given({"answer1": "green, please"}))
    result = await ask(door, COLOR)
    assert str(result.llm_content).endswith("Which color?\ngreen, please")
    assert door.elicitations[1].fields["answer1"]["type"] == "string"


async def test_without_a_user_the_model_hears_that_nobody_is_there() -> None:
    for tool in (AskUser(), AskUser(UserAsked(Door(None)))):
        result = await run_tool(tool, questions=[COLOR])
        assert result.error is not None
        assert result.error.kind is ErrorKind.NOBODY_TO_ASK
        assert "Nobody is here to answer" in str(result.llm_content)


@pytest.mark.parametrize("declined", [Declined(), Declined("ask my boss"), Declined(stop=True)])
async def test_a_user_may_leave_it_unanswered(declined: Declined) -> None:
    result = await ask(Door(declined), COLOR)
    assert result.error is not None
    assert result.error.kind is ErrorKind.DECLINED
    assert declined.reason in str(result.llm_content)


@pytest.mark.parametrize(
    "questions",
    [[], [NAME] * 5, [{"question": " "}], [{"question": "x?", "options": [{"label": "only one"}]}],
     [{"question": "x?", "options": [{"label": str(number)} for number in range(9)]}], [{}], ["x?"]],
)  # fmt: skip
async def test_what_is_no_question_is_an_error(questions: Sequence[Any]) -> None:
    result = await run_tool(AskUser(UserAsked(Door())), questions=list(questions))
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("raw", "options"),
    [
        ({"question": "Go?"}, []),
        ({"questions": [{"question": "Go?", "type": "yesno"}]}, ["Yes", "No"]),
        (
            {"questions": [{"question": "Go?", "type": "choice", "options": [{"label": "a"}, {"label": "b"}]}]},
            ["a", "b"],
        ),
        ({"questions": [{"question": "Go?", "type": "text"}]}, []),
    ],
)
def test_other_programs_spellings_are_accepted(raw: dict[str, Any], options: list[str]) -> None:
    args = AskUser().validate_tool_params(raw)
    assert [option.label for option in args.questions[0].options] == options


async def test_an_approval_and_a_question_never_stand_on_the_screen_together() -> None:
    """Elicitations go through the executor's own turn of asking: see `Approval.elicit`."""
    from dogu.policy.policy import Policy
    from dogu.runtime.approval import Approval

    asked: list[Elicitation] = []

    async def door(elicitation: Elicitation) -> Given:
        assert approval._asking.locked()
        asked.append(elicitation)
        return Given({"answer1": "Red"})

    approval = Approval(Policy(), None, door)
    result = await run_tool(AskUser(UserAsked(approval.elicit)), questions=[COLOR])
    assert result.error is None
    assert len(asked) == 1
