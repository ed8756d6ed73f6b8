"""What a stage and the matcher answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple


class Replacement(NamedTuple):
    """Replace the characters `[start, end)` of the text by `body`."""

    start: int
    end: int
    body: str


class Why(StrEnum):
    """Why an edit is refused."""

    NO_MATCH = "no_match"
    AMBIGUOUS = "ambiguous"
    NO_CHANGE = "no_change"
    OMISSION = "omission"  # new_string holds a placeholder for code left out
    OVERLAP = "overlap"  # another edit of the same call changes the same text
    UNCLEAR = "unclear"  # the place is known, what to write there isn't


class UncleanError(Exception):
    """The change can't be written without guessing; the message says why."""


class TwoWaysError(UncleanError):
    """Whether the depths of `new` are the file's or the model's can't be told from the strings."""


@dataclass(frozen=True)
class Found:
    """The places meant and what to write there.

    `spans` are the stretches `old` stands for, `forgiven` says in words how they differ from it; `replacements` lie
    within them or beside them, ascending and apart. `read` are both strings where they were read otherwise than sent.
    """

    stage: str
    spans: tuple[tuple[int, int], ...]
    replacements: tuple[Replacement, ...]
    forgiven: tuple[str, ...] = ()
    read: tuple[str, str] | None = None


@dataclass(frozen=True)
class Refused:
    """No edit, and why, in words for the model; `spans` are the places that came into question, ascending.

    `has_two_ways` says that what the depths of `new` are can't be told from the strings.
    """

    why: Why
    stage: str
    reason: str
    spans: tuple[tuple[int, int], ...] = ()
    has_two_ways: bool = False


def lie_apart(spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the spans, ascending, don't overlap."""
    return all(left[1] <= right[0] for left, right in pairwise(spans))


def spliced(text: str, pieces: Sequence[Replacement]) -> str:
    """Return the text with the pieces (ascending and apart) put in."""
    out: list[str] = []
    at = 0
    for start, end, body in pieces:
        out += text[at:start], body
        at = end
    return "".join([*out, text[at:]])


OVERLAP = "the places overlap"
TOO_MANY = "there are too many places to edit at once"

Outcome = Found | Refused | None
