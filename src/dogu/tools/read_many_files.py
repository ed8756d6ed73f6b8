"""read_many_files: the content of several files, folders and globs at once; what `@path` in a prompt uses."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio.from_thread
import anyio.to_thread
import msgspec

from dogu.contract.confirmation import CallContext
from dogu.contract.content import Blob, Part, Text
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.workspace.file_choice import ChosenFile, FileChoice, FileCriteria, choose_files, reason_of
from dogu.workspace.file_view import LARGEST_MEDIA_BYTES, LONGEST_TEXT_CHARS, MediaFile, Wanted, told, view_file
from dogu.workspace.files import Files
from dogu.workspace.names import shown_name
from dogu.workspace.roots import Roots

TIME_LIMIT_S = 30.0
_MOST_NAMED = 50
_MOST_SHOWN = 10
# What a file costs beside its content, and the least of one worth showing.
_HEADER_CHARS = 200
_LEAST_CHARS = 1_000


class ReadManyFilesArgs(msgspec.Struct, kw_only=True):
    """What read_many_files takes."""

    paths: Annotated[
        list[str],
        msgspec.Meta(
            description='Files, directories and globs, absolute or relative to the project root, such as ["README.md", '
            '"src/**/*.py", "docs"].'
        ),
    ]
    include: Annotated[list[str] | None, msgspec.Meta(description="More globs of files to read, added to `paths`.")] = (
        None
    )
    exclude: Annotated[
        list[str] | None, msgspec.Meta(description='Globs of what to leave out, such as ["*.log", "tests"].')
    ] = None
    recursive: Annotated[
        bool, msgspec.Meta(description="Whether directories are read with all below them. Default: true.")
    ] = True
    use_default_excludes: Annotated[
        bool,
        msgspec.Meta(description="Whether to leave out node_modules, .git, dist, build and their like. Default: true."),
    ] = True
    respect_git_ignore: Annotated[
        bool, msgspec.Meta(description="Whether to leave out what .gitignore ignores. Default: true.")
    ] = True


class ReadManyFiles(Tool[ReadManyFilesArgs]):
    """Read several files at once and return their content, each under a line `--- path ---`.

    Takes files, directories and globs. Text files are returned as by read_file; images, audio and PDF files only when
    their name or extension is given (`logo.png`, `*.pdf`). In all at most 256000 characters are returned; what was
    left out is told at the end, with the reason.
    """

    name = "read_many_files"
    display_name = "ReadManyFiles"
    kind = Kind.READ

    def __init__(self, files: Files, roots: Roots, why_ignored: Callable[[str], str]) -> None:
        """`why_ignored` says of an absolute path which rules hide it; those of `.geminiignore` are `gemini`."""
        self._files = files
        self._roots = roots
        self._why_ignored = why_ignored

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Accept a single path or glob where a list is due."""
        lists = ("paths", "include", "exclude")
        return {name: [value] if name in lists and isinstance(value, str) else value for name, value in raw.items()}

    def get_description(self, args: ReadManyFilesArgs) -> str:
        """What is read, and what is left out."""
        names = ", ".join([*args.paths, *(args.include or ())])
        return names + (f" (without {', '.join(args.exclude)})" if args.exclude else "")

    async def execute(self, args: ReadManyFilesArgs, context: CallContext) -> ToolResult:
        """Read them in a thread; cancelled, it isn't waited for."""
        if not args.paths and not args.include:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS, "Invalid arguments for read_many_files: 'paths' is empty: name a file."
            )
        return await anyio.to_thread.run_sync(self._run, args, abandon_on_cancel=True)

    def _run(self, args: ReadManyFilesArgs) -> ToolResult:
        criteria = FileCriteria(
            [*args.paths, *(args.include or ())],
            args.exclude or (),
            args.recursive,
            args.use_default_excludes,
            args.respect_git_ignore,
        )
        deadline = time.monotonic() + TIME_LIMIT_S

        def go_on() -> bool:
            anyio.from_thread.check_cancelled()
            return time.monotonic() < deadline

        choice = choose_files(self._roots, criteria, self._why_ignored, go_on)
        reading = _Reading(choice)
        for file in choice.files:
            if reading.is_full or not go_on():
                reading.not_reached += 1
            else:
                self._read(file, reading, go_on)
        return reading.result(self._roots)

    def _read(self, file: ChosenFile, reading: _Reading, go_on: Callable[[], bool]) -> None:
        wanted = Wanted(max_chars=reading.room_chars, media=_names_media(file))
        try:
            view = view_file(self._files, file.path, wanted, go_on)
        except ToolError as error:
            reading.skip(file.path, reason_of(error))
            return
        if not isinstance(view, MediaFile):
            reading.add_text(file.path, told(view))
        elif not wanted.media:
            reading.skip(file.path, f"{view.word} file: give its name or extension to read it")
        elif len(view.data) > reading.room_bytes:
            reading.skip(file.path, "media files in one call are over 20 MB")
        else:
            reading.add_media(file.path, Blob(view.media_type, view.data, os.path.basename(file.path)))


