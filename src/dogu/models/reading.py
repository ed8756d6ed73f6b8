"""Reads what servers send as far as it can be understood: a field that isn't needed can't spoil an answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Generic, Protocol, TypeVar, Union, cast, get_args, get_origin

import msgspec

from dogu.language import told
from dogu.models.endings import endless_call
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent, TextDelta, ThoughtDelta, Usage

T = TypeVar("T")
DONE = "[done]"
_SAY_NOTHING = frozenset(("", "null", "ping", "pong", "keepalive", "keep-alive", "heartbeat", DONE))
_LONGEST_WORD_BYTES = 40
_MOST_TOKENS = 1_000_000_000  # a larger count is none
_PLACES = frozenset(("role", "type", "object", "index", "id", "status"))
_ESCAPES = re.compile(  # a whole pair, half of one, any other
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_SURROGATES = re.compile("[\ud800-\udfff]")


class _UnfitError(Exception):
    """A value that isn't what its field takes."""


class EndlessText:
    """Watches an answer as it streams; a stretch that is one piece over and over has no end of its own.

    What comes whole, in one or a few deltas, has ended already, whatever it says.
    """

    _LONGEST_PIECE = 1_000
    _LOOKS_EVERY = 500
    _FEWEST_DELTAS = 4

    def __init__(self, stretch_chars: int = 4_000) -> None:
        self._stretch = stretch_chars
        self._tail = ""
        self._unseen = self._deltas = 0

    def add(self, text: str) -> bool:
        """Take more of the answer; whether a whole stretch of it is one piece of at most 1,000, repeated."""
        self._tail = (self._tail + text)[-self._stretch - self._LONGEST_PIECE :]
        self._unseen += len(text)
        self._deltas += 1
        is_short = self._deltas < self._FEWEST_DELTAS or len(self._tail) <= self._stretch
        if is_short or self._unseen < self._LOOKS_EVERY:
            return False
        self._unseen = 0
        tail = self._tail
        before = tail.rfind(tail[-40:], -self._LONGEST_PIECE - 40, -1)
        period = len(tail) - 40 - before
        return before >= 0 and tail[-self._stretch :] == tail[-self._stretch - period : -period]


class Numbered(Protocol):
    """One of the answers that a stream may hold side by side."""

    index: int | None


N = TypeVar("N", bound=Numbered)


class Followed(Generic[N]):
    """The one of them that is read: the first that came, whatever number its server gave it."""

    def __init__(self) -> None:
        self._number: int | None = None

    def among(self, answers: Sequence[N]) -> N | None:
        """Return what an event says of it."""
        if self._number is None and answers:
            self._number = min(each.index or 0 for each in answers)
        return next((each for each in answers if (each.index or 0) == self._number), None)


class Arguments(EndlessText):
    """Watches the arguments of an answer's calls as they stream: what a file is filled with may well repeat longer."""

    def __init__(self) -> None:
        super().__init__(8_000)

    def watch(self, piece: object) -> None:
        """Take a piece. Raises `ModelError` (LOOP) where they have no end."""
        if isinstance(piece, str) and self.add(piece):
            raise endless_call()


class Mending:
    """Makes each payload one that every parser takes: UTF-8, and of whole characters.

    A character outside of the first plane is two escapes, which a server that cuts by them sends apart.
    """

    def __init__(self) -> None:
        self._half = b""

    def mend(self, payload: bytes) -> bytes:
        """Return the payload, the half of a character at its end kept for the next one."""
        if not payload.isascii():
            payload = payload if _is_utf8(payload) else payload.decode("utf-8", "replace").encode()
        halves = _halves_in(payload)
        if not halves:
            return payload
        first = halves[0]
        if self._half and payload[first - 1 : first] == b'"' and not _is_first_half(payload, first):
            payload = payload[:first] + self._half + payload[first:]
            self._half, halves = b"", _halves_in(payload)
        if halves and _is_first_half(payload, halves[-1]) and payload[halves[-1] + 6 : halves[-1] + 7] == b'"':
            last = halves.pop()
            self._half = payload[last : last + 6]
            payload = payload[:last] + payload[last + 6 :]
        value = loosely(payload) if halves else None
        return payload if value is None else msgspec.json.encode(value)


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _halves_in(payload: bytes) -> list[int]:
    """Return where halves of characters stand alone."""
    if b"\\ud" not in payload and b"\\uD" not in payload:
        return []
    return [match.start() for match in _ESCAPES.finditer(payload) if match[1]]


def _is_first_half(payload: bytes, start: int) -> bool:
    return payload[start + 3 : start + 4].lower() in b"89ab"


def says_something(value: object) -> bool:
    """Whether an event's piece of an answer holds any word of it: names of kinds and places are none."""
    if isinstance(value, str):
        return bool(value)
    if isinstance(value, list):
        return any(map(says_something, cast("list[object]", value)))
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return any(says_something(said) for name, said in fields.items() if name not in _PLACES)
    return False


def word_in(payload: bytes) -> str:
    """Return what an event that is only a word says (`[done]`, `ping`), in any quoting; `-` for any other event."""
    text = payload.strip(b" \t\r\n\"'`")
    return text.decode("utf-8", "replace").lower() if len(text) <= _LONGEST_WORD_BYTES and text[:1] != b"{" else "-"


