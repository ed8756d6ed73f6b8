"""`@path` in a context file: other files read into it, as long as they stay where such files may come from.

A path is relative to the file that names it. What is written as code is no import, nor what the memory's section holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.memory_file import HEADING
from dogu.workspace.protected import secret_reason
from dogu.workspace.roots import Roots
from dogu.workspace.text import decode
from dogu.workspace.text.media import HEAD_BYTES, is_binary

MOST_BYTES = 64 * 1024
DEEPEST = 5

_IMPORT = re.compile(r"(?:(?<=^)|(?<=[\s(]))@((?:\\ |[^\s`'\"<>()\[\]{},;@\\])+)")
_FENCE = re.compile(r"\s*(?:(?:[-*+>]|\d+[.)])\s+)*(`{3,}|~{3,})(.*)")
_CODE = re.compile(r"<!--.*?-->|(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)\1(?!`)", re.DOTALL)
_PLAINLY_A_PATH = re.compile(r"(?:\.{1,2}/|/|~/).*|.*\.(?:md|mdx|mdc|markdown|txt|rst|adoc)", re.IGNORECASE | re.DOTALL)
_TEXT_ENDINGS = (".md", ".mdx", ".mdc", ".markdown", ".txt", ".rst", ".adoc")


class FoundImport(msgspec.Struct, frozen=True):
    """A file as read: `identity` is its device and inode, `is_cut` when there is more than `MOST_BYTES` of it."""

    path: str
    identity: tuple[int, int]
    text: str
    is_cut: bool = False


class ImportPlace(msgspec.Struct, frozen=True):
    """Folders that files may be read from; `texts_only` where more than texts lie in them, such as settings."""

    roots: Roots
    texts_only: bool = False
    is_hidden: Callable[[str], bool] = lambda _path: False

    def read(self, path: str) -> FoundImport:
        """Read a file in these folders. Raises `ToolError` for what isn't there, isn't a text, or must not be read."""
        located = self.roots.locate(path)
        self._check(located)
        descriptor = self.roots.open_file(located)
        with os.fdopen(descriptor, "rb") as file:
            self._check(self.roots.real_of(file.fileno(), located))
            return read_open(file.fileno(), located)

    def _check(self, path: str) -> None:
        within = os.path.join(os.path.basename(self.roots.root_of(path)), self.roots.relative(path))
        if reason := secret_reason(within):
            raise ToolError(ErrorKind.PROTECTED, reason)
        if self.is_hidden(path):
            raise ToolError(ErrorKind.IGNORED, told("the ignore rules hide it"))
        if self.texts_only and not path.lower().endswith(_TEXT_ENDINGS):
            raise ToolError(ErrorKind.WRONG_FILE_TYPE, told("only text files are imported from there"))


def read_open(descriptor: int, path: str) -> FoundImport:
    """Read an open regular file. Raises `ToolError` for a binary one, and OSError."""
    status = os.fstat(descriptor)
    data = b""
    while len(data) <= MOST_BYTES and (block := os.read(descriptor, MOST_BYTES + 1 - len(data))):
        data += block
    if is_binary(data[:HEAD_BYTES]):
        raise ToolError(ErrorKind.WRONG_FILE_TYPE, told("it isn't text"))
    text = _decoded(data[:MOST_BYTES]).replace("\r\n", "\n").strip()
    return FoundImport(path, (status.st_dev, status.st_ino), text, len(data) > MOST_BYTES)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:  # cut within a character
            return data[: error.start].decode("utf-8-sig")

    return decode(data).text.encode("utf-8", "replace").decode()


class Imports:
    """Reads imports into context files. `room` bounds the characters of all texts together.

    `identities` are the files read so far, whose text isn't repeated; `problems` says what wasn't imported, and why.
    """

    def __init__(self, home: str, room: int) -> None:
        self.identities: set[tuple[int, int]] = set()
        self.problems: list[str] = []
        self.paths: list[str] = []
        self.room = room
        self._home = home
        self._chain: list[tuple[int, int]] = []

    def expand(self, found: FoundImport, places: Sequence[ImportPlace]) -> str:
        """Return the text of the file with its imports, which come from `places`, behind the lines that name them."""
        self.identities.add(found.identity)
        text = self._taken(found)
        self._chain.append(found.identity)
        lines: list[str] = []
        for line, visible in zip(text.split("\n"), _without_code(text), strict=True):
            named = [match[1] for match in _IMPORT.finditer(visible)]
            blocks = [block for written in named if (block := self._imported(written, found.path, places))]
            if not (blocks and visible.strip() == f"@{named[0]}"):
                lines.append(line)
            lines += blocks
        self._chain.pop()
        return "\n".join(lines)

    def _taken(self, found: FoundImport) -> str:
        """Cut the text to the room that is left, and say so."""
        text = found.text[: self.room]
        self.room -= len(text)
        if found.is_cut or len(text) < len(found.text):
            text += f"\n[Cut after {len(text)} characters; read_file reads the rest of {found.path}.]"
        return text

    def _imported(self, written: str, importer: str, places: Sequence[ImportPlace]) -> str:
        name = written.replace("\\ ", " ").rstrip(".:!?")
        path = os.path.join(os.path.dirname(importer), os.path.join(self._home, name[2:]) if name[:2] == "~/" else name)
        try:
            found = _read_in(path, places)
        except ToolError as error:
            if _PLAINLY_A_PATH.fullmatch(name):
                return self._refused(name, importer, _reason(error))
            return ""
        if found.identity in self._chain:
            return self._refused(name, importer, told("it imports itself, directly or through others"))
        if found.identity in self.identities:
            return f"[{name}: already given above]"
        if len(self._chain) > DEEPEST:
            return self._refused(name, importer, told("imports go at most {deepest} files deep", deepest=DEEPEST))
        if self.room <= 0:
            return self._refused(name, importer, told("the context files are too long in total"))
        self.paths.append(found.path)
        return f"[imported from {name}]\n{self.expand(found, places)}\n[end of {name}]"

    def _refused(self, name: str, importer: str, reason: str) -> str:
        self.problems.append(
            told("{importer}: @{name} was not imported: {reason}.", importer=importer, name=name, reason=reason)
        )
        return f"[@{name} was not imported: {reason}.]"


def _read_in(path: str, places: Sequence[ImportPlace]) -> FoundImport:
    outside: ToolError | None = None
    for place in places:
        try:
            return place.read(path)
        except ToolError as error:
            if error.kind is not ErrorKind.OUTSIDE_WORKSPACE:
                raise
            outside = error
        except OSError as error:
            raise ToolError(ErrorKind.IO_ERROR, told("it can't be read ({reason})", reason=error.strerror)) from error
    raise outside or ToolError(ErrorKind.OUTSIDE_WORKSPACE, "")


def _reason(error: ToolError) -> str:
    match error.kind:
        case ErrorKind.OUTSIDE_WORKSPACE:
            return told("it is outside the folders that imports may come from")
        case ErrorKind.NOT_FOUND:
            return told("there is no such file")
        case _:
            return error.message.rstrip(".")


def _without_code(text: str) -> list[str]:
    """Return the lines with blanks for what is code, a comment, or the memory's own."""
    lines = text.split("\n")
    fence = ""
    in_memory = False
    for index, line in enumerate(lines):
        match = _FENCE.fullmatch(line)
        if fence:
            lines[index] = ""
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            lines[index], fence = "", match[1]
        elif line.startswith(("# ", "## ")):
            in_memory = line.rstrip() == HEADING
        elif in_memory:
            lines[index] = ""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", "\0", code[0]), "\n".join(lines)).split("\n")
