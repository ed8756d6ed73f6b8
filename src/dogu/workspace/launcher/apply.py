"""Between fork and exec: put a sandbox's order into force. Standard library only."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from dogu.workspace.launcher import landlock as sandbox_landlock
from dogu.workspace.launcher import view
from dogu.workspace.launcher.descriptors import SECCOMP_NUMBER
from dogu.workspace.launcher.kept_view import KeptView
from dogu.workspace.launcher.libc import libc

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

# What root in a container still has and no command needs: raw devices, other processes, the kernel, files by handle.
_DANGEROUS_CAPABILITIES = (2, 9, 12, 13, 16, 17, 19, 20, 21, 22, 24, 25, 27, 30, 32, 33, 34, 38, 39, 40)
_KEPT = (1 << 64) - 1 & ~sum(1 << capability for capability in _DANGEROUS_CAPABILITIES)


def apply(order: dict[str, Any], seen: view.Steps | KeptView | None, directory: int) -> None:
    """Give up rights as ordered: `landlock` {rules, deny_tcp}, `seccomp` (a program), or both left to bubblewrap.

    With `outer`, the command is bubblewrap: it gets the filter as a descriptor and loads it last. Unless there is a
    view (`seen`) to be made, or entered, here in its stead, in which the directory, a descriptor, is gone to. Raises
    OSError.
    """
    if order.get("outer") and not seen:
        _hand_over(order["seccomp"])
        return
    if isinstance(seen, KeptView):
        seen.enter(directory)
    elif seen:
        view.enter(seen, directory)
    else:
        sandbox_landlock.keep_rights(_KEPT)
    landlock = order.get("landlock")
    if landlock:
        sandbox_landlock.restrict_files(landlock["rules"], deny_tcp=landlock["deny_tcp"])
    if order.get("seccomp"):
        _filter(order["seccomp"])


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def _filter(program: bytes) -> None:
    argument = _Program(len(program) // 8, program)
    if libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(argument), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def _hand_over(program: bytes) -> None:
    descriptor = os.memfd_create("filter", 0)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, SECCOMP_NUMBER, inheritable=True)
    if descriptor != SECCOMP_NUMBER:
        os.close(descriptor)
