"""Puts a model's questions before the user, as elicitations that every door can show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from dogu.contract import ErrorKind, ToolError
from dogu.language import say, told
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.tools.ask_user import YES_OR_NO, UserAnswer, UserQuestion, nobody_answers

Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined | None]]

_OWN_WORDS = "own words"


class UserAsked:
    """Asks through `elicit`, which answers None where nobody can be asked."""

    def __init__(self, elicit: Elicit) -> None:
        self._ask_user = elicit

    async def __call__(self, questions: Sequence[UserQuestion]) -> list[UserAnswer]:
        """Ask all the questions at once, then for the words of those who wanted their own.

        Raises `ToolError`: NOBODY_TO_ASK, or DECLINED when the user doesn't answer.
        """
        fields = {f"answer{number}": _field(question) for number, question in enumerate(questions, 1)}
        given = await self._asked(fields)
        answers: list[UserAnswer] = []
        for name, question in zip(fields, questions, strict=True):
            value = given.get(name)
            chosen = [str(item) for item in (value if isinstance(value, list) else [value] if value else ())]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  (what a door gave)
            if not question.options:
                answers.append(UserAnswer(text=" ".join(chosen)))
                continue
            own = ""
            if _OWN_WORDS in chosen:
                chosen.remove(_OWN_WORDS)
                own = str((await self._asked({name: _text_field(question)})).get(name, ""))
            answers.append(UserAnswer(tuple(chosen), own))
        return answers

    async def _asked(self, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
        elicitation = Elicitation(told("The model asks you"), "", fields, tuple(fields), is_question=True)
        answer = await self._ask_user(elicitation)
        if answer is None:
            raise nobody_answers()
        if isinstance(answer, Declined):
            said = f" They said: {answer.reason}" if answer.reason else ""
            message = f"The user doesn't answer.{said} Go on without if that can be undone, else stop and say why."
            raise ToolError(ErrorKind.DECLINED, message)
        return dict(answer.values)


def _field(question: UserQuestion) -> dict[str, Any]:
    if not question.options:
        return _text_field(question)
    is_plain = question.options == YES_OR_NO  # then its words are ours, and said in the user's language
    options = [
        {"const": label, "title": say(label) if is_plain else f"{label}: {meaning}" if meaning else label}
        for label, meaning in question.options
    ]
    options.append({"const": _OWN_WORDS, "title": say("Type your own answer")})
    about = {"title": question.header or say("Answer"), "description": question.text}
    if question.takes_several:
        return {"type": "array", "items": {"anyOf": options}, **about}
    return {"type": "string", "oneOf": options, **about}


def _text_field(question: UserQuestion) -> dict[str, Any]:
    hint = f" ({question.placeholder})" if question.placeholder else ""
    return {"type": "string", "title": question.header or say("Answer"), "description": question.text + hint}
