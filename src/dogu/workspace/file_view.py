"""A file as a model sees it: a slice of its text with what must be known about it, a notebook's cells, or media.

Above: the tools that read. Below: `files`, `lines`, `media`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

import msgspec

from dogu.contract.content import Blob
from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.files import FileContent, Files
from dogu.workspace.lines import LineSlice, piece_of_line, slice_of_bytes, slice_of_stream
from dogu.workspace.os_errors import explain
from dogu.workspace.text import decode, media

DEFAULT_LIMIT_LINES = 2_000
DEFAULT_CHARS = 40_000
LONGEST_TEXT_CHARS = 256_000
LARGEST_MEDIA_BYTES = 20 << 20
LONGEST_PIECE_CHARS = 20_000

# Up to here the whole file is read, so that a later write can tell whether it changed since; beyond, only the slice.
_READ_WHOLE_BYTES = 8 << 20
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class MediaFile(msgspec.Struct, frozen=True):
    """An image, audio or PDF file; `data` is empty when it wasn't wanted."""

    media_type: str
    data: bytes

    @property
    def word(self) -> str:
        """What to call it: image, audio or pdf."""
        return {"image": "image", "audio": "audio"}.get(self.media_type.partition("/")[0], "pdf")


class NotebookSlice(msgspec.Struct, frozen=True):
    """Lines of a notebook shown as cells, and the pictures that stand within them, each named there."""

    part: LineSlice
    pictures: tuple[Blob, ...]


class Wanted(msgspec.Struct, frozen=True):
    """Which lines of a text, at most how much of it, and whether media are wanted."""

    first: int = 0
    limit: int = DEFAULT_LIMIT_LINES
    max_chars: int = LONGEST_TEXT_CHARS
    media: bool = True


FileView: TypeAlias = LineSlice | MediaFile | NotebookSlice


def view_file(files: Files, path: str, wanted: Wanted, go_on: Callable[[], bool]) -> FileView:
    """Read what is wanted of the file at `path` (absolute); `go_on` is asked while a huge file is searched for lines.

    Raises `ToolError` (WRONG_FILE_TYPE for binaries, TOO_LARGE for media over 20 MB, and as `Files.open`).
    """
    try:
        if path.endswith(".ipynb"):
            notebook = _notebook_slice(files.read(path), wanted)
            if notebook is not None:
                return notebook
        with files.open(path) as stream:
            head = stream.read(media.HEAD_BYTES)
            media_type = media.sniff(head, os.path.basename(path))
            if media_type:
                data = _all_of(stream, media_type, path) if wanted.media else b""
                return MediaFile(media_type, data)
            if media.is_binary(head):
                raise ToolError(
                    ErrorKind.WRONG_FILE_TYPE,
                    f"Cannot display content of binary file: {path}\n"
                    "Use run_shell_command to look into it, for example with `file`, `strings` or `xxd | head`.",
                )
            if stream.seek(0, os.SEEK_END) > _READ_WHOLE_BYTES:
                return slice_of_stream(stream, wanted.first, wanted.limit, wanted.max_chars, go_on=go_on)
        return slice_of_bytes(files.read(path).data, wanted.first, wanted.limit, wanted.max_chars)
    except OSError as error:
        raise explain(error, path) from error


def view_line(files: Files, path: str, line: int, column: int, go_on: Callable[[], bool]) -> str:
    """Return a piece of one line (0-based) from character `column` (0-based) on, behind a note of where it stands.

    Raises `ToolError` as `view_file`, and INVALID_ARGUMENTS where the line or the character isn't there.
    """
    try:
        with files.open(path) as stream:
            if media.is_binary(stream.read(media.HEAD_BYTES)):
                raise ToolError(ErrorKind.WRONG_FILE_TYPE, f"Cannot display content of binary file: {path}")
            piece = piece_of_line(stream, line, column, LONGEST_PIECE_CHARS, go_on)
    except OSError as error:
        raise explain(error, path) from error
    if piece is None or (column and not piece.text):
        what = f"line {line + 1} of {path} " + ("isn't there" if piece is None else f"has no character {column}")
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for read_file: {what}.")
    end = column + len(piece.text)
    more = f"To read on, use offset {line} and column {end}." if not piece.is_last else "The line ends here."
    text = _LONE_SURROGATE.sub("\ufffd", piece.text)
    return f"[Line {line + 1}, characters {column}-{end}. {more}]\n{text}"


