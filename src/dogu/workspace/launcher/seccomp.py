"""The system calls a sandboxed command may not make, as a seccomp program. Standard library only, pure.

What is refused: looking into, steering or limiting other processes, mounting, new namespaces, kernel keys, modules
and programs, io_uring (it opens files behind a filter's back), typing into a terminal, unusual address families.
Source: seccomp(2), linux/filter.h, linux/audit.h; numbers from asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from functools import cache

# name -> (x86_64, aarch64); None where the machine has no such call
_REFUSED: dict[str, tuple[int, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "setns": (308, 268),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "syslog": (103, 116),
    "open_by_handle_at": (304, 265),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "vhangup": (153, 58),
    "uselib": (134, None),
    "modify_ldt": (154, None),
    "fanotify_init": (300, 262),
}
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_UNSHARE = (272, 97)
_PRLIMIT = (302, 261)
_IOCTL = (16, 29)
_SOCKET = (41, 198)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH

_NEW_NAMESPACES = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_X32 = 0x40000000
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data; arguments' lower halves
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_TELL = 0x7FC00000
_EPERM = 0x00050000 | errno.EPERM
_ENOSYS = 0x00050000 | errno.ENOSYS


def is_known(machine: str) -> bool:
    """Whether there is a program for a machine (`os.uname().machine`)."""
    return machine in _MACHINES


@cache
def program(machine: str, families: tuple[int, ...]) -> bytes:
    """Return the filter as an array of struct sock_filter; only sockets of these address families can be made.

    A call in another machine's manner (32-bit, x32) fails with ENOSYS, a refused one with EPERM; clone3, whose flags a
    filter can't see, with ENOSYS, and every libc then uses clone.
    """
    column, arch = _MACHINES[machine]
    lines = [_line(_LOAD, _ARCH), _line(_EQUAL, arch, 1, 0), _line(_RETURN, _ENOSYS), _line(_LOAD, _NUMBER)]
    if machine == "x86_64":
        lines += [_line(_AT_LEAST, _X32, 0, 1), _line(_RETURN, _ENOSYS)]
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, _EPERM)]
    lines += [_line(_EQUAL, _CLONE3[column], 0, 1), _line(_RETURN, _ENOSYS)]
    for flagged in (_CLONE, _UNSHARE):
        lines += _on_argument(flagged[column], _FIRST, [_line(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _line(_RETURN, _EPERM)])
    lines += _on_argument(_PRLIMIT[column], _FIRST, [_line(_EQUAL, 0, 1, 0), _line(_RETURN, _EPERM)])
    typing = [_line(_EQUAL, request, 0, 1) + _line(_RETURN, _EPERM) for request in (_TIOCSTI, _TIOCLINUX)]
    lines += _on_argument(_IOCTL[column], _SECOND, _split(typing))
    made = _split([_line(_EQUAL, family, 0, 1) + _line(_RETURN, _ALLOW) for family in families])
    lines += _on_argument(_SOCKET[column], _FIRST, [*made, _line(_RETURN, _EPERM)])
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def telling(machine: str, numbers: Sequence[int], flagged: Sequence[tuple[int, int, int]] = ()) -> bytes:
    """Return a filter, as `program` does, that tells these calls to who listens and lets all others be.

    `flagged` are calls that are told if an argument has any of some bits: number, place of the argument, bits.
    """
    _, arch = _MACHINES[machine]
    lines = [_line(_LOAD, _ARCH), _line(_EQUAL, arch, 1, 0), _line(_RETURN, _ALLOW), _line(_LOAD, _NUMBER)]
    for number in numbers:
        lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, _TELL)]
    for number, argument, bits in flagged:
        checks = [_line(_ANY_BIT, bits, 0, 1), _line(_RETURN, _TELL)]
        lines += _on_argument(number, _FIRST + argument * (_SECOND - _FIRST), checks)
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _split(lines: list[bytes]) -> list[bytes]:
    joined = b"".join(lines)
    return [joined[start : start + 8] for start in range(0, len(joined), 8)]


def _on_argument(number: int, offset: int, checks: list[bytes]) -> list[bytes]:
    """Look at one argument of a call; what the checks don't refuse is allowed."""
    checks = [_line(_LOAD, offset), *checks, _line(_RETURN, _ALLOW)]
    return [_line(_EQUAL, number, 0, len(checks)), *checks]
