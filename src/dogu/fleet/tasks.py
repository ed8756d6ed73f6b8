"""What a fleet is asked to do: tasks, from JSON lines, a CSV table, a folder of prompts, or Python."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.language import joined, sentence, told
from dogu.workspace.small_file import open_regular_file
from dogu.workspace.text import decode

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_IMAGE = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511})?")
_LONGEST_LINE_BYTES = 64 * 1024 * 1024
_PROMPT_FILES = (".md", ".txt", ".prompt")
_MAY_BE_BLANK = ("repo", "folder", "ref", "setup", "check", "model", "image")
_FILE_MAPS = ("files", "check_files", "budget")


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one task may take: requests to the model, US dollars, seconds in all. None: as the fleet has it."""

    max_turns: int | None = None
    max_cost: float | None = None
    timeout_s: float | None = None


class Task(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One task. It works in a clone of `repo` at `ref`, else in a copy of `folder`, else of the folder that `image`
    works in, else in an empty folder. With an image its commands run in containers of that; with `submodules` those of
    the repository are there, and theirs.

    `files` (path to text) are written into it before `setup`; `check_files` after the agent is done, before `check`,
    so that the agent neither sees nor changes them. `setup` and `check` are command lines; `check` decides by its exit
    code. `group` is what reports put together.
    """

    id: str
    prompt: str
    repo: str = ""
    folder: str = ""
    ref: str = ""
    setup: str = ""
    check: str = ""
    files: dict[str, str] = {}
    check_files: dict[str, str] = {}
    model: str = ""
    budget: Bounds = Bounds()
    group: str = ""
    image: str = ""
    submodules: bool = False


class Work(msgspec.Struct, frozen=True):
    """A task that was begun: what a worker is sent."""

    task: Task
    attempt: int


def read_tasks(path: str) -> Iterator[Task]:
    """Read tasks from a file (`.jsonl`, `.csv`) or a folder of prompts, in order; relative places are beside it.

    Raises `ToolError` (INVALID_ARGUMENTS) that names the file, the line and the field.
    """
    if os.path.isdir(path):
        return _from_folder(path)
    if _is_table(path):
        return _from_csv(path)
    return _from_lines(path)


def _is_table(path: str) -> bool:
    return path.lower().endswith((".csv", ".tsv"))


def checked(tasks: Iterable[Task], base: str = "") -> Iterator[Task]:
    """Give the tasks back with absolute places; refuse those that can't be run, and an id that comes twice.

    A field of blanks says nothing.
    """
    seen: set[str] = set()
    for number, given in enumerate(tasks, 1):
        blank = [name for name in _MAY_BE_BLANK if (text := getattr(given, name)) and text.isspace()]
        task = msgspec.structs.replace(given, **dict.fromkeys(blank, "")) if blank else given
        problem = _problem(task)
        if task.id.lower() in seen:  # which is one folder to some systems
            problem = told("the id {id} appears twice", id=task.id)
        if problem:
            raise _refused(told("Task {number} ({id}): {problem}.", number=number, id=task.id, problem=problem))
        seen.add(task.id.lower())
        yield msgspec.structs.replace(task, repo=_place(task.repo, base), folder=_local(task.folder, base))


def _problem(task: Task) -> str:
    if not _ID.fullmatch(task.id):
        return told("an id is letters, digits, '.', '_' and '-', at most 128, and begins with a letter or digit")
    if not task.prompt.strip():
        return told("the prompt is empty")
    if task.repo and task.folder:
        return told("it names both a repo and a folder: give one")
    if task.ref and not task.repo:
        return told("it names a ref, but no repo")
    if task.submodules and not task.repo:
        return told("it wants submodules, but names no repo")
    if not _IMAGE.fullmatch(task.image):
        return told("{image} isn't the name of an image", image=task.image)
    return _problem_of_texts(task) or bounds_problem(task.budget)


def _problem_of_texts(task: Task) -> str:
    files = [*task.files.items(), *task.check_files.items()]
    for name, _ in files:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        is_inside = parts and not os.path.isabs(name) and ".." not in parts and not name.endswith(("/", "/."))
        if not is_inside or any(part.lower() == ".git" for part in parts):
            return told("{path} isn't a path inside the task's folder", path=name)
    for name, text in files:
        if not _is_writable(name, text) or "\0" in name:
            return told("{path} has characters that no file name can have", path=name)
    words = (task.prompt, task.repo, task.folder, task.ref, task.setup, task.check, task.model)
    if not _is_writable(*words) or any("\0" in text for text in words):
        return told("it has characters that no command can have")
    return ""


def bounds_problem(bounds: Bounds) -> str:
    """Say what is wrong with the numbers, or nothing."""
    for name, value, least, most in (
        ("max_turns", bounds.max_turns, 1, 1_000_000),
        ("max_cost", bounds.max_cost, 0, 1e9),
        ("timeout_s", bounds.timeout_s, 0.001, 1e7),
    ):
        if value is not None and not least <= value <= most:
            words = sentence("{name} must be from {least:,.15g} to {most:,.15g}, not {value}")
            return told(words, name=name, least=least, most=most, value=value)
    return ""


def _is_writable(*texts: str) -> bool:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(repo: str, base: str) -> str:
    """A repository's address as it is; a path made absolute. Which it is, is decided as by git: `host:path` is none."""
    path = _local(repo, base)
    is_address = re.match(r"[^/]*:", repo) and not os.path.splitdrive(repo)[0]
    return repo if is_address and not os.path.exists(path) else path


def _local(path: str, base: str) -> str:
    return os.path.abspath(os.path.join(base, os.path.expanduser(path))) if path else ""


def _from_lines(path: str) -> Iterator[Task]:
    with _opened(path) as opened:
        is_wide = opened.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell writes what it is given
        opened.seek(0)
        file = io.BytesIO(_text(path).encode()) if is_wide else opened
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE_BYTES), b""), 1):
            if len(line) == _LONGEST_LINE_BYTES:
                problem = told("the line is longer than {most:,} bytes", most=_LONGEST_LINE_BYTES)
                raise _refused(told("{path}, line {line}: {problem}", path=path, line=number, problem=problem))
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if text.strip():
                yield _task(path, number, lambda text=text: _of_line(text))


