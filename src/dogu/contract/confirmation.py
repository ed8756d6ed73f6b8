"""The question a tool asks before it acts, with the proposal already worked out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from dogu.contract.display import Display


class Confirmation(msgspec.Struct, frozen=True):
    """What will happen if the user says yes.

    `proposal` is the tool's own: exactly what will be done (for an edit: the bytes and the hash they were made from);
    the executor hands it back as `CallContext.approved`. `editable_text` and `revise` are set together when "edit it
    first" is possible: `revise` works the proposal out anew from the edited text, and raises `ToolError` when it can't.
    `always_ask` means that no approval mode and no remembered rule may answer for the user; `reasons` says why.
    `is_contained`: what is done can't leave the sandbox, so that it needn't be asked about where the user said so;
    `reading` is then the proposal that changes nothing, for plan mode. `preview` is the proposal that is done where
    nobody sees it, and shown before it is kept; None where that can't be. `is_of_changes`: it has been done so, and yes
    keeps it; `editable_text` is then what to keep, a path a line. `command` is what a shell would make of it, which is
    then judged as the shell tool's.
    """

    title: str
    display: Display
    proposal: object = None
    editable_text: str | None = None
    revise: Callable[[str], Confirmation] | None = None
    always_ask: bool = False
    reasons: tuple[str, ...] = ()
    is_contained: bool = False
    reading: object = None
    preview: object = None
    is_of_changes: bool = False
    command: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What the user said to a question that a tool had while it was running.

    `edited` is the text as they left it, if they edited it; `reason` is for the model.
    """

    is_yes: bool
    edited: str | None = None
    reason: str = ""


async def _ask_nobody(_question: Confirmation) -> Answer | None:
    return None


class CallContext(msgspec.Struct, frozen=True):
    """What differs per call.

    `report` takes live output for the door (text, not accumulated; may be called from the event loop only). `approved`
    is the proposal as it was approved, perhaps edited; None when nothing was asked, and then the tool works it out.
    `emit` takes events of calls made within this one (`runtime.events.Within`). `ask` puts a question before the user
    while the call runs, and returns None where nobody can be asked.
    """

    call_id: str = ""
    report: Callable[[str], None] = msgspec.field(default=lambda _text: None)
    approved: object = None
    emit: Callable[[object], None] = msgspec.field(default=lambda _event: None)
    ask: Callable[[Confirmation], Awaitable[Answer | None]] = msgspec.field(default=_ask_nobody)
