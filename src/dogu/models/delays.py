"""Reads how long a server asks to wait, in every form that servers say it in; what can't be read is as if unsaid."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from dogu.workspace.web.http_date import seconds_until

_NUMBER = re.compile(r"\+?(\d{1,15}(?:\.\d{1,9})?)\s*(?:[,;].*)?", re.ASCII | re.DOTALL)
_PIECE = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
    r"(?![a-z])",
    re.ASCII | re.IGNORECASE,
)
_DURATION = re.compile(rf"(?:P?T)?(?:{_PIECE.pattern}[\s,]*(?:and\s*)?)+", re.ASCII | re.IGNORECASE)
_ASKS = re.compile(
    rf"(?:re-?try|try again|wait|resets?|available)\b[^\d]{{0,40}}?({_DURATION.pattern})", re.ASCII | re.IGNORECASE
)
_UNITS_S = {"m": 60.0, "h": 3600.0, "d": 86400.0, "s": 1.0}
_EPOCH = 1e9  # a larger number of seconds is a time since 1970
_IN_MS = ("retry-after-ms", "x-ms-retry-after-ms")
_FIELDS = ("retry_after", "retry_after_seconds", "retryafter", "retryafterseconds", "retry-after")
_FIELDS_MS = ("retry_after_ms", "retryafterms", "retry-after-ms")
_RESET = re.compile(r"(.*ratelimit)-(?:(.+)-)?reset(?:-(.+))?")


def delay_told(
    headers: Mapping[str, str], objects: Iterable[Mapping[str, Any]], message: str, *, is_limit: bool = True
) -> float | None:
    """Return the seconds that an error asks to wait: in its details, its headers, its fields, or its sentence.

    When a limit is renewed (`x-ratelimit-reset-...`) counts only for an error that is one.
    """
    found = list(objects)
    for delay_s in (
        *(seconds_in(str(each["retryDelay"])) for each in found if "retryDelay" in each),
        *_in_headers(headers),
        *_in_fields(found),
        *(delay_s for each in found for delay_s in _in_nested_headers(each.get("headers"))),
        _in_sentence(message),
        *(_at_resets(headers) if is_limit else ()),
    ):
        if delay_s is not None:
            return delay_s
    return None


def used_up_for(headers: Mapping[str, str]) -> float:
    """Return the seconds until what an answer's headers call used up is renewed; 0.0 where they don't."""
    return max((reset_s for reset_s, is_used_up in _resets(headers) if is_used_up), default=0.0)


def seconds_in(text: str) -> float | None:
    """Read a number of seconds, a duration (`6m0s`, `PT3S`), a time since 1970 or a date; None for what is none."""
    text = text.strip()
    if match := _NUMBER.fullmatch(text):
        number = float(match[1])
        if number < _EPOCH:
            return number
        return max(0.0, (number / 1000 if number >= 1000 * _EPOCH else number) - time.time())
    if _DURATION.fullmatch(text):
        return _sum_s(text)
    return seconds_until(text)


def _sum_s(duration: str) -> float:
    return sum(
        float(number) * (0.001 if unit.lower().startswith(("ms", "milli")) else _UNITS_S[unit[0].lower()])
        for number, unit in _PIECE.findall(duration)
    )


def _in_headers(headers: Mapping[str, str]) -> Iterator[float | None]:
    yield from (_in_ms(headers.get(name, "")) for name in _IN_MS)
    yield seconds_in(headers.get("retry-after", ""))


def _in_fields(objects: Iterable[Mapping[str, Any]]) -> Iterator[float | None]:
    for fields in objects:
        for name, value in fields.items():
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                if name.lower() in _FIELDS:
                    yield seconds_in(str(value))
                elif name.lower() in _FIELDS_MS:
                    yield _in_ms(str(value))


def _in_nested_headers(value: object) -> Iterator[float | None]:
    """OpenRouter passes a provider's headers on in the error."""
    if isinstance(value, dict):
        headers = {name.lower(): str(said) for name, said in cast("dict[str, object]", value).items()}
        yield from _in_headers(headers)
        yield from _at_resets(headers)


def _in_sentence(message: str) -> float | None:
    match = _ASKS.search(message)
    return _sum_s(match[1]) if match else None


def _at_resets(headers: Mapping[str, str]) -> Iterator[float]:
    """Give the time until what is used up is renewed; where nothing says what that is, until the first limit is."""
    found = list(_resets(headers))
    used_up = [reset_s for reset_s, is_used_up in found if is_used_up]
    if found:
        yield max(used_up) if used_up else min(reset_s for reset_s, _ in found)


def _resets(headers: Mapping[str, str]) -> Iterator[tuple[float, bool]]:
    """Give for each limit the seconds until it is renewed, and whether nothing is left of it."""
    for name, value in headers.items():
        match = _RESET.fullmatch(name)
        delay_s = seconds_in(value) if match else None
        if match is None or delay_s is None:
            continue
        kind = match[2] or match[3]
        before = f"{match[1]}-{match[2]}-remaining" if match[2] else f"{match[1]}-remaining"
        left = headers.get(before if match[2] or not kind else f"{before}-{kind}")
        yield delay_s, left == "0"


def _in_ms(text: str) -> float | None:
    match = _NUMBER.fullmatch(text.strip())
    return float(match[1]) / 1000 if match else None
