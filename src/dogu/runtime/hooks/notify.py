"""Hooks that are told when a question waits for the user: to ring a bell, to send a message. They decide nothing."""

from __future__ import annotations

import anyio

from dogu.runtime.events import emit_nothing
from dogu.runtime.hooks import Hooks
from dogu.runtime.hooks.config import Moment
from dogu.runtime.questions import Confirm, Outcome, Question

_AFTER_THE_ANSWER_S = 2.0
_KIND = "ToolPermission"


def notifying(confirm: Confirm, hooks: Hooks) -> Confirm:
    """Return a `confirm` that runs the hooks beside each question; 2 s after the answer they are ended."""

    async def notify(question: Question) -> None:
        details = {"type": "exec", "tool_name": question.call.name, "title": question.description}
        message = question.confirmation.title
        for hook in hooks.at(Moment.NOTIFICATION, _KIND):
            await hooks.run(hook, {"notification_type": _KIND, "message": message, "details": details}, emit_nothing)

    async def ask(question: Question) -> Outcome:
        answers: list[Outcome] = []

        async def answered() -> None:
            answers.append(await confirm(question))
            group.cancel_scope.deadline = anyio.current_time() + _AFTER_THE_ANSWER_S

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(notify, question)
                await answered()
        except BaseExceptionGroup as error:
            raise error.exceptions[0] from None  # what `confirm` raised: hooks raise nothing
        return answers[0]

    return ask
