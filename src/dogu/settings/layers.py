"""One source of settings (a file, or the flags) as the values of known keys, each with its line."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from dogu.language import joined, told
from dogu.settings.json import JsonDocument, JsonError, Path, parse_json_with_comments
from dogu.settings.keys import KEYS, Combine, Key
from dogu.settings.problems import Origin, SettingsError, SettingsWarning
from dogu.settings.tools import intersect, unknown_tool_hint
from dogu.settings.unknown import unknown_key_problem, word_that_stops
from dogu.settings.values import OTHER_SANDBOXES, ValueProblem, shown
from dogu.workspace.small_file import read_small_file

_LARGEST_BYTES = 4_000_000
_MOST_NAMED = 8
_TOOL_LISTS = ("tools.core", "tools.exclude", "tools.allowed", "tools.confirmationRequired")
_VARIABLE = r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})"
_BY_SPELLING = {spelling: key for key in KEYS for spelling in (key.name, *key.also)}
# What Gemini CLI's object of a sandbox holds beside `enabled`, `command` and `image`.
_OF_SANDBOX = {"allowedPaths": "tools.sandboxAllowedPaths", "networkAccess": "tools.sandboxNetworkAccess"}
_GROUPS = {spelling[:dot] for spelling in _BY_SPELLING for dot, letter in enumerate(spelling) if letter == "."}


class Value(msgspec.Struct, frozen=True):
    """A converted value and where it was written."""

    value: Any
    origin: Origin


class Layer(msgspec.Struct):
    """The values of one source, by the key's name; `is_project` marks what came with the folder.

    `places` says where entries that have names are written: `mcpServers.alias`, `mcpServers.alias.key`, and those of
    lists of tools: `tools.exclude.ENTRY`.
    """

    name: str
    is_project: bool = False
    values: dict[str, Value] = msgspec.field(default_factory=dict[str, Value])
    places: dict[str, Origin] = msgspec.field(default_factory=dict[str, Origin])
    warnings: list[SettingsWarning] = msgspec.field(default_factory=list[SettingsWarning])


def read_layer(
    file: str,
    environ: Mapping[str, str],
    *,
    is_project: bool = False,
    must_exist: bool = False,
    adapt: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Layer:
    """Read a settings file; one that isn't there is an empty layer, unless it must exist.

    `adapt` makes settings of a file that holds something else.

    One that is no JSON is left out and told, if nothing in it could be a restriction. Raises `SettingsError` for a file
    that can't be read, for one that is no JSON otherwise, and as `_Reading` says.
    """
    file = file.replace(os.sep, "/")
    layer = Layer(file, is_project)
    text = _read_text(file, must_exist=must_exist)
    if text is None:
        return layer
    try:
        document = parse_json_with_comments(text)
    except JsonError as error:
        layer.warnings.append(_left_out(file, error, text, must_exist=must_exist))
        return layer
    if adapt is not None:
        document = JsonDocument({**adapt(document.values)}, document.lines)
    _Reading(layer, document, environ).take_all()
    return layer


def _left_out(file: str, error: JsonError, text: str, *, must_exist: bool) -> SettingsWarning:
    """Say that the file is left out. Raises `SettingsError` where that might drop a restriction."""
    word = word_that_stops(text)
    if must_exist:
        raise SettingsError(file, error.line, "", error.message) from error
    if word:
        why = told(
            "dogu doesn't start without this file, because {word} in it may be a restriction or name the model",
            word=repr(word[:60]),
        )
        raise SettingsError(file, error.line, "", joined(": ", (error.message, why))) from error
    message = told("{problem}: the whole file is left out", problem=error.message)
    return SettingsWarning(Origin(file, error.line), "", message)


def flags_layer(overrides: Mapping[str, Any]) -> Layer:
    """Make a layer of the command line's values, given by key; None means that the flag wasn't used."""
    return layer_of(told("command line"), {name: value for name, value in overrides.items() if value is not None})


def layer_of(name: str, values: Mapping[str, Any]) -> Layer:
    """Make a layer of values by key that are in no file. Raises `SettingsError` for what a key doesn't take."""
    layer = Layer(name)
    _Reading(layer, JsonDocument({**values}, {}), None).take_all()
    return layer


