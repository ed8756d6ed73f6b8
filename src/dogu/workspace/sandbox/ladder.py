"""The sandbox of shell commands: what the operating system enforces, as a ladder, and what it can't, in words.

bubblewrap with seccomp (and Landlock for signals), else Landlock with seccomp, else seccomp alone; Seatbelt on macOS;
else nothing, which says so. Readable is an allow list, writable the roots and a temporary folder of their own, the
network as set: closed, or open to the hosts that the user allows. Above: the shell tool and `dogu doctor`. Below:
`launcher.child` puts the order into force between fork and exec.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dogu.language import sentence, told
from dogu.workspace.launcher import landlock, seccomp
from dogu.workspace.launcher import network as sandbox_network
from dogu.workspace.launcher.landlock import IOCTL_DEV, READ, READ_FILE, TRUNCATE, WRITE, WRITE_FILE
from dogu.workspace.launcher.network import proxy_variables
from dogu.workspace.launcher.notices import can_tell
from dogu.workspace.sandbox import bubblewrap, places, work
from dogu.workspace.sandbox.bubblewrap import View
from dogu.workspace.sandbox.bubblewrap import arguments as bubblewrap_arguments
from dogu.workspace.system import IS_LINUX, IS_MAC

UNCONFINED = sentence("No sandbox: it can change and reach whatever you can.")


class Step(StrEnum):
    """A rung of the ladder, by what does the work."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    SEATBELT = "seatbelt"
    NONE = "none"


class SandboxSettings(msgspec.Struct, frozen=True):
    """What a user may set. `network` False cuts it off; `writable` and `readable` add places (absolute paths).

    `hosts` are all that an allowed network reaches (`sandbox_hosts`); None: the user is asked for each. `readable` wins
    over the built-in secrets. `unix_sockets` None: only where those outside can be kept away.
    """

    network: bool = True
    hosts: tuple[str, ...] | None = None
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    unix_sockets: bool | None = None


class Confined(msgspec.Struct, frozen=True):
    """How to run a command in a sandbox: the order for `ShellCommand.confinement`, and its environment."""

    order: dict[str, Any] | None
    environment: dict[str, str]


