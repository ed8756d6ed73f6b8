"""The folders tools may act in, and the one way from a path to an open descriptor.

Naming (`locate`, `relative`) is about strings and messages; what may be touched is decided at the moment of opening,
on handles (`beneath`). Not covered: a hard link or a bind mount inside a root is the root's own file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace import fs, openat, windows_paths
from dogu.workspace.names import is_same_path
from dogu.workspace.openat import OutsideRootsError, Place
from dogu.workspace.os_errors import explain
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, path_of

_LONGEST_PATH_BYTES = 4_095
_LONGEST_SHOWN = 300
_MOST_RACES = 100
_UNTIDY = re.compile(r"/(?:\.{0,2}/|\.{0,2}$)")
_READ = os.O_RDONLY | fs.O_NONBLOCK | fs.O_CLOEXEC | fs.O_NOCTTY


class Roots:
    """The workspace's folders: `primary` (relative paths start there), `also`, and `readable` ones for reading only.

    `ignore_files`, absolute paths, say like `.geminiignore` what models don't see in any of them; the first one wins.
    All attributes are absolute paths without symbolic links. Folders must exist; raises OSError otherwise.
    """

    def __init__(
        self,
        primary: str,
        also: Sequence[str] = (),
        readable: Sequence[str] = (),
        ignore_files: Sequence[str] = (),
    ) -> None:
        self.ignore_files = tuple(ignore_files)
        self.primary = _real(primary, strict=True)
        self.all = tuple(dict.fromkeys([self.primary, *(_real(root, strict=True) for root in also)]))
        self.readable = tuple(_real(root, strict=True) for root in readable)
        spelled = {root: root for root in (*self.all, *self.readable)}
        for root in (primary, *also, *readable):
            spelled.setdefault(slashed(os.path.abspath(root)), _real(root))
        self._spellings = sorted(spelled.items(), key=lambda pair: -len(pair[0]))

    def allow_reading(self, folder: str) -> None:
        """Let an absolute folder be read from now on, as if it had been among `readable`. Raises OSError."""
        real = _real(folder, strict=True)
        spelled = dict(self._spellings) | {real: real}
        spelled.setdefault(slashed(os.path.abspath(folder)), real)
        self._spellings = sorted(spelled.items(), key=lambda pair: -len(pair[0]))
        if real not in self.all and real not in self.readable:
            self.readable = (*self.readable, real)

    def locate(self, path: str, base: str | None = None) -> str:
        """Return the absolute path meant by `path`: under a root as spelled there, without `.` and `..`.

        A relative path starts at `base` (itself relative to the primary root), else at the primary root. `..` goes up
        from where a symbolic link leads, as the kernel would. Empty is the root. Nothing is expanded or decoded.
        Raises `ToolError` (OUTSIDE_WORKSPACE, INVALID_ARGUMENTS).
        """
        _check_spelling(path)
        absolute = os.path.join(self.primary, base or "", path)
        if IS_WINDOWS:
            absolute = _meant_on_windows(path, os.path.join(self.primary, base or ""))
        try:
            root, parts = self._anchor(absolute)
        except OutsideRootsError as error:
            raise self._outside(path, error) from error
        return openat.joined(root, parts)

    def locate_file(self, path: str) -> str:
        """Return the absolute path of a file that may be made. Raises as `locate`, also for one that names a folder."""
        if path.endswith(("/", os.sep)):
            message = f"Path names a folder, by its last character: {_shown(path)}. Name a file in it."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        return self.locate(path)

    def relative(self, path: str) -> str:
        """Return `path` relative to the root it is in, with `/`; `.` for the root itself. Raises as `locate`."""
        root, parts = self._anchor(self.locate(path))
        del root
        return "/".join(parts) or "."

    def root_of(self, path: str) -> str:
        """Return the root that `path` is in by its name. Raises as `locate`."""
        return self._anchor(self.locate(path))[0]

    def open_file(self, path: str) -> int:
        """Open a regular file for reading and return the descriptor; never waits on a FIFO or device.

        Raises `ToolError` (NOT_FOUND, OUTSIDE_WORKSPACE, WRONG_FILE_TYPE, PERMISSION_DENIED, ...).
        """
        located = self.locate(path)
        descriptor = self._open(located, _READ)
        if openat.is_regular(descriptor):
            return descriptor
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        openat.close(descriptor)
        raise explain(OSError(errno.EISDIR if is_directory else errno.ENXIO, ""), located)

    def open_directory(self, path: str) -> int:
        """Open a folder for listing and return the descriptor. Raises `ToolError` as `open_file`."""
        located = self.locate(path)
        return self._open(located, _READ | fs.O_DIRECTORY)

    def open_handle(self, path: str) -> int:
        """Open anything for fstat alone, without touching it (O_PATH); links are followed. Raises as `open_file`."""
        return self._open(self.locate(path), fs.O_PATH | fs.O_CLOEXEC)

    def place(self, path: str, create: bool = False, follow_last: bool = True) -> Place:
        """Find the real place to write for `path`: a handle of the folder that it is in, and the name in it.

        A symbolic link at the end is followed, so the name is the real file's; without `follow_last` the link itself is
        the place. The file may be missing; with `create`, missing folders are made. The handle may be an O_PATH one,
        and is the caller's to close. Raises `ToolError` as `open_file`.
        """
        located = self.locate(path)
        try:
            return openat.find_place(self._writable_anchor, located, create, follow_last)
        except OutsideRootsError as error:
            raise self._outside(located, error) from error
        except OSError as error:
            raise explain(error, located) from error

    def noted_place(self, path: str, create: bool = False) -> Place:
        """Find the place of a path that was noted: absolute, without links, as long as it may be; else as `place`."""
        try:
            return openat.find_place(self._writable_anchor, path, create, follow_last=False)
        except OutsideRootsError as error:
            raise self._outside(path, error) from error
        except OSError as error:
            raise explain(error, path) from error

    def real(self, path: str) -> str:
        """Return the absolute path of what `path` names, with every symbolic link resolved; the end may be missing."""
        located = self.locate(path)
        try:
            place = openat.find_place(self._anchor, located)
        except OutsideRootsError as error:
            raise self._outside(located, error) from error
        except FileNotFoundError:
            return _real(located)
        except OSError as error:
            raise explain(error, located) from error
        openat.close(place.parent)
        return place.path

    def real_of(self, descriptor: int, path: str) -> str:
        """Return the path without links of an open file that `path` led to; for naming only."""
        return path_of(descriptor) or self.real(path)

    def remove_folders(self, made: Sequence[str]) -> None:
        """Remove folders that were made for nothing, as long as they are empty; outermost first."""
        for folder in reversed(made):
            try:
                place = self.place(folder)
            except ToolError:
                return
            try:
                fs.rmdir(place.name, dir_fd=place.parent)
            except OSError:
                return
            finally:
                openat.close(place.parent)

    def _open(self, located: str, flags: int) -> int:
        try:
            root, parts = self._anchor(located)
            opened = openat.open_plain(root, parts, flags)
            return self._open_by_walk(located, flags) if opened is None else opened
        except OutsideRootsError as error:
            raise self._outside(located, error) from error
        except OSError as error:
            raise explain(error, located) from error

    def _open_by_walk(self, located: str, flags: int) -> int:
        for _ in range(_MOST_RACES):
            place = openat.find_place(self._anchor, located)
            try:
                return fs.open(place.name, flags | fs.O_NOFOLLOW, dir_fd=place.parent)
            except OSError as error:
                # The name became a link after the walk had looked at it.
                if error.errno != errno.ELOOP:
                    raise
            finally:
                openat.close(place.parent)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), located)

    def _anchor(self, path: str) -> tuple[str, list[str]]:
        if IS_WINDOWS:
            return self._anchor_on_windows(path)
        located = _without_dotdot(path) if _UNTIDY.search(path) else path
        found = self._within(located)
        if found is None and not located.startswith(("/proc/", "/dev/")):
            # Named through a link outside of the roots, as /tmp is on some systems.
            folder, name = os.path.split(located)
            found = self._within(os.path.join(os.path.realpath(folder), name))
        if found is None:
            raise OutsideRootsError(self.primary, located)
        return found

    def _anchor_on_windows(self, path: str) -> tuple[str, list[str]]:
        try:
            located = windows_paths.absolute(path, self.primary)
        except ValueError as error:  # a link leads to what is no file's path
            raise OutsideRootsError(self.primary, path) from error
        found = self._within(located)
        if found is None and not located.startswith("//"):  # what a share's name leads to isn't asked: it is a server
            folder, name = os.path.split(located)
            found = self._within(openat.joined(_real(folder), [name] if name else []))
        if found is None:
            raise OutsideRootsError(self.primary, located)
        return found

    def _writable_anchor(self, path: str) -> tuple[str, list[str]]:
        root, parts = self._anchor(path)
        if root not in self.all:
            raise OutsideRootsError(self.primary, openat.joined(root, parts))
        return root, parts

    def _within(self, path: str) -> tuple[str, list[str]] | None:
        for spelled, root in self._spellings:
            if IS_WINDOWS:
                if (parts := windows_paths.parts_below(spelled, path)) is not None:
                    return root, parts
            elif path == spelled or path.startswith(spelled.rstrip("/") + "/"):
                return root, openat.parts_of(path[len(spelled) :])
            elif not IS_LINUX and (parts := _below_respelled(spelled, path)) is not None:
                return root, parts
        return None

    def _outside(self, path: str, error: OutsideRootsError) -> ToolError:
        how = f"the symbolic link {error.link} leads" if error.link else "it leads"
        roots = ", ".join(self.all)
        return ToolError(
            ErrorKind.OUTSIDE_WORKSPACE,
            f"Path is outside the workspace: {_shown(path)}: {how} out of the root {error.root} to "
            f"{_shown(error.target)}. Use a path inside {roots}.",
        )


def _below_respelled(spelled: str, path: str) -> list[str] | None:
    """Return the parts of a path below a folder that it spells otherwise, where the system doesn't mind."""
    parts, depth = openat.parts_of(path), len(openat.parts_of(spelled))
    folder = "/" + "/".join(parts[:depth])
    try:
        is_same = is_same_path(folder, spelled) and os.path.samefile(folder, spelled)
    except OSError:
        return None
    return parts[depth:] if is_same else None


