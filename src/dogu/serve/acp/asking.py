"""The user behind the client: permission requests, and elicitations through elicitation where the client has it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any, cast

from dogu.language import said, say
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Elicitation, Given, Outcome, Question
from dogu.serve.acp.blocks import display_content, locations_of, text_content
from dogu.serve.acp.peer import ConnectionLostError, Peer, RpcError
from dogu.serve.acp.updates import Updates
from dogu.workspace.visible import make_visible, visible_line

Json = dict[str, Any]

_PREVIEW = "allow-preview"
_ONCE, _ALWAYS, _NO, _NO_BECAUSE = "allow-once", "allow-always", "reject-once", "reject-because"


class Asking:
    """Asks the client on behalf of one session. Whatever isn't clearly a yes is a no: silence and departure too.

    `session_id` and `updates` are set before the first question. `has_forms` says that the client can put a form
    before the user.
    """

    def __init__(self, peer: Peer, *, has_forms: bool) -> None:
        self.session_id = ""
        self.updates: Updates | None = None
        self._peer = peer
        self._has_forms = has_forms
        self._numbers = itertools.count(1)

    async def confirm(self, question: Question) -> Outcome:
        """Ask whether a call may run."""
        chosen = await self._chosen(self._call(question), self._options(question))
        match chosen:
            case "allow-once":
                return Approved()
            case "allow-preview":
                return Approved(is_preview=True)
            case "allow-always" if question.always_rule is not None:
                return ApprovedAlways()
            case "reject-because":
                return Declined(await self._reason())
            case "reject-once":
                return Declined()
            case _:  # cancelled, or the client is gone
                return Declined(stop=True)

    async def go_on(self, text: str) -> bool:
        """Ask whether to go on although the model seems to loop."""
        return await self._chosen(self._made_up_call(text, ""), _yes_or_no()) == _ONCE

    async def elicit(self, elicitation: Elicitation) -> Given | Declined:
        """Put somebody else's wish before the user: a yes or no, or a form."""
        message = make_visible(
            "\n\n".join(filter(None, (said(elicitation.title), elicitation.message, elicitation.url)))
        )
        if not elicitation.fields:
            chosen = await self._chosen(self._made_up_call(said(elicitation.title), message), _yes_or_no())
            return Given() if chosen == _ONCE else Declined()
        if not self._has_forms:
            return await self._choose(elicitation, message)
        schema = {"type": "object", "properties": elicitation.fields, "required": list(elicitation.required)}
        filled = await self._form(message, schema)
        return Declined() if filled is None else Given(filled)

    async def _choose(self, elicitation: Elicitation, message: str) -> Given | Declined:
        """Where there are no forms, a single choice can still be made; more than that can't be asked."""
        choices = _choices(elicitation)
        if not choices:
            return Declined("This client has no forms.")
        name = next(iter(elicitation.fields))
        options = [_option(f"choice-{number}", title, "allow_once") for number, (_, title) in enumerate(choices)]
        options.append(_option(_NO, say("Reject"), "reject_once"))
        chosen = await self._chosen(self._made_up_call(said(elicitation.title), message), options)
        if not chosen.startswith("choice-"):
            return Declined()
        return Given({name: choices[int(chosen.removeprefix("choice-"))][0]})

    async def _chosen(self, call: Json, options: list[Json]) -> str:
        """Return the id of the option that the user chose; '' when there is no answer to rely on."""
        params = {"sessionId": self.session_id, "toolCall": call, "options": options}
        try:
            result = await self._peer.request("session/request_permission", params)
        except (RpcError, ConnectionLostError):
            return ""
        outcome: object = cast("Json", result).get("outcome") if isinstance(result, dict) else None
        if not isinstance(outcome, dict):
            return ""
        told = cast("Json", outcome)
        chosen = told.get("optionId") if told.get("outcome") == "selected" else ""
        return str(chosen) if chosen in [option["optionId"] for option in options] else ""

    def _call(self, question: Question) -> Json:
        args = question.call.args or {}
        root = self._root
        display = question.confirmation.display
        places = list(locations_of(args, root, display))
        path = places[0]["path"] if places else ""
        told = dict.fromkeys([*question.confirmation.reasons, question.verdict.reason])
        content = [
            *display_content(display, root, path),
            text_content(make_visible("\n".join(map(say, filter(None, told))))),
        ]
        updates = self.updates
        shown_id = updates.shown_id(question.call, question.description) if updates else question.call.call_id
        call: Json = {"toolCallId": shown_id, "status": "pending", "content": content, "rawInput": dict(args)}
        call["title"] = visible_line(f"{said(question.confirmation.title)} {said(question.description)}")
        if places:
            call["locations"] = places
        return call

    def _options(self, question: Question) -> list[Json]:
        is_of_changes = question.confirmation.is_of_changes
        has_preview = question.confirmation.preview is not None
        allowed = say("Allow once, and keep what it changes") if has_preview else say("Allow once")
        options = [_option(_ONCE, say("Keep") if is_of_changes else allowed, "allow_once")]
        if has_preview:  # of the same kind: their names alone tell them apart
            options.append(_option(_PREVIEW, say("Allow once, and show me what it changed"), "allow_once"))
        if question.always_rule is not None:
            name = visible_line(say("Always allow: {rule}", rule=say(question.always_rule.scope)))
            options.append(_option(_ALWAYS, name, "allow_always"))
        options.append(_option(_NO, say("Discard") if is_of_changes else say("Reject"), "reject_once"))
        if self._has_forms:
            options.append(_option(_NO_BECAUSE, say("Reject, and say why"), "reject_once"))
        return options  # no "reject, and stop": that is to cancel, and clients that show an option's kind show it twice

    def _made_up_call(self, title: str, text: str) -> Json:
        """A call that is none, because the protocol asks about calls only."""
        call: Json = {"toolCallId": f"question-{next(self._numbers)}", "title": title, "kind": "other"}
        return {**call, "status": "pending", "content": [text_content(text)] if text else []}

    async def _reason(self) -> str:
        field = {"type": "string", "title": say("Why not? The model is told.")}
        schema = {"type": "object", "properties": {"reason": field}, "required": ["reason"]}
        filled = await self._form(say("Why not?"), schema)
        return str((filled or {}).get("reason", ""))

    async def _form(self, message: str, schema: Mapping[str, Any]) -> Json | None:
        params = {"sessionId": self.session_id, "mode": "form", "message": message, "requestedSchema": schema}
        try:
            result = await self._peer.request("elicitation/create", params)
        except (RpcError, ConnectionLostError):
            return None
        answer = cast("Json", result) if isinstance(result, dict) else {}
        content: object = answer.get("content")
        if answer.get("action") != "accept" or not isinstance(content, dict):
            return None
        return cast("Json", content)

    @property
    def _root(self) -> str:
        return self.updates.root if self.updates else os.sep


def _choices(elicitation: Elicitation) -> list[tuple[Any, str]]:
    """The values and titles that a single field offers; none where it isn't a choice."""
    if len(elicitation.fields) != 1:
        return []
    field = next(iter(elicitation.fields.values()))
    rows = [(row.get("const"), row.get("title", row.get("const"))) for row in field.get("oneOf", ())]
    if not rows:
        rows = [*zip(field.get("enum", ()), field.get("enumNames", field.get("enum", ())), strict=False)]
    return [(value, visible_line(f"{title}")) for value, title in rows]


def _option(option_id: str, name: str, kind: str) -> Json:
    return {"optionId": option_id, "name": name, "kind": kind}


def _yes_or_no() -> list[Json]:
    return [_option(_ONCE, say("Yes"), "allow_once"), _option(_NO, say("No"), "reject_once")]