def decoded(payload: bytes, kind: type[T]) -> T | None:
    """Return an event; None for one that says nothing.

    What is as it should be is decoded at once. Else bytes that are no UTF-8 and halves of characters are replaced, and
    each field is taken by itself: one that can't be what it should is as if it weren't there.

    Raises:
        ModelError: MALFORMED for what is no JSON object.
    """
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if word_in(payload) in _SAY_NOTHING:
            return None
        value = loosely(payload)
        if not isinstance(value, dict):
            raise unreadable(error) from None
    try:
        return cast("T", _fitted(cast("object", value), kind))
    except (_UnfitError, RecursionError) as error:
        raise unreadable(error) from None


def unreadable(error: Exception) -> ModelError:
    """Explain what is no event."""
    message = told("The server sent something in the stream that isn't an answer ({error}).", error=error)
    return ModelError(ModelErrorKind.MALFORMED, message, most_tries=4)


def loosely(raw: bytes) -> object:
    """Read JSON with raw controls, NaN, and characters that aren't whole; None where it is none."""
    try:
        value: object = json.loads(raw.decode("utf-8-sig", "replace"), strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    try:
        return whole(value)
    except RecursionError:
        return None


def whole(value: object) -> object:
    """Replace the halves of characters that stand alone in a JSON value."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {cast("str", whole(key)): whole(item) for key, item in cast("dict[str, object]", value).items()}
    return value


def _fitted(value: object, kind: Any) -> object:
    """Return the value as a field of that kind takes it. Raises `_UnfitError`."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _fitted_choice(value, get_args(kind))
    if kind is Any:
        return value
    if kind is msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(value))
    if origin is list:
        return _fitted_items(value, get_args(kind)[0])
    if origin is dict or kind is dict:
        return _of(dict, value)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _fitted_struct(value, kind)
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _of(kind, value)


def _fitted_choice(value: object, kinds: Sequence[Any]) -> object:
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if kind is not NoneType:
            try:
                return _fitted(value, kind)
            except _UnfitError:
                continue
    raise _UnfitError


def _fitted_items(value: object, kind: Any) -> list[object]:
    items: list[object] = []
    for item in cast("list[object]", value if isinstance(value, list) else [_of(dict, value)]):
        try:
            items.append(_fitted(item, kind))
        except _UnfitError:
            continue
    return items


@lru_cache(64)
def _fields_of(kind: type[msgspec.Struct]) -> Sequence[msgspec.structs.FieldInfo]:
    return msgspec.structs.fields(kind)  # it compiles the types' names, each time that it is asked


def _fitted_struct(value: object, kind: type[msgspec.Struct]) -> msgspec.Struct:
    given = cast("dict[str, object]", _of(dict, value))
    fields: dict[str, object] = {}
    for field in _fields_of(kind):
        if field.encode_name in given:
            try:
                fields[field.name] = _fitted(given[field.encode_name], field.type)
            except _UnfitError:
                continue
    try:
        return kind(**fields)
    except TypeError:
        raise _UnfitError from None


def _of(kind: Any, value: object) -> object:
    if not isinstance(value, kind):
        raise _UnfitError
    return value


def count_of(value: object) -> int | None:
    """Return a count of tokens, which may be a float or a text; None for what can't be one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if math.isfinite(number) and 0 <= number <= _MOST_TOKENS else None


def text_in(value: object) -> str:
    """Return the text of what a server says as text: a string, a number, an object with a text, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_in, cast("list[object]", value)))
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return text_in(fields.get("text") or fields.get("refusal"))
    return "" if value is None or isinstance(value, bool) else str(value)


class Answer:
    """An answer as it grows: `absorb` what arrives, then `finish`. `heard` counts what said something new."""

    heard = 0

    def is_complete(self) -> bool:
        """Whether nothing needful can follow."""
        raise NotImplementedError

    def absorb(self, payloads: Sequence[bytes]) -> list[ModelEvent]:
        """Take events that arrived together and return the deltas, neighbours joined; none fails a complete answer.

        Raises:
            ModelError: MALFORMED for what is no event, or what an error in the stream says; with the deltas before it.
        """
        deltas: list[ModelEvent] = []
        for payload in payloads:
            was_complete = self.is_complete()
            try:
                deltas += self._absorb(payload)
            except ModelError as error:
                if not was_complete:
                    error.said = _joined(deltas)
                    raise
        return _joined(deltas)

    def _absorb(self, payload: bytes) -> Sequence[ModelEvent]:
        raise NotImplementedError

    def ended(self, *, is_framed: bool) -> None:
        """Take note that the stream came to its end; `is_framed`: HTTP itself says that nothing of it is missing."""

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        raise NotImplementedError

    def usage(self) -> Usage:
        """Return what the server has counted so far; `uncounted` when it hasn't."""
        raise NotImplementedError


def _joined(deltas: Sequence[ModelEvent]) -> list[ModelEvent]:
    joined: list[ModelEvent] = []
    run: list[str] = []
    for index, delta in enumerate(deltas):
        if not isinstance(delta, TextDelta | ThoughtDelta):
            joined.append(delta)
            continue
        run.append(delta.text)
        after = deltas[index + 1] if index + 1 < len(deltas) else None
        if type(after) is not type(delta):
            joined += [type(delta)("".join(run))] if any(run) else []
            run = []
    return joined
