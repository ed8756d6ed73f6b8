"""OpenTelemetry by setting: spans for turns, model calls and tools, sent in the background or written to a file."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dogu.runtime.runtime import Runtime
from dogu.settings import Settings


@asynccontextmanager
async def traced(runtime: Runtime, settings: Settings) -> AsyncGenerator[None]:
    """Trace the runtime's calls while the context is open, if the settings say so."""
    yield
