"""The library for programs without an event loop: the same runtime and agent, with calls that wait.

    with dogu.blocking.open_runtime(dogu.Options(root=".")) as runtime:
        print(runtime.call("read_file", path="README.md").result.llm_content)

A loop runs in a thread of its own while a context is open. Any thread may call; Ctrl-C cancels the call that waits, and
what it has started ends. Within a running event loop it refuses to block: use `async with dogu.open_runtime(...)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

import dogu
from dogu.runtime.events import Emit as EmitCalls
from dogu.runtime.events import emit_nothing

if TYPE_CHECKING:
    from dogu.agent.events import Emit, Event, TurnEnd
    from dogu.agent.stream import TurnStream
    from dogu.app import Opened, Options
    from dogu.contract.content import Content
    from dogu.models.model import Model
    from dogu.runtime.events import ToolAnswer
    from dogu.runtime.questions import Outcome, Question
    from dogu.runtime.registry import AnyTool
    from dogu.runtime.runtime import Runtime as AsyncRuntime

    AnyConfirm = Callable[[Question], Outcome | Awaitable[Outcome]]

_T = TypeVar("_T")
_A = TypeVar("_A")


class Runtime:
    """A runtime's tools, called from any thread. `runtime` is the asynchronous one, for what only looks."""

    def __init__(self, runtime: AsyncRuntime, portal: BlockingPortal) -> None:
        self.runtime = runtime
        self._portal = portal

    def call(
        self, name: str, args: Mapping[str, Any] | None = None, /, *, emit: EmitCalls = emit_nothing, **more: Any
    ) -> ToolAnswer:
        """Run one call and wait for its answer; failures are answers. `emit` is called in the loop's thread."""
        return _wait(self._portal, partial(self.runtime.call, name, args, emit=emit, **more))


class Agent:
    """An agent whose turns are waited for; `opened` is the asynchronous one."""

    def __init__(self, opened: Opened, portal: BlockingPortal) -> None:
        self.opened = opened
        self.runtime = Runtime(opened.runtime, portal)
        self._portal = portal

    def run(self, prompt: Content, emit: Emit = emit_nothing) -> TurnEnd:
        """Run one turn and wait for its end. Raises `ModelError`."""
        return _wait(self._portal, partial(self.opened.agent.run, prompt, emit))

    def stream(self, prompt: Content) -> Generator[Event]:
        """Give a turn's events as they come; ending the iteration early cancels the turn. Raises `ModelError`."""
        _refuse_in_a_loop()
        with _held(self._portal, self.opened.agent.stream(prompt)) as events:
            while (event := _wait(self._portal, partial(_next, events))) is not None:
                yield event


@contextmanager
def open_runtime(
    options: Options | None = None, *, confirm: AnyConfirm | None = None, tools: Iterable[AnyTool] = ()
) -> Generator[Runtime]:
    """Do as `dogu.open_runtime`; `confirm` may be a plain function, which is called in a thread of its own."""
    opening = dogu.open_runtime(options, confirm=_awaited(confirm), tools=tools)
    with _loop() as portal, _held(portal, opening) as runtime:
        yield Runtime(runtime, portal)


@contextmanager
def open_agent(
    options: Options | None = None,
    *,
    confirm: AnyConfirm | None = None,
    model: Model | None = None,
    tools: Iterable[AnyTool] = (),
    ask_to_go_on: Callable[[str], bool | Awaitable[bool]] | None = None,
) -> Generator[Agent]:
    """Do as `dogu.open_agent`; what is asked may be a plain function, which is called in a thread of its own."""
    opening = dogu.open_agent(
        options, confirm=_awaited(confirm), model=model, tools=tools, ask_to_go_on=_awaited(ask_to_go_on)
    )
    with _loop() as portal, _held(portal, opening) as opened:
        yield Agent(opened, portal)


@contextmanager
def _loop() -> Generator[BlockingPortal]:
    _refuse_in_a_loop()
    with start_blocking_portal() as portal:
        yield portal


@contextmanager
def _held(portal: BlockingPortal, context: AbstractAsyncContextManager[_T]) -> Generator[_T]:
    """Keep a context open in the loop. It isn't told what ended the body: Ctrl-C raised there would end the loop."""
    entered = portal.wrap_async_context_manager(context)
    value = entered.__enter__()
    try:
        yield value
    finally:
        entered.__exit__(None, None, None)


def _refuse_in_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    message = "dogu.blocking would block the event loop that runs here: use `async with dogu.open_runtime(...)` instead"
    raise RuntimeError(message)


def _wait(portal: BlockingPortal, call: Callable[[], Awaitable[_T]]) -> _T:
    """Run it in the loop and wait; an interrupt of the waiting thread cancels it."""
    _refuse_in_a_loop()
    future = portal.start_task_soon(call)
    try:
        return future.result()
    finally:
        future.cancel()  # nothing, once it is done


async def _next(events: TurnStream) -> Event | None:
    return await anext(events, None)


def _awaited(function: Callable[[_A], _T | Awaitable[_T]] | None) -> Callable[[_A], Awaitable[_T]] | None:
    """Let a plain function be asked where an asynchronous one is awaited: in a thread, so that it may block."""
    if function is None:
        return None

    async def ask(asked: _A) -> _T:
        answer: Any = await to_thread.run_sync(function, asked, abandon_on_cancel=True)
        return await answer if isawaitable(answer) else answer

    return ask
