"""read_many_files: the content of several files, folders and globs at once; what `@path` in a prompt uses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import anyio.from_thread
import anyio.to_thread
import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from dogu.workspace.files import Files
    from dogu.workspace.roots import Roots

_DEFAULT_CHARS = 40_000


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
    max_chars: Annotated[
        int, msgspec.Meta(ge=1_000, le=256_000, description="How many characters to return at most. Default: 40000.")
    ] = _DEFAULT_CHARS


class ReadManyFiles(Tool[ReadManyFilesArgs]):
    """Read several files at once and return their content, each under a line `--- path ---`.

    Takes files, directories and globs. Text files are returned as by read_file; images, audio and PDF files only when
    their name or extension is given (`logo.png`, `*.pdf`). In all at most `max_chars` characters are returned; what
    was left out is told at the end, with the reason.
    """

    name = "read_many_files"
    display_name = "ReadManyFiles"
    kind = Kind.READ
    dropped = frozenset(("respect_gemini_ignore",))
    unpacked = frozenset(("file_filtering_options",))
    bounds_itself = True

    def __init__(self, files: Files, roots: Roots, why_ignored: Callable[[str], str]) -> None:
        """`why_ignored` says of an absolute path which rules hide it; those of `.geminiignore` are `gemini`."""
        self._files = files
        self._roots = roots
        self._why_ignored = why_ignored

    def get_description(self, args: ReadManyFilesArgs) -> str:
        """What is read, and what is left out."""
        names = ", ".join([*args.paths, *(args.include or ())])
        if not args.exclude:
            return names
        return told("{names} (without {others})", names=names, others=", ".join(args.exclude))

    async def execute(self, args: ReadManyFilesArgs, context: CallContext) -> ToolResult:
        """Read them in a thread; cancelled, it isn't waited for."""
        if not args.paths and not args.include:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS, "Invalid arguments for read_many_files: 'paths' is empty: name a file."
            )
        return await anyio.to_thread.run_sync(self._run, args, abandon_on_cancel=True)

    def _run(self, args: ReadManyFilesArgs) -> ToolResult:
        from dogu.workspace.file_bundle import TIME_LIMIT_S, Bundle
        from dogu.workspace.file_choice import FileCriteria, choose_files

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
        bundle = Bundle(self._files, self._roots, choice, args.max_chars)
        for file in choice.files:
            bundle.add(file, go_on)
        return ToolResult(bundle.content(), bundle.display())
