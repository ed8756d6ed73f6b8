"""One attempt at one task, from a clean world to its row. Whatever goes wrong becomes the row's reason."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import cast

import anyio
import msgspec
from anyio import to_thread

from dogu.agent.events import EndReason, RecordedEvent, TurnEnd
from dogu.agent.session.record import read_record
from dogu.agent.session.resume import restore
from dogu.app import Opened, Options, Start, agent_of, read_settings
from dogu.app.conversation import budget_of
from dogu.app.model_choice import account_of, is_connected, open_model
from dogu.app.sessions import check_record
from dogu.contract import ToolError
from dogu.fleet.aside import WorldError
from dogu.fleet.commands import Commands, environment_of
from dogu.fleet.container import Places, opened_machine
from dogu.fleet.limits import FleetSpentError, LimitedModel, Limits
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Reason, Row, errors_of
from dogu.fleet.tasks import Bounds, Task, Work
from dogu.fleet.world import Begun, World, make_world, write_files
from dogu.language import joined, told
from dogu.models.events import ModelError, Usage
from dogu.runtime.events import CallFinished, ToolAnswer
from dogu.runtime.session_folder import StoredSession, read_facts
from dogu.serve.defects import contained
from dogu.serve.session_export import export_html
from dogu.settings import SettingsError
from dogu.workspace.os_errors import limit_words
from dogu.workspace.private_file import whole_file
from dogu.workspace.process.launch import ForkServer

_KEPT_TEXT_CHARS = 20_000
_OF_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_GO_ON = "You were cut short, and what you had running has ended. Look how far it is, and go on with the task above."
_REASONS = {
    EndReason.DONE: Reason.DONE,
    EndReason.STOPPED: Reason.STOPPED,
    EndReason.STEP_LIMIT: Reason.TURNS,
    EndReason.BUDGET: Reason.COST,
    EndReason.LOOP: Reason.LOOP,
    EndReason.TIMEOUT: Reason.TIMEOUT,
    EndReason.CUT: Reason.CUT,
}


class _NoPatchError(WorldError):
    """What was done can't be taken out of the world."""


class _DefectError(Exception):
    """A defect of ours costs this task, not the fleet."""


