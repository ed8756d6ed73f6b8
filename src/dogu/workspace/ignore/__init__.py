"""Which entries of a tree git would ignore, and which `.geminiignore` hides.

Equal to `git check-ignore --no-index`: rules alone decide, so a tracked file that matches one counts as ignored (as in
ripgrep and fd; reading the index would cost more than the walk). Where there is no repository, `.gitignore` files hold
from the root down. The root itself is never ignored, wherever its repository would put it. A `.gitignore` that is a
symbolic link counts for nothing. Above: `walk`, `search` and the tools. Source: gitignore(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from dogu.workspace import fs
from dogu.workspace.ignore.config import excludes_file, find_repository, git_folder_of, read_bounded
from dogu.workspace.ignore.rules import RuleSet, Screen, compiled
from dogu.workspace.system import path_of

DEFAULT_EXCLUDED = frozenset((".git", "node_modules", "bower_components", ".svn", ".hg"))
"""Folders that glob and search leave out unless a path names them."""

Reason = Literal["", "git", "gemini"]
"""Why an entry is left out: git's rules, `.geminiignore`, or not at all."""

_GEMINI_IGNORE = ".geminiignore"
_ENTER = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NONBLOCK


class _Level(NamedTuple):
    rules: RuleSet
    base: int  # how many characters of a path, as seen from the top of the repository, come before the file's folder


class FolderRules:
    """The rules as they hold for the entries of one folder; immutable.

    `reason` says whether the folder itself is left out, and then so is everything in it.
    """

    __slots__ = ("_from_root", "_gemini", "_honours_git", "_levels", "_path", "_screen", "reason")

    def __init__(self, levels: tuple[_Level, ...], gemini: RuleSet | None, path: str, from_root: str) -> None:
        self._levels = levels  # the deepest folder's first
        self._gemini = gemini
        self._path = path  # as seen from the top of the repository; like the next, with a final slash unless empty
        self._from_root = from_root
        self._screen: Screen | None = None
        self._honours_git = True
        self.reason: Reason = ""

    def entered(self, name: str, reason: Reason = "") -> FolderRules:
        """Return the rules for the folder `name` in this one, before its own `.gitignore` is read."""
        rules = FolderRules(self._levels, self._gemini, f"{self._path}{name}/", f"{self._from_root}{name}/")
        rules._screen = self._screen
        rules._honours_git = self._honours_git
        rules.reason = self.reason or reason
        return rules

    def with_own_file(self, data: bytes) -> FolderRules:
        """Return the rules with the folder's own `.gitignore`, given its bytes."""
        own = compiled(data)
        if not own or not self._honours_git:
            return self
        levels = (_Level(own, len(self._path)), *self._levels)
        rules = FolderRules(levels, self._gemini, self._path, self._from_root)
        rules.reason = self.reason
        return rules

    def as_repository(self, exclude: bytes, excludes: bytes) -> FolderRules:
        """Return the rules for a folder that is a repository of its own: git's from above hold no longer.

        `exclude` is its `info/exclude`, `excludes` the user's `core.excludesFile`.
        """
        if not self._honours_git:
            return self
        rules = FolderRules(_outer_levels(exclude, excludes), self._gemini, "", self._from_root)
        rules.reason = self.reason
        return rules

    def without_git(self) -> FolderRules:
        """Return the rules of `.geminiignore` alone, here and in every folder below."""
        rules = FolderRules((), self._gemini, self._path, self._from_root)
        rules._honours_git = False
        rules.reason = "gemini" if self.reason == "gemini" else ""
        return rules

    def why_ignored(self, name: str, is_folder: bool) -> Reason:
        """Whether the entry `name` of this folder is left out; a symbolic link counts as a file."""
        if self.reason:
            return self.reason
        path = self._path + name
        for rules, base in self._levels:
            decision = rules.decide(name, path[base:], is_folder)
            if decision is not None:
                if decision:
                    return "git"
                break
        if self._gemini is not None and self._gemini.decide(name, self._from_root + name, is_folder):
            return "gemini"
        return ""

    def ignored(self, names: list[str], are_folders: bool) -> dict[str, Reason]:
        """Return those of `names`, entries of this folder, that are left out, and why."""
        if self.reason:
            return dict.fromkeys(names, self.reason)
        if not self._levels and self._gemini is None:
            return {}
        found: dict[str, Reason] = {}
        for name in self._suspects(names):
            reason = self.why_ignored(name, are_folders)
            if reason:
                found[name] = reason
        return found

    def _suspects(self, names: list[str]) -> Iterable[str]:
        literal: set[str] = set()
        placed = [(rules, self._path[base:]) for rules, base in self._levels]
        if self._gemini is not None:
            placed.append((self._gemini, self._from_root))
        for rules, folder in placed:
            if rules.concerns_all_in(folder):
                return names
            literal |= rules.names_in.get(folder, set[str]())
        if self._screen is None:
            self._screen = Screen(rules for rules, _ in placed)
        found = self._screen.suspects(names)
        return [*found, *literal.intersection(names)] if literal else found


