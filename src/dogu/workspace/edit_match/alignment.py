"""Which character of the file each character of `old` stands for, and where white space may differ between them.

White space never joins, splits or cuts a word; a line break means no more than a blank only inside brackets and tags,
where a statement goes on, within prose, and in languages whose statements end with a sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from pathlib import PurePath
from typing import NamedTuple
from unicodedata import normalize

from dogu.language import sentence
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.views import fold_clusters

TRAILING = sentence("trailing blanks")
_LINE_COMMENT = re.compile(r"(?<!:)//|#|(?<![\w-])--|<!--|/\*")
_COMMENT_MARK = re.compile(r"\s*(?://+!?|#+|--+|;+|%+|/\*+|\*|<!--|\"|'|\.\.|rem|dnl)\s*", re.IGNORECASE)


_WORD_RUNS = re.compile(r"\w+")
_ASSIGNED = re.compile(r"[ \t]*(?:export )?\w+=\Z")


def is_word(char: str) -> bool:
    """Whether the character is part of a word (letters, digits, underscore, marks)."""
    return char.isalnum() or char == "_"


def is_spaced(char: str) -> bool:
    """Whether the character belongs to a script that puts spaces between words (CJK ideographs and kana don't)."""
    return not (
        "\u2e80" <= char <= "\ua4cf"
        or "\uac00" <= char <= "\ud7af"
        or "\uf900" <= char <= "\ufaff"
        or "\uff00" <= char <= "\uffef"
        or char >= "\U00020000"
    )


def joined(left: str, right: str) -> bool:
    """Whether the character `left` and the text `right` that follows are one word or one number."""
    if not left or not right:
        return False
    if is_word(left) and is_word(right[0]):
        return is_spaced(left) or is_spaced(right[0])
    return left.isdigit() and right[0] == "." and right[1:2].isdigit()


def word_chars(text: str) -> int:
    """Count the characters that are part of words."""
    return sum(map(len, _WORD_RUNS.findall(text)))


def opened(text: str) -> int:
    """Return how many brackets more are opened than closed."""
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def has_comment(text: str) -> bool:
    """Whether the text holds what begins a comment in some common language."""
    return _LINE_COMMENT.search(text) is not None


def is_comment_mark(text: str) -> bool:
    """Whether the text is, blanks aside, only what begins a comment in some common language."""
    return _COMMENT_MARK.fullmatch(text) is not None


_RUN = re.compile(r"\S+")
_LONG_CHARS = 20_000  # character by character it takes long


class Unit(NamedTuple):
    """`old[old_start:old_end]` stands for `text[start:end]`; half-open, never empty, ascending on both sides."""

    old_start: int
    old_end: int
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """A stretch of the file that `old` means, aligned: between two units lies white space or nothing on both sides.

    Only the near stage gives the rest: `slips` are the units whose two sides differ in words, `fixed` those of them
    whose line may not change, `words` the model's misspelt words with the file's.
    """

    text: str
    old: str
    units: list[Unit]
    slips: frozenset[Unit] = frozenset()
    fixed: frozenset[Unit] = frozenset()
    words: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> int:
        """Where the first aligned character lies in the text."""
        return self.units[0].start

    @property
    def end(self) -> int:
        """Where the last aligned character ends in the text."""
        return self.units[-1].end

    @cached_property
    def gaps(self) -> list[tuple[str, str]]:
        """What lies between each two neighbouring units, in `old` and in the text."""
        old, text = self.old, self.text
        return [(old[one[1] : other[0]], text[one[3] : other[2]]) for one, other in pairwise(self.units)]


def align_equal(old: str, start: int) -> list[Unit]:
    """Align `old` with the stretch of a text at `start` that equals it."""
    return [Unit(i, i + 1, start + i, start + i + 1) for i, char in enumerate(old) if not char.isspace()]


def align_folded(text: str, old: str, start: int, end: int) -> list[Unit]:
    """Align `old` with `text[start:end]`, whose folded views are equal; empty when they aren't."""
    is_ascii = old.isascii() and text[start:end].isascii()
    runs = _align_runs(text, old, start, end) if is_ascii or len(old) > _LONG_CHARS else []
    if is_ascii or runs:
        return runs
    folded_old, old_starts, old_ends = fold_clusters(old)
    folded, starts, ends = fold_clusters(text[start:end])
    if folded_old != folded:
        return []
    units: list[Unit] = []
    first = 0
    for after in range(1, len(folded) + 1):
        inside = after < len(folded) and (
            old_starts[after] == old_starts[after - 1] or starts[after] == starts[after - 1]
        )
        if not inside:
            units.append(Unit(old_starts[first], old_ends[after - 1], start + starts[first], start + ends[after - 1]))
            first = after
    return units


def _align_runs(text: str, old: str, start: int, end: int) -> list[Unit]:
    """Align what differs in white space alone, as all of ASCII does: run by run of what is no white space."""
    if "".join(old.split()) != "".join(text[start:end].split()):
        return []
    units: list[Unit] = []
    theirs = _RUN.finditer(text, start, end)
    at = stop = start
    for run in _RUN.finditer(old):
        old_at, old_stop = run.span()
        while old_at < old_stop:
            if at == stop:
                at, stop = next(theirs).span()
            length = min(old_stop - old_at, stop - at)
            units.append(Unit(old_at, old_at + length, at, at + length))
            old_at, at = old_at + length, at + length
    return units


def singly(units: list[Unit]) -> Iterator[Unit]:
    """Yield units of one character each where they stand for as many."""
    for unit in units:
        if unit.old_end - unit.old_start == unit.end - unit.start:
            for k in range(unit.end - unit.start):
                yield Unit(unit.old_start + k, unit.old_start + k + 1, unit.start + k, unit.start + k + 1)
        else:
            yield unit


def words_agree(place: Place) -> bool:
    """Whether white space lies between the same words, and line breaks where a comment ends, on both sides.

    White space on one side only may stand at signs and at the border of CJK and other writing, never between two
    characters of words.
    """
    known: dict[tuple[bool, int], float] = {}
    for left, right in pairwise(place.units):
        ours, theirs = place.old[left.old_end : right.old_start], place.text[left.end : right.start]
        if ours == theirs:
            continue
        one_side = _has_space(ours) != _has_space(theirs)
        if one_side and _breaks_word(place.text[left.end - 1], place.text[right.start], ours + theirs):
            return False
        if one_side and "\n" not in ours + theirs and _means_something(place.text, left.end, right.start):
            return False
        if ("\n" in ours) != ("\n" in theirs) and _ends_comment(place, left, known):
            return False
    return True


def _has_space(gap: str) -> bool:
    return any(map(str.isspace, gap))


def _means_something(text: str, start: int, end: int) -> bool:
    """Whether a blank between the two means something in some language: before a class of CSS, in an assignment of a
    shell.
    """
    if text[end] == "." and text[end + 1 : end + 2].isalpha() and is_word(text[start - 1]):
        return True
    return text[start - 1] == "=" and _ASSIGNED.search(text, text.rfind("\n", 0, start) + 1, start) is not None


def _breaks_word(left: str, right: str, gap: str) -> bool:
    if not (is_word(left) and is_word(right)):
        return False
    return "\n" in gap or is_spaced(left) == is_spaced(right)


def _ends_comment(place: Place, unit: Unit, known: dict[tuple[bool, int], float]) -> bool:
    """Whether a line break after the unit may be the end of a comment, on either side; `known` are where the first mark
    of each line ends.
    """
    for is_file, text, end in ((True, place.text, unit.end), (False, place.old, unit.old_end)):
        start = text.rfind("\n", 0, end) + 1
        if (is_file, start) not in known:
            stop = text.find("\n", start)
            found = _LINE_COMMENT.search(text, start, stop if stop >= 0 else len(text))
            known[is_file, start] = found.end() if found else inf
        if known[is_file, start] <= end:
            return True
    return False


def differences(place: Place) -> list[str]:
    """Say in words how the file's text differs from `old`, each kind once."""
    found: dict[str, None] = {}
    for unit in place.units:
        ours, theirs = place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]
        if ours != theirs:
            found[_unit_difference(ours, theirs)] = None
    lead = place.old[: place.units[0].old_start]
    theirs = place.text[place.text.rfind("\n", 0, place.start) + 1 : place.start]
    if lead != theirs and not theirs.strip() and (lead or "\n" in place.old.rstrip("\n")):
        found[sentence("indentation")] = None
    for ours, theirs in dict.fromkeys(place.gaps):
        if ours != theirs:
            found[_gap_difference(ours, theirs)] = None
    return list(found)


