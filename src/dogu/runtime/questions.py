"""The question a door is asked about a call, and the answers it may give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from dogu.contract.confirmation import Confirmation
from dogu.policy.rule import Rule
from dogu.policy.verdict import Verdict
from dogu.runtime.events import ToolCall


class Question(msgspec.Struct, frozen=True):
    """All that a user needs to decide. `always_rule` is what "always" would save, None where it isn't offered."""

    call: ToolCall
    display_name: str
    description: str
    confirmation: Confirmation
    verdict: Verdict
    always_rule: Rule | None = None


class Approved(msgspec.Struct, frozen=True):
    """Yes, this once; `edited` is the user's own text when they edited it first.

    `is_preview`: run it, and show what it changed before that is kept; `is_always`: from now on without this question,
    where nothing that it does can leave the sandbox.
    """

    edited: str | None = None
    is_preview: bool = False
    is_always: bool = False


class ApprovedAlways(msgspec.Struct, frozen=True):
    """Yes, and remember the rule that the question showed."""


class Declined(msgspec.Struct, frozen=True):
    """No; the model hears the reason. `stop` ends the turn, and with it the calls that wait."""

    reason: str = ""
    stop: bool = False


class Elicitation(msgspec.Struct, frozen=True):
    """What somebody asks the user who isn't a call that wants to run: an MCP server's form, address or request.

    `title` is ours and names who asks; `message` is the asker's own text: data, not yet escaped. `fields` are
    flat JSON Schemas by name (`type`, `title`, `description`, `enum`, `oneOf`, `items`, `default`...), those `required`
    must be filled in. `url` is an address that the user may open, not yet escaped. With neither it is a yes or no.
    `is_question`: the fields are what is asked, so that no yes is wanted before they are filled in.
    """

    title: str
    message: str
    fields: Mapping[str, Mapping[str, Any]] = {}
    required: tuple[str, ...] = ()
    url: str = ""
    is_question: bool = False


class Given(msgspec.Struct, frozen=True):
    """Yes, with what the user filled in, by the field's name."""

    values: Mapping[str, Any] = {}


Outcome: TypeAlias = Approved | ApprovedAlways | Declined
Confirm: TypeAlias = Callable[[Question], Awaitable[Outcome]]
AskTheUser: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined]]
"""A door's way to put an elicitation before the user; `Declined.stop` means that they closed it without an answer."""


async def approve(_question: Question) -> Outcome:
    """Say yes to everything: for tests and for callers who have asked already."""
    return Approved()
