"""What the driver and its workers say to one another: JSON, a line a message."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from dogu.fleet.limits import Spent
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Row
from dogu.fleet.tasks import Work
from dogu.language import plain


class Begin(msgspec.Struct, frozen=True, tag=True):
    """To a worker, first: which fleet, how it runs, where the user's settings are, what language they read.

    The only worker keeps the fleet's limits itself, from `spent_usd` on; where there are others it is None.
    """

    folder: str
    plan: Plan
    home: str
    language: str = "en"
    spent_usd: float | None = None


class Run(msgspec.Struct, frozen=True, tag=True):
    """To a worker: run this."""

    work: Work


class Granted(msgspec.Struct, frozen=True, tag=True):
    """To a worker: its request of that number may be sent, or why it may not."""

    number: int
    account: str
    refused: str = ""


class Done(msgspec.Struct, frozen=True, tag=True):
    """From a worker: what came of a task; None when the fleet's money came to its end first."""

    task_id: str
    row: Row | None


class Wants(msgspec.Struct, frozen=True, tag=True):
    """From a worker: it would like to send a request."""

    number: int
    account: str
    tokens: int


class Used(msgspec.Struct, frozen=True, tag=True):
    """From a worker: what a request came to."""

    spent: Spent


class Paid(msgspec.Struct, frozen=True, tag=True):
    """From a worker that keeps the limits: what the fleet has spent by now."""

    usd: float


ToWorker: TypeAlias = Begin | Run | Granted
FromWorker: TypeAlias = Done | Wants | Used | Paid
LONGEST_LINE_BYTES = 256 * 1024 * 1024


def line_of(message: ToWorker | FromWorker) -> bytes:
    """Return the message as a line."""
    return msgspec.json.encode(message, enc_hook=plain) + b"\n"