def _notebook_slice(content: FileContent, wanted: Wanted) -> NotebookSlice | None:
    """Slice a notebook by the lines of its cells; None for a file that isn't one, which is read as text."""
    from dogu.workspace.notebook import NotebookError, parse_notebook
    from dogu.workspace.notebook_view import lines_of

    text = decode(content.data)
    try:
        lines = lines_of(parse_notebook(text.text))
    except NotebookError:
        return None
    part = LineSlice(wanted.first, text.detected, total_lines=len(lines), known_lines=len(lines))
    pictures: list[Blob] = []
    room_chars, room_bytes = wanted.max_chars, LARGEST_MEDIA_BYTES
    for line in lines[wanted.first : wanted.first + wanted.limit]:
        if isinstance(line, Blob):
            fits = wanted.media and len(line.data) <= room_bytes
            name = f"picture {len(pictures) + 1}" if fits else "a picture, not shown"
            shown = f"[{line.media_type}: {name}]\n"
            if fits:
                pictures.append(Blob(line.media_type, line.data, name))
                room_bytes -= len(line.data)
        else:
            shown = line
        room_chars -= len(shown)
        if room_chars < 0 and part.lines:
            break
        part.lines.append(shown)
    return NotebookSlice(part, tuple(pictures))


def slice_text(part: LineSlice, *, tagged: bool = False) -> str:
    """Return the slice's text behind the line that says what is left out; where to go on stands below the text.

    With `tagged` each line stands behind its tag (see `line_tags`).

    Lone surrogates (stray bytes) become U+FFFD, since no wire can carry them.
    """
    lines = _tagged(part) if tagged else "".join(part.lines)
    text, stray = _LONE_SURROGATE.subn("\ufffd", lines)
    notes: list[str] = []
    if part.encoding.codec != "utf-8":
        notes.append(f"[Encoding: {part.encoding.label}]")
    if stray:
        what = "1 byte that is" if stray == 1 else f"{stray} bytes that are"
        notes.append(f"[{what} not {part.encoding.label} shown as U+FFFD]")
    if part.lines and not part.is_whole:  # its line and the text below it are one, as documented
        below = "".join(f"{note}\n" for note in [*_hints(part), *notes]).rstrip("\n")
        between = "\n" if below and not text.endswith("\n") else ""
        return f"{_truncation(part)}\n{text}{between}{below}"
    return "\n".join([*notes, text]) if notes else text


def _tagged(part: LineSlice) -> str:
    from dogu.workspace.line_tags import tagged  # loads the engine of edits, which most reading does without

    return tagged(part.lines, part.first + 1)


def _all_of(stream: BinaryIO, media_type: str, path: str) -> bytes:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    data = stream.read(LARGEST_MEDIA_BYTES + 1) if size <= LARGEST_MEDIA_BYTES else b""
    if 0 < len(data) <= LARGEST_MEDIA_BYTES:
        return data
    raise ToolError(
        ErrorKind.TOO_LARGE,
        f"File too large to send: {path} ({media_type}) has {size / (1 << 20):.1f} MB, the limit is 20 MB. "
        "Make a smaller copy of it, or extract what you need, with run_shell_command.",
    )


def _truncation(part: LineSlice) -> str:
    total = f"{part.total_lines}" if part.total_lines is not None else f"at least {part.known_lines + 1}"
    return f"[File content truncated: showing lines {part.first + 1}-{part.end} of {total} total lines...]"


def _hints(part: LineSlice) -> list[str]:
    hints: list[str] = []
    if part.end != part.total_lines:
        hints.append(f"To read on, use offset {part.end}.")
    if part.cut_lines:
        lines = "1 line is" if part.cut_lines == 1 else f"{part.cut_lines} lines are"
        hints.append(f"{lines} longer than 2000 characters and cut; column reads one of them on.")
    return [f"[{' '.join(hints)}]"] if hints else []
