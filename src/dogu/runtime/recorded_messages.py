"""The messages in a recorded struct, written beside it: `[[path, template, values], ...]`.

The record's own texts stay English and whole, for whoever reads them without dogu; what they were made of stands beside
them, so that a page of the session speaks its reader's language and not that of the day it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

import msgspec

from dogu.language import Message, plain

Path = tuple[str | int, ...]
_T = TypeVar("_T")


def messages_data(record: object) -> list[list[Any]]:
    """Return what the messages in a record were made of, as JSON; empty where it holds none."""
    return [[list(path), message.template, _encoded(message.values)] for path, message in _messages_of(record)]


def said_again(record: _T, data: object) -> _T:
    """Return the record with the messages of `messages_data` in it; one that no longer fits is left as it reads."""
    whole: object = record
    for path, template, values in cast("list[tuple[Path, str, Any]]", data):
        whole = _replaced(whole, tuple(path), Message(template, _decoded(values)))
    return cast("_T", whole)


def _messages_of(value: object, path: Path = ()) -> Iterator[tuple[Path, Message]]:
    """Give the messages in a record's fields, and in tuples and lists of these, each with the way to it."""
    if isinstance(value, Message):
        yield path, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _messages_of(getattr(value, name), (*path, name))
    elif isinstance(value, tuple | list):
        for at, each in enumerate(cast("list[object]", value)):
            yield from _messages_of(each, (*path, at))


def _replaced(value: object, path: Path, message: Message) -> object:
    if not path:
        return message if value == plain(message) else value
    first, rest = path[0], path[1:]
    if isinstance(value, msgspec.Struct) and first in value.__struct_fields__:
        name = str(first)
        return msgspec.structs.replace(value, **{name: _replaced(getattr(value, name), rest, message)})
    if isinstance(value, tuple | list) and isinstance(first, int):
        each = list(cast("list[object]", value))
        each[first : first + 1] = [_replaced(old, rest, message) for old in each[first : first + 1]]
        return tuple(each) if isinstance(value, tuple) else each
    return cast("object", value)


def _encoded(values: Mapping[str, object] | None) -> object:
    return values and {name: _encoded_value(value) for name, value in values.items()}


def _encoded_value(value: object) -> object:
    if isinstance(value, Message):
        return {"template": value.template, "values": _encoded(value.values)}
    return [_encoded_value(each) for each in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


def _decoded(values: dict[str, Any] | None) -> Mapping[str, object] | None:
    return values and {name: _decoded_value(value) for name, value in values.items()}


def _decoded_value(value: object) -> object:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return Message(fields["template"], _decoded(fields["values"]))
    return tuple(_decoded_value(each) for each in cast("list[object]", value)) if isinstance(value, list) else value
