"""Between fork and exec: a copy-on-write layer over each root, in a mount namespace of the command's own.

What the command writes goes to the layer's `upper` folder; the root stays as it is. Standard library only.
Source: mount_namespaces(7), user_namespaces(7), Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence

from dogu.workspace.launcher.libc import libc
from dogu.workspace.system import IS_LINUX

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000
_NO_SETUID, _NO_DEVICES = 2, 4
_SLAVE, _RECURSIVE = 1 << 19, 1 << 14
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
# Without `volatile` each copied file is synced, and the whole disk when the layer goes. Folders that were there before
# can be renamed, and hard links be written through, only where the kernel's own attributes can be set.
_OPTIONS = "userxattr,volatile"
_ROOTS_OPTIONS = "redirect_dir=on,index=on,metacopy=off,volatile"


class LayerError(OSError):
    """The layer could not be made: nothing has run."""


def holds_renames() -> bool:
    """Whether a folder that was there before can be renamed in a layer: for the machine's root, not in a namespace."""
    if not (IS_LINUX and os.geteuid() == 0):
        return False
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() == ["0", "0", str(2**32 - 1)]


def enter(layers: Sequence[tuple[bytes, bytes]], directory: int) -> int:
    """Lay a layer over each root, for this process and what it starts, and return the directory as seen through it.

    `layers` are pairs of a root and the folder with its `upper` and `work`. Nobody outside sees the mounts, which go
    with the last process that does. Raises `LayerError`.
    """
    try:
        was = os.fstat(directory)
        is_root = any(os.path.samestat(was, os.stat(root)) for root, _ in layers)
        options = _unshare()
        for root, folder in layers:
            _mount(root, folder, options)
        again = os.open(os.readlink(f"/proc/self/fd/{directory}"), _FOLDER)
        if not is_root and os.fstat(again).st_ino != was.st_ino:  # a layer keeps the numbers, but for its own root's
            raise OSError(errno.ESTALE, "moved")
        return again
    except OSError as error:
        raise LayerError(error.errno, "layer") from error


def _unshare() -> str:
    """Enter a mount namespace of its own; return what its mounts can: only the machine's root gets all of it."""
    options = _ROOTS_OPTIONS if holds_renames() else _OPTIONS
    if libc().unshare(_NEW_MOUNTS) != 0:
        user, group = os.geteuid(), os.getegid()
        _check(libc().unshare(_NEW_USER | _NEW_MOUNTS))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        options = _OPTIONS
    _check(libc().mount(b"none", b"/", None, ctypes.c_ulong(_SLAVE | _RECURSIVE), None))
    return options


def _mount(root: bytes, folder: bytes, options: str) -> None:
    """Mount by handles: paths can't be swapped meanwhile, and their commas and colons mean nothing."""
    places = [os.open(path, _FOLDER) for path in (root, folder + b"/upper", folder + b"/work")]
    try:
        lower, upper, work = (f"/proc/self/fd/{place}" for place in places)
        data = f"lowerdir={lower},upperdir={upper},workdir={work},{options}"
        flags = ctypes.c_ulong(_NO_SETUID | _NO_DEVICES)
        _check(libc().mount(b"overlay", lower.encode(), b"overlay", flags, data.encode()))
    finally:
        for place in places:
            os.close(place)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "layer")
