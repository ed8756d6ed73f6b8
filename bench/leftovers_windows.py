"""What lives on in Windows when dogu is ended at once while commands start, run and detach: `DOGU_KILLS` (300) times.

By Windows' own Python: `.windows/winpy -m bench leftovers_windows`, with the probes of `scripts/windows.sh`, of which
`stays` begins itself again outside of its console, its group and its job, as far as it is let. Whatever is called so is
one of dogu's.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import row

_ENDED_WITHIN_S = 20.0


def main() -> None:
    """Print how many kills left something; exits with 1 when one did."""
    kills = int(os.environ.get("DOGU_KILLS", "300"))
    random.seed(int(os.environ.get("DOGU_SEED", "18")))
    probe = os.path.join(os.environ["DOGU_TEST_PROBES"], "stays.exe").replace("/", "\\")
    orders: list[dict[str, object]] = [
        {"command": f'start "" /b "{probe}" again & "{probe}" again'},
        {"command": f'start "" /b "{probe}" again'},
        {"command": f'"{probe}" again | "{probe}" again'},
        {"command": f'"{probe}" again', "pty": True, "wait_for": "never"},
    ]
    found = {"before it ran": 0, "while it ran": 0, "left": 0}
    slowest_s = 0.0
    for number in range(kills):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
            ran, left, took_s = _one(Path(base), random.choice(orders))
        found["left" if left else "while it ran" if ran else "before it ran"] += 1
        slowest_s = max(slowest_s, took_s)
        if left or number % 10 == 9:
            print(number + 1, found, left, flush=True)
    summary = ", ".join(f"{count} {name}" for name, count in found.items())
    row(f"{kills} kills with daemons, Windows", f"{summary}; gone within {slowest_s:.1f} s", "0 left")
    sys.exit(bool(found["left"]))


def _one(base: Path, args: dict[str, object]) -> tuple[bool, int, float]:
    """Kill one dogu; return whether its command had begun, how many are left, and how long the rest took to go."""
    (base / "home").mkdir()
    home = str(base / "home")
    child = subprocess.Popen(
        [sys.executable, "-m", "dogu", "call", "--jsonl", "--approval-mode", "yolo"],
        cwd=base,
        env={**os.environ, "HOME": home, "USERPROFILE": home, "DOGU_HOME": str(base / "state")},
        stdin=subprocess.PIPE,  # held open: the session lasts until the kill, also past the command's end
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps({"tool": "run_shell_command", "args": args}).encode() + b"\n")
    child.stdin.flush()
    began = time.monotonic()
    if random.random() < 0.8:  # from its first process on
        while not _staying() and time.monotonic() - began < 90:
            time.sleep(0.01)
        time.sleep(random.random() * 0.5)
    else:
        time.sleep(random.random() * 5)
    ran = bool(_staying())
    child.kill()
    child.wait()
    child.stdin.close()
    killed = time.monotonic()
    if not ran:  # a supervisor that was only just told may yet start it
        time.sleep(1)
    left = _staying()
    while left and time.monotonic() - killed < _ENDED_WITHIN_S:
        time.sleep(0.05)
        left = _staying()
    return ran, left, time.monotonic() - killed


def _staying() -> int:
    """How many such processes there are, as the system lists them."""
    if sys.platform != "win32":
        raise SystemExit("needs Windows: .windows/winpy -m bench leftovers_windows")
    import ctypes
    from ctypes import wintypes

    class Entry(ctypes.Structure):
        _fields_ = [
            ("size", wintypes.DWORD),
            ("numbers", wintypes.DWORD * 2),
            ("heap", ctypes.c_size_t),
            ("more", wintypes.DWORD * 5),
            ("name", wintypes.WCHAR * 260),
        ]

    kernel = ctypes.WinDLL("kernel32")
    kernel.CreateToolhelp32Snapshot.restype = wintypes.HANDLE
    snapshot = wintypes.HANDLE(kernel.CreateToolhelp32Snapshot(2, 0))
    entry, count = Entry(size=ctypes.sizeof(Entry)), 0
    is_one = kernel.Process32FirstW(snapshot, ctypes.byref(entry))
    while is_one:
        count += entry.name.lower() == "stays.exe"
        is_one = kernel.Process32NextW(snapshot, ctypes.byref(entry))
    kernel.CloseHandle(snapshot)
    return count


if __name__ == "__main__":
    main()
