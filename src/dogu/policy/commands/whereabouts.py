"""In which folders a text may be at each of its commands, as far as `cd` and its kin tell: paths from where it began.

Exact along `cd a && ... && cd ..`, in a subshell and behind `cd a || exit`; where a command may have failed or not have
been run, both what it leads to and where it was are held to be possible.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dogu.workspace.shell_syntax import Command, CommandKind, Scope, Script, Word

Folders = frozenset[str]

AT_THE_START: Folders = frozenset(("",))
GOES = frozenset(("cd", "pushd", "popd"))
_MOST_FOLDERS = 80
_READS_A_TEXT = frozenset(("eval", "trap"))
_GOES = re.compile(r"\b(?:cd|pushd|popd)\b")
_TOP = frozenset(("$(git rev-parse --show-toplevel)", "$(pwd)", "$PWD"))
_MAY_HIDE = re.compile(r"(?:^|/)\.[^/]*[*?\[]")


def joined(folder: str, path: str) -> str:
    """A path read in a folder, both from the start; `..` at its beginning, and no other, leads out of the folder."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    base = folder.split("/") if folder else []
    while parts and parts[0] == ".." and base and base[-1] != "..":
        parts.pop(0)
        base.pop()
    return "/".join((*base, *parts))


def _as_one(word: Word) -> list[Word] | None:
    return [word]


@dataclass(slots=True)
class _Frame:
    """A scope that the text is in: where it was entered, and, of a list, where it is if what ran did well or not."""

    scope: Scope
    entered: Folders
    done: Folders = frozenset()
    failed: Folders = frozenset()
    of_pipe: Folders = frozenset()
    failed_to_go: Folders | None = None
    ends: bool = False


