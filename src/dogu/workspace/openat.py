"""Open things beneath a folder's handle, so that no symbolic link, however it is swapped, leads out of the roots.

`openat2(RESOLVE_BENEATH)` answers where the kernel has it and the path is plain; everything else (absolute links, links
from one root to another, `..` in links, other systems) is a walk of handles of which none follows a link by itself.
Above: `roots`, which knows the roots and speaks to the model. Source: openat2(2), path_resolution(7).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from dogu.workspace import fs
from dogu.workspace.names import true_name
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, path_of

_SYS_OPENAT2 = 437
_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_MOST_LINKS = 40  # as the kernel allows
_MOST_STEPS = 10_000
_LONGEST_BYTES = 3_800  # of a path in one call: the kernel takes 4,095
_ENTER = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NONBLOCK
_HANDLE = fs.O_PATH | fs.O_DIRECTORY | fs.O_CLOEXEC

_HOW = struct.Struct("QQQ")
_HANDLE_HEAD = struct.Struct("Ii")
_MOST_HANDLE_BYTES = 128
_AT_EMPTY_PATH = 0x1000
_kernel_can = IS_LINUX


class OutsideRootsError(Exception):
    """A path leads out of every root. `root` is the one it left, `target` where to, `link` the symbolic link's path."""

    def __init__(self, root: str, target: str, link: str = "") -> None:
        super().__init__(target)
        self.root = root
        self.target = target
        self.link = link


Anchor = Callable[[str], tuple[str, list[str]]]
"""From an absolute path to the root it is in (absolute, real) and the parts below it; raises `OutsideRootsError`."""


class Place(msgspec.Struct, frozen=True):
    """A name in an open folder: `parent` is a handle the caller closes, `name` was no symbolic link when looked at.

    `path` is the absolute path without links; `made` are the folders made on the way, outermost first. For a root
    itself `name` is `.`.
    """

    parent: int
    name: str
    path: str
    made: tuple[str, ...] = ()


def openat2(start: int, path: str | bytes, flags: int, resolve: int) -> int | None:
    """Open by openat2(2) and return the descriptor, or None when the kernel doesn't answer with one, why ever."""
    global _kernel_can  # noqa: PLW0603  (one fact about the kernel, learnt at the first call)
    if not _kernel_can:
        return None
    opened = _libc().syscall(_SYS_OPENAT2, start, os.fsencode(path), _HOW.pack(flags, 0, resolve), _HOW.size)
    if opened >= 0:
        return opened
    if ctypes.get_errno() == errno.ENOSYS:
        _kernel_can = False
    return None


@cache
def _libc() -> Any:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.syscall.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    libc.syscall.restype = ctypes.c_long
    return libc


def identity_of(descriptor: int) -> bytes:
    """Return what tells an open file or folder from any other that ever was there; b"" where the system doesn't tell.

    It is what overlayfs notes of what it copies. Source: name_to_handle_at(2).
    """
    if not IS_LINUX:
        return b""
    handle = ctypes.create_string_buffer(
        _HANDLE_HEAD.pack(_MOST_HANDLE_BYTES, 0), _HANDLE_HEAD.size + _MOST_HANDLE_BYTES
    )
    if _libc().name_to_handle_at(descriptor, b"", handle, ctypes.byref(ctypes.c_int()), _AT_EMPTY_PATH) != 0:
        return b""
    count, kind = _HANDLE_HEAD.unpack_from(handle)
    return bytes([kind & 0xFF]) + handle.raw[_HANDLE_HEAD.size : _HANDLE_HEAD.size + count]


def open_root(root: str) -> int:
    """Return a handle of the folder `root`, an absolute path in which no part may be a symbolic link by now."""
    opened = openat2(_AT_FDCWD, root, _HANDLE, _RESOLVE_NO_SYMLINKS)
    if opened is not None:
        return opened
    if IS_WINDOWS:
        return _open_top(root)
    handle = fs.open("/", _HANDLE)
    for part in parts_of(root):
        handle = _step(handle, part)
    return handle


def _open_top(root: str) -> int:
    """Open a folder by its path, where there is no `/` to walk from: what was opened tells whether a link led there."""
    handle = fs.open(root, _HANDLE)
    if path_of(handle).lower() != root.lower():
        close(handle)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), root)
    return handle


