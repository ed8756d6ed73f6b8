"""Whether `new_string` quotes the file as `old_string` has it, or as the file does: decided by place.

A model that garbled `old_string` mostly garbled `new_string` alike; then new lines are taken back. Sometimes it has
`new_string` right; then they are taken as they are. A line of `new_string` that equals the file's proves nothing by
itself: one that moves a level deeper equals it by accident where the model is a level short. The edges tell, because
an edit begins and ends where the text it replaces did, and then the lines that stand in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dogu.workspace.edit_match.folding import fold
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.rows import Rows, shared_lines
from dogu.workspace.edit_match.words import word_chars


class Terms(NamedTuple):
    """What `new_string` has as the file does, where `old_string` doesn't."""

    indentation: bool = False
    words: bool = False


def terms_of(at: Rows, new: Sequence[str], *, lost_head: bool) -> Terms:
    """Decide both; raise `UncleanError` where the lines contradict one another.

    With `lost_head` the first line of `old_string` alone has no indentation, so it is no witness.
    """
    pairs = shared_lines([fold(row.text) for row in at.rows], [fold(line) for line in new])
    return Terms(_indentation(at, new, pairs, lost_head=lost_head), _words(at, new, pairs))


def _words(at: Rows, new: Sequence[str], pairs: Sequence[tuple[int, int]]) -> bool:
    ours = theirs = False
    for i, j in pairs:
        row, written = at.rows[i], new[j].strip()
        if not row.units or not word_chars(written):
            continue
        mine, file = row.text.strip(), at.file_text(i).strip()
        ours = ours or written == mine != file
        theirs = theirs or written == file != mine
    if ours and theirs:
        raise UncleanError("new_string repeats some lines as old_string has them and others as the file does")
    return theirs


def _indentation(at: Rows, new: Sequence[str], pairs: Sequence[tuple[int, int]], *, lost_head: bool) -> bool:
    """Say whether the indentation of `new` is the file's, where `old` has another."""
    shifted = {
        i: (indent_of(row.text), at.file_indent(i))
        for i, row in enumerate(at.rows)
        if row.units and at.begins_line(i) and not (i == at.head and lost_head)
    }
    shifted = {i: pair for i, pair in shifted.items() if pair[0] != pair[1]}
    written = [j for j, line in enumerate(new) if line.strip()]
    if not shifted or not written or fold("".join(row.text for row in at.rows)) == fold("".join(new)):
        return False  # nothing but white space changes, so that is what is meant
    edges = [*_witnesses(shifted, new, [(at.head, written[0])]), *_witnesses(shifted, new, [(at.tail, written[-1])])]
    lines = [*_witnesses(shifted, new, pairs)]
    if not edges or not edges[0] or (True not in lines and any(i in shifted for i, _ in pairs)):
        return False
    if False in [*lines, *edges] or _repeats_garbled(at, shifted, new):
        raise UncleanError("new_string indents some lines as old_string has them and others as the file does")
    return True


def _repeats_garbled(at: Rows, shifted: Iterable[int], new: Sequence[str]) -> bool:
    """Say whether a line of words stands in `new`, anywhere, as `old` has it and the file doesn't."""
    garbled = {at.rows[i].text.rstrip() for i in shifted if word_chars(at.rows[i].text)}
    return any(line.rstrip() in garbled for line in new)


def _witnesses(
    shifted: dict[int, tuple[str, str]], new: Sequence[str], pairs: Iterable[tuple[int, int]]
) -> Iterable[bool]:
    """Tell for each pair whether the new line is indented as the file's (True) or as the model's old one (False)."""
    for i, j in pairs:
        mine, file = shifted.get(i, ("", ""))
        indent = indent_of(new[j])
        if mine != file and indent in (mine, file):
            yield indent == file
