"""The sandbox of shell commands: what the operating system enforces, as a ladder, and what it can't, in words.

bubblewrap with seccomp (and Landlock for signals), else Landlock with seccomp, else seccomp alone; Seatbelt on macOS;
else nothing, which says so. Readable is everything but secrets, writable the roots and temporary folders, the network
as set. Above: the shell tool and `dogu doctor`. Below: `launcher.child` puts it into force between fork and exec.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dogu.language import sentence, told
from dogu.workspace.launcher import landlock, seccomp
from dogu.workspace.launcher import network as sandbox_network
from dogu.workspace.launcher.landlock import IOCTL_DEV, READ, READ_DIR, READ_FILE, TRUNCATE, WRITE, WRITE_FILE
from dogu.workspace.launcher.network import proxy_variables
from dogu.workspace.sandbox import bubblewrap, places, work

UNCONFINED = sentence("Not confined: it may write and reach all that you may.")
_MOST_READ_CHARS = 20_000


class Step(StrEnum):
    """A rung of the ladder, by what does the work."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    SEATBELT = "seatbelt"
    NONE = "none"


class SandboxSettings(msgspec.Struct, frozen=True):
    """What a person may set. `network` False cuts it off; `writable` and `readable` add places (absolute paths).

    `hosts` are all that an allowed network reaches (`sandbox_hosts`); None: any. `readable` wins over the built-in
    secrets. `unix_sockets` None: only where no socket would give the machine away. `temporary` False: the machine's
    temporary folders aren't writable.
    """

    network: bool = True
    hosts: tuple[str, ...] | None = None
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    unix_sockets: bool | None = None
    temporary: bool = True


class Sandbox(msgspec.Struct, frozen=True):
    """One step of the ladder, ready to confine commands."""

    step: Step
    settings: SandboxSettings
    landlock_abi: int = 0
    program: str = ""
    has_own_network: bool = False  # with a list of hosts: whether it can be enforced

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
        if sys.platform == "darwin" and best in (None, Step.SEATBELT):
            from dogu.workspace.sandbox import seatbelt

            return cls(Step.SEATBELT if seatbelt.is_there() else Step.NONE, settings)
        if (
            not sys.platform.startswith("linux")
            or best in (Step.NONE, Step.SEATBELT)
            or not seccomp.is_known(os.uname().machine)
        ):
            return cls(Step.NONE, settings)

        abi = landlock.abi() if best is not Step.SECCOMP else 0
        has_own_network = settings.network and settings.hosts is not None and sandbox_network.works()
        has_network = has_own_network or (settings.network and settings.hosts is None)
        program = bubblewrap.find_program(path) if best in (None, Step.BUBBLEWRAP) else None
        if program and bubblewrap.works(program, network=has_network, own_processes=abi < 6):
            return cls(Step.BUBBLEWRAP, settings, abi, program, has_own_network)
        return cls(Step.LANDLOCK if abi else Step.SECCOMP, settings, abi, has_own_network=has_own_network)

    def confine(
        self, roots: Sequence[str], environment: Mapping[str, str], protected: Iterable[str] = ()
    ) -> dict[str, Any] | None:
        """Return the order for `ShellCommand.confinement`; None on the last step.

        `roots` are writable; `protected` places in them stay read-only where the step can do that. `environment` tells
        where the person's home and temporary folders are.
        """
        if self.step is Step.NONE:
            return None
        hidden = [path for path in places.secrets(environment) if path not in self.settings.readable]
        sockets = places.sockets(environment, leads_out=self._reaches_all)
        writable = [
            *roots,
            *work.repositories(roots),
            *(places.temporary_folders(environment) if self.settings.temporary else ()),
            *self.settings.writable,
        ]
        writable = [os.path.realpath(path) for path in writable if os.path.exists(path)]
        fixed = [os.path.realpath(path) for path in protected]
        if self.step is Step.SEATBELT:
            from dogu.workspace.sandbox.seatbelt import arguments

            return {"prefix": arguments(writable, hidden, sockets, fixed, network=self._has_network)}
        order: dict[str, Any] = {"seccomp": self._filter(sockets), "is_scoped": self.landlock_abi >= 6}
        if self.step is Step.BUBBLEWRAP:
            order["has_own_processes"] = self.landlock_abi < 6
            order["outer"] = self._outer(writable, hidden + sockets, fixed)
        elif self.step is Step.LANDLOCK:
            order["landlock"] = {"rules": _rules(writable, hidden), "deny_tcp": not self._has_network}
        if self.has_own_network:
            order["hosts"] = self.settings.hosts
        return order

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a command in this sandbox: tools' caches go where it may write, requests out."""
        found = dict(environment)
        if self.step in _HOLDING_FILES:
            found |= work.caches(environment)
        if self.has_own_network:
            from dogu.workspace.sandbox.hosts import AllowedHosts

            found |= proxy_variables(AllowedHosts(self.settings.hosts or ()).names_this_machine)
        return found

    def denial(self, stdout: str, stderr: str, refused_hosts: Sequence[str] = ()) -> str:
        """Say that this sandbox is, or by the looks of its output may be, why a command failed; else ""."""
        if self.step is Step.NONE:
            return ""
        from dogu.workspace.sandbox import denial as sandbox_denial

        if refused_hosts:
            return sandbox_denial.hosts_sentence(refused_hosts, self._network)
        output = f"{stderr[-_MOST_READ_CHARS:]}\n{stdout[-_MOST_READ_CHARS:]}"
        return sandbox_denial.sentence(output, network="" if self._reaches_all else self._network)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this step can't enforce, a sentence each, for `dogu doctor`."""
        limits = _LIMITS[self.step] + self._network_limits
        if self.step not in (Step.NONE, Step.SEATBELT) and self.landlock_abi < 6:
            limits += (sentence("Commands can send signals to the person's other processes."),)
        if self.step is Step.LANDLOCK and self.landlock_abi < 4 and not self._has_network:
            limits += (sentence("The network is cut off by seccomp alone."),)
        if self.step is Step.LANDLOCK and self.landlock_abi < 3:
            limits += (sentence("Files outside the roots can be emptied, though not written."),)
        return tuple(told(each) for each in limits)

    @property
    def _network_limits(self) -> tuple[str, ...]:
        if self.step is Step.NONE:
            return ()
        if self._reaches_all:
            return (sentence("An allowed network reaches every host."),)
        if self.has_own_network:
            return (sentence("What is sent to an allowed host can be passed on by it."),)
        if self.settings.network:
            return (sentence("The list of allowed hosts can't be enforced here: the network is closed instead."),)
        return ()

    @property
    def _reaches_all(self) -> bool:
        return self.settings.network and self.settings.hosts is None

    @property
    def _has_network(self) -> bool:
        """Whether a command may open connections at all; with a network of its own, to what is in that."""
        return self._reaches_all or self.has_own_network

    @property
    def _network(self) -> str:
        """What it reaches, in words."""
        if self.has_own_network and self.settings.hosts:
            return told("only {hosts}", hosts=", ".join(self.settings.hosts))
        return told("the network") if self._reaches_all else told("no network")

    def describe(self) -> str:
        """Say in one sentence what is active."""
        network = told("network allowed") if self._reaches_all else self._network
        words = {
            Step.BUBBLEWRAP: told(
                "bubblewrap, Landlock and seccomp ({program}, Landlock ABI {version})",
                program=self.program,
                version=self.landlock_abi,
            ),
            Step.LANDLOCK: told("Landlock and seccomp (Landlock ABI {version})", version=self.landlock_abi),
            Step.SECCOMP: told("seccomp only: files are not protected"),
            Step.SEATBELT: told("Seatbelt (sandbox-exec), untested"),
            Step.NONE: told("none: commands can do whatever you can"),
        }
        step = words[self.step]
        return step if self.step is Step.NONE else told("{step}; {network}", step=step, network=network)

    @property
    def reach(self) -> str:
        """Say in one sentence what a command may write and reach, for the person who is asked."""
        if self.step not in _HOLDING_FILES:
            return told(UNCONFINED)
        return told(
            "In the sandbox: it may write in the project and temporary folders{more}, and reach {network}.",
            more="".join(f", {path}" for path in self.settings.writable),
            network=self._network,
        )

    def _filter(self, sockets: Sequence[str]) -> bytes:
        families = [seccomp.AF_NETLINK]
        if self._has_network or self.step is Step.BUBBLEWRAP:
            families += [seccomp.AF_INET, seccomp.AF_INET6]
        may_use_unix = self.settings.unix_sockets
        if may_use_unix is None:
            may_use_unix = self.step is Step.BUBBLEWRAP or not any(os.access(path, os.W_OK) for path in sockets)
        if may_use_unix:
            families.append(seccomp.AF_UNIX)
        return seccomp.program(os.uname().machine, tuple(families))

    def _outer(self, writable: list[str], hidden: list[str], protected: list[str]) -> list[str]:
        from dogu.workspace.sandbox.bubblewrap import View, arguments

        view = View(writable, hidden, protected, network=self._has_network, own_processes=self.landlock_abi < 6)
        return arguments(self.program, view)


