"""What Windows' Python lacks is asked for by nothing that is imported there: a look from here, `make windows` being long.

The program is imported in a process that takes itself for Windows' once the packages it stands on are loaded: without
the modules, functions and flags of Unix, and with stand-ins for what Windows alone has.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dogu
from dogu.workspace import fs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there it is the truth itself: `make windows`")

_PROGRAM = """
import importlib, sys
names = sys.argv[1:]
if names.pop(0) == "packages":
    for name in names:
        importlib.import_module(name)
    print(*(name for name in sys.modules if name.split(".")[0] not in ("dogu", "__main__")))
    sys.exit()
packages, modules = names[0].split(), names[1:]
for name in packages:
    try:
        importlib.import_module(name)
    except ImportError:
        pass

import ctypes, ctypes.wintypes, os, select, signal, socket, time, types

class Anything(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)
    def __call__(self, *given, **named):
        return Anything("called")

for name in ("msvcrt", "winreg", "_winapi", "nt"):
    sys.modules[name] = Anything(name)
for name in ("windll", "oledll", "WinDLL", "WINFUNCTYPE", "WinError", "FormatError", "get_last_error", "set_last_error"):
    setattr(ctypes, name, Anything(name))
for name in ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
of_unix = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_NOCTTY O_PATH O_SYNC O_TMPFILE SEEK_DATA SEEK_HOLE XATTR_CREATE "
        "WNOHANG chown chroot copy_file_range fchdir fchmod fchown fork getegid geteuid getgid getpgid getpgrp getpriority "
        "getsid getuid getxattr killpg lchown listxattr memfd_create mkfifo mknod nice openpty pidfd_open pipe2 posix_spawn "
        "pread pwrite removexattr sched_getaffinity sendfile set_blocking setgid setpgid setsid setuid setxattr statvfs "
        "sync sysconf ttyname uname wait wait3 wait4 waitid environb getloadavg EX_USAGE",
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGUSR1 SIGUSR2 "
            "SIGWINCH SIGXCPU SIGXFSZ SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm pthread_sigmask setitimer sigwait",
    socket: "AF_UNIX SCM_RIGHTS send_fds recv_fds socketpair CMSG_LEN",
    select: "epoll poll EPOLLIN POLLIN",
    time: "CLOCK_MONOTONIC CLOCK_BOOTTIME clock_gettime tzset",
}
for module, gone in of_unix.items():
    for name in gone.split():
        if hasattr(module, name):
            delattr(module, name)
os.O_BINARY, os.O_NOINHERIT, os.O_TEMPORARY, os.O_SHORT_LIVED = 1 << 15, 1 << 7, 1 << 6, 1 << 12
signal.CTRL_BREAK_EVENT, signal.CTRL_C_EVENT, signal.SIGBREAK = 1, 0, 21
sys.platform, os.name = "win32", "nt"
for name in modules:
    module = importlib.import_module(name)
    for each in getattr(module, "__all__", ()):
        getattr(module, each)
print("imported")
"""
_MODULES = (
    "dogu.cli",
    "dogu.app.opening",
    "dogu.app.agent",
    "dogu.app.checks",
    "dogu.commands.command_line",
    *(
        f"dogu.commands.{name}"
        for name in (
            "acp",
            "call",
            "config",
            "doctor",
            "jobs",
            "mcp",
            "mcp_servers",
            "policy",
            "print",
            "redo",
            "replay",
            "sessions",
            "terminal",
            "tools",
            "tour",
            "undo",
        )
    ),
    "dogu.serve.terminal.plain_screen",
    "dogu.workspace.fs",
)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words], capture_output=True, text=True, timeout=120, check=False
    )


def test_nothing_of_unix_is_asked_for_when_the_program_is_imported() -> None:
    packages = _run("packages", *_MODULES)
    assert packages.returncode == 0, packages.stderr
    done = _run("modules", packages.stdout, *_MODULES)
    assert (done.returncode, done.stdout) == (0, "imported\n"), done.stderr[-2000:]


def test_what_is_asked_of_the_seam_of_files_is_there_on_every_system() -> None:
    source = Path(dogu.__file__).parent
    asked = {
        name for file in source.rglob("*.py") for name in re.findall(r"(?<![\w.])fs\.(\w+)\(", file.read_text("utf-8"))
    }
    assert {"open", "open_own"} <= asked <= set(fs.__all__)  # of which the test above gets each by name


def test_what_is_asked_for_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, line in (("flags", "import os; os.O_DIRECTORY"), ("locks", "import fcntl"), ("plain", "import os")):
        (tmp_path / f"{name}.py").write_text(line)
    assert [_run("modules", "json", name).returncode for name in ("flags", "locks", "plain")] == [1, 1, 0]
