"""What the program's exit status says; the same for every door."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from dogu.agent.events import EndReason, TurnEnd
from dogu.contract.errors import ErrorKind
from dogu.models.events import ModelError, ModelErrorKind
from dogu.runtime.events import ToolAnswer


class ExitCode(IntEnum):
    """Exit statuses. Closed; scripts rely on them."""

    DONE = 0
    USAGE = 2
    NO_CREDENTIALS = 41
    BAD_INPUT = 42
    SETTINGS = 52
    TURN_LIMIT = 53
    TOOL_FAILED = 54
    NOBODY_TO_ASK = 56
    DEFECT = 70  # dogu's own
    OUTPUT_FULL = 74  # standard output can't be written
    TRY_AGAIN = 75  # the provider or the network failed for now: the same may well go through later
    HUNG_UP = 129  # these as a shell tells them: 128 and the signal's number
    CANCELLED = 130
    QUIT = 131
    USR1 = 138
    USR2 = 140
    OUTPUT_LOST = 141
    ALARMED = 142
    TERMINATED = 143
    OUT_OF_CPU = 152


_FAILED_FOR_GOOD = frozenset(
    {ErrorKind.IO_ERROR, ErrorKind.START_FAILED, ErrorKind.REMOTE_FAILED, ErrorKind.TOOL_FAILED}
)
_LIMITS = (EndReason.STEP_LIMIT, EndReason.LOOP, EndReason.BUDGET, EndReason.CUT, EndReason.TIMEOUT)
REFUSED = frozenset({ErrorKind.NOBODY_TO_ASK, ErrorKind.REFUSED, ErrorKind.DECLINED, ErrorKind.PROTECTED})

_UNSERVED = (ModelErrorKind.AUTH, ModelErrorKind.QUOTA)
_FOR_NOW = (
    ModelErrorKind.RATE_LIMIT,
    ModelErrorKind.OVERLOADED,
    ModelErrorKind.NETWORK,
    ModelErrorKind.TIMEOUT,
    ModelErrorKind.INCOMPLETE,
    ModelErrorKind.MALFORMED,
)


def of_turn(end: TurnEnd) -> ExitCode:
    """Return the status of a headless turn that came to rest."""
    if end.reason in _LIMITS:
        return ExitCode.TURN_LIMIT
    if end.reason is EndReason.STOPPED and not end.answers and not end.text:
        return ExitCode.BAD_INPUT  # a hook stopped the prompt
    return of_answers(end.answers)


def of_answers(answers: Iterable[ToolAnswer]) -> ExitCode:
    """56 when anything was refused for want of a user; 54 when the last call failed by no argument of its, 70 by us."""
    kinds = [answer.result.error.kind if answer.result.error else None for answer in answers]
    if ErrorKind.NOBODY_TO_ASK in kinds:
        return ExitCode.NOBODY_TO_ASK
    if kinds and kinds[-1] is ErrorKind.DEFECT:
        return ExitCode.DEFECT
    return ExitCode.TOOL_FAILED if kinds and kinds[-1] in _FAILED_FOR_GOOD else ExitCode.DONE


def of_call(kind: ErrorKind | None) -> ExitCode:
    """Return the status of one call made without a model."""
    if kind is None:
        return ExitCode.DONE
    if kind in (ErrorKind.INVALID_ARGUMENTS, ErrorKind.UNKNOWN_TOOL):
        return ExitCode.BAD_INPUT
    if kind is ErrorKind.DEFECT:
        return ExitCode.DEFECT
    return ExitCode.NOBODY_TO_ASK if kind in REFUSED else ExitCode.TOOL_FAILED


def of_model_error(error: ModelError) -> ExitCode:
    """Return the status of a turn without an answer."""
    if error.kind in _UNSERVED:
        return ExitCode.NO_CREDENTIALS
    return ExitCode.TRY_AGAIN if error.kind in _FOR_NOW else ExitCode.BAD_INPUT
