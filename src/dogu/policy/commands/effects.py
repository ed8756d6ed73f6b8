"""What an argument makes of its program, and which word it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from posixpath import normpath

from dogu.policy.verdict import Place
from dogu.workspace.shell_syntax import Part, PartKind, Word


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

    `may_edit`: files of the workspace may be written, as the tools that edit may. `is_still`: nothing in the text
    makes another folder of one that was looked at. `may_differ`: the text has gone elsewhere, or written.
    `adds_remote`: it makes one known that may be pushed to. `folders` are where the text may have gone, from where it
    began; None when that can't be known. `has_unpacked`: an archive, which may hold repositories. `looked`: the place
    was asked, so that what comes out is of that place.
    """

    place: Place | None = None
    may_edit: bool = False
    is_still: bool = False
    may_differ: bool = False
    adds_remote: bool = False
    folders: tuple[str, ...] | None = ("",)
    has_unpacked: bool = False
    looked: Looked = field(default_factory=Looked)

    @property
    def has_moved(self) -> bool:
        """Whether the text may be elsewhere than where it began."""
        return self.folders != ("",)

    def at_the_start(self) -> Surroundings:
        """The same of words that were put together from where the text began."""
        return replace(self, folders=("",)) if self.has_moved else self

    def from_the_start(self, word: Word) -> list[Word]:
        """The places that a word names in the folders that the text may be in; the word itself where it says so."""
        text = word.text
        parts = [part for part in word.parts if part.text or part.kind is not PartKind.LITERAL]
        is_whole = not text or text[0] in "/-@" or word.has_tilde or "://" in text
        if is_whole or not self.has_moved or parts[0].kind is not PartKind.LITERAL:
            return [word]
        return [self._within(folder, parts, word) for folder in self.folders or ()]

    def _within(self, folder: str, parts: list[Part], word: Word) -> Word:
        text, up, base = parts[0].text, 0, folder
        while match := re.match(r"\.(?:/+|$)|(\.\.)(?:/+|$)", text):
            if match[1] and not base:
                break
            base = base.rpartition("/")[0] if match[1] else base
            up, text = up + bool(match[1]), text[match.end() :]
        if not folder or (up and not self._is_real(folder)):  # of a link, `..` is another folder than its text says
            return word
        begins = [Part(PartKind.LITERAL, f"{base}/", quoted=True)] if base else []
        rest = Part(PartKind.LITERAL, text if text or parts[1:] else ".", quoted=parts[0].quoted)
        return Word((*begins, rest, *parts[1:]), word.raw)

    def _is_real(self, folder: str) -> bool:
        self.looked.happened = True
        return self.place is not None and not self.may_differ and self.place.is_same_repository(folder)

    def is_there(self, folder: str) -> bool:
        """Whether a folder is known to be there; the one where the text began is."""
        self.looked.happened = True
        is_known = self.place is not None and not self.may_differ
        return not folder or (is_known and self.place is not None and not self.place.is_free(f"{folder}/."))

    def is_file(self, path: str) -> bool:
        """Whether something is known to be there that is no folder."""
        return self.is_there(".") and not self.is_free(path) and self.is_free(f"{path}/.")

    def is_free(self, path: str) -> bool:
        """Whether nothing is there that would be overwritten; True where that can't be known."""
        self.looked.happened = True
        if self.place is None:
            return True
        return self.folders is not None and all(map(self.place.is_free, self._here(path)))

    def _here(self, path: str) -> list[str]:
        return [f"{each}/{path}" if each else path for each in self.folders or ()]

    def leads_to(self, path: str, *, is_entry: bool = False) -> str | None:
        """Where a path of the workspace leads by the links that are there; None when that is elsewhere."""
        self.looked.happened = True
        if self.place is None or path.startswith(("/", "~")):
            return path
        found = self.place.leads_to(path, is_entry=is_entry)
        return path if found == normpath(path) else found

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

    def files_below(self, path: str) -> list[str] | None:
        """Every file in a folder and below it; None where that can't be known."""
        self.looked.happened = True
        is_known = self.place is not None and not self.may_differ and not self.has_moved
        return self.place.files_below(path) if is_known and self.place is not None else None

    def has_tag_like_an_option(self) -> bool:
        """Whether a tag of the repository is known to begin with a hyphen."""
        self.looked.happened = True
        return self.place is not None and self.place.has_tag_like_an_option()

    def has_links_out(self, path: str) -> bool:
        """Whether a link is known to lead out of a folder, by which what is unpacked there comes to lie elsewhere."""
        self.looked.happened = True
        return self.place is not None and self.place.has_links_out(path)

    def is_same_repository(self, path: str) -> bool:
        """Whether a folder belongs to the repository of the place, so that no other one's settings count there."""
        self.looked.happened = True
        places = self._here(path)
        is_known = self.is_still and self.place is not None and bool(places)
        return is_known and self.place is not None and all(map(self.place.is_same_repository, places))

    def is_in_repository(self) -> bool:
        """Whether all that the text may have gone to belongs to the repository that it began in."""
        start = self.at_the_start()
        is_known = self.folders is not None and not self.has_unpacked
        return is_known and all(not each or start.is_same_repository(each) for each in self.folders or ())

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
    `places`: the same of a word that names a place. `listed`: the files that xargs hands on, where they are known.
    """

    is_no_option: Callable[[Word], bool]
    holds_output: Callable[[Word], bool]
    around: Surroundings = NOWHERE
    spellings: Callable[[Word], list[str] | None] = _as_it_is
    places: Callable[[Word], list[Word] | None] = _as_one
    listed: Sequence[Word] | None = None

    def from_the_start(self) -> Hints:
        """The same, with places as they are named from where the text began."""
        if not self.around.has_moved:
            return self
        around = self.around

        def places(word: Word) -> list[Word] | None:
            found = self.places(word) if around.folders is not None else None
            return None if found is None else [each for word in found for each in around.from_the_start(word)]

        return replace(self, around=around.at_the_start(), places=places)


@dataclass(frozen=True, slots=True)
class Danger:
    """The word at `index` (0 is the program) has an effect that needs a rule of its own, or a question."""

    index: int
    effect: Effect
    reason: str
