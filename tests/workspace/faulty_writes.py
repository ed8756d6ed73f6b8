"""Writes a file with a failure or a SIGKILL at the nth system call; run as a process, because it forks and kills itself.

Prints one JSON line for each scenario and call: what failed, how the call ended, what is on the disk afterwards.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from dogu.contract.errors import ToolError
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.files import LocalFiles
from dogu.workspace.pending_writes import PendingWrites, recover
from dogu.workspace.roots import Roots
from dogu.workspace.syscalls import Syscalls

OLD = b"old content\n" * 900
NEW = b"the new content, longer than the old\n" * 500
_IN_MEMORY = "/dev/shm" if os.name != "nt" and os.access("/dev/shm", os.W_OK) else None  # there fsync costs nothing


class Interrupted(Syscalls):
    """Does `at_nth` before (or, negative, after) the nth call."""

    def __init__(self, nth: int, at_nth: Callable[[], None], after: bool = False) -> None:
        self.nth = nth
        self.at_nth = at_nth
        self.after = after
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        method = object.__getattribute__(self, name)
        if name.startswith("_") or name in ("nth", "at_nth", "after", "calls"):
            return method

        def counted(*args: Any) -> Any:
            self.calls.append(name)
            due = len(self.calls) == self.nth
            if due and not self.after:
                self.at_nth()
            if due and self.after and name == "pwrite":
                descriptor, data, offset = args
                method(descriptor, data[: len(data) // 2], offset)
                self.at_nth()
            result = method(*args)
            if due and self.after:
                self.at_nth()
            return result

        return counted


def scene(base: str, scenario: str) -> tuple[str, str]:
    workspace = os.path.join(base, "ws")
    os.makedirs(os.path.join(workspace, "sub"))
    target = os.path.join(workspace, "sub", "f")
    if scenario != "new":
        with open(target, "wb") as stream:
            stream.write(OLD)
    if scenario == "in place":
        os.link(target, os.path.join(workspace, "other"))
    return workspace, target


def content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except FileNotFoundError:
        return "missing"
    return {OLD: "old", NEW: "new"}.get(data, "torn")


def litter(workspace: str) -> list[str]:
    return [name for _, _, names in os.walk(workspace) for name in names if name.startswith(".dogu")]


def write(workspace: str, target: str, pending: str, syscalls: Syscalls) -> str:
    files = LocalFiles(Roots(workspace), writer=AtomicWriter(PendingWrites(pending, syscalls), syscalls))
    try:
        files.protected_reason(target)  # as a tool asks about a file with other names
        files.write(target, NEW, None)
    except ToolError as error:
        return error.kind.value
    return "done"


def trial(scenario: str, nth: int, error: int | None, after: bool) -> dict[str, Any] | None:
    base = tempfile.mkdtemp(dir=_IN_MEMORY)
    try:
        workspace, target = scene(base, scenario)
        pending = os.path.join(base, "pending")
        os.mkdir(pending)
        report: dict[str, Any] = {"scenario": scenario, "nth": nth, "error": error, "after": after}
        if error is not None:

            def fail() -> None:
                raise OSError(error, os.strerror(error))

            syscalls = Interrupted(nth, fail)
            report["ended"] = write(workspace, target, pending, syscalls)
            if len(syscalls.calls) < nth:
                return None
            report["call"] = syscalls.calls[nth - 1]
        else:
            child = os.fork()
            if child == 0:
                write(workspace, target, pending, Interrupted(nth, lambda: os.kill(os.getpid(), signal.SIGKILL), after))
                os._exit(0)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                return None
            report["ended"] = "killed"
        report["content"] = content(target)
        report["litter"] = len(litter(workspace))
        recover(pending, Roots(workspace))
        report["recovered"] = content(target)
        report["left"] = litter(workspace) + os.listdir(pending)
        return report
    finally:
        shutil.rmtree(base, ignore_errors=os.name == "nt")  # a close that failed keeps the name there


def main() -> None:
    error = int(sys.argv[1]) or None
    for scenario in ("new", "swap", "in place"):
        for after in (False, True) if error is None else (False,):
            nth = 1
            while (report := trial(scenario, nth, error, after)) is not None:
                print(json.dumps(report))
                nth += 1


if __name__ == "__main__":
    main()
