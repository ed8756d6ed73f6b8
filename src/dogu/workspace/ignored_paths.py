"""Whether a single path of the workspace is ignored: the question of a tool that was given a name."""

from __future__ import annotations

import os

from dogu.workspace.ignore import Ignore, Reason
from dogu.workspace.roots import Roots


class IgnoredPaths:
    """Answers for all roots; the ignore files are read anew for each question, so a change counts at once."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def why_ignored(self, path: str) -> Reason:
        """Say whether the file at `path`, or where a symbolic link there leads, is left out: `git`, `gemini` or not.

        Raises `ToolError` for a path outside of the roots.
        """
        located = self._roots.locate(path)
        reason = self._reason(located)
        if reason == "gemini":
            return reason
        real = self._roots.real(located)
        behind = self._reason(real) if real != located else reason
        return "gemini" if behind == "gemini" else reason or behind

    def _reason(self, located: str) -> Reason:
        root = self._roots.root_of(located)
        if root not in self._roots.all:
            return ""
        descriptor = self._roots.open_directory(root)
        try:
            return Ignore(root).why_ignored(descriptor, self._roots.relative(located))
        finally:
            os.close(descriptor)
