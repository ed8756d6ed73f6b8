"""What lives on when dogu is killed while its commands start, run and detach: `DOGU_KILLS` (300) at random moments.

Each command leaves daemons of each kind, one of which ignores signals. `DOGU_PLATFORM=posix` does the same
without what only Linux has. Needs root, for a namespace of processes: whatever lives in it is one of dogu's.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import row

_DAEMONS = (
    "sleep 9001 & setsid sleep 9002 & (setsid bash -c 'sleep 9003 & exit' &); nohup sleep 9004 >/dev/null 2>&1 & "
)
_COMMANDS: list[dict[str, object]] = [
    {"command": _DAEMONS + "echo begun; sleep 9005"},
    {"command": _DAEMONS + "exit"},
    {"command": _DAEMONS + "(trap '' HUP TERM INT; sleep 9006) & sleep 9007"},
    {"command": _DAEMONS + "echo begun; sleep 9008", "pty": True, "wait_for": "never"},
]
_ENDED_WITHIN_S = 20.0


def main() -> None:
    """Print how many kills left something; exits with 1 when one did."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]
    sys.exit(subprocess.call([*inside, sys.executable, "-c", "from bench.leftovers import run; run()"]))


def run() -> None:
    """Kill, and look, in a namespace where all processes are ours."""
    kills = int(os.environ.get("DOGU_KILLS", "300"))
    random.seed(int(os.environ.get("DOGU_SEED", "18")))
    found = {"before it ran": 0, "while it ran": 0, "left": 0}
    slowest_s = 0.0
    for number in range(kills):
        with tempfile.TemporaryDirectory() as base:
            ran, left, took_s = _one(Path(base))
        found["left" if left else "while it ran" if ran else "before it ran"] += 1
        slowest_s = max(slowest_s, took_s)
        if left or number % 50 == 49:
            print(number + 1, found, left, flush=True)
    platform = os.environ.get("DOGU_PLATFORM", sys.platform)
    summary = ", ".join(f"{count} {name}" for name, count in found.items())
    row(f"{kills} kills with daemons, {platform}", f"{summary}; gone within {slowest_s:.1f} s", "0 left")
    sys.exit(bool(found["left"]))


def _one(base: Path) -> tuple[bool, list[str], float]:
    """Kill one dogu; return whether its command had begun, what is left of it, and how long the rest took to go."""
    (base / "home").mkdir()
    call = json.dumps({"tool": "run_shell_command", "args": random.choice(_COMMANDS)})
    child = subprocess.Popen(
        [sys.executable, "-m", "dogu", "call", "--jsonl", "--approval-mode", "yolo"],
        cwd=base,
        env={**os.environ, "HOME": str(base / "home"), "DOGU_HOME": str(base / "state")},
        stdin=subprocess.PIPE,  # held open: the session lasts until the kill, also past the command's end
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdin is not None
    child.stdin.write(call.encode() + b"\n")
    child.stdin.flush()
    if random.random() < 0.7:  # from its first fork on
        deadline = time.monotonic() + 10
        while not _sleepers() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(random.random() * 0.1)
    else:
        time.sleep(random.random() * 1.5)
    ran = bool(_sleepers())
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdin.close()
    left: list[str] = []
    began = time.monotonic()
    is_late = not ran  # a launcher that was only just told may yet start it
    while is_late or ((left := _sleepers()) and time.monotonic() - began < _ENDED_WITHIN_S):
        time.sleep(0.5 if is_late else 0.05)
        is_late = False
    return ran, left, time.monotonic() - began


def _sleepers() -> list[str]:
    found: list[str] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if "sleep 900" in words and "dogu" not in words and state != "Z":
                found.append(f"{name}: {words}")
    return found


if __name__ == "__main__":
    main()
