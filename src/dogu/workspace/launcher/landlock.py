"""Landlock: rights on files, TCP and signals that a process gives up for itself and all it starts. No root needed.

Standard library only: runs in the launcher and between fork and exec. Source: landlock(7), linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from dogu.workspace.launcher.libc import libc

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = 1 << 8, 1 << 9, 1 << 10, 1 << 11
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (
    WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE
)
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_NEWEST_FILE_RIGHT = {1: MAKE_SYM, 2: REFER, 3: TRUNCATE, 4: TRUNCATE}  # by ABI; from 5 on IOCTL_DEV
_TCP = 0b11
_SCOPES = 0b11  # abstract sockets, signals

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_LAST_CAPABILITY = 63
_OWN_CAPABILITIES = struct.pack("=Ii", 0x20080522, 0)  # those of this process, in the third version of the call


def abi() -> int:
    """Return the kernel's version of Landlock; 0 without."""
    version: int = libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(version, 0)


def scope(*, mounts: bool) -> None:
    """Cut signals and abstract sockets off from processes outside, where the kernel can (ABI 6); for good.

    A ruleset that doesn't speak of renames and links between folders (REFER) denies them, as soon as another speaks of
    files. One that does forbids mounts, and whoever needs them (`mounts`) restricts no files by Landlock.
    """
    if abi() < 6:
        return
    if mounts:
        _restrict(_create(0, 0, _SCOPES))
        return
    ruleset = _create(REFER, 0, _SCOPES)
    _allow(ruleset, b"/", REFER)
    _restrict(ruleset)


def restrict_files(rules: list[tuple[bytes, int]], *, deny_tcp: bool) -> None:
    """Allow on the paths what the rules say, and below them, and nothing else anywhere; for good.

    Signals are the launcher's scope's, not this one's, so that one command can end what another started. A path that
    can't be opened allows nothing. Raises OSError when the kernel refuses.
    """
    version = abi()
    newest = _NEWEST_FILE_RIGHT.get(version, IOCTL_DEV)
    handled = newest * 2 - 1
    ruleset = _create(handled, _TCP if deny_tcp and version >= 4 else 0, 0, version)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        _restrict(ruleset)
    finally:
        os.close(ruleset)


def no_new_privileges() -> None:
    """Let no program started from here gain rights (setuid, file capabilities); for good."""
    if libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")


def keep_rights(kept: int) -> None:
    """Keep of what this process may what is in `kept` (bits by the numbers of capabilities), and hand on no other.

    Who may not narrow what programs of root's get (CAP_SETPCAP) has it narrowed all the same: without new privileges a
    program gets none that isn't there before it. What is inherited is beside that, and emptied.
    """
    for capability in range(_LAST_CAPABILITY + 1):
        if not kept & 1 << capability and libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # the kernel knows no more of them, or lets none be dropped
    no_new_privileges()
    had = ctypes.create_string_buffer(24)
    _done(libc().capget(_OWN_CAPABILITIES, had))
    fields = struct.unpack("=6I", had.raw)
    low, high = fields[1] & kept & 0xFFFF_FFFF, fields[4] & kept >> 32
    _done(libc().capset(_OWN_CAPABILITIES, struct.pack("=6I", low, low, 0, high, high, 0)))


def _done(answer: int) -> None:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "capabilities")


def _create(files: int, network: int, scopes: int, version: int = 6) -> int:
    fields = [files] + [network] * (version >= 4) + [scopes] * (version >= 6)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))


def _allow(ruleset: int, path: bytes, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _ON_FILES
        if rights:
            rule = struct.pack("=Qi", rights, place)
            _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(place)


def _restrict(ruleset: int) -> None:
    no_new_privileges()
    _call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def _call(number: int, *arguments: object) -> int:
    answer: int = libc().syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"landlock call {number}")
    return answer
