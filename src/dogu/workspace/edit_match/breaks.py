"""Where a line break means no more than a blank: inside brackets and tags, before a call in a chain, within prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from dogu.workspace.edit_match.alignment import Place
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.words import is_word

_FARTHEST_CHARS = 5000
_CLOSES = {")": "(", "]": "[", "}": "{"}
_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`")
_JOINING = frozenset("and or not in is if else for from as async await lambda yield return new typeof".split())
_LAST_WORD = re.compile(r"\w+$")
_FIRST_WORD = re.compile(r"\w+")
_LONGEST_WORD = 20
_TAG = re.compile(r"</?[A-Za-z][^<>]*$")
_CLOSED_TAG = re.compile(r"</?[A-Za-z][^<>]*>$")
_OPENED_TAG = re.compile(r"</?[A-Za-z]")
_WORD = re.compile(r"[\"'(*_`]*[^\W_]+(?:[-'’.][^\W_]+)*[\"')*_`]*[.,;:!?]?[\"')]?")
_LITTLE_WORDS = frozenset(
    "a an and are as at be by for from has have in is it its not of on or that the their this to was were which will "
    "with you your".split()
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARKER = re.compile(r"\s*(?:[-*+>|#:=~]|\d+[.)]\s|\w+:\s)")
_FEWEST_WORDS = 4
_FEWEST_CJK = 8


def breaks_agree(place: Place) -> bool:
    """Whether each line break that only one side has means nothing where it is."""
    return all(_means_nothing(place, *found) for found in _one_sided(place))


def _one_sided(place: Place) -> Iterator[tuple[int, int, int, int]]:
    """Yield the positions (in `old` and the text) before and after each gap in which one side only has a break."""
    for left, right in pairwise(place.units):
        ours, theirs = place.old[left.old_end : right.old_start], place.text[left.end : right.start]
        if ("\n" in ours) != ("\n" in theirs):
            yield left.old_end, right.old_start, left.end, right.start


def _means_nothing(place: Place, old_end: int, old_start: int, end: int, start: int) -> bool:
    text, before, after = (
        (place.old, old_end, old_start) if "\n" in place.old[old_end:old_start] else (place.text, end, start)
    )
    line = text[text.rfind("\n", 0, before) + 1 : before]
    stop = text.find("\n", after)
    following = text[after : stop if stop >= 0 else len(text)]
    if _is_within_brackets(place.text, end, start) or _is_within_tags(place.text, end, line, following):
        return True
    deeper = len(indent_of(text[text.rfind("\n", 0, after) + 1 : after] + "x")) > len(indent_of(line))
    if deeper and re.match(r"\??\.[A-Za-z_]|&&|\|\|", following):
        return True
    return text.count("\n", before, after) == 1 and _is_prose(line) and _is_prose(following)


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


def _is_prose(line: str) -> bool:
    """Whether the line, or a part of one, is running text: words that make a sentence, nothing else."""
    stripped = line.strip()
    if _MARKER.match(stripped):
        return False
    if len(_CJK.findall(stripped)) >= _FEWEST_CJK:
        return not re.search(r"[{}\[\]<>=;|$`\\#@]", stripped)
    words = stripped.split()
    if len(words) < _FEWEST_WORDS or not all(map(_WORD.fullmatch, words)):
        return False
    return not _LITTLE_WORDS.isdisjoint(word.strip(".,;:!?()\"'").lower() for word in words)
