"""What is left when dogu is killed: `DOGU_KILLS` (60) kills at random moments of commands, undos and redos.

Somebody else writes beside it all the while. After each kill the next dogu, asked for something else, must leave the
tree as it was before or after, nothing of its own in the workspace, and nothing of the other's touched.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.measure import row

_FILES = 400
_COMMAND = (
    "sed -i s/a/b/ d/*; rm -rf gone; mv a c; mkdir -p new/deep; cp -r d new/deep; ln c link; chmod 600 keep; exit 0"
)


def main() -> None:
    """Print what was found; exits with 1 where a tree was half done or something was left."""
    kills = int(os.environ.get("DOGU_KILLS", "60"))
    random.seed(int(os.environ.get("DOGU_SEED", "14")))
    found = {"before": 0, "after": 0, "wrong": 0, "not killed": 0}
    for number in range(kills):
        with tempfile.TemporaryDirectory() as base:
            result = _one(Path(base), ("command", "undo", "redo")[number % 3])
            found[result] += 1
    row(
        f"{kills} kills of commands, undos and redos of {2 * _FILES} paths",
        ", ".join(f"{n} {k}" for k, n in found.items()),
        "0 wrong",
    )
    sys.exit(bool(found["wrong"]))


def _one(base: Path, phase: str) -> str:
    root, theirs = base / "work", base / "work/theirs"
    for name in ("d", "gone", "theirs"):
        (root / name).mkdir(parents=True)
        for number in range(_FILES if name != "theirs" else 0):
            (root / name / f"{number}").write_text(f"a {name} {number}\n" * 20)
    for name in ("a", "keep"):
        (root / name).write_text(f"{name}\n")
    is_over, written = threading.Event(), list[Path]()
    other = threading.Thread(target=_write, args=(theirs, is_over, written))
    other.start()
    try:
        return _killed(base, root, phase)
    finally:
        is_over.set()
        other.join()
        assert [path.read_text() for path in written] == [path.name for path in written]


def _killed(base: Path, root: Path, phase: str) -> str:
    call = ["call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": _COMMAND})]
    states = [_tree(root)]
    times: list[float] = []
    steps = [call, ["undo"], ["redo"]][: 1 + ("command", "undo", "redo").index(phase)]
    for argv in steps[:-1]:
        started = time.monotonic()
        _dogu(base, root, argv).communicate()
        times.append(time.monotonic() - started)
        states.append(_tree(root))
    running = _dogu(base, root, steps[-1])
    try:
        running.wait(0.4 + random.random() * (times[-1] if times else 2.0))
        result = "not killed"
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGKILL)
        running.wait()
        result = ""
    time.sleep(0.3)  # its supervisors end what they keep
    _dogu(base, root, ["sessions"]).communicate()
    now = _tree(root)
    left = list(root.rglob(".dogu-*"))
    if phase == "command":
        _dogu(base, root, ["undo"]).communicate()
        is_right = now == states[0] or _tree(root) == states[0]
    else:
        _dogu(base, root, ["redo" if phase == "undo" else "undo"]).communicate()
        is_right = now in states and _tree(root) in states
    if left or not is_right:
        print(f"{phase}: left {left}, {sorted(set(now.items()) ^ set(states[-1].items()))[:4]}", flush=True)
        return "wrong"
    return result or ("before" if now == states[-1] else "after")


def _dogu(base: Path, root: Path, argv: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HOME": str(base / "home"), "DOGU_HOME": str(base / "state")}
    (base / "home").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "dogu", *argv],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _write(folder: Path, is_over: threading.Event, written: list[Path]) -> None:
    while not is_over.wait(0.02):
        path = folder / f"{len(written)}"
        path.write_text(path.name)
        written.append(path)


def _tree(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in root.rglob("*"):
        if "theirs" not in path.parts:
            status = path.lstat()
            content = path.read_text() if path.is_file() else ""
            found[str(path.relative_to(root))] = f"{status.st_mode:o} {status.st_nlink if content else 0} {content}"
    return found


if __name__ == "__main__":
    main()
