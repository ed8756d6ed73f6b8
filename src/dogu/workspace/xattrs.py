"""Extended attributes of files: those that undo keeps, ACLs among them. Standard library only."""

from __future__ import annotations

from contextlib import suppress

from dogu.workspace import fs
from dogu.workspace.system import IS_LINUX

KEPT_XATTRS = ("user.", "trusted.", "system.posix_acl_", "security.capability")
LAYERS_XATTRS = ("user.overlay.", "trusted.overlay.")
# A name need not be text, and is recorded as such: its stray bytes as characters that no name has, in private use.
_STRAY = {0xDC80 + byte: 0x10FF00 + byte for byte in range(128)}
_AS_NAMED = {recorded: stray for stray, recorded in _STRAY.items()}


def read_xattrs(folder: int, name: str) -> tuple[tuple[str, bytes], ...] | None:
    """Return the extended attributes that are kept, ACLs among them, sorted; None where they can't be read.

    Also those of a file or folder that its mode forbids its owner to read.
    """
    path = f"/proc/self/fd/{folder}/{name}"
    try:
        return _kept_xattrs(path) if IS_LINUX else None
    except PermissionError:
        with suppress(OSError), fs.opened_up(name, dir_fd=folder):
            return _kept_xattrs(path)
    except OSError:
        pass
    return None


def kept_xattrs(target: int | str | bytes) -> tuple[tuple[str, bytes], ...] | None:
    """Return those of an open file, or of what lies at a path; see `read_xattrs`."""
    try:
        return _kept_xattrs(target) if IS_LINUX else None
    except OSError:
        return None


def _kept_xattrs(target: int | str | bytes) -> tuple[tuple[str, bytes], ...]:
    is_open = isinstance(target, int)
    names = fs.listxattr(target, follow_symlinks=is_open)
    if not names:
        return ()
    kept = [each for each in sorted(names) if each.startswith(KEPT_XATTRS) and not each.startswith(LAYERS_XATTRS)]
    return tuple((each.translate(_STRAY), fs.getxattr(target, each, follow_symlinks=is_open)) for each in kept)


def as_named(recorded: str) -> str:
    """Return the name of an attribute as the system has it."""
    return recorded.translate(_AS_NAMED)
