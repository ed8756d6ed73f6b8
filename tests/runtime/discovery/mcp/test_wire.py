"""Answers over HTTP that hold something odd: it costs itself, and not what it stands among."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dogu
from dogu.contract import ErrorKind
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.http import mended
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.runtime import Runtime

pytestmark = pytest.mark.anyio


class Packing:
    """How the answers to calls are sent: `packed` makes the body of a message, `encoding` is what it is said to be."""

    def __init__(self, encoding: str = "", packed: Callable[[bytes], bytes] = bytes) -> None:
        self.encoding = encoding
        self.packed = packed
        self.asked_for: list[str] = []
        self.methods: list[str] = []


@contextmanager
def serving(tools: bytes, answer: bytes, packing: Packing, *, as_events: bool) -> Generator[str]:
    """Serve MCP over HTTP with these bytes as the tools and as the result of a call."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(message)

        def do_GET(self) -> None:
            self.send_error(405)

        def do_DELETE(self) -> None:
            self.send_error(405)

        def _answer(self, message: dict[str, Any]) -> None:
            capabilities: dict[str, Any] = {"tools": {}}
            about = {"name": "odd", "version": "1"}
            results = {
                "initialize": json.dumps(
                    {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about}
                ).encode(),
                "tools/list": b'{"tools": [' + tools + b"]}",
                "tools/call": answer,
            }
            found = results.get(message.get("method", ""))
            if found is None:
                self.send_error(202 if "id" not in message else 400)
                return
            data = b'{"jsonrpc": "2.0", "id": %d, "result": %s}' % (message["id"], found)
            body = b"event: message\ndata: " + data + b"\n\n" if as_events else data
            packing.methods.append(message["method"])
            packing.asked_for.append(self.headers["Accept-Encoding"])
            self.send_response(200)
            if packing.encoding and message["method"] == "tools/call":
                body = packing.packed(body)
                self.send_header("Content-Encoding", packing.encoding)
            self.send_header("Content-Type", "text/event-stream" if as_events else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@asynccontextmanager
async def opened(
    tmp_path: Path, tools: bytes, answer: bytes = b"{}", packing: Packing | None = None, *, as_events: bool
) -> AsyncGenerator[Runtime]:
    with serving(tools, answer, packing or Packing(), as_events=as_events) as address:
        (entry,), _ = read_entries({"odd": {"httpUrl": address, "timeout": 15_000}})
        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"), approval_mode="yolo")
        host = Host((str(tmp_path),), dict)
        with anyio.fail_after(60):
            async with dogu.open_runtime(options) as runtime, mcp_tools([entry], runtime, host, wait_s=20):
                yield runtime


def tool(name: str, schema: bytes = b'{"type": "object"}', description: bytes = b"D") -> bytes:
    return b'{"name": "%s", "description": "%s", "inputSchema": %s}' % (name.encode(), description, schema)


EITHER = pytest.mark.parametrize("as_events", [False, True])
DEEP = b'{"type": "object", "properties": {"a": ' * 300 + b"{}" + b"}}" * 300


@EITHER
@pytest.mark.parametrize(
    "bad",
    [
        tool("bad", DEEP),
        tool("bad", b'{"type": "object", "description": "\\ud800", "minProperties": "x"}'),
        tool("bad", b"null"),
        b'"no tool"',
    ],
)
async def test_an_odd_tool_costs_itself(tmp_path: Path, bad: bytes, as_events: bool):
    async with opened(tmp_path, bad + b"," + tool("good"), as_events=as_events) as runtime:
        assert [tool.name for tool in runtime.registry if tool.name.startswith("odd__")] == ["odd__good"]
        assert "left out" in runtime.notes[0]


@EITHER
async def test_bytes_that_are_no_utf_8_are_replaced(tmp_path: Path, as_events: bool):
    answer = b'{"content": [{"type": "text", "text": "hel\xfflo"}]}'
    async with opened(tmp_path, tool("good", description=b"caf\xe9"), answer, as_events=as_events) as runtime:
        assert runtime.registry.get("odd__good").description == "caf\ufffd"
        assert (await runtime.call("odd__good")).result.llm_content == "hel\ufffdlo"


@EITHER
async def test_an_answer_that_is_no_json_fails_its_call_and_the_next_goes_on(tmp_path: Path, as_events: bool):
    async with opened(tmp_path, tool("good"), b'{"content": [}', as_events=as_events) as runtime:
        for _ in range(2):
            error = (await runtime.call("odd__good")).result.error
            assert error is not None
            assert error.kind is ErrorKind.REMOTE_FAILED
            assert "MCP server odd" in error.message


@EITHER
async def test_an_answer_past_the_limit_is_cut_off_and_told(
    tmp_path: Path, as_events: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.http.MAX_LINE_BYTES", 1_000_000)
    answer = b'{"content": [{"type": "text", "text": "' + b"x" * 3_000_000 + b'"}]}'
    async with opened(tmp_path, tool("good"), answer, as_events=as_events) as runtime:
        assert "more than 1 MB" in await failure(runtime)


async def failure(runtime: Runtime) -> str:
    """Call the tool, which must fail by the server; return what is said of it."""
    error = (await runtime.call("odd__good")).result.error
    assert error is not None
    assert error.kind is ErrorKind.REMOTE_FAILED
    assert error.message.startswith("The MCP server odd failed in good: ")
    return error.message


@EITHER
@pytest.mark.parametrize(
    "packing",
    [
        Packing("gzip", gzip.compress),
        Packing("deflate", lambda data: zlib.compress(data, wbits=-15)),
    ],
)
async def test_a_compressed_answer_is_read_and_mended(tmp_path: Path, packing: Packing, as_events: bool):
    answer = b'{"content": [{"type": "text", "text": "hel\xfflo"}]}'
    async with opened(tmp_path, tool("good"), answer, packing, as_events=as_events) as runtime:
        assert (await runtime.call("odd__good")).result.llm_content == "hel\ufffdlo"
    assert set(packing.asked_for) == {"gzip, deflate"}


@EITHER
async def test_what_a_small_answer_decompresses_to_is_bounded(
    tmp_path: Path, as_events: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.http.MAX_LINE_BYTES", 1_000_000)
    answer = b'{"content": [{"type": "text", "text": "' + b"x" * 100_000_000 + b'"}]}'

    def small(data: bytes) -> bytes:
        return data.replace(b"x" * 100_000_000, b"hello")

    packing = Packing("gzip", lambda data: gzip.compress(data, 1))
    async with opened(tmp_path, tool("good"), answer, packing, as_events=as_events) as runtime:
        assert "more than 1 MB" in await failure(runtime)
        packing.encoding, packing.packed = "identity", small
        assert (await runtime.call("odd__good")).result.llm_content == "hello"
    assert packing.methods.count("initialize") == 1  # nothing else was lost


@EITHER
@pytest.mark.parametrize(
    ("packing", "told"),
    [
        (Packing("br"), "compressed (br)"),
        (Packing("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))), "compressed (gzip, gzip)"),
        (Packing("gzip", lambda data: gzip.compress(data)[:-10]), "ends in the middle"),
    ],
)
async def test_a_compression_that_was_not_asked_for_or_is_broken_fails_its_call(
    tmp_path: Path, packing: Packing, told: str, as_events: bool
):
    answer = b'{"content": [{"type": "text", "text": "hello"}]}'
    async with opened(tmp_path, tool("good"), answer, packing, as_events=as_events) as runtime:
        for _ in range(2):
            assert told in await failure(runtime)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)))
def test_what_is_right_stays_as_it_is(value: Any):
    text = json.dumps({"a": value}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if "\\ud" not in json.dumps(value):
        assert mended(text) == text


def test_what_is_mended_is_json_that_says_the_same():
    assert json.loads(mended(b'\xef\xbb\xbf{"a": "\xff", "b": NaN}'))["a"] == "\ufffd"
    assert json.loads(mended(b'{"a": "\\ud800"}')) == {"a": "?"}
    assert mended(b"no json") == b"no json"
