"""OpenTelemetry's spans: where they go, and the span around a tool call.

Spans are sent in the background; a collector that is slow or dead costs a session nothing but its spans. No content of
prompts, arguments or results is in them unless it is asked for. Attribute names are the GenAI conventions' as of
opentelemetry-semantic-conventions 0.66b2.
Source: open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from dogu.contract.content import text_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.extras import install_command
from dogu.language import told
from dogu.runtime.events import ToolAnswer, ToolCall
from dogu.workspace import fs

_FLUSH_TAKES_S = 2.0
_EXPORT_TAKES_S = 5.0
_MOST_WAITING = 4096
_LONGEST_CONTENT_CHARS = 32_000


class TraceSettings(msgspec.Struct, frozen=True):
    """Where spans go: an OTLP/HTTP endpoint (empty: OpenTelemetry's own variables), or a file. `has_content`: all."""

    endpoint: str = ""
    file: str = ""
    has_content: bool = False


class Tracing:
    """The spans of one session. `tell` is told once, in a sentence for the user, that they can't be sent."""

    def __init__(self, settings: TraceSettings, session_id: str, version: str, tell: Callable[[str], None]) -> None:
        """Raises `ToolError` (START_FAILED) when the `otel` extra isn't installed or the file can't be written."""
        self.session_id = session_id
        self.has_content = settings.has_content
        try:
            sdk: Any = import_module("opentelemetry.sdk.trace")
            export: Any = import_module("opentelemetry.sdk.trace.export")
            resources: Any = import_module("opentelemetry.sdk.resources")
            self._api: Any = import_module("opentelemetry.trace")
            exporter = _Exporter(_exporter(settings), export.SpanExportResult, tell)
        except ImportError as error:
            message = told("Telemetry needs OpenTelemetry: {command}", command=install_command("otel"))
            raise ToolError(ErrorKind.START_FAILED, message) from error
        except OSError as error:
            message = told("Telemetry can't be written: {file}: {why}.", file=settings.file, why=error.strerror)
            raise ToolError(ErrorKind.START_FAILED, message) from error
        _silence()
        self._processor = export.BatchSpanProcessor(
            exporter, max_queue_size=_MOST_WAITING, schedule_delay_millis=1000, max_export_batch_size=256
        )
        resource = resources.Resource.create({"service.name": "dogu", "service.version": version})
        provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("dogu", version)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any], *, is_client: bool = False) -> Generator[Any]:
        """Open a span and make it the one that others are in; what is raised marks it by its kind, without words."""
        kind = self._api.SpanKind.CLIENT if is_client else self._api.SpanKind.INTERNAL
        known = {"gen_ai.conversation.id": self.session_id, **attributes}
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=known, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                self.fail(span, str(getattr(error, "kind", "")) or _name_of(error))
                raise

    def fail(self, span: Any, kind: str) -> None:
        """Mark a span as failed."""
        span.set_attribute("error.type", kind)
        span.set_status(self._api.Status(self._api.StatusCode.ERROR))

    def content(self, span: Any, name: str, text: Callable[[], str]) -> None:
        """Put content into a span, made only if it is asked for; long texts are cut."""
        if self.has_content:
            span.set_attribute(name, text()[:_LONGEST_CONTENT_CHARS].encode("utf-8", "replace").decode())

    @contextmanager
    def __call__(self, call: ToolCall) -> Generator[Callable[[ToolAnswer], None]]:
        """Be around a tool call; what it yields takes the answer."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.call_id,
        }
        with self.span(f"execute_tool {call.name}", attributes) as span:
            self.content(span, "gen_ai.tool.call.arguments", lambda: json.dumps(call.args, ensure_ascii=False))

            def answered(answer: ToolAnswer) -> None:
                if answer.result.error is not None:
                    self.fail(span, str(answer.result.error.kind))
                self.content(span, "gen_ai.tool.call.result", lambda: text_of(answer.result.llm_content))

            yield answered

    async def aclose(self) -> None:
        """Send what is left, for 2 s at most; cancellation waits for it."""
        thread = threading.Thread(target=self._processor.shutdown, daemon=True)
        thread.start()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(thread.join, _FLUSH_TAKES_S)


class _Exporter:
    """Passes spans on, and says once that they can't be; what goes wrong stays in here."""

    def __init__(self, exporter: Any, result: Any, tell: Callable[[str], None]) -> None:
        self._exporter = exporter
        self._result = result
        self._tell = tell
        self._is_told = False

    def export(self, spans: Any) -> Any:
        try:
            result = self._exporter.export(spans)
        except (OSError, ValueError):
            result = self._result.FAILURE
        if result is not self._result.SUCCESS and not self._is_told:
            self._is_told = True
            self._tell(told("Telemetry: spans couldn't be sent or written; the session continues without them."))
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))


def _exporter(settings: TraceSettings) -> Any:
    if settings.file:
        export: Any = import_module("opentelemetry.sdk.trace.export")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | fs.O_CLOEXEC
        stream = os.fdopen(fs.open(os.path.expanduser(settings.file), flags, 0o600), "a", encoding="utf-8")
        return _FileExporter(export.ConsoleSpanExporter(out=stream, formatter=_line), stream)
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    return otlp.OTLPSpanExporter(endpoint=_traces_url(settings.endpoint), timeout=_EXPORT_TAKES_S)


class _FileExporter:
    """Writes spans into a file, one JSON object a line."""

    def __init__(self, exporter: Any, stream: Any) -> None:
        self._exporter = exporter
        self._stream = stream

    def export(self, spans: Any) -> Any:
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        self._stream.close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True


def _line(span: Any) -> str:
    return f"{span.to_json(indent=None)}\n"


def _traces_url(endpoint: str) -> str | None:
    """The address of traces at a collector's; None leaves it to OpenTelemetry's variables and its default."""
    if not endpoint:
        return None
    plain = endpoint.rstrip("/")
    return plain if plain.endswith("/v1/traces") else f"{plain}/v1/traces"


def _silence() -> None:
    """Keep OpenTelemetry's own complaints out of the terminal."""
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def _name_of(error: BaseException) -> str:
    return "cancelled" if isinstance(error, anyio.get_cancelled_exc_class()) else type(error).__name__
