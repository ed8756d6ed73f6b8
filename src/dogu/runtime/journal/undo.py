"""Undo: bring paths back to what they were, if they still are what we made of them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.entries import PathChange
from dogu.runtime.journal.log import MISSING, UNKNOWN_MODE, State
from dogu.runtime.journal.reach import JournalReach
from dogu.workspace.atomic_write import LARGEST_BYTES, AtomicWriter, OldFile
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import Place
from dogu.workspace.os_errors import explain
from dogu.workspace.pending_writes import temporary_name


class UndoRefusal(msgspec.Struct, frozen=True):
    """A path that wasn't brought back, and why; `is_final`: trying again would not help."""

    path: str
    reason: str
    is_final: bool = False


class UndoReport(msgspec.Struct, frozen=True):
    """What an undo did. When it `needs_force`, `refused` says why and nothing was changed at all.

    `calls` are the numbers of the calls undone, the newest first; empty also when a path failed that may yet be brought
    back: then the calls can be undone again. `restored` pairs each path with what was done to it.
    """

    calls: tuple[int, ...] = ()
    restored: tuple[tuple[str, str], ...] = ()
    refused: tuple[UndoRefusal, ...] = ()
    needs_force: bool = False

    @property
    def done(self) -> bool:
        """Whether the calls count as undone."""
        return bool(self.calls)


def present_state(reach: JournalReach, path: str, like: State = MISSING) -> State:
    """Say what `path` (absolute, without links) holds now; a file that is `like` one known by its stamp, likewise.

    Raises `ToolError` when it can't be looked at.
    """
    try:
        place = reach.place(path)
    except ToolError as error:
        if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.WRONG_FILE_TYPE):
            return MISSING
        raise
    try:
        return _state_in(place.parent, place.name, like) if place.path == path else MISSING
    except OSError as error:
        raise explain(error, path) from error
    finally:
        os.close(place.parent)


def state_of_file(data: bytes, mode: int, where: int = -1) -> State:
    """Return the state of a file with this content and these permission bits."""
    return State("file", mode, len(data), digest_of(data), b"", where)


def digest_by_stamp(size: int, mtime_ns: int) -> str:
    """Return what stands for the digest of a file too large to be read."""
    return f"{_STAMP}{size}:{mtime_ns}"


def is_stamp(digest: str) -> bool:
    """Whether the digest stands for a file that was too large to be read."""
    return digest.startswith(_STAMP)


_STAMP = "stamp:"


_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _state_in(folder: int, name: str, like: State) -> State:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return MISSING
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return State("link", 0, 0, "", os.fsencode(os.readlink(name, dir_fd=folder)))
    if stat.S_ISDIR(status.st_mode):
        return State("folder", mode)
    if not stat.S_ISREG(status.st_mode):
        return State("other", mode)
    if status.st_size > LARGEST_BYTES or is_stamp(like.digest):
        return State("file", mode, status.st_size, digest_by_stamp(status.st_size, status.st_mtime_ns))
    with os.fdopen(os.open(name, _OPEN, dir_fd=folder), "rb") as stream:
        return state_of_file(stream.read(), mode)


class _OthersInsideError(ToolError):
    """A folder that we made holds what others put there."""