def open_plain(root: str, parts: list[str], flags: int) -> int | None:
    """Open the easy way: relative links that stay beneath `root`. None means: walk, to open it or to learn why not."""
    if not _kernel_can:
        return None
    start = open_root(root)
    try:
        return openat2(start, "/".join(parts) or ".", flags, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    finally:
        close(start)


def open_folder_below(handle: int, path: str) -> int:
    """Open the folder `path` below `handle` for listing, following no symbolic link on the way; empty is itself."""
    flags = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC
    opened = openat2(handle, path or ".", flags, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS)
    if opened is not None:
        return opened
    *above, last = parts_of(path) or ["."]
    folder = os.dup(handle)
    for part in above:
        folder = _step(folder, part)
    try:
        return fs.open(last, flags, dir_fd=folder)
    finally:
        close(folder)


def open_long(path: str, flags: int = _HANDLE) -> int:
    """Open an absolute path of any length, by default as a handle of a folder; no part of it may be a symbolic link by
    now, as far as the kernel can tell. Raises OSError."""
    if sys.platform == "win32":
        return fs.open(path, flags)  # NT takes a path of any length at once
    *above, last = _pieces(path)
    handle = fs.open("/", _HANDLE) if above else _AT_FDCWD
    try:
        for piece in above:
            handle, old = _open_plainly(piece, _HANDLE, handle), handle
            close(old)
        return _open_plainly(last, flags, handle)
    finally:
        if handle != _AT_FDCWD:
            close(handle)


def _open_plainly(path: bytes, flags: int, start: int) -> int:
    opened = openat2(start, path, flags, _RESOLVE_NO_SYMLINKS)
    if opened is not None:
        return opened
    if _kernel_can:
        error = ctypes.get_errno()
        if error != errno.EPERM:  # as some containers answer to a call that they don't know
            raise OSError(error, os.strerror(error), path)
    return fs.open(os.fsdecode(path), flags, dir_fd=None if start == _AT_FDCWD else start)


class Closed:
    """Lets the user into folders in `roots` that are their own and whose mode keeps them out, for as long as it's used.

    Each gets its mode back at the end, but for those that have `settled` or have been given another one. Nothing is to
    be done for root, whom no mode keeps out.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = tuple(roots)
        self._modes: dict[str, tuple[int, int]] = {}

    def let_in(self, folder: str) -> bool:
        """Open a folder (absolute) and those it lies in; return whether any was closed. Links aren't followed."""
        way: list[str] = []
        while any(f"{folder}/".startswith(f"{root.rstrip('/')}/") for root in self._roots):
            way.append(folder)
            folder = os.path.dirname(folder)
        return sum(self._opened(path) for path in reversed(way)) > 0  # all of them, the outermost first

    def mode_of(self, folder: str, now: int) -> int:
        """Return the mode that a folder had, where it was opened; else `now`."""
        return self._modes[folder][0] if folder in self._modes else now

    def settled(self, folder: str) -> None:
        """Leave a folder the mode that it has been given."""
        self._modes.pop(folder, None)

    def close(self) -> None:
        """Give the folders their modes back."""
        for path, (mode, inode) in reversed(self._modes.items()):
            with suppress(OSError):
                handle = open_root(path)
                try:
                    status = os.fstat(handle)
                    if (status.st_ino, stat.S_IMODE(status.st_mode)) == (inode, mode | stat.S_IRWXU):
                        os.chmod(f"/proc/self/fd/{handle}", mode)
                finally:
                    close(handle)
        self._modes.clear()

    def _opened(self, path: str) -> bool:
        with suppress(OSError):
            handle = open_root(path)
            try:
                status = os.fstat(handle)
                if shuts_out(status, stat.S_IRWXU):
                    self._modes[path] = stat.S_IMODE(status.st_mode), status.st_ino
                    os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
                    return True
            finally:
                close(handle)
        return False


def shuts_out(status: os.stat_result, bits: int) -> bool:
    """Whether the mode of a file or folder that is this user's own denies them something (`S_IRUSR`, ...)."""
    return sys.platform != "win32" and IS_LINUX and status.st_mode & bits != bits and 0 != os.geteuid() == status.st_uid


def is_there(path: str) -> bool:
    """Whether there is something at an absolute path of any length; a link counts wherever it leads."""
    try:
        folder = open_long(os.path.dirname(path))
    except OSError:
        return False
    try:
        fs.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    finally:
        close(folder)
    return True


class LastFolder:
    """Opens the folders that paths lie in and keeps the last one open: what is sorted by path lies side by side."""

    def __init__(self) -> None:
        self._path = ""
        self._handle = -1

    def of(self, path: str) -> tuple[int, str]:
        """Return a handle of the folder that `path` (absolute, of any length) lies in, and its name there."""
        folder, name = os.path.split(path)
        if self._handle < 0 or folder != self._path:
            self.close()
            self._handle, self._path = open_long(folder), folder
        return self._handle, name

    def close(self) -> None:
        """Let the folder go."""
        if self._handle >= 0:
            close(self._handle)
        self._handle = -1


def _pieces(path: str) -> list[bytes]:
    """Cut a path into such that the kernel takes, each but the first relative to the one before."""
    data = os.fsencode(path)
    pieces: list[bytes] = []
    while len(data) > _LONGEST_BYTES and (at := data.rfind(b"/", 1, _LONGEST_BYTES)) > 0:
        pieces.append(data[:at])
        data = data[at + 1 :]
    return [*pieces, data]


def enter(handle: int, parts: Iterable[str]) -> int:
    """Open the folder that these names lead to below `handle`, following no symbolic link; none of them is itself."""
    folder = os.dup(handle)
    for part in parts:
        above = folder
        try:
            folder = fs.open(part, _ENTER, dir_fd=above)
        finally:
            os.close(above)
    return folder


def parts_of(path: str) -> list[str]:
    """Split a path at `/`, leaving out empty parts and `.`; `..` stays."""
    return [part for part in path.split("/") if part not in ("", ".")]


def joined(root: str, names: Sequence[str]) -> str:
    """Return the path of names below an absolute path; none of them is that itself."""
    return "/".join([root.rstrip("/"), *names]) if names else root


def find_place(
    anchor: Anchor, path: str, create: bool = False, follow_last: bool = True, *, is_durable: bool = True
) -> Place:
    """Follow `path` (absolute) through handles to the place it names; the last part may be missing.

    Links are followed while they stay in the roots, the last part's only with `follow_last`. With `create`, missing
    folders on the way are made, each on the disk before the next if it `is_durable`. Raises `OutsideRootsError`, or
    OSError (ELOOP for too many links).
    """
    if not follow_last and (place := _plain_place(anchor, path)) is not None:
        return place
    walk = _Walk(anchor, create, follow_last, is_durable)
    try:
        return walk.follow(path)
    except BaseException:
        walk.close()
        raise


def _plain_place(anchor: Anchor, path: str) -> Place | None:
    """Find the place of `path` where no link lies on the way; None: walk, to find it or to learn why not."""
    root, parts = anchor(path)
    if not parts or ".." in parts or not _kernel_can:
        return None
    handle: int | None = open_root(root)
    for piece in _pieces("/".join(parts[:-1]) or "."):
        above = handle
        handle = openat2(above, piece, _HANDLE, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS)
        close(above)
        if handle is None:
            return None
    return Place(handle, parts[-1], "/".join([root.rstrip("/"), *parts]))


def close(descriptor: int) -> None:
    """Close, and have no opinion on how that went: what matters was synced before."""
    try:
        os.close(descriptor)
    except OSError:
        pass


def _step(handle: int, part: str) -> int:
    try:
        return fs.open(part, _HANDLE | fs.O_NOFOLLOW, dir_fd=handle)
    finally:
        close(handle)


def _sync(handle: int) -> None:
    try:
        folder = fs.open(".", os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC, dir_fd=handle)
    except OSError:
        return
    try:
        fs.fsync(folder)
    except OSError:
        pass  # the write that follows will tell
    finally:
        close(folder)


class _Walk:
    def __init__(self, anchor: Anchor, create: bool, follow_last: bool, is_durable: bool) -> None:
        self._anchor = anchor
        self._create, self._is_durable = create, is_durable
        self._follow_last = follow_last
        self._handle, self._root = -1, ""
        self._names: list[str] = []
        self._todo: deque[str] = deque()
        self._links, self._link = 0, ""
        self._steps = 0
        self._made: list[str] = []

    def close(self) -> None:
        if self._handle >= 0:
            close(self._handle)
            self._handle = -1

    def follow(self, path: str) -> Place:
        self._jump(path)
        while self._todo:
            self._count_step(path)
            part = self._todo.popleft()
            if part == "..":
                self._go_up()
                continue
            target = self._link_target(part) if self._todo or self._follow_last else None
            if target is not None:
                self._follow_link(part, target)
            elif self._todo:
                self._enter(part)
            else:
                return self._place(part)
        return self._place(".")

    def _place(self, name: str) -> Place:
        name = true_name(self._handle, name)
        names = self._names if name == "." else [*self._names, name]
        handle, self._handle = self._handle, -1
        return Place(handle, name, self._absolute(names), tuple(self._made))

    def _absolute(self, names: list[str]) -> str:
        return joined(self._root, names)

    def _count_step(self, path: str) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    def _jump(self, path: str) -> None:
        left = self._root
        try:
            root, parts = self._anchor(path)
        except OutsideRootsError as error:
            raise OutsideRootsError(left or error.root, error.target, self._link) from error
        self.close()
        self._handle = open_root(root)
        self._root = root
        self._names = []
        self._todo = deque(parts)

    def _go_up(self) -> None:
        # Never `..` of a handle: the folder may have been moved meanwhile, and its parent may lie outside.
        if self._names:
            rest = [*self._names[:-1], *self._todo]
            self._jump(self._absolute(rest))
        else:
            self._jump(joined(os.path.dirname(self._root), list(self._todo)))

    def _link_target(self, part: str) -> str | None:
        try:
            return fs.readlink(part, dir_fd=self._handle)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _follow_link(self, part: str, target: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part)
        self._link = self._absolute([*self._names, part])
        if os.path.isabs(target):
            self._jump(joined(target, list(self._todo)))
            return
        self._todo.extendleft(reversed(parts_of(target)))
        if not self._todo:
            self._todo.append(".")

    def _enter(self, part: str) -> None:
        if part == ".":
            return
        if self._create:
            self._make(part)
        try:
            self._handle, old = fs.open(part, _HANDLE | fs.O_NOFOLLOW, dir_fd=self._handle), self._handle
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            # A link put there since we looked is looked at again; the bound on steps ends a war over it.
            if self._link_target(part) is None:
                raise
            self._todo.appendleft(part)
            return
        self._names.append(os.path.basename(path_of(self._handle)) if IS_WINDOWS else true_name(old, part))
        close(old)

    def _make(self, part: str) -> None:
        try:
            fs.stat(part, dir_fd=self._handle, follow_symlinks=False)
            return
        except FileNotFoundError:
            pass
        try:
            fs.mkdir(part, dir_fd=self._handle)
        except FileExistsError:
            return
        self._made.append(self._absolute([*self._names, part]))
        if self._is_durable:
            _sync(self._handle)


def is_regular(descriptor: int) -> bool:
    """Whether this is a plain file with a length, not a device, FIFO, socket or a kernel's pseudo-file."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return False
    # A file that takes room on a disk is none of the kernel's.
    return sys.platform != "linux" or status.st_blocks > 0 or file_system_type(descriptor) not in _PSEUDO_FILE_SYSTEMS


# Source: statfs(2). Files there have no true length and may block, change or act when read.
_PSEUDO_FILE_SYSTEMS = frozenset(
    (
        0x9FA0,  # proc
        0x62656572,  # sysfs
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0x62656570,  # configfs
        0x0027E0EB,  # cgroup
        0x63677270,  # cgroup2
        0xCAFE4A11,  # bpf
        0x65735543,  # fusectl
        0x6165676C,  # pstore
        0xDE5E81E4,  # efivarfs
        0xF97CFF8C,  # selinuxfs
        0x6E736673,  # nsfs
        0x1CD1,  # devpts
    )
)


def file_system_type(descriptor: int) -> int:
    """Return the magic number of the file system an open file is in (statfs(2)); 0 where that isn't known."""
    if sys.platform != "linux":
        return 0
    room = ctypes.create_string_buffer(256)
    if _libc().fstatfs(descriptor, room) != 0:
        return 0
    return ctypes.c_long.from_buffer(room).value & 0xFFFFFFFF
