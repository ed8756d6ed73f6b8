"""What is left when the system refuses a call in the middle of an undo, a redo or a commit: with strace's `--inject`.

The n-th call of each kind fails once, for every n that there is. Nothing may be torn (each path holds what it held
before or what it shall hold, or is missing and told), the words are no defect's, and the next undo finishes.
The commit of a layer and the looks of a watch are run by themselves, so that only dogu's own calls fail, also
such as read: what isn't where it shall be is told and still in the layer, and an undo leads back to where it began.
`DOGU_FAULTS` names the calls (default: all of the list), `DOGU_ERRORS` the errors (EIO EACCES ENOSPC) and `DOGU_PHASES`
the phases; `DOGU_EACH` says how many of each kind of call fail at most. Needs root and strace, else it's passed over.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.measure import row
from dogu.workspace.layer.changes import changes_in
from dogu.workspace.layer.make import make

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


_READS = (
    "openat openat2 newfstatat fstat getdents64 read pread64 getxattr lgetxattr fgetxattr listxattr llistxattr "
    "flistxattr readlinkat lseek ftruncate ioctl close"
)
_ERRORS = "EIO EACCES ENOSPC"
_OF_ALL = ("all of it", "can't be undone", "couldn't be recorded")
_BEGIN, _END = "/dogu-faults-begin", "/dogu-faults-end"
_IN_LAYER = """
import os, sys
from dogu.workspace.launcher.layers import enter
root, folder, command = sys.argv[1:]
os.fchdir(enter([(os.fsencode(root), os.fsencode(folder))], os.open(root, os.O_PATH)))
os.execvp("bash", ["bash", "-c", command])
"""
_PART = """
import ctypes, json, os, subprocess, sys
import msgspec
from dogu.contract.errors import ToolError
from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.choice import Consent
from dogu.workspace.roots import Roots
from dogu.workspace.staged import StagedChange

base, what, command, began_ns = sys.argv[1:]
journal = Journal(base + "/state/one", Roots(base + "/work"), Keeping(base + "/pending", b"key"))
told = []
try:
    if what == "commit":
        with open(base + "/changes", "rb") as file:
            changes = msgspec.json.decode(file.read(), type=list[StagedChange])
        os.access("/dogu-faults-begin", os.F_OK)
        journal._begin("c", "a command", False)
        report = journal.commit(changes, int(began_ns))
        told += [path for path, _ in report.conflicts]
        told += journal._end()
        os.access("/dogu-faults-end", os.F_OK)
    elif what == "watch":
        os.access("/dogu-faults-begin", os.F_OK)
        journal._begin("c", "a command", True)
        subprocess.run(["bash", "-c", command], cwd=base + "/work", check=True)
        told += journal._end()
        os.access("/dogu-faults-end", os.F_OK)
    else:
        journal.recover()
        told += journal.finished
        if what == "undo":
            told += [each.path for each in journal.undo(consent=Consent(unsure=True)).refused]
except (OSError, ToolError) as error:
    told.append(f"all of it: {error}")
