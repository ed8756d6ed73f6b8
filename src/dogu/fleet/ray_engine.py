"""The engine on a Ray cluster: a task of Ray's for each of ours, one actor for what all share.

Nodes need dogu and git, and no common file system: what a task begins with travels by Ray's object store, an attempt
works in a temporary folder of its node, and its patch and record travel back with its row. A node that is lost costs
what ran there an attempt, nothing more.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

import anyio
import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.extras import install_command
from dogu.fleet.aside import WorldError
from dogu.fleet.attempt import Attempts
from dogu.fleet.engine import Engine, Tasks, deadline_s
from dogu.fleet.limits import SharedLimits, Spent
from dogu.fleet.parcels import pack, stamp_of, unpack
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Row
from dogu.fleet.tasks import Task, Work
from dogu.language import plain, speak, spoken, told
from dogu.workspace import fs

_CPUS = 0.25  # a processor runs several: an agent waits for its model most of the time
_ANSWERS_WITHIN_S = 20.0
_LARGEST_FILE_BYTES = 256 * 1024 * 1024
_PREFIX, _LOCK = "dogu-fleet-", "attempt.lock"
_LOCKED_WITHIN_S = 60.0  # after it was made
_KEPT_PARCELS = 32  # in the object store; what tasks that run begin with is kept besides


class _Result(msgspec.Struct, frozen=True):
    """What travels back: the row, and files by their path in the fleet's folder."""

    row: Row | None
    files: dict[str, bytes] = {}


class RayEngine(Engine):
    """Runs a fleet's tasks on the cluster at `address` (`auto`: the one that this machine is part of).

    Settings are read on the nodes, at `home`. Raises `ToolError` where Ray isn't installed or has no cluster.
    """

    def __init__(self, folder: str, plan: Plan, home: str = "", address: str = "auto") -> None:
        self._folder = folder
        self._plan = plan
        self._home = home or os.path.expanduser("~")
        self._address = address
        self._packing: dict[str, anyio.Lock] = {}
        self._parcels: dict[tuple[str, int], Any] = {}
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            message = told("Ray isn't installed: {command}", command=install_command("fleet"))
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message) from None

    async def run(self, tasks: Tasks, limits: SharedLimits) -> None:
        """Run until there is no task to take; cancelled, what runs is ended."""
        ray, plan = self._ray, self._plan
        if not ray.is_initialized():
            await self._join()
        shared = self._limits_actor(limits)
        remote = ray.remote(num_cpus=_CPUS, max_retries=0, scheduling_strategy="SPREAD")(_attempt)
        async with anyio.create_task_group() as group:
            for _ in range(max(1, plan.jobs)):
                group.start_soon(self._seat, remote, shared, tasks, limits)
        ray.kill(shared)

    async def _join(self) -> None:
        """Join the cluster. Raises `ToolError` (START_FAILED) where there is none."""
        join = partial(self._ray.init, self._address, log_to_driver=False, logging_level="error")
        try:
            if ":" in self._address:
                await _check_health(self._address)
            await anyio.to_thread.run_sync(join)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            why = str(error) or told("nothing answered in {seconds:g} seconds", seconds=_ANSWERS_WITHIN_S)
            message = told("There is no Ray cluster at {address}: {why}", address=self._address, why=why)
            raise ToolError(ErrorKind.START_FAILED, message) from error

    def _limits_actor(self, limits: SharedLimits) -> Any:
        """Make the actor on this machine: a node that is lost doesn't take what all share with it."""
        ray, plan = self._ray, self._plan
        strategies: Any = import_module("ray.util.scheduling_strategies")
        here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        name = f"dogu-fleet-limits-{uuid.uuid4().hex}"
        actor = ray.remote(num_cpus=0, scheduling_strategy=here)(_LimitsActor).options(name=name)
        return actor.remote(plan.requests_per_minute, plan.tokens_per_minute, plan.max_cost, limits.spent_usd)

    async def _seat(self, remote: Any, shared: Any, tasks: Tasks, limits: SharedLimits) -> None:
        while (work := tasks.take()) is not None:
            plan = msgspec.json.encode(self._plan)
            parcel = await self._parcel(work.task)
            reference = remote.remote(msgspec.json.encode(work), plan, self._home, spoken(), shared, parcel)
            is_done = False
            try:
                with anyio.fail_after(deadline_s(self._plan, work)):
                    answer = await asyncio.wrap_future(reference.future())
                is_done = True
            except (self._ray.exceptions.RayError, TimeoutError):
                tasks.lost(work)
                continue
            finally:
                if not is_done:
                    self._ray.cancel(reference, force=True)
            result = msgspec.msgpack.decode(answer, type=_Result)
            if result.row is None:
                limits.spent_usd = max(limits.spent_usd, self._plan.max_cost or 0.0)
                tasks.put_back(work)
                return
            await anyio.to_thread.run_sync(_write, self._folder, work.task.id, result.files)
            tasks.finish(result.row)
            with suppress(self._ray.exceptions.RayError):
                limits.note_spent(await asyncio.wrap_future(shared.spent_usd.remote().future()))

    async def _parcel(self, task: Task) -> Any:
        """Have what a task begins with in the object store; None where it is nothing, or can't be had here."""
        async with self._packing.setdefault(task.repo or task.folder, anyio.Lock()):
            try:
                place, stamp = await anyio.to_thread.run_sync(stamp_of, task, self._folder)
                if place and (place, stamp) not in self._parcels:
                    packed = await anyio.to_thread.run_sync(pack, place, self._folder)
                    self._parcels[place, stamp] = self._ray.put(packed)
            except (OSError, WorldError, self._ray.exceptions.RayError):  # where it is needed, it is the row's reason
                return None
            found = self._parcels.get((place, stamp))
            while len(self._parcels) > _KEPT_PARCELS:
                del self._parcels[next(iter(self._parcels))]
            return found