class Attempts:
    """Runs attempts in this process, any number at once. `folder` is the fleet's, `home` the user's own."""

    def __init__(
        self, folder: str, plan: Plan, limits: Limits, home: str = "", fork_server: ForkServer | None = None
    ) -> None:
        self._fork_server = fork_server
        self._folder = folder
        self._plan = plan
        self._limits = limits
        self._home = home or os.path.expanduser("~")
        self._shares = _Shares()

    async def run(self, work: Work) -> Row | None:
        """Run one to its row; None when the fleet's money came to its end first. Cancelled, it leaves no row."""
        started = time.monotonic()
        task = work.task
        with self._shares.running() as cpu_s:
            found = _Found(task)
            try:
                with contained(_DefectError, FleetSpentError, WorldError, SettingsError, ToolError):
                    await self._run(work, found)
            except FleetSpentError:
                return None
            except _DefectError as error:
                is_defect = not _is_of_machine(error.__cause__, os.path.join(self._folder, "tasks", task.id))
                found.ended(Reason.DEFECT if is_defect else Reason.WORLD, str(error))
            except (WorldError, SettingsError, ToolError) as error:
                found.ended(Reason.WORLD, str(error))
            did_not_get_there = found.row.passed is None and found.row.reason is not Reason.DONE
            return msgspec.structs.replace(
                found.row,
                passed=False if did_not_get_there else found.row.passed,
                attempt=work.attempt,
                wall_s=round(time.monotonic() - started, 3),
                cpu_s=round(cpu_s(), 3),
                finished=time.time(),
            )

    async def _run(self, work: Work, found: _Found) -> None:
        task = work.task
        place = os.path.join(self._folder, "tasks", task.id)
        begun = await to_thread.run_sync(_begun, task, place) if work.attempt > 1 else None
        world = begun.world if begun else await to_thread.run_sync(make_world, task, place, self._folder)
        is_kept, is_over = self._plan.keep_worlds, True
        try:
            await self._in_world(task, world, begun, found)
        except (FleetSpentError, anyio.get_cancelled_exc_class()):
            is_over = False  # an attempt that goes on finds it as it is
            raise
        except _NoPatchError as error:
            is_kept = is_kept or world.has_room()
            message = told("no patch could be made: {why}", why=str(error))
            if is_kept:
                message = joined("; ", (message, told("the folder is kept: {folder}", folder=world.root)))
            raise WorldError(message) from error
        finally:
            if is_over:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(world.clear if is_kept else world.remove)

    async def _in_world(self, task: Task, world: World, begun: Begun | None, found: _Found) -> None:
        bounds = self._plan.bounds_of(task.budget)
        options = self._options(task, world, bounds)
        if begun is not None:
            options = msgspec.structs.replace(options, resume=os.path.basename(begun.session))
            await to_thread.run_sync(found.go_on, begun)
        settings = read_settings(options)
        network = settings.sandbox.mode == "off"  # a container can't be held to a list of hosts
        places = Places(world.root, world.home, world.borrowed, world.alias)
        async with opened_machine(task.image, places, network=network) as machine:
            if machine is not None:
                options = msgspec.structs.replace(options, processes=machine.container)
                settings = read_settings(options)
            commands = Commands(settings, world, self._plan.check_timeout_s, machine, self._fork_server)
            if begun is None and not await self._is_set_up(task, commands, found):
                return
            await self._agent(Start(options, settings), bounds, found, world)
            await commands.quiet()
            await self._judge(task, world, commands, found)

    async def _is_set_up(self, task: Task, commands: Commands, found: _Found) -> bool:
        if not task.setup:
            return True
        setup = await commands.set_up(task.setup)
        found.row = msgspec.structs.replace(found.row, setup=setup)
        if setup.exit_code != 0:
            found.ended(Reason.SETUP, setup.ending)
        return setup.exit_code == 0

    async def _judge(self, task: Task, world: World, commands: Commands, found: _Found) -> None:
        """Take out what was changed, and let the check look."""
        file = os.path.join(world.place, "patch.diff")
        try:
            await to_thread.run_sync(world.close)
            patch = await to_thread.run_sync(world.patch, file)
        except (OSError, WorldError) as error:
            raise _NoPatchError(str(error)) from error
        patch = msgspec.structs.replace(patch, file=file.removeprefix(f"{self._folder}/"))
        found.row = msgspec.structs.replace(found.row, patch=patch)
        if task.check:
            await self._check(task, world, commands, found)

    async def _agent(self, start: Start, bounds: Bounds, found: _Found, world: World) -> None:
        """Have the agent work on it; whatever it comes to, what it did is in the world."""
        model = start.settings.model
        if not is_connected(model):
            found.ended(Reason.MODEL, told("no model is connected: set a key, or name a model in the settings"))
            return

        def cost_of(usage: Usage) -> float:
            price = price_of(limited.name)
            return 0.0 if price is None else price.of(usage)

        limited = LimitedModel(partial(open_model, model, os.environ), self._limits, account_of(model), cost_of)
        priced = self._plan.max_cost if model.max_cost_usd is None else model.max_cost_usd  # what isn't has no bound
        price_of = budget_of(msgspec.structs.replace(model, max_cost_usd=priced), limited.name).price_of
        with anyio.move_on_after(bounds.timeout_s) as scope:
            async with agent_of(start, limited) as opened:
                await to_thread.run_sync(Begun.of(found.task, world, opened.session.path).keep)
                await found.watch(opened, self._folder)
        if found.row.session:
            await to_thread.run_sync(_write_page, self._folder, found.row)
        if scope.cancelled_caught:
            found.ended(Reason.TIMEOUT, f"{bounds.timeout_s:g} s")

    async def _check(self, task: Task, world: World, commands: Commands, found: _Found) -> None:
        """Let the check decide; a model that gave no answer may still have been done."""
        try:
            await to_thread.run_sync(write_files, world.root, task.check_files)
        except OSError as error:
            raise WorldError.of(error, world.root) from error
        outcome = await commands.check(task.check)
        row = msgspec.structs.replace(found.row, check=outcome, passed=outcome.exit_code == 0)
        if outcome.error and row.reason is Reason.DONE:
            row = msgspec.structs.replace(row, reason=Reason.CHECK, message=outcome.error)
        found.row = row

    def _options(self, task: Task, world: World, bounds: Bounds) -> Options:
        plan = self._plan
        return Options(
            root=world.root,
            settings_file=plan.settings_file,
            approval_mode=plan.approval_mode,
            model=task.model or plan.model,
            home=world.home,
            settings_home=self._home,
            max_turns=bounds.max_turns,
            max_cost=bounds.max_cost,
            effort=plan.effort,
            system_prompt=plan.system_prompt,
            append_system_prompt=plan.append_system_prompt,
            allowed_tools=plan.allowed_tools,
            retry_for_s=plan.retry_for_s,
            commands=plan.commands,
            undoes=plan.commands not in (None, "keep"),  # its world is thrown away
            is_container=plan.is_container,
            environment=environment_of(world),
            also_readable=(world.borrowed,) if world.borrowed else (),
            also_writable=(world.home,),
            fork_server=self._fork_server,
        )


