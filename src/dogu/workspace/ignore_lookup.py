"""Which rules hide one path: for tools that are given a path and don't walk."""

from __future__ import annotations

import os

from dogu.workspace.ignore import Ignore, Reason
from dogu.workspace.roots import Roots


def why_ignored(roots: Roots, path: str) -> Reason:
    """Return the reason why a path inside the roots is left out of listings, empty if it isn't.

    A path through symbolic links is judged by its own name and by where it leads. Raises `ToolError` as `roots.locate`.
    """
    located = roots.locate(path)
    return _why(roots, located) or _why(roots, roots.real(located))


def _why(roots: Roots, path: str) -> Reason:
    root = roots.root_of(path)
    descriptor = roots.open_directory(root)
    try:
        return Ignore(root).why_ignored(descriptor, roots.relative(path))
    finally:
        os.close(descriptor)
