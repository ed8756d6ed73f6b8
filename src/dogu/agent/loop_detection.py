"""Notices when a model asks for the same again and again."""

from __future__ import annotations

from collections import deque

import msgspec

from dogu.contract.content import text_of
from dogu.runtime.calls import ToolAnswer

REPETITIONS = 5
_LONGEST_CYCLE = 4


class LoopDetection:
    """Watches calls with their answers; a call whose answer changes (a test that now passes) is no loop."""

    def __init__(self) -> None:
        self._recent: deque[int] = deque(maxlen=REPETITIONS * _LONGEST_CYCLE)

    def add(self, answer: ToolAnswer) -> bool:
        """Take note of an answered call; whether the last calls are one cycle of up to 4, five times over."""
        args = msgspec.json.encode(answer.call.args, order="deterministic")
        self._recent.append(hash((answer.call.name, args, text_of(answer.result.llm_content))))
        recent = list(self._recent)
        for length in range(1, _LONGEST_CYCLE + 1):
            tail = recent[-length * REPETITIONS :]
            if len(tail) == length * REPETITIONS and tail == tail[:length] * REPETITIONS:
                return True
        return False

    def clear(self) -> None:
        """Forget: the user said to go on."""
        self._recent.clear()
