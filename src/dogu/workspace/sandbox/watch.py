"""What runs later, compared before and after a command: hooks, version control's and editors' settings, start-up files.

A sandbox can't keep a command from making a new `.git/hooks/pre-commit` in a folder it may write: this tells it, and
puts back what no command has to do with. Looks as far as `MOST_FOLDERS` and `DEEPEST` levels below each root, skipping
folders of packages.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache

from dogu.workspace import fs
from dogu.workspace.protected import protected_reason
from dogu.workspace.sandbox import putting_back
from dogu.workspace.sandbox.git_named import included_by_git, is_named, named_by_git
from dogu.workspace.sandbox.git_settings import Effect, effect_of
from dogu.workspace.sandbox.work import repositories
from dogu.workspace.staged import StagedChange

MOST_FOLDERS = 400
DEEPEST = 3
_SETTLED_NS = 100_000_000  # two changes within a clock's tick leave one time stamp
_UNREAD = b"\xff"  # what can't be read may say anything
_MOST_BYTES = 1 << 20  # of git's settings that are looked into
_RIGHTS = stat.S_ISUID | stat.S_ISGID
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "target", "vendor", ".venv", "venv"})
_IN_GIT = ("hooks", "config", "config.worktree", "info/attributes", "commondir", "objects/info/alternates")
_TODO = "rebase-merge/git-rebase-todo"  # what `git rebase --continue` runs
# No command has to do with these: what becomes of them is undone. The rest (a build server's, say) also comes with a
# branch that is checked out, and is told.
_PUT_BACK = frozenset(
    {".gemini", ".dogu", ".vscode", ".idea", ".zed", ".fleet", ".run", ".vimrc", ".nvimrc", ".exrc", ".nvim.lua"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"}
    | {".mcp.json", ".agents", ".windsurf", ".kiro", ".roo", ".qwen", ".opencode", ".devcontainer", ".githooks"}
    | {
        ".zlogin",
        ".envrc",
        ".gdbinit",
        ".lldbinit",
        ".dir-locals.el",
        ".dir-locals-2.el",
        ".emacs",
        ".claude",
        ".codex",
        ".cursor",
    }
)

_ENDINGS = (".yml", ".yaml", ".toml", ".json", ".jsonc", ".md", ".code-workspace", "customize.py")
_FIXED = (
    ".gemini",
    ".dogu",
    ".agents/skills",
    ".vscode",
    ".idea",
    ".envrc",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".zshenv",
)

_OWN = ("sessions", "session-uses", "pending", "jobs", "seal.key")  # in dogu's folder, what only dogu writes

Signature = tuple[int, int, int, int]


class Watch:
    """Looks at the roots; folders that have not changed since the last look aren't listed again.

    `state_folder` is dogu's own, which may lie in a root (somebody works in their home): no sandbox lets a command
    write there, so that nothing in it is put back, and what dogu itself writes isn't looked at.
    """

    def __init__(self, roots: Sequence[str], state_folder: str = "") -> None:
        self._roots = roots
        self._state = os.path.join(state_folder, "") if state_folder else ""
        self._own = tuple(f"{self._state}{name}" for name in _OWN) if state_folder else ()
        self._listings: dict[str, tuple[int, list[str], list[str]]] = {}
        self._contents: dict[str, tuple[Signature, bytes]] = {}

    def snapshot(self) -> dict[str, Signature]:
        """Return what identifies the state of each protected file, by absolute path; a few milliseconds."""
        found: dict[str, Signature] = {}
        own = [path for path in (os.path.join(root, ".git") for root in self._roots) if os.path.isdir(path)]
        linked = [path for repository in (*own, *repositories(self._roots)) for path in _fixed_in_git(repository)]
        for places in (linked, *map(named_by_git, self._roots), *map(self._protected, self._roots)):
            for place in places:
                for path in _files(place):
                    if self._own and path.startswith(self._own):
                        continue
                    try:
                        found[path] = _signature(os.lstat(path))
                    except OSError:
                        continue
        return found

    def keep(self, snapshot: dict[str, Signature]) -> None:
        """Keep the content of what `put_back` may have to write, as it is at a snapshot; reads only what is new."""
        for path, signature in snapshot.items():
            known = self._contents.get(path)
            if stat.S_ISDIR(signature[3]) or (known and known[0] == signature) or not self._may_put_back(path):
                continue
            content = putting_back.read(path, self._places)
            if content is not None:
                self._contents[path] = (signature, content)

    def put_back(self, before: dict[str, Signature], after: dict[str, Signature]) -> list[str]:
        """Undo what a command did to places that no command has to do with; return their paths, sorted.

        New settings of a repository that start nothing (a clone's) stay, and so does the last copy of any.
        """
        undone: list[str] = []
        is_last = any(path.endswith("/config") for path in before.keys() - after.keys())
        for path in changes(before, after):
            is_copy = is_last and path not in before and not _is_in_git(path) and path.endswith("/config")
            if self._may_put_back(path) and not is_copy and not self.starts_nothing(path, after[path]):
                undone += [path] if self._undo(path, before.get(path), after[path]) else []
        for path in sorted(after.keys() - before.keys(), reverse=True):  # folders that have become empty
            if stat.S_ISDIR(after[path][3]) and self._may_put_back(path) and not _is_in_git(path):
                undone += [path] if putting_back.remove(path, self._places) else []
        return sorted(undone)

    def _may_put_back(self, path: str) -> bool:
        is_own = bool(self._state) and f"{path}/".startswith(self._state)
        return not is_own and (is_put_back(path) or any(path in included_by_git(root) for root in self._roots))

    def _undo(self, path: str, before: Signature | None, after: Signature) -> bool:
        if before is None:
            is_folder_in_git = stat.S_ISDIR(after[3]) and _is_in_git(path)
            return not is_folder_in_git and putting_back.remove(path, self._places)
        if stat.S_ISDIR(before[3]):  # what took the place of a folder
            return putting_back.remove(path, self._places)
        known = self._contents.get(path)
        if known is None or known[0] != before:
            return False
        return putting_back.write(path, self._places, known[1], before[3])

    @property
    def _places(self) -> list[str]:
        return [*self._roots, *repositories(self._roots)]

    def starts_nothing(self, path: str, signature: Signature) -> bool:
        """Whether this is what `git init`, `clone` and `remote add` leave: settings that start nothing."""
        name = os.path.basename(path)
        if not stat.S_ISREG(signature[3]):
            return False
        if name == ".git":  # a worktree's or a submodule's; what it names is looked at by itself
            content = putting_back.read(path, self._places) or b""
            named = os.path.normpath(os.path.join(os.path.dirname(path), os.fsdecode(content[8:].strip())))
            return path not in self._contents and "/.git/" in f"{named}/"
        inside = _inside_git(path)
        if not inside:
            return False
        content = putting_back.read(path, self._places)
        known = [old for place, (_, old) in self._contents.items() if os.path.basename(place) == name]
        return content is not None and effect_of(inside, lambda: content, known) is Effect.NONE

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
        path
        for path, signature in after.items()
        if before.get(path) != signature
        and not path.endswith(".sample")
        and not (path.endswith("/hooks") and stat.S_ISDIR(signature[3]))
    )


def fixed_places(roots: Sequence[str]) -> list[str]:
    """Return the places right in the roots that no command needs to write, those that exist: for read-only mounts."""
    paths = [os.path.join(root, name) for root in roots for name in _FIXED]
    for repository in _git_folders(roots):
        paths += _fixed_in_git(repository) if os.path.isdir(repository) else [repository]
    return [path for path in paths if os.path.exists(path) and not os.path.islink(path)]


def _git_folders(roots: Sequence[str]) -> list[str]:
    return [*(os.path.join(root, ".git") for root in roots), *repositories(roots)]


def _fixed_in_git(repository: str) -> Iterator[str]:
    """Yield a repository's places that name programs, and its submodules' and worktrees'."""
    yield from (os.path.join(repository, name) for name in (*_IN_GIT, "modules.config"))
    for name, is_folder in _entries(os.path.join(repository, "worktrees")):
        if is_folder:
            yield from (os.path.join(repository, "worktrees", name, file) for file in ("config.worktree", "commondir"))
    waiting = [os.path.join(repository, "modules")]
    while waiting:
        folder = waiting.pop()
        for name, is_folder in _entries(folder):
            path = os.path.join(folder, name)
            if is_folder and os.path.isfile(os.path.join(path, "HEAD")):
                yield from _fixed_in_git(path)
            elif is_folder:  # a submodule's name may hold slashes
                waiting.append(path)
                hooks = os.path.join(path, "hooks")  # of one that is yet to come, perhaps
                yield from () if os.path.isfile(os.path.join(hooks, "HEAD")) else (hooks,)


def _is_in_git(path: str) -> bool:
    return "/.git/" in path or path.endswith("/.git")


def _inside_git(path: str) -> str:
    """Return a path as a repository has it, "" for what lies in none: `config` beside a HEAD is a bare one's."""
    if "/.git/" in path:
        return path.partition("/.git/")[2]
    name = os.path.basename(path)
    return name if name == "config" and os.path.lexists(os.path.join(os.path.dirname(path), "HEAD")) else ""


def is_put_back(path: str) -> bool:
    """Whether a place is one that no command has to do with: what becomes of it is undone."""
    if path.endswith(_TODO):
        return False
    return _is_in_git(path) or os.path.basename(path) == "config" or not _PUT_BACK.isdisjoint(path.lower().split("/"))


def runs_later(changes: Sequence[StagedChange], roots: Sequence[str]) -> tuple[list[StagedChange], list[StagedChange]]:
    """Return, of the changes, those to places that no command has to do with, and the others that run later."""
    foreign: list[StagedChange] = []
    others: list[StagedChange] = []
    known = [_content(os.path.join(place, "config")) for place in _git_folders(roots)]
    named = [place for root in roots for place in named_by_git(root)]
    included = {place for root in roots for place in included_by_git(root)}
    gone = {change.moved_from or change.path for change in changes if change.moved_from or not change.source}
    is_last = any(path.endswith(("/.git", "/.git/config")) for path in gone)  # what has gone there may be here now
    for change in changes:
        root = next((root for root in roots if change.path.startswith(f"{root.rstrip('/')}/")), "/")
        does = {_what_it_does(each, path, known, is_last=is_last) for each, path in _files_of(change, root)}
        if _Does.FOREIGN in does or change.path in included:
            foreign.append(change)
        elif _Does.RUNS_LATER in does or is_named(change.path, named):
            others.append(change)
    taken = [change.path for change in foreign if change.moved_from]
    if not taken:
        return foreign, others
    foreign += [change for change in changes if any(change.path.startswith(f"{path}/") for path in taken)]
    return foreign, others


class _Does(Enum):
    NOTHING = 0
    RUNS_LATER = 1
    FOREIGN = 2


def _what_it_does(change: StagedChange, path: str, known: Sequence[bytes], *, is_last: bool) -> _Does:
    """Say what a changed file does later; `path` is as seen from its root."""
    name = os.path.basename(path)
    if name == ".git":  # a worktree's or a submodule's, new, which leads to a repository of the same workspace
        named = os.fsdecode(_content(change.source)[len(b"gitdir: ") :].strip())
        named = os.path.normpath(os.path.join(os.path.dirname(change.path), named))
        is_ordinary = "/.git/" in f"{named}/" and not os.path.lexists(change.path)
        return _Does.NOTHING if is_ordinary else _Does.FOREIGN
    inside = _inside_git(path) or os.path.basename(_inside_git(change.source))
    if inside:
        does = effect_of(inside, lambda: _content(change.source, _UNREAD), [_content(change.path), *known])
        is_copy = is_last and "/.git/" not in path
        return (
            _Does.NOTHING
            if does is Effect.NONE
            else _Does.RUNS_LATER
            if does is Effect.UNKNOWN or is_copy
            else _Does.FOREIGN
        )
    if not _SKIPPED.isdisjoint(path.split("/")):
        return _Does.NOTHING
    if protected_reason(path) is None:
        return _Does.RUNS_LATER if _gains_rights(change) else _Does.NOTHING
    return _Does.FOREIGN if is_put_back(path) else _Does.RUNS_LATER


def _gains_rights(change: StagedChange) -> bool:
    """Whether a file has come to run with its owner's or group's rights, whoever starts it."""
    try:
        gained = os.lstat(change.source).st_mode
        if not (stat.S_ISREG(gained) and gained & _RIGHTS):
            return False
        gained &= ~os.lstat(change.path).st_mode if os.path.lexists(change.path) else -1
    except OSError:
        return False
    return bool(gained & _RIGHTS)


def _files_of(change: StagedChange, root: str) -> Iterator[tuple[StagedChange, str]]:
    """Yield what a change puts there, with its path as seen from the root: all that lies in a folder that is moved."""
    place = change.path[len(root.rstrip("/")) :]
    if change.moved_from:
        for above, _folders, names in fs.walked(change.moved_from):
            for name in names:
                source = os.path.join(above, name)
                inside = os.path.relpath(source, change.moved_from)
                yield StagedChange(os.path.join(change.path, inside), source), os.path.join(place, inside)
    elif change.source and not change.is_folder:
        yield change, place


def _content(path: str, otherwise: bytes = b"") -> bytes:
    """Return a plain file's beginning; `otherwise` for a link and what else isn't one."""
    try:
        with open(fs.open(path, os.O_RDONLY | fs.O_NONBLOCK | fs.O_NOFOLLOW | fs.O_CLOEXEC), "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return otherwise


def _sorted_out(folder: str) -> tuple[list[str], list[str]]:
    protected: list[str] = []
    folders: list[str] = []
    entries = _entries(folder)
    makes_a_repository = {("HEAD", False), ("config", False)} <= set(entries)  # a bare one, of ordinary files
    for name, is_folder in entries:
        path = os.path.join(folder, name)
        if makes_a_repository and name == "config":
            protected.append(path)
        elif name.lower() == ".git":
            # A file in its place names another folder, whose settings then count.
            protected += [os.path.join(path, inside) for inside in (*_IN_GIT, _TODO)] if is_folder else [path]
        elif _may_be_protected(name) and _is_protected(os.path.basename(folder), name):
            protected.append(path)
        elif is_folder and name not in _SKIPPED:
            folders.append(path)
    return protected, folders


def _may_be_protected(name: str) -> bool:
    """Pass over ordinary names at once; spellings that only other systems take for these are left to the file tools."""
    return name[0] in ".*" or name.endswith(_ENDINGS) or name in ("hooks", "config", "workflows", "Jenkinsfile")


@lru_cache(4096)
def _is_protected(folder: str, name: str) -> bool:
    return protected_reason(f"{folder}/{name}") is not None


def _entries(folder: str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _files(place: str, levels: int = 3) -> Iterator[str]:
    """Yield a file, or a folder's files some levels down, links themselves included."""
    yield place
    for name, is_folder in _entries(place):
        path = os.path.join(place, name)
        if is_folder and levels > 1:
            yield from _files(path, levels - 1)
        else:
            yield path
