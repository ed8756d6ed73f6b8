"""What ordinary work needs outside the roots: a worktree's repository, and caches of a sandbox's own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

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


def caches(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that send tools' caches to a temporary folder of this user, where they name none themselves."""
    temporary = environment.get("TMPDIR") or "/tmp"
    folder = os.path.join(temporary, f"dogu-caches-{os.getuid()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return {}
    if status.st_uid != os.getuid() or status.st_mode & 0o170077 != 0o040000:
        return {}
    return {name: os.path.join(folder, place) for name, place in _CACHES.items() if name not in environment}


def _line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LONGEST_LINE_BYTES).split(b"\n")[0].strip())
    except OSError:
        return ""
