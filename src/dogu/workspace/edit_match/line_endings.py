r"""The line endings of new text: those of the place it goes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.result import Replacement
from dogu.workspace.edit_match.views import View
from dogu.workspace.text import line_ending_at


def settle_endings(view: View, text: str, replacements: Sequence[Replacement]) -> Iterator[Replacement]:
    r"""Turn replacements in `view` (lines end in `\n`) into ones in `text`, each new line ending as its place does.

    Where the place has several kinds of endings, a line that was there keeps its own, and a new one takes that of the line before it.
    """
    for start, end, body in replacements:
        first, last = view.to_source(start), view.to_source(end)
        if "\n" in body and "\r" in text:
            body = _settled(text[first:last], body, line_ending_at(text, first))
        yield Replacement(first, last, body)


def _settled(old: str, body: str, usual: str) -> str:
    endings = (
        {usual} | ({"\n"} if old.count("\n") > old.count("\r\n") else set()) | ({"\r\n"} if "\r\n" in old else set())
    )
    if len(endings) == 1 or usual == "\r":
        return body.replace("\n", usual)
    old_lines = old.split("\n")
    old_ends = ["\r\n" if line.endswith("\r") else "\n" for line in old_lines[:-1]]
    new_lines = body.split("\n")
    ends = [""] * (len(new_lines) - 1)
    old_at = new_at = 0
    for change in [*changed_ranges([line.removesuffix("\r") for line in old_lines], new_lines), None]:
        stop = change.old_start if change else len(old_lines)
        for offset in range(stop - old_at):
            if old_at + offset < len(old_ends) and new_at + offset < len(ends):
                ends[new_at + offset] = old_ends[old_at + offset]
        if change:
            old_at, new_at = change.old_end, change.new_end
    out: list[str] = []
    for line, end in zip(new_lines, ends, strict=False):
        usual = end or usual
        out += line, usual
    return "".join([*out, new_lines[-1]])
