"""Where undo may act: the roots, and those files outside of them that the journal itself says were written."""

from __future__ import annotations

import os
from collections.abc import Iterable

from dogu.workspace.openat import Place
from dogu.workspace.os_errors import explain
from dogu.workspace.roots import Roots


class JournalReach:
    """The `roots`, and single files `outside` of them (absolute, without links), such as the user's memories."""

    def __init__(self, roots: Roots, outside: Iterable[str] = ()) -> None:
        self._roots = roots
        self._outside = frozenset(outside)
        self._found: dict[str, Roots] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The roots."""
        return tuple(self._roots.all)

    def is_outside(self, path: str) -> bool:
        """Whether a path is one of those outside of the roots."""
        return path in self._outside

    def place(self, path: str, create: bool = False) -> Place:
        """Find the place of `path` itself, a link at its end not followed; see `Roots.place`. Raises `ToolError`."""
        return self._roots_of(path).noted_place(path, create)

    def open_file(self, path: str) -> int:
        """Open a regular file for reading; see `Roots.open_file`. Raises `ToolError`."""
        return self._roots_of(path).open_file(path)

    def _roots_of(self, path: str) -> Roots:
        if path not in self._outside:
            return self._roots
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        try:
            if folder not in self._found:
                self._found[folder] = Roots(folder)
            return self._found[folder]
        except OSError as error:
            raise explain(error, path) from error
