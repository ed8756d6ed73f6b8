"""ask_user: lets the model ask the user what only they know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeAlias, cast

import anyio
import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, told

_MOST_QUESTIONS, _MOST_OPTIONS = 4, 8


class UserQuestion(msgspec.Struct, frozen=True):
    """One question to a user. `options` are labels with what choosing them means, perhaps empty.

    Without options it is answered in the user's own words, which they may use with options too. `header` says in a
    word or two what it is about; `placeholder` is an example of an answer; both may be empty.
    """

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    takes_several: bool = False
    placeholder: str = ""


class UserAnswer(msgspec.Struct, frozen=True):
    """The answer: the labels that were chosen, the user's own text, or both."""

    chosen: tuple[str, ...] = ()
    text: str = ""


YES_OR_NO = (("Yes", ""), ("No", ""))
"""The options of a question that is answered so."""

AskTheUser: TypeAlias = Callable[[Sequence[UserQuestion]], Awaitable[Sequence[UserAnswer]]]


class OptionArgs(msgspec.Struct, kw_only=True):
    """An answer to choose."""

    label: Annotated[str, msgspec.Meta(description="The answer, in one to five words.")]
    description: Annotated[str, msgspec.Meta(description="What choosing it means.")] = ""


class QuestionArgs(msgspec.Struct, kw_only=True):
    """One question."""

    question: Annotated[str, msgspec.Meta(description="The question, clear and whole, ending with a question mark.")]
    header: Annotated[str, msgspec.Meta(description="What it is about, in a word or two.")] = ""
    options: Annotated[
        list[OptionArgs],
        msgspec.Meta(
            description="Answers to choose from, two to eight, the recommended one first; none for an answer in the "
            "user's own words. The user may always answer in their own words: don't add an option 'other'."
        ),
    ] = msgspec.field(default_factory=list[OptionArgs])
    multi_select: Annotated[bool, msgspec.Meta(description="Whether several options may be chosen.")] = False
    placeholder: Annotated[str, msgspec.Meta(description="An example of an answer in the user's own words.")] = ""


class AskUserArgs(msgspec.Struct, kw_only=True):
    """The questions."""

    questions: Annotated[list[QuestionArgs], msgspec.Meta(description="One to four questions, asked in order.")]


class AskUser(Tool[AskUserArgs]):
    """Ask the user, and wait for the answer: when what they want can be read in several ways, when a choice is
    theirs to make, or when only they know. Don't ask what other tools can tell you, nor whether to go on."""

    name, display_name, kind = "ask_user", "AskUser", Kind.THINK

    def __init__(self, ask: AskTheUser | None = None) -> None:
        # Raises DECLINED or NOBODY_TO_ASK where there is no answer.
        self._ask = ask
        self._asking = anyio.Lock()

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Take the field's own spellings: `multiSelect`, a `type` beside the options, a lone `question`."""
        if "questions" not in raw and "question" in raw:
            raw = {"questions": [raw]}
        if not isinstance(raw.get("questions"), list):
            return raw
        return {**raw, "questions": [_adapted(question) for question in raw["questions"]]}

    def get_description(self, args: AskUserArgs) -> str:
        """Say in one line what is asked."""
        asked = "; ".join(question.header or question.question for question in args.questions)
        words = " ".join(asked.split())
        return told("Ask you: {questions}", questions=words if len(words) <= 200 else words[:200] + " …")

    async def execute(self, args: AskUserArgs, context: CallContext) -> ToolResult:
        """Ask, one call at a time."""
        questions = [_question(question) for question in args.questions]
        if not 1 <= len(questions) <= _MOST_QUESTIONS:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Ask one to {_MOST_QUESTIONS} questions in a call.")
        if self._ask is None:
            raise nobody_answers()
        async with self._asking:
            answers = await self._ask(questions)
        lines = [f"{asked.text}\n{_said(answer)}" for asked, answer in zip(questions, answers, strict=True)]
        shown = (
            "\n\n".join(lines) if len(lines) > 1 else _said(answers[0])
        )  # the call's own line says what one is about
        return ToolResult("The user answered:\n\n" + "\n\n".join(lines), shown)


def nobody_answers() -> ToolError:
    """Say to the model that nobody is there."""
    message = (
        "Nobody is here to answer. Decide by yourself what is most likely wanted and can be undone, go on, and say in "
        "your answer what you assumed."
    )
    return ToolError(ErrorKind.NOBODY_TO_ASK, message)


def _question(args: QuestionArgs) -> UserQuestion:
    if not args.question.strip():
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, "A question is empty.")
    if len(args.options) == 1 or len(args.options) > _MOST_OPTIONS:
        message = f"{args.question!r} has {len(args.options)} options: give two to {_MOST_OPTIONS}, or none."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    options = tuple((option.label, option.description) for option in args.options)
    return UserQuestion(args.question, args.header, options, args.multi_select, args.placeholder)


def _said(answer: UserAnswer) -> str:
    said = ", ".join((*answer.chosen, answer.text) if answer.text else answer.chosen)
    return said or "(no answer)"


def _adapted(question: Any) -> Any:
    if not isinstance(question, dict):
        return question
    fields = cast("dict[str, Any]", question)
    adapted = {"multi_select" if name == "multiSelect" else name: value for name, value in fields.items()}
    if adapted.pop("type", "") == "yesno" and not adapted.get("options"):
        adapted["options"] = [{"label": label} for label, _ in YES_OR_NO]
    return adapted
