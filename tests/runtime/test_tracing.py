"""Telemetry: spans as a collector gets them, by the conventions, and what a dead collector costs."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from cancelling import cancelled_when
from dogu.app import Options, open_agent, open_runtime
from dogu.models.events import ModelError, ModelErrorKind
from dogu.testing import ScriptedModel, Turn, call
from dogu.testing.wire_server import Reply, WireRequest, WireServer

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the otel extra")
pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def exporters_end() -> Iterator[None]:
    """Wait for the exporter's own thread: its retries draw random numbers, which other tests would take for theirs."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("OtelBatch"):
            thread.join(30)


class Collector:
    """A collector on loopback that keeps the spans it is sent."""

    def __init__(self) -> None:
        self.requests: list[WireRequest] = []
        self.server = WireServer(self._answer)
        self.server.start()

    def _answer(self, request: WireRequest, reply: Reply) -> None:
        self.requests.append(request)
        reply.send(200, b"", {"content-type": "application/x-protobuf"})

    @property
    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        found: list[Any] = []
        for request in self.requests:
            message: Any = ExportTraceServiceRequest()
            is_packed = request.headers.get("content-encoding") == "gzip"
            message.ParseFromString(gzip.decompress(request.body) if is_packed else request.body)
            found += [span for each in message.resource_spans for scope in each.scope_spans for span in scope.spans]
        return found

    def span(self, name: str) -> tuple[Any, dict[str, Any]]:
        span = next(span for span in self.spans if span.name == name)
        return span, {each.key: value_of(each.value) for each in span.attributes}


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [value_of(each) for each in found.values] if kind == "array_value" else found


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.server.close()


def options_of(folder: Path, **telemetry: Any) -> Options:
    home, root = folder / "home", folder / "project"
    (home / ".dogu").mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("SECRET-CONTENT\n")
    (home / ".dogu" / "settings.json").write_text(json.dumps({"telemetry": telemetry}))
    return Options(root=str(root), home=str(home))


def model() -> ScriptedModel:
    return ScriptedModel(
        [Turn(calls=[call("read_file", path="a.txt"), call("read_file", path="no.txt")]), "SECRET-ANSWER"]
    )


async def run(options: Options, chosen: ScriptedModel | None = None) -> str:
    async with open_agent(options, model=chosen or model()) as opened:
        await opened.agent.run("SECRET-PROMPT")
        return opened.session_id


async def test_a_turn_its_requests_and_its_calls_are_spans_of_the_conventions(
    tmp_path: Path, collector: Collector
) -> None:
    session_id = await run(options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url))
    assert {request.path for request in collector.requests} == {"/v1/traces"}
    turn, attributes = collector.span("invoke_agent dogu")
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.agent.name"] == "dogu"
    assert attributes["gen_ai.conversation.id"] == session_id
    assert attributes["gen_ai.usage.input_tokens"] == 20
    request, attributes = collector.span("chat scripted")
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == "scripted"
    assert attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert attributes["gen_ai.usage.input_tokens"] == 10
    assert request.kind == request.SPAN_KIND_CLIENT
    tool, attributes = collector.span("execute_tool read_file")
    assert attributes["gen_ai.operation.name"] == "execute_tool"
    assert attributes["gen_ai.tool.name"] == "read_file"
    assert attributes["gen_ai.tool.call.id"]
    assert request.parent_span_id == tool.parent_span_id == turn.span_id
    assert len({span.trace_id for span in collector.spans}) == 1
    assert sum(span.name.startswith("chat") for span in collector.spans) == 2


async def test_a_failed_call_is_marked_by_its_kind(tmp_path: Path, collector: Collector) -> None:
    await run(options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url))
    kinds = [{each.key: value_of(each.value) for each in span.attributes}.get("error.type") for span in collector.spans]
    assert kinds.count("not_found") == 1
    failed = [span for span in collector.spans if span.status.code == span.status.STATUS_CODE_ERROR]
    assert [span.name for span in failed] == ["execute_tool read_file"]