print(json.dumps(told))
"""


class Faults:
    """One phase, begun again from the same state for each fault."""

    def __init__(self, base: Path, phase: str) -> None:
        self._phase = phase
        self._base, self._root, self._copy, self._log = base / "base", base / "base/work", base / "copy", base / "log"
        self._root.mkdir(parents=True)
        (self._base / "home").mkdir()
        subprocess.run(["bash", "-c", _MADE], cwd=self._root, check=True)
        before = _tree(self._root)
        self._dogu("call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": _COMMAND}))
        after = _tree(self._root)
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
        now = _tree(self._root)
        wrong = [f"torn: {path}" for path in {*now, *self._start, *self._goal} if self._is_torn(path, now)]
        if status == 0 and now != self._goal:
            wrong.append("untold")
        if "defect" in words or "Traceback" in words or "changed it just now" in words:
            wrong.append(f"said: {words[-200:]}")
        if now != self._goal or status:
            self._dogu(self._phase)
        if _tree(self._root) != self._goal:
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


class Part:
    """A commit or a watch alone, begun again from the same state for each fault."""

    def __init__(self, base: Path, phase: str) -> None:
        self._phase = phase
        self._base, self._root, self._copy, self._log = base / "base", base / "base/work", base / "copy", base / "log"
        self._root.mkdir(parents=True)
        subprocess.run(["bash", "-c", _MADE], cwd=self._root, check=True)
        self._start = _tree(self._root)
        if phase == "commit":
            layers = make([str(self._root)], str(self._base / "state/one/layers"))
            if layers is None:
                raise OSError("no layers here")
            [(root, folder)] = layers.order
            subprocess.run([sys.executable, "-c", _IN_LAYER, root, folder, _COMMAND], check=True)
            found = [msgspec.structs.replace(each, within=b"", origin=b"") for each in changes_in(layers)]
            (self._base / "changes").write_bytes(msgspec.json.encode(found))
        subprocess.run(["cp", "-a", self._base, self._copy], check=True)
        self._again()
        self._run(phase)
        self._goal = _tree(self._root)

    def calls(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return which of its calls, by kind, are the phase's own: from one number to another."""
        self._again()
        self._run(self._phase, ("strace", "-qq", "-o", str(self._log), "-e", f"trace={','.join(names)},access"))
        counts: Counter[str] = Counter()
        begun: Counter[str] = Counter()
        for line in self._log.read_text(errors="replace").splitlines():
            if _BEGIN in line:
                begun = counts.copy()
            if _END in line:
                break
            counts[line.partition("(")[0]] += 1
        return {name: (begun[name] + 1, counts[name]) for name in names if counts[name] > begun[name]}

    def fail(self, call: str, number: int, error: str) -> list[str]:
        """Let one call fail and say what is wrong after."""
        self._again()
        inject = f"inject={call}:error={error}:when={number}"
        told = self._run(self._phase, ("strace", "-qq", "-o", str(self._log), "-e", f"trace={call}", "-e", inject))
        if isinstance(told, str):
            return [f"said: {told[-300:]}"]
        recovered = self._run("recover")
        now = _tree(self._root)
        wrong = [] if isinstance(recovered, list) else [f"recover said: {recovered[-300:]}"]
        wrong += [f"torn: {path}" for path in {*now, *self._start, *self._goal} if self._is_torn(path, now)]
        words = " ".join([*told, *recovered])
        late = [path for path in {*now, *self._goal} if now.get(path) != self._goal.get(path)]
        wrong += [f"untold: {path}" for path in late if not _is_told(path, words)]
        kept = {path.read_bytes() for path in self._base.rglob("*") if path.is_file() and not path.is_symlink()}
        for path in late if self._phase == "commit" else []:
            if bytes.fromhex(_held(self._goal.get(path, ""))) not in kept:
                wrong.append(f"lost: {path}")
        undone = self._run("undo")
        back = _tree(self._root)
        astray = [path for path in {*back, *self._start} if back.get(path) != self._start.get(path)]
        wrong += [f"not taken back, untold: {path}" for path in astray if not _is_told(path, f"{undone} {words}")]
        return wrong + [f"left: {path}" for path in self._base.rglob(".dogu-*")]

    def _is_torn(self, path: str, now: _Tree) -> bool:
        held = now.get(path, "")
        is_midway = not held or held.startswith("40")
        return not is_midway and held not in (self._start.get(path), self._goal.get(path))

    def _again(self) -> None:
        shutil.rmtree(self._base)
        subprocess.run(["cp", "-a", self._copy, self._base], check=True)
        (self._base / "began").touch()

    def _run(self, what: str, before: tuple[str, ...] = ()) -> list[str] | str:
        began = str((self._base / "began").stat().st_ctime_ns)
        argv = [*before, sys.executable, "-c", _PART, str(self._base), what, _COMMAND, began]
        done = subprocess.run(argv, cwd=self._base, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def _held(row: str) -> str:
    return row.split(" ")[2] if row and set(row.split(" ")[2]) <= set("0123456789abcdef") else ""


def _is_told(path: str, words: str) -> bool:
    """Whether a path is told, or a folder above it, or the file's other name; or that nothing of it is kept."""
    names = (path, *map(str, Path(path).parents), *(["l1"] if path == "l2" else []))
    return any(told in words for told in _OF_ALL) or any(f"/{each}" in words for each in names if each != ".")


def _tree(root: Path) -> _Tree:
    found: _Tree = {}
    for path in root.rglob("*"):
        status = path.lstat()
        held = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
        links = 1 if path.is_dir() else status.st_nlink
        links = 1 if len(held) > _LARGE else links  # a large one may be kept by a second name
        found[str(path.relative_to(root))] = f"{status.st_mode:o} {links} {held}"
    return found


def _parts(phase: str) -> int:
    """Let calls of a commit or a watch fail; return how many of them cost more than their call."""
    count = wrong = 0
    names = os.environ.get("DOGU_FAULTS", f"{_CALLS} {_READS}").split()
    each = int(os.environ.get("DOGU_EACH", "12"))
    with tempfile.TemporaryDirectory() as base:
        part = Part(Path(base), phase)
        for call, (first, last) in part.calls(names).items():
            for number in sorted({first + (last - first) * at // max(each - 1, 1) for at in range(each)}):
                for error in os.environ.get("DOGU_ERRORS", _ERRORS).split():
                    found = part.fail(call, number, error)
                    count += 1
                    wrong += bool(found)
                    if found:
                        print(f"{phase}, {call} {number - first} {error}: {len(found)}, {found[:3]}", flush=True)
    row(f"{count} refused calls of {phase}", f"{wrong} wrong", "0")
    return wrong


def main() -> None:
    """Print what was found; exits with 1 where a fault cost more than its call."""
    if shutil.which("strace") is None or os.geteuid() != 0:
        print("There is no strace here, or this isn't root.")
        return
    phases = os.environ.get("DOGU_PHASES", "commit watch undo redo").split()
    wrong = sum(_parts(phase) for phase in phases if phase in ("commit", "watch"))
    for phase in (phase for phase in phases if phase in ("undo", "redo")):
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
