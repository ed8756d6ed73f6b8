"""What dogu can take over from Gemini CLI, Claude Code and Codex: servers, rules, context, commands, hooks.

Reading is one thing, writing another: `what_there_is` changes nothing, `take_over` writes what it found. A restriction
that can't be said in dogu's settings is named as such; what is set in dogu already stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from dogu.app.importing.claude import read_claude
from dogu.app.importing.codex import read_codex
from dogu.app.importing.found import Found, Left, Taken, as_object, json_in, value_at
from dogu.app.options import Options
from dogu.app.policy_files import TOOL_LISTS
from dogu.language import told
from dogu.policy.rule import RestrictionError
from dogu.policy.rules import Rules
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.settings.edit import edit_settings_file, with_entry
from dogu.settings.json import parse_json_with_comments
from dogu.settings.keys import KEYS, Combine, Key
from dogu.settings.layers import read_layer
from dogu.workspace.private_file import write_private_file

__all__ = ["Found", "take_over", "what_there_is"]

_SOURCES = {"gemini": ".gemini/settings.json", "claude": ".claude/settings.json", "codex": ".codex/config.toml"}


def what_there_is(program: str, options: Options) -> list[Found]:
    """Look at the user's settings of `gemini`, `claude` or `codex`, and at the folder's. Raises `ToolError`."""
    places = [(options.home, options.home), (options.absolute_root, options.home)]
    places = places[:1] if os.path.realpath(options.absolute_root) == os.path.realpath(options.home) else places
    found: list[Found] = []
    for folder, home in places:
        target = os.path.join(folder, ".dogu", "settings.json")
        each = Found(os.path.join(folder, _SOURCES[program]), target, is_users=folder == home)
        _READERS[program](each, folder, home, options.absolute_root)
        _leave_what_is_no_server(each)
        _leave_what_is_no_rule(each)
        if each.taken or each.left or each.read_in_place:
            found.append(each)
    return found


def _leave_what_is_no_server(found: Found) -> None:
    """What dogu would leave out at every start isn't taken over."""
    for taken in [taken for taken in found.taken if taken.kind == "server"]:
        why = told("isn't a server entry that dogu can use")
        if (entry := as_object(taken.value)) and "." not in taken.theirs:
            _, problems = read_entries({taken.theirs: entry})
            if not problems:
                continue
            why = problems[0]
        found.taken.remove(taken)
        found.left.append(Left(f"mcpServers.{taken.theirs}", why))


def _leave_what_is_no_rule(found: Found) -> None:
    """What dogu would refuse to start with isn't taken over."""
    for number, taken in reversed([*enumerate(found.taken)]):
        group, _, name = taken.key.partition(".")
        if group != "tools" or name not in TOOL_LISTS:
            continue
        entries = cast("list[Any]", taken.value)
        problems = [_problem_of(name, entry) for entry in entries]
        for entry, why in zip(entries, problems, strict=True):
            if why:
                found.left.append(Left(f"{taken.theirs}: {entry}", why, restricts=name != "allowed"))
        if any(problems):
            good = [entry for entry, why in zip(entries, problems, strict=True) if not why]
            found.taken[number : number + 1] = [Taken(taken.kind, taken.theirs, taken.key, good)] if good else []


def _problem_of(name: str, entry: Any) -> str:
    """Say what is wrong with an entry of a list of tools, '' for nothing. Lists that restrict are read alike."""
    try:
        if name == "allowed":
            Rules.from_lists(allowed=[entry])
        else:
            Rules.from_lists(exclude=[entry])
    except RestrictionError as error:
        return str(error)
    return ""


def take_over(found: Found) -> list[str]:
    """Write what was found, and return what was written; what is set already isn't changed. Raises `ToolError`."""
    written: list[str] = []

    def with_all(text: str) -> str:
        for taken in found.taken:
            if taken.key:
                text, is_new = _with_key(text, taken.key, taken.value)
                written.extend([f"{found.target}: {taken.key}"] if is_new else [])
        return text

    if any(taken.key for taken in found.taken):
        os.makedirs(os.path.dirname(found.target), mode=0o700, exist_ok=True)
        edit_settings_file(found.target, with_all)
    for taken in found.taken:
        if taken.file and not os.path.lexists(taken.file):
            os.makedirs(os.path.dirname(taken.file), mode=0o700, exist_ok=True)
            write_private_file(taken.file, taken.text.encode())
            written.append(taken.file)
    return list(dict.fromkeys(written))


def _with_key(text: str, key: str, value: Any) -> tuple[str, bool]:
    """Set a key where it isn't set; lists and objects grow. Also return whether that changed anything."""
    group, _, rest = key.partition(".")
    name, *deeper = rest.split(".")
    for inner in reversed(deeper):
        value = {inner: value}
    present = parse_json_with_comments(text).values.get(group)
    before = cast("dict[str, Any]", present).get(name) if isinstance(present, dict) else None
    after = _joined(before, value)
    return (text, False) if after == before else (with_entry(text, group, name, after), True)


def _joined(before: Any, value: Any) -> Any:
    if before is None:
        return value
    if isinstance(before, list) and isinstance(value, list):
        items = cast("list[Any]", before)
        return [*items, *(item for item in cast("list[Any]", value) if item not in items)]
    if isinstance(before, dict) and isinstance(value, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", value)
        return old | {name: _joined(old.get(name), inner) for name, inner in new.items()}
    return cast("object", before)


def _read_gemini(found: Found, folder: str, home: str, _root: str) -> None:
    """Gemini CLI's are read where they are; taken over is what dogu's own file then says without them."""
    for name in ("GEMINI.md", "commands", "policies", "skills", "extensions", ".env"):
        place = os.path.join(folder, ".gemini", name)
        if os.path.exists(place):
            found.read_in_place.append(place)
    if not os.path.exists(found.source):
        return
    found.read_in_place.append(found.source)
    layer = read_layer(found.source, os.environ)
    written = json_in(found.source)
    for key in KEYS:
        if key.name in layer.values:
            _take_gemini_key(found, key, layer.values[key.name].value, written)
    for warning in layer.warnings:
        found.left.extend(Left(name, told("has no effect in dogu")) for name in warning.keys)
        if not warning.keys and warning.key not in {taken.key for taken in found.taken}:
            found.left.append(Left(warning.key, warning.message))


def _take_gemini_key(found: Found, key: Key, understood: Any, written: Mapping[str, Any]) -> None:
    value = next((value for name in (key.name, *key.also) if (value := value_at(written, name)) is not None), None)
    if value is None:
        return
    if key.combine in (Combine.ADD, Combine.INTERSECT) and understood is not None:
        value = list(understood)  # what all spellings of the key say together
    if "." not in key.name and not isinstance(value, dict):
        found.left.append(Left(key.name, told("is read where it is"), restricts=key.restricts))
    elif "." in key.name:
        found.taken.append(Taken("setting", key.name, key.name, value))
    else:
        found.taken.extend(
            Taken("server" if key.name == "mcpServers" else "hook", name, f"{key.name}.{name}", entry)
            for name, entry in cast("dict[str, Any]", value).items()
            if "." not in name or key.name == "mcpServers"
        )


_READERS: dict[str, Callable[[Found, str, str, str], None]] = {
    "gemini": _read_gemini,
    "claude": read_claude,
    "codex": read_codex,
}
