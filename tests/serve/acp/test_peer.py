"""JSON-RPC over lines, and standard streams as a protocol's own, without a process."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogu.contract import ErrorKind, ToolError
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.serve import private_streams
from dogu.serve.acp import editor as editor_module
from dogu.serve.acp import peer as peer_module
from dogu.serve.acp.asking import Asking
from dogu.serve.acp.editor import ClientEditor
from dogu.serve.acp.peer import INVALID_REQUEST, Answer, ConnectionLostError, Peer, RpcError
from dogu.serve.private_streams import lines_of, text_to_bytes, write_all

pytestmark = pytest.mark.anyio


class Other:
    """The other side of a line, with a non-blocking end in each direction."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._read = b""

    async def say(self, **message: Any) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def send(self, line: bytes) -> None:
        await write_all(self._line.fileno(), line + b"\n")

    async def hear(self) -> dict[str, Any]:
        while b"\n" not in self._read:
            await anyio.wait_readable(self._line)
            self._read += self._line.recv(1 << 16)
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def leave(self) -> None:
        self._line.shutdown(socket.SHUT_RDWR)


async def echo(method: str, params: Any) -> Answer:
    if method == "wait":
        await anyio.sleep_forever()
    if method == "fail":
        raise RpcError(INVALID_REQUEST, "No.", {"why": 1})
    return Answer({"method": method, "params": params})


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[Peer, Other]]:
    ours, theirs = socket.socketpair()
    with ours, theirs, anyio.fail_after(20):
        peer, other = Peer(echo), Other(theirs)
        async with anyio.create_task_group() as group:
            group.start_soon(peer.run, ours.fileno(), ours.fileno())
            yield peer, other
            other.leave()


async def test_requests_are_answered_and_errors_told_with_their_words():
    async with connected() as (_, other):
        await other.say(id="a", method="x", params=[1])
        assert await other.hear() == {"jsonrpc": "2.0", "id": "a", "result": {"method": "x", "params": [1]}}
        await other.say(id=2, method="fail")
        assert (await other.hear())["error"] == {"code": INVALID_REQUEST, "message": "No.", "data": {"why": 1}}


async def test_an_id_in_use_is_refused_and_a_cancelled_request_is_answered():
    async with connected() as (_, other):
        await other.say(id=1, method="wait")
        await other.say(id=1, method="x")
        assert "in use" in (await other.hear())["error"]["message"]
        await other.say(method="$/cancel_request", params={"requestId": 1})
        assert (await other.hear())["error"]["code"] == -32800


async def test_our_requests_find_their_answers_in_any_order_and_shape():
    got: dict[str, Any] = {}
    async with connected() as (peer, other), anyio.create_task_group() as group:

        async def ask(name: str) -> None:
            try:
                got[name] = await peer.request(name, {})
            except RpcError as error:
                got[name] = error.message

        for name in ("a", "b", "c"):
            group.start_soon(ask, name)
            await anyio.lowlevel.checkpoint()
        ids = {message["method"]: message["id"] for message in [await other.hear() for _ in range(3)]}
        for bad in ({}, [], None, "1", 99, True):
            await other.say(id=bad, result="nobody asked")
        await other.say(id=ids["c"], error="a text")
        await other.say(id=ids["b"], error={"code": "x"})
        await other.say(id=ids["a"], result=None)
        while len(got) < 3:
            await anyio.lowlevel.checkpoint()
    assert got == {"a": None, "b": "(no words)", "c": "a text"}


async def test_giving_up_a_request_tells_the_other_side():
    async with connected() as (peer, other):
        asked: dict[str, Any] = {}
        async with anyio.create_task_group() as group:
            group.start_soon(peer.request, "slow", {})
            asked = await other.hear()
            group.cancel_scope.cancel()
        given_up = {"jsonrpc": "2.0", "method": "$/cancel_request"}
        assert await other.hear() == {**given_up, "params": {"requestId": asked["id"]}}


async def test_a_side_that_leaves_ends_requests_both_ways():
    failures: list[type[Exception]] = []
    async with connected() as (peer, other), anyio.create_task_group() as group:

        async def ask() -> None:
            try:
                await peer.request("x", {})
            except ConnectionLostError as error:
                failures.append(type(error))

        group.start_soon(ask)
        await other.hear()
        await other.say(id=1, method="wait")
        other.leave()
    assert failures == [ConnectionLostError]
    with pytest.raises(ConnectionLostError):
        await peer.request("x", {})


async def test_a_message_over_the_limit_is_refused_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(peer_module, "LONGEST_MESSAGE_BYTES", 1000)
    async with connected() as (_, other):
        await other.say(id=1, method="x" * 200_000)
        assert "longer than" in (await other.hear())["error"]["message"]
        await other.say(id=2, method="x")
        assert (await other.hear())["id"] == 2


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":"\xff"}', 7),
        (b'{"jsonrpc": "2.0", "method": "x", "id": "a-1", "params": }', "a-1"),
        (b'{"jsonrpc":"2.0","id":7,"result":"\xff"}', None),
        (b'{"jsonrpc":"2.0","method":"x","params":{"id":7,"y":"\xff"}}', None),
        (b"no request", None),
    ],
)
async def test_a_request_that_can_t_be_read_is_refused_by_its_id(line: bytes, answered: object):
    async with connected() as (_, other):
        await other.send(line)
        heard = await other.hear()
    assert (heard["id"], heard["error"]["code"]) == (answered, -32700)


