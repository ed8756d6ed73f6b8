"""What came of a task: one row, in words that tables and other programs can use."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from dogu.models.events import Usage
from dogu.runtime.events import ToolAnswer


class Reason(StrEnum):
    """How a task ended. Closed; `done` is the only one after which the check decides alone."""

    DONE = "done"
    TURNS = "turns"  # its bound of requests
    COST = "cost"  # its bound of dollars
    TIMEOUT = "timeout"  # its bound of seconds
    LOOP = "loop"
    CUT = "cut"  # at the model's output limit, also when it went on
    STOPPED = "stopped"  # a hook's word
    MODEL = "model"  # no answer; `message` has the kind
    WORLD = "world"  # no folder to work in: a repository that can't be cloned, a full disk
    SETUP = "setup"
    CHECK = "check"  # the check itself couldn't be run to its end
    LOST = "lost"  # what ran it died, again and again
    DEFECT = "defect"  # ours


class Checked(msgspec.Struct, frozen=True):
    """What `setup` or `check` came to. `output` is the last of what it printed; `error` why it was ended, if it was."""

    exit_code: int | None
    output: str = ""
    error: str = ""

    @property
    def ending(self) -> str:
        """How it ended, in a few words."""
        return self.error or f"exit code {self.exit_code}"


class Patch(msgspec.Struct, frozen=True):
    """What a task changed, as `git diff --binary` has it: the file in the fleet's folder, and how much."""

    file: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0


class Row(msgspec.Struct, frozen=True):
    """One task's result. `passed` is the check's word; without one None, nobody looked, or False for what isn't done.

    `session` is the folder of the record, relative to the fleet's. `errors` counts calls that failed, by tool and kind
    (`replace: edit_not_found`). `cpu_s` is the worker's, shared out among what ran in it at the same time. `attempt`
    counts how often the task was begun; `continued` says that the last attempt went on in the world and from the record
    of one that was cut short. Otherwise it began anew, and what had been cut short left nothing but its number.
    """

    id: str
    passed: bool | None
    reason: Reason
    message: str = ""
    text: str = ""
    patch: Patch = Patch()
    check: Checked | None = None
    setup: Checked | None = None
    model: str = ""
    group: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    requests: int = 0
    calls: int = 0
    errors: dict[str, int] = {}
    session: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    attempt: int = 1
    continued: bool = False
    finished: float = 0.0


def errors_of(answers: Iterable[ToolAnswer]) -> dict[str, int]:
    """Count failed calls by tool and kind."""
    counts: dict[str, int] = {}
    for answer in answers:
        if answer.result.error is not None:
            name = f"{answer.call.name}: {answer.result.error.kind}"
            counts[name] = counts.get(name, 0) + 1
    return counts
