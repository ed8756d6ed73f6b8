"""What its user asks of a model beside the conversation; each wire says it in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from dogu.models.retry import RetryPolicy
from dogu.models.transport_errors import HearHeaders, Timeouts

EFFORTS = ("none", "low", "medium", "high")
"""How much a model thinks before it answers; without one, as much as it does by itself."""


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """None and empty leave to the provider what it does by itself.

    `max_output_tokens` bounds one answer. `headers` and `body` join every request as they are, a body's objects with
    ours, and win. Without `streams` each answer comes in one piece. `timeouts` None: as the wire needs them.
    `hear_headers` is told the headers of each answer.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    effort: str = ""
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}
    proxy: str = ""
    streams: bool = True
    timeouts: Timeouts | None = None
    hear_headers: HearHeaders | None = None
    retry: RetryPolicy = RetryPolicy()


def merged(fields: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with `more` above them, objects joined with objects; None takes a field away."""
    result = dict(fields)
    for name, value in more.items():
        present = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(present, Mapping):
            result[name] = merged(cast("Mapping[str, Any]", present), cast("Mapping[str, Any]", value))
        else:
            result[name] = value
    return result