def _check_spelling(path: str) -> None:
    if "\0" in path:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Path holds a NUL character: {_shown(path)!r}. Remove it.")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        message = f"Path is not valid Unicode: {_shown(path)!r}. Remove the lone surrogate."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message) from error
    if length > _LONGEST_PATH_BYTES:
        message = f"Path too long: {length} bytes, at most {_LONGEST_PATH_BYTES}: {_shown(path)}"
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)


def _without_dotdot(path: str) -> str:
    done: list[str] = []
    for part in openat.parts_of(path):
        if part != "..":
            done.append(part)
            continue
        folder = "/" + "/".join(done)
        done = openat.parts_of(os.path.dirname(os.path.realpath(folder)))
    return "/" + "/".join(done)


def _meant_on_windows(path: str, base: str) -> str:
    try:
        return windows_paths.absolute(path, slashed(base))
    except ValueError as error:
        message = f"This can't be a path of the workspace: {_shown(path)!r}: {error}. Name a file below a root."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message) from error


def _real(path: str, strict: bool = False) -> str:
    return slashed(os.path.realpath(path, strict=strict))


def slashed(path: str) -> str:
    """Return a path as paths are spelled throughout: on Windows too with `/`."""
    return path.replace("\\", "/") if IS_WINDOWS else path


def _shown(path: str) -> str:
    return path if len(path) <= _LONGEST_SHOWN else path[:_LONGEST_SHOWN] + "..."
