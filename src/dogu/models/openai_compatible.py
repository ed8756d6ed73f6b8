"""Any model behind the chat-completions wire: Ollama, llama.cpp, vLLM, DeepSeek, Kimi, OpenRouter and more.

Source: platform.openai.com/docs/api-reference/chat; the servers of Ollama, llama.cpp and vLLM; for what goes back:
api-docs.deepseek.com/guides/thinking_mode, openrouter.ai/docs/use-cases/reasoning-tokens, and for `extra_content`
ai.google.dev/gemini-api/docs/openai.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.addresses import OLLAMA, endpoint
from dogu.models.answer_shape import ANY, STRICT, AnswerShape
from dogu.models.contents import RawContent
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.http_model import HttpModel
from dogu.models.key import Key
from dogu.models.openai_answer import Habits, OpenAIAnswer
from dogu.models.openai_errors import explain_refusal, stream_error
from dogu.models.options import ModelOptions, merged
from dogu.models.refusals import refused_field
from dogu.models.schemas import PLAIN
from dogu.models.translation import HistoryBlob, HistoryContent, HistoryPart, IdRule, Tools, Translation, wire_name
from dogu.models.transport_errors import HttpRefusal, Timeouts, origin_of

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_MISSED = ("must be", "missing", "required")
_THOUGHTS = (
    *("reasoning_content", "reasoning", "thinking", "reasoning_text"),
    *("reasoning_details", "thinking_blocks", "extra_content", "reasoning_opaque"),
)
_FILES = ("file", "file_data")


class Echo:
    """What a server was found to want back of thoughts, and which media it takes; the documented until it says else."""

    def __init__(self) -> None:
        self.gives_thoughts_back = True
        self.wants_thoughts = ""  # a field that each message of the model's must have
        self.takes_files = True

    def learns(self, said: str, forget: Callable[[], None]) -> bool:
        """Take a refusal as a lesson; whether it was one."""
        before = (self.gives_thoughts_back, self.wants_thoughts, self.takes_files)
        field = refused_field(said, (*_THOUGHTS, *_FILES), in_messages=True)
        if field == "reasoning_content" and any(sign in said for sign in _MISSED):
            self.wants_thoughts = "reasoning_content"
            self.gives_thoughts_back = True
        elif field in _THOUGHTS and not self.wants_thoughts:
            self.gives_thoughts_back = False
        elif field in _FILES:
            self.takes_files = False
        if before == (self.gives_thoughts_back, self.wants_thoughts, self.takes_files):
            return False
        forget()
        return True


def messages_of(content: HistoryContent, origin: str, echo: Echo) -> list[dict[str, Any]]:
    """Translate one content into messages."""
    if content.role == "model":
        return [_assistant(content.parts, origin, echo)]
    return _from_user(content.parts, echo)


def _assistant(parts: Sequence[HistoryPart], origin: str, echo: Echo) -> dict[str, Any]:
    """Make the model's message; thoughts go back to the server that had them."""
    text = "".join(part.text for part in parts if part.text and not part.thought)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    for part in parts:
        given = part.given(origin)
        if part.function_call is None and given is not None and echo.gives_thoughts_back:
            if field := given.get("field"):
                message[field] = part.text or ""
            message |= given.get("fields") or {}
            if given.get("in_content"):  # Mistral's way
                thought = {"type": "thinking", "thinking": [{"type": "text", "text": part.text or ""}]}
                message["content"] = [thought, *([{"type": "text", "text": text}] if text else [])]
    calls = [_tool_call(part, origin) for part in parts if part.function_call is not None]
    if calls:
        message["tool_calls"] = calls
    if echo.wants_thoughts and not message.get(echo.wants_thoughts):
        message[echo.wants_thoughts] = " "  # Moonshot takes an empty one for a missing one
    return message


def _tool_call(part: HistoryPart, origin: str) -> dict[str, Any]:
    call = part.function_call
    assert call is not None
    given = part.given(origin) or {}
    function = {"name": wire_name(call.name), "arguments": given.get("arguments") or call.arguments}
    return {"id": call.call_id, "type": "function", "function": function, **(given.get("call") or {})}


def _from_user(parts: Sequence[HistoryPart], echo: Echo) -> list[dict[str, Any]]:
    """Make a message of each answer, then one of what the user says and of the answers' media."""
    answers: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for part in parts:
        answer = part.function_response
        if answer is not None:
            text = f"Error: {answer.text}" if answer.is_error else answer.text
            answers.append({"role": "tool", "tool_call_id": answer.call_id, "content": text})
            said += [_piece(inner, echo) for inner in answer.parts]
        else:
            said.append(_piece(part, echo))
    if not said:
        return answers
    is_text = all(piece["type"] == "text" for piece in said)
    content: object = "\n".join(piece["text"] for piece in said) if is_text else said
    return [*answers, {"role": "user", "content": content}]


def _piece(part: HistoryPart, echo: Echo) -> dict[str, Any]:
    blob = part.inline_data
    if blob is None:
        return {"type": "text", "text": part.text or ""}
    return _medium(blob, echo) or {"type": "text", "text": blob.note}


def _medium(blob: HistoryBlob, echo: Echo) -> dict[str, Any] | None:
    if blob.mime_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": blob.url}}
    if blob.mime_type in _AUDIO_FORMATS:
        return {"type": "input_audio", "input_audio": {"data": blob.data, "format": _AUDIO_FORMATS[blob.mime_type]}}
    if blob.mime_type == "application/pdf" and echo.takes_files:
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": blob.url}}
    return None