class Sandbox(msgspec.Struct, frozen=True):
    """One step of the ladder, ready to confine commands."""

    step: Step
    settings: SandboxSettings
    landlock_abi: int = 0
    program: str = ""
    has_own_network: bool = False  # an empty one, out of which only a proxy leads: what holds a list of hosts

    @classmethod
    def detect(
        cls,
        settings: SandboxSettings | None = None,
        path: str = "/usr/bin:/bin:/usr/local/bin",
        best: Step | None = None,
    ) -> Sandbox:
        """Find the best step this machine has, none above `best`; about 15 ms, so do it once and in a thread.

        `path` is where bubblewrap is looked for: system folders, not the user's $PATH.
        """
        settings = settings or SandboxSettings()
        settings = msgspec.structs.replace(settings, writable=tuple(map(os.path.realpath, settings.writable)))
        if IS_MAC and best in (None, Step.SEATBELT):
            from dogu.workspace.sandbox import seatbelt

            return cls(Step.SEATBELT if seatbelt.is_there() else Step.NONE, settings)
        if not IS_LINUX or best in (Step.NONE, Step.SEATBELT) or not seccomp.is_known(os.uname().machine):
            return cls(Step.NONE, settings)

        abi = landlock.abi() if best is not Step.SECCOMP else 0
        has_own_network = settings.network and sandbox_network.works()
        has_network = has_own_network or (settings.network and settings.hosts is None)
        program = bubblewrap.find_program(path) if best in (None, Step.BUBBLEWRAP) else None
        if program and bubblewrap.works(program, network=has_network, own_processes=abi < 6):
            return cls(Step.BUBBLEWRAP, settings, abi, program, has_own_network)
        return cls(Step.LANDLOCK if abi else Step.SECCOMP, settings, abi, has_own_network=has_own_network)

    @property
    def holds_all(self) -> bool:
        """Whether nothing that a command does here can leave: then nobody need be asked before it runs."""
        return self.step is Step.BUBBLEWRAP and not self._reaches_all

    @property
    def makes_layers(self) -> bool:
        """Whether commands may run in layers: in the step that has mounts of its own."""
        return self.step is Step.BUBBLEWRAP

    @property
    def tells(self) -> bool:
        """Whether all that commands write is told of, whether they have layers or not: then nobody looks beforehand."""
        return self.step in (Step.BUBBLEWRAP, Step.LANDLOCK, Step.SECCOMP) and can_tell()

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The hosts that are reached unasked, in a network of its own; None without one."""
        return (self.settings.hosts or ()) if self.has_own_network else None

    @property
    def reaches_unasked(self) -> bool:
        """Whether a command may have reached something outside without anybody having been asked."""
        return self._reaches_all or bool(self.hosts)

    @property
    def asks_for_hosts(self) -> bool:
        """Whether the user may be asked for hosts that aren't listed: a list of theirs is all there is."""
        return self.has_own_network and self.settings.hosts is None

    def confine(
        self,
        roots: Sequence[str],
        environment: Mapping[str, str],
        protected: Iterable[str] = (),
        *,
        changes_nothing: bool = False,
        layers: Sequence[tuple[bytes, bytes]] = (),
    ) -> Confined:
        """Say how to run a command; on the last step as anywhere.

        `roots` are writable; `protected` places in them stay read-only where the step can do that. `environment` tells
        where the user's home and tools are. `changes_nothing`: the roots are read-only too, and no host is reached;
        with `layers` (`launcher.layers`) over them they needn't be.
        """
        if self.step is Step.NONE:
            return Confined(None, dict(environment))
        view = self._view(roots, environment, protected, changes_nothing=changes_nothing)
        if changes_nothing and layers:
            view = msgspec.structs.replace(view, writable=[*map(os.fsdecode, dict(layers)), *view.writable])
        if self.step is Step.SEATBELT:
            from dogu.workspace.sandbox.seatbelt import arguments

            prefix = arguments(view.writable, view.hidden, (), view.read_only, network=view.network)
            return Confined({"prefix": prefix}, self._environment(environment, view.temporary))
        order: dict[str, Any] = {"seccomp": self._filter(view), "is_scoped": self.landlock_abi >= 6}
        order["mounts"] = self.makes_layers
        temporary = view.temporary
        if self.step is Step.BUBBLEWRAP:
            order["has_own_processes"] = view.own_processes
            order["layers"] = list(layers)
            order["outer"] = bubblewrap_arguments(self.program, view)
            temporary = "/tmp" if "/tmp" not in view.writable else temporary
        elif self.step is Step.LANDLOCK:
            order["landlock"] = {"rules": _rules(view), "deny_tcp": not view.network}
        if self.has_own_network:
            order["hosts"] = self.hosts
        return Confined(order, self._environment(environment, temporary))

    def _view(
        self,
        roots: Sequence[str],
        environment: Mapping[str, str],
        protected: Iterable[str],
        *,
        changes_nothing: bool,
    ) -> View:
        temporary = work.private_folder(roots, environment)
        # These were real when the session began: one that isn't any more leads where a command made it lead.
        writable = [path for path in (*roots, *self.settings.writable) if os.path.realpath(path) == path]
        writable = [*filter(os.path.exists, writable), *work.repositories(roots)]
        known = places.settings(environment)
        readable = places.resolved(
            places.readable(environment, known, (*self.settings.readable, *(writable if changes_nothing else ())))
        )
        writable = [temporary] if changes_nothing else [*dict.fromkeys((*writable, temporary))]
        shown = [*readable.values(), *writable]
        hidden = [path for path in places.secrets(environment, known) if path not in self.settings.readable]
        return View(
            readable=readable,
            writable=writable,
            hidden=[*hidden, *places.sockets(shown, writable)],
            read_only=[] if changes_nothing else [os.path.realpath(path) for path in protected],
            temporary=temporary,
            home=os.path.abspath(places.home(environment)),
            network=self._has_network and not changes_nothing,
            own_processes=self.landlock_abi < 6,
        )

    def _environment(self, environment: Mapping[str, str], temporary: str) -> dict[str, str]:
        """Send tools' temporary files and caches where a command may write, and its requests to the proxy."""
        found = dict(environment)
        if self.step in _HOLDING_FILES:
            found |= work.caches(environment, temporary)
        if self.has_own_network:
            from dogu.workspace.sandbox.hosts import AllowedHosts

            found |= proxy_variables(AllowedHosts(self.settings.hosts or ()).names_this_machine)
        return found

    def denial(
        self, output: str, refused_hosts: Sequence[str] = (), directory: str = "/", roots: Sequence[str] = ()
    ) -> str:
        """Say that this sandbox is, or by the looks of its output may be, why a command failed; else "".

        `directory` is where it ran: what it called missing may be hidden.
        """
        if self.step is Step.NONE:
            return ""
        from dogu.workspace.sandbox import denial as sandbox_denial

        if refused_hosts:
            return sandbox_denial.hosts_sentence(refused_hosts, self._hosts)
        hidden = sandbox_denial.hidden_sentence(output, directory, roots) if self.step is Step.BUBBLEWRAP else ""
        return hidden or sandbox_denial.sentence(output, network="" if self._reaches_all else self._hosts)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this step can't enforce, a sentence each, for `dogu doctor`."""
        limits = _LIMITS[self.step] + self._network_limits
        if self.step in (Step.LANDLOCK, Step.SECCOMP) and self.settings.unix_sockets:
            limits += (sentence("A cut-off network still lets local sockets through."),)
        elif self.step in (Step.LANDLOCK, Step.SECCOMP):
            limits += (sentence("Local sockets can't be used at all."),)
        if self.step not in (Step.NONE, Step.SEATBELT) and self.landlock_abi < 6:
            limits += (sentence("Commands can send signals to the user's other processes."),)
        if self.step is Step.LANDLOCK and self.landlock_abi < 4 and not self._has_network:
            limits += (sentence("The network is cut off by seccomp alone."),)
        if self.step is Step.LANDLOCK and self.landlock_abi < 3:
            limits += (sentence("Files outside the roots can be emptied, though not written."),)
        if self.step in (Step.LANDLOCK, Step.SECCOMP):
            limits += (sentence("So each command asks first."),)
        return tuple(told(each) for each in limits)

    @property
    def _network_limits(self) -> tuple[str, ...]:
        if self.step is Step.NONE:
            return ()
        if self._reaches_all:
            return (
                sentence("No network of its own can be made here: commands reach every host, so each one asks first."),
            )
        if self.has_own_network:
            return (sentence("What is sent to an allowed host can be passed on by it."),)
        if self.settings.network:
            return (sentence("The list of allowed hosts can't be enforced here: the network is closed instead."),)
        return ()

    @property
    def _reaches_all(self) -> bool:
        return self.settings.network and self.settings.hosts is None and not self.has_own_network

    @property
    def _has_network(self) -> bool:
        """Whether a command may open connections at all; with a network of its own, to what is in that."""
        return self._reaches_all or self.has_own_network

    @property
    def _network(self) -> str:
        """What it reaches, in words."""
        return self._reached or told("no network")

    @property
    def _hosts(self) -> str:
        """The same, behind `Network:`."""
        return self._reached or told("none")

    @property
    def _reached(self) -> str:
        if self.has_own_network and self.settings.hosts:
            return told("only {hosts}", hosts=", ".join(self.settings.hosts))
        if self.has_own_network and self.settings.hosts is None:
            return told("only hosts that you allow")
        return told("every host") if self._reaches_all else ""

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
        """Say in one sentence what a command may write and reach, for the user who is asked."""
        if self.step not in _HOLDING_FILES:
            return told(UNCONFINED)
        return told(
            "In the sandbox: it may write to the project and a temporary folder{more}. Network: {network}.",
            more="".join(f", {path}" for path in self.settings.writable),
            network=self._hosts,
        )

    def _filter(self, view: View) -> bytes:
        families = [seccomp.AF_NETLINK]
        if view.network or self.step is Step.BUBBLEWRAP:
            families += [seccomp.AF_INET, seccomp.AF_INET6]
        # A socket's file is connected to whatever may be written: only a view without it keeps it away.
        may_use_unix = self.settings.unix_sockets
        if self.step is Step.BUBBLEWRAP if may_use_unix is None else may_use_unix:
            families.append(seccomp.AF_UNIX)
        return seccomp.program(os.uname().machine, tuple(families))


