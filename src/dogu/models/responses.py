"""OpenAI's models over the Responses wire, without anything being stored there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.addresses import OPENAI, endpoint
from dogu.models.contents import RawContent, enclosed
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.http_model import HttpModel
from dogu.models.key import Key
from dogu.models.openai_errors import explain_refusal, stream_error
from dogu.models.options import ModelOptions, merged
from dogu.models.responses_answer import ResponsesAnswer
from dogu.models.responses_wire import items_of
from dogu.models.schemas import PLAIN
from dogu.models.translation import HistoryContent, IdRule, Tools, Translation
from dogu.models.transport_errors import HttpRefusal, Timeouts, origin_of

_REASONS = re.compile(r"(?:.*/)?(?:gpt-(?:[5-9]|\d\d)|o\d|codex)(?!.*chat-latest)")
_LESSONS = ("summary", "encrypted_content", "effort", "reasoning", "temperature", "top_p", "prompt_cache_key")


class Responses(HttpModel):
    """A model by its name (`gpt-5.1`)."""

    def __init__(self, name: str, key: str | Key = "", base_url: str = "", options: ModelOptions | None = None) -> None:
        options = options or ModelOptions()
        key = key if isinstance(key, Key) else Key(key, variable="OPENAI_API_KEY")
        super().__init__(name, ResponsesWire(name, base_url, key.variable, options), key, options)


class ResponsesWire:
    """The Responses wire, and what was learned of this server.

    Nothing is stored there: the model's reasoning comes encrypted, and goes back with the conversation.
    """

    takes_media_in_answers = True
    timeouts = Timeouts(first_byte_s=600.0, idle_s=300.0)

    def __init__(self, name: str, base_url: str, variable: str, options: ModelOptions) -> None:
        self._name = name
        self._base_url = base_url or OPENAI
        self._variable = variable
        self._options = options
        self._origin = f"responses@{origin_of(self._base_url)[1].partition(':')[0]}"
        self._gives_reasoning_back = True
        self._translation = Translation(self._items, IdRule(), self._origin)
        self._tools = Tools(PLAIN, _tool)
        self._left_out: set[str] = set()
        self._cache_key = f"dogu-{os.urandom(8).hex()}"
        self._said = ""

    def url(self) -> str:
        """Return where requests go."""
        return endpoint(self._base_url, "/responses")

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's header, where there is a key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Join the items, each encoded once, with the rest of a request."""
        fields = self._fields()
        if system:
            fields["instructions"] = system
        if tools := self._tools.encoded(declarations):
            fields["tools"] = tools
        encoded = msgspec.json.encode(merged(fields, self._options.body))
        return enclosed(b'{"input":[', self._translation.messages(history), b"]," + encoded[1:])

    def answer(self) -> ResponsesAnswer:
        """Begin to read an answer."""
        return ResponsesAnswer(self._origin, self._tools, self._explain_event)

    def _explain_event(self, raw: bytes) -> ModelError:
        return stream_error(raw, self._name, self._variable)

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        self._said = refusal.body.decode("utf-8", "replace")
        return explain_refusal(refusal, self._name, self._variable)

    def learns(self, error: ModelError) -> bool:
        """Leave out what the model doesn't take; reasoning that the server can't decrypt stays behind."""
        said, self._said = self._said, ""
        if error.kind is not ModelErrorKind.BAD_REQUEST:
            return False
        if "invalid_encrypted_content" in said and self._gives_reasoning_back:
            self._gives_reasoning_back = False
            self._translation.forget()
            return True
        lesson = next((field for field in _LESSONS if field in said and field not in self._left_out), "")
        if not lesson or not any(
            word in said.lower() for word in ("unsupported", "not supported", "verified", "unknown")
        ):
            return False
        self._left_out.add(lesson)
        return True

    def _fields(self) -> dict[str, Any]:
        options = self._options
        fields: dict[str, Any] = {"model": self._name, "store": False, "prompt_cache_key": self._cache_key}
        sampling = {"temperature": options.temperature, "top_p": options.top_p}
        fields |= {name: value for name, value in sampling.items() if value is not None}
        if options.max_output_tokens:
            fields["max_output_tokens"] = options.max_output_tokens
        if options.streams:
            fields["stream"] = True
        if _REASONS.match(self._name) and "reasoning" not in self._left_out:
            reasoning = {"summary": "auto", **({"effort": options.effort} if options.effort else {})}
            fields["reasoning"] = {name: value for name, value in reasoning.items() if name not in self._left_out}
            if "encrypted_content" not in self._left_out:
                fields["include"] = ["reasoning.encrypted_content"]
        return {name: value for name, value in fields.items() if name not in self._left_out}

    def _items(self, content: HistoryContent) -> list[dict[str, Any]]:
        return items_of(content, self._origin, gives_reasoning_back=self._gives_reasoning_back)


def _tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}
