"""The person behind an MCP client, asked through elicitation.

A client of the handshake's generation (to 2025-11-25) is sent a request while the call waits. One of 2026-07-28 is
answered that input is required and calls again with the answer: the question is worked out anew then, and the answer
counts only if it is the question that was shown.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from dogu.contract.display import markdown_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Outcome, Question
from dogu.serve.mcp_results import writable

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.context import ServerRequestContext

_KEY = "confirmation"
_LONGEST_QUESTION_CHARS = 20_000
_PATIENCE_S = 600.0  # a client that went away without a word must not hold up the questions of others
_ONCE, _ALWAYS, _NO = "yes", "always", "no"


@dataclass
class AskedCall:
    """A call on whose behalf questions are asked; `needed` is the answer to give when the client must ask first."""

    context: ServerRequestContext[Any]
    responses: Mapping[str, mcp_types.InputResponse]
    state: str
    needed: mcp_types.InputRequiredResult | None = None

    @property
    def can_be_asked(self) -> bool:
        """Whether the client said that it can put a form before the person."""
        capabilities = self.context.session.client_capabilities
        elicitation = capabilities.elicitation if capabilities else None
        return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


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
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        asked = self._calls.get(question.call.call_id)
        if asked is None or not asked.can_be_asked:
            raise _nobody(question, "this client has no elicitation")
        form = _form(question)
        if asked.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._ask_by_answering(asked, question, form)
        return await _ask_by_request(asked, question, form)

    def _ask_by_answering(
        self, asked: AskedCall, question: Question, form: mcp_types.ElicitRequestFormParams
    ) -> Outcome:
        import mcp_types

        state = self._proof(question, form)
        answer = asked.responses.get(_KEY)
        if isinstance(answer, mcp_types.ElicitResult) and hmac.compare_digest(asked.state, state):
            return _outcome(answer, question)
        asked.needed = mcp_types.InputRequiredResult(
            input_requests={_KEY: mcp_types.ElicitRequest(params=form)}, request_state=state
        )
        return Declined("The person is asked first.")

    def _proof(self, question: Question, form: mcp_types.ElicitRequestFormParams) -> str:
        """Bind an answer to what was shown: the tool, its arguments, the whole display."""
        import msgspec

        shown = [question.call.name, repr(question.call.args), form.message, markdown_of(question.confirmation.display)]
        data = msgspec.json.encode([writable(text) for text in shown])
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()


async def _ask_by_request(asked: AskedCall, question: Question, form: mcp_types.ElicitRequestFormParams) -> Outcome:
    from mcp.shared.exceptions import MCPError
    from pydantic import ValidationError

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
    """Read the person's answer; whatever is not clearly a yes is a no."""
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
    import mcp_types

    from dogu.workspace.truncation import middle_left_out
    from dogu.workspace.visible import make_visible

    rule = question.always_rule
    choices = {_ONCE: "Yes, this once", _NO: "No"}
    if rule is not None:
        choices = {_ONCE: "Yes, this once", _ALWAYS: f"Yes, and always in this session: {rule.text}", _NO: "No"}
    confirmation = question.confirmation
    told = [confirmation.title, *confirmation.reasons, markdown_of(confirmation.display)]
    message, _ = middle_left_out(make_visible("\n\n".join(told)), _LONGEST_QUESTION_CHARS)
    reason = {"type": "string", "title": "If not: why, for the model to hear"}
    answer = {"type": "string", "title": "May it?", "enum": [*choices], "enumNames": [*choices.values()]}
    properties = {"answer": answer, "reason": reason}
    return mcp_types.ElicitRequestFormParams(
        message=writable(message),
        requested_schema={"type": "object", "properties": properties, "required": ["answer"]},
    )


def _nobody(question: Question, why: str) -> ToolError:
    return ToolError(
        ErrorKind.NOBODY_TO_ASK,
        f"{question.call.name} needs a person's approval ({question.verdict.reason}) and {why}. Nothing was run. Say "
        "what you would have done; the user can allow it by starting `dogu mcp` with --approval-mode, or by a rule.",
    )
