"""A notebook as a model reads it: cells with their numbers, ids and outputs; pictures as pictures.

Below: `notebook` (where cells are). Above: `file_view`.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import cast

from dogu.contract.content import Blob
from dogu.workspace.notebook import Cell, Notebook, joined
from dogu.workspace.truncation import middle_left_out

_LONGEST_OUTPUT_CHARS = 8_000
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
# What says most to a reader of text comes first; of a table's text and HTML one is enough.
_TEXTS = ("text/plain", "text/markdown", "text/latex", "application/json", "text/html", "image/svg+xml")
_ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def lines_of(notebook: Notebook) -> list[str | Blob]:
    """Return the notebook line by line, each with its ending; a picture stands for itself, as a line of its own."""
    language = f", {notebook.language}" if notebook.language else ""
    cells = "1 cell" if len(notebook.cells) == 1 else f"{len(notebook.cells)} cells"
    lines: list[str | Blob] = [f"[Jupyter notebook: {cells}{language}. Change cells with edit_notebook.]\n"]
    for cell in notebook.cells:
        lines += _text_lines(f"\n--- {_title(cell)} ---\n{cell.source}")
        for number, output in enumerate(cell.outputs, 1):
            which = f" {number}" if len(cell.outputs) > 1 else ""
            lines.append(f"--- output{which} of cell {cell.number} ---\n")
            for piece in _output(output):
                lines += [piece] if isinstance(piece, Blob) else _text_lines(piece)
    return lines


def _title(cell: Cell) -> str:
    about = [cell.type or "no type", *([f"id {cell.id}"] if cell.id else [])]
    if cell.run is not None:
        about.append(f"run {cell.run}")
    return f"cell {cell.number} ({', '.join(about)})"


def _text_lines(text: str) -> list[str]:
    ended = text if text.endswith("\n") else f"{text}\n"
    return ended.splitlines(keepends=True)


def _output(output: dict[str, object]) -> Iterator[str | Blob]:
    kind = output.get("output_type")
    if kind == "stream":
        yield _bounded(joined(output.get("text")))
    elif kind == "error":
        trace = output.get("traceback")
        frames = (
            [line for line in cast("list[object]", trace) if isinstance(line, str)] if isinstance(trace, list) else []
        )
        yield _bounded("\n".join(frames) or f"{output.get('ename')}: {output.get('evalue')}")
    else:
        data = output.get("data")
        yield from _bundle(cast("dict[str, object]", data) if isinstance(data, dict) else {})


def _bundle(data: dict[str, object]) -> Iterator[str | Blob]:
    """Give one picture and one text of the forms that an output offers of the same thing."""
    for media_type in _PICTURES:
        picture = _decoded(joined(data.get(media_type)))
        if picture:
            yield Blob(media_type, picture)
            return
    for media_type in _TEXTS:
        if media_type in data:
            value = data[media_type]
            yield _bounded(joined(value) or str(value))
            return
    if data:
        yield f"[{', '.join(sorted(data))}: can't be shown as text]"


def _decoded(base64_text: str) -> bytes:
    try:
        return binascii.a2b_base64(base64_text)
    except (binascii.Error, ValueError):
        return b""


def _bounded(text: str) -> str:
    return middle_left_out(_ESCAPE_SEQUENCE.sub("", text), _LONGEST_OUTPUT_CHARS)[0]
