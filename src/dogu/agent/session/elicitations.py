"""What MCP servers ask the user and the model, recorded with the answers; secrets that were filled in are not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from dogu.agent.events import ElicitationAnswered, ElicitationMade, Record, SamplingAnswered
from dogu.agent.session.secrets import MASK
from dogu.contract.errors import ToolError
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.workspace.environment import tells_a_secret

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.host import Sample, Sampled, SamplingRequest

Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined | None]]

_MOST_FIELDS = 100


def recorded_elicitations(elicit: Elicit, record: Record) -> Elicit:
    """Return an `elicit` that records each elicitation before it is made, and its answer before it is passed on."""

    async def ask(elicitation: Elicitation) -> Given | Declined | None:
        names = [*elicitation.fields][:_MOST_FIELDS]
        fields = {name: _title(name, elicitation.fields[name]) for name in names}
        record(ElicitationMade(elicitation.title, elicitation.message, fields, _without_query(elicitation.url)))
        try:
            answer = await elicit(elicitation)
        except anyio.get_cancelled_exc_class():
            record(ElicitationAnswered("cancelled"))
            raise
        record(_answered(elicitation, answer))
        return answer

    return ask


def recorded_sampling(sample: Sample, record: Record) -> Sample:
    """Return a `sample` that has the model's answers recorded; what was asked is recorded as an elicitation."""

    async def ask(request: SamplingRequest) -> Sampled:
        try:
            sampled = await sample(request)
        except ToolError as error:
            record(SamplingAnswered(problem=error.message))
            raise
        record(SamplingAnswered(sampled.model, sampled.text))
        return sampled

    return ask


def _answered(elicitation: Elicitation, answer: Given | Declined | None) -> ElicitationAnswered:
    match answer:
        case None:
            return ElicitationAnswered("nobody")
        case Declined(reason=reason, stop=stop):
            return ElicitationAnswered("closed" if stop else "declined", said=reason)
        case Given(values=values):
            shown = {name: _shown(name, elicitation.fields.get(name, {}), value) for name, value in values.items()}
            return ElicitationAnswered("given", shown)


def _shown(name: str, field: Mapping[str, Any], value: Any) -> Any:
    is_secret = field.get("format") == "password" or field.get("writeOnly") is True
    names = (name, field.get("title"), field.get("description"))
    is_secret = is_secret or any(isinstance(each, str) and tells_a_secret(each) for each in names)
    return MASK if is_secret and value not in (None, "") else value


def _title(name: str, field: Mapping[str, Any]) -> str:
    title = field.get("title")
    return title if isinstance(title, str) and title else name


def _without_query(url: str) -> str:
    """An address without what lets somebody in: its query, its fragment, a name and a password before its host."""
    end = min((at for at in (url.find("?"), url.find("#")) if at >= 0), default=len(url))
    scheme, separator, rest = url[:end].partition("://")
    host, slash, path = rest.partition("/")
    shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    return f"{shown}?…" if end < len(url) else shown
