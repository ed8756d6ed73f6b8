"""OpenTelemetry by setting: spans for turns, model calls and tools, sent in the background or written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.contract.errors import ToolError
from dogu.runtime.notes import Notes
from dogu.settings import Settings
from dogu.version import __version__

if TYPE_CHECKING:
    from dogu.runtime.tracing import Tracing


def tracing_of(settings: Settings, session_id: str, notes: Notes) -> tuple[Tracing | None, tuple[str, ...]]:
    """Return what traces the session, None unless the settings say so, and why it can't be traced, if it can't."""
    chosen = settings.extensions.telemetry
    if not chosen.is_enabled:
        return None, ()
    from dogu.runtime.tracing import TraceSettings, Tracing

    where = TraceSettings(chosen.endpoint, chosen.outfile, chosen.has_content)
    try:
        return Tracing(where, session_id, __version__, notes.add), ()
    except ToolError as error:
        return None, (error.message,)
