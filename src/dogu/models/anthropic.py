"""Claude over Anthropic's Messages wire, or a server that speaks like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.addresses import ANTHROPIC, ANTHROPIC_VERSION, endpoint
from dogu.models.anthropic_answer import AnthropicAnswer
from dogu.models.anthropic_wire import message_of
from dogu.models.contents import RawContent, enclosed
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.http_model import HttpModel
from dogu.models.key import Key
from dogu.models.openai_errors import explain_refusal, stream_error
from dogu.models.options import ModelOptions, merged
from dogu.models.schemas import ANTHROPIC as DIALECT
from dogu.models.translation import HistoryContent, IdRule, Tools, Translation
from dogu.models.transport_errors import HttpRefusal, Timeouts, origin_of

_BETWEEN_CALLS = "interleaved-thinking-2025-05-14"  # older models think between calls only when asked so
_ASSISTANT = b'{"role":"assistant"'
_CACHED = {"type": "ephemeral"}
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 24_000}
_ADAPTIVE_FROM = (4, 6)
_UNSAMPLED_FROM = (4, 7)  # temperature and top_p are refused


class Anthropic(HttpModel):
    """A Claude model by its name (`claude-sonnet-5`)."""

    def __init__(self, name: str, key: str | Key = "", base_url: str = "", options: ModelOptions | None = None) -> None:
        options = options or ModelOptions()
        key = key if isinstance(key, Key) else Key(key, variable="ANTHROPIC_API_KEY")
        super().__init__(name, MessagesWire(name, base_url, key.variable, options), key, options)


class MessagesWire:
    """The Messages wire, and what was learned of this server.

    Two marks let the server keep what requests have in common: behind tools and system, and behind the last message.
    """

    takes_media_in_answers = True
    timeouts = Timeouts()

    def __init__(self, name: str, base_url: str, variable: str, options: ModelOptions) -> None:
        self._name = name
        self._base_url = base_url or ANTHROPIC
        self._variable = variable
        self._options = options
        self._origin = f"messages@{origin_of(self._base_url)[1].partition(':')[0]}"
        self._translation = Translation(self._messages, IdRule(), self._origin)
        self._tools = Tools(DIALECT, _tool)
        self._most_tokens = 0
        self._thinks_as_told = True
        self._said = ""

    def url(self) -> str:
        """Return where requests go."""
        return endpoint(self._base_url, "/v1/messages")

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's header, and the version spoken."""
        if not key:
            message = told("There is no key for Claude: set {variable}.", variable=self._variable)
            raise ModelError(ModelErrorKind.AUTH, message)
        headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
        return {**headers, "anthropic-beta": _BETWEEN_CALLS} if self._budget() else headers

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Join the messages, each encoded once, with the rest of a request."""
        messages = self._translation.messages(history)
        if messages and not messages[-1].startswith(_ASSISTANT):  # what the model said goes back as it came
            messages[-1] = _marked(messages[-1])
        fields = self._fields(history)
        if tools := self._tools.encoded(declarations):
            fields["tools"] = tools
        if system:
            fields["system"] = [{"type": "text", "text": system, "cache_control": _CACHED}]
        encoded = msgspec.json.encode(merged(fields, self._options.body))
        return enclosed(b'{"messages":[', messages, b"]," + encoded[1:])

    def answer(self) -> AnthropicAnswer:
        """Begin to read an answer."""
        return AnthropicAnswer(self._origin, self._tools, self._explain_event)

    def _explain_event(self, raw: bytes) -> ModelError:
        return stream_error(raw, self._name, self._variable)

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        self._said = refusal.body.decode("utf-8", "replace")
        return explain_refusal(refusal, self._name, self._variable)

    def learns(self, error: ModelError) -> bool:
        """Ask for fewer tokens where the model gives fewer; leave the thinking to a server that knows no other."""
        said, self._said = self._said, ""
        if error.kind is not ModelErrorKind.BAD_REQUEST:
            return False
        most = re.search(r"max_tokens: \d+ > (\d+)", said)
        if most and not self._most_tokens:
            self._most_tokens = int(most[1])
            return True
        if ("thinking" in said or "output_config" in said or "effort" in said) and self._thinks_as_told:
            self._thinks_as_told = False
            return True
        return False

    def _fields(self, history: Sequence[RawContent]) -> dict[str, Any]:
        options = self._options
        fields: dict[str, Any] = {"model": self._name, "max_tokens": self._max_tokens()}
        thinking = self._thinking(history)
        fields |= thinking
        if "thinking" not in thinking and _version(self._name) < _UNSAMPLED_FROM:
            sampling = {"temperature": options.temperature, "top_p": options.top_p}
            fields |= {name: value for name, value in sampling.items() if value is not None}
        return {**fields, "stream": True} if options.streams else fields

    def _max_tokens(self) -> int:
        """The wire wants a bound: as much as the model gives, unless less was asked for."""
        old = 8_192 if _version(self._name) < (4, 0) else 32_000 if _version(self._name) < (4, 5) else 64_000
        most = self._most_tokens or old
        wanted = self._options.max_output_tokens
        return min(most, wanted) if wanted else most

    def _thinking(self, history: Sequence[RawContent]) -> dict[str, Any]:
        """Say how much to think: newer models by themselves and in words, older ones within a number of tokens."""
        effort = self._options.effort
        if not self._thinks_as_told or effort == "none":
            return {}
        if _version(self._name) >= _ADAPTIVE_FROM:
            thinking: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
            return {**thinking, "output_config": {"effort": effort}} if effort else thinking
        budget = min(self._budget(), self._max_tokens() - 1_024)
        if budget < 1_024 or not _may_think(history, self._origin):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def _budget(self) -> int:
        return _BUDGETS.get(self._options.effort, 0) if (3, 7) <= _version(self._name) < _ADAPTIVE_FROM else 0

    def _messages(self, content: HistoryContent) -> list[dict[str, Any]]:
        return message_of(content, self._origin)


def _tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": parameters}


def _marked(message: bytes) -> bytes:
    """Return the last message with a mark behind its last block: what is before it is the next request's beginning."""
    decoded = msgspec.json.decode(message)
    decoded["content"][-1]["cache_control"] = _CACHED
    return msgspec.json.encode(decoded)


def _may_think(history: Sequence[RawContent], origin: str) -> bool:
    """Whether the calls since the user's last words begin with a thought: a budget to think is refused else."""
    for raw in reversed(history):
        content = msgspec.json.decode(raw, type=HistoryContent)
        if content.role != "model":
            if not any(part.function_response is not None for part in content.parts):
                return True
        elif not any(part.thought and part.given(origin) for part in content.parts):
            return False
    return True


def _version(name: str) -> tuple[int, int]:
    """Return the version in a model's name; the newest one's for a name without."""
    match = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", name)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)
