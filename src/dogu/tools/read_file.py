"""read_file: a file's text, or a slice of its lines; an image, audio or PDF as it is (seeds: file tools §2)."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Annotated, Any, BinaryIO

import anyio
import anyio.to_thread
import msgspec

from dogu.contract.confirmation import CallContext
from dogu.contract.content import Blob
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.workspace import media
from dogu.workspace.files import Files
from dogu.workspace.lines import LineSlice, slice_of_bytes, slice_of_stream
from dogu.workspace.os_errors import explain
from dogu.workspace.roots import Roots

DEFAULT_LIMIT_LINES = 2_000
LONGEST_TEXT_CHARS = 256_000
LARGEST_MEDIA_BYTES = 20 << 20

# Up to here the whole file is read, so that a later write can tell whether it changed since; beyond, only the slice.
_READ_WHOLE_BYTES = 8 << 20
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class ReadFileArgs(msgspec.Struct, kw_only=True):
    """What read_file takes."""

    path: Annotated[str, msgspec.Meta(description="Path of the file: absolute, or relative to the project root.")]
    offset: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(description="For text: the line to start reading from, counted from 0."),
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(description="For text: how many lines to read at most. Default: 2000."),
    ] = None


class ReadFile(Tool[ReadFileArgs]):
    """Read a file and return its content.

    Text in any encoding is returned as it is. Long files are returned in part, and the first line says so and how to
    go on: use `offset` and `limit` to read a slice of the lines. Lines over 2000 characters are cut. Images (PNG, JPG,
    GIF, WEBP, BMP), audio (MP3, WAV, AIFF, AAC, OGG, FLAC) and PDF files are returned as media; SVG as text. Other
    binary files can't be displayed.
    """

    name = "read_file"
    display_name = "ReadFile"
    kind = Kind.READ
    aliases = {"absolute_path": "path", "file_path": "path"}

    def __init__(self, files: Files, roots: Roots, why_ignored: Callable[[str], str]) -> None:
        """`why_ignored` says of an absolute path which rules hide it; those of `.geminiignore` are `gemini`."""
        self._files = files
        self._roots = roots
        self._why_ignored = why_ignored

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Accept `start_line` and `end_line`, counted from 1, both inclusive."""
        if raw.get("start_line") is None and raw.get("end_line") is None:
            return {name: value for name, value in raw.items() if name not in ("start_line", "end_line")}
        start, end = _line_number(raw, "start_line") or 1, _line_number(raw, "end_line")
        if end is not None and end < start:
            raise _invalid(f"'end_line' ({end}) is before 'start_line' ({start})")
        meant = {"offset": start - 1} | ({} if end is None else {"limit": end - start + 1})
        for name, value in meant.items():
            if raw.get(name) is not None and raw[name] != value:
                raise _invalid(f"{name!r} disagrees with 'start_line' and 'end_line': send only 'offset' and 'limit'")
        return {name: value for name, value in raw.items() if name not in ("start_line", "end_line")} | meant

    def get_description(self, args: ReadFileArgs) -> str:
        """The path, and the lines asked for."""
        if args.offset is None and args.limit is None:
            return args.path
        first = (args.offset or 0) + 1
        return f"{args.path} (lines {first}-{first - 1 + (args.limit or DEFAULT_LIMIT_LINES)})"

    async def execute(self, args: ReadFileArgs, context: CallContext) -> ToolResult:
        """Read it in a thread; a slice deep in a huge file ends early when cancelled."""
        cancelled = threading.Event()
        try:
            return await anyio.to_thread.run_sync(self._read, args, cancelled, abandon_on_cancel=True)
        finally:
            cancelled.set()

    def _read(self, args: ReadFileArgs, cancelled: threading.Event) -> ToolResult:
        path = self._roots.locate(args.path)
        if "gemini" in {self._why_ignored(name) for name in (path, self._roots.real(path))}:
            raise ToolError(
                ErrorKind.IGNORED, f"File is ignored by .geminiignore: {path}. Ask the user if you need its content."
            )
        shown = self._roots.relative(path)
        try:
            with self._files.open(path) as stream:
                head = stream.read(media.HEAD_BYTES)
                media_type = media.sniff(head, os.path.basename(path))
                if media_type:
                    return _media(stream, media_type, path, shown)
                _refuse_binary(head, path)
                part = self._slice(stream, args, path, cancelled)
        except OSError as error:
            raise explain(error, path) from error
        return _text(part, path, shown)

    def _slice(self, stream: BinaryIO, args: ReadFileArgs, path: str, cancelled: threading.Event) -> LineSlice:
        first, limit = args.offset or 0, args.limit or DEFAULT_LIMIT_LINES
        if stream.seek(0, os.SEEK_END) <= _READ_WHOLE_BYTES:
            return slice_of_bytes(self._files.read(path).data, first, limit, LONGEST_TEXT_CHARS)
        return slice_of_stream(stream, first, limit, LONGEST_TEXT_CHARS, go_on=lambda: not cancelled.is_set())


