"""A worker process: many attempts in one event loop. It ends when the driver does, and all it started with it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import suppress

import anyio
import msgspec
from anyio.abc import TaskGroup

from dogu.fleet.aside import end_programs
from dogu.fleet.attempt import Attempts
from dogu.fleet.limits import SharedLimits, Spent
from dogu.fleet.plan import Plan
from dogu.fleet.store import WORKERS_LOCK
from dogu.fleet.tasks import Work
from dogu.fleet.wire import Begin, Done, FromWorker, Granted, Paid, Run, ToWorker, Used, Wants, line_of
from dogu.language import speak
from dogu.serve.private_streams import lines_of, private_input, private_output
from dogu.workspace import fs
from dogu.workspace.process.launch import ForkServer

_GARBAGE_EVERY = 2  # as it is, some fifty tasks' garbage lies there before all of it is looked through


class _DriversLimits:
    """The fleet's limits, which the driver keeps."""

    def __init__(self, say: Callable[[FromWorker], None]) -> None:
        self._say = say
        self._waiting: dict[int, tuple[anyio.Event, list[str]]] = {}
        self._count = 0

    async def begin(self, account: str, tokens: int) -> str:
        """Ask the driver; see `Limits`."""
        self._count += 1
        number = self._count
        answered, answer = self._waiting[number] = anyio.Event(), list[str]()
        self._say(Wants(number, account, tokens))
        try:
            await answered.wait()
        finally:
            self._waiting.pop(number, None)
        return answer[0]

    async def end(self, spent: Spent) -> None:
        """Tell the driver; see `Limits`."""
        self._say(Used(spent))

    def granted(self, message: Granted) -> None:
        """Let a request go; one that nobody waits for any more is given back."""
        waiting = self._waiting.pop(message.number, None)
        if waiting is None:
            if not message.refused:
                self._say(Used(Spent(message.account)))
            return
        answered, answer = waiting
        answer.append(message.refused)
        answered.set()


class _Worker:
    """What is done with what the driver says."""

    def __init__(self, sent: int, group: TaskGroup, fork_server: ForkServer) -> None:
        self._sent = sent
        self._fork_server = fork_server
        self._group = group
        self._limits = _DriversLimits(self._say)
        self._attempts: Attempts | None = None

    def hear(self, message: ToWorker) -> None:
        match message:
            case Begin(folder=folder, plan=plan, home=home, language=language, spent_usd=spent_usd):
                speak(language)
                lock = fs.open(os.path.join(folder, WORKERS_LOCK), os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
                fs.flock(lock, fs.LOCK_SH)  # until this process ends: who drives next waits for that
                limits = self._limits if spent_usd is None else self._own_limits(plan, spent_usd)
                self._attempts = Attempts(folder, plan, limits, home, self._fork_server)
            case Run(work=work):
                self._group.start_soon(self._attempt, work)
            case Granted():
                self._limits.granted(message)

    def _own_limits(self, plan: Plan, spent_usd: float) -> SharedLimits:
        return SharedLimits(
            plan.requests_per_minute,
            plan.tokens_per_minute,
            plan.max_cost,
            spent_usd,
            keep=lambda usd: self._say(Paid(usd)),
        )

    async def _attempt(self, work: Work) -> None:
        if self._attempts is None:
            raise RuntimeError("the driver's first message isn't Begin")
        row = await self._attempts.run(work)
        if not gc.get_freeze_count():  # what the first one loaded stays: only what tasks leave is looked through
            gc.freeze()
        self._say(Done(work.task.id, row))

    def _say(self, message: FromWorker) -> None:
        """Send a message; the driver always reads, unless it is gone, and then this process ends too."""
        data = memoryview(line_of(message))
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._sent, data) :]


async def _work(received: int, sent: int) -> None:
    decoder: msgspec.json.Decoder[ToWorker] = msgspec.json.Decoder(ToWorker)
    with ForkServer() as fork_server:
        async with anyio.create_task_group() as group:
            worker = _Worker(sent, group, fork_server)
            async for line in lines_of(received):
                worker.hear(decoder.decode(line or b""))
            group.cancel_scope.cancel()
            end_programs()


def main() -> None:
    """Work for the driver at standard input and output until it closes them."""
    gc.set_threshold(*gc.get_threshold()[:2], _GARBAGE_EVERY)
    with private_input() as received, private_output() as sent:
        anyio.run(_work, received, sent)


if __name__ == "__main__":
    main()
