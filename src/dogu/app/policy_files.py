"""The rules of a session: the settings' lists, and files in the format of Gemini CLI's policy engine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dogu.app.options import Options
from dogu.language import told
from dogu.policy.rule import RestrictionError
from dogu.policy.rules import Rules
from dogu.policy.verdict import Decision
from dogu.settings import Origin, Settings, SettingsError, Trust
from dogu.settings.tools import unknown_tool_hint
from dogu.workspace.small_file import read_small_file

if TYPE_CHECKING:
    from dogu.policy.file_rules import FileRule
    from dogu.settings.extensions import FromFile

TOOL_LISTS = ("core", "exclude", "confirmationRequired", "allowed")
_SYSTEM_FOLDER = "/etc/gemini-cli/policies"
_LARGEST_BYTES = 1_000_000
_HEADING = r"""[ \t]*\[\[[ \t]*["']?rule["']?[ \t]*\]\]"""
_EXTENSION_TIER, _WORKSPACE_TIER, _USER_TIER, _ADMIN_TIER = 2, 3, 4, 5


def rules_of(options: Options, settings: Settings, *, is_attended: bool = True) -> Rules:
    """Make the rules that the settings' lists and the policy's files say; some hold only where nobody is there.

    Raises `SettingsError` for what isn't understood.
    """
    tools = settings.tools
    places = {name: str(place) for name, place in tools.places.items()}
    origins = {name.removeprefix("tools."): str(place) for name, place in settings.origins.items()}
    places |= {name: origins[name] for name in TOOL_LISTS if name in origins}
    try:
        rules = Rules.from_lists(tools.core, tools.exclude, tools.allowed, places, tools.asked)
    except RestrictionError as error:
        name = next((name for name in TOOL_LISTS if f"{name}.{error.entry}" in tools.places), "")
        origin = tools.places.get(f"{name}.{error.entry}", Origin("settings"))
        raise SettingsError(origin.file, origin.line, f"tools.{name}".rstrip("."), str(error)) from error
    from_files = rules_from_files(options, settings, is_attended=is_attended)
    return msgspec.structs.replace(rules, files=from_files, runs_unknown=settings.sandbox.mode == "off")


def rules_from_files(options: Options, settings: Settings, *, is_attended: bool) -> tuple[FileRule, ...]:
    """Return the rules of all files that hold here, the highest priority first; next to nothing where there are none.

    They are the user's (`~/.gemini/policies`), the administrator's, and those that the settings name. A folder that
    isn't trusted can only restrict, and so can an extension. Raises `SettingsError` for a file or a rule that isn't
    understood: it may restrict.
    """
    found: list[FileRule] = []
    for file, tier, only_restricts in _files(options, settings):
        found += _rules_of_file(file, tier, only_restricts=only_restricts)
    here = [rule for rule in found if rule.interactive in (None, is_attended)]
    return tuple(sorted(here, key=lambda rule: -rule.priority))


def _files(options: Options, settings: Settings) -> Iterator[tuple[str, int, bool]]:
    for extension in settings.added:  # one can only restrict
        for file in _in_folder(extension.inner("policies")):
            yield file, _EXTENSION_TIER, True
    for file in _in_folder(os.path.join(options.home, ".gemini", "policies")):
        yield file, _USER_TIER, False
    if _is_of_root_alone(_SYSTEM_FOLDER):
        for file in _in_folder(_SYSTEM_FOLDER):
            yield file, _ADMIN_TIER, False
    tools = settings.tools
    named = [(each, _USER_TIER, "policyPaths") for each in tools.policies]
    named += [(each, _ADMIN_TIER, "adminPolicyPaths") for each in tools.admin_policies]
    for source, tier, key in named:
        is_others = source.is_project and settings.trust is not Trust.TRUSTED
        for file in _named(source, key, options):
            yield file, _WORKSPACE_TIER if source.is_project else tier, is_others


def _named(source: FromFile, key: str, options: Options) -> list[str]:
    """The files that a settings file names: relative to the workspace. Raises `SettingsError` for one not there."""
    files: list[str] = []
    for path in cast("tuple[str, ...]", source.value):
        place = os.path.join(options.absolute_root, os.path.expanduser(path))
        if not os.path.exists(place):
            raise SettingsError(source.origin.file, source.origin.line, key, told("{path} isn't there", path=path))
        files += _in_folder(place) if os.path.isdir(place) else [place]
    return files


def _in_folder(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError as error:
        if not os.path.lexists(folder):
            return []
        raise SettingsError(folder, 0, "", told("can't be read: {strerror}", strerror=error.strerror)) from error
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".toml")]


def _is_of_root_alone(folder: str) -> bool:
    try:
        status = os.stat(folder)
    except OSError:
        return False
    return status.st_uid == 0 and not stat.S_IMODE(status.st_mode) & 0o022


def _rules_of_file(file: str, tier: int, *, only_restricts: bool) -> list[FileRule]:
    from dogu.policy.file_rules import read_rules

    found: list[FileRule] = []
    tables, lines = _tables(file)
    for number, (fields, line) in enumerate(zip(tables, lines, strict=True), 1):
        source = told("rule {number} of {file}", number=number, file=file)
        try:
            rules = read_rules(fields, source, tier)
        except RestrictionError as error:
            raise SettingsError(file, line, f"rule {number}", str(error)) from error
        for rule in rules:
            if rule.decision is not Decision.ALLOW:
                _check_names(rule, Origin(file, line), number)
            elif only_restricts:
                continue
            found.append(rule)
    return found


def _check_names(rule: FileRule, origin: Origin, number: int) -> None:
    """A rule that restricts a tool which isn't there, but nearly, would be dropped. Raises `SettingsError`."""
    for name in () if rule.server else rule.tools:
        hint = None if "*" in name or name.startswith("mcp_") else unknown_tool_hint(name)
        if hint:
            problem = told("{entry!r} isn't a tool: did you mean {hint!r}?", entry=name, hint=hint)
            raise SettingsError(origin.file, origin.line, f"rule {number}", problem)


def _tables(file: str) -> tuple[list[Mapping[str, Any]], list[int]]:
    """Return the rules' tables, and the line of each, 0 where it isn't sure."""
    import tomllib

    try:
        text = read_small_file(file, _LARGEST_BYTES).decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        why = told("can't be read: {strerror}", strerror=error.strerror) if error.errno else error.strerror or ""
        raise SettingsError(file, 0, "", why) from error
    except UnicodeDecodeError as error:
        raise SettingsError(file, 0, "", told("is not UTF-8: save it as UTF-8")) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(file, 0, "", told("isn't valid TOML: {error}", error=error)) from error
    rules = document.pop("rule", [])
    for name in document:
        raise SettingsError(file, 0, name, told("{name} isn't understood, and may be a restriction", name=name))
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in cast("list[Any]", rules)):
        raise SettingsError(file, 0, "rule", told("takes tables: [[rule]]"))
    tables = cast("list[Mapping[str, Any]]", rules)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(_HEADING, line)]
    if len(lines) != len(tables):  # written in another way, or one stands in a text
        lines = [0] * len(tables)
    return tables, lines
