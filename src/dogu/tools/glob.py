"""glob: files by pattern, newest first (seeds: file tools §4)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import anyio.from_thread
import anyio.to_thread
import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, joined, told
from dogu.workspace.names import shown_name
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.glob import FoundFiles

MOST_PATHS = 2_000
TIME_LIMIT_S = 30.0


class GlobArgs(msgspec.Struct, kw_only=True):
    """What glob takes."""

    pattern: Annotated[
        str, msgspec.Meta(description='Glob to match against paths, such as "**/*.py", "src/**/*.{ts,tsx}", "*.md".')
    ]
    path: Annotated[
        str | None,
        msgspec.Meta(description="Directory to search: absolute, or relative to the project root (the default)."),
    ] = None
    ignore: Annotated[
        list[str] | None,
        msgspec.Meta(description='Globs of files and directories to leave out, such as ["*.log", "dist"].'),
    ] = None
    case_sensitive: Annotated[bool, msgspec.Meta(description="Whether case matters. Default: false.")] = False
    respect_git_ignore: Annotated[
        bool, msgspec.Meta(description="Whether to leave out what .gitignore ignores. Default: true.")
    ] = True


class Glob(Tool[GlobArgs]):
    """Find files by a glob pattern and return their absolute paths, the most recently modified first.

    `*` and `?` stay within a name, `**` stands for any number of directories: `*.ts` finds files in the directory
    itself, `**/*.ts` also those below. `{a,b}` and `[a-z]` work. Hidden files are found; .git and node_modules are left
    out unless named. At most 2000 paths are returned, with the full count.
    """

    name = "glob"
    display_name = "FindFiles"
    kind = Kind.SEARCH
    aliases = {"dir_path": "path", "directory": "path"}
    dropped = frozenset(("respect_gemini_ignore",))
    unpacked = frozenset(("file_filtering_options",))

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def get_description(self, args: GlobArgs) -> str:
        """The pattern, and where."""
        if not args.path:
            return f"'{args.pattern}'"
        return told("'{pattern}' within {folder}", pattern=args.pattern, folder=self._roots.relative(args.path))

    async def execute(self, args: GlobArgs, context: CallContext) -> ToolResult:
        """Find them in a thread that ends when the call is cancelled."""
        return await anyio.to_thread.run_sync(self._run, args)

    def _run(self, args: GlobArgs) -> ToolResult:
        from dogu.workspace.glob import split_base

        if not args.pattern.strip("/"):
            raise ToolError(ErrorKind.BAD_PATTERN, 'Empty glob pattern: give one such as "**/*.py".')
        asked = self._roots.locate(args.path or ".")
        base, pattern = split_base(args.pattern)
        folder = self._roots.locate(base, asked) if base else asked
        found = self._find(args, folder, pattern)
        if found.paths:
            return _listed(args, asked, folder, found)
        return ToolResult("\n".join(self._nothing(args, asked, folder, pattern, found)), told("No files found"))

    def _find(self, args: GlobArgs, folder: str, pattern: str) -> FoundFiles:
        from dogu.workspace.glob import GlobPattern, GlobQuery, PathFilter
        from dogu.workspace.ignore.lookup import governing_rules

        ignore, rules = governing_rules(self._roots, folder, respects_git=args.respect_git_ignore)
        ignored = PathFilter(args.ignore, args.case_sensitive) if args.ignore else None
        query = GlobQuery(GlobPattern(pattern, args.case_sensitive), ignored, ignore, rules)
        descriptor = self._roots.open_directory(folder)
        try:
            return query.find(descriptor, _until(time.monotonic() + TIME_LIMIT_S))
        finally:
            os.close(descriptor)

    def _nothing(self, args: GlobArgs, asked: str, folder: str, pattern: str, found: FoundFiles) -> list[str]:
        said = [f'No files found matching "{args.pattern}" within {shown_name(args.path or asked)}.', *_left_out(found)]
        if not pattern.startswith("**/"):
            deeper = len(self._find(args, folder, f"**/{pattern}").paths)
            if deeper:
                said.append(
                    told('({count} in subdirectories: use "**/{pattern}" to find them)', count=deeper, pattern=pattern)
                )
        return said


def _until(deadline: float) -> Callable[[], bool]:
    def go_on() -> bool:
        anyio.from_thread.check_cancelled()
        return time.monotonic() < deadline

    return go_on


def _listed(args: GlobArgs, asked: str, folder: str, found: FoundFiles) -> ToolResult:
    count = len(found.paths)
    prefix = folder.rstrip("/") + "/"
    paths = [shown_name(prefix + path) for path in found.paths[:MOST_PATHS]]
    header = (
        f'Found {count} file(s) matching "{args.pattern}" within {shown_name(args.path or asked)}, '
        "sorted by modification time (newest first):"
    )
    notes = _left_out(found)
    if count > MOST_PATHS:
        notes.insert(
            0,
            told(
                "(showing the newest {shown} of {count}; narrow the pattern or the path for the rest)",
                shown=MOST_PATHS,
                count=count,
            ),
        )
    shown = joined(" ", [told("Found {count} matching file(s)", count=count), *notes])
    return ToolResult("\n".join([header, *paths, *notes]), shown)


def _left_out(found: FoundFiles) -> list[str]:
    counts = found.counts
    notes: list[str] = []
    files, folders = counts.git_ignored_files, counts.git_ignored_folders
    if files and folders:
        notes.append(
            told("({files} git-ignored; {folders} git-ignored directories not searched)", files=files, folders=folders)
        )
    elif files:
        notes.append(told("({count} git-ignored)", count=files))
    elif folders:
        notes.append(told("({count} git-ignored directories not searched)", count=folders))
    notes += [told("({count} gemini-ignored)", count=counts.gemini_ignored)] if counts.gemini_ignored else []
    notes += [told("({count} directories could not be read)", count=counts.unreadable)] if counts.unreadable else []
    if not found.is_complete:
        notes.append(
            told("(stopped after {limit_s:g} s: there may be more; search a smaller directory)", limit_s=TIME_LIMIT_S)
        )
    return notes