def _unit_difference(ours: str, theirs: str) -> str:
    if normalize("NFC", ours) == normalize("NFC", theirs):
        return sentence("Unicode normal form")
    if normalize("NFKC", ours) == normalize("NFKC", theirs):
        return sentence("full-width or half-width forms")
    return sentence("typographic quotes") if set(ours + theirs) & set("'\"") else sentence("look-alike characters")


def _gap_difference(ours: str, theirs: str) -> str:
    if not (ours + theirs).isspace():
        return sentence("zero-width characters")
    if ours.count("\n") != theirs.count("\n"):
        return sentence("blank lines") if "\n" in ours and "\n" in theirs else sentence("line breaks")
    if "\n" not in ours:
        return sentence("spacing")
    return TRAILING if ours.rpartition("\n")[2] == theirs.rpartition("\n")[2] else sentence("indentation")


_FARTHEST_CHARS = 5000
_CLOSES = {")": "(", "]": "[", "}": "{"}
_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`")
_JOINING = frozenset("and or not in is if else for from as async await lambda yield return new typeof".split())
_LAST_WORD = re.compile(r"\w+$")
_FIRST_WORD = re.compile(r"\w+")
_LONGEST_WORD = 20
_TAG = re.compile(r"(?<!<)</?[A-Za-z][^<>]*$")
_CLOSED_TAG = re.compile(r"</?[A-Za-z][^<>]*>$")
_OPENED_TAG = re.compile(r"</?[A-Za-z]")
_WORD = re.compile(r"[\"'(*_`:]*[^\W_]+(?:[-'’.][^\W_]+)*[\"')*_`]*[.,;:!?]?[\"')]?")
_LITTLE_WORDS = frozenset(
    "a an and are as at be by for from has have in is it its not of on or that the their this to was were which will "
    "with you your".split()
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAST_PLAIN = 0.6
_FREE_FORM = frozenset(  # where statements end with a sign, and a line break is no more than a blank
    ".c .h .cc .cpp .cxx .hh .hpp .cs .java .rs .php .css .scss .less .sql .dart .proto .glsl".split()
)
_MARKUP = frozenset(".html .htm .xhtml .xml .svg .vue .svelte .astro .jsx .tsx .erb .hbs .ejs".split())
PROSE = frozenset(".md .mdx .markdown .rst .adoc .tex .txt".split())
_TAG_END = re.compile(r"[\w\s\"'}/]>$")
_CALL = re.compile(r"\s*(?:\??\.[A-Za-z_]|&&|\|\|)")
_HEAD = re.compile(r"\)$|(?<![\w$])(?:else|try|do|finally|(?:class|struct|enum|interface|namespace)\s.*\w)$")
_OPERATOR_BEHIND = re.compile(r"\s(?:=|=>|->|\|\||&&|\?|:|\+|:=)$")
_MARKER = re.compile(r"\s*(?:import\s|from\s\S+\simport\s|`{3}|~{3}|[-*+>|#:=~]|\d+[.)]\s|\w+:\s)")
_FEWEST_WORDS = 4
_FEWEST_CJK = 8


def breaks_agree(place: Place, path: str = "") -> bool:
    """Whether each line break that only one side has means nothing where it is, in what `path` says it is."""
    line_start = place.text.rfind("\n", 0, place.start) + 1
    is_cut = bool(place.text[line_start : place.start].strip())
    kind = PurePath(path).suffix.lower()
    return all(
        _means_nothing(place, found, kind) and not (is_cut and not word_chars(place.text[place.start : found[2]]))
        for found in _one_sided(place)
    )


def _one_sided(place: Place) -> Iterator[tuple[int, int, int, int]]:
    """Yield the positions (in `old` and the text) before and after each gap in which one side only has a break."""
    for left, right in pairwise(place.units):
        ours, theirs = place.old[left.old_end : right.old_start], place.text[left.end : right.start]
        if ("\n" in ours) != ("\n" in theirs):
            yield left.old_end, right.old_start, left.end, right.start


def _means_nothing(place: Place, gap: tuple[int, int, int, int], kind: str) -> bool:
    old_end, old_start, end, start = gap
    if kind in _FREE_FORM or _is_within_brackets(place.text, end, start):
        return True
    text, before, after = (
        (place.old, old_end, old_start) if "\n" in place.old[old_end:old_start] else (place.text, end, start)
    )
    line = text[max(text.rfind("\n", 0, before) + 1, before - _FARTHEST_CHARS) : before]
    stop = text.find("\n", after, after + _FARTHEST_CHARS)
    following = text[after : stop if stop >= 0 else after + _FARTHEST_CHARS]
    if _is_within_tags(place.text, end, line, following) or (kind in _MARKUP and _is_beside_tag(line, following)):
        return True
    if _goes_on(line, following, text[text.rfind("\n", 0, after) + 1 : after]):
        return True
    is_text = kind in PROSE
    is_prose = _is_prose(line, is_text=is_text), _is_prose(following, is_text=is_text)
    if text.count("\n", before, after) > 1 or not any(is_prose):
        return False
    return all(is_prose) or _ends_prose(following if is_prose[0] else line, is_text=is_text)


def _goes_on(line: str, following: str, indent: str) -> bool:
    """Whether no statement ends between a line and what follows it, `indent` deep: before a call in a chain or the
    brace of a block's head, behind an operator.
    """
    if following[:1] == "{" and _HEAD.search(line):
        return True
    deeper = len(indent) > len(indent_of(line))
    if deeper and _OPERATOR_BEHIND.search(line):
        return True
    return (deeper or _CALL.match(line) is not None) and _CALL.match(following) is not None


def _is_within_brackets(text: str, end: int, start: int) -> bool:
    """Whether a bracket is open there in which statements can't stand, or a sign that ends none is beside it."""
    opened = _open_bracket(text[max(0, end - _FARTHEST_CHARS) : end])
    if opened != "{":
        before, after = text[max(0, end - _LONGEST_WORD) : end], text[start : start + _LONGEST_WORD]
        return opened != "" and _belong_together(before, after)
    return text[end - 1] in "{,;([" or text[start] in "})]"


def _belong_together(before: str, after: str) -> bool:
    """Whether a sign or a word between them makes one expression of both, so that no list of lines is joined."""
    if not (_is_operand(before[-1]) and _is_operand(after[0])):
        return True
    left, right = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    return (left is not None and left[0] in _JOINING) or (right is not None and right[0] in _JOINING)


def _is_operand(char: str) -> bool:
    return is_word(char) or char in "\"'`"


def _open_bracket(text: str) -> str:
    """Return the innermost bracket open at the end of the text, empty for none; brackets in strings don't count."""
    waiting: list[str] = []
    for char in reversed(_STRINGS.sub("", text)):
        if char in _CLOSES:
            waiting.append(_CLOSES[char])
        elif char in "([{":
            if not waiting:
                return char
            if waiting[-1] == char:
                waiting.pop()
    return ""


def _is_within_tags(text: str, end: int, line: str, following: str) -> bool:
    if _TAG.search(text[max(0, end - _FARTHEST_CHARS) : end]) and line.lstrip()[:1] != "#":
        return True
    first, last = line.lstrip().startswith("<"), following.startswith("<")
    return (first and _CLOSED_TAG.search(line) is not None) or (last and _OPENED_TAG.match(following) is not None)


def _is_beside_tag(line: str, following: str) -> bool:
    """Whether a tag ends before a break, or begins behind it."""
    return _TAG_END.search(line) is not None or _OPENED_TAG.match(following) is not None


def _is_prose(line: str, *, is_text: bool) -> bool:
    """Whether the line, or a part of one, is running text: words that make a sentence, nothing else; in a text there
    may be some markup among them.
    """
    stripped = line.strip()
    if _MARKER.match(stripped):
        return False
    if len(_CJK.findall(stripped)) >= _FEWEST_CJK:
        return not re.search(r"[{}\[\]<>=;|$`\\#@]", stripped)
    words = stripped.split()
    plain = sum(_WORD.fullmatch(word) is not None for word in words)
    if len(words) < _FEWEST_WORDS or plain < (_LEAST_PLAIN if is_text else 1) * len(words):
        return False
    if not all(map(word_chars, words)):
        return False
    return not _LITTLE_WORDS.isdisjoint(word.strip(".,;:!?()\"'").lower() for word in words)


def _ends_prose(line: str, *, is_text: bool) -> bool:
    """Whether a line that is too short to be known for one may be a part of running text: the end of a sentence."""
    words = line.split()
    if _MARKER.match(line.strip()) or len(words) >= _FEWEST_WORDS:
        return False
    return all(map(_WORD.fullmatch, words)) and (is_text or words[-1].rstrip("\"'").endswith((".", "!", "?")))
