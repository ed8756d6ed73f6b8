"""Where undo may act, and what is there: the roots, and those files outside of them that the journal itself says were
written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.states import MISSING, Seen, State, see
from dogu.workspace.openat import Closed, Place, shuts_out
from dogu.workspace.os_errors import explain
from dogu.workspace.roots import Roots


class JournalReach:
    """The `roots`, and single files `outside` of them (absolute, without links), such as the user's memories.

    Folders that their owner closed to themselves are open to this one, until it is left.
    """

    def __init__(self, roots: Roots, outside: Iterable[str] = ()) -> None:
        self._roots = roots
        self._closed = Closed(roots.all)
        self._outside = frozenset(outside)
        self._found: dict[str, Roots] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The roots."""
        return tuple(self._roots.all)

    def is_outside(self, path: str) -> bool:
        """Whether a path is one of those outside of the roots."""
        return path in self._outside

    def is_beyond_link(self, path: str) -> bool:
        """Whether a folder above it, in a root, is a link by now: wherever that leads, nothing lies at the path."""
        while any(path.startswith(f"{root.rstrip('/')}/") for root in self.folders):
            path = os.path.dirname(path)
            if path not in self.folders and os.path.islink(path):
                return True
        return False

    def place(self, path: str, create: bool = False) -> Place:
        """Find the place of `path` itself, a link at its end not followed; see `Roots.place`. Raises `ToolError`.

        Nothing is made where a link leads.
        """
        if create and self.is_beyond_link(path):
            raise behind_link()
        roots = self._roots_of(path)
        try:
            place = roots.noted_place(path, create)
        except ToolError as error:
            if error.kind is not ErrorKind.PERMISSION_DENIED or not self.opens(os.path.dirname(path)):
                raise
            return roots.noted_place(path, create)
        self.let_in(os.path.dirname(path), os.fstat(place.parent), stat.S_IXUSR)
        return place

    def opens(self, folder: str) -> bool:
        """Open a folder and those it lies in to their owner; return whether any was closed to them."""
        return self._closed.let_in(folder)

    def let_in(self, folder: str, status: os.stat_result, bits: int = stat.S_IRWXU) -> None:
        """Open a folder where its mode denies its owner one of these `bits`."""
        if shuts_out(status, bits):
            self._closed.let_in(folder)

    def settled(self, folder: str) -> None:
        """Leave a folder the mode that it has been given."""
        self._closed.settled(folder)

    def as_it_is(self, path: str, seen: Seen) -> Seen:
        """Return what was seen of a path, a folder that was opened with the mode that it had."""
        mode = self._closed.mode_of(path, seen.state.mode)
        if mode == seen.state.mode or seen.state.kind != "folder":
            return seen
        return seen._replace(state=msgspec.structs.replace(seen.state, mode=mode))

    def __enter__(self) -> JournalReach:
        return self

    def __exit__(self, *_error: object) -> None:
        self._closed.close()

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


def behind_link() -> ToolError:
    """Say that a path leads elsewhere by now."""
    return ToolError(ErrorKind.STALE, told("a folder above it has become a symbolic link"))


def look_at(reach: JournalReach, path: str, like: State = MISSING) -> Seen:
    """Say what `path` (absolute, without links) holds now. Raises `ToolError` when it can't be looked at."""
    try:
        place = reach.place(path)
    except ToolError as error:
        if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.WRONG_FILE_TYPE) or reach.is_beyond_link(path):
            return Seen(MISSING)
        raise
    try:
        return reach.as_it_is(path, see(place.parent, place.name, like)) if place.path == path else Seen(MISSING)
    except OSError as error:
        raise explain(error, path) from error
    finally:
        os.close(place.parent)


class FolderLooks:
    """Opens the folders that paths lie in, and keeps the last one open: what is sorted by path lies side by side."""

    def __init__(self, reach: JournalReach) -> None:
        self._reach = reach
        self._path = ""
        self._handle = -1

    def of(self, path: str) -> tuple[int, str]:
        """Return a handle of the folder that a path lies in, and its name there. Raises `ToolError`."""
        folder, name = os.path.split(path)
        if self._handle < 0 or folder != self._path:
            self.close()
            place = self._reach.place(path)
            self._handle = place.parent
            self._path = "" if self._reach.is_outside(path) or place.path != path else folder
        return self._handle, name

    def look(self, path: str, like: State = MISSING) -> Seen:
        """Look at a path as `look_at` does."""
        with suppress(ToolError):
            handle, name = self.of(path)
            if self._path == os.path.dirname(path):
                try:
                    return self._reach.as_it_is(path, see(handle, name, like))
                except OSError as error:
                    raise explain(error, path) from error
        return look_at(self._reach, path, like)

    def close(self) -> None:
        """Let the folder go."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1
