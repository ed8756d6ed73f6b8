"""Dates as HTTP's headers write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_until(text: str) -> float | None:
    """Return the time until a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, or one as ISO 8601 has it.

    0 when it is past, None when it is none.
    """
    try:
        until = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
