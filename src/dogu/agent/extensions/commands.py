"""Commands of one's own: `commands/*.toml` files of the user and of the project, read anew when they change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dogu.agent.extensions.template import Piece, TemplateError, parse_template
from dogu.language import told
from dogu.workspace.small_file import read_small_file

_LARGEST_BYTES = 256 * 1024
_MOST_FILES = 500
_DEEPEST = 8
_NAME = re.compile(r"[^\s/:\x00-\x1f\x7f]+")
_AT_LINE = re.compile(r"^(.*?)\s*\(at line (\d+),.*\)$|^(.*?)\s*\(at end of document\)$", re.DOTALL)


class CustomCommand(msgspec.Struct, frozen=True):
    """A command as its file says it; `name` is without the slash, with a colon for each folder."""

    name: str
    file: str
    description: str
    pieces: tuple[Piece, ...]


class BadCommand(msgspec.Struct, frozen=True):
    """A file that is no command, and why: `problem` names file and line."""

    name: str
    file: str
    problem: str


class CustomCommands:
    """The command files below `folders` (absolute, those that win last)."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)
        self._read: dict[str, tuple[tuple[int, ...], CustomCommand | BadCommand]] = {}

    def all(self) -> list[CustomCommand | BadCommand]:
        """Look at the folders and return what is there now, one a name, sorted; only changed files are read."""
        found: dict[str, CustomCommand | BadCommand] = {}
        kept: dict[str, tuple[tuple[int, ...], CustomCommand | BadCommand]] = {}
        for folder in self._folders:
            for file, name, facts in _files(folder):
                signature = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
                known = self._read.get(file)
                entry = known[1] if known and known[0] == signature else read_command(file, name)
                kept[file] = (signature, entry)
                found[name] = entry
        self._read = kept
        return [found[name] for name in sorted(found)]


def read_command(file: str, name: str) -> CustomCommand | BadCommand:
    """Read one file; what is wrong with it is an answer."""
    import tomllib

    try:
        text = read_small_file(file, _LARGEST_BYTES).decode("utf-8-sig")
    except OSError as error:
        return BadCommand(name, file, f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        return BadCommand(name, file, told("{file}: is not UTF-8", file=file))
    try:
        values = tomllib.loads(text)
        return CustomCommand(name, file, _description(values, name), parse_template(_prompt(values)))
    except tomllib.TOMLDecodeError as error:
        return BadCommand(name, file, _toml_problem(file, text, str(error)))
    except TemplateError as error:
        return BadCommand(name, file, f"{file}:{_line_of(text, error.near)}: {error}")


def _files(folder: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Give (file, name, stat) of the `.toml` files below a folder, in order; links to folders aren't followed."""
    count = 0
    waiting = [(folder, "")]
    while waiting:
        place, prefix = waiting.pop()
        for entry in _entries(place):
            base = entry.name.removesuffix(".toml")
            if not _NAME.fullmatch(base):
                continue  # it couldn't be typed
            if entry.is_dir(follow_symlinks=False):
                if prefix.count(":") < _DEEPEST:
                    waiting.append((entry.path, f"{prefix}{entry.name}:"))
            elif entry.name.endswith(".toml") and (facts := _facts(entry)) is not None:
                yield entry.path, prefix + base, facts
                count += 1
                if count >= _MOST_FILES:
                    return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _facts(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None


def _prompt(values: dict[str, Any]) -> str:
    prompt = values.get("prompt")
    if prompt is None:
        raise TemplateError(told('prompt is missing: write prompt = "..."'), "")
    if not isinstance(prompt, str) or not prompt.strip():
        raise TemplateError(told("prompt must be a text that says something"), "prompt")
    return prompt


def _description(values: dict[str, Any], name: str) -> str:
    description = values.get("description", "")
    if not isinstance(description, str):
        raise TemplateError(told("description must be a text"), "description")
    return " ".join(description.split()) or name


def _toml_problem(file: str, text: str, message: str) -> str:
    found = _AT_LINE.match(message)
    if found is None:
        return told("{file}: is no TOML: {message}", file=file, message=message)
    line = found[2] or str(text.count("\n") + 1)
    return told("{file}:{line}: is no TOML: {message}", file=file, line=line, message=found[1] or found[3])


def _line_of(text: str, near: str) -> int:
    place = text.find(near) if near else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else 1
