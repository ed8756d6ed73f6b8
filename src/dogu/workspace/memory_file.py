"""The user's file of things to remember: facts are added to one section of it, and nothing else in it is touched.

Source: Gemini CLI, docs/tools/memory.md: the section `## Gemini Added Memories` of `~/.gemini/GEMINI.md`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from dogu.contract.display import FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.diff import unified_diff
from dogu.workspace.files import FileContent, LocalFiles, WriteObserver
from dogu.workspace.roots import Roots
from dogu.workspace.text import decode, dominant_line_ending, line_ending_at
from dogu.workspace.text.change import file_notes, hidden_notes
from dogu.workspace.text.media import HEAD_BYTES, is_binary
from dogu.workspace.visible import strip_escapes

HEADING = "## Gemini Added Memories"
MOST_FACT_CHARS = 2_000
_TRIES = 50
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
# What would begin something else than a sentence at the head of a bullet.
_MARKS = re.compile(r"(?:(?:-+|[*+]|#{1,6}|>+|=+)\s+|>+|`{3,}|~{3,})+")
_SEPARATORS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile("[\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


class MemoryChange(msgspec.Struct, frozen=True):
    """Exactly what adding `fact` would write over what; `expected` is the old digest, empty for no file."""

    fact: str
    data: bytes
    expected: str
    display: FileDiff


class MemoryFile:
    """The file at `path` (absolute); it and its folder may be missing, and it may be a symbolic link to anywhere.

    `pending` is where a write that is killed is noted, as for `LocalFiles`; `shown` names the file for people;
    `observers` are told of each write, so that it can be undone.
    """

    def __init__(
        self, path: str, shown: str = "", pending: str | None = None, observers: Sequence[WriteObserver] = ()
    ) -> None:
        self.path = path
        self.shown = shown or path
        self._pending = pending
        self._observers = observers

    def plan(self, fact: str) -> MemoryChange:
        """Work out what adding the fact would write; it becomes one line.

        Raises `ToolError`: INVALID_ARGUMENTS for no fact or one too long, NO_CHANGE when it is there already,
        UNENCODABLE when the file's encoding can't hold it, and what reading raises.
        """
        line = _one_line(fact)
        content = self._read()
        if content is not None and is_binary(content.data[:HEAD_BYTES]):
            raise ToolError(ErrorKind.WRONG_FILE_TYPE, f"{self.path} isn't a text: nothing can be remembered there.")
        old = decode(content.data if content is not None else b"")
        at, added = _addition(old.text, line)
        data = old.splice([(at, at, added)])
        new = old.text[:at] + added + old.text[at:]
        notes = (*hidden_notes(added), *(file_notes(content, old) if content is not None else ()))
        before = None if content is None else old.text
        display = FileDiff(self.shown, before, new, unified_diff(old.text, new, self.shown), notes)
        return MemoryChange(line, data, content.digest if content is not None else "", display)

    def write(self, change: MemoryChange) -> MemoryChange:
        """Write the change and return it as it was done: what others wrote meanwhile stays. Raises `ToolError`."""
        files = self._files(create=True)
        path = os.path.realpath(self.path)
        for _ in range(_TRIES):
            try:
                files.write(path, change.data, change.expected)
            except ToolError as error:
                if error.kind is not ErrorKind.STALE:
                    raise
                change = self.plan(change.fact)
                continue
            return change
        message = f"{self.path} changes all the time: the fact wasn't remembered. Try again later."
        raise ToolError(ErrorKind.STALE, message)

    def _read(self) -> FileContent | None:
        path = os.path.realpath(self.path)
        if not os.path.isdir(os.path.dirname(path)):
            return None
        try:
            return self._files().read(path)
        except ToolError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return None
            raise

    def _files(self, *, create: bool = False) -> LocalFiles:
        path = os.path.realpath(self.path)
        folder = os.path.dirname(path)
        try:
            if create:
                os.makedirs(folder, mode=0o700, exist_ok=True)
            return LocalFiles(Roots(folder), self._observers, pending=self._pending, unprotected=[path])
        except OSError as error:
            message = f"{folder} can't be made ({error.strerror}): nothing can be remembered there."
            raise ToolError(ErrorKind.IO_ERROR, message) from error


def _one_line(fact: str) -> str:
    """Return the fact as one line of plain words: no heading, list, fence or comment can begin in it."""
    line = " ".join(_UNSEEN.sub("", strip_escapes(_SEPARATORS.sub(" ", fact))).split())
    line = _MARKS.sub("", line, count=1) if _MARKS.match(line) else line
    line = line.replace("<!--", "<! --").strip()
    if not any(character.isalnum() for character in line):
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, "There is no fact to remember: send one sentence that says it.")
    if len(line) > MOST_FACT_CHARS:
        message = f"The fact is too long ({len(line)} characters, at most {MOST_FACT_CHARS}): say it shorter."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    return line


def _addition(text: str, fact: str) -> tuple[int, str]:
    """Return where in the text something is added, and what."""
    bullet = f"- {fact}"
    section = _section(text)
    if section is None:
        ending = dominant_line_ending(text)
        if not text:
            return 0, f"{HEADING}{ending}{bullet}{ending}"
        if not text.endswith(("\n", "\r")):
            return len(text), f"{ending * 2}{HEADING}{ending}{bullet}"
        gap = "" if text.endswith((ending * 2,)) else ending
        return len(text), f"{gap}{HEADING}{ending}{bullet}{ending}"
    start, end = section
    lines = [match for match in _LINE.finditer(text, start, end) if match[1].strip()]
    if any(match[1].rstrip() == bullet for match in lines[1:]):
        raise ToolError(ErrorKind.NO_CHANGE, f"This is remembered already, there is nothing to do: {fact}")
    last = lines[-1]
    if last[2]:
        return last.end(), f"{bullet}{last[2]}"
    return last.end(), f"{line_ending_at(text, last.start())}{bullet}"


def _section(text: str) -> tuple[int, int] | None:
    """Return the span of the memories' section, its heading included; headings within code are none."""
    start: int | None = None
    for match in _lines_outside_code(text):
        line = match[1]
        if start is None:
            start = match.start() if line.rstrip() == HEADING else None
        elif line.startswith(("# ", "## ")):
            return start, match.start()
    return None if start is None else (start, len(text))


def _lines_outside_code(text: str) -> Iterator[re.Match[str]]:
    """Give the lines that stand in no fenced code; a fence that is never closed is none."""
    lines = list(_LINE.finditer(text))
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at][1])
        end = _fence_end(lines, at + 1, opening[1]) if opening else None
        if end is None:
            yield lines[at]
        at = (at if end is None else end) + 1


def _fence_end(lines: Sequence[re.Match[str]], start: int, fence: str) -> int | None:
    for at in range(start, len(lines)):
        closing = _FENCE.fullmatch(lines[at][1])
        if closing and closing[1].startswith(fence) and not closing[2].strip():
            return at
    return None
