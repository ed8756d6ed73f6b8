"""Questions put through a client's elicitation, without a wire."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types
import pytest

from dogu.contract import Confirmation, ErrorKind, ToolError
from dogu.policy.rule import Rule
from dogu.policy.verdict import Decision, Verdict
from dogu.runtime.events import ToolCall
from dogu.runtime.questions import Approved, Question
from dogu.serve.mcp import asking
from dogu.serve.mcp.asking import ElicitationConfirm
from dogu.serve.mcp.caller import AskedCall

pytestmark = pytest.mark.anyio


def question(rule: Rule | None = None, display: str = "rm -r build") -> Question:
    verdict = Verdict(Decision.ASK, Decision.ALLOW, "it changes something")
    confirmation = Confirmation("Run it?", display, reasons=("it removes files",))
    return Question(ToolCall("1", "run_shell_command", {}), "Shell", "Run", confirmation, verdict, rule)


class Session:
    """A client that answers one way, or never."""

    def __init__(self, answer: mcp_types.ElicitResult | None, *, elicits: bool = True) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []
        form = mcp_types.ElicitationCapability(form=mcp_types.FormElicitationCapability())
        self.client_capabilities = mcp_types.ClientCapabilities(elicitation=form if elicits else None)

    async def elicit_form(self, message: str, schema: dict[str, Any], _request_id: object) -> mcp_types.ElicitResult:
        self.asked.append((message, schema))
        if self.answer is None:
            await anyio.sleep_forever()
        assert self.answer is not None
        return self.answer


async def ask(session: Session, asked_question: Question) -> object:
    context: Any = SimpleNamespace(session=session, protocol_version="2025-11-25", request_id=1)
    confirm = ElicitationConfirm()
    with confirm.during("1", AskedCall(context, {}, "")):
        return await confirm(asked_question)


YES = mcp_types.ElicitResult(action="accept", content={"answer": "yes"})


async def test_the_question_shows_the_reasons_and_what_is_invisible() -> None:
    session = Session(YES)
    assert await ask(session, question(display="rm \u202e-r build")) == Approved()
    message, schema = session.asked[0]
    assert message == "Run it?\n\nit removes files\n\nrm ‹U+202E›-r build"
    assert schema["properties"]["answer"]["enum"] == ["yes", "no"]


async def test_always_is_offered_with_the_rule_it_would_save() -> None:
    session = Session(YES)
    await ask(session, question(Rule("write_file", Decision.ALLOW)))
    answer = session.asked[0][1]["properties"]["answer"]
    assert answer["enum"] == ["yes", "always", "no"]
    assert "write_file" in answer["enumNames"][1]


async def test_a_client_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_PATIENCE_S", 0.01)
    with pytest.raises(ToolError, match="nobody answered") as raised:
        await ask(Session(None), question())
    assert raised.value.kind is ErrorKind.NOBODY_TO_ASK


async def test_a_client_without_elicitation_can_ask_nobody() -> None:
    session = Session(YES, elicits=False)
    with pytest.raises(ToolError, match="no elicitation"):
        await ask(session, question())
    assert session.asked == []