@dataclass
class _Reading:
    """What has been read, and the room that is left."""

    choice: FileChoice
    parts: list[Part] = field(default_factory=list[Part])
    read: list[str] = field(default_factory=list[str])
    room_chars: int = LONGEST_TEXT_CHARS
    room_bytes: int = LARGEST_MEDIA_BYTES
    not_reached: int = 0

    @property
    def is_full(self) -> bool:
        return self.room_chars < _LEAST_CHARS

    def skip(self, path: str, reason: str) -> None:
        self.choice.skipped.append((path, reason))

    def add_text(self, path: str, text: str) -> None:
        self._add(path, Text(f"--- {shown_name(path)} ---\n\n{text}\n\n"))
        self.room_chars -= len(text) + _HEADER_CHARS

    def add_media(self, path: str, blob: Blob) -> None:
        self._add(path, Text(f"--- {shown_name(path)} ---\n\n"))
        self.parts.append(blob)
        self.room_bytes -= len(blob.data)

    def _add(self, path: str, text: Text) -> None:
        self.read.append(path)
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Text):
            self.parts[-1] = Text(last.text + text.text)
        else:
            self.parts.append(text)

    def result(self, roots: Roots) -> ToolResult:
        """Put together what was read and what wasn't. Raises `ToolError` (NOT_FOUND) when nothing was."""
        notes = self._notes()
        if not self.read:
            raise ToolError(
                ErrorKind.NOT_FOUND,
                "\n".join(["No file was read.", *notes, "Check the names with list_directory or glob."]),
            )
        parts = [*self.parts, Text("\n".join(notes))] if notes else self.parts
        only_text = [part.text for part in parts if isinstance(part, Text)]
        content = "".join(only_text) if len(only_text) == len(parts) else parts
        return ToolResult(content, self._display(roots))

    def _notes(self) -> list[str]:
        choice = self.choice
        notes = [f"[Skipped {shown_name(name)}: {reason}]" for name, reason in choice.skipped[:_MOST_NAMED]]
        if len(choice.skipped) > _MOST_NAMED:
            notes.append(f"[Skipped {len(choice.skipped) - _MOST_NAMED} more]")
        if choice.git_ignored or choice.gemini_ignored:
            notes.append(f"[Left out: {choice.git_ignored} git-ignored, {choice.gemini_ignored} gemini-ignored files]")
        if self.not_reached:
            notes.append(
                f"[{self.not_reached} more files were not read: the limit of {LONGEST_TEXT_CHARS} characters or "
                f"{TIME_LIMIT_S:g} s is reached. Read them in another call, with narrower paths.]"
            )
        if not choice.is_complete:
            notes.append(f"[The search for files was stopped after {TIME_LIMIT_S:g} s: name smaller directories.]")
        return notes

    def _display(self, roots: Roots) -> str:
        lines = [
            f"### ReadManyFiles Result (Target Dir: `{roots.primary}`)\n",
            f"Successfully read and concatenated content from **{len(self.read)} file(s)**.\n",
            "**Processed Files:**",
            *_bullets([f"`{shown_name(roots.relative(path))}`" for path in self.read]),
        ]
        skipped = self.choice.skipped
        if skipped:
            lines.append(f"\n**Skipped {len(skipped)} item(s):**")
            lines += _bullets([f"`{shown_name(name)}` (Reason: {reason})" for name, reason in skipped])
        if self.not_reached:
            lines.append(f"\n{self.not_reached} more files were not read: the limit is reached.")
        return "\n".join(lines)


def _bullets(items: list[str]) -> list[str]:
    more = [f"- ...and {len(items) - _MOST_SHOWN} more"] if len(items) > _MOST_SHOWN else []
    return [f"- {item}" for item in items[:_MOST_SHOWN]] + more


def _names_media(file: ChosenFile) -> bool:
    """Whether the file's name, or its beginning, or its extension is in what was asked for."""
    if file.is_named:
        return True
    stem, extension = os.path.splitext(os.path.basename(file.path).lower())
    asked = os.path.basename(file.glob.lower())
    beginning = re.split(r"[.*?\[{]", asked)[0]
    return (extension[1:] or stem) in re.split(r"[^\w]+", asked) or (beginning != "" and stem.startswith(beginning))
