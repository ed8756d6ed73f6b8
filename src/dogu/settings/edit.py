"""Changes an entry, or values, in a settings file's text; every other byte, comments among them, stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, cast

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.language import say
from dogu.settings.json import JsonError, parse_json_with_comments
from dogu.workspace.private_file import lock_of_file, read_private_file, write_private_file

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|(?P<comment>//[^\n]*|/\*(?s:.*?)\*/)|(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<other>[^\s{}\[\],:"/]+)|(?P<mark>[{}\[\],:])""",
    re.VERBOSE,
)


class EditError(ValueError):
    """The text can't be changed this way; it says why."""


class _Member(msgspec.Struct, frozen=True):
    """A member of an object: where its key begins, where its value is, and the end of the comma after it, or 0."""

    name: str
    start: int
    value_start: int
    value_end: int
    comma_end: int


class _Object(msgspec.Struct, frozen=True):
    """An object: the places of its braces, and its members."""

    opens: int
    closes: int
    members: list[_Member]

    def member(self, name: str) -> _Member | None:
        return next((member for member in self.members if member.name == name), None)


def with_entry(text: str, group: str, name: str, value: Any) -> str:
    """Return the text with `group.name` set. Raises `EditError` and `JsonError`."""
    return with_setting(text, (group, name), value)