async def _check_health(address: str) -> None:
    """Ask the cluster by a program that can be ended: `ray.init` waits a quarter of an hour for one that is gone."""
    asking = [sys.executable, "-P", "-m", "ray.scripts.scripts", "health-check", "--address", address]
    with anyio.fail_after(_ANSWERS_WITHIN_S):
        done = await anyio.run_process(asking, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        last = done.stdout.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConnectionError(last)


class _LimitsActor:
    """`SharedLimits`, in a process of the cluster's."""

    def __init__(self, requests: float | None, tokens: float | None, max_cost: float | None, spent_usd: float) -> None:
        self._limits = SharedLimits(requests, tokens, max_cost, spent_usd)

    async def begin(self, account: str, tokens: int) -> str:
        """See `Limits`."""
        return f"{await self._limits.begin(account, tokens)}"

    async def end(self, spent: bytes) -> None:
        """See `Limits`."""
        await self._limits.end(msgspec.json.decode(spent, type=Spent))

    async def spent_usd(self) -> float:
        """What all have spent, also those that were lost."""
        return self._limits.spent_usd


class _ClusterLimits:
    """The actor, as an attempt sees it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def begin(self, account: str, tokens: int) -> str:
        """See `Limits`."""
        return await asyncio.wrap_future(self._actor.begin.remote(account, tokens).future())

    async def end(self, spent: Spent) -> None:
        """See `Limits`."""
        await asyncio.wrap_future(self._actor.end.remote(msgspec.json.encode(spent)).future())


def _attempt(work: bytes, plan: bytes, home: str, language: str, actor: Any, parcel: bytes | None) -> bytes:
    """Run one attempt in a process of Ray's."""
    speak(language)
    with folder_of_attempt() as folder:
        chosen = msgspec.json.decode(work, type=Work)
        if parcel is not None:
            with suppress(OSError):  # then the task has no folder, which is its row's reason
                chosen = msgspec.structs.replace(chosen, task=unpack(parcel, chosen.task, folder))
        attempts = Attempts(folder, msgspec.json.decode(plan, type=Plan), _ClusterLimits(actor), home)
        row = anyio.run(attempts.run, chosen)
        return msgspec.msgpack.encode(
            _Result(row, dict(_files(folder, row)) if row is not None else {}), enc_hook=plain
        )


@contextmanager
def folder_of_attempt() -> Generator[str]:
    """Have a folder on this node for an attempt, which locks it; those go whose attempts were killed."""
    above = os.path.realpath(tempfile.gettempdir())
    for entry in os.scandir(above):
        if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
            _remove_if_left(entry.path)
    folder = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
    lock = fs.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
    try:
        fs.flock(lock, fs.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_if_left(folder: str) -> None:
    """Remove an attempt's folder that no process has; one without a lock, or of somebody else's, is none."""
    with suppress(OSError):
        lock = fs.open(os.path.join(folder, _LOCK), os.O_RDWR | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        try:
            fs.flock(lock, fs.LOCK_EX | fs.LOCK_NB)
            if time.time() - os.fstat(lock).st_mtime > _LOCKED_WITHIN_S:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _files(folder: str, row: Row) -> list[tuple[str, bytes]]:
    """The patch, the page of the session and its record."""
    found: list[tuple[str, bytes]] = []
    places = [os.path.join(folder, "tasks", row.id)]
    if row.session:
        places.append(os.path.join(folder, row.session))
    for place in places:
        for entry in os.scandir(place) if os.path.isdir(place) else ():
            if entry.is_file(follow_symlinks=False) and entry.stat().st_size <= _LARGEST_FILE_BYTES:
                with open(entry.path, "rb") as file:
                    found.append((os.path.relpath(entry.path, folder), file.read()))
    return found


def _write(folder: str, task_id: str, files: dict[str, bytes]) -> None:
    """Put an attempt's files where an attempt on this machine leaves them, and on the disk."""
    shutil.rmtree(os.path.join(folder, "tasks", task_id), ignore_errors=True)
    for name, data in files.items():
        path = os.path.normpath(os.path.join(folder, name))
        if not path.startswith(os.path.join(folder, "tasks", task_id) + os.sep):
            continue  # no path of a node's leads elsewhere
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
