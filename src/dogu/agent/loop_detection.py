"""Notices when a model asks for the same again and again, or says the same without end."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import msgspec

from dogu.contract.content import text_of
from dogu.runtime.events import ToolAnswer

REPETITIONS = 5
_LONGEST_CYCLE = 8
_ONLY_SAID = {"run_shell_command": "description", "replace": "instruction"}  # what a call does isn't changed by it
# What differs from run to run of the same command: process numbers, times taken, clocks, dates, addresses.
_VOLATILE = re.compile(
    r"Process Group PGID: \d+"
    r"|\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|min|minutes?)\b"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\b|\b\d{4}-\d\d-\d\d\b|\b0x[0-9a-fA-F]+\b"
)
_FAILED_COMMAND = re.compile(r"^Exit Code: [1-9]", re.MULTILINE)
_DIGITS = re.compile(r"\d+")


class LoopDetection:
    """Watches steps: their calls with the answers. A call whose answer changes (a test that now passes) is no loop."""

    def __init__(self) -> None:
        self._recent: deque[int] = deque(maxlen=REPETITIONS * _LONGEST_CYCLE)

    def add(self, answers: Sequence[ToolAnswer]) -> bool:
        """Take note of a step; whether the last steps are one cycle of up to 8, five times over.

        Equal calls of one step count once: they were asked for together, before any of them was answered.
        """
        self._recent.append(hash(frozenset(map(_signature, answers))))
        recent = list(self._recent)
        for length in range(1, _LONGEST_CYCLE + 1):
            tail = recent[-length * REPETITIONS :]
            if len(tail) == length * REPETITIONS and tail == tail[:length] * REPETITIONS:
                return True
        return False

    def clear(self) -> None:
        """Forget: the model was told, or the user said to go on."""
        self._recent.clear()


def _signature(answer: ToolAnswer) -> int:
    """What makes a call with its answer the same as another: of a failure, the numbers in it don't count."""
    said = _ONLY_SAID.get(answer.call.name)
    args = msgspec.json.encode({k: v for k, v in (answer.call.args or {}).items() if k != said}, order="deterministic")
    text = _VOLATILE.sub("", text_of(answer.result.llm_content))
    if answer.result.error is not None or _FAILED_COMMAND.search(text):
        text = _DIGITS.sub("", text)
    return hash((answer.call.name, args, text))