def with_setting(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the value at the end of a path of keys set. Raises `EditError` and `JsonError`."""
    *groups, name = path
    wanted = dict(parse_json_with_comments(text).values)
    present: dict[str, Any] = wanted
    for group in groups:
        inner = present.get(group, {})
        if not isinstance(inner, dict):
            raise EditError(say("{group} isn't an object", group=group))
        present[group] = present = dict(cast("dict[str, Any]", inner))
    present[name] = value
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return _checked(_written(wanted, "").replace("\n", newline) + newline, wanted)
    target = _object(text, text.index("{", _first_token(text)))
    for at, group in enumerate(groups):
        found = target.member(group)
        if found is None:
            nested = reduce(lambda inner, key: {key: inner}, reversed(path[at + 1 :]), value)
            return _checked(_added(text, target, f"{_quoted(group)}: ", nested, newline), wanted)
        target = _object(text, found.value_start)
    member = target.member(name)
    if member is None:
        return _checked(_added(text, target, f"{_quoted(name)}: ", value, newline), wanted)
    indent = _indent_at(text, member.start)
    written = _written(value, indent).replace("\n", newline)
    return _checked(text[: member.value_start] + written + text[member.value_end :], wanted)


def without_entry(text: str, group: str, name: str) -> str:
    """Return the text without `group.name`; unchanged when it isn't there. Raises `EditError` and `JsonError`."""
    values = parse_json_with_comments(text).values
    if not isinstance(values.get(group), dict) or name not in values[group]:
        return text
    top = _object(text, text.index("{", _first_token(text)))
    found = top.member(group)
    inner = _object(text, found.value_start) if found is not None else None
    member = inner.member(name) if inner is not None else None
    if inner is None or member is None:
        raise EditError(say("{group}.{name} is written in a way that can't be changed here", group=group, name=name))
    start, end = member.start, member.comma_end or member.value_end
    if not member.comma_end and len(inner.members) > 1:
        before = inner.members[-2]
        text = text[: before.comma_end - 1] + text[before.comma_end :]
        start, end = start - 1, end - 1
    wanted = {**values, group: {key: value for key, value in values[group].items() if key != name}}
    return _checked(_cut(text, start, end), wanted)


def with_values(text: str, group: str, values: Mapping[str, Any]) -> str:
    """Return the text with `group`'s keys set to these values: `{"model": {"name": "x"}}` for group `model`.

    They stand at the group's beginning, and the group at the file's. An empty text isn't written where there was no
    value before. Raises `JsonError` when the text is no settings file, and `EditError` when it can't be changed so.
    """
    parse_json_with_comments(text)
    text = text if text.strip() else "{\n}\n"
    for key, value in values.items():
        text = _with_value(text, group, key, msgspec.json.encode(value).decode())
    after: Any = parse_json_with_comments(text).values.get(group)
    found = cast("dict[str, Any]", after) if isinstance(after, dict) else {}
    if any(found.get(key, "") != value for key, value in values.items()):
        raise EditError(say("{group} can't be changed here", group=group))
    return text


def _with_value(text: str, group: str, key: str, written: str) -> str:
    top = _object(text, text.index("{", _first_token(text)))
    found = top.member(group)
    if found is None:
        return text if written == '""' else _begun_with(text, top, f'"{group}": {{ "{key}": {written} }}', "\n  ")
    if text[found.value_start] != "{":  # the old spelling, "model": "name"
        return f'{text[: found.value_start]}{{ "{key}": {written} }}{text[found.value_end :]}'
    inner = _object(text, found.value_start)
    member = inner.member(key)
    if member is None:
        return text if written == '""' else _begun_with(text, inner, f'"{key}": {written}', " ")
    return text[: member.value_start] + written + text[member.value_end :]


def _begun_with(text: str, target: _Object, member: str, before: str) -> str:
    """Put a member at the beginning of an object."""
    comma = "," if target.members else ""
    return f"{text[: target.opens + 1]}{before}{member}{comma}{text[target.opens + 1 :]}"


def _cut(text: str, start: int, end: int) -> str:
    """Cut the span out, and its line with it where nothing else is left on it."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) + 1
    if line_end and not text[line_start:start].strip() and not text[end:line_end].strip():
        return text[:line_start] + text[line_end:]
    return text[:start] + text[end:].lstrip(" \t")


def _added(text: str, target: _Object, key: str, value: Any, newline: str) -> str:
    """Add a member at the end of an object, in the manner of its last one."""
    if not target.members:
        indent = _indent_at(text, target.opens)
        written = (key + _written(value, indent + "  ")).replace("\n", newline)
        kept = text[target.opens + 1 : target.closes].rstrip()
        inside = f"{kept}{newline}{indent}  {written}{newline}{indent}"
        return text[: target.opens + 1] + inside + text[target.closes :]
    last = target.members[-1]
    comma = "" if last.comma_end else ","
    after = last.comma_end or last.value_end
    end = _end_of_comments(text, after, target.closes)
    if "\n" not in text[target.opens : target.closes]:
        one_line = msgspec.json.encode(value).decode()
        return f"{text[: last.value_end]}, {key}{one_line}{text[last.value_end :]}"
    indent = _indent_at(text, last.start)
    written = (key + _written(value, indent)).replace("\n", newline)
    trailing = "," if last.comma_end else ""
    return (
        f"{text[: last.value_end]}{comma}{text[last.value_end : end]}{newline}{indent}{written}{trailing}{text[end:]}"
    )


def _end_of_comments(text: str, start: int, stop: int) -> int:
    """Return where what stands before the closing brace ends, blanks left out."""
    end = start
    for kind, _, _, token_end in _tokens(text, start):
        if token_end > stop:
            break
        if kind == "comment":
            end = token_end
    return end


def _object(text: str, start: int) -> _Object:
    """Read the object that begins there: its tokens, parted at the commas that are its own."""
    if text[start : start + 1] != "{":
        raise EditError(say("an object is expected here"))
    members: list[_Member] = []
    part: list[tuple[str, int, int]] = []
    depth = 0
    for kind, token, token_start, token_end in _tokens(text, start):
        if kind == "comment":
            continue
        closes = kind == "mark" and token in "}]"
        depth -= closes
        if part and ((depth == 1 and token == "," and kind == "mark") or depth == 0):
            members.append(_member(part, token_end if token == "," else 0))
            part = []
        elif depth >= 1:
            part.append((token, token_start, token_end))
        if closes and depth == 0:
            return _Object(start, token_start, members)
        depth += kind == "mark" and token in "{["
    raise EditError(say("the object doesn't end"))


def _member(tokens: list[tuple[str, int, int]], comma_end: int) -> _Member:
    key, _, value = tokens[0], tokens[1], tokens[2]
    return _Member(msgspec.json.decode(key[0]), key[1], value[1], tokens[-1][2], comma_end)


def _first_token(text: str) -> int:
    for kind, _, token_start, _ in _tokens(text, 0):
        if kind != "comment":
            return token_start
    return 0


def _tokens(text: str, start: int) -> Iterator[tuple[str, str, int, int]]:
    """Give (kind, text, start, end) of the tokens and comments from a place on."""
    position = start
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise EditError(say("{text!r} isn't allowed here", text=text[position]))
        if found.lastgroup != "blank":
            yield found.lastgroup or "", found[0], position, found.end()
        position = found.end()


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _written(value: Any, indent: str) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode().replace("\n", "\n" + indent)


def _quoted(name: str) -> str:
    return msgspec.json.encode(name).decode()


def _checked(text: str, wanted: dict[str, Any]) -> str:
    """Return the text if it says what was wanted; nothing else may have changed."""
    if parse_json_with_comments(text).values != wanted:
        raise EditError(say("the file is written in a way that can't be changed here: edit it by hand"))
    return text


def edit_settings_file(file: str, change: Callable[[str], str]) -> None:
    """Change the text of a settings file at once, one after another whoever writes; its mode stays, and a link to it.

    Raises `ToolError`.
    """
    try:
        with lock_of_file(file):
            try:
                raw, mode = read_private_file(file)
            except FileNotFoundError:
                raw, mode = b"", 0o600
            mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
            write_private_file(file, mark + change(raw[len(mark) :].decode()).encode(), mode=mode)
    except JsonError as error:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"{file}:{error.line}: {say(error.message)}") from error
    except (EditError, UnicodeDecodeError) as error:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"{file}: {error}") from error
    except OSError as error:
        raise ToolError(ErrorKind.IO_ERROR, f"{file}: {error.strerror}") from error
