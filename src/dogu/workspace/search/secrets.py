"""Files that hold secrets aren't searched: what matches in them, and how often, would tell what is in them.

They are known by their paths alone. What is told of them doesn't depend on what was searched for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from dogu.language import told
from dogu.workspace.names import shown_name
from dogu.workspace.protected import secret_reason
from dogu.workspace.roots import Roots

_MOST_NAMED = 5
_MOST_PASSED_BY = 500
_GLOB_SIGN = re.compile(r"([*?\[\]{}\\!])")


class SecretFiles:
    """Knows the secret files at or below a path, by the name it was asked by and by its real one."""

    def __init__(self, roots: Roots, path: str) -> None:
        """`path` is absolute. Raises `ToolError`."""
        # Where a root lies says nothing; what it is called does.
        self._places = {
            os.path.join(os.path.basename(roots.root_of(name)), roots.relative(name))
            for name in (path, roots.real(path))
        }

    def hold(self, below: str = "") -> bool:
        """Whether the file at `below`, relative to the path, is one; without it, whether all that is there is."""
        return any(secret_reason(f"{place}/{below}") is not None for place in self._places)


def not_searched(paths: Iterable[str], *, is_all: bool = True) -> list[str]:
    """Return what to tell of files that were passed by, by path; nothing when there is none."""
    found = sorted(paths)
    if not found:
        return []
    named = [shown_name(path) for path in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        named.append(told("{count} more", count=len(found) - _MOST_NAMED))
    count, files = len(found), ", ".join(named)
    if is_all:
        return [
            told("{count} files not searched, for people only: {files}; ask with read_file", count=count, files=files)
        ]
    return [
        told(
            "at least {count} files not searched, for people only: {files}; ask with read_file",
            count=count,
            files=files,
        )
    ]


def globs_without(paths: Iterable[str]) -> list[str]:
    """Return ripgrep's flags that pass these files by; what is past the limit must be left out of its answer."""
    passed_by = [path for path in sorted(paths)[:_MOST_PASSED_BY] if path.isprintable()]
    return ["--glob=!/" + _GLOB_SIGN.sub(r"\\\1", path) for path in passed_by]