# What a server's refusal says of a field, and what is then sent instead of it (None: nothing).
_LESSONS: Mapping[str, dict[str, Any]] = {
    "max_tokens": {"max_tokens": "max_completion_tokens"},
    **{name: {name: None} for name in ("stream_options", "reasoning_effort", "temperature", "top_p", "seed")},
}

_IDS = IdRule(longest=40, unsound=r"[^!-~]")  # Kimi's have dots and colons in them
_MISTRALS = IdRule(longest=9, is_exact=True)


class OpenAICompatible(HttpModel):
    """A model by its server's name for it. `base_url` usually ends in `/v1`; without a key none is sent."""

    def __init__(self, name: str, base_url: str = "", key: str | Key = "", options: ModelOptions | None = None) -> None:
        options = options or ModelOptions()
        key = key if isinstance(key, Key) else Key(key, variable="OPENAI_API_KEY")
        super().__init__(name, ChatWire(name, base_url, key.variable, options), key, options)


class ChatWire:
    """The chat-completions wire, and what was learned of this server.

    A local server may load a model, or read a long prompt, for minutes before the first byte.
    """

    takes_media_in_answers = False
    timeouts = Timeouts(first_byte_s=600.0, idle_s=300.0)

    def __init__(self, name: str, base_url: str, variable: str, options: ModelOptions) -> None:
        self._name = name
        self._base_url = base_url or OLLAMA
        self._variable = variable
        self._options = options
        self._origin = f"chat@{origin_of(self._base_url)[1].partition(':')[0]}"
        self._echo = Echo()
        host = origin_of(self._base_url)[1]
        self._translation = Translation(
            self._messages, _MISTRALS if host.endswith("api.mistral.ai") else _IDS, self._origin
        )
        # Others refuse a shape beside tools, or hold the calls to it, so that none is ever made.
        is_openais = host.endswith(("api.openai.com", ".openai.azure.com"))
        self._shape = AnswerShape(STRICT if is_openais else ANY, goes_with_tools=is_openais)
        self._tools = Tools(PLAIN, _tool)
        self._left_out: dict[str, Any] = {}
        self._habits = Habits()
        self._said = ""
        self._has_short_ids = False

    def url(self) -> str:
        """Return where requests go."""
        return endpoint(self._base_url, "/chat/completions")

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's header, where there is a key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]) -> bytes:
        """Join the messages, each encoded once, with the rest of a request."""
        messages = self._translation.joined(history)
        first = msgspec.json.encode({"role": "system", "content": system}) if system else b""
        fields = self._fields()
        shape, declarations = self._shape.split(declarations)
        if shape is not None:
            form = {"name": "final_answer", "schema": shape, "strict": True}
            fields = {"response_format": {"type": "json_schema", "json_schema": form}, **fields}
        if tools := self._tools.encoded(declarations):
            fields["tools"] = tools
        between = b"," if first and messages else b""
        return b"".join((b'{"messages":[', first, between, messages, b"],", msgspec.json.encode(fields)[1:]))

    def answer(self) -> OpenAIAnswer:
        """Begin to read an answer."""
        return OpenAIAnswer(self._origin, self._tools, self._habits, self._explain_event)

    def _explain_event(self, raw: bytes) -> ModelError:
        return stream_error(raw, self._name, self._variable)

    def explain(self, refusal: HttpRefusal) -> ModelError:
        """Say what a refusal means."""
        self._said = refusal.body.decode("utf-8", "replace")
        return explain_refusal(refusal, self._name, self._variable, is_chat=True)

    def learns(self, error: ModelError) -> bool:
        """Leave out what the server doesn't know, and give back what it misses."""
        said, self._said = self._said, ""
        if error.kind is not ModelErrorKind.BAD_REQUEST:  # llama.cpp fails at a shape that it can't hold to
            return error.kind is ModelErrorKind.OVERLOADED and self._shape.is_lesson()
        is_known = self._learns_ids(said) or self._echo.learns(said, self._translation.forget)
        return is_known or self._learns_field(said) or self._shape.is_lesson()

    def _learns_ids(self, said: str) -> bool:
        if "length of 9" not in said or self._has_short_ids:
            return False
        self._has_short_ids = True
        self._translation.forget(_MISTRALS)
        return True

    def _learns_field(self, said: str) -> bool:
        field = refused_field(said, _LESSONS.keys())
        lesson = _LESSONS.get(field, {})
        if field == "max_tokens" and "max_completion_tokens" not in said:  # it is their number that is refused
            lesson = {}
        if not lesson or lesson.items() <= self._left_out.items():
            return False
        self._left_out |= lesson
        return True

    def _fields(self) -> dict[str, Any]:
        options = self._options
        fields: dict[str, Any] = {
            "model": self._name,
            "temperature": options.temperature,
            "top_p": options.top_p,
            "seed": options.seed,
            "max_tokens": options.max_output_tokens,
            "reasoning_effort": options.effort or None,
        }
        if options.streams:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        for name, instead in self._left_out.items():
            value = fields.pop(name, None)
            if instead and value is not None:
                fields[instead] = value
        return merged({name: value for name, value in fields.items() if value is not None}, options.body)

    def _messages(self, content: HistoryContent) -> list[dict[str, Any]]:
        return messages_of(content, self._origin, self._echo)


def _tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
