"""How a command of a model's is run: in layers where that can be, else watched; what it left is looked after.

Above: the shell tool, which says what to run. Below: the sandbox, processes, `settling`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

import msgspec
from anyio import CancelScope, to_thread

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.launcher.notices import can_tell
from dogu.workspace.layer.ending import Ending, Settled
from dogu.workspace.process.command import AskHost, NoLayerError, NotToldError, Processes, ProcessResult, ShellCommand
from dogu.workspace.process.interactive import check_talk
from dogu.workspace.sandbox.ladder import Confined
from dogu.workspace.sandbox.watch import Signature, Watch, changes, fixed_places
from dogu.workspace.sandbox.work import repositories
from dogu.workspace.staged import Watching

if TYPE_CHECKING:
    from dogu.workspace.layer.command import CommandLayers
    from dogu.workspace.layer.make import Layers
    from dogu.workspace.layer.settling import Settling
    from dogu.workspace.sandbox.ladder import Confined, Sandbox

__all__ = ["CommandLayers", "CommandRunner", "Ending", "How", "Settled", "check_talk"]


_MOST_READ_CHARS = 20_000
_BOUNDARY = ("cross-device", "EXDEV", "hardlink different from source")  # the last is git's

# What only overlayfs answers to who opens or makes a file: it can't copy one whose owner its user namespace hasn't.
_OVERFLOW = ("Value too large for defined data type", "EOVERFLOW", "os error 75", "Errno 75")


class _Unfit(msgspec.Struct, frozen=True):
    """Why a command doesn't do in a layer what it does without: said when it was run `without`, when calling it `again`
    runs it without, and when it can't, as its changes are to be `shown` first."""

    without: str
    again: str
    shown: str


_RENAMES = _Unfit(
    sentence(
        "It renames an existing folder, or hard links an existing file, which a layer can't do, so it ran without one: "
        "`dogu undo` leaves what somebody else may have changed, unless you add `--unsure`."
    ),
    sentence(
        "An existing folder can't be renamed, nor an existing file hard linked, in the layer this ran in: "
        "call it again, and it runs without one."
    ),
    sentence(
        "An existing folder can't be renamed, nor an existing file hard linked, in a layer, so its changes can't "
        "be shown before they are kept."
    ),
)
_IS_HELD = _Unfit(
    sentence(
        "It changes what another program has open or locked, so it ran again without a layer, for "
        "each to see the other's locks. Once that program has closed it, `dogu undo` undoes it, with "
        "`--unsure` also what somebody else may have changed."
    ),
    sentence("Another program has open or locked what this changes: call it again, and it runs without a layer."),
    sentence(
        "Another program has open or locked what this changes, so its changes can't be shown before they are kept."
    ),
)
_OTHER_NAMES = sentence("Some files that it changed have other names (hard links): those still hold what they held.")
_HAS_NAMES = _Unfit(
    sentence(
        "It changes files of several names (hard links), which a layer can't keep together, so it ran without one: "
        "`dogu undo` leaves what somebody else may have changed, unless you add `--unsure`."
    ),
    _OTHER_NAMES,
    _OTHER_NAMES,
)

_OF_OTHERS = _Unfit(
    sentence(
        "It changes what belongs to another user or group, which a layer of yours can't hold, so it ran without one: "
        "`dogu undo` leaves what somebody else may have changed, unless you add `--unsure`."
    ),
    sentence(
        "What belongs to another user or group can't be changed in the layer this ran in: call it again, and it runs "
        "without one."
    ),
    sentence(
        "What belongs to another user or group can't be changed in a layer, so its changes can't be shown before they "
        "are kept."
    ),
)


class How(msgspec.Struct, frozen=True):
    """How to run a command: outside of the sandbox; changing nothing (plan mode); or shown before it is kept."""

    is_outside: bool = False
    is_reading: bool = False
    is_preview: bool = False


