"""JSON as people write settings: comments, trailing commas, and the line of every key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from dogu.language import told

Path: TypeAlias = tuple[str | int, ...]

_DEEPEST = 50
_TOKEN = r"""(?P<blank>[ \t\r\n]+|//[^\n]*|/\*(?s:.*?)\*/)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)
      |(?P<mark>[{}\[\],:])
      |(?P<word>\w+)"""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_WORDS = {"true": True, "false": False, "null": None}


class JsonError(ValueError):
    """Not JSON, even with comments and trailing commas; `line` is 1-based."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class JsonDocument(msgspec.Struct, frozen=True):
    """A parsed object and the 1-based line of every key and element in it, by its path."""

    values: dict[str, Any]
    lines: dict[Path, int]


def parse_json_with_comments(text: str) -> JsonDocument:
    """Read one JSON object with `//` and `/* */` comments and trailing commas; blank text is an empty object.

    Raises `JsonError`: also for a key written twice in one object, because one of the two would be dropped.
    """
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._lines: dict[Path, int] = {}
        self._step()

    def document(self) -> JsonDocument:
        if self._kind == "end":
            return JsonDocument({}, {})
        if self._text != "{":
            raise JsonError(self._line, told("settings are one JSON object: begin with {"))
        values = self._object(())
        if self._kind != "end":
            raise JsonError(self._line, told("{text!r} after the end of the object", text=self._text))
        return JsonDocument(values, self._lines)

    def _step(self) -> None:
        self._kind, self._text, self._line = next(self._tokens)

    def _take(self, mark: str, after: str) -> None:
        if self._kind != "mark" or self._text != mark:
            raise JsonError(
                self._line,
                told(
                    "expected {mark!r} after {after}, found {value}",
                    mark=mark,
                    after=after,
                    value=self._found(),
                ),
            )
        self._step()

    def _found(self) -> str:
        return repr(self._text) if self._text else told("the end of the file")

    def _value(self, path: Path) -> Any:
        if len(path) > _DEEPEST:
            raise JsonError(self._line, told("nested deeper than {deepest} levels", deepest=_DEEPEST))
        if self._kind == "mark" and self._text == "{":
            return self._object(path)
        if self._kind == "mark" and self._text == "[":
            return self._array(path)
        value = self._scalar()
        self._step()
        return value

    def _scalar(self) -> Any:
        if self._kind == "word" and self._text in _WORDS:
            return _WORDS[self._text]
        if self._kind in ("string", "number"):
            try:
                return msgspec.json.decode(self._text)
            except (msgspec.DecodeError, UnicodeEncodeError) as error:
                text = self._text[:40]
                if _HALF.search(self._text):
                    raise JsonError(self._line, told("{text} holds half of a character", text=text)) from error
                raise JsonError(
                    self._line, told("{text} isn't a JSON value: {error}", text=text, error=error)
                ) from error
        raise JsonError(self._line, told("expected a value, found {value}", value=self._found()))

    def _object(self, path: Path) -> dict[str, Any]:
        self._step()
        values: dict[str, Any] = {}
        while self._text != "}" or self._kind != "mark":
            if self._kind != "string":
                raise JsonError(
                    self._line,
                    told(
                        "expected a key in double quotes, found {value}",
                        value=self._found(),
                    ),
                )
            key, line = self._scalar(), self._line
            if key in values:
                raise JsonError(
                    line,
                    told(
                        "the key {key!r} is written twice (first in line {lines})",
                        key=key,
                        lines=self._lines[*path, key],
                    ),
                )
            self._step()
            self._lines[(*path, key)] = line
            self._take(":", told("the key {key!r}", key=key))
            values[key] = self._value((*path, key))
            self._separator("}", told("the value of {key!r}", key=key))
        self._step()
        return values

    def _array(self, path: Path) -> list[Any]:
        self._step()
        values: list[Any] = []
        while self._text != "]" or self._kind != "mark":
            place = (*path, len(values))
            self._lines[place] = self._line
            values.append(self._value(place))
            self._separator("]", told("an element of the list"))
        self._step()
        return values

    def _separator(self, end: str, after: str) -> None:
        if self._kind == "mark" and self._text == end:
            return
        self._take(",", after)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Give (kind, text, line) of every token but blanks, then ("end", "", line) for ever."""
    token = re.compile(_TOKEN, re.VERBOSE)  # here, because most folders have no settings to read
    position, line = 0, 1
    while position < len(text):
        found = token.match(text, position)
        if found is None:
            raise JsonError(line, _unreadable(text, position))
        if found.lastgroup != "blank":
            yield found.lastgroup or "", found[0], line
        line += found[0].count("\n")
        position = found.end()
    while True:
        yield "end", "", line


def _unreadable(text: str, position: int) -> str:
    if text.startswith("/*", position):
        return told("a comment that begins with /* and doesn't end")
    if text[position] == '"':
        return told("a string that isn't closed on its line")
    return told("{text!r} isn't allowed here", text=text[position])
