"""dogu without what only Linux has: forced by `DOGU_PLATFORM=posix`, with `/proc` hidden, and with such names gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.program import Program

_HIDE = "mount -t tmpfs -o ro none /proc && "
_NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c"]
_MADE = subprocess.run([*_NAMESPACE, f"{_HIDE} true"], capture_output=True, check=False).returncode == 0
hidden = pytest.mark.skipif(not _MADE, reason="this user makes no namespaces")

# Gone before anything of dogu's is loaded, as they are on macOS.
_WITHOUT = """
import fcntl, os, select, signal, socket, sys
for module, names in (
    (os, "O_PATH O_TMPFILE memfd_create MFD_CLOEXEC pipe2 getxattr setxattr listxattr removexattr pidfd_open eventfd"),
    (os, "copy_file_range posix_fallocate setns unshare splice O_DIRECT sched_getaffinity"),
    (socket, "MSG_CMSG_CLOEXEC SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK"),
    (fcntl, "F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS"),
    (select, "epoll"),
    (signal, "pidfd_send_signal sigtimedwait SIGRTMIN"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""
_IMPORT_ALL = """
import importlib, pkgutil, dogu
for module in pkgutil.walk_packages(dogu.__path__, "dogu."):
    if not module.name.endswith(("__main__", ".windows", ".windows_files", ".windows_handles", ".job_object")):
        importlib.import_module(module.name)
"""
_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("write_file", {"file_path": "a.txt", "content": "one\ntwo\n"}, "wrote to new file"),
    ("read_file", {"path": "a.txt"}, "one\ntwo\n"),
    ("list_directory", {"path": "."}, "a.txt"),
    ("glob", {"pattern": "*.txt"}, "Found 1 file(s)"),
    ("grep_search", {"pattern": "tw."}, "L2: two"),
    ("run_shell_command", {"command": "echo out; echo err >&2; exit 3"}, "Stdout: out\n"),
    ("run_shell_command", {"command": "echo out; echo err >&2; exit 3"}, "Exit Code: 3"),
    ("run_shell_command", {"command": "sleep 30", "timeout_s": 0.3}, "Timed out after 0.3 s"),
    ("run_shell_command", {"command": "test -t 0 && echo terminal", "pty": True}, "Stdout: terminal"),
    ("read_file", {"path": "link"}, "out"),
]


def calls(program: Program, *, hides_proc: bool) -> list[dict[str, Any]]:
    rows = [json.dumps({"tool": tool, "args": args}) for tool, args, _ in _CALLS]
    words = [sys.executable, "-m", "dogu", "call", "--jsonl", "--approval-mode", "yolo"]
    if hides_proc:
        words = [*_NAMESPACE, f'{_HIDE} "$@"; exit $?', "bash", *words]
    done = subprocess.run(
        words,
        cwd=program.root,
        env=program.environ(DOGU_PLATFORM="posix"),
        input="\n".join(rows).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("hides_proc", [False, pytest.param(True, marks=hidden)])
def test_the_tools_work_without_what_only_linux_has(program: Program, hides_proc: bool):
    (program.root / "link").symlink_to("/etc/passwd")
    answers = calls(program, hides_proc=hides_proc)
    assert len(answers) == len(_CALLS)
    for (tool, args, expected), answer in zip(_CALLS[:-1], answers, strict=False):
        assert expected in answer["llmContent"], (tool, args)
    assert answers[-1]["error"] is not None  # a link that leads out of the roots


def test_every_module_loads_without_names_that_only_linux_has(program: Program):
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT + _IMPORT_ALL],
        env=program.environ(DOGU_PLATFORM="posix"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@hidden
@pytest.mark.parametrize("way", ["KILL", "TERM"])
def test_nothing_is_left_of_a_killed_dogu_on_a_posix_system(program: Program, tmp_path: Path, way: str):
    """In a namespace of its own: daemons by `setsid` and a double fork are found by their mark."""
    command = "sleep 901 & setsid sleep 902 & (setsid bash -c 'sleep 903 & exit' &); echo begun; sleep 904"
    row = json.dumps({"tool": "run_shell_command", "args": {"command": command}})
    script = f"""
        exec 3< <(sleep 60)
        "$@" < <(cat row; sleep 60) > out & dogu=$!
        until pgrep -x sleep -a | grep -q 904; do sleep 0.05; done
        kill -{way} $dogu
        for _ in $(seq 200); do pgrep -a -x sleep | grep -q ' 90[1-4]' || exit 0; sleep 0.05; done
        pgrep -a -x sleep; exit 1
    """
    (program.root / "row").write_text(row + "\n")
    done = subprocess.run(
        [
            *["unshare", "--mount-proc", "--pid", "--fork", "--kill-child", "bash", "-c", script, "bash"],
            *[sys.executable, "-m", "dogu", "call", "--jsonl", "--approval-mode", "yolo"],
        ],
        cwd=program.root,
        env=program.environ(DOGU_PLATFORM="posix"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
