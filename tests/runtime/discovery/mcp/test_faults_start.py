"""MCP servers that fail at the start, at the end, or beside their answers; each with the number of its fault."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import httpx2
import pytest

import dogu
from dogu.contract import ErrorKind
from dogu.language import say, speak, told
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.host import Host
from dogu.runtime.discovery.mcp.servers import mcp_tools
from dogu.runtime.discovery.mcp.work import reason_of, with_tail
from runtime.discovery.hostile import bad_tools, becomes_true, failure_of, gone, good_works, note_of, opened, result_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        pytest.param("exit-at-start", "no licence", id="FM051-exits-at-start"),
        pytest.param("bad-version", "1900-01-01", id="FM069-unknown-protocol"),
        pytest.param("list-error", "boom", id="FM071-list-answers-an-error"),
    ],
)
async def test_a_server_that_can_t_start_is_told_and_the_others_work(tmp_path: Path, fault: str, told: str):
    async with opened(tmp_path, fault) as runtime:
        assert told in note_of(runtime)
        assert bad_tools(runtime) == []
        await good_works(runtime)
        why = failure_of(await result_of(runtime), ErrorKind.UNKNOWN_TOOL)
        assert "the MCP server bad, which is not running: " in why
        assert told in why
        assert "did you mean" in failure_of(await result_of(runtime, "good__bad"), ErrorKind.UNKNOWN_TOOL).lower()


def test_why_a_server_fails_is_said_in_the_user_s_language(english_again: None) -> None:
    missing = reason_of(FileNotFoundError(2, told("there is no such program"), "/no/such"))
    ended = with_tail(missing, None)
    speak("ja")
    assert (say(ended), say(reason_of(httpx2.ReadTimeout("")))) == (
        "そのプログラムがありません: /no/such",
        "時間内に応答がありませんでした",
    )


async def test_a_server_that_couldn_t_start_is_tried_again(tmp_path: Path):
    async with opened(tmp_path, "late") as runtime:
        assert "could not be started" in note_of(runtime)
        (tmp_path / "ready").write_text("")
        assert await becomes_true(lambda: bool(bad_tools(runtime)))
        assert (await result_of(runtime)).llm_content == "hello"


HANGS = [
    pytest.param("hang-init", id="FM052-hangs-at-initialize"),
    pytest.param("hang-list", id="FM053-hangs-at-list"),
]


@pytest.mark.parametrize("fault", HANGS)
async def test_a_server_that_hangs_at_the_start_has_a_time_limit(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.server._START_TIMEOUT_S", 2.0)
    async with opened(tmp_path, fault) as runtime:
        assert "did not answer within 2 s" in note_of(runtime)
        assert bad_tools(runtime) == []
        await good_works(runtime)


@pytest.mark.parametrize("fault", HANGS)
async def test_nobody_waits_for_a_server_that_hangs_longer_than_said(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault, wait_s=4) as runtime:
        assert "Still starting" in note_of(runtime)
        assert await becomes_true(lambda: "good__echo" in runtime.registry)
        await good_works(runtime)


async def test_a_server_that_knows_only_the_new_generation_is_met_there(tmp_path: Path):
    async with opened(tmp_path, "modern-only") as runtime:
        assert (await result_of(runtime)).llm_content == "hello"
        assert runtime.notes == ()


async def test_noise_before_the_protocol_is_ignored_and_told(tmp_path: Path):
    """FM054: log lines and escapes on standard output before JSON."""
    async with opened(tmp_path, "stdout-noise") as runtime:
        assert "aren't messages" in note_of(runtime)
        assert "\x1b" not in note_of(runtime)
        assert (await result_of(runtime)).llm_content == "hello"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("bom", id="FM055-byte-order-mark"),
        pytest.param("stderr-flood", id="FM056-256-MB-of-errors"),
        pytest.param("string-id", id="FM079-id-as-a-string"),
        pytest.param("duplicate-response", id="FM080-two-answers"),
        pytest.param("progress-flood", id="FM090-20000-notifications"),
    ],
)
async def test_what_can_be_forgiven_is_forgiven(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault) as runtime:
        for _ in range(2):
            assert (await result_of(runtime)).llm_content == "hello"
        await good_works(runtime)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("ignore-term", id="FM057-ignores-SIGTERM"),
        pytest.param("spawn-child", id="FM058-leaves-children"),
        pytest.param("spawn-detached", id="FM058-leaves-detached-children"),
    ],
)
async def test_leaving_ends_a_stubborn_server_and_its_children(tmp_path: Path, fault: str):
    async with opened(tmp_path, fault) as runtime:
        assert (await result_of(runtime)).llm_content == "hello"
        assert await becomes_true((tmp_path / "pid").exists)
    assert await gone(tmp_path / "pid")


async def test_a_server_that_dies_is_gone_though_a_detached_child_holds_its_output_and_the_child_ends_too(
    tmp_path: Path,
):
    async with opened(tmp_path, "crash-detached") as runtime:
        assert await becomes_true((tmp_path / "pid").exists)
        assert "about to die" in failure_of(await result_of(runtime))
        assert await gone(tmp_path / "pid")


async def test_nothing_of_a_server_stays_when_dogu_is_killed(tmp_path: Path):
    """FM058, where nobody is left to sweep."""
    program = """
import os, signal, sys
from pathlib import Path
import anyio
from runtime.discovery.hostile import becomes_true, opened

async def main():
    folder = Path(sys.argv[1])
    async with opened(folder, "spawn-detached"):
        await becomes_true((folder / "pid").exists)
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with anyio.fail_after(60):
        await anyio.run_process([sys.executable, "-c", program, str(tmp_path)], env=environment, check=False)
        assert await gone(tmp_path / "pid")


async def test_a_server_that_closes_its_output_is_gone_and_ended(tmp_path: Path):
    """FM092: standard output closed, and the server lives on."""
    async with opened(tmp_path, "close-stdout") as runtime:
        assert (await result_of(runtime)).error is not None
        assert await gone(tmp_path / "pid")
        await good_works(runtime)


@pytest.mark.parametrize("key", ["url", "httpUrl"])
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"])
async def test_a_far_server_that_says_nothing_has_a_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, answer: bytes
):
    monkeypatch.setattr("dogu.runtime.discovery.mcp.server._START_TIMEOUT_S", 0.5)

    async def hold(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            if answer:
                with suppress(anyio.EndOfStream):  # on a busy machine its half second is over before it asks
                    await stream.receive()
                refused = b"HTTP/1.1 405 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                await stream.send(answer if key == "httpUrl" or asked else refused)
                asked.append(True)
            await anyio.sleep_forever()

    asked: list[bool] = []
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, hold)
        (entry,), _ = read_entries({"far": {key: f"http://127.0.0.1:{port}/mcp"}})
        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))
        with anyio.fail_after(60):
            async with (
                dogu.open_runtime(options) as runtime,
                mcp_tools([entry], runtime, Host((str(tmp_path),), dict), wait_s=30) as servers,
            ):
                assert [server.problem for server in servers] == ["it did not answer within 0.5 s"]
                assert "MCP server far: it could not be started" in runtime.notes[0]
        group.cancel_scope.cancel()
