"""Forty-five ways out of a sandbox, each a command that prints GOT when it has come through."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox.ladder import Confined, Sandbox, SandboxSettings, Step
from dogu.workspace.sandbox.watch import Watch, fixed_places

PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable

_CALL = "import ctypes; l = ctypes.CDLL(None, use_errno=True); print('GOT' if {} else ctypes.get_errno())"


def _python(text: str) -> str:
    return f"{PYTHON} -I -c {_quoted(text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _call(expression: str) -> str:
    return _python(_CALL.format(expression))


def _connect(family: str, kind: str, address: str) -> str:
    return _python(
        f"import socket; s = socket.socket(socket.{family}, socket.{kind}); s.settimeout(2); s.connect({address}); "
        "s.send(b'x'); print('GOT')"
    )


PROBES: dict[str, str] = {
    # writing outside
    "a new file beside the project": "echo x > ../new && echo GOT",
    "appending to a file beside it": "echo x >> ../notes && echo GOT",
    "removing a file beside it": "rm ../notes && echo GOT",
    "moving a file out": "mv f ../f && echo GOT",
    "a new folder beside it": "mkdir ../folder && echo GOT",
    "writing through a hard link": "ln ../notes l && echo x > l && echo GOT",
    "writing through a symbolic link": "ln -s ../notes s; echo x > s && echo GOT",
    "emptying a file beside it": "truncate -s 0 ../notes && echo GOT",
    "a start-up file of the shell": "echo x >> ../.bashrc && echo GOT",
    "keys that may log in": "echo x >> ../.ssh/authorized_keys && echo GOT",
    # As root these do come through where files aren't protected: nothing is written, and nothing stays.
    "the system's users": "(exec 9>> /etc/passwd) && echo GOT",
    "a program for everybody": "(exec 9> /usr/local/bin/dogu-probe) && rm /usr/local/bin/dogu-probe && echo GOT",
    "the mode of a file beside it": "chmod 777 ../notes && echo GOT",
    "the times of a file beside it": "touch -d 2001-01-01 ../notes && echo GOT",
    "an unnamed file beside it": _python(
        "import os; f = os.open('..', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{f}', '../t', src_dir_fd=f, "
        "follow_symlinks=True); print('GOT')"
    ),
    # reading secrets
    "a private key": "grep -q PRIVATE ../.ssh/id_ed25519 && echo GOT",
    "passwords of the network": "grep -q PRIVATE ../.netrc && echo GOT",
    "the settings with this program's own key": "grep -q PRIVATE ../.gemini/settings.json && echo GOT",
    "a key by a symbolic link": "ln -s ../.ssh k; grep -q PRIVATE k/id_ed25519 && echo GOT",
    "a key by a hard link": "ln ../.ssh/id_ed25519 h && grep -q PRIVATE h && echo GOT",
    "a key by /proc/self/root": 'grep -q PRIVATE "/proc/self/root$HOME/.ssh/id_ed25519" && echo GOT',
    "a key by another process's root": 'grep -q PRIVATE "/proc/$OTHER/root$HOME/.ssh/id_ed25519" && echo GOT',
    "a key by moving its folder": "mv ../.ssh ./moved && grep -q PRIVATE moved/id_ed25519 && echo GOT",
    "the system's passwords": "head -1 /etc/shadow | grep -q : && echo GOT",
    # what runs later, inside
    "a hook": "echo x > .git/hooks/pre-commit && echo GOT",
    "version control's settings": "echo x >> .git/config && echo GOT",
    "hooks put in the place of others": "mv .git/hooks .git/h && mkdir .git/hooks && echo GOT",
    "this program's settings in the project": "echo x > .gemini/settings.json && echo GOT",
    "settings of an editor that aren't there yet": "mkdir .vscode && echo x > .vscode/tasks.json && echo GOT",
    # other processes
    "a signal to another process": "kill -CONT $OTHER && echo GOT",
    "another process's environment": "grep -qa PRIVATE /proc/$OTHER/environ && echo GOT",
    "steering another process": _call("l.ptrace(16, int(__import__('os').environ['OTHER']), 0, 0) == 0"),
    "the memory of another process": "dd if=/proc/$OTHER/mem bs=1 count=0 2> /dev/null && echo GOT",
    "limits of another process": _python(
        "import os, resource as r; r.prlimit(int(os.environ['OTHER']), r.RLIMIT_CORE, (0, 0)); print('GOT')"
    ),
    # the kernel
    "a namespace of its own": _call("l.unshare(0x10000000) == 0"),
    "mounting": _call("l.mount(b't', b'/mnt', b'tmpfs', 0, 0) == 0"),
    "keys of the kernel": _call("l.syscall(250, 1, 0) >= 0"),
    "calls through io_uring": _call("l.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0"),
    "programs for the kernel": _call("l.syscall(321, 0, ctypes.create_string_buffer(120), 48) >= 0"),
    "a setuid program": "grep -q 'NoNewPrivs:.0' /proc/self/status && echo GOT",
    # the network, switched off, and sockets
    "a connection to this machine": _connect("AF_INET", "SOCK_STREAM", "('127.0.0.1', {port})"),
    "a datagram": _python(
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', {port}))\n"
        "for _ in 'ab': s.send(b'x'); time.sleep(0.1)  # where nobody listens, the second fails\nprint('GOT')"
    ),
    "the containers' socket": _connect("AF_UNIX", "SOCK_STREAM", "'{folder}/docker.sock'"),
    "the key agent's socket": _connect("AF_UNIX", "SOCK_STREAM", "'{folder}/agent.sock'"),
    "a socket without a file": _connect("AF_UNIX", "SOCK_STREAM", "b'\\\\0dogu-probe-{port}'"),
}  # fmt: skip

RUNS_LATER = frozenset(
    {
        "a hook",
        "version control's settings",
        "hooks put in the place of others",
        "this program's settings in the project",
        "settings of an editor that aren't there yet",
    }
)


class Ground(NamedTuple):
    """Where the probes run, made anew for each."""

    project: Path
    environment: dict[str, str]
    port: int
    folder: Path


@contextmanager
def ground(folder: Path) -> Generator[Ground]:
    """Make a home with secrets and a project, another process of the same user, and sockets that answer."""
    home, temporary = folder / "home", folder / "temporary"
    project = home / "project"
    for path in (project / ".git" / "hooks", project / ".gemini", home / ".ssh", home / ".gemini", temporary):
        path.mkdir(parents=True)
    for path in (home / ".ssh" / "id_ed25519", home / ".netrc", home / ".gemini" / "settings.json"):
        path.write_text("PRIVATE")
    for path in (home / "notes", home / ".bashrc", project / "f", project / ".git" / "config"):
        path.write_text("here\n")
    (project / ".gemini" / "settings.json").write_text("{}")
    with ExitStack() as stack:
        other = stack.enter_context(subprocess.Popen([PYTHON, "-I", "-c", "input()"], stdin=subprocess.PIPE, env={"TOKEN": "PRIVATE"}))  # fmt: skip
        stack.callback(other.kill)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = listener.getsockname()[1]
        stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind(("127.0.0.1", port))
        for address in (f"{folder}/docker.sock", f"{folder}/agent.sock", f"\0dogu-probe-{port}"):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "OTHER": str(other.pid),
            "DOCKER_HOST": f"unix://{folder}/docker.sock",
            "SSH_AUTH_SOCK": f"{folder}/agent.sock",
        }
        yield Ground(project, environment, port, folder)


def best_of(step: Step) -> Sandbox:
    """Return the sandbox that is measured: without a network, at most that step."""
    return Sandbox.detect(SandboxSettings(network=False), best=step)


def as_it_is(confined: Confined) -> Confined:
    """Leave it to dogu who makes the view."""
    return confined


def by_bubblewrap(confined: Confined) -> Confined:
    """Have bubblewrap itself make the view: a word that dogu doesn't know is for it."""
    order = {**(confined.order or {})}
    order["outer"] = [order["outer"][0], "--hostname", "probe", *order["outer"][1:]]
    return Confined(order, confined.environment)


