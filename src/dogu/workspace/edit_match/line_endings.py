r"""The line endings of new text: those of the place it goes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.result import Replacement
from dogu.workspace.edit_match.views import View
from dogu.workspace.text import line_ending_at


def settle_endings(view: View, text: str, replacements: Sequence[Replacement]) -> Iterator[Replacement]:
    r"""Turn replacements in `view` (lines end in `\n`) into ones in `text`, each new line ending as its place does.

    Where the place has several kinds of endings, a line that was there keeps its own, and a new one takes that of the
    line before it.
    """
    for start, end, body in replacements:
        first, last = view.to_source(start), view.to_source(end)
        if "\n" in body and "\r" in text:
            body = _settled(text[first:last], body, line_ending_at(text, first))
        yield Replacement(first, last, body)


def _settled(old: str, body: str, usual: str) -> str:
    pairs = old.count("\r\n")
    if usual == "\r" or old.count("\n") - pairs == 0 or pairs == 0:
        return body.replace("\n", "\r\n" if pairs else "\n" if "\n" in old else usual)
    old_lines = old.split("\n")
    lines = body.split("\n")
    kept = _kept([line.removesuffix("\r") for line in old_lines], lines)
    out: list[str] = []
    for number, line in enumerate(lines[:-1]):
        if number in kept:
            usual = "\r\n" if old_lines[kept[number]].endswith("\r") else "\n"
        out += line, usual
    return "".join([*out, lines[-1]])


def _kept(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Map the number of each new line that is an old one to that, but for the last old line, which has no ending."""
    kept: dict[int, int] = {}
    old_at = new_at = 0
    for change in [*changed_ranges(old, new), None]:
        stop = change.old_start if change else len(old) - 1
        kept.update({new_at + offset: old_at + offset for offset in range(stop - old_at)})
        if change:
            old_at, new_at = change.old_end, change.new_end
    return kept
