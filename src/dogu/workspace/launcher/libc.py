"""The C library, for calls that Python has no name for: opened once, and there in every process forked from here.

Standard library only: runs in the launcher, in supervisors and between fork and exec.
"""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """Return it; its calls leave their error to `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)
