"""read_file: a file's text, or a slice of its lines; an image, audio or PDF as it is (seeds: file tools §2)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio.from_thread
import anyio.to_thread
import msgspec

from dogu.contract import Blob, CallContext, Confirmation, ErrorKind, Kind, Text, Tool, ToolError, ToolResult, told
from dogu.workspace.names import shown_name

if TYPE_CHECKING:
    from dogu.workspace.file_view import LineSlice
    from dogu.workspace.files import Files
    from dogu.workspace.roots import Roots

TIME_LIMIT_S = 30.0


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
    column: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(description="For a line that was cut: with offset, the character to read it on from, from 0."),
    ] = None


class ReadFile(Tool[ReadFileArgs]):
    """Read a file and return its content.

    Text in any encoding is returned as it is. Long files are returned in part, and the first line says so and how to
    go on: use `offset` and `limit` to read a slice of the lines. Lines over 2000 characters are cut. Images (PNG, JPG,
    GIF, WEBP, BMP), audio (MP3, WAV, AIFF, AAC, OGG, FLAC) and PDF files are returned as media; SVG as text; a Jupyter
    notebook (.ipynb) as its cells with their outputs. Other binary files can't be displayed.
    """

    name = "read_file"
    display_name = "ReadFile"
    kind = Kind.READ
    bounds_itself = True
    aliases = {"absolute_path": "path", "file_path": "path"}

    def __init__(
        self, files: Files, roots: Roots, why_ignored: Callable[[str], str], *, tags_lines: bool = False
    ) -> None:
        """`why_ignored` says of an absolute path which rules hide it; those of `.geminiignore` are `gemini`.

        With `tags_lines` each line of a text is shown behind its tag, for `edit_lines`.
        """
        self._tags_lines = tags_lines
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
            return self._roots.relative(args.path)
        from dogu.workspace.file_view import DEFAULT_LIMIT_LINES

        first = (args.offset or 0) + 1
        last = first - 1 + (args.limit or DEFAULT_LIMIT_LINES)
        where = self._roots.relative(args.path)
        return told("{path} (lines {first}-{last})", path=where, first=first, last=last)

    async def should_confirm_execute(self, args: ReadFileArgs) -> Confirmation | None:
        """Ask, in every mode, before a file that may hold secrets is shown to the model."""
        return await anyio.to_thread.run_sync(self._question, args, abandon_on_cancel=True)

    async def execute(self, args: ReadFileArgs, context: CallContext) -> ToolResult:
        """Read it in a thread; cancelled, it isn't waited for."""
        return await anyio.to_thread.run_sync(self._read, args, context.approved, abandon_on_cancel=True)

    def _question(self, args: ReadFileArgs) -> Confirmation | None:
        reason = self._files.secret_reason(args.path)
        if reason is None or self._files.kind(args.path) != "file":
            return None
        path = self._located(args)
        real = self._roots.real(path)
        named = path if path == real else f"{path} -> {real}"
        display = told("The model asks to read {named}\n\n{reason}", named=shown_name(named), reason=reason)
        return Confirmation(told("Show the model this file?"), display, real, always_ask=True, reasons=(reason,))

    def _located(self, args: ReadFileArgs) -> str:
        path = self._roots.locate(args.path)
        if "gemini" in map(self._why_ignored, {path, self._roots.real(path)}):
            raise ToolError(
                ErrorKind.IGNORED, f"File is ignored by .geminiignore: {path}. Ask the user if you need its content."
            )
        return path

    def _read(self, args: ReadFileArgs, approved: object) -> ToolResult:
        from dogu.workspace.file_view import (
            DEFAULT_CHARS,
            DEFAULT_LIMIT_LINES,
            LONGEST_TEXT_CHARS,
            MediaFile,
            NotebookSlice,
            Wanted,
            slice_text,
            view_file,
            view_line,
        )

        path = self._located(args)
        secret = self._files.secret_reason(path)
        if secret and approved != self._roots.real(path) and self._files.kind(path) == "file":
            raise ToolError(ErrorKind.PROTECTED, f"Nobody was asked about reading {path}: {secret} Try again.")
        most_chars = DEFAULT_CHARS if args.limit is None else LONGEST_TEXT_CHARS
        wanted = Wanted(args.offset or 0, args.limit or DEFAULT_LIMIT_LINES, most_chars)
        shown = self._roots.relative(path)
        deadline = time.monotonic() + TIME_LIMIT_S

        def go_on() -> bool:
            anyio.from_thread.check_cancelled()
            if time.monotonic() < deadline:
                return True
            message = f"Line {wanted.first + 1} of {path} was not reached within {TIME_LIMIT_S:g} s."
            raise ToolError(ErrorKind.TIMED_OUT, f"{message} Use a smaller offset, or find the place with grep_search.")

        if args.column is not None:
            text = view_line(self._files, path, wanted.first, args.column, go_on)
            return ToolResult(text, told("Read a part of line {line} of {path}", line=wanted.first + 1, path=shown))
        view = view_file(self._files, path, wanted, go_on)
        if isinstance(view, MediaFile):
            blob = Blob(view.media_type, view.data, os.path.basename(path))
            return ToolResult([blob], told("Read {kind} file: {path}", kind=view.word, path=shown))
        part = view.part if isinstance(view, NotebookSlice) else view
        if part.first and not part.lines:
            raise _past_the_end(part, path)
        pictures = view.pictures if isinstance(view, NotebookSlice) else ()
        text = slice_text(part, tagged=self._tags_lines and part is view)
        return ToolResult([Text(text), *pictures] if pictures else text, _display(part, shown))


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


def _past_the_end(part: LineSlice, path: str) -> ToolError:
    lines = "1 line" if part.total_lines == 1 else f"{part.total_lines} lines"
    return ToolError(
        ErrorKind.INVALID_ARGUMENTS,
        f"Offset {part.first} is past the end of {path}, which has {lines}. "
        + (f"Use an offset from 0 to {part.total_lines - 1}." if part.total_lines else "The file is empty."),
    )


def _display(part: LineSlice, shown: str) -> str:
    if not part.lines:
        return told("File is empty: {path}", path=shown)
    if part.is_whole:
        return told("Read {count} lines from {path}", count=len(part.lines), path=shown)
    total = part.total_lines if part.total_lines is not None else told("many")
    return told(
        "Read lines {first}-{last} of {total} from {path}", first=part.first + 1, last=part.end, total=total, path=shown
    )
