"""list_directory: the entries of a folder, folders first (seeds: file tools §1)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, NamedTuple

import anyio.to_thread
import msgspec

from dogu.contract import CallContext, Kind, Tool, ToolResult
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.ignore import FolderRules

MOST_ENTRIES = 2_000


class ListDirectoryArgs(msgspec.Struct, kw_only=True):
    """What list_directory takes."""

    path: Annotated[str, msgspec.Meta(description="Directory to list: absolute, or relative to the project root.")]
    ignore: Annotated[
        list[str] | None,
        msgspec.Meta(description='Glob patterns of names to leave out, such as ["*.log", ".git"].'),
    ] = None
    respect_git_ignore: Annotated[
        bool, msgspec.Meta(description="Whether to leave out what .gitignore ignores. Default: true.")
    ] = True


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    is_link: bool


class ListDirectory(Tool[ListDirectoryArgs]):
    """List the names of the files and subdirectories directly in a directory.

    Directories come first, marked [DIR], then files, each by name. Broken symlinks and unreadable entries are marked.
    At most 2000 entries are shown; how many were left out, and why, is said at the end.
    """

    name = "list_directory"
    display_name = "ReadFolder"
    kind = Kind.READ
    aliases = {"dir_path": "path", "directory": "path"}

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def get_description(self, args: ListDirectoryArgs) -> str:
        """The directory."""
        return args.path

    async def execute(self, args: ListDirectoryArgs, context: CallContext) -> ToolResult:
        """List it in a thread."""
        return await anyio.to_thread.run_sync(self._list, args)

    def _list(self, args: ListDirectoryArgs) -> ToolResult:
        from dogu.workspace.names import shown_name

        path = self._roots.locate(args.path)
        descriptor = self._roots.open_directory(path)
        try:
            entries = _entries(descriptor)
            if not entries:
                return ToolResult(f"Directory {shown_name(path)} is empty.", "Directory is empty.")
            wanted = _wanted(entries, args.ignore or [])
            kept, notes = _without_ignored(wanted, self._rules(path, args.respect_git_ignore))
            if not wanted:
                notes.append(f"({len(entries)} left out by `ignore`)")
            kept.sort(key=lambda entry: (not entry.is_folder, entry.name))
            lines = [_line(entry, descriptor) for entry in kept[:MOST_ENTRIES]]
        finally:
            os.close(descriptor)
        if len(kept) > MOST_ENTRIES:
            notes.insert(0, f"(showing {MOST_ENTRIES} of {len(kept)} entries; use glob or `ignore` to see others)")
        listing = "\n".join([f"Directory listing for {shown_name(path)}:", *lines])
        shown = " ".join([f"Listed {len(kept)} item(s).", *notes])
        return ToolResult("\n\n".join([listing, "\n".join(notes)]) if notes else listing, shown)

    def _rules(self, path: str, respect_git_ignore: bool) -> FolderRules:
        from dogu.workspace.ignore import Ignore

        real = self._roots.real(path)
        root = self._roots.root_of(real)
        descriptor = self._roots.open_directory(root)
        try:
            rules = Ignore(root).rules_for(descriptor, self._roots.relative(real))
        finally:
            os.close(descriptor)
        return rules if respect_git_ignore else rules.without_git()


def _entries(descriptor: int) -> list[_Entry]:
    with os.scandir(descriptor) as found:
        return [_Entry(entry.name, _is_folder(entry), entry.is_symlink()) for entry in found]


def _wanted(entries: list[_Entry], ignore: list[str]) -> list[_Entry]:
    from dogu.workspace.glob import GlobPattern

    globs = [GlobPattern(glob.rstrip("/"), case_sensitive=True) for glob in ignore]
    return [entry for entry in entries if not any(glob.matches(entry.name) for glob in globs)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _without_ignored(entries: list[_Entry], rules: FolderRules) -> tuple[list[_Entry], list[str]]:
    folders = [entry.name for entry in entries if entry.is_folder and not entry.is_link]
    others = [entry.name for entry in entries if not entry.is_folder or entry.is_link]
    ignored = {**rules.ignored(folders, are_folders=True), **rules.ignored(others, are_folders=False)}
    if not ignored:
        return entries, []
    notes: list[str] = []
    for reason in ("git", "gemini"):
        count = sum(found == reason for found in ignored.values())
        notes += [f"({count} {reason}-ignored)"] if count else []
    return [entry for entry in entries if entry.name not in ignored], notes


def _line(entry: _Entry, descriptor: int) -> str:
    from dogu.workspace.names import shown_name

    mark = "[DIR] " if entry.is_folder else ""
    return f"{mark}{shown_name(entry.name)}{_flaw(entry, descriptor)}"


def _flaw(entry: _Entry, descriptor: int) -> str:
    if os.access(entry.name, os.R_OK, dir_fd=descriptor):
        return ""
    if not entry.is_link:
        return " (unreadable)"
    try:
        os.stat(entry.name, dir_fd=descriptor)
    except PermissionError:
        return " (unreadable)"
    except OSError:
        return " (broken symlink)"
    return " (unreadable)"
