"""What an argument makes of its program, and which word it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from dogu.policy.verdict import Place
from dogu.workspace.shell_syntax import Word


class Effect(StrEnum):
    """What an argument makes of its program."""

    RUNS = "runs"  # another program, or code
    WRITES = "writes"  # a file of its choice
    REACHES = "reaches"  # the network, other processes, settings
    EDITS = "edits"  # the files it is given, in place


EFFECTS = {"run": Effect.RUNS, "write": Effect.WRITES, "reach": Effect.REACHES, "edit": Effect.EDITS}
"""How the tables spell them."""


class Looked:
    """Whether anything was asked of a place."""

    happened = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a command is run, as far as that is known, and what its approval mode lets it do there.

    `may_edit`: files of the workspace may be written, as the tools that edit may. `is_still`: nothing in the text makes
    another folder of one that was looked at. `may_differ`: the text has gone elsewhere, or written. `adds_remote`: it
    makes one known that may be pushed to. `looked`: the place was asked, so that what comes out is of that place.
    """

    place: Place | None = None
    may_edit: bool = False
    is_still: bool = False
    may_differ: bool = False
    adds_remote: bool = False
    looked: Looked = field(default_factory=Looked)

    def is_free(self, path: str) -> bool:
        """Whether nothing is there that would be overwritten; True where that can't be known."""
        self.looked.happened = True
        return self.place is None or self.place.is_free(path)

    def is_known_to_be_free(self, path: str) -> bool:
        """Whether nothing is there; False where that can't be known."""
        return self.is_free(path) and self.place is not None

    def pushed_to(self) -> list[str]:
        """The remotes that a bare `git push` may go to."""
        self.looked.happened = True
        known = [] if self.place is None else self.place.pushed_to(by_any_branch=not self.is_still)
        return [*known, "..."] if self.adds_remote else known

    def matching(self, pattern: str) -> list[str] | None:
        """The names that a pattern stands for; None where that can't be known."""
        self.looked.happened = True
        return None if self.place is None or self.may_differ else self.place.matching(pattern)

    def is_same_repository(self, path: str) -> bool:
        """Whether a folder belongs to the repository of the place, so that no other one's settings count there."""
        self.looked.happened = True
        return self.is_still and self.place is not None and self.place.is_same_repository(path)

    def has_module(self, name: str) -> bool:
        """Whether the module is one of the place's own."""
        self.looked.happened = True
        return self.place is not None and self.place.has_module(name)


NOWHERE = Surroundings()


def _as_it_is(word: Word) -> list[str] | None:
    return [word.text]


def _as_one(word: Word) -> list[Word] | None:
    return [word]


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of a word that bash has yet to expand, and of where the command is run.

    `is_no_option`: it can't begin with a hyphen. `holds_output`: it may hold what a command prints, or what was read.
    `spellings`: what it may be by the values that the text itself gives its variables; None when that can't be said.
    `places`: the same of a word that names a place.
    """

    is_no_option: Callable[[Word], bool]
    holds_output: Callable[[Word], bool]
    around: Surroundings = NOWHERE
    spellings: Callable[[Word], list[str] | None] = _as_it_is
    places: Callable[[Word], list[Word] | None] = _as_one


@dataclass(frozen=True, slots=True)
class Danger:
    """The word at `index` (0 is the program) has an effect that needs a rule of its own, or a question."""

    index: int
    effect: Effect
    reason: str