class _Found:
    """The row as it becomes known."""

    def __init__(self, task: Task) -> None:
        passed = False if task.check else None
        self.task = task
        self._prompt = task.prompt
        self.row = Row(task.id, passed, Reason.DONE, group=task.group)
        self._answers: list[ToolAnswer] = []
        self._requests = 0
        self._usage = Usage()

    def ended(self, reason: Reason, message: str) -> None:
        """Say that it ended so; what can't be run hasn't passed."""
        passed = False if reason in (Reason.WORLD, Reason.SETUP, Reason.DEFECT) else self.row.passed
        self.row = msgspec.structs.replace(self.row, reason=reason, message=message, passed=passed)

    def go_on(self, begun: Begun) -> None:
        """Count what the attempt before did, which was cut short, and have the agent go on."""
        self._prompt = _GO_ON
        self.row = msgspec.structs.replace(self.row, continued=True)
        for recorded in read_record(begun.session):
            self._event(recorded.event)

    async def watch(self, opened: Opened, folder: str) -> None:
        """Run the agent's one turn, and keep what it came to, also when it is cut short."""
        session = opened.session.path.removeprefix(f"{folder}/")
        self.row = msgspec.structs.replace(self.row, model=opened.agent.model.name, session=session)
        prompt = await opened.read_prompt(self._prompt)
        try:
            self._end(await opened.agent.run(prompt, self._event))
        except FleetSpentError:
            raise
        except ModelError as error:
            self.ended(Reason.MODEL, f"{error.kind}: {error.message}")
        finally:
            self.row = msgspec.structs.replace(
                self.row,
                usage=opened.agent.usage,
                cost_usd=opened.agent.services.meter.session_cost_usd(),
                requests=self._requests,
                calls=len(self._answers),
                errors=errors_of(self._answers),
            )

    def _event(self, event: RecordedEvent) -> None:
        match event:
            case CallFinished(call=call, result=result):
                self._answers.append(ToolAnswer(call, result))
            case Usage():
                self._requests += 1
            case _:
                pass

    def _end(self, end: TurnEnd) -> None:
        text = end.text[-_KEPT_TEXT_CHARS:]
        self.row = msgspec.structs.replace(
            self.row, reason=_REASONS.get(end.reason, Reason.STOPPED), message=f"{end.note}", text=text
        )


class _Shares:
    """How much of this process's CPU time is each attempt's: what passes is shared out evenly among those that run."""

    def __init__(self) -> None:
        self._running: dict[int, float] = {}
        self._seen = _cpu_s()
        self._count = 0

    @contextmanager
    def running(self) -> Generator[Callable[[], float]]:
        """Count one in; what is yielded says its share so far."""
        self._share()
        self._count += 1
        number = self._count
        self._running[number] = 0.0

        def so_far() -> float:
            self._share()
            return self._running[number]

        try:
            yield so_far
        finally:
            self._share()
            del self._running[number]

    def _share(self) -> None:
        now = _cpu_s()
        for number in self._running:
            self._running[number] += (now - self._seen) / len(self._running)
        self._seen = now


def _is_of_machine(error: BaseException | None, place: str) -> bool:
    """Whether the machine refused what was asked of it, such as room on its disk: that is no defect of ours.

    Nor is what an agent did to the folders of its world, which lie at `place`.
    """
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    is_theirs = isinstance(error, OSError) and (error.errno in _OF_DISK or f"{error.filename}".startswith(f"{place}/"))
    return error is not None and (is_theirs or bool(limit_words(error)))


def _begun(task: Task, place: str) -> Begun | None:
    """Find what an attempt that was cut short left, if its record is as it was written and its history has the prompt.

    What was cut short before the model's first answer has none: that turn is taken back.
    """
    begun = Begun.left(task, place)
    if begun is None or task.image:  # what the container was is gone
        return None
    try:
        check_record(StoredSession(begun.session, read_facts(begun.session)), is_unverified=False)
        has_prompt = bool(restore(begun.session).contents)
    except (OSError, ToolError):
        return None
    return begun if has_prompt else None


def _write_page(folder: str, row: Row) -> None:
    """Write the session as a page beside its patch; without one the row is as good."""
    session = os.path.join(folder, row.session)
    try:
        stored = StoredSession(session, read_facts(session))
        with whole_file(os.path.join(folder, "tasks", row.id, "session.html"), is_synced=False) as file:
            export_html(stored, lambda text: file.write(text.encode("utf-8", "replace")))
    except (OSError, ToolError):
        return


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