class CommandRunner:
    """Runs commands over `roots` (absolute, real; the first is the primary one) in the sandbox that is found."""

    def __init__(
        self,
        roots: Sequence[str],
        processes: Processes,
        environment: Callable[[], Mapping[str, str]],
        find_sandbox: Callable[[], Sandbox | None],
        layers: CommandLayers | None = None,
    ) -> None:
        self._roots = roots
        self._processes = processes
        self._environment = environment
        self._find_sandbox = find_sandbox
        self._layers = layers
        self._ending = layers.ending if layers is not None else Ending.KEEP

    @cached_property
    def _watch(self) -> Watch:
        return Watch(self._roots, self._layers.state_folder if self._layers is not None else "")

    def can_preview(self, is_outside: bool) -> bool:
        """Whether what a command changes may be shown before it is kept, as far as that is known beforehand."""
        sandbox = self._find_sandbox()
        can = self._layers is not None and self._layers.can
        return can and sandbox is not None and sandbox.makes_layers and not is_outside

    async def run(self, command: ShellCommand, how: How, context: CallContext) -> tuple[ProcessResult, Settled]:
        """Run a command, confined, to the end of its foreground, and settle what becomes of its changes.

        Its environment and confinement are filled in here. Raises `ToolError` (REFUSED where it must be held back and
        can't be), and as `Processes.run`.
        """
        return await self._in_layers(command, how, context) or await self._on_the_roots(command, how, context)

    async def _in_layers(
        self, command: ShellCommand, how: How, context: CallContext
    ) -> tuple[ProcessResult, Settled] | None:
        """Run it where what it writes can be kept or not afterwards; None, before it has run, where that can't be."""
        commands = self._layers
        if commands is None or not self.can_preview(how.is_outside):
            return None
        ending = Ending.DISCARD if how.is_reading else Ending.ASK if how.is_preview else self._ending
        is_kept = ending is Ending.KEEP
        if is_kept and command.goes_on:
            return None
        made = await to_thread.run_sync(partial(self._made, commands, command.text, how, is_kept=is_kept))
        if made is None:
            return None
        layers, confined = made
        from dogu.workspace.layer.settling import Settling

        settling = Settling(commands, layers, self._roots, context.ask)
        hosts = _AskedHosts(command.ask_host)
        try:
            with settling.bases.watched():
                result = await self._processes.run(_confine(hosts.instead(command), confined), context.report)
        except NoLayerError:
            await to_thread.run_sync(commands.give_up, layers)
            return None
        except BaseException:  # cancelled: what it has done until then is done
            with CancelScope(shield=True):
                await settling.settle(Ending.KEEP if is_kept else Ending.DISCARD)
            raise
        unfit = await self._unfit(result, settling, ending)
        if unfit is not None:
            commands.go_without(command.text, told(unfit.without))
            if is_kept and not result.background_pids and not hosts.asked and not self._reaches_unasked():
                await to_thread.run_sync(layers.remove)  # nobody knows that it ran
                return None
        settled = await settling.settle(ending, result.pgid, result.background_pids)
        again = () if unfit is None else (told(unfit.again if is_kept else unfit.shown),)
        return result, msgspec.structs.replace(settled, remarks=(*settled.remarks, *again))

    async def _unfit(self, result: ProcessResult, settling: Settling, ending: Ending) -> _Unfit | None:
        """Say why the command would have done something else without its layer; None where it wouldn't."""
        if _wanted_to_rename(result):
            return _RENAMES
        if any(word in result.stderr[-_MOST_READ_CHARS:] for word in _OVERFLOW):
            return _OF_OTHERS
        if ending is Ending.DISCARD:
            return None
        pids = result.background_pids
        if await settling.changes_held(pids):
            return _IS_HELD
        return _HAS_NAMES if result.parted_names or await settling.parts_names(pids) else None

    def _reaches_unasked(self) -> bool:
        sandbox = self._find_sandbox()
        return sandbox is None or sandbox.reaches_unasked

    async def _on_the_roots(
        self, command: ShellCommand, how: How, context: CallContext
    ) -> tuple[ProcessResult, Settled]:
        """Run it on the roots themselves, told of what it changes, else looking at them before and after."""
        if how.is_preview or (self._ending is not Ending.KEEP and not how.is_reading):
            message = told("Not run: its changes can't be held back here, to be shown before they are kept.")
            raise ToolError(ErrorKind.REFUSED, message)
        confined, before = await to_thread.run_sync(self._surroundings, how)
        if self._layers is None:
            result = await self._processes.run(_confine(command, confined), context.report)
        else:
            result = await self._watched(self._layers, _confine(command, confined), context)
        put_back, changed = await to_thread.run_sync(self._looked_after, before, confined.order is not None)
        why = self._layers.goes_without(command.text) if self._layers is not None else ""
        return result, Settled((why,) if why else (), put_back=tuple(put_back), runs_later=tuple(changed))

    async def _watched(self, layers: CommandLayers, command: ShellCommand, context: CallContext) -> ProcessResult:
        """Run it, and have found out what it changes: by what its supervisor is told, where no way is open to it of
        which that isn't told, else by looking at the roots before and after."""
        roots = [root for root in self._roots if root != "/"] if can_tell() else []
        command = msgspec.structs.replace(command, watched=(*roots, *repositories(roots)))
        is_told = "seccomp" in (command.confinement or {}) and len(roots) == len(self._roots)
        try:
            return await self._found_out(layers, command, context, is_told=is_told)
        except NotToldError:
            return await self._found_out(layers, command, context, is_told=False)

    async def _found_out(
        self, layers: CommandLayers, command: ShellCommand, context: CallContext, *, is_told: bool
    ) -> ProcessResult:
        async with _looking(layers, is_told=is_told) as tell_written:
            command = msgspec.structs.replace(command, keeps=tell_written.keeps, before=tell_written.before)
            result = await self._processes.run(command, context.report)
            tell_written(result.written, layers.later(result.pgid) if result.background_pids else None)
        return result

    def _made(self, commands: CommandLayers, text: str, how: How, *, is_kept: bool) -> tuple[Layers, Confined] | None:
        """Make a command's layers, and what confines it in them; None where it can't have any. Blocks."""
        layers = commands.make_for(text, self._roots, is_kept=is_kept)
        if layers is None:
            return None
        is_confined = False
        try:
            sandbox, environment = self._find_sandbox(), self._environment()
            confined = Confined(None, dict(environment))
            if sandbox is not None:
                confined = sandbox.confine(
                    self._roots, environment, changes_nothing=how.is_reading, layers=layers.order
                )
            is_confined = True
        finally:
            if not is_confined:
                layers.remove()
        return layers, confined

    def _surroundings(self, how: How) -> tuple[Confined, dict[str, Signature]]:
        sandbox, environment, roots = self._find_sandbox(), self._environment(), self._roots
        before = self._watch.snapshot()
        if sandbox is None or how.is_outside:
            return Confined(None, dict(environment)), before
        self._watch.keep(before)
        return sandbox.confine(roots, environment, fixed_places(roots), changes_nothing=how.is_reading), before

    def _looked_after(self, before: dict[str, Signature], is_confined: bool) -> tuple[list[str], list[str]]:
        """Return what was put back, and what else was changed that runs later."""
        after = self._watch.snapshot()
        put_back = self._watch.put_back(before, after) if is_confined else []
        after = self._watch.snapshot() if put_back else after
        changed = [path for path in changes(before, after) if not self._watch.starts_nothing(path, after[path])]
        return put_back, [path for path in changed if path not in put_back]