async def test_much_is_sent_to_a_slow_reader_without_blocking():
    async with connected() as (peer, other):
        for number in range(50):
            peer.notify("big", {"number": number, "text": "é" * 100_000})
        numbers = [(await other.hear())["params"]["number"] for _ in range(50)]
    assert numbers == [*range(50)]


@pytest.mark.parametrize("data", [b"", b"a", b"a\n", b"\n", b"a\n\nb", b"x" * 200_000 + b"\ny"])
async def test_lines_of_a_file_are_those_of_its_text(tmp_path: Path, data: bytes):
    path = tmp_path / "lines"
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        lines = [line async for line in lines_of(descriptor)]
    finally:
        os.close(descriptor)
    assert lines == [*data.split(b"\n")[:-1], *[last for last in data.split(b"\n")[-1:] if last]]


async def test_writing_goes_to_files_and_pipes_too(tmp_path: Path):
    reader, writer = os.pipe()
    file = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    data = b"z" * 300_000
    read = bytearray()

    async def drain() -> None:
        while len(read) < len(data):
            await anyio.wait_readable(reader)
            read.extend(os.read(reader, 1 << 16))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(drain)
            await write_all(writer, data)
        await write_all(file, data)
    for descriptor in (reader, writer, file):
        os.close(descriptor)
    assert bytes(read) == data
    assert (tmp_path / "out").read_bytes() == data


def test_half_characters_become_the_replacement_character():
    assert text_to_bytes('"a\udcffb"') == '"a\ufffdb"'.encode()
    assert private_streams.text_to_bytes("日本") == "日本".encode()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"result": {"content": "t"}}, "t"),
        ({"result": 17}, None),
        ({"result": {"content": 1}}, None),
        ({"error": 1}, None),
    ],
)
async def test_what_an_editor_answers_about_a_file_may_be_anything(answer: dict[str, Any], text: str | None):
    got: list[str | None] = []
    async with connected() as (peer, other), anyio.create_task_group() as group:
        editor = ClientEditor(peer, ["/named"], writes=True)

        async def read() -> None:
            got.append(await anyio.to_thread.run_sync(editor.text, "/named/a"))

        group.start_soon(read)
        asked = await other.hear()
        await other.say(id=asked["id"], **answer)
        while not got:
            await anyio.lowlevel.checkpoint()
    assert got == [text]


async def test_an_editor_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(editor_module, "_PATIENCE_S", 0.05)
    async with connected() as (peer, _):
        editor = ClientEditor(peer, ["/named"], writes=True)
        for call in (lambda: editor.text("/x"), lambda: editor.write("/x", "t")):
            with pytest.raises(ToolError, match="did not answer") as raised:
                await anyio.to_thread.run_sync(call)
            assert raised.value.kind is ErrorKind.TIMED_OUT


async def test_files_are_named_to_the_editor_as_it_named_the_root(tmp_path: Path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    path = str(real / "a.txt")
    asked: dict[str, Any] = {}
    async with connected() as (peer, other), anyio.create_task_group() as group:
        editor = ClientEditor(peer, [str(tmp_path / "link")], writes=True)
        group.start_soon(anyio.to_thread.run_sync, editor.text, path)
        asked = await other.hear()
        await other.say(id=asked["id"], result={"content": ""})
    assert asked["params"]["path"] == str(tmp_path / "link" / "a.txt")


@pytest.mark.parametrize(
    ("outcome", "given"),
    [
        ({"outcome": "selected", "optionId": "choice-1"}, True),
        ({"outcome": "selected", "optionId": "choice-9"}, False),
        ({"outcome": "selected", "optionId": ["choice-1"]}, False),
        ({"outcome": "cancelled"}, False),
        (17, False),
    ],
)
async def test_a_choice_is_one_that_was_offered(outcome: Any, given: bool):
    choices = {"color": {"type": "string", "enum": ["red", "blue"], "enumNames": ["R\u202eed", "Blue"]}}
    got: list[Given | Declined] = []
    asked: dict[str, Any] = {}
    async with connected() as (peer, other), anyio.create_task_group() as group:

        async def ask() -> None:
            got.append(await Asking(peer, has_forms=False).elicit(Elicitation("Which?", "", choices, ("color",))))

        group.start_soon(ask)
        asked = await other.hear()
        await other.say(id=asked["id"], result={"outcome": outcome})
        while not got:
            await anyio.lowlevel.checkpoint()
    names = [option["name"] for option in asked["params"]["options"]]
    assert names[:2] == ["R‹U+202E›ed", "Blue"]
    assert got == ([Given({"color": "blue"})] if given else [Declined()])
