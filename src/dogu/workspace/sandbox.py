"""The sandbox of shell commands: what the operating system enforces, as a ladder, and what it can't, in words.

bubblewrap with seccomp (and Landlock for signals), else Landlock with seccomp, else seccomp alone, else nothing, which
says so. Readable is everything but secrets, writable the roots and temporary folders, the network as set. Above: the
shell tool and `dogu doctor`. Below: `process_child` puts the order into force between fork and exec.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dogu.workspace import sandbox_places, sandbox_seccomp, sandbox_work

UNCONFINED = "Not confined: it may write and reach all that you may."
_MOST_READ_CHARS = 20_000
_SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin"


class Step(StrEnum):
    """A rung of the ladder, by what does the work."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    NONE = "none"


class SandboxSettings(msgspec.Struct, frozen=True):
    """What a person may set. `network` False cuts it off; `writable` and `readable` add places (absolute paths).

    `readable` wins over the built-in secrets. `unix_sockets` None: only where no socket would give the machine away.
    """

    network: bool = True
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    unix_sockets: bool | None = None


class Sandbox(msgspec.Struct, frozen=True):
    """One step of the ladder, ready to confine commands."""

    step: Step
    settings: SandboxSettings
    landlock_abi: int = 0
    program: str = ""

    @classmethod
    def detect(
        cls,
        settings: SandboxSettings | None = None,
        path: str = "/usr/bin:/bin:/usr/local/bin",
        best: Step | None = None,
    ) -> Sandbox:
        """Find the best step this machine has, none above `best`; about 15 ms, so do it once and in a thread.

        `path` is where bubblewrap is looked for: system folders, not the person's $PATH.
        """
        settings = settings or SandboxSettings()
        if (
            not sys.platform.startswith("linux")
            or best is Step.NONE
            or not sandbox_seccomp.is_known(os.uname().machine)
        ):
            return cls(Step.NONE, settings)
        from dogu.workspace import sandbox_bubblewrap, sandbox_landlock

        abi = sandbox_landlock.abi() if best is not Step.SECCOMP else 0
        program = sandbox_bubblewrap.find_program(path) if best in (None, Step.BUBBLEWRAP) else None
        if program and sandbox_bubblewrap.works(program, network=settings.network, own_processes=abi < 6):
            return cls(Step.BUBBLEWRAP, settings, abi, program)
        return cls(Step.LANDLOCK if abi else Step.SECCOMP, settings, abi)

    def confine(
        self, roots: Sequence[str], environment: Mapping[str, str], protected: Iterable[str] = ()
    ) -> dict[str, Any] | None:
        """Return the order for `ShellCommand.confinement`; None on the last step.

        `roots` are writable; `protected` places in them stay read-only where the step can do that. `environment` tells
        where the person's home and temporary folders are.
        """
        if self.step is Step.NONE:
            return None
        hidden = [path for path in sandbox_places.secrets(environment) if path not in self.settings.readable]
        sockets = sandbox_places.sockets(environment)
        writable = [
            *roots,
            *sandbox_work.repositories(roots),
            *sandbox_places.temporary_folders(environment),
            *self.settings.writable,
        ]
        writable = [os.path.realpath(path) for path in writable if os.path.exists(path)]
        order: dict[str, Any] = {"seccomp": self._filter(sockets), "is_scoped": self.landlock_abi >= 6}
        if self.step is Step.BUBBLEWRAP:
            order["outer"] = self._outer(writable, hidden + sockets, [os.path.realpath(path) for path in protected])
        elif self.step is Step.LANDLOCK:
            order["landlock"] = {"rules": _rules(writable, hidden), "deny_tcp": not self.settings.network}
        return order

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a command in this sandbox: tools' caches go where it may write."""
        if self.step not in (Step.BUBBLEWRAP, Step.LANDLOCK):
            return dict(environment)
        return {**environment, **sandbox_work.caches(environment)}

    def denial(self, stdout: str, stderr: str) -> str:
        """Say that this sandbox may be why a command failed, when its output looks like it; else ""."""
        if self.step is Step.NONE:
            return ""
        from dogu.workspace.sandbox_denial import sentence

        output = f"{stderr[-_MOST_READ_CHARS:]}\n{stdout[-_MOST_READ_CHARS:]}"
        return sentence(output, network=self.settings.network)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this step can't enforce, a sentence each, for `dogu doctor`."""
        limits = _LIMITS[self.step]
        if self.step is not Step.NONE and self.landlock_abi < 6:
            limits += ("Commands can send signals to the person's other processes.",)
        if self.step is Step.LANDLOCK and self.landlock_abi < 4 and not self.settings.network:
            limits += ("The network is cut off by seccomp alone.",)
        if self.step is Step.LANDLOCK and self.landlock_abi < 3:
            limits += ("Files outside the roots can be emptied, though not written.",)
        return limits

    def describe(self) -> str:
        """Say in one sentence what is active."""
        network = "network allowed" if self.settings.network else "no network"
        words = {
            Step.BUBBLEWRAP: f"bubblewrap, Landlock and seccomp ({self.program}, Landlock ABI {self.landlock_abi})",
            Step.LANDLOCK: f"Landlock and seccomp (Landlock ABI {self.landlock_abi})",
            Step.SECCOMP: "seccomp only: files are not protected",
            Step.NONE: "none: commands can do whatever you can",
        }
        return words[self.step] + ("" if self.step is Step.NONE else f"; {network}")

    @property
    def reach(self) -> str:
        """Say in one sentence what a command may write and reach, for the person who is asked."""
        if self.step not in (Step.BUBBLEWRAP, Step.LANDLOCK):
            return UNCONFINED
        more = "".join(f", {path}" for path in self.settings.writable)
        network = "the network" if self.settings.network else "no network"
        return f"In the sandbox: it may write in the project and temporary folders{more}, and reach {network}."

    def _filter(self, sockets: Sequence[str]) -> bytes:
        families = [sandbox_seccomp.AF_NETLINK]
        if self.settings.network or self.step is Step.BUBBLEWRAP:
            families += [sandbox_seccomp.AF_INET, sandbox_seccomp.AF_INET6]
        may_use_unix = self.settings.unix_sockets
        if may_use_unix is None:
            may_use_unix = self.step is Step.BUBBLEWRAP or not any(os.access(path, os.W_OK) for path in sockets)
        if may_use_unix:
            families.append(sandbox_seccomp.AF_UNIX)
        return sandbox_seccomp.program(os.uname().machine, tuple(families))

    def _outer(self, writable: list[str], hidden: list[str], protected: list[str]) -> list[str]:
        from dogu.workspace.sandbox_bubblewrap import View, arguments

        view = View(writable, hidden, protected, network=self.settings.network, own_processes=self.landlock_abi < 6)
        return arguments(self.program, view)


