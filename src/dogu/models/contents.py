"""Makes contents of history: the wire's own JSON of a Gemini `Content`, encoded once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import msgspec

from dogu.contract.content import Blob, Content, Part, parts_of, text_of
from dogu.contract.result import ToolResult
from dogu.language import plain
from dogu.models.call_arguments import sound_name
from dogu.models.events import FunctionCallEvent

RawContent: TypeAlias = bytes
Answer: TypeAlias = tuple[str, str, ToolResult]

# What a FunctionResponse may hold itself; other media stand beside it.
# Source: ai.google.dev/gemini-api/docs/function-calling, "Multimodal function responses".
_MEDIA_IN_ANSWERS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
NOT_JSON = "not_json"
"""The name under which a call's arguments stand in the history when they weren't JSON: the model sees what it wrote."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def user_content(content: Content) -> RawContent:
    """Make what the user says: text and media, in order. Empty content becomes one empty text."""
    return _encode("user", [_part_json(part) for part in parts_of(content)] or [{"text": ""}])


def model_content(text: str) -> RawContent:
    """Make a model's answer of plain text, for a turn that ended without one."""
    return _encode("model", [{"text": text}])


class ModelContent:
    """A model's content as it is put together, part by part, each encoded at once.

    What a wire must be given back beside text and calls stands in a part's own `wire` object, with `by`, whose wire and
    server it is: nobody else is sent it.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._parts: list[bytes] = []

    def text(self, text: str, wire: Mapping[str, Any] | None = None) -> None:
        """Add text."""
        self._add(b'{"text":' + msgspec.json.encode(_whole(text)), wire)

    def thought(self, text: str, wire: Mapping[str, Any] | None = None) -> None:
        """Add a thought, or with an empty text only what the wire wants back."""
        self._add(b'{"text":' + msgspec.json.encode(_whole(text)) + b',"thought":true', wire)

    def call(self, call: FunctionCallEvent, raw: str = "", wire: Mapping[str, Any] | None = None) -> None:
        """Add a call, its arguments as the model wrote them where they are an object; else as a text within one."""
        head = msgspec.json.encode({"id": call.call_id, "name": sound_name(call.name)})
        if call.args is None:
            args = msgspec.json.encode({NOT_JSON: _whole(raw)} if raw.strip() else {})
        else:
            is_kept = _is_object_in_a_line(raw)
            args = raw.encode() if is_kept else msgspec.json.encode(call.args)
            if not is_kept and raw.strip() and _is_object_in_a_line(raw.replace("\n", " ").replace("\r", " ")):
                wire = {**(wire or {}), "arguments": raw}  # its line breaks don't fit into a record's line
        self._add(b'{"functionCall":' + head[:-1] + b',"args":' + args + b"}", wire)

    def encoded(self) -> RawContent:
        """Return the content."""
        return b'{"role":"model","parts":[' + b",".join(self._parts) + b"]}"

    def _add(self, part: bytes, wire: Mapping[str, Any] | None) -> None:
        if wire:
            part += b',"wire":' + msgspec.json.encode({"by": self._origin, **wire})
        self._parts.append(part + b"}")


def _is_object_in_a_line(raw: str) -> bool:
    if not raw.lstrip().startswith("{") or "\n" in raw or "\r" in raw:
        return False
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def function_response_content(answers: Sequence[Answer], *, media_inside: bool = False) -> RawContent:
    """Pack the answers to one turn's calls, `(call_id, name, result)` in the calls' order, as one user content.

    Names become sound as they did in the calls; an empty `call_id` is left out. Text goes under `output`, a failure
    under `error`. Media are named in the text where they stood; they follow all the FunctionResponses as parts of their
    own, or with `media_inside` are parts of their FunctionResponse where the wire allows the type.
    """
    responses: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for call_id, name, result in answers:
        response: dict[str, Any] = {"id": call_id} if call_id else {}
        response["name"] = sound_name(name)
        response["response"] = {"error" if result.error else "output": _whole(text_of(result.llm_content))}
        inside: list[dict[str, Any]] = []
        for part in parts_of(result.llm_content):
            if isinstance(part, Blob):
                fits = media_inside and part.media_type in _MEDIA_IN_ANSWERS
                (inside if fits else beside).append(_part_json(part))
        if inside:
            response["parts"] = inside
        responses.append({"functionResponse": response})
    return _encode("user", responses + beside)


class Kept:
    """What contents come to on a wire, joined by commas: each made once, the joined bytes only added to.

    So a late request costs no more than an early one, but for copying its bytes once. What follows a content that has
    changed is made anew.
    """

    def __init__(self, make: Callable[[RawContent], bytes]) -> None:
        self._make = make
        self._contents: tuple[RawContent, ...] = ()
        self._ends: list[int] = []  # where what each content came to ends
        self._joined = bytearray()

    def joined(self, history: Sequence[RawContent]) -> bytearray:
        """Return what the contents come to, to be read before the next call; a content may come to nothing."""
        contents = tuple(history)
        known = self._contents
        if contents[: len(known)] != known:  # the same objects as a rule, which no byte of is looked at
            together = zip(known, contents, strict=False)
            self.go_back(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], together)))
        try:
            for content in contents[len(self._ends) :]:
                made = self._make(content)
                self._joined += b"," + made if made and self._joined else made
                self._ends.append(len(self._joined))
        finally:
            self._contents = contents[: len(self._ends)]
        return self._joined

    def go_back(self, kept: int = 0) -> None:
        """Forget what came after the first contents."""
        self._contents = self._contents[:kept]
        del self._ends[kept:]
        del self._joined[self._ends[-1] if self._ends else 0 :]

    def last_at(self) -> int:
        """Return where in the joined bytes the last that a content came to begins."""
        begin = next((end for end in reversed(self._ends) if end < len(self._joined)), 0)
        return begin + 1 if begin else 0


def with_hint(history: Sequence[RawContent], hint: str) -> Sequence[RawContent]:
    """Return the history with the hint said to the model after its user's last words, for one request."""
    if not hint or not history:
        return history
    return [*history[:-1], join_user_contents(history[-1], user_content(hint))]


def join_user_contents(first: RawContent, second: RawContent) -> RawContent:
    """Make one user content of two in a row: wires want the roles to alternate."""
    parts = [*_parts(first), *_parts(second)]
    return b'{"role":"user","parts":[' + b",".join(parts) + b"]}"


def join_model_contents(contents: Sequence[RawContent]) -> RawContent:
    """Make one model content of what was said in several answers; one alone stays as it is."""
    if len(contents) == 1:
        return contents[0]
    parts = [part for content in contents for part in _parts(content)]
    return b'{"role":"model","parts":[' + b",".join(parts) + b"]}"


def _parts(content: RawContent) -> list[bytes]:
    return [bytes(part) for part in msgspec.json.decode(content, type=_RawParts).parts]


class _RawParts(msgspec.Struct):
    parts: list[msgspec.Raw] = []


def _part_json(part: Part) -> dict[str, Any]:
    if isinstance(part, Blob):
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    return {"text": _whole(part.text)}


def _whole(text: str) -> str:
    """Replace lone surrogates, which JSON in UTF-8 can't carry."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _encode(role: str, parts: list[dict[str, Any]]) -> RawContent:
    return msgspec.json.encode({"role": role, "parts": parts}, enc_hook=plain)
