"""What is left when dogu is killed: `DOGU_KILLS` (60) kills at random moments of each of its phases, in turn.

These are a command in a layer with its commit, one that is watched on the roots, an undo, a redo, finishing what a
killed one left (which is killed too), and going on with a session (`--resume`) that was killed in each of these, which
is killed too. Somebody else and another dogu write beside it all the while. After each kill
the next dogu, asked for something else, must leave the tree as it was before or after, nothing of its own in the
workspace, no process, no mount, and nothing of the others' touched. `DOGU_SEED` (14) chooses the moments.
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
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.measure import row

_FILES = 300
# In `dist` every other name is a folder, in `build` each of the others; some of `d` are one file with some of `named`.
_COMMANDS = (
    "sed -i s/a/b/ d/*; rm -rf gone; mv a c; mkdir -p new/deep; cp -r d new/deep; ln c link; chmod 600 keep",
    "mv dist old; mv build dist",
    "mv dist n; mv build dist; mv n build",
    "mv dist n; mv build dist; mv n build; mv gone build/0; mv d gone",
    "rm -rf dist; mv build dist; mkdir build; mv dist/0 build/1; mv dist/1 build/0",
    "cd dist; for i in *; do [ -d $i ] && mv $i/x n && rmdir $i && mv n $i || { mv $i n; mkdir $i; mv n $i/x; }; done",
    "for i in d/*; do rm $i; mkdir $i; echo b > $i/x; done; rm -rf gone; echo b > gone",
    "for i in named/*; do echo b >> $i; done; mv named/1 gone/; mv named n; mv gone named; mv n gone; ln d/9 dist/one",
    "for i in d/*; do ln -f $i gone/; done; mv dist/0 d/0; mv dist/1 d/n",
    "mv d n; mv gone d; mv n gone; mv d/5 gone/n; chmod -R g-r d; rm -rf named; ln -s d named",
)
_CALL = ("call", "--approval-mode", "yolo", "run_shell_command")
_RUN, _WATCHED = "{}; exit 0", "sleep 0 & {}; exit 0"
_PHASES: dict[str, list[tuple[str, ...]]] = {
    "command": [(*_CALL, _RUN)],
    "watched command": [(*_CALL, _WATCHED)],
    "undo": [(*_CALL, _RUN), ("undo",)],
    "redo": [(*_CALL, _RUN), ("undo",), ("redo",)],
    "finishing": [(*_CALL, _RUN), ("undo",), ("undo",)],
}
_RESUME = ("-p", "hi", "--resume", "--model", "offline")
_KILLED_BEFORE = {"finishing": "undo"} | {f"resume of {phase}": phase for phase in _PHASES if phase != "finishing"}
_PHASES.update({name: [*_PHASES[phase], _RESUME] for name, phase in _KILLED_BEFORE.items() if name != "finishing"})
_EARLIEST_S = 0.25
_AS_USER = ("unshare", "-Ur")


class Trial:
    """One folder with a workspace, in which one phase is killed; `longest_s` is how long each phase may take."""

    def __init__(self, base: Path, longest_s: dict[str, float]) -> None:
        self.base = base
        self.root = base / "work"
        self._command = random.choice(_COMMANDS)
        self._starts_with = random.choice(((), _AS_USER))
        self._longest_s = longest_s
        self._is_over = threading.Event()
        self._written: list[Path] = []
        for name in ("d", "gone", "theirs", "second", "dist", "build", "named"):
            (self.root / name).mkdir(parents=True)
        for number in range(_FILES):
            for name in ("d", "gone", "dist", "build")[: 4 if number < _FILES // 5 else 2]:
                path = self.root / name / f"{number}"
                if name == ("dist", "build")[number % 2]:
                    path.mkdir()
                    path /= "x"
                path.write_text(f"a {name} {number}\n" * 20)
            if number % 5 == 0:
                (self.root / "named" / f"{number}").hardlink_to(self.root / "d" / f"{number}")
        for name in ("a", "keep"):
            (self.root / name).write_text(f"{name}\n")

        self._before = self._tree()

    def run(self, phase: str) -> str:
        """Run a phase with others writing beside it, and say what it came to."""
        others = [threading.Thread(target=act) for act in (self._write, self._run_another)]
        for other in others:
            other.start()
        try:
            result = self._killed(phase)
        finally:
            self._is_over.set()
            for other in others:
                other.join()
        lost = [path for path in self._written if not path.exists() or path.read_text() != path.name]
        if lost:
            return self._wrong(phase, f"touched {lost[:3]}")
        # What was only watched may be theirs: with the user's word it is taken back, and theirs with it.
        if "watched" in phase and self._after(["undo", "--unsure"]) != self._before:
            return self._wrong(phase, "not taken back")
        return result

    def _killed(self, phase: str) -> str:
        steps, states = [self._with_command(argv) for argv in _PHASES[phase]], [self._before]
        for argv in steps[:-1]:
            if phase in _KILLED_BEFORE and argv is steps[-2]:
                self._kill(argv, _KILLED_BEFORE[phase])
            else:
                self._dogu(argv).communicate()
                states.append(self._tree())
        is_killed = self._kill(steps[-1], phase)
        left = self._left()
        self._dogu(["sessions"]).communicate()
        now = self._tree()
        temporary = [path for path in self.root.rglob(".dogu-*") if path.parent.name != "second"]  # of one that lives
        if "watched" in phase:
            self._dogu(["undo"]).communicate()
            is_right = True  # seen when the others are over
        elif phase in ("command", "finishing", "resume of command", "resume of undo"):
            # A user's layer can't hold all of these commands: such a one is watched, and its kill leaves it unsure.
            back = ["undo", "--unsure"] if self._starts_with else ["undo"]
            is_right = now == states[0] or self._after(back) == states[0]
        else:
            is_right = now in states and self._after(["redo" if phase == "undo" else "undo"]) in states
        if left or temporary or not is_right:
            differing = sorted(set(now.items()) ^ set(states[-1].items()))
            return self._wrong(phase, f"left {left} {temporary[:3]}, {differing[:4]}")
        return ("before" if now == states[-1] else "after") if is_killed else "not killed"

    def _with_command(self, argv: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            json.dumps({"command": word.format(self._command)}) if word in (_RUN, _WATCHED) else word for word in argv
        )

    def _kill(self, argv: Sequence[str], phase: str) -> bool:
        """Start a dogu and kill it at a moment that its phase reaches; False where it ended before that."""
        running = self._dogu(argv)
        started = time.monotonic()
        longest_s = self._longest_s.setdefault(phase, 3.0)
        try:
            running.wait(random.uniform(_EARLIEST_S, max(longest_s, 2 * _EARLIEST_S)))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            self._longest_s[phase] = longest_s * 1.02
            return True
        self._longest_s[phase] = time.monotonic() - started
        return False

    def _left(self) -> list[str]:
        """Return what is left of a killed one, once its supervisors have had their time to end it."""
        for _ in range(50):
            found = [*self._processes(), *self._mounts()]
            if not found:
                return []
            time.sleep(0.1)
        return [*self._processes(), *self._mounts()]

    def _processes(self) -> list[str]:
        pattern = f"{self.base}/home/.*layer-"
        return subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False).stdout.split()

    def _mounts(self) -> list[str]:
        """Return what is mounted over the workspace, or from the killed one's home, in whichever namespace lives."""
        found: set[str] = set()
        for path in Path("/proc").glob("[0-9]*/mountinfo"):
            with suppress(OSError):
                found |= {line for line in path.read_text(errors="replace").splitlines() if f"{self.base}/" in line}
        return sorted(found)

    def _after(self, argv: Sequence[str]) -> dict[str, str]:
        self._dogu(argv).communicate()
        return self._tree()

    def _dogu(self, argv: Sequence[str], home: str = "home") -> subprocess.Popen[bytes]:
        environment = {**os.environ, "HOME": str(self.base / home)}
        (self.base / home).mkdir(exist_ok=True)
        return subprocess.Popen(
            [*self._starts_with, sys.executable, "-m", "dogu", *argv],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _write(self) -> None:
        while not self._is_over.wait(0.02):
            path = self.root / "theirs" / f"{len(self._written)}"
            path.write_text(path.name)
            self._written.append(path)

    def _run_another(self) -> None:
        for number in range(100):
            path = self.root / "second" / f"s{number}"
            arguments = json.dumps({"file_path": str(path), "content": path.name})
            if self._dogu(["call", "--approval-mode", "yolo", "write_file", arguments], "another").wait() == 0:
                self._written.append(path)
            if self._is_over.wait(0.5):
                return

    def _tree(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.root.rglob("*"):
            if not {"theirs", "second"} & {*path.parts}:
                status = path.lstat()
                content = path.read_text() if path.is_file() else ""
                links = status.st_nlink if content else 0
                found[str(path.relative_to(self.root))] = f"{status.st_mode:o} {links} {content}"
        return found

    def _wrong(self, phase: str, what: str) -> str:
        print(f"{phase} {'as a user ' if self._starts_with else ''}({self._command}): {what}", flush=True)
        return "wrong"


def main() -> None:
    """Print what was found; exits with 1 where a tree was half done or something was left."""
    kills = int(os.environ.get("DOGU_KILLS", "60"))
    random.seed(int(os.environ.get("DOGU_SEED", "14")))
    found: dict[str, Counter[str]] = {phase: Counter() for phase in _PHASES}
    longest_s: dict[str, float] = {}
    for number in range(kills):
        phase = [*_PHASES][number % len(_PHASES)]
        with tempfile.TemporaryDirectory() as base:
            found[phase][Trial(Path(base), longest_s).run(phase)] += 1
    for phase, counts in found.items():
        row(
            f"{sum(counts.values())} kills of {phase}",
            ", ".join(f"{n} {what}" for what, n in counts.items()),
            "0 wrong",
        )
    sys.exit(any(counts["wrong"] for counts in found.values()))


if __name__ == "__main__":
    main()
