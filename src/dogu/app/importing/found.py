"""What was found in another program's files: what can be taken over, what stays behind, and how the files are read."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.language import told
from dogu.settings.json import JsonError, parse_json_with_comments
from dogu.workspace.small_file import read_small_file

_LARGEST_BYTES = 4_000_000
_NOTHING: tuple[object, ...] = (None, False, "", [], {})


class Taken(msgspec.Struct, frozen=True):
    """One thing to take over: what it is, as they write it, and what it becomes: a key with its value, or a file."""

    kind: str
    theirs: str
    key: str = ""
    value: Any = None
    file: str = ""
    text: str = ""


class Left(msgspec.Struct, frozen=True):
    """What stays behind, and why; `restricts`: it forbids there what will not be forbidden here."""

    theirs: str
    why: str
    restricts: bool = False


class Found(msgspec.Struct):
    """What there is to take over from one place, the user's or a folder's, into the settings file `target`."""

    source: str
    target: str
    is_users: bool
    taken: list[Taken] = msgspec.field(default_factory=list[Taken])
    left: list[Left] = msgspec.field(default_factory=list[Left])
    read_in_place: list[str] = msgspec.field(default_factory=list[str])


def leave_rest(
    found: Found, settings: Mapping[str, Any], harmless: Iterable[str], whose: str, within: str = ""
) -> None:
    """Leave behind all that nobody took: what isn't known to be harmless may restrict, and is told so."""
    known = frozenset(harmless)
    for name, value in settings.items():
        if name in known:
            found.left.append(Left(within + name, told("is {program}'s own", program=whose)))
        elif value not in _NOTHING:
            found.left.append(Left(within + name, told("can't be imported, and may be a restriction"), restricts=True))


def take_servers(found: Found, servers: Any) -> None:
    """Take servers over; an entry that is none stays behind."""
    for alias, entry in as_object(servers).items():
        server = dict(as_object(entry))
        if server.get("type") == "http" and "url" in server:
            server["httpUrl"] = server.pop("url")
        server.pop("type", None)
        if "." in alias or not server:
            found.left.append(Left(alias, told("isn't a server entry that dogu can use")))
        else:
            found.taken.append(Taken("server", alias, f"mcpServers.{alias}", server))


def take_key(found: Found, theirs: str, key: str, value: Any) -> None:
    """Take a setting over."""
    found.taken.append(Taken("setting", theirs, key, value))


def take_memory(found: Found, file: str, home: str) -> None:
    """The user's own instructions: copied, unless there are some already."""
    target = os.path.join(home, ".gemini", "GEMINI.md")
    if os.path.lexists(target):
        found.left.append(Left(file, told("{target} already exists: copy what you need by hand", target=target)))
        return
    try:
        found.taken.append(Taken("context", file, file=target, text=text_in(file)))
    except ToolError as error:
        found.left.append(Left(os.path.basename(file), error.message))


def take_prompts(found: Found, folder: str) -> None:
    """Prompts in Markdown become commands."""
    for file in _markdown_in(folder):
        name = os.path.relpath(file, folder).removesuffix(".md")
        target = os.path.join(os.path.dirname(found.target), "commands", f"{name}.toml")
        try:
            prompt, description = text_in(file), ""
        except ToolError as error:
            found.left.append(Left(f"/{name.replace('/', ':')}", error.message))
            continue
        head = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", prompt, re.DOTALL)
        if head is not None:
            prompt = prompt[head.end() :]
            said = re.search(r"^description:\s*(.+)$", head[1], re.MULTILINE)
            description = said[1].strip().strip("\"'") if said else ""
        if re.search(r"\$[1-9]", prompt):
            found.left.append(Left(file, told("takes its arguments one by one ($1), which dogu's commands can't")))
            continue
        prompt = re.sub(r"!`([^`]+)`", r"!{\1}", prompt.replace("$ARGUMENTS", "{{args}}"))
        lines = [
            f"{key} = {_toml_text(text)}" for key, text in (("description", description), ("prompt", prompt)) if text
        ]
        found.taken.append(Taken("command", f"/{name.replace('/', ':')}", file=target, text="\n".join(lines) + "\n"))


def _markdown_in(folder: str) -> Iterator[str]:
    for inner, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(inner, name) for name in sorted(names) if name.endswith(".md"))


def _toml_text(text: str) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def text_in(file: str) -> str:
    """Return a file's text, '' where it isn't there. Raises `ToolError`."""
    try:
        return read_small_file(file, _LARGEST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ToolError(ErrorKind.IO_ERROR, told("{file} is not UTF-8: save it as UTF-8", file=file)) from error
    except OSError as error:
        why = error.strerror or error
        raise ToolError(ErrorKind.IO_ERROR, told("{file} can't be read: {error}", file=file, error=why)) from error


def json_in(file: str) -> dict[str, Any]:
    """Return what a file of JSON holds, nothing where it isn't there. Raises `ToolError`."""
    try:
        return parse_json_with_comments(text_in(file)).values
    except JsonError as error:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"{file}:{error.line}: {error.message}") from error


def toml_in(file: str) -> dict[str, Any]:
    """Return what a file of TOML holds, nothing where it isn't there. Raises `ToolError`."""
    try:
        return tomllib.loads(text_in(file))
    except tomllib.TOMLDecodeError as error:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"{file}: {error}") from error


def as_object(value: Any) -> Mapping[str, Any]:
    """Return an object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_texts(value: Any) -> list[str]:
    """Return the texts of a list, none of anything else."""
    return [each for each in cast("list[Any]", value) if isinstance(each, str)] if isinstance(value, list) else []


def object_of(found: Found, theirs: str, value: Any) -> dict[str, Any]:
    """Return an object of theirs; anything else stays behind, for it may have been meant to restrict."""
    _leave_unless(found, theirs, is_good=isinstance(value, dict) or value in _NOTHING)
    return {**as_object(value)}


def texts_of(found: Found, theirs: str, value: Any) -> list[str]:
    """Return the texts of a list of theirs; what else it is or holds stays behind, for it may restrict."""
    texts = as_texts(value)
    _leave_unless(found, theirs, is_good=texts == value or value in _NOTHING)
    return texts


def _leave_unless(found: Found, theirs: str, *, is_good: bool) -> None:
    if not is_good:
        found.left.append(
            Left(theirs, told("isn't the kind of value expected there, and may be a restriction"), restricts=True)
        )


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """Return what stands under a dotted name, spelled either way; None where nothing does."""
    if name in values:
        return values[name]
    group, _, rest = name.partition(".")
    return value_at(as_object(values.get(group)), rest) if rest else None
