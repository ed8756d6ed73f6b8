"""Opens the tools over a workspace, without a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from dogu.app.built_in import SessionServices, add_tools
from dogu.app.foundation import lay_foundation
from dogu.app.mcp_servers import mcp_servers
from dogu.app.options import Door, Options, Start, read_settings, told_of_settings
from dogu.app.sessions import open_session
from dogu.runtime.questions import AskTheUser, Confirm
from dogu.runtime.registry import AnyTool
from dogu.runtime.runtime import Runtime


@asynccontextmanager
async def open_runtime(
    options: Options | None = None,
    *,
    confirm: Confirm | None = None,
    tools: Iterable[AnyTool] = (),
    elicit: AskTheUser | None = None,
) -> AsyncGenerator[Runtime]:
    """Open the tools over a workspace; leaving the context ends background jobs.

    `tools` are added to the built-in ones. `confirm` is asked before anything changes; None refuses what asks.
    `elicit` puts before the user what MCP servers ask; None declines. Raises `SettingsError` for settings that can't
    be understood.
    """
    options = options or Options()
    start = Start(options, read_settings(options), Door(confirm, elicit))
    base = lay_foundation(start, open_session(options, start.settings))
    async with AsyncExitStack() as closing:
        closing.push_async_callback(base.aclose)
        start.notes.add(*told_of_settings(start.settings), *base.troubles)
        await add_tools(base, SessionServices(), tools)
        runtime = base.runtime()
        await closing.enter_async_context(base.extras.running(is_resumed=options.resume is not None))
        await closing.enter_async_context(mcp_servers(base, runtime))
        yield runtime
