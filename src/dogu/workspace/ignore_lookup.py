"""Which rules hide one path: for tools that are given a path and don't walk."""

from __future__ import annotations

import os

from dogu.workspace.ignore import Ignore
from dogu.workspace.roots import Roots


def why_ignored(roots: Roots, path: str) -> str:
    """Return the reason (`git`, `gemini`) why a path inside the roots is left out of listings, '' if it isn't."""
    located = roots.locate(path)
    root = roots.root_of(located)
    descriptor = roots.open_directory(root)
    try:
        return Ignore(root).why_ignored(descriptor, roots.relative(located))
    finally:
        os.close(descriptor)
