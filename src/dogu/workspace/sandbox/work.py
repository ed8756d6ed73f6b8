"""What ordinary work reaches beside the roots' own files: a worktree's repository, a temporary folder and caches of its
own, other file systems mounted inside."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress

from dogu.workspace.sandbox.places import is_in
from dogu.workspace.small_file import open_regular_file

# Tools that fail without a cache they can write; what they share between projects stays unwritten, and unpoisoned.
_CACHES = {
    "GOCACHE": "go-build",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "CCACHE_DIR": "ccache",
    "SCCACHE_DIR": "sccache",
}
_LONGEST_LINE_BYTES = 4_096


def repositories(roots: Sequence[str]) -> list[str]:
    """Return the repositories that roots are worktrees of (`git worktree add`): git writes there.

    A `.git` file alone proves nothing, anyone could write one: the repository must name the worktree in return.
    Source: gitrepository-layout(5).
    """
    found: list[str] = []
    for root in roots:
        link = os.path.join(root, ".git")
        own = _line(link).removeprefix("gitdir: ")
        if not own.startswith("/") or not os.path.isfile(link):
            continue
        common = os.path.realpath(os.path.join(own, _line(os.path.join(own, "commondir"))))
        names_it = os.path.realpath(_line(os.path.join(own, "gitdir"))) == os.path.realpath(link)
        is_worktree = os.path.dirname(os.path.realpath(own)) == os.path.join(common, "worktrees")
        if names_it and is_worktree and os.path.isfile(os.path.join(common, "HEAD")):
            found.append(common)
    return found


def mounts_below(roots: Sequence[str], *, writable: bool = False) -> list[str]:
    """Return where other file systems are mounted inside of roots; none where the system doesn't tell.

    With `writable` those that a command could write to. Source: proc_pid_mountinfo(5).
    """
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            rows = [line.split(b" ", 6) for line in mounts]
    except OSError:
        return []
    found: dict[str, bool] = {}
    for row in rows:
        point = os.fsdecode(row[4].decode("unicode_escape").encode("latin-1"))
        found[point] = b"ro" not in row[5].split(b",")  # what was mounted last is what is seen
    inside = [path for path in found if any(path != root and is_in(path, [root]) for root in roots)]
    return [path for path in inside if found[path] or not writable]


def private_folder(roots: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a folder for temporary files that is these roots' and this user's alone, made if it isn't there.

    It outlives a command, whose successors find what it left, and caches in it outlive a session.
    """
    *others, last = _temporaries(environment)
    for place in others:
        with suppress(OSError):  # its mode says that it takes files, and it doesn't, as /proc
            return _private_in(place, roots)
    return _private_in(last, roots)


def _private_in(temporary: str, roots: Sequence[str]) -> str:
    name = hashlib.sha256("\0".join(roots).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    try:
        shared = _own_folder(os.path.join(temporary, f"dogu-{os.getuid()}"))
        return _own_folder(os.path.join(shared, name))
    except OSError:  # somebody else was there first: then it is a new one each time
        return os.path.realpath(tempfile.mkdtemp(prefix="dogu-", dir=temporary))


def _temporaries(environment: Mapping[str, str]) -> list[str]:
    """Return the folder that `TMPDIR` names, where it is meant: absolute, there and writable; and the system's."""
    named = environment.get("TMPDIR", "")
    is_meant = os.path.isabs(named) and os.path.isdir(named) and os.access(named, os.W_OK)
    return [os.path.realpath(place) for place in ((named, "/tmp") if is_meant else ("/tmp",))]


def caches(environment: Mapping[str, str], temporary: str) -> dict[str, str]:
    """Return variables that send temporary files and tools' caches to a folder, but what names its own cache."""
    found = {name: temporary for name in ("TMPDIR", "TMP", "TEMP") if name == "TMPDIR" or name in environment}
    folder = os.path.join(temporary, "dogu-caches")
    return found | {name: os.path.join(folder, place) for name, place in _CACHES.items() if name not in environment}


def _own_folder(path: str) -> str:
    """Make a folder for this user alone. Raises `OSError` where the name is somebody else's, or a link."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    status = os.lstat(path)
    if status.st_uid != os.getuid() or status.st_mode & 0o170077 != 0o040000:
        raise PermissionError(path)
    return path


def _line(path: str) -> str:
    try:
        with open_regular_file(path) as file:
            return os.fsdecode(file.read(_LONGEST_LINE_BYTES).split(b"\n")[0].strip())
    except OSError:
        return ""
