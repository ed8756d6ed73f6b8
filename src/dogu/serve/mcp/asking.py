"""The user behind an MCP client, asked through elicitation.

A client of the handshake's generation (to 2025-11-25) is sent a request while the call waits. One of 2026-07-28 is
answered that input is required and calls again with the answer: the question is worked out anew then, and the answer
counts only if it is the question that was shown. Once the call is a task, it waits for the answer as well.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import anyio
import mcp_types
import msgspec
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from dogu.contract.display import markdown_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import said, say
from dogu.runtime.approval import nobody_asked
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Elicitation, Given, Outcome, Question
from dogu.serve.mcp.caller import AskedCall, caller
from dogu.serve.mcp.results import writable
from dogu.workspace.truncation import middle_left_out
from dogu.workspace.visible import make_visible

_KEY = "confirmation"
_LONGEST_QUESTION_CHARS = 20_000
_PATIENCE_S = 600.0  # a client that went away without a word must not hold up the questions of others
_ONCE, _ALWAYS, _NO = "yes", "always", "no"


class ElicitationConfirm:
    """The door's `Confirm`: finds the client by the call's id. Refuses where the client can't ask anybody."""

    def __init__(self) -> None:
        self._calls: dict[str, AskedCall] = {}
        self._key = os.urandom(32)  # proves that a question is one that this process asked

    @contextmanager
    def during(self, call_id: str, asked: AskedCall) -> Generator[None]:
        """Let questions about the call of that id be asked of this client."""
        self._calls[call_id] = asked
        try:
            yield
        finally:
            del self._calls[call_id]

    async def __call__(self, question: Question) -> Outcome:
        """Ask. Raises `ToolError` (NOBODY_TO_ASK)."""
        asked = self._calls.get(question.call.call_id)
        if asked is None or not asked.can_be_asked:
            raise _nobody(question, "this client has no elicitation")
        form = _form(question)
        if asked.ask_later is not None:
            answers = await asked.ask_later({_KEY: mcp_types.ElicitRequest(params=form)})
            return _outcome(cast("mcp_types.ElicitResult", answers[_KEY]), question)
        if asked.is_modern and question.confirmation.is_of_changes:  # it is asked by an answer, and the call begun anew
            raise _nobody(question, "this client can't be asked while a call runs")
        if asked.is_modern:
            return self._ask_by_answering(asked, question, form)
        return await _ask_by_request(asked, question, form)

    def _ask_by_answering(
        self, asked: AskedCall, question: Question, form: mcp_types.ElicitRequestFormParams
    ) -> Outcome:
        proof, carried = self._proof(question, form), asked.carried
        if hmac.compare_digest(carried.approved, proof):
            return Approved()
        answer = asked.responses.get(_KEY)
        if isinstance(answer, mcp_types.ElicitResult) and hmac.compare_digest(carried.open, proof):
            outcome = _outcome(answer, question)
            carried.open, carried.approved = "", "" if isinstance(outcome, Declined) else proof
            return outcome
        carried.open, carried.approved = proof, ""
        asked.need({_KEY: mcp_types.ElicitRequest(params=form)})
        return Declined("The person is asked first.")

    def _proof(self, question: Question, form: mcp_types.ElicitRequestFormParams) -> str:
        """Bind an answer to what was shown: the tool, its arguments, the whole display."""
        shown = [question.call.name, repr(question.call.args), form.message, markdown_of(question.confirmation.display)]
        data = msgspec.json.encode([writable(text) for text in shown])
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()


async def _ask_by_request(asked: AskedCall, question: Question, form: mcp_types.ElicitRequestFormParams) -> Outcome:
    context = asked.context
    try:
        with anyio.fail_after(_PATIENCE_S):
            answer = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
    except TimeoutError as error:
        raise _nobody(question, f"nobody answered within {_PATIENCE_S:g} s") from error
    except (MCPError, ValidationError) as error:
        raise _nobody(question, f"the client could not ask: {error}") from error
    return _outcome(answer, question)


def _outcome(answer: mcp_types.ElicitResult, question: Question) -> Outcome:
    """Read the user's answer; whatever is not clearly a yes is a no."""
    content = answer.content or {}
    if answer.action == "accept":
        match content.get("answer"):
            case "yes":
                return Approved()
            case "always" if question.always_rule is not None:
                return ApprovedAlways()
            case _:
                pass
    return Declined(str(content.get("reason") or ""))


def _form(question: Question) -> mcp_types.ElicitRequestFormParams:
    rule = question.always_rule
    choices = {_ONCE: say("Yes, this once"), _NO: say("No")}
    if rule is not None:
        choices = {
            _ONCE: say("Yes, this once"),
            _ALWAYS: say("Yes, and always in this session: {rule}", rule=rule.text),
            _NO: say("No"),
        }
    confirmation = question.confirmation
    told = [*map(say, (confirmation.title, *confirmation.reasons)), markdown_of(confirmation.display)]
    message, _ = middle_left_out(make_visible("\n\n".join(told)), _LONGEST_QUESTION_CHARS)
    reason = {"type": "string", "title": say("If not, why? The model is told.")}
    answer = {"type": "string", "title": say("Allow it?"), "enum": [*choices], "enumNames": [*choices.values()]}
    properties = {"answer": answer, "reason": reason}
    return mcp_types.ElicitRequestFormParams(
        message=writable(message),
        requested_schema={"type": "object", "properties": properties, "required": ["answer"]},
    )


def _nobody(question: Question, why: str) -> ToolError:
    how = "by starting `dogu mcp` with --approval-mode, or by a rule"
    return ToolError(ErrorKind.NOBODY_TO_ASK, nobody_asked(question.call.name, question.verdict, why, how))


async def elicit_client(elicitation: Elicitation) -> Given | Declined:
    """Ask what others than a waiting call ask, through the client whose call runs.

    Where no call runs, or its client has no elicitation, nobody is asked and the answer is no.
    """
    try:
        asking = caller()
    except ToolError:
        return Declined("No client's call is running.")
    if asking.capabilities.elicitation is None:
        return Declined("This client has no elicitation.")
    message = writable(
        make_visible("\n\n".join(filter(None, (said(elicitation.title), elicitation.message, elicitation.url))))
    )
    schema = {"type": "object", "properties": dict(elicitation.fields), "required": list(elicitation.required)}
    key = f"enquiry-{hashlib.sha256(message.encode()).hexdigest()[:16]}"
    answer = await asking.elicit(message, schema, key)
    return Given(answer.content or {}) if answer.action == "accept" else Declined()
