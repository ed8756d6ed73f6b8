"""The question a tool asks before it acts, with the proposal already worked out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dogu.contract.display import Display


class Confirmation(msgspec.Struct, frozen=True):
    """What will happen if the user says yes.

    `proposal` is the tool's own: exactly what will be done (for an edit: the bytes and the hash they were made from);
    the executor hands it back as `CallContext.approved`. `editable_text` and `revise` are set together when "edit it
    first" is possible: `revise` works the proposal out anew from the edited text, and raises `ToolError` when it can't.
    `always_ask` means that no approval mode and no remembered rule may answer for the user; `reasons` says why.
    `is_contained`: what is done can't leave the sandbox, so that it needn't be asked about where the user said so;
    `reading` is then the proposal that changes nothing, for plan mode.
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


def _ignore(_text: str) -> None:
    return None


def _ignore_event(_event: object) -> None:
    return None


class CallContext(msgspec.Struct, frozen=True):
    """What differs per call.

    `report` takes live output for the door (text, not accumulated; may be called from the event loop only). `approved`
    is the proposal as it was approved, perhaps edited; None when nothing was asked, and then the tool works it out.
    `emit` takes events of calls made within this one (`runtime.events.Within`).
    """

    call_id: str = ""
    report: Callable[[str], None] = msgspec.field(default=_ignore)
    approved: object = None
    emit: Callable[[object], None] = msgspec.field(default=_ignore_event)
