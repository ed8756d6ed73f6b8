"""Packets between this program, the launcher and supervisors, with descriptors beside them. Standard library only.

Linux has sockets that keep packets apart. Elsewhere they are a stream in which each packet's length stands before it.
"""

from __future__ import annotations

import array
import os
import select
import socket
import struct
import sys
import time

from dogu.workspace.system import IS_LINUX

_HEAD = struct.Struct("<IB")  # how long it is, and how many descriptors come with it
_READ_BYTES = 256 * 1024
_MOST_DESCRIPTORS = 16


def pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new line."""
    if sys.platform == "win32":
        return socket.socketpair()
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if IS_LINUX else socket.SOCK_STREAM)


def is_ready(end: socket.socket | int, timeout_s: float | None, *, to_write: bool = False) -> bool:
    """Wait until there is something to read, or room to write; whether there is. Of any number, unlike `select`.

    `timeout_s` None: however long it takes.
    """
    if sys.platform == "win32":  # which has sockets alone here, and counts them
        return any(map(bool, select.select(*([], [end]) if to_write else ([end], []), [], timeout_s)))
    waiting = select.poll()
    waiting.register(end, select.POLLOUT if to_write else select.POLLIN)
    return bool(waiting.poll(None if timeout_s is None else timeout_s * 1000))


class Packets:
    """One end of a line, never blocking unless it is said."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        end.setblocking(False)
        self._is_stream = end.type == socket.SOCK_STREAM
        self._read = b""
        self._descriptors: list[int] = []
        self._unsent = b""

    def fileno(self) -> int:
        """The descriptor that is readable when a packet, or the end, has come."""
        return self.socket.fileno()

    @property
    def has_more(self) -> bool:
        """Whether some of a next packet has been read already, which nothing else tells of."""
        return bool(self._read)

    def receive(self) -> tuple[bytes, list[int]]:
        """Return a packet and the descriptors that came with it; b"" at the end. Raises `BlockingIOError`."""
        if not self._is_stream:
            data, descriptors = self._received()
            return data, descriptors
        while True:
            length, count = _HEAD.unpack_from(self._read) if len(self._read) >= _HEAD.size else (_READ_BYTES, 0)
            if len(self._read) >= (size := _HEAD.size + length):
                packet, self._read = self._read[_HEAD.size : size], self._read[size:]
                descriptors, self._descriptors = self._descriptors[:count], self._descriptors[count:]
                return packet, descriptors
            data, descriptors = self._received()
            self._descriptors += descriptors
            if not data:
                return b"", []
            self._read += data

    def _received(self) -> tuple[bytes, list[int]]:
        try:
            if sys.platform == "win32":  # no descriptors travel there
                return self.socket.recv(_READ_BYTES), []
            return self._with_descriptors()
        except BlockingIOError:
            raise
        except OSError:
            return b"", []

    def _with_descriptors(self) -> tuple[bytes, list[int]]:
        descriptors = array.array("i")
        room = socket.CMSG_LEN(_MOST_DESCRIPTORS * descriptors.itemsize)
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        size = _READ_BYTES
        if not self._is_stream:  # how large the packet is: room for the largest costs more than to ask
            size = self.socket.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC) or 1
        data, ancillary, _flags, _address = self.socket.recvmsg(size, room, flags)
        for level, kind, found in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(found[: len(found) - len(found) % descriptors.itemsize])
        for descriptor in descriptors if not flags else ():
            os.set_inheritable(descriptor, False)
        return data, descriptors.tolist()

    def send(self, data: bytes, descriptors: tuple[int, ...] = ()) -> None:
        """Send a packet. Raises `BlockingIOError` when nothing of it could be sent, `OSError` when nobody hears it."""
        self.flush()
        if self._unsent:
            raise BlockingIOError
        packet = _HEAD.pack(len(data), len(descriptors)) + data if self._is_stream else data
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self.socket.sendmsg([packet], beside) if sys.platform != "win32" else self.socket.send(packet)
        self._unsent = packet[sent:] if self._is_stream else b""

    def flush(self, timeout_s: float = 0) -> None:
        """Send what is left of a packet, as far as there is room within that time."""
        until = time.monotonic() + timeout_s
        while self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except BlockingIOError:
                if not self._has_room(until):
                    return

    def send_waiting(self, data: bytes, timeout_s: float, descriptors: tuple[int, ...] = ()) -> None:
        """Send a packet whole, waiting for room. Raises `OSError`, `TimeoutError` among them."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                self.send(data, descriptors)
                break
            except BlockingIOError:
                if not self._has_room(until):
                    raise TimeoutError from None
        self.flush(until - time.monotonic())
        if self._unsent:
            raise TimeoutError

    def _has_room(self, until: float) -> bool:
        left_s = until - time.monotonic()
        return left_s > 0 and is_ready(self.socket, left_s, to_write=True)

    def close(self) -> None:
        """Close this end: the other hears the end of the line."""
        self.socket.close()
