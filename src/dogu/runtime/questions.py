"""The question a door is asked about a call, and the answers it may give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from dogu.contract.confirmation import Confirmation
from dogu.policy.rules import Rule
from dogu.policy.verdict import Verdict
from dogu.runtime.calls import ToolCall


class Question(msgspec.Struct, frozen=True):
    """All that a person needs to decide. `always_rule` is what "always" would save, None where it isn't offered."""

    call: ToolCall
    display_name: str
    description: str
    confirmation: Confirmation
    verdict: Verdict
    always_rule: Rule | None = None


class Approved(msgspec.Struct, frozen=True):
    """Yes, this once; `edited` is the person's own text when they edited it first."""

    edited: str | None = None


class ApprovedAlways(msgspec.Struct, frozen=True):
    """Yes, and remember the rule that the question showed."""


class Declined(msgspec.Struct, frozen=True):
    """No; the model hears the reason. `stop` ends the turn, and with it the calls that wait."""

    reason: str = ""
    stop: bool = False


Outcome: TypeAlias = Approved | ApprovedAlways | Declined
Confirm: TypeAlias = Callable[[Question], Awaitable[Outcome]]


async def approve(_question: Question) -> Outcome:
    """Say yes to everything: for tests and for callers who have asked already."""
    return Approved()
