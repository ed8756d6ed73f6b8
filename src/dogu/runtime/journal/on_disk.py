"""Has what was put in its place written to the disk: a few names one by one, many by one call for the file system."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress

from dogu.contract.errors import ToolError
from dogu.workspace import fs
from dogu.workspace.openat import Place
from dogu.workspace.syscalls import sync_file_system
from dogu.workspace.system import IS_WINDOWS

_FEW = 8
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


def sync(names: Mapping[str, str], place_of: Callable[[str], AbstractContextManager[Place]]) -> None:
    """Sync names, each in the folder that its path lies in (`.`: the folder itself); what can't be isn't."""
    if IS_WINDOWS or len(names) <= _FEW:
        for path, name in names.items():
            with suppress(ToolError, OSError), place_of(path) as place:
                descriptor = fs.open(name, _OPEN, dir_fd=place.parent)
                try:
                    fs.fsync(descriptor)
                finally:
                    os.close(descriptor)
        return
    devices: set[int] = set()
    for path in {os.path.dirname(path): path for path in names}.values():
        with suppress(ToolError, OSError), place_of(path) as place:
            device = os.fstat(place.parent).st_dev
            if device not in devices:
                devices.add(device)
                sync_file_system(place.parent)