_LIMITS: dict[Step, tuple[str, ...]] = {
    Step.BUBBLEWRAP: (
        "An allowed network reaches every host.",
        "What runs later and isn't there yet (a new .vscode) can be made; it is compared afterwards.",
        "Programs can see which other processes run.",
    ),
    Step.LANDLOCK: (
        "Modes, owners and times of the person's files outside the roots can be changed, and names be listed.",
        "What runs later inside a root (.git/hooks, .git/config, .gemini) can be written; it is compared afterwards.",
        "Programs can see which other processes run.",
        "Where a socket would give the machine away (docker's), all local sockets are blocked.",
    ),
    Step.SECCOMP: (
        "Files are not protected: commands read and write what you can.",
        "A cut-off network still lets local sockets through.",
    ),
    Step.NONE: ("Nothing is enforced: commands can do whatever you can.",),
}
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def _rules(writable: Sequence[str], hidden: Sequence[str]) -> list[tuple[bytes, int]]:
    """Make Landlock's rules: names everywhere, content but for the hidden, writing where it is allowed."""
    from dogu.workspace.sandbox_landlock import IOCTL_DEV, READ, READ_DIR, READ_FILE, TRUNCATE, WRITE, WRITE_FILE

    rules = [("/", READ_DIR), *((path, READ) for path in sandbox_places.cover(hidden))]
    for root in writable:
        rules += [(path, READ | WRITE) for path in sandbox_places.cover(hidden, root)]
    rules += [(f"/dev/{name}", READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) for name in _DEVICES]
    return [(os.fsencode(path), rights) for path, rights in rules]