def _line_number(raw: dict[str, Any], name: str) -> int | None:
    value = raw.get(name)
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError) as error:
        raise _invalid(f"{name!r} must be a line number, not {value!r}") from error
    if number < 1 or number != float(value):
        raise _invalid(f"{name!r} counts lines from 1, so it can't be {value!r}")
    return number


def _invalid(reason: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for read_file: {reason}.")


def _media(stream: BinaryIO, media_type: str, path: str, shown: str) -> ToolResult:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    data = stream.read(LARGEST_MEDIA_BYTES + 1) if size <= LARGEST_MEDIA_BYTES else b""
    if not 0 < len(data) <= LARGEST_MEDIA_BYTES:
        raise ToolError(
            ErrorKind.TOO_LARGE,
            f"File too large to send: {path} ({media_type}) has {size / (1 << 20):.1f} MB, the limit is 20 MB. "
            "Make a smaller copy of it, or extract what you need, with run_shell_command.",
        )
    what = {"image": "image", "audio": "audio"}.get(media_type.partition("/")[0], "pdf")
    return ToolResult([Blob(media_type, data, os.path.basename(path))], f"Read {what} file: {shown}")


def _refuse_binary(head: bytes, path: str) -> None:
    if media.is_binary(head):
        raise ToolError(
            ErrorKind.WRONG_FILE_TYPE,
            f"Cannot display content of binary file: {path}\n"
            "Use run_shell_command to look into it, for example with `file`, `strings` or `xxd | head`.",
        )


def _text(part: LineSlice, path: str, shown: str) -> ToolResult:
    if part.first and not part.lines:
        raise _past_the_end(part, path)
    text = "".join(part.lines)
    notes: list[str] = []
    if not part.is_whole and part.lines:
        notes.append(_truncation(part))
    if part.encoding.codec != "utf-8":
        notes.append(f"[Encoding: {part.encoding.label}]")
    text, stray = _LONE_SURROGATE.subn("\ufffd", text)
    if stray:
        notes.append(f"[{stray} bytes that are not {part.encoding.label} text are shown as U+FFFD]")
    return ToolResult("\n".join([*notes, text]) if notes else text, _display(part, shown))


def _truncation(part: LineSlice) -> str:
    total = f"{part.total_lines}" if part.total_lines is not None else f"at least {part.known_lines + 1}"
    note = f"[File content truncated: showing lines {part.first + 1}-{part.end} of {total} total lines...]"
    hints: list[str] = []
    if part.end != part.total_lines:
        hints.append(f"To read on, use offset {part.end}.")
    if part.cut_lines:
        hints.append(f"{part.cut_lines} of these lines are longer than 2000 characters and cut.")
    return f"{note}\n[{' '.join(hints)}]" if hints else note


def _past_the_end(part: LineSlice, path: str) -> ToolError:
    lines = "1 line" if part.total_lines == 1 else f"{part.total_lines} lines"
    return ToolError(
        ErrorKind.INVALID_ARGUMENTS,
        f"Offset {part.first} is past the end of {path}, which has {lines}. "
        + (f"Use an offset from 0 to {part.total_lines - 1}." if part.total_lines else "The file is empty."),
    )


def _display(part: LineSlice, shown: str) -> str:
    if not part.lines:
        return f"File is empty: {shown}"
    if part.is_whole:
        return f"Read {len(part.lines)} line{'s' * (len(part.lines) != 1)} from {shown}"
    total = part.total_lines if part.total_lines is not None else "many"
    return f"Read lines {part.first + 1}-{part.end} of {total} from {shown}"