def _read_text(file: str, *, must_exist: bool) -> str | None:
    try:
        data = read_small_file(file, _LARGEST_BYTES)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not must_exist and not os.path.lexists(file):
            return None
        why = told("can't be read: {strerror}", strerror=error.strerror) if error.errno else error.strerror or ""
        raise SettingsError(file, 0, "", why) from error
    if b"\0" in data:  # UTF-16, which may say anything
        raise SettingsError(file, 1, "", told("is not UTF-8: save it as UTF-8"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(file, line, "", told("is not UTF-8: save it as UTF-8")) from error


class _Reading:
    """Takes a document apart into a layer.

    Raises `SettingsError` for a known key with a value it doesn't take, for two spellings of one key that disagree,
    and for a key that looks like a restriction and is none that dogu knows.
    """

    def __init__(self, layer: Layer, document: JsonDocument, environ: Mapping[str, str] | None) -> None:
        self._layer = layer
        self._document = document
        self._environ = environ
        self._without_effect: list[str] = []

    def take_all(self) -> None:
        for path, name, value in self._leaves(self._document.values, (), ""):
            key = _BY_SPELLING.get(name)
            if name == "$schema":  # for editors
                continue
            if key is None and name in _GROUPS:
                self._refuse_as_group(path, name, value)
            elif key is None:
                self._tell_unknown(path, name, value)
            elif key.name == "tools.sandbox" and isinstance(value, dict):
                self._take_sandbox(key, path, name, cast("dict[str, Any]", value))
            elif value is not None or key.restricts:
                self._take(key, path, name, value)
        self._tell_without_effect()

    def _leaves(self, table: Mapping[str, Any], path: Path, prefix: str) -> Iterator[tuple[Path, str, Any]]:
        """Give (path, dotted name, value): a key may be nested or written with dots, and be in snake_case."""
        for written, value in table.items():
            name = prefix + _camel_case(written)
            if name in _GROUPS and isinstance(value, dict):
                yield from self._leaves(cast("dict[str, Any]", value), (*path, written), name + ".")
            else:
                yield (*path, written), name, value

    def _origin(self, path: Path) -> Origin:
        return Origin(self._layer.name, self._document.lines.get(path, 0))

    def _warn(self, path: Path, name: str, message: str) -> None:
        self._layer.warnings.append(SettingsWarning(self._origin(path), name, message))

    def _fail(self, path: Path, name: str, message: str) -> SettingsError:
        origin = self._origin(path)
        return SettingsError(origin.file, origin.line, name, message)

    def _refuse_as_group(self, path: Path, name: str, value: Any) -> None:
        if value is not None:
            raise self._fail(path, name, told("takes an object of keys, not {value}", value=shown(value)))

    def _tell_unknown(self, path: Path, name: str, value: Any) -> None:
        from dogu.settings.gemini_keys import leaves_of

        for inner, below in leaves_of(name, value):
            problem = unknown_key_problem(inner, below, [*_BY_SPELLING])
            at = (*path, *inner[len(name) + 1 :].split(".")) if inner != name else path
            if problem is None:
                self._without_effect.append(inner)
            elif problem.is_restriction:
                raise self._fail(at if at in self._document.lines else path, inner, problem.message)
            else:
                self._warn(at if at in self._document.lines else path, inner, problem.message)

    def _tell_without_effect(self) -> None:
        names = self._without_effect
        if not names:
            return
        shown = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
        message = told("{count} keys of Gemini CLI have no effect here: {names}", count=len(names), names=shown)
        if len(names) == 1:
            message = told("1 key of Gemini CLI has no effect here: {names}", names=shown)
        self._layer.warnings.append(SettingsWarning(Origin(self._layer.name), "", message, tuple(names)))

    def _take(self, key: Key, path: Path, name: str, raw: Any) -> None:
        if key.combine is Combine.BY_NAME:
            raw = self._entries(path, name, raw)
        try:
            is_literal = key.name == "hooks"  # their commands' shell replaces variables
            value = key.convert(raw if is_literal else self._expand(raw, key, path, name))
        except ValueProblem as problem:
            raise self._fail(path, name, str(problem)) from problem
        self._check_tool_names(key, path, name, value)
        if key.name == "tools.sandbox" and raw in OTHER_SANDBOXES:
            message = told("{other} isn't used: commands run in dogu's own sandbox, or are refused", other=raw)
            self._layer.warnings.append(SettingsWarning(self._origin(path), name, message, (name,)))
        present = self._layer.values.get(key.name)
        if present is not None:
            value = self._both(key, path, name, (present.value, value))
        self._layer.values[key.name] = Value(value, self._origin(path))

    def _take_sandbox(self, key: Key, path: Path, name: str, table: Mapping[str, Any]) -> None:
        """Take the object that Gemini CLI has for a sandbox: one that is described is wanted, unless it is disabled."""
        fields = {_camel_case(written): ((*path, written), value) for written, value in table.items()}
        taken = [fields.pop(each, (path, None)) for each in ("enabled", "command", "image")]
        (at, enabled), (_, command), (_, image) = taken
        if not isinstance(enabled, bool | None):
            raise self._fail(at, f"{name}.enabled", told("takes true or false, not {value}", value=shown(enabled)))
        self._take(key, path, name, False if enabled is False else True if command is None else command)
        for written, (where, value) in fields.items():
            if written not in _OF_SANDBOX:
                raise self._fail(where, f"{name}.{written}", told("isn't understood, and may be a restriction"))
            if enabled is not False and value is not None:
                self._take(_BY_SPELLING[_OF_SANDBOX[written]], where, f"{name}.{written}", value)
        if image is not None:
            self._without_effect.append(f"{name}.image")

    def _entries(self, path: Path, name: str, raw: Any) -> dict[str, Any]:
        """Keep the entries and where each is written; a server that is no object is told and costs only itself."""
        is_lenient = name == "mcpServers"
        if not isinstance(raw, dict) and not is_lenient:
            raise self._fail(path, name, told("takes an object, not {value}", value=shown(raw)))
        if not isinstance(raw, dict):
            self._warn(path, name, told("takes an object with one entry per server, not {value}", value=shown(raw)))
            return {}
        kept: dict[str, Any] = {}
        for alias, entry in cast("dict[str, Any]", raw).items():
            if not isinstance(entry, dict):
                message = told("takes an object, not {value}", value=shown(entry))
                if not is_lenient:
                    raise self._fail((*path, alias), f"{name}.{alias}", message)
                self._warn((*path, alias), f"{name}.{alias}", message)
                continue
            kept[alias] = entry
            self._layer.places[f"{name}.{alias}"] = self._origin((*path, alias))
            for key in cast("dict[str, Any]", entry):
                self._layer.places[f"{name}.{alias}.{key}"] = self._origin((*path, alias, key))
        return kept

    def _both(self, key: Key, path: Path, name: str, values: tuple[Any, Any]) -> Any:
        """Join the values of two spellings of one key in one file."""
        first, second = values
        if key.combine is Combine.ADD:
            return tuple(dict.fromkeys((*first, *second)))
        if key.combine is Combine.INTERSECT:
            return intersect(first, second)
        if first != second:
            raise self._fail(path, name, told("contradicts another spelling of {name} in this file", name=key.name))
        return second

    def _check_tool_names(self, key: Key, path: Path, name: str, value: Any) -> None:
        if key.name not in _TOOL_LISTS:
            return
        for place, entry in enumerate(value):
            self._layer.places[f"{key.name}.{entry}"] = self._origin((*path, place))
            hint = unknown_tool_hint(entry)
            if hint and key.name in ("tools.exclude", "tools.confirmationRequired"):
                raise self._fail(
                    (*path, place), name, told("{entry!r} isn't a tool: did you mean {hint!r}?", entry=entry, hint=hint)
                )
            if hint is not None:
                more = (
                    told(": did you mean {hint!r}?", hint=hint)
                    if hint
                    else told("; it counts for a discovered tool of this name")
                )
                self._warn((*path, place), name, told("{entry!r} isn't a built-in tool{more}", entry=entry, more=more))

    def _expand(self, raw: Any, key: Key, path: Path, name: str) -> Any:
        """Replace `$VAR`, `${VAR}` and `${VAR:-default}` in every text of a file; flags were expanded by the shell."""
        if self._environ is None:
            return raw
        if isinstance(raw, str):
            return re.sub(_VARIABLE, lambda found: self._variable(found, key, path, name), raw) if "$" in raw else raw
        if isinstance(raw, list):
            items = cast("list[Any]", raw)
            return [self._expand(item, key, (*path, place), name) for place, item in enumerate(items)]
        if isinstance(raw, dict):
            table = cast("dict[str, Any]", raw)
            return {entry: self._expand(item, key, (*path, entry), name) for entry, item in table.items()}
        return raw

    def _variable(self, found: re.Match[str], key: Key, path: Path, name: str) -> str:
        """Return the variable's value; an unset one stays as it is and is told, in a restriction it is an error."""
        variable = found[1] or found[2]
        value = (self._environ or {}).get(variable, cast("str | None", found[3]))
        if value is not None:
            return value
        if key.restricts:
            raise self._fail(path, name, told("the environment variable {variable} isn't set", variable=variable))
        deeper = ".".join([name, *(str(part) for part in path[1:])]) if key.combine is Combine.BY_NAME else name
        self._warn(
            path,
            deeper,
            told(
                "the environment variable {variable} isn't set: {found} stays as it is",
                variable=variable,
                found=found[0],
            ),
        )
        return found[0]


def _camel_case(name: str) -> str:
    """Return `exclude_tools` as `excludeTools`."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest) if first else name
