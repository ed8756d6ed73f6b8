"""Extensions of Gemini CLI: what one brings is read where it lies, its servers, restrictions, hooks and texts.

An extension may add and restrict; what it says would allow something, as `trust` does or a policy, is left out, as
there. Source: Gemini CLI, "Extension reference".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

import msgspec

from dogu.language import told
from dogu.settings.gemini_places import read_env_file
from dogu.settings.json import JsonError, parse_json_with_comments
from dogu.settings.layers import Layer, read_layer
from dogu.settings.problems import Origin, SettingsError, SettingsWarning
from dogu.workspace.patterns import compile_pattern
from dogu.workspace.small_file import read_small_file

_LARGEST_BYTES = 4_000_000
_MANIFEST, _INSTALLED = "gemini-extension.json", ".gemini-extension-install.json"
_LABELS = ("name", "version", "description", "migratedTo", "settings", "$schema", "author", "license", "homepage")
_UNREAD = ("themes", "plan")


class Limits(msgspec.Struct, frozen=True):
    """Which extensions the settings let in; `sources` are patterns of where they come from, None for anywhere."""

    are_enabled: bool = True
    disabled: tuple[str, ...] = ()
    blocks_git: bool = False
    sources: tuple[str, ...] | None = None


class Extension(msgspec.Struct, frozen=True):
    """One extension: its folder (absolute), what its files set, and its texts; `is_project`: it came with a folder."""

    name: str
    folder: str
    is_project: bool
    layers: tuple[Layer, ...]
    context_files: tuple[str, ...] = ()

    def inner(self, name: str) -> str:
        """Return the path of a folder in it, such as `commands`."""
        return os.path.join(self.folder, name)


def find_extensions(
    folder: str, workspace: str, limits: Limits, environ: Mapping[str, str], *, is_project: bool = False
) -> Iterator[Extension]:
    """Read the extensions that lie in a folder, sorted by name. Raises `SettingsError` as `read_layer` does."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        if os.path.lexists(folder):
            why = told("can't be read: {strerror}", strerror=error.strerror)
            raise SettingsError(folder, 0, "", why) from error
        return
    overrides = _object(_json(os.path.join(folder, "extension-enablement.json")))
    for name in names if limits.are_enabled else ():
        place = os.path.join(folder, name)
        installed = _object(_json(os.path.join(place, _INSTALLED)))
        if installed.get("type") == "link" and isinstance(installed.get("source"), str):
            place = installed["source"]
        if not os.path.lexists(os.path.join(place, _MANIFEST)) or not _is_let_in(installed, limits):
            continue
        extension = _read(place, name, workspace, environ, is_project=is_project)
        names_off = {each.casefold() for each in limits.disabled}
        if extension.name.casefold() not in names_off and _is_switched_on(overrides.get(extension.name), workspace):
            yield extension


def _is_let_in(installed: Mapping[str, Any], limits: Limits) -> bool:
    """Whether the settings let in what comes from there, as in Gemini CLI: named sources go before all else."""
    if limits.sources is not None:
        source = str(installed.get("source", ""))
        patterns = [compile_pattern(each) for each in limits.sources]
        return any(pattern is not None and pattern.search(source) for pattern in patterns)
    return not (limits.blocks_git and installed.get("type") in ("git", "github-release"))


def _is_switched_on(entry: Any, workspace: str) -> bool:
    """Whether the last rule that names the folder says so: `/a/b/*` with what is below, `!` before it for not."""
    rules = _object(entry).get("overrides", [])
    place = "/" + workspace.replace("\\", "/").strip("/") + "/"
    is_on = True
    for rule in cast("list[Any]", rules) if isinstance(rules, list) else []:
        if isinstance(rule, str):
            shape = re.escape(rule.removeprefix("!")).replace(r"/\*", r"(?:/.*)?").replace(r"\*", "(?:.*)?")
            if re.fullmatch(shape, place):
                is_on = not rule.startswith("!")
    return is_on


def _read(folder: str, name: str, workspace: str, environ: Mapping[str, str], *, is_project: bool) -> Extension:
    manifest = os.path.join(folder, _MANIFEST)
    variables = {"extensionPath": folder, "workspacePath": workspace, "/": os.sep, "pathSeparator": os.sep}
    environ = {**read_env_file(os.path.join(folder, ".env")), **environ}
    seen: dict[str, Any] = {}
    problems: list[str] = []
    adapt = partial(_of_manifest, variables=variables, seen=seen, problems=problems)
    layer = read_layer(manifest, environ, is_project=is_project, adapt=adapt)
    unread = [*problems, *(each for each in ("agents", "settings") if os.path.isdir(os.path.join(folder, each)))]
    if unread:
        message = told("not read of this extension: {names}", names=", ".join(unread))
        layer.warnings.append(SettingsWarning(Origin(manifest), "", message))
    hooks = read_layer(
        os.path.join(folder, "hooks", "hooks.json"),
        environ,
        is_project=is_project,
        adapt=lambda values: {"hooks": _filled(_object(values).get("hooks"), variables)},
    )
    said = seen.get("contextFileName") or ["GEMINI.md"]
    files = [said] if isinstance(said, str) else cast("list[Any]", said) if isinstance(said, list) else []
    paths = [os.path.join(folder, file) for file in files if isinstance(file, str)]
    own_name = seen.get("name")
    return Extension(
        own_name if isinstance(own_name, str) and own_name else name,
        folder,
        is_project,
        (layer, hooks),
        tuple(path for path in paths if os.path.isfile(path)),
    )


def _of_manifest(
    values: Mapping[str, Any], variables: Mapping[str, str], seen: dict[str, Any], problems: list[str]
) -> dict[str, Any]:
    """Return what of a manifest is settings: its servers, which are never trusted, and what it excludes.

    What isn't known stays, and is judged as an unknown key of the settings is.
    """
    seen.update(values)
    problems += [name for name in _UNREAD if values.get(name)]
    left = {name: value for name, value in values.items() if name not in (*_LABELS, *_UNREAD, "contextFileName")}
    filled = cast("dict[str, Any]", _filled(left, variables))
    servers = filled.get("mcpServers")
    for alias, entry in _object(servers).items():
        if isinstance(entry, dict) and cast("dict[str, Any]", entry).pop("trust", False):
            problems.append(f"mcpServers.{alias}.trust")
    return filled


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """Fill in `${extensionPath}` and the like in every text; other variables stay."""
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda found: variables.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [_filled(each, variables) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _filled(inner, variables) for name, inner in cast("dict[str, Any]", value).items()}
    return value


def _json(file: str) -> Any:
    """Read a file of Gemini CLI's own, which may switch something off. Raises `SettingsError` if it can't be read."""
    try:
        return parse_json_with_comments(read_small_file(file, _LARGEST_BYTES).decode("utf-8-sig")).values
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except JsonError as error:
        raise SettingsError(file, error.line, "", error.message) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(file, 0, "", told("can't be read: {strerror}", strerror=error)) from error


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
