"""Dates as HTTP's headers write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_until(text: str) -> float | None:
    """Return the time until a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; 0 when it is past, None when it is none."""
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
