"""Jupyter notebooks as cells of the file's own text: what an edit doesn't name keeps its bytes.

Above: the tools that read and edit. A notebook is scanned by position, so that a cell can be put in, taken out or
rewritten within the JSON that is there; nothing is parsed and written back as a whole.

Source: nbformat 4, "The Jupyter Notebook Format".
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.text.omission import find_omission

CellType = Literal["code", "markdown", "raw"]
_Inner = Callable[[int], tuple[object, int]]

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")
_NON_ASCII_ESCAPE = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


class NotebookError(ValueError):
    """The text is no notebook of nbformat 4, or the edit asked for can't be made; says why."""


class Item(NamedTuple):
    """A member of an object or an element of an array: its value, and where it stands, `start` at its key if any."""

    start: int
    value_start: int
    end: int
    value: object


class Cell(NamedTuple):
    """One cell: `number` counts from 1, `members` are its members by name, `start` and `end` its place in the text."""

    number: int
    start: int
    end: int
    members: dict[str, Item]

    @property
    def id(self) -> str:
        """The id that notebooks of nbformat 4.5 give their cells; empty in older ones."""
        return self._text_of("id")

    @property
    def type(self) -> str:
        """What the cell holds: code, markdown or raw."""
        return self._text_of("cell_type")

    @property
    def source(self) -> str:
        """The cell's own text."""
        return joined(self._value("source"))

    @property
    def run(self) -> int | None:
        """Which run of the kernel the outputs are of; None for a cell that hasn't run."""
        count = self._value("execution_count")
        return count if isinstance(count, int) else None

    @property
    def outputs(self) -> list[dict[str, object]]:
        """What running the cell gave, each as nbformat has it."""
        found = self._value("outputs")
        return (
            [item for item in cast("list[object]", found) if isinstance(item, dict)] if isinstance(found, list) else []
        )

    def _value(self, name: str) -> object:
        return self.members[name].value if name in self.members else None

    def _text_of(self, name: str) -> str:
        value = self._value(name)
        return value if isinstance(value, str) else ""


class Notebook(msgspec.Struct, frozen=True):
    """A notebook's text, and where its cells stand in it."""

    text: str
    cells: tuple[Cell, ...]
    cells_start: int
    cells_end: int
    has_ids: bool
    language: str

    def find(self, named: str) -> Cell:
        """Return the cell of that id, or else of that number (from 1). Raises `NotebookError` that names what is."""
        found = [cell for cell in self.cells if cell.id == named and named]
        if len(found) > 1:
            numbers = ", ".join(str(cell.number) for cell in found)
            raise NotebookError(f"the id {named!r} is that of cells {numbers}: give the number instead")
        if found:
            return found[0]
        if re.fullmatch(r"[0-9]{1,9}", named) and 1 <= int(named) <= len(self.cells):
            return self.cells[int(named) - 1]
        there = f"has cells 1 to {len(self.cells)}" if self.cells else "has no cells"
        raise NotebookError(f"no cell has the id or number {named!r}; the notebook {there}")


def joined(value: object) -> str:
    """Return a text of nbformat, which is a string or a list of strings; empty for anything else."""
    if isinstance(value, list):
        return "".join(part for part in cast("list[object]", value) if isinstance(part, str))
    return value if isinstance(value, str) else ""