class _AskedHosts:
    """Asks whether a host may be reached as `ask` does, and notes that it was."""

    def __init__(self, ask: AskHost | None) -> None:
        self._ask = ask
        self.asked = False

    def instead(self, command: ShellCommand) -> ShellCommand:
        """Have a command ask through here, if it asks at all."""
        return command if self._ask is None else msgspec.structs.replace(command, ask_host=self)

    async def __call__(self, command: str, host: str, port: int, private: Sequence[str]) -> bool:
        self.asked = True
        return self._ask is not None and await self._ask(command, host, port, private)


def _wanted_to_rename(result: ProcessResult) -> bool:
    """Whether the command failed at what an unprivileged layer can't: renaming a folder that was there before, and
    showing a file that was there under the number that it had, once it is linked to.

    Where renames are told (`launcher.renames`) that is known, elsewhere what the command says must do.
    """
    if result.refused_rename:
        return True
    output = f"{result.stderr[-_MOST_READ_CHARS:]}\n{result.stdout[-_MOST_READ_CHARS:]}"
    return bool(result.exit_code) and not holds_renames() and any(word in output for word in _BOUNDARY)


@asynccontextmanager
async def _looking(layers: CommandLayers, *, is_told: bool) -> AsyncGenerator[Watching]:
    """Have it found out what a command changes."""
    watched = layers.watched(is_told=is_told)
    tell_written = await to_thread.run_sync(watched.__enter__)
    try:
        yield tell_written
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(watched.__exit__, None, None, None)


def _confine(command: ShellCommand, confined: Confined) -> ShellCommand:
    environment = {**confined.environment, "TERM": "xterm-256color"} if command.has_terminal else confined.environment
    return msgspec.structs.replace(command, environment=environment, confinement=confined.order)
