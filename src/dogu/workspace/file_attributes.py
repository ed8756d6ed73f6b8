"""What a file is besides its bytes: mode, owner, ACL, extended attributes; read, copied, compared."""

from __future__ import annotations

import os
import stat

from dogu.workspace.syscalls import Syscalls


def copy_attributes(syscalls: Syscalls, source: int, target: int) -> bool:
    """Give the open file `target` the owner, mode, ACL and extended attributes of `source`.

    Returns False when that isn't possible; then `target` must not take the place of `source`.
    """
    wanted = syscalls.status(source)
    try:
        _copy_owner(syscalls, wanted, target)
        _copy_xattrs(syscalls, syscalls.xattrs(source), target)
        syscalls.set_mode(target, stat.S_IMODE(wanted.st_mode))
    except PermissionError:
        return False
    got = syscalls.status(target)
    return _facts(got) == _facts(wanted) and syscalls.xattrs(target) == syscalls.xattrs(source)


def _facts(status: os.stat_result) -> tuple[int, int, int]:
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


def _copy_owner(syscalls: Syscalls, wanted: os.stat_result, target: int) -> None:
    now = syscalls.status(target)
    if (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
        syscalls.set_owner(target, wanted.st_uid, wanted.st_gid)


def _copy_xattrs(syscalls: Syscalls, wanted: dict[str, bytes], target: int) -> None:
    now = syscalls.xattrs(target)
    for name in now.keys() - wanted.keys():
        syscalls.remove_xattr(target, name)
    for name, value in wanted.items():
        if now.get(name) != value:
            syscalls.set_xattr(target, name, value)