async def test_a_model_that_fails_is_marked_by_its_kind(tmp_path: Path, collector: Collector) -> None:
    failing = ScriptedModel([Turn(error=ModelError(ModelErrorKind.AUTH, "SECRET-KEY is wrong"))])
    with pytest.raises(ModelError):
        await run(options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url), failing)
    assert collector.span("chat scripted")[1]["error.type"] == str(ModelErrorKind.AUTH)
    assert collector.span("invoke_agent dogu")[1]["error.type"] == str(ModelErrorKind.AUTH)
    assert not any(b"SECRET" in request.body for request in collector.requests)


async def test_a_turn_that_is_cancelled_is_a_span_that_says_so(tmp_path: Path, collector: Collector) -> None:
    options = options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url)
    model = ScriptedModel([Turn(hangs=True)])
    async with open_agent(options, model=model) as opened:
        await cancelled_when(lambda: model.requests, lambda: opened.agent.run("x"))
    assert collector.span("invoke_agent dogu")[1]["error.type"] == "cancelled"
    assert collector.span("chat scripted")[1]["error.type"] == "cancelled"


async def test_no_content_is_sent_unless_it_is_asked_for(tmp_path: Path, collector: Collector) -> None:
    url = collector.server.url
    await run(options_of(tmp_path, enabled=True, otlpEndpoint=url))
    assert collector.requests
    assert not any(b"SECRET" in request.body or b"a.txt" in request.body for request in collector.requests)
    await run(options_of(tmp_path, enabled=True, otlpEndpoint=url, logPrompts=True))
    sent = b"".join(request.body for request in collector.requests)
    assert all(word in sent for word in (b"SECRET-PROMPT", b"SECRET-ANSWER", b"SECRET-CONTENT", b"a.txt"))


async def test_it_is_off_unless_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.server.url)
    await run(options_of(tmp_path))
    assert collector.requests == []
    await run(options_of(tmp_path, enabled=True))
    assert collector.spans


async def test_a_folder_can_not_switch_it_on_nor_say_where_spans_go(tmp_path: Path, collector: Collector) -> None:
    options = options_of(tmp_path)
    folder = tmp_path / "project" / ".dogu"
    folder.mkdir()
    told = {"telemetry": {"enabled": True, "otlpEndpoint": collector.server.url, "logPrompts": True}}
    (folder / "settings.json").write_text(json.dumps(told))
    await run(options)
    assert collector.requests == []


@pytest.mark.parametrize("has_content", [False, True])
async def test_half_a_character_takes_nothing_down(tmp_path: Path, collector: Collector, has_content: bool) -> None:
    options = options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url, logPrompts=has_content)
    async with open_runtime(options) as runtime:
        answer = await runtime.call("read_file", path="\ud800")
    assert answer.result.error is not None
    assert collector.span("execute_tool read_file")[1]["error.type"] == answer.result.error.kind


async def test_calls_without_a_model_are_spans_too(tmp_path: Path, collector: Collector) -> None:
    options = options_of(tmp_path, enabled=True, otlpEndpoint=collector.server.url)
    async with open_runtime(options) as runtime:
        await runtime.call("read_file", path="a.txt")
    assert [span.name for span in collector.spans] == ["execute_tool read_file"]


async def test_spans_go_to_a_file_one_a_line(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    await run(options_of(tmp_path, enabled=True, outfile=str(file)))
    names = [json.loads(line)["name"] for line in file.read_text().splitlines()]
    assert sorted(names) == [
        "chat scripted",
        "chat scripted",
        "execute_tool read_file",
        "execute_tool read_file",
        "invoke_agent dogu",
    ]
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    options = options_of(tmp_path, enabled=True, otlpEndpoint=f"http://127.0.0.1:{port}")
    with anyio.fail_after(20):
        await run(options)


async def test_a_collector_that_hangs_never_holds_a_session_up(tmp_path: Path) -> None:
    server = WireServer(lambda _request, reply: reply.stall())
    server.start()
    options = options_of(tmp_path, enabled=True, otlpEndpoint=server.url)
    with anyio.fail_after(20):
        await run(options)
    server.close()


async def test_a_file_that_can_not_be_written_is_told_and_the_session_goes_on(tmp_path: Path) -> None:
    options = options_of(tmp_path, enabled=True, outfile=f"{tmp_path}/missing/spans")
    async with open_agent(options, model=model()) as opened:
        end = await opened.agent.run("x")
        assert end.text == "SECRET-ANSWER"
        assert any("Telemetry can't be written" in note for note in opened.runtime.notes)