def parse_notebook(text: str) -> Notebook:
    """Find the cells. Raises `NotebookError` for what is no notebook of nbformat 4."""
    try:
        return _scan(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotebookError(f"the file isn't valid JSON ({error})") from error


def with_source(notebook: Notebook, cell: Cell, source: str) -> str:
    """Return the notebook's text with the cell's source replaced; its outputs and metadata stay."""
    item = cell.members.get("source")
    if item is None:
        raise NotebookError(f"cell {cell.number} has no source to replace")
    style = _Style(notebook.text, notebook.cells)
    value = source if isinstance(item.value, str) else _lines(source)
    return _spliced(notebook.text, item.value_start, item.end, style.dump(value, depth=3))


def with_type(notebook: Notebook, cell: Cell, cell_type: CellType, source: str) -> str:
    """Return the text with the cell made another type; outputs and run count go where a type can't have them."""
    members = {name: item.value for name, item in cell.members.items()}
    for name in ("execution_count", "outputs"):
        members.pop(name, None)
    style = _Style(notebook.text, notebook.cells)
    made = _new_cell(cell_type, style.source_of(source))
    value = {**members, **made, "metadata": members.get("metadata", {})}
    order = {name: index for index, name in enumerate(cell.members)}
    ordered = {name: value[name] for name in sorted(value, key=lambda name: order.get(name, len(order)))}
    return _spliced(notebook.text, cell.start, cell.end, style.dump(ordered, depth=2))


def with_cell(notebook: Notebook, after: Cell | None, cell_type: CellType, source: str) -> str:
    """Return the text with a new cell behind `after`, or before all others."""
    style = _Style(notebook.text, notebook.cells)
    made = _new_cell(cell_type, style.source_of(source))
    if notebook.has_ids:
        made["id"] = _fresh_id({cell.id for cell in notebook.cells})
    value = {name: made[name] for name in sorted(made)}
    if not notebook.cells:
        return _spliced(notebook.text, notebook.cells_start, notebook.cells_end, style.dump([value], depth=1))
    body = style.dump(value, depth=2)
    if after is None:
        first = notebook.cells[0].start
        return _spliced(notebook.text, first, first, f"{body},{style.gap}")
    return _spliced(notebook.text, after.end, after.end, f",{style.gap}{body}")


def without_cell(notebook: Notebook, cell: Cell) -> str:
    """Return the text without the cell."""
    cells = notebook.cells
    if len(cells) == 1:
        return _spliced(notebook.text, notebook.cells_start, notebook.cells_end, "[]")
    index = cell.number - 1
    if index + 1 < len(cells):
        return _spliced(notebook.text, cell.start, cells[index + 1].start, "")
    return _spliced(notebook.text, cells[index - 1].end, cell.end, "")


def refuse_omission(source: str, old: str) -> None:
    """Raise `ToolError` (OMISSION_PLACEHOLDER) where a line that isn't in `old` stands for code left out."""
    omission = find_omission(source, old)
    if omission is not None:
        what = f"line {omission[0]} of new_source stands for code left out: {omission[1]!r}. Write every line out."
        raise ToolError(ErrorKind.OMISSION_PLACEHOLDER, f"Nothing was written: {what}")


def difference(old: str, new: str) -> tuple[int, int, str]:
    """Return the one stretch `[start, end)` of `old` that differs, and what stands there in `new`."""
    start, most = 0, min(len(old), len(new))
    # Halving: comparing slices is what Python does fast, and a notebook with pictures has megabytes of them.
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[start:middle] == new[start:middle] else (low, middle - 1)
    start = low
    low, high = 0, most - start
    while low < high:
        middle = (low + high + 1) // 2
        same = old[len(old) - middle :] == new[len(new) - middle :]
        low, high = (middle, high) if same else (low, middle - 1)
    return start, len(old) - low, new[start : len(new) - low]


class _Style:
    """How the file writes its JSON, so that what is new looks like what is there."""

    def __init__(self, text: str, cells: Sequence[Cell]) -> None:
        first = re.match(r"\{(\r?\n)([ \t]*)", text.lstrip("\ufeff \t\r\n"))
        self._newline = first.group(1) if first else ""
        self._unit = first.group(2) if first else ""
        self._item = "," if self._newline or re.search(r'[\]}"0-9],"', text[:2000]) else ", "
        self._key = ":" if re.search(r'"[a-z_]+":["\[{0-9]', text[:2000]) else ": "
        self._ascii = text.isascii() and _NON_ASCII_ESCAPE.search(text) is not None
        self._as_list = not cells or any(
            "source" in cell.members and isinstance(cell.members["source"].value, list) for cell in cells
        )

    @property
    def gap(self) -> str:
        """What stands between two cells, behind the comma."""
        return f"{self._newline}{self._unit * 2}" if self._newline else self._item[1:]

    def source_of(self, source: str) -> object:
        """The source as the file's cells have theirs: a list of lines or one string."""
        return _lines(source) if self._as_list else source

    def dump(self, value: object, depth: int) -> str:
        """Write a value that begins `depth` levels deep."""
        indent = self._unit if self._newline else None
        text = json.dumps(value, indent=indent, ensure_ascii=self._ascii, separators=(self._item, self._key))
        return text.replace("\n", f"{self._newline}{self._unit * depth}") if self._newline else text


def _scan(text: str) -> Notebook:
    start = _after_blanks(text, 0)
    if text[start : start + 1] != "{":
        raise NotebookError("the file holds no JSON object")
    cells: list[Cell] = []

    def cell(at: int) -> tuple[object, int]:
        if text[at : at + 1] != "{":
            raise NotebookError(f"cell {len(cells) + 1} is no JSON object")
        members, end = _members(text, at, lambda _: _plain(text))
        cells.append(Cell(len(cells) + 1, at, end, members))
        return None, end

    def top(name: str) -> _Inner:
        if name != "cells":
            return _plain(text)
        cells.clear()
        return lambda at: (None, _elements(text, at, cell))

    members, end = _members(text, start, top)
    if _after_blanks(text, end) != len(text):
        raise NotebookError("something follows the notebook's closing brace")
    if "cells" not in members:
        raise NotebookError("it has no `cells` (nbformat 4 is what is understood)")
    place = members["cells"]
    major, minor = (members[name].value if name in members else None for name in ("nbformat", "nbformat_minor"))
    has_ids = (major == 4 and isinstance(minor, int) and minor >= 5) or any(one.id for one in cells)
    metadata = members["metadata"].value if "metadata" in members else None
    return Notebook(text, tuple(cells), place.value_start, place.end, has_ids, _language(metadata))


def _language(metadata: object) -> str:
    for outer, inner in (("kernelspec", "language"), ("language_info", "name")):
        part = cast("dict[str, object]", metadata).get(outer) if isinstance(metadata, dict) else None
        found = cast("dict[str, object]", part).get(inner) if isinstance(part, dict) else None
        if isinstance(found, str):
            return found
    return ""


def _plain(text: str) -> _Inner:
    return lambda at: _DECODER.raw_decode(text, at)


def _members(text: str, at: int, inner: Callable[[str], _Inner]) -> tuple[dict[str, Item], int]:
    """Read the object that begins at `at`: its members, and the position behind it."""
    members: dict[str, Item] = {}
    at = _after_blanks(text, at + 1)
    while text[at : at + 1] != "}":
        name, behind = _DECODER.raw_decode(text, at)
        if not isinstance(name, str):
            raise NotebookError(f"a member at character {at} has no name")
        colon = _expect(text, _after_blanks(text, behind), ":")
        value_start = _after_blanks(text, colon)
        value, end = inner(name)(value_start)
        members[name] = Item(at, value_start, end, value)
        at = _next(text, end, "}")
    return members, at + 1


def _elements(text: str, at: int, inner: _Inner) -> int:
    """Read the array that begins at `at` by `inner`; return the position behind it."""
    if text[at : at + 1] != "[":
        raise NotebookError("its `cells` are no list")
    at = _after_blanks(text, at + 1)
    while text[at : at + 1] != "]":
        _, end = inner(at)
        at = _next(text, end, "]")
    return at + 1


def _next(text: str, end: int, closing: str) -> int:
    """Step over the comma to the next item, or stay at the closing bracket."""
    at = _after_blanks(text, end)
    if text[at : at + 1] == closing:
        return at
    behind = _after_blanks(text, _expect(text, at, ","))
    if text[behind : behind + 1] == closing:
        raise NotebookError(f"the file isn't valid JSON (a comma before {closing} at character {behind})")
    return behind


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise NotebookError(f"the file isn't valid JSON ({character!r} is missing at character {at})")
    return at + 1


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _lines(source: str) -> list[str]:
    r"""Split behind each `\n`, as nbformat does; other separators stay within their line."""
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _new_cell(cell_type: CellType, source: object) -> dict[str, object]:
    made: dict[str, object] = {"cell_type": cell_type, "metadata": {}, "source": source}
    return {**made, "execution_count": None, "outputs": []} if cell_type == "code" else made


def _fresh_id(taken: set[str]) -> str:
    while (made := secrets.token_hex(4)) in taken:
        pass
    return made


def _spliced(text: str, start: int, end: int, body: str) -> str:
    return f"{text[:start]}{body}{text[end:]}"
