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
    """Whether the indentation of `new` is the file's, where `old` has another."""
    shifted = {
        i: (indent_of(row.text), at.file_indent(i))
        for i, row in enumerate(at.rows)
        if row.units and at.begins_line(i) and not (i == at.head and lost_head)
    }
    shifted = {i: pair for i, pair in shifted.items() if pair[0] != pair[1]}
    written = [j for j, line in enumerate(new) if line.strip()]
    if not shifted or not written or fold("".join(row.text for row in at.rows)) == fold("".join(new)):
        return False  # nothing but white space changes, so that is what is meant
    edges = {*_witnesses(shifted, new, [(at.head, written[0])]), *_base_witness(at, new, lost_head=lost_head)}
    lines = [*_witnesses(shifted, new, [(at.tail, written[-1]), *pairs])]
    if edges == {False} or (True not in lines and any(i in shifted for i, _ in pairs)):
        return False
    contradicted = False in lines or False in edges or _has_garbled(at, shifted, new)
    if contradicted and True in edges:
        raise UncleanError("new_string indents some lines as old_string has them and others as the file does")
    return bool(edges or lines) and not contradicted


def _base_witness(at: Rows, new: Sequence[str], *, lost_head: bool) -> Iterable[bool]:
    """Whether the shallowest line of `new` is as deep as the file's shallowest (True) or as that of `old`."""
    pairs = at.indentations()[lost_head:]
    mine, file = (min((pair[side] for pair in pairs), key=len, default="") for side in (0, 1))
    base = min((indent_of(line) for line in new[lost_head:] if line.strip()), key=len, default="")
    if mine != file and base in (mine, file):
        yield base == file


def _has_garbled(at: Rows, shifted: dict[int, tuple[str, str]], new: Sequence[str]) -> bool:
    """Whether `new` has what only `old` has: a line of words as it is there, or an indentation."""
    garbled = {at.rows[i].text.rstrip() for i in shifted if word_chars(at.rows[i].text)}
    indents = {mine for mine, _ in shifted.values()} - {file for _, file in at.indentations()}
    return any(line.rstrip() in garbled or (line.strip() and indent_of(line) in indents) for line in new)


def _witnesses(
    shifted: dict[int, tuple[str, str]], new: Sequence[str], pairs: Iterable[tuple[int, int]]
) -> Iterable[bool]:
    """Tell for each pair whether the new line is indented as the file's (True) or as the model's old one (False)."""
    for i, j in pairs:
        mine, file = shifted.get(i, ("", ""))
        indent = indent_of(new[j])
        if mine != file and indent in (mine, file):
            yield indent == file
