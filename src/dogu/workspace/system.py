"""Which system this is: asked here, and by the seam's own modules (`syscalls`, `openat`, `launcher`), nowhere else.

`linux` has what dogu uses of that kernel: `openat2`, `/proc`, subreapers, packets between processes, namespaces.
`posix` is any Unix without it, macOS among them, a Linux without `/proc`, and one where `DOGU_PLATFORM=posix` says so.
Standard library only: the launcher asks too.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from contextlib import suppress
from enum import Enum

if sys.platform != "win32":
    import fcntl
    import resource
    import termios


class System(Enum):
    """What there is to build on."""

    LINUX = "linux"
    POSIX = "posix"
    WINDOWS = "windows"


def _system() -> System:
    if sys.platform == "win32":
        return System.WINDOWS
    is_forced = os.environ.get("DOGU_PLATFORM", "") == "posix"
    has_all = sys.platform == "linux" and os.path.exists("/proc/self/task")  # hidden, it would show no descendant
    return System.LINUX if has_all and not is_forced else System.POSIX


SYSTEM = _system()
IS_LINUX = SYSTEM is System.LINUX
IS_WINDOWS = SYSTEM is System.WINDOWS
IS_MAC = sys.platform == "darwin"
DEFAULT_SHELL = "cmd" if IS_WINDOWS else "bash"
"""What reads commands where no setting says otherwise."""
_LEAST_FILE_BYTES = 4096
_LEAST_OPEN_FILES = 64
_LEAST_PROCESSES = 32
_GET_PATH = 50  # fcntl(2) of macOS
_LONGEST_PATH_BYTES = 1024


def own_ids() -> tuple[int, int]:
    """Return the user and the group that this process is; (0, 0) on Windows, which has none such."""
    return (0, 0) if sys.platform == "win32" else (os.geteuid(), os.getegid())


def own_groups() -> frozenset[int]:
    """Return every group that this process is of; as `own_ids`."""
    return frozenset({0}) if sys.platform == "win32" else frozenset({os.getegid(), *os.getgroups()})


def shell_called(program: str) -> str:
    """Return the shell that a setting means here: elsewhere than on Windows always bash."""
    return program if IS_WINDOWS and program != "auto" else DEFAULT_SHELL


def system_name() -> str:
    """Return what this system is called, its version and its machine, for a reader."""
    if sys.platform == "win32":
        found = sys.getwindowsversion()
        return f"Windows {found.major}.{found.minor}.{found.build}, {os.environ.get('PROCESSOR_ARCHITECTURE', '?')}"
    found = os.uname()
    return f"{found.sysname} {found.release}, {found.machine}"


def no_file_may_grow() -> bool:
    """Whether a limit of this process leaves no file of any use (`ulimit -f`)."""
    if sys.platform == "win32":
        return False
    return 0 <= resource.getrlimit(resource.RLIMIT_FSIZE)[0] < _LEAST_FILE_BYTES


def few_files_may_be_open() -> bool:
    """Whether the limit of this process leaves too few open files for what it starts (`ulimit -n`)."""
    if sys.platform == "win32":
        return False
    return 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _LEAST_OPEN_FILES


def few_processes_may_run() -> bool:
    """Whether the limit of this person leaves too few processes for what it starts (`ulimit -u`)."""
    if sys.platform == "win32":
        return False
    return 0 <= resource.getrlimit(resource.RLIMIT_NPROC)[0] < _LEAST_PROCESSES


def window_size() -> tuple[int, int, int, int]:
    """Return the rows, columns, width and height (in pixels) of standard output's terminal; 0 for what isn't told."""
    if sys.platform == "win32":
        return 0, 0, 0, 0
    try:
        said = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return 0, 0, 0, 0
    rows, columns, wide, high = struct.unpack("HHHH", said)
    return rows, columns, wide, high


def end_group(leader: int) -> None:
    """Kill what is left of a process group; Windows has none."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(leader, signal.SIGKILL)


def path_of(descriptor: int) -> str:
    """Return the path of an open file or folder, as the kernel knows it; "" where it doesn't tell. For naming only."""
    if sys.platform == "win32":
        from dogu.workspace.windows_handles import final_path, handle_of

        return final_path(handle_of(descriptor))
    try:
        if not IS_MAC:
            return os.readlink(f"/proc/self/fd/{descriptor}")
        return os.fsdecode(fcntl.fcntl(descriptor, _GET_PATH, bytes(_LONGEST_PATH_BYTES)).rstrip(b"\0"))
    except OSError:
        return _path_upwards(descriptor)


def _path_upwards(descriptor: int) -> str:
    """Return the path of an open folder by looking for it in its parent, and so on; "" for anything else."""
    names: list[str] = []
    handle = os.dup(descriptor)
    try:
        while True:
            above = os.open("..", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=handle)
            below = os.fstat(handle)[1:3]
            os.close(handle)
            handle = above
            if os.fstat(above)[1:3] == below:
                return "/" + "/".join(reversed(names))
            entries = os.listdir(above)
            is_it = (os.stat(name, dir_fd=above, follow_symlinks=False)[1:3] == below for name in entries)
            names.append(next(name for name, found in zip(entries, is_it, strict=True) if found))
    except (OSError, StopIteration):
        return ""
    finally:
        os.close(handle)
