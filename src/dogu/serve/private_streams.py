"""Standard input and output as a protocol's own: nothing else can reach them, and no cancellation waits for them."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.workspace import fs
from dogu.workspace.event_loop import read_ready, write_ready

_PIECE_BYTES = 1 << 16
_SURELY_WRITABLE_BYTES = 4096  # of a pipe that is ready for writing: PIPE_BUF
_BEGINNING = (
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,99}"\s*,\s*){0,2}"id"\s*:\s*(-?\d{1,15}|"[\w.:-]{1,99}")\s*,'
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _copy(descriptor: int) -> int:
    """Duplicate it where no standard stream is, and for no child."""
    copy = os.dup(descriptor)
    if copy > 2:
        return copy
    try:
        return _copy(descriptor)
    finally:
        os.close(copy)


@contextmanager
def private_input() -> Generator[int]:
    """Give standard input's descriptor; whatever else reads standard input meanwhile finds its end.

    Raises `ToolError` where it was opened for writing alone.
    """
    try:
        os.read(0, 0)
    except OSError as error:
        message = say("Standard input can't be read: {reason}.", reason=error.strerror or error)
        raise ToolError(ErrorKind.START_FAILED, message) from error
    private = _copy(0)
    nothing = fs.open(os.devnull, os.O_RDONLY | fs.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield private
    finally:
        os.dup2(private, 0)
        os.close(private)


@contextmanager
def private_output() -> Generator[int]:
    """Give standard output's descriptor; whatever else is printed meanwhile goes to standard error."""
    private = _copy(1)
    os.dup2(2, 1)
    try:
        yield private
    finally:
        os.dup2(private, 1)
        os.close(private)


async def lines_of(descriptor: int, longest_bytes: int = 0) -> AsyncIterator[bytes | None]:
    """Yield the lines of a descriptor without their ends, a last one without its end among them.

    With `longest_bytes`, None stands for a longer line, which isn't kept.
    """
    can_wait = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    pending, size = [b""], 0
    while True:
        if can_wait:
            piece = await read_ready(descriptor, _PIECE_BYTES)
        else:
            piece = os.read(descriptor, _PIECE_BYTES)
        first, *rest = piece.split(b"\n")
        size += len(first)
        if longest_bytes and size > longest_bytes:
            pending = []
        else:
            pending.append(first)
        for line in rest:
            yield b"".join(pending) if size <= longest_bytes or not longest_bytes else None
            pending, size = [line], len(line)
        if not piece:
            break
    if size:
        yield b"".join(pending) if size <= longest_bytes or not longest_bytes else None


async def write_all(descriptor: int, data: bytes) -> None:
    """Write without ever blocking the loop or a thread. Raises OSError when the reader is gone."""
    view = memoryview(data)
    kind = os.fstat(descriptor).st_mode
    while view:
        if stat.S_ISREG(kind):
            sent = os.write(descriptor, view)
        elif stat.S_ISSOCK(kind):
            await anyio.wait_writable(descriptor)
            sent = _send(descriptor, view)
        else:
            sent = await write_ready(descriptor, view[:_SURELY_WRITABLE_BYTES])
        view = view[sent:]


def text_to_bytes(text: str) -> bytes:
    """Encode for a wire that carries UTF-8 alone: what is no character becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text).encode()


@asynccontextmanager
async def private_streams() -> AsyncGenerator[tuple[int, int]]:
    """Give the descriptors of standard input and output, as a protocol's own."""
    with private_input() as reader, private_output() as writer:
        yield reader, writer


def _send(descriptor: int, view: memoryview) -> int:
    with socket.socket(fileno=os.dup(descriptor)) as line:
        try:
            return line.send(view, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0


def request_id_in(line: bytes) -> int | str | None:
    """Return the id of a JSON-RPC request whose line can't be read otherwise, so that its sender isn't left to wait."""
    found = re.match(_BEGINNING, line)
    return json.loads(found[1]) if found and b'"method"' in line[:1000] else None