async def came_through(
    sandbox: Sandbox,
    name: str,
    folder: Path,
    processes: LocalProcesses,
    how: Callable[[Confined], Confined] = as_it_is,
    before_it: int = 0,
) -> bool:
    """Run one probe in a new place; whether it came through. `how` may change what it is confined by.

    So many commands that see the same run `before_it`: behind the second one, it has a copy of a view that is kept.
    """
    with ground(folder) as place:
        roots = [str(place.project)]
        later = _what_runs_later(place.project)
        watch = Watch(roots)
        before = watch.snapshot()
        watch.keep(before)
        confined = how(sandbox.confine(roots, place.environment, fixed_places(roots)))
        text = PROBES[name].replace("{port}", str(place.port)).replace("{folder}", str(place.folder))
        command = ShellCommand(text, roots[0], confined.environment, timeout_s=20, confinement=confined.order)
        for _ in range(before_it):
            await processes.run(msgspec.structs.replace(command, text="true"))
        is_through = "GOT" in (await processes.run(command)).stdout
        watch.put_back(before, watch.snapshot())
        # Held, too, when it is put back before anything could run it.
        return is_through and (name not in RUNS_LATER or _what_runs_later(place.project) != later)


def _what_runs_later(project: Path) -> dict[str, bytes]:
    places = (project / ".git" / "config", *(project / ".git" / "hooks").glob("*"), *project.glob(".[gv]*/*"))
    return {str(path): path.read_bytes() for path in places if path.is_file()}
