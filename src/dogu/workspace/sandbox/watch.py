"""What runs later, compared before and after a command: hooks, version control's and editors' settings, start-up files.

A sandbox can't keep a command from making a new `.git/hooks/pre-commit` in a folder it may write; this tells it.
Looks as far as `MOST_FOLDERS` and `DEEPEST` levels below each root, skipping folders of packages.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

from dogu.workspace.protected import protected_reason
from dogu.workspace.sandbox.work import repositories

MOST_FOLDERS = 400
DEEPEST = 3
_SETTLED_NS = 100_000_000  # two changes within a clock's tick leave one time stamp
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "target", "vendor", ".venv", "venv"})
_IN_GIT = ("hooks", "config", "config.worktree", "info/attributes")

Signature = tuple[int, int, int, int]


class Watch:
    """Looks at the roots; folders that have not changed since the last look aren't listed again."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._listings: dict[str, tuple[int, list[str], list[str]]] = {}

    def snapshot(self) -> dict[str, Signature]:
        """Return what identifies the state of each protected file, by absolute path; a few milliseconds."""
        found: dict[str, Signature] = {}
        linked = [os.path.join(repository, name) for repository in repositories(self._roots) for name in _IN_GIT]
        for places in (linked, *map(self._protected, self._roots)):
            for place in places:
                for path in _files(place):
                    try:
                        found[path] = _signature(os.lstat(path))
                    except OSError:
                        continue
        return found

    def _protected(self, root: str) -> Iterator[str]:
        waiting = deque([(root, 0)])
        seen = 0
        while waiting and seen < MOST_FOLDERS:
            folder, depth = waiting.popleft()
            seen += 1
            protected, folders = self._look(folder)
            yield from protected
            if depth < DEEPEST:
                waiting += ((path, depth + 1) for path in folders)

    def _look(self, folder: str) -> tuple[list[str], list[str]]:
        """Return what is protected right in a folder, and the folders to look at next."""
        try:
            changed_ns = os.stat(folder, follow_symlinks=False).st_mtime_ns
        except OSError:
            return [], []
        known = self._listings.get(folder)
        if known and known[0] == changed_ns:
            return known[1], known[2]
        protected, folders = _sorted_out(folder)
        if time.time_ns() - changed_ns > _SETTLED_NS:
            self._listings[folder] = (changed_ns, protected, folders)
        return protected, folders


def _signature(status: os.stat_result) -> Signature:
    """A folder is the same whatever it holds: what is in it is looked at by itself."""
    if stat.S_ISDIR(status.st_mode):
        return status.st_ino, 0, 0, status.st_mode
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


def changes(before: dict[str, Signature], after: dict[str, Signature]) -> list[str]:
    """Return the paths that are new or different, sorted; what was removed runs no more. Git's samples don't count."""
    return sorted(
        path for path, signature in after.items() if before.get(path) != signature and not path.endswith(".sample")
    )


def fixed_places(roots: Sequence[str]) -> list[str]:
    """Return the places right in the roots that no command needs to write, those that exist: for read-only mounts."""
    named = (".git/hooks", ".git/config", ".gemini", ".dogu", ".vscode", ".bashrc", ".profile", ".zshrc", ".zshenv")
    paths = [os.path.join(root, name) for root in roots for name in named]
    paths += [os.path.join(repository, name) for repository in repositories(roots) for name in ("hooks", "config")]
    return [path for path in paths if os.path.exists(path) and not os.path.islink(path)]


def _sorted_out(folder: str) -> tuple[list[str], list[str]]:
    protected: list[str] = []
    folders: list[str] = []
    for name, is_folder in _entries(folder):
        path = os.path.join(folder, name)
        if name.lower() == ".git":
            # A file in its place names another folder, whose settings then count.
            protected += [os.path.join(path, inside) for inside in _IN_GIT] if is_folder else [path]
        elif _may_be_protected(name) and _is_protected(os.path.basename(folder), name):
            protected.append(path)
        elif is_folder and name not in _SKIPPED:
            folders.append(path)
    return protected, folders


def _may_be_protected(name: str) -> bool:
    """Pass over ordinary names at once; spellings that only other systems take for these are left to the file tools."""
    return name[0] in ".*" or name.endswith((".yml", ".code-workspace")) or name in ("hooks", "config", "workflows")


@lru_cache(4096)
def _is_protected(folder: str, name: str) -> bool:
    return protected_reason(f"{folder}/{name}") is not None


def _entries(folder: str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _files(place: str) -> Iterator[str]:
    """Yield a file, or a folder's files two levels down, links themselves included."""
    yield place
    for name, is_folder in _entries(place):
        path = os.path.join(place, name)
        yield path
        if is_folder:
            yield from (os.path.join(path, inside) for inside, _ in _entries(path))
