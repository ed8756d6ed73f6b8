"""The time that one request to an MCP server may take."""

from __future__ import annotations

import math

import anyio

_MOST_TIMES_EXTENDED = 6


class Clock:
    """Ends its scope after `limit_s`; progress starts it anew, six times as long in all at most.

    While a person is asked it stands still: their time is not the server's.
    """

    def __init__(self, limit_s: float) -> None:
        now = anyio.current_time()
        self.limit_s = limit_s
        self.stopped = ""
        self.was_extended = False
        self._last = now + _MOST_TIMES_EXTENDED * limit_s
        self._questions = 0
        self._asked_at = now
        self._left_s = limit_s
        self.scope = anyio.CancelScope(deadline=now + limit_s)

    def extend(self) -> None:
        """Start anew: the server told progress."""
        self.was_extended = True
        if not self._questions:
            self.scope.deadline = min(anyio.current_time() + self.limit_s, self._last)

    def pause(self) -> None:
        """Stand still until `go_on` has been called as often."""
        self._questions += 1
        if self._questions == 1:
            self._asked_at = anyio.current_time()
            self._left_s = self.scope.deadline - self._asked_at
            self.scope.deadline = math.inf

    def go_on(self) -> None:
        """Go on with what was left."""
        self._questions -= 1
        if not self._questions:
            now = anyio.current_time()
            self._last += now - self._asked_at
            self.scope.deadline = now + self._left_s

    def stop(self, why: str) -> None:
        """End the request now; `stopped` says why."""
        self.stopped = why
        self.scope.cancel()
