"""Skills: folders with a SKILL.md, of the user and of the project.

The head of a SKILL.md is read without a YAML library, as the part of YAML that skills are written in: keys at the
line's start with plain, quoted, folded (`>`) and literal (`|`) texts; what is nested is passed over.
Source: the open Agent Skills specification (agentskills.io/specification).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from dogu.agent.slash import Said, SlashCommand
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say, told
from dogu.tools.activate_skill import Skill, SkillText
from dogu.workspace.digest import digest_of
from dogu.workspace.small_file import read_small_file

_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_FENCE = "---"
_BLOCK = re.compile(r"([|>])[+-]?\d?[+-]?(?:[ \t]+#.*)?$")


class FrontmatterError(Exception):
    """A head that can't be understood, with its line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def split_frontmatter(text: str) -> tuple[dict[str, str], str]:
    """Return the head's texts by key, and the body. Raises `FrontmatterError`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FrontmatterError(told("must begin with a --- line, then name: and description:"), 1)
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), 0)
    if not end:
        raise FrontmatterError(told("the closing --- of the head is missing"), len(lines))
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _values(lines: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    place = 0
    while place < len(lines):
        line = lines[place]
        number = place + 2
        place += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line)
        if found is None:
            raise FrontmatterError(told("isn't `key: value`: {line!r}", line=line.strip()[:60]), number)
        below = place
        while below < len(lines) and (not lines[below].strip() or lines[below][0] in " \t"):
            below += 1
        values[found[1]] = _value((found[2] or "").strip(), lines[place:below], number)
        place = below
    return values


def _value(first: str, below: list[str], number: int) -> str:
    block = _BLOCK.match(first)
    if block is not None:
        texts = [line.strip() for line in below]
        return ("\n" if block[1] == "|" else " ").join(texts).strip()
    joined = " ".join(filter(None, [first, *(line.strip() for line in below)]))
    if joined[:1] == '"':
        return _double_quoted(joined, number)
    if joined[:1] == "'":
        if len(joined) < 2 or joined[-1] != "'":
            raise FrontmatterError(told("a quote is never closed"), number)
        return joined[1:-1].replace("''", "'")
    return re.sub(r"(?:^|\s)#.*$", "", joined).strip() if not below else joined


def _double_quoted(text: str, number: int) -> str:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise FrontmatterError(told("a quote is never closed, or holds an escape that isn't known"), number) from error
    return str(value)


_LARGEST_BYTES = 256 * 1024
_MOST_SKILLS = 200
_MOST_FILES = 200
_DEEPEST = 5
_LONGEST_DESCRIPTION = 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class SkillFolder(msgspec.Struct, frozen=True):
    """Where skills are looked for: a folder (absolute) that has a folder for each."""

    path: str
    is_project: bool = False


class Skills:
    """The skills of these folders (those that win last) but for the `disabled` ones, looked at anew each time."""

    def __init__(self, folders: Sequence[SkillFolder], disabled: Sequence[str] = ()) -> None:
        self._folders = tuple(folders)
        self._disabled = frozenset(name.strip().casefold() for name in disabled)
        self._read: dict[str, tuple[tuple[int, ...], Skill | str]] = {}

    def all(self) -> list[Skill]:
        """Return the skills that can be activated, sorted by name."""
        found = {skill.name: skill for skill in self._entries() if isinstance(skill, Skill)}
        return [found[name] for name in sorted(found) if name not in self._disabled]

    def unmatched(self) -> list[str]:
        """Return what is disabled and isn't there, sorted."""
        return sorted(self._disabled - {skill.name for skill in self._entries() if isinstance(skill, Skill)})

    def problems(self) -> list[str]:
        """Say what is wrong with the skills that can't be used, each with file and line."""
        return [problem for problem in self._entries() if isinstance(problem, str)]

    def load(self, skill: Skill) -> SkillText:
        """Read a skill's instructions and find its files. Raises `ToolError` when they can't be read any more."""
        file = f"{skill.folder}/SKILL.md"
        try:
            data = read_small_file(file, _LARGEST_BYTES)
            body = split_frontmatter(data.decode("utf-8"))[1]
        except OSError as error:
            message = told(
                "The skill {name} can't be read: {file}: {why}.", name=skill.name, file=file, why=error.strerror
            )
            raise ToolError(ErrorKind.IO_ERROR, message) from error
        except (UnicodeDecodeError, FrontmatterError) as error:
            message = told(
                "The skill {name} has changed and can't be used: {file}: {why}.", name=skill.name, file=file, why=error
            )
            raise ToolError(ErrorKind.WRONG_FILE_TYPE, message) from error
        return SkillText(body, tuple(_files(skill.folder)), digest_of(data))

    async def tell(self, rest: str = "") -> Said:
        """List the skills and what is wrong, for the user."""
        if rest not in ("", "list"):
            return Said("/skills [list]", is_failure=True)
        rows = [f"  {skill.name}: {skill.description} ({skill.folder})" for skill in self.all()]
        rows += [say("  can't be used: {problem}", problem=problem) for problem in self.problems()]
        return Said("\n".join(rows) or say("There are no skills."))

    def command(self) -> SlashCommand:
        """Make the command `/skills`."""
        return SlashCommand("skills", say("show the model's skills"), self.tell, "[list]")

    def _entries(self) -> list[Skill | str]:
        entries: list[Skill | str] = []
        kept: dict[str, tuple[tuple[int, ...], Skill | str]] = {}
        for folder in self._folders:
            for path, facts in _skill_folders(folder.path):
                signature = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
                known = self._read.get(path)
                entry = known[1] if known and known[0] == signature else read_skill(path, is_project=folder.is_project)
                kept[path] = (signature, entry)
                entries.append(entry)
        self._read = kept
        return entries


def read_skill(folder: str, *, is_project: bool) -> Skill | str:
    """Read the head of a folder's SKILL.md; what is wrong with it is a sentence."""
    file = f"{folder}/SKILL.md"
    try:
        head, _ = split_frontmatter(read_small_file(file, _LARGEST_BYTES).decode("utf-8"))
    except OSError as error:
        return f"{file}: {error.strerror}"
    except UnicodeDecodeError:
        return told("{file}: is not UTF-8", file=file)
    except FrontmatterError as error:
        return f"{file}:{error.line}: {error}"
    name, description = head.get("name", ""), " ".join(head.get("description", "").split())
    if not _NAME.fullmatch(name) or len(name) > 64:
        return told(
            "{file}: name must be 1 to 64 characters of a-z, 0-9 and single hyphens, not {name!r}",
            file=file,
            name=name[:80],
        )
    if not description:
        return told("{file}: description is missing: say what the skill does and when to use it", file=file)
    return Skill(name, description[:_LONGEST_DESCRIPTION], folder, is_project)


def _skill_folders(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return
    for name in names[:_MOST_SKILLS]:
        path = f"{folder}/{name}"
        try:
            yield path, os.stat(f"{path}/SKILL.md")
        except OSError:
            continue  # a file, or a folder that is no skill


def _files(folder: str) -> Iterator[str]:
    """Give the paths of a skill's other files, bounded in number and depth, links not followed."""
    count = 0
    base = folder.count("/")
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if place.count("/") - base >= _DEEPEST:
            folders.clear()
        for name in sorted(names):
            if place == folder and name == "SKILL.md":
                continue
            if count == _MOST_FILES:
                yield f"... and more than {_MOST_FILES} files in all"
                return
            count += 1
            yield f"{place}/{name}"
