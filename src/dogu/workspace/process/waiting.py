"""How long a command is waited for that goes on afterwards: until its output matches, until it is quiet, or a while."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.process.command import Until
from dogu.workspace.process.output import plain
from dogu.workspace.process.supervisor_line import SupervisorLine

_LOOKED_AT_BYTES = 64 * 1024  # of the latest output, for a match
_LONGEST_PATTERN_CHARS = 2_000
_NOTHING_PRINTED_S = 10.0  # what prints nothing is given so long before it counts as quiet


class Waiting:
    """One wait. After something was `typed`, only what is printed from then on counts, without its echo."""

    def __init__(self, until: Until, line: SupervisorLine, typed: str | None = None) -> None:
        self._until = until
        self._search = compiled(until.pattern) if until.pattern else None
        self._line = line
        self._echo = (typed or "").strip("\r\n")
        self._began = self._last_output = time.monotonic()
        is_after = typed is not None
        self._positions = {stream: line.total_bytes(stream) if is_after else 0 for stream in ("stdout", "stderr")}
        self._seen = sum(self._positions.values())
        self._may_be_silent = is_after

    def over(self) -> str:
        """Return why the wait is over: `matched`, `quiet` or `waited`; "" while it isn't."""
        now = time.monotonic()
        total = sum(self._line.total_bytes(stream) for stream in self._positions)
        if total != self._seen:
            self._seen, self._last_output, self._may_be_silent = total, now, True
            if self._matches():
                return "matched"
        quiet_s = self._until.quiet_s
        if quiet_s is not None and not self._may_be_silent:
            quiet_s = max(quiet_s, _NOTHING_PRINTED_S)
        if quiet_s is not None and now - self._last_output >= quiet_s:
            return "quiet"
        if self._until.at_most_s is not None and now - self._began >= self._until.at_most_s:
            return "waited"
        return ""

    def _matches(self) -> bool:
        if self._search is None:
            return False
        for stream, position in self._positions.items():
            data = self._line.since(stream, position)[-_LOOKED_AT_BYTES:]
            text = plain(data.decode("utf-8", "replace"))
            if self._echo:
                text = text.replace(self._echo, "", 1)
            if self._search.search(text):
                return True
        return False


def compiled(pattern: str) -> Any:
    """Compile a pattern of RE2's, which takes linear time. Raises `ToolError` (BAD_PATTERN)."""
    re2: Any = import_module("re2")  # the package has no types of its own
    options = re2.Options()
    options.log_errors = False
    if len(pattern) > _LONGEST_PATTERN_CHARS:
        raise ToolError(ErrorKind.BAD_PATTERN, "'wait_for' is too long.")
    try:
        return re2.compile(f"(?m:{pattern})", options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        message = told("Bad pattern in 'wait_for' {pattern!r}: {reason}.", pattern=pattern, reason=said)
        raise ToolError(ErrorKind.BAD_PATTERN, message) from error
