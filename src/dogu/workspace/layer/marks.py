"""What the kernel notes on an entry of a layer, and whether two entries say the same but for that.

Source: Documentation/filesystems/overlayfs.rst; fs/overlayfs/overlayfs.h.
"""

from __future__ import annotations

import os
import stat

from dogu.workspace import fs
from dogu.workspace.openat import identity_of
from dogu.workspace.xattrs import LAYERS_XATTRS

_ORIGIN_HEAD_BYTES, _ORIGIN_MAGIC = 21, 0xFB
_READ = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
_PIECE_BYTES = 1 << 20


def is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry of the layer says that a name is gone."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def path_in(folder: int, name: str = "") -> str:
    """Return a path to an open folder or a name in it, for the calls that take no handle."""
    return f"/proc/self/fd/{folder}/{name}".rstrip("/")


def attributes_of(folder: int, name: str) -> list[str]:
    """Return the names of all its extended attributes."""
    return fs.listxattr(path_in(folder, name), follow_symlinks=False)


def marks_of(folder: int, name: str) -> list[str]:
    """Return those that are the layer's own."""
    return [each for each in attributes_of(folder, name) if each.startswith(LAYERS_XATTRS)]


def is_opaque_mark(name: str) -> bool:
    """Whether the mark says that a folder hides what lies below it."""
    return name.endswith("overlay.opaque")


def is_origin_mark(name: str) -> bool:
    """Whether the mark says what an entry was copied from."""
    return name.endswith("overlay.origin")


def origin_of(folder: int, name: str) -> bytes:
    """Return the identity of what an entry was copied from; b"" where it was made, or the kernel doesn't note it.

    The kernel's note has a head of 21 bytes, of which the last 17 are the handle's kind and the file system. Source:
    fs/overlayfs/overlayfs.h, `struct ovl_fb`.
    """
    for mark in filter(is_origin_mark, marks_of(folder, name)):
        try:
            note = fs.getxattr(path_in(folder, name), mark, follow_symlinks=False)
        except PermissionError:  # of a user's own, that they may not read
            continue
        if len(note) > _ORIGIN_HEAD_BYTES and note[1] == _ORIGIN_MAGIC:
            return note[4:5] + note[_ORIGIN_HEAD_BYTES:]
    return b""


def is_copy_of(upper: int, lower: int, name: str, *, has_names: bool) -> bool:
    """Whether a file was copied from the one below it, and not from another that was moved over that. Where the kernel
    doesn't note from which one, it notes nothing of a file that has several names."""
    origin = origin_of(upper, name)
    return identity_in(lower, name) == origin if origin else not has_names


def identity_in(folder: int, name: str) -> bytes:
    """Return the identity of a name in an open folder; see `openat.identity_of`. Raises OSError."""
    handle = fs.open(name, fs.O_PATH | fs.O_NOFOLLOW | fs.O_CLOEXEC, dir_fd=folder)
    try:
        return identity_of(handle)
    finally:
        os.close(handle)


def own_attributes(folder: int, name: str) -> dict[str, bytes]:
    """Return its extended attributes without the layer's own."""
    names = [each for each in attributes_of(folder, name) if not each.startswith(LAYERS_XATTRS)]
    try:
        return {each: fs.getxattr(path_in(folder, name), each, follow_symlinks=False) for each in names}
    except PermissionError:  # of a file that its owner may not read
        return dict.fromkeys(names, b"")


def is_unchanged(upper: tuple[int, str], lower: tuple[int, str]) -> bool:
    """Whether a copied file says and holds what the one below does; each is a name in an open folder."""
    new, old = status_of(*upper), status_of(*lower)
    if new is None or old is None or _said_of(new) != _said_of(old):
        return False
    # Not another one of its size and time.
    return own_attributes(*upper) == own_attributes(*lower) and _holds_the_same(upper, lower, new.st_mode)


def _said_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mode, status.st_uid, status.st_gid, status.st_rdev, status.st_size, status.st_mtime_ns


def _holds_the_same(upper: tuple[int, str], lower: tuple[int, str], mode: int) -> bool:
    if not stat.S_ISREG(mode):
        return not stat.S_ISLNK(mode) or os.readlink(path_in(*upper)) == os.readlink(path_in(*lower))
    try:
        with (
            open(fs.open(upper[1], _READ, dir_fd=upper[0]), "rb") as one,
            open(fs.open(lower[1], _READ, dir_fd=lower[0]), "rb") as two,
        ):
            while (piece := one.read(_PIECE_BYTES)) == two.read(_PIECE_BYTES):
                if not piece:
                    return True
    except OSError:
        return False
    return False


def status_of(folder: int, name: str) -> os.stat_result | None:
    """Return what lies at a name in an open folder; None for nothing."""
    try:
        return fs.stat(name, dir_fd=folder, follow_symlinks=False) if folder >= 0 else None
    except OSError:
        return None
