"""OpenTelemetry by setting: spans for turns, model calls and tools, sent in the background or written to a file."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dogu.app.model_choice import provider_of
from dogu.contract.errors import ToolError
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings
from dogu.version import __version__

if TYPE_CHECKING:
    from dogu.agent.loop import Agent


@asynccontextmanager
async def traced(runtime: Runtime, settings: Settings) -> AsyncGenerator[None]:
    """Trace the runtime's calls while the context is open, if the settings say so."""
    chosen = settings.extensions.telemetry
    if not chosen.is_enabled:
        yield
        return
    from dogu.runtime.tracing import TraceSettings, Tracing

    def tell(note: str) -> None:
        runtime.notes = (*runtime.notes, note)

    where = TraceSettings(chosen.endpoint, chosen.outfile, chosen.has_content)
    try:
        tracing = Tracing(where, os.path.basename(runtime.session_folder), __version__, tell)
    except ToolError as error:
        tell(error.message)
        yield
        return
    runtime.executor.traced = tracing
    try:
        yield
    finally:
        await tracing.aclose()


def trace(agent: Agent, runtime: Runtime, settings: Settings) -> None:
    """Trace an agent's turns and model calls, if its runtime's calls are."""
    if runtime.executor.traced is None:
        return
    from dogu.agent.tracing import trace_agent
    from dogu.runtime.tracing import Tracing

    if isinstance(runtime.executor.traced, Tracing):
        trace_agent(agent, runtime.executor.traced, provider_of(settings.model).span_name)
