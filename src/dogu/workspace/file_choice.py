"""Which files a list of names means: files, folders and globs, in order, each once, with what was left out and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence
from dogu.workspace.glob import FoundFiles, GlobPattern, GlobQuery, PathFilter, split_base
from dogu.workspace.ignore import DEFAULT_EXCLUDED
from dogu.workspace.ignore.lookup import governing_rules
from dogu.workspace.roots import Roots

DEFAULT_EXCLUDES = (
    ".vscode", ".idea", "dist", "build", "coverage", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".next", ".DS_Store", ".env",
)  # fmt: skip
"""Left out with the version control's and package managers' folders, unless named."""


class FileCriteria(msgspec.Struct, frozen=True):
    """`names` are files, folders or globs, absolute or relative to the primary root; `exclude` are globs."""

    names: Sequence[str]
    exclude: Sequence[str] = ()
    recursive: bool = True
    use_default_excludes: bool = True
    respect_git_ignore: bool = True


class ChosenFile(msgspec.Struct, frozen=True):
    """A file by its absolute path; `is_named` when asked for by its own name, else the `glob` (empty: a folder)."""

    path: str
    is_named: bool
    glob: str = ""


class FileChoice(msgspec.Struct):
    """What was chosen; `skipped` says for a name or path why nothing came of it, `ignored` how many files rules hid."""

    files: list[ChosenFile] = msgspec.field(default_factory=list[ChosenFile])
    skipped: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    git_ignored: int = 0
    gemini_ignored: int = 0
    is_complete: bool = True


def choose_files(
    roots: Roots, criteria: FileCriteria, why_ignored: Callable[[str], str], go_on: Callable[[], bool]
) -> FileChoice:
    """Find the files. A file named as such is taken even when git ignores it, but not when `.geminiignore` hides it.

    Those of a folder or glob come sorted by path. `go_on` is asked while folders are walked.
    """
    choosing = _Choosing(roots, criteria, go_on)
    for name in criteria.names:
        try:
            choosing.add(name, why_ignored)
        except ToolError as error:
            choosing.choice.skipped.append((name, reason_of(error)))
    return choosing.choice


def reason_of(error: ToolError) -> str:
    """Return a failure in a few words."""
    words = {
        ErrorKind.WRONG_FILE_TYPE: "binary, or not a regular file",
        ErrorKind.NOT_FOUND: sentence("not found"),
        ErrorKind.PERMISSION_DENIED: "permission denied",
        ErrorKind.OUTSIDE_WORKSPACE: "outside the workspace",
        ErrorKind.TOO_LARGE: "larger than 20 MB",
    }
    return words.get(error.kind) or error.message.partition("\n")[0]


class _Choosing:
    def __init__(self, roots: Roots, criteria: FileCriteria, go_on: Callable[[], bool]) -> None:
        self.choice = FileChoice()
        self._roots = roots
        self._criteria = criteria
        self._go_on = go_on
        self._taken: set[str] = set()

    def add(self, name: str, why_ignored: Callable[[str], str]) -> None:
        """Add what one name means: the file or folder of that very name first, a glob otherwise."""
        kind = self._kind(name)
        if kind == "file":
            path = self._roots.locate(name)
            if "gemini" in map(why_ignored, {path, self._roots.real(path)}):
                self.choice.skipped.append((name, "ignored by .geminiignore"))
            else:
                self._take(ChosenFile(path, is_named=True))
        elif kind == "folder":
            pattern = "**/*" if self._criteria.recursive else "*"
            self._add_found(name, self._roots.locate(name), pattern, "")
        else:
            base, pattern = split_base(name.rstrip("/"))
            self._add_found(name, self._roots.locate(base or "."), pattern, pattern)

    def _kind(self, name: str) -> str:
        try:
            handle = self._roots.open_handle(name)
        except ToolError as error:
            if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGUMENTS, ErrorKind.WRONG_FILE_TYPE):
                return "glob"
            raise
        try:
            return "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        finally:
            os.close(handle)

    def _add_found(self, name: str, folder: str, pattern: str, glob: str) -> None:
        found = self._find(folder, pattern)
        choice = self.choice
        choice.git_ignored += found.counts.git_ignored_files
        choice.gemini_ignored += found.counts.gemini_ignored
        choice.is_complete = choice.is_complete and found.is_complete
        if not found.paths:
            choice.skipped.append((name, "no file matches"))
        for path in sorted(found.paths):
            self._take(ChosenFile(f"{folder.rstrip('/')}/{path}", False, glob))

    def _find(self, folder: str, pattern: str) -> FoundFiles:
        criteria, roots = self._criteria, self._roots
        ignore, rules = governing_rules(roots, folder, respects_git=criteria.respect_git_ignore)
        named = pattern.split("/")
        defaults = [glob for glob in DEFAULT_EXCLUDES if glob not in named] if criteria.use_default_excludes else []
        query = GlobQuery(
            GlobPattern(pattern),
            PathFilter([*criteria.exclude, *defaults]),
            ignore,
            rules,
            DEFAULT_EXCLUDED if criteria.use_default_excludes else (),
        )
        descriptor = roots.open_directory(folder)
        try:
            return query.find(descriptor, self._go_on)
        finally:
            os.close(descriptor)

    def _take(self, file: ChosenFile) -> None:
        if file.path not in self._taken:
            self._taken.add(file.path)
            self.choice.files.append(file)