@dataclass(slots=True)
class Whereabouts:
    """Follows one script. `is_lost`: from here on it can't be known."""

    now: Folders
    seen: Folders = AT_THE_START
    is_lost: bool = False
    places: Callable[[Word], list[Word] | None] = _as_one
    frames: list[_Frame] = field(default_factory=list[_Frame])
    gone_to: dict[Scope, list[Word]] = field(default_factory=dict[Scope, list[Word]])

    @classmethod
    def within(cls, outer: Whereabouts, script: Script, places: Callable[[Word], list[Word] | None]) -> Whereabouts:
        """Follow a script that begins where `outer` is."""
        found = cls(outer.now, outer.seen, outer.is_lost, places)
        for command in script.commands:
            if command.kind is CommandKind.FUNCTION and command.name in (*GOES, "exit"):
                found.is_lost = True
            words = command.words
            is_text = bool(words) and words[0].text in _READS_A_TEXT and any(_GOES.search(each.text) for each in words)
            if is_text or any(each.text in GOES for each in words[:4]):
                found._note(command, is_text=is_text)
        return found

    def _note(self, command: Command, *, is_text: bool) -> None:
        """Take note of a `cd` that is run any number of times: of a function, when and how often isn't followed."""
        within = itertools.takewhile(lambda scope: not scope.is_apart, _scopes(command))
        repeated = [scope for scope in within if scope.repeats]
        if command.function is not None or (is_text and repeated):
            self.is_lost = True
        for scope in repeated:
            self.gone_to.setdefault(scope, []).extend(command.words[1:])

    def folders(self) -> tuple[str, ...] | None:
        """Where the text may be; behind an `exit`, anywhere that it has been."""
        return None if self.is_lost else tuple(sorted(self.now or self.seen))

    # walking

    def come_to(self, command: Command) -> None:
        """Leave the scopes that have ended, and enter those of the command."""
        if self.is_lost:
            return
        path = _scopes(command)[::-1]
        same = 0
        while same < min(len(path), len(self.frames)) and self.frames[same].scope is path[same]:
            same += 1
        while len(self.frames) > same:
            self._leave(self.frames.pop())
        for each in path[same:]:
            self._enter(each)
        if self.frames:
            self.frames[-1].ends = _ends(command)

    def _enter(self, scope: Scope) -> None:
        now = self.now
        around = self.frames[-1] if self.frames else None
        if scope.joined is not None and around is not None:
            match scope.joined:
                case "&&":
                    now = around.done
                case "||":
                    now = around.failed
                case "|":
                    now = around.of_pipe
                case _:
                    now = around.entered
            around.of_pipe = now
        self.now = now
        words = self.gone_to.get(scope, [])
        for _ in "12" if words else "":  # names that are protected have two parts at most
            if any(word.text[:1] in ("-", "+") for word in words):
                self.go_back()
            self.go(self.destinations(words), None, is_there=False)
        self.frames.append(_Frame(scope, self.now))

    def _leave(self, frame: _Frame) -> None:
        now, scope = self.now, frame.scope
        if scope.joined is not None:
            self._leave_segment(frame, now)
        elif scope.is_body:
            self.now = frame.entered if scope.is_apart else now if scope.is_sure else now | frame.entered
        else:
            self.now = frame.entered if scope.is_apart else frame.done | frame.failed

    def _leave_segment(self, frame: _Frame, now: Folders) -> None:
        around = self.frames[-1]
        scope = frame.scope
        done = frame.entered if scope.is_apart else frozenset[str]() if frame.ends else now
        failed = done if frame.failed_to_go is None or scope.is_apart else frame.failed_to_go
        if scope.is_negated:
            done = failed = done | failed
        match scope.joined:
            case "&&":
                around.done, around.failed = done, around.failed | failed
            case "||":
                around.done, around.failed = around.done | done, failed
            case "":
                around.done, around.failed = done, failed
            case _:  # what a pipe leads to was told by its first command
                pass

    # going

    def destinations(self, words: Iterable[Word]) -> list[str] | None:
        """Where `cd WORD` leads to, from the start; None when that can't be known."""
        found: list[str] = []
        for word in words:
            if word.text[:1] in ("-", "+"):
                continue
            if word.text in _TOP:
                found.append("")
                continue
            meant = [word] if word.is_plain else self.places(word)
            if meant is None or _MAY_HIDE.search(word.text):
                return None
            for folder in sorted(self.now or self.seen):
                found += [each.text if each.text[:1] in ("/", "~") else joined(folder, each.text) for each in meant]
        return found if len(found) <= _MOST_FOLDERS else None

    def go(self, to: Sequence[str] | None, command: Command | None, *, is_there: bool) -> None:
        """Take note of a `cd`, by itself or within another command (None). `is_there`: nothing hinders it."""
        if to is None:
            self.is_lost = True
            return
        is_itself = command is not None and bool(command.words) and command.words[0].value in ("cd", "pushd")
        if command is not None and is_itself and self.frames and self.frames[-1].scope is command.scope:
            is_sure = is_there and not command.redirects and not command.assignments
            self.frames[-1].failed_to_go = frozenset() if is_sure else self.now
            self.now = frozenset(to)
        else:
            self.now |= frozenset(to)
        self._keep()

    def go_back(self) -> None:
        """`cd -` or `popd`: to any folder that the text has been in."""
        self.now |= self.seen

    def come_from(self, inner: Whereabouts) -> None:
        """Take over where a text has led to that this shell has read itself."""
        self.is_lost = self.is_lost or inner.is_lost
        self.now |= inner.seen
        self._keep()

    def _keep(self) -> None:
        self.seen |= self.now
        self.is_lost = self.is_lost or len(self.seen) > _MOST_FOLDERS


def _scopes(command: Command) -> list[Scope]:
    """What the command stands in, the innermost first."""
    found: list[Scope] = []
    scope = command.scope
    while scope is not None:
        found.append(scope)
        scope = scope.outer
    return found


def _ends(command: Command) -> bool:
    """Whether `exit` ends the shell here: with more than a number, or a redirection that fails, it doesn't."""
    words = command.words
    is_exit = command.kind is CommandKind.SIMPLE and len(words) in (1, 2) and words[0].value == "exit"
    is_plain = not command.redirects and not command.assignments and command.function is None
    return is_exit and is_plain and all(re.fullmatch(r"\d+", each.value or "-") for each in words[1:])
