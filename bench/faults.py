"""What is left when the system refuses a call in the middle of an undo, a redo or a commit: with strace's `--inject`.

The n-th call of each kind fails once, for every n that there is. Nothing may be torn (each path holds what it held
before or what it shall hold, or is missing and told), the words are no defect's, and the next undo finishes.
`DOGU_FAULTS` names the calls (default: all of the list); needs strace, and is passed over where that isn't.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import row

_CALLS = (
    "renameat2 rename linkat link unlinkat unlink rmdir mkdir mkdirat symlinkat symlink fsync fdatasync syncfs fchmod "
    "chmod fchmodat setxattr fsetxattr utimensat pwrite64 flock"
)
_MOST = 60
_LARGE = 1_000_000
_MADE = (
    "mkdir -p d/e gone/x mv; for i in 1 2 3; do echo a$i > d/$i; echo g$i > gone/x/$i; echo m$i > mv/$i; done; "
    "head -c 1500000 /dev/urandom > large; head -c 2000000 /dev/urandom > larger; echo l > l1; ln l1 l2; ln -s l1 s; "
    "echo p > p; echo k > keep"
)
_COMMAND = (
    "echo new >> d/1; echo n > n1; mkdir -p nd/x; echo 1 > nd/x/1; rm -r gone; mv mv mv2; echo b >> large; rm larger; "
    "echo z >> l1; rm s; ln -s keep s; chmod 600 keep; rm p; mkdir p; echo q > p/q; chmod 700 d/e; ln d/2 d/22"
)
_Tree = dict[str, str]


class Faults:
    """One phase, begun again from the same state for each fault."""

    def __init__(self, base: Path, phase: str) -> None:
        self._phase = phase
        self._base, self._root, self._copy, self._log = base / "base", base / "base/work", base / "copy", base / "log"
        self._root.mkdir(parents=True)
        (self._base / "home").mkdir()
        subprocess.run(["bash", "-c", _MADE], cwd=self._root, check=True)
        before = self._tree()
        self._dogu("call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": _COMMAND}))
        after = self._tree()
        if phase == "redo":
            self._dogu("undo")
        self._start, self._goal = (after, before) if phase == "undo" else (before, after)
        subprocess.run(["cp", "-a", self._base, self._copy], check=True)

    def fail(self, call: str, number: int) -> list[str] | None:
        """Let one call fail and say what is wrong after; None where there is no such call."""
        shutil.rmtree(self._base)
        subprocess.run(["cp", "-a", self._copy, self._base], check=True)
        inject = f"inject={call}:error=EIO:when={number}"
        strace = ("strace", "-f", "-qq", "-o", str(self._log), "-e", f"trace={call}", "-e", inject)
        status, words = self._dogu(self._phase, before=strace)
        if "INJECTED" not in self._log.read_text(errors="replace"):
            return None
        now = self._tree()
        wrong = [f"torn: {path}" for path in {*now, *self._start, *self._goal} if self._is_torn(path, now)]
        if status == 0 and now != self._goal:
            wrong.append("untold")
        if "defect" in words or "Traceback" in words or "in this very moment" in words:
            wrong.append(f"said: {words[-200:]}")
        if now != self._goal or status:
            self._dogu(self._phase)
        if self._tree() != self._goal:
            wrong.append("not finished by the next one")
        wrong += [f"left: {path}" for path in self._base.rglob(".dogu-*")]
        return wrong

    def _is_torn(self, path: str, now: _Tree) -> bool:
        held = now.get(path, "")
        is_midway = not held or held.startswith("40")  # a folder that hasn't got its mode yet
        return not is_midway and held not in (self._start.get(path), self._goal.get(path))

    def _dogu(self, *argv: str, before: tuple[str, ...] = ()) -> tuple[int, str]:
        done = subprocess.run(
            [*before, sys.executable, "-m", "dogu", *argv],
            cwd=self._root,
            env={**os.environ, "HOME": str(self._base / "home"), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def _tree(self) -> _Tree:
        found: _Tree = {}
        for path in self._root.rglob("*"):
            status = path.lstat()
            held = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
            links = 1 if path.is_dir() else status.st_nlink
            links = 1 if len(held) > _LARGE else links  # a large one may be kept by a second name
            found[str(path.relative_to(self._root))] = f"{status.st_mode:o} {links} {held}"
        return found


def main() -> None:
    """Print what was found; exits with 1 where a fault cost more than its call."""
    if shutil.which("strace") is None:
        print("There is no strace here.")
        return
    wrong = 0
    for phase in ("undo", "redo"):
        count = 0
        with tempfile.TemporaryDirectory() as base:
            faults = Faults(Path(base), phase)
            for call in os.environ.get("DOGU_FAULTS", _CALLS).split():
                for number in range(1, _MOST):
                    found = faults.fail(call, number)
                    if found is None:
                        break
                    count += 1
                    wrong += bool(found)
                    for each in found:
                        print(f"{phase}, {call} {number}: {each}", flush=True)
        row(f"{count} refused calls of {phase}", f"{wrong} wrong so far", "0")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