def _of_line(text: bytes) -> Task:
    """Take a line. A null says nothing: what makes lines of a table writes one for each empty cell."""
    try:
        return msgspec.json.decode(text, type=Task)
    except msgspec.ValidationError:
        values = msgspec.json.decode(text, type=dict[str, Any])
    said = {name: value for name, value in values.items() if value is not None or name not in Task.__struct_fields__}
    return msgspec.convert(said, Task)


def _from_csv(path: str) -> Iterator[Task]:
    text = _text(path)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    csv.field_size_limit(_LONGEST_LINE_BYTES)
    names: list[str] = []
    line = 1
    try:
        for row in rows:
            if not names:
                names = [name.strip() for name in row]
                if len(set(names)) < len(names):
                    raise _refused(told("{path}, line {line}: a column appears twice.", path=path, line=line))
            elif len(row) > len(names):
                raise _refused(
                    told("{path}, line {line}: more cells than the table has columns.", path=path, line=line)
                )
            elif row:
                cells = dict(zip(names, row, strict=False))
                yield _task(path, line, lambda cells=cells: _of_row(cells))
            line = rows.line_num + 1
    except csv.Error as error:
        message = told("{path}, line {line}: {problem}", path=path, line=line, problem=str(error))
        raise _refused(message) from error


def _separator(text: str) -> str:
    """Which of those that spreadsheets write stands between the names of the columns."""
    names = text.split("\n", 1)[0]
    return max(",;\t", key=names.count)


def _of_row(row: dict[str, Any]) -> Task:
    """Take a row: cells of what holds more than one value are JSON."""
    values = {name: value for name, value in row.items() if name and value}
    for name in _FILE_MAPS:
        if name in values:
            values[name] = msgspec.json.decode(values[name])
    return msgspec.convert(values, Task, strict=False)  # a table says TRUE or 1


def _from_folder(path: str) -> Iterator[Task]:
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith(_PROMPT_FILES) and not name.startswith("."))
    except OSError as error:
        raise _refused(told("{path} can't be read: {why}", path=path, why=error.strerror)) from error
    if not names:
        suffixes = ", ".join(_PROMPT_FILES)
        raise _refused(told("{path} has no prompts: files that end in {suffixes}.", path=path, suffixes=suffixes))
    for name in names:
        yield Task(os.path.splitext(name)[0], _text(os.path.join(path, name)))


def _task(path: str, line: int, make: Callable[[], Task]) -> Task:
    try:
        return make()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = joined("; ", (str(error), *_hint(error, is_table=_is_table(path))))
        raise _refused(told("{path}, line {line}: {problem}", path=path, line=line, problem=problem)) from error


def _hint(error: Exception, *, is_table: bool) -> Iterator[str]:
    """Say what a task is, to whom that helps."""
    words = str(error)
    if "unknown field" in words or "missing required" in words:
        yield told("a task has {fields}", fields=", ".join(Task.__struct_fields__))
    elif not is_table and "`$" not in words:
        yield told("a line is one task, in UTF-8: {example}", example='{"id": "a", "prompt": "..."}')


def _text(path: str) -> str:
    """Read a file in whatever encoding it is, as `read_file` does."""
    with _opened(path) as file:
        data = file.read()
    try:
        return decode(data).text
    except ToolError as error:
        raise _refused(told("{path} can't be read: {why}", path=path, why=error.message)) from error


def _opened(path: str) -> BinaryIO:
    """Open a plain file: nothing else is waited for."""
    try:
        return open_regular_file(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _refused(told("{path} can't be read: {why}", path=path, why=why)) from error


def _refused(message: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, message)