class Restorer:
    """Brings paths back to a state; `content` finds what a state's file held."""

    def __init__(self, reach: JournalReach, writer: AtomicWriter, content: Callable[[State], bytes | None]) -> None:
        self._reach = reach
        self._writer = writer
        self._content = content

    def objections(self, changes: Mapping[str, PathChange]) -> list[UndoRefusal]:
        """Say which paths are no longer as the calls left them; those already as before are none of them."""
        refused: list[UndoRefusal] = []
        for path, change in changes.items():
            try:
                now = present_state(self._reach, path, change.after)
            except ToolError as error:
                refused.append(UndoRefusal(path, error.message))
                continue
            if not change.may_have_left(now):
                refused.append(UndoRefusal(path, _difference(now)))
        return refused

    def impossible(self, changes: Mapping[str, PathChange]) -> list[UndoRefusal]:
        """Say which paths can't be brought back because what they held wasn't kept."""
        refused: list[UndoRefusal] = []
        for path, change in changes.items():
            before = change.before
            if before.kind == "file" and before.where < 0 and before.digest != change.after.digest:
                refused.append(UndoRefusal(path, told("what it held before was too large to be kept")))
            elif before.kind == "other" and change.after.kind != "other":
                refused.append(UndoRefusal(path, told("it was no file, folder or link before")))
        return refused

    def restore(self, changes: Mapping[str, PathChange]) -> tuple[list[tuple[str, str]], list[UndoRefusal]]:
        """Bring each path back to `before`: first what was made goes, the deepest first; then the rest comes back."""
        done: list[tuple[str, str]] = []
        refused: list[UndoRefusal] = []
        away = [path for path, change in changes.items() if change.before.kind == "missing"]
        back = [path for path, change in changes.items() if change.before.kind not in ("missing", "other")]
        for path in [*sorted(away, reverse=True), *sorted(back)]:
            try:
                what = self._restore_one(path, changes[path].before)
            except _OthersInsideError as error:
                refused.append(UndoRefusal(path, error.message, is_final=True))
            except ToolError as error:
                refused.append(UndoRefusal(path, error.message))
            except OSError as error:
                refused.append(UndoRefusal(path, explain(error, path).message))
            else:
                if what:
                    done.append((path, what))
        return done, refused

    def _restore_one(self, path: str, before: State) -> str:
        now = present_state(self._reach, path, before)
        if now.is_same_as(before):
            return ""
        place = self._reach.place(path, create=True)
        try:
            if place.path != path:
                raise ToolError(ErrorKind.STALE, told("a folder above it has become a symbolic link"))
            if now.kind not in (before.kind, "missing"):
                _remove(place, now)
            if before.kind == "missing":
                return told("removed")
            self._restore(place, before, now if now.kind == before.kind else MISSING)
        finally:
            os.close(place.parent)
        return told("brought back") if now.kind == "missing" else told("restored")

    def _restore(self, place: Place, before: State, now: State) -> None:
        match before.kind:
            case "folder":
                if now.kind == "missing":
                    os.mkdir(place.name, dir_fd=place.parent)
                _set_mode(place, before.mode)
            case "link":
                _put_link(place, before.target)
            case _:
                self._restore_file(place, before, now)

    def _restore_file(self, place: Place, before: State, now: State) -> None:
        if now.kind != "file" or now.digest != before.digest:
            data = self._content(before)
            if data is None:
                raise ToolError(ErrorKind.NOT_FOUND, told("what it held before was too large to be kept"))
            if now.kind == "file" and not now.mode & 0o222:
                _set_mode(place, now.mode | 0o200)
            self._writer.write(place, data, partial(_refuse_changed, now))
        # Also for a file that is back: the umask may have had its say.
        _set_mode(place, before.mode)


def _refuse_changed(now: State, old: OldFile | None) -> None:
    if (old.digest if old else "") != (now.digest if now.kind == "file" else ""):
        raise ToolError(ErrorKind.STALE, told("somebody changed it in this very moment"))


def _remove(place: Place, now: State) -> None:
    if now.kind == "folder":
        try:
            os.rmdir(place.name, dir_fd=place.parent)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise _OthersInsideError(ErrorKind.IO_ERROR, told("the folder stays, for it holds other files")) from error
    elif now.kind != "missing":
        try:
            os.unlink(place.name, dir_fd=place.parent)
        except FileNotFoundError:
            pass


def _difference(now: State) -> str:
    return {
        "missing": told("somebody has removed it since"),
        "folder": told("there is a folder now, or its mode was changed since"),
        "link": told("there is another symbolic link now"),
    }.get(now.kind, told("somebody has changed it since"))


def _put_link(place: Place, target: bytes) -> None:
    name = temporary_name()
    os.symlink(os.fsdecode(target), name, dir_fd=place.parent)
    os.rename(name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)


def _set_mode(place: Place, mode: int) -> None:
    if mode == UNKNOWN_MODE:
        return
    status = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
    if stat.S_IMODE(status.st_mode) == mode or stat.S_ISLNK(status.st_mode):
        return
    try:
        descriptor = os.open(place.name, _OPEN, dir_fd=place.parent)
    except PermissionError:
        # A file its owner may not read: nothing but its name is left to go by.
        os.chmod(place.name, mode, dir_fd=place.parent)
        return
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)
