"""Writes where mounts make it hard; run as a process in a mount namespace of its own (`unshare -rm`).

Prints one JSON line for each case: how the write ended and what the file holds afterwards. Mounts leave with the process.
"""

import ctypes
import json
import os
import sys

from dogu.contract.errors import ToolError
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots

_RDONLY, _REMOUNT, _BIND = 1, 32, 4096
_LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Call mount(2)."""
    if _LIBC.mount(source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None):
        raise OSError(ctypes.get_errno(), "mount", target)


def told(case: str, folder: str, new: bytes) -> None:
    """Write `f` of the folder and tell how it went."""
    roots = Roots(folder)
    try:
        LocalFiles(roots).write("f", new, None)
        ended = "done"
    except ToolError as error:
        ended = error.kind.value
    with open(f"{folder}/f", "rb") as file:
        content = file.read()
    left = sorted(set(os.listdir(folder)) - {"f"})
    print(json.dumps({"case": case, "ended": ended, "is_new": content == new, "is_old": content == OLD, "left": left}))


OLD = b"o" * 20_000


def main(base: str) -> None:
    """Run the cases below a folder."""
    for case in ("full", "bound", "read_only"):
        os.mkdir(f"{base}/{case}")
    mount("none", f"{base}/full", "tmpfs", data="size=64k")
    for case in ("full", "bound", "read_only"):
        with open(f"{base}/{case}/f", "wb") as file:
            file.write(OLD)
    with open(f"{base}/elsewhere", "wb") as file:
        file.write(OLD)
    mount(f"{base}/elsewhere", f"{base}/bound/f", flags=_BIND)
    mount(f"{base}/read_only", f"{base}/read_only", flags=_BIND)
    mount("none", f"{base}/read_only", flags=_BIND | _REMOUNT | _RDONLY)
    told("full", f"{base}/full", b"n" * 300_000)
    told("bound", f"{base}/bound", b"new")
    told("read_only", f"{base}/read_only", b"new")
    with open(f"{base}/elsewhere", "rb") as file:
        print(json.dumps({"case": "elsewhere", "is_new": file.read() == b"new"}))


if __name__ == "__main__":
    main(sys.argv[1])
