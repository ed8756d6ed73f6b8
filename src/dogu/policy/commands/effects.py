"""What an argument makes of its program, and which word it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What an argument makes of its program."""

    RUNS = "runs"  # another program, or code
    WRITES = "writes"  # a file of its choice
    REACHES = "reaches"  # the network, other processes, settings


EFFECTS = {"run": Effect.RUNS, "write": Effect.WRITES, "reach": Effect.REACHES}
"""How the tables spell them."""


@dataclass(frozen=True, slots=True)
class Danger:
    """The word at `index` (0 is the program) has an effect that needs a rule of its own, or a question."""

    index: int
    effect: Effect
    reason: str
