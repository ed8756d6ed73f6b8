"""How rows say what arguments of well-known programs run or overwrite.

A bare prefix rule such as `run_shell_command(git)` does not cover these: they need a rule of their own, or a question.
The list can't be complete, and needn't be: it is what keeps a prefix from meaning "anything at all".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What an argument makes of its program."""

    RUNS = "runs"  # another program, or code
    WRITES = "writes"  # a file of its choice
    REACHES = "reaches"  # the network, other processes, settings


@dataclass(frozen=True)
class Row:
    """`programs` and `options` are separated by blanks; `under` is the subcommand, '' for any.

    Without options the program (or subcommand) is one by itself. A long option matches its abbreviations and
    `--name=value`; a short one matches attached values and, unless `is_exact`, clusters.
    `word*` matches whatever begins so; `=` what holds one, `+` what begins with one.
    """

    programs: str
    options: str
    effect: Effect
    reason: str
    under: str = ""
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Danger:
    """The word at `index` (0 is the program) has an effect that needs a rule of its own, or a question."""

    index: int
    effect: Effect
    reason: str
