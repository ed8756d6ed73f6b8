"""Which calls of a command change names or files, and where their arguments are. Standard library only.

Source: numbers from asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

from dogu.workspace.launcher.notices import tell
from dogu.workspace.launcher.seccomp import telling

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Call(NamedTuple):
    """What a call does, and the places of its arguments: a descriptor, a path (`notices.path_of`), flags.

    `how` is the place of an open's own flags, `cuts` of the length that a file is cut or stretched to.
    """

    does: str
    folder: int | None = None
    path: int | None = None
    follows: bool = False
    flags: int | None = None
    how: int | None = None
    cuts: int | None = None


_OPEN, _OPENAT = Call("open", None, 0, follows=True, how=1), Call("open", 0, 1, follows=True, how=2)
BIND = Call("make")
OPEN_ANYHOW, _CREATE = Call("open", 0, 1, follows=True), Call("open", None, 0, follows=True)
_CUT, _CUT_OPEN, FALLOCATE = (
    Call("change", None, 0, True, cuts=1),
    Call("change", 0, cuts=1),
    Call("change", 0, flags=1, cuts=2),
)
_MAKE, _MAKEAT = Call("make", None, 0), Call("make", 0, 1)
_SET_LINK = Call("change", None, 0)
_REMOVE, _REMOVE_FOLDER, _REMOVEAT = Call("unlink", None, 0), Call("rmdir", None, 0), Call("unlink", 0, 1, flags=2)
_LINKAT = Call("link", 0, 1, flags=4)
_RENAME, _RENAMEAT = Call("rename", None, 0), Call("rename", 0, 1, flags=4)
_SET, _SETAT = Call("change", None, 0, follows=True), Call("change", 0, 1, follows=True, flags=3)
_SETAT2, _SETAT4 = (Call("change", 0, 1, follows=True, flags=place) for place in (2, 4))
_SET_OPEN = Call("change", 0)  # also by a descriptor that can only read: that of a folder
CALLS: dict[str, dict[int, Call]] = {
    "x86_64": {
        **{2: _OPEN, 85: _CREATE, 257: _OPENAT, 437: OPEN_ANYHOW},  # open, creat, openat, openat2
        **{76: _CUT, 77: _CUT_OPEN, 285: FALLOCATE},  # truncate, ftruncate
        **{82: _RENAME, 264: Call("rename", 0, 1), 316: _RENAMEAT},
        **{87: _REMOVE, 84: _REMOVE_FOLDER, 263: _REMOVEAT},
        **{83: _MAKE, 258: _MAKEAT, 133: _MAKE, 259: _MAKEAT},  # mkdir, mknod
        **{86: Call("link", None, 0), 265: _LINKAT, 88: Call("make", None, 1)},
        266: Call("make", 1, 2),  # symlinkat
        **{90: _SET, 268: Call("change", 0, 1, follows=True), 452: _SETAT},  # chmod
        **{92: _SET, 94: _SET_LINK, 260: _SETAT4},  # chown
        **{132: _SET, 235: _SET, 261: Call("change", 0, 1, follows=True), 280: _SETAT},  # utimes
        **{188: _SET, 189: _SET_LINK, 197: _SET, 198: _SET_LINK},  # xattrs
        **{49: BIND, 463: _SETAT2, 466: _SETAT2},  # bind, setxattrat, removexattrat
        **{91: _SET_OPEN, 93: _SET_OPEN, 190: _SET_OPEN, 199: _SET_OPEN},  # fchmod, fchown, fsetxattr, fremovexattr
    },
    "aarch64": {
        **{
            56: _OPENAT,
            437: OPEN_ANYHOW,
            45: _CUT,
            46: _CUT_OPEN,
            47: FALLOCATE,
            38: Call("rename", 0, 1),
            276: _RENAMEAT,
            35: _REMOVEAT,
        },
        **{34: _MAKEAT, 33: _MAKEAT, 37: _LINKAT, 36: Call("make", 1, 2)},
        **{53: Call("change", 0, 1, follows=True), 452: _SETAT, 54: _SETAT4, 88: _SETAT},
        **{5: _SET, 6: _SET_LINK, 14: _SET, 15: _SET_LINK},
        **{200: BIND, 463: _SETAT2, 466: _SETAT2},
        **{52: _SET_OPEN, 55: _SET_OPEN, 7: _SET_OPEN, 16: _SET_OPEN},
    },
}
# Told only if an argument has any of these bits: opens that write, times that are set by a path.
_FLAGGED = {
    "x86_64": ((2, 1, WRITES), (257, 2, WRITES), (280, 1, 0xFFFFFFFF)),
    "aarch64": ((56, 2, WRITES), (88, 1, 0xFFFFFFFF)),
}


def tell_writes(to: socket.socket) -> bool:
    """Have them told; see `notices.tell`. The last step before exec: what this process opens to write itself waits."""
    machine = os.uname().machine
    flagged = _FLAGGED[machine]
    others = CALLS[machine].keys() - {number for number, _, _ in flagged}
    return tell(to, telling(machine, sorted(others), flagged))
