"""What a supervisor tells the program: events in their order, and what the command prints while it prints it.

A program that doesn't listen holds up nothing: what it doesn't take waits here. Standard library only.
"""

from __future__ import annotations

import marshal
from typing import Any

from dogu.workspace.launcher.packets import Packets, is_ready

_LIVE_INTERVAL_S = 0.1
_LIVE_BYTES = 32 * 1024  # of one live report; a flood shows its latest
SOON_S = 1.0
AT_LAST_S = 60.0  # a program that was stopped, say, is to find the end when it goes on; one that is gone takes no time


class Telling:
    """One command's. `has_live` says that output waits to be told live."""

    def __init__(self, control: Packets) -> None:
        self._control = control
        self._outbox: list[bytes] = []
        self._live: list[tuple[str, bytes]] = []
        self._next_live = 0.0

    @property
    def has_live(self) -> bool:
        """Whether output waits to be told live."""
        return bool(self._live)

    def tell(self, event: str, **facts: Any) -> None:
        """Put an event behind those that wait."""
        self._outbox.append(marshal.dumps((event, facts)))

    def keep_live(self, stream: str, data: bytes) -> None:
        """Keep output to be told live."""
        self._live.append((stream, data[-_LIVE_BYTES:]))
        while len(self._live) > 1 and sum(len(data) for _, data in self._live[1:]) >= _LIVE_BYTES:
            del self._live[0]

    def tell_live(self, now: float | None, sizes: dict[str, int]) -> None:
        """Tell it, where it is time and nothing else waits; at the end (None) it always is time."""
        if self._live and (now is None or now >= self._next_live) and not self._outbox:
            self.tell("live", output=self._live, bytes=sizes)
            self._live = []
            self._next_live = (now or 0) + _LIVE_INTERVAL_S

    def flush(self, wait_s: float = 0) -> None:
        """Hand over what waits, as far as it is taken in time; nothing waits any more once nobody hears it."""
        try:
            while self._outbox:
                try:
                    self._control.send(self._outbox[0])
                    del self._outbox[0]
                except BlockingIOError:
                    if not wait_s or not is_ready(self._control.socket, wait_s, to_write=True):
                        return
            self._control.flush(wait_s)
        except OSError:
            self._outbox.clear()