class Ignore:
    """The ignore rules of the tree at `root`, an absolute path without symbolic links.

    Files above and outside of the root (`info/exclude`, `core.excludesFile`, `.gitignore` up to the repository's top)
    are read once, at construction; those below it whenever a folder is entered. `more` are files like the root's
    `.geminiignore` that stand above it, the first of them on top.
    """

    def __init__(self, root: str, environ: Mapping[str, str] = os.environ, more: Sequence[str] = ()) -> None:
        repository = find_repository(root)
        git_folder = repository.git_folder if repository else ""
        self.root = root
        self.top = repository.top if repository else root
        self.in_repository = repository is not None
        excludes = excludes_file(environ, git_folder)
        self._excludes = read_bounded(excludes) if excludes else b""
        exclude = read_bounded(os.path.join(git_folder, "info", "exclude")) if git_folder else b""
        levels = _outer_levels(exclude, self._excludes)
        path = "" if root == self.top else os.path.relpath(root, self.top) + "/"
        for base in [0, *(at + 1 for at, character in enumerate(path[:-1]) if character == "/")] if path else []:
            own = compiled(read_bounded(os.path.join(self.top, path[:base], ".gitignore"), None, fs.O_NOFOLLOW))
            levels = (_Level(own, base), *levels) if own else levels
        own = read_bounded(os.path.join(root, _GEMINI_IGNORE))
        self.has_gemini_rules = bool(compiled(own))
        gemini = compiled(b"\n".join([own, *(read_bounded(file) for file in reversed(more))]))
        self._above = FolderRules(levels, gemini or None, path, "")

    def root_rules(self, descriptor: int) -> FolderRules:
        """Return the rules for the entries of the root, given its descriptor."""
        return self._above.with_own_file(_own_file(descriptor))

    def rules_below(
        self, rules: FolderRules, descriptor: int, is_repository: bool, has_own_file: bool, path: str = ""
    ) -> FolderRules:
        """Return `rules`, of a folder just entered, with what the folder itself adds.

        The folder is `path` (with a final slash, or empty) as seen from the descriptor. The caller says what it saw in
        the folder: a `.git` entry, a `.gitignore`.
        """
        if is_repository:
            git_folder = git_folder_of(os.path.join(path_of(descriptor), path))
            if git_folder:
                exclude = read_bounded(os.path.join(git_folder, "info", "exclude"))
                rules = rules.as_repository(exclude, self._excludes)
        return rules.with_own_file(_own_file(descriptor, path)) if has_own_file else rules

    def rules_for(self, descriptor: int, path: str) -> FolderRules:
        """Return the rules for the entries of `path`, a folder relative to the root (`.` for the root itself).

        Goes down from the root's descriptor, which stays open; where a part is missing or a symbolic link, only the
        files above it count.
        """
        rules = self.root_rules(descriptor)
        opened: list[int] = []
        try:
            for name in [part for part in path.split("/") if part not in ("", ".")]:
                rules = rules.entered(name, rules.why_ignored(name, is_folder=True))
                descriptor = _entered(descriptor, name)
                if descriptor >= 0:
                    opened.append(descriptor)
                    rules = self.rules_below(rules, descriptor, _holds(descriptor, ".git"), has_own_file=True)
        finally:
            for done in opened:
                os.close(done)
        return rules

    def why_ignored(self, descriptor: int, path: str, is_folder: bool = False) -> Reason:
        """Whether `path`, relative to the root whose descriptor is given, or a folder it is in is left out."""
        folder, _, name = path.strip("/").rpartition("/")
        if name in ("", "."):
            return ""
        return self.rules_for(descriptor, folder).why_ignored(name, is_folder)


class PathRules:
    """The rules of every folder below a start, whose descriptor and rules are given, looked up by path and kept."""

    def __init__(self, ignore: Ignore, rules: FolderRules, descriptor: int) -> None:
        self._ignore = ignore
        self._descriptor = descriptor
        self._rules = {"": rules}

    def ignored(self, paths: Iterable[str]) -> dict[str, Reason]:
        """Return those of `paths`, files relative to the start, that are left out, and why."""
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            folder, slash, name = path.rpartition("/")
            by_folder.setdefault(folder + slash, []).append(name)
        return {
            folder + name: reason
            for folder, names in by_folder.items()
            for name, reason in self._rules_in(folder).ignored(names, are_folders=False).items()
        }

    def _rules_in(self, folder: str) -> FolderRules:
        missing: list[str] = []
        while folder not in self._rules:
            missing.append(folder)
            folder = folder[: folder.rfind("/", 0, -1) + 1]
        rules = self._rules[folder]
        for inner in reversed(missing):
            name = inner[len(folder) : -1]
            rules = rules.entered(name, rules.ignored([name], are_folders=True).get(name, ""))
            is_repository = _holds(self._descriptor, f"{inner}.git")
            rules = self._ignore.rules_below(rules, self._descriptor, is_repository, has_own_file=True, path=inner)
            self._rules[inner] = rules
            folder = inner
        return rules


def _outer_levels(exclude: bytes, excludes: bytes) -> tuple[_Level, ...]:
    return tuple(_Level(rules, 0) for data in (exclude, excludes) if (rules := compiled(data)))


def _own_file(descriptor: int, path: str = "") -> bytes:
    return read_bounded(f"{path}.gitignore", descriptor, fs.O_NOFOLLOW)


def _entered(descriptor: int, name: str) -> int:
    if descriptor < 0:
        return -1
    try:
        return fs.open(name, _ENTER, dir_fd=descriptor)
    except OSError:
        return -1


def _holds(descriptor: int, name: str) -> bool:
    try:
        fs.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError:
        return False
    return True
