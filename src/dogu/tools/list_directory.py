"""list_directory: the entries of a folder, folders first (seeds: file tools §1)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated
from unicodedata import combining, normalize

import anyio.to_thread
import msgspec

from dogu.contract import CallContext, Kind, Tool, ToolResult, joined, sentence, told
from dogu.workspace.names import Entries, entries_of, flaw_of, shown_name
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.ignore.lookup import FolderRules

MOST_ENTRIES = 2_000
_MOST_CHARS = 36_000  # of their lines, however long the names are
_IGNORED = {"git": sentence("({count} git-ignored)"), "gemini": sentence("({count} gemini-ignored)")}


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


class ListDirectory(Tool[ListDirectoryArgs]):
    """List the names of the files and subdirectories directly in a directory.

    Directories come first, marked [DIR], then files, each by name, whatever the case. Broken symlinks and unreadable
    entries are marked. At most 2000 entries are shown; how many were left out, and why, is said at the end.
    """

    name = "list_directory"
    display_name = "ReadFolder"
    kind = Kind.READ
    aliases = {"dir_path": "path", "directory": "path"}
    dropped = frozenset(("respect_gemini_ignore",))
    unpacked = frozenset(("file_filtering_options",))

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def get_description(self, args: ListDirectoryArgs) -> str:
        """The directory, relative to its root."""
        return self._roots.relative(args.path)

    async def execute(self, args: ListDirectoryArgs, context: CallContext) -> ToolResult:
        """List it in a thread."""
        return await anyio.to_thread.run_sync(self._list, args)

    def _list(self, args: ListDirectoryArgs) -> ToolResult:
        path = self._roots.locate(args.path)
        descriptor = self._roots.open_directory(path)
        try:
            entries = entries_of(descriptor)
            there = len(entries.folders) + len(entries.others)
            if not there:
                return ToolResult(f"Directory {shown_name(path)} is empty.", told("Directory is empty."))
            wanted = _wanted(entries, args.ignore or [])
            kept, notes = _without_ignored(wanted, self._rules(path, args.respect_git_ignore))
            if not wanted.folders and not wanted.others:
                notes.append(told("({count} left out by `ignore`)", count=there))
            lines = _lines(kept, descriptor)
        finally:
            os.close(descriptor)
        count = len(kept.folders) + len(kept.others)
        if count > len(lines):
            notes.insert(
                0,
                told(
                    "(showing {shown} of {count} entries; use glob or `ignore` to see others)",
                    shown=len(lines),
                    count=count,
                ),
            )
        listing = "\n".join([f"Directory listing for {shown_name(path)}:", *lines])
        shown = joined(" ", [told("Listed {count} item(s).", count=count), *notes])
        return ToolResult("\n\n".join([listing, "\n".join(notes)]) if notes else listing, shown)

    def _rules(self, path: str, respect_git_ignore: bool) -> FolderRules:
        from dogu.workspace.ignore.lookup import governing_rules

        return governing_rules(self._roots, path, respects_git=respect_git_ignore)[1]


def _wanted(entries: Entries, ignore: list[str]) -> Entries:
    if not ignore:
        return entries
    from dogu.workspace.glob import GlobPattern

    globs = [GlobPattern(glob.rstrip("/"), case_sensitive=True) for glob in ignore]
    folders, others = (
        [name for name in names if not any(glob.matches(name) for glob in globs)]
        for names in (entries.folders, entries.others)
    )
    return Entries(folders, others, entries.linked)


def _without_ignored(entries: Entries, rules: FolderRules) -> tuple[Entries, list[str]]:
    # To git a symbolic link is a file, wherever it leads.
    real = [name for name in entries.folders if name not in entries.linked]
    linked = [name for name in entries.folders if name in entries.linked]
    ignored = {**rules.ignored(real, are_folders=True), **rules.ignored(linked + entries.others, are_folders=False)}
    if not ignored:
        return entries, []
    notes: list[str] = []
    for reason in ("git", "gemini"):
        count = sum(found == reason for found in ignored.values())
        notes += [told(_IGNORED[reason], count=count)] if count else []
    folders, others = ([name for name in names if name not in ignored] for names in (entries.folders, entries.others))
    return Entries(folders, others, entries.linked), notes


def _lines(entries: Entries, descriptor: int) -> list[str]:
    marked = [("[DIR] ", name) for name in sorted(entries.folders, key=alphabetically)]
    marked += [("", name) for name in sorted(entries.others, key=alphabetically)]
    lines: list[str] = []
    left_chars = _MOST_CHARS
    for mark, name in marked[:MOST_ENTRIES]:
        line = f"{mark}{shown_name(name)}{flaw_of(name, name in entries.linked, descriptor)}"
        left_chars -= len(line) + 1
        if left_chars < 0:
            break
        lines.append(line)
    return lines


def alphabetically(name: str) -> tuple[str, str]:
    """A key that sorts as people do, the same everywhere: case and accents part what is alike otherwise only."""
    if name.isascii():
        return name.casefold(), name
    bare = "".join(letter for letter in normalize("NFKD", name.casefold()) if not combining(letter))
    return bare, name