_LIMITS: dict[Step, tuple[str, ...]] = {
    Step.BUBBLEWRAP: (
        sentence("What runs later and isn't there yet (a new .vscode) can be made; it is put back afterwards."),
        sentence(
            "What a background job makes later, or deep below the workspace, is at most reported; "
            "among packages (node_modules, .venv) only git's settings are checked."
        ),
        sentence("A socket that another program makes in a tools' folder while a command runs can be reached."),
        sentence("Programs can see which other processes run."),
    ),
    Step.LANDLOCK: (
        sentence("Modes, owners and times of the user's files outside the roots can be changed."),
        sentence("What runs later inside a root (.git/hooks, .git/config) can be written; it is put back afterwards."),
        sentence("Shared memory (/dev/shm, System V) is the machine's."),
        sentence("Programs can see which other processes run."),
    ),
    Step.SECCOMP: (
        sentence("Files are not protected: commands read and write what you can."),
        sentence("The memory and the environment of your other processes can be read."),
        sentence("Shared memory (/dev/shm, System V) is the machine's."),
        sentence("Programs can see which other processes run."),
    ),
    Step.SEATBELT: (
        sentence("This profile was never tried on a Mac: it may protect less than it says, or stop what it shouldn't."),
        sentence("Everything in the home folder except secrets can be read."),
    ),
    Step.NONE: (sentence("Nothing is enforced: commands can do whatever you can."),),
}
_HOLDING_FILES = (Step.BUBBLEWRAP, Step.LANDLOCK, Step.SEATBELT)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def _rules(view: View) -> list[tuple[bytes, int]]:
    """Make Landlock's rules: reading what is shown, writing where it is allowed, the hidden left out of both."""
    rules: list[tuple[str, int]] = []
    for shown in (os.path.realpath("/proc"), *view.readable.values()):
        rules += [(path, READ) for path in places.cover(view.hidden, shown)]
    for root in (*view.writable, "/dev/shm"):
        rules += [(path, READ | WRITE) for path in places.cover(view.hidden, root)]
    rules += [(f"/dev/{name}", READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) for name in _DEVICES]
    return [(os.fsencode(path), rights) for path, rights in rules]