_LIMITS: dict[Step, tuple[str, ...]] = {
    Step.BUBBLEWRAP: (
        sentence("What runs later and isn't there yet (a new .vscode) can be made; it is compared afterwards."),
        sentence("Programs can see which other processes run."),
    ),
    Step.LANDLOCK: (
        sentence(
            "Modes, owners and times of the person's files outside the roots can be changed, and names be listed."
        ),
        sentence(
            "What runs later inside a root (.git/hooks, .git/config, .gemini) can be written; it is compared "
            "afterwards."
        ),
        sentence("Programs can see which other processes run."),
        sentence("Where a socket would give the machine away (docker's), all local sockets are blocked."),
    ),
    Step.SECCOMP: (
        sentence("Files are not protected: commands read and write what you can."),
        sentence("A cut-off network still lets local sockets through."),
    ),
    Step.SEATBELT: (
        sentence("This profile was never tried on a Mac: it may hold less than it says, or stop what it shouldn't."),
        sentence("What runs later and isn't there yet (a new .vscode) can be made; it is compared afterwards."),
    ),
    Step.NONE: (sentence("Nothing is enforced: commands can do whatever you can."),),
}
_HOLDING_FILES = (Step.BUBBLEWRAP, Step.LANDLOCK, Step.SEATBELT)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def _rules(writable: Sequence[str], hidden: Sequence[str]) -> list[tuple[bytes, int]]:
    """Make Landlock's rules: names everywhere, content but for the hidden, writing where it is allowed."""
    rules = [("/", READ_DIR), *((path, READ) for path in places.cover(hidden))]
    for root in writable:
        rules += [(path, READ | WRITE) for path in places.cover(hidden, root)]
    rules += [(f"/dev/{name}", READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) for name in _DEVICES]
    return [(os.fsencode(path), rights) for path, rights in rules]
