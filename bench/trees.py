"""What a command costs with all that it starts: CPU by the operating system's own accounting, memory as shared out."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LIBC = ctypes.CDLL(None)
_KCMP_VM = 1  # kcmp(2)


@dataclass(frozen=True)
class Tree:
    """A process and all it started, to the end: CPU and wall seconds, the most memory at once in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    status: int
    output: str


def tree(words: Sequence[str], environment: Mapping[str, str]) -> Tree:
    """Run a command to its end, looking at all it started five times a second."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
        peak = 0.0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, memory_mb(process.pid))
            time.sleep(0.2)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        output = said.read().decode(errors="replace")
    wall_s = time.perf_counter() - started
    return Tree(usage.ru_utime + usage.ru_stime, wall_s, peak, process.returncode, output)


def memory_mb(pid: int) -> float:
    """Return what a process and all it started have of the memory now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        waiting += [each for each in children.get(one, ()) if not _shares_all(one, each)]
        with suppress(OSError):
            rollup = Path("/proc", str(one), "smaps_rollup").read_text()
            found += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
    return found


def _shares_all(parent: int, child: int) -> bool:
    """Whether a child has its parent's memory itself, as one of `vfork` until it is another program."""
    number = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
    return number is not None and _LIBC.syscall(number, parent, child, _KCMP_VM, 0, 0) == 0
