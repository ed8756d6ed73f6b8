"""The laws on words and signs: what is written anew is what `new_string` brings, in the file's spacing and quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from dogu.workspace.edit_match.alignment import Place, Unit, is_word
from dogu.workspace.edit_match.characters import is_code
from dogu.workspace.edit_match.result import UncleanError
from dogu.workspace.edit_match.rows import shared_lines
from dogu.workspace.edit_match.views import fold, look_alike

_NO_SIGN = re.compile(r"\w+")
_TOKENS = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]+|[^\w\s]")
_OPERATORS = frozenset("=<>!&|:+-*/%^?")
_AROUND_CHARS = 5000
_NEIGHBOURS = re.compile(r"(\S)([ \t]*)(?=(\S))")
_MARGIN_CHARS = 50
_UNSEEN = "\0"
_QUOTES = str.maketrans('"`', "''")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_TRIPLE = re.compile("\"\"\"|'''")
_ESCAPED_QUOTE = re.compile(r"\\[\"'`]")
_QUOTE = re.compile("[\"'`]")
_READ_WITHIN = re.compile(r"[\\`]|\$[\w{(]|#\{|(?<!\w)@[\w{$]")  # by some language, within some of its quotes
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")


def check_tokens(place: Place, new: str, before: str, after: str) -> None:
    """The words and signs that come and go are those that the model's strings add and take away; a quote is a quote,
    and a word that `old_string` has otherwise than the file is the file's.
    """
    old, new = _around_changes(place.old, new)
    before, after = _around_changes(before, after)
    words = dict(place.words)
    brought = _tokens(new) - _tokens(old)
    if any(wrong in brought and re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", place.text) for wrong in words):
        raise UncleanError("a new line has a word that the file has so, and otherwise where old_string has it")
    asked, made = _tokens(new, words), _tokens(after)
    asked.subtract(_tokens(old, words))
    made.subtract(_tokens(before))
    slack: Counter[str] = Counter()
    for unit in place.slips:  # new_string may have it as the file does
        slack.update(_tokens(place.text[unit.start : unit.end]))
        slack.subtract(_tokens(place.old[unit.old_start : unit.old_end]))
    odd = {
        token
        for token in {*asked, *made}
        if not 0 <= asked[token] - made[token] <= max(0, min(slack[token], asked[token]))
        and not 0 <= made[token] - asked[token] <= max(0, min(-slack[token], -asked[token]))
    }
    if any(_NO_SIGN.fullmatch(token) is None for token in odd):
        raise UncleanError("the signs written aren't those that new_string adds and takes away")
    if odd:
        raise UncleanError("the words written aren't those that new_string adds and takes away")


def _shared_head(one: str, other: str) -> int:
    """Return how many characters both texts begin with, found by halves."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _around_changes(one: str, other: str) -> tuple[str, str]:
    """Return both texts without what they begin and end with alike, but for whole words and a margin."""
    head = _word_start(one, max(_shared_head(one, other) - _MARGIN_CHARS, 0))
    backwards = one[head:][::-1], other[head:][::-1]
    tail = _word_start(backwards[0], max(_shared_head(*backwards) - _MARGIN_CHARS, 0))
    return one[head : len(one) - tail], other[head : len(other) - tail]


def _word_start(text: str, at: int) -> int:
    while at and _NO_SIGN.match(text[at - 1]):
        at -= 1
    return at


def _tokens(text: str, words: dict[str, str] | None = None) -> Counter[str]:
    """Count the words and the signs, look-alikes made one; `words` are those to be taken for others."""
    found: list[str] = _TOKENS.findall(look_alike(text).translate(_QUOTES))
    return Counter([words.get(token, token) for token in found] if words else found)


def check_kept(place: Place, new: str, before: str, after: str) -> None:
    """A line that `new` has just as the file has it at the place, white space at its ends aside, stays so, and one that
    it has as `old` does, with a slip, is the file's.
    """
    there, wanted, written = (Counter(map(str.strip, text.split("\n"))) for text in (before, new, after))
    for unit in place.slips:
        ours, theirs = _line_at(place.old, unit.old_start), _line_at(place.text, unit.start)
        if wanted[ours] and (not written[theirs] or written[ours] > there[ours]):
            raise UncleanError("a line that both strings have as the file hasn't would be written so")
    if any(written[line] < min(there[line], wanted[line]) for line in there if _NO_SIGN.search(line)):
        raise UncleanError("a line that new_string has as the file does would change")


def _line_at(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else None].strip()


def check_spacing(place: Place, before: str, after: str) -> None:
    """Where `old_string` has blanks beside an operator, or none, otherwise than the file, lines written don't have them
    so, unless the file around does.
    """
    odd: set[tuple[str, str, bool]] = set()
    for (ours, theirs), (left, right) in zip(place.gaps, pairwise(place.units), strict=True):
        if bool(ours) != bool(theirs) and "\n" not in ours + theirs:
            odd |= _beside(place.old[left.old_end - 1], place.old[right.old_start], blank=bool(ours))
    if odd:
        around = place.text[max(0, place.start - _AROUND_CHARS) : place.end + _AROUND_CHARS]
        odd -= _spacing(around)
    before, after = _around_changes(before, after) if odd else ("", "")
    if any(odd & _spacing(line) for line in {*after.split("\n")} - {*before.split("\n")}):
        raise UncleanError("blanks beside signs are others in the file than in old_string, and so in new lines")


def check_columns(place: Place, before: str, after: str) -> None:
    """Where `old_string` has blanks for tabs between columns, or letters and digits for other forms of them (`m2` for
    `m²`), no line is written anew that has them too.
    """
    gaps = {ours for ours, theirs in place.gaps if "\t" in theirs and "\n" not in theirs and "\t" not in ours}
    units = [(place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]) for unit in place.units]
    forms = {ours for ours, theirs in units if _is_other_form(ours, theirs)}
    if not gaps and not forms:
        return
    ours, theirs = (Counter(text.split("\n")) for text in (before, after))
    gone, brought = "\n".join((ours - theirs).elements()), "\n".join((theirs - ours).elements())
    kept = min((line.strip().count("\t") for line in gone.split("\n")), default=0)
    odd = [line.strip() for line in brought.split("\n") if line.strip().count("\t") < max(kept, 1)]
    if any(gap in line for line in odd for gap in gaps):
        raise UncleanError("old_string has blanks where the file has tabs, and so has a new line")
    if any(brought.count(form) > gone.count(form) for form in forms):
        raise UncleanError("a new line has letters or digits that the file has in another form")


def _is_other_form(ours: str, theirs: str) -> bool:
    """Whether letters or digits of ASCII stand for others that look so (not the full-width ones, which are learnt)."""
    is_wide = len(theirs) == 1 and "\uff00" <= theirs <= "\uffef"
    return ours != theirs and ours.isascii() and ours.isalnum() and not is_wide and look_alike(theirs) == ours


def _spacing(text: str) -> set[tuple[str, str, bool]]:
    found = {(match[1], match[3], bool(match[2])) for match in _NEIGHBOURS.finditer(text)}
    return {beside for left, right, blank in found for beside in _beside(left, right, blank=blank)}


def _beside(left: str, right: str, *, blank: bool) -> set[tuple[str, str, bool]]:
    """Return what a gap lies between, words made one; nothing for a gap without an operator beside it."""
    one, other = ("" if is_word(char) else char for char in (left, right))
    return {(one, other, blank)} if _OPERATORS & {one, other} else set()


def check_signs(place: Place, new: str, before: str, after: str) -> None:
    """A quote or hyphen that stands for another sign of the file at the place is written nowhere anew as the model has
    it: it would be garbled there, too. An apostrophe is no quote, nor is one beside an escaped one; a hyphen counts
    in a statement's strings alone, beside such characters. Where `new` has a line's quotes as the file does, and `old`
    hasn't, all its quotes are meant as they are.
    """
    garbled = {sign for unit in place.units for sign in _garbled_signs(place, unit)}
    if not garbled:
        return
    are_meant = _has_the_files_quotes(place.old, new, before)
    _check_quotes(place, new, before, after, are_meant=are_meant)
    garbled = {sign for sign in garbled if sign[1]} if are_meant else garbled
    ours, theirs = (Counter(text.split("\n")) for text in (before, after))
    gone, brought = (_signs(lines, garbled) for lines in (ours - theirs, theirs - ours))
    if any(brought[sign] > gone[sign] for sign in garbled):
        raise UncleanError("a new line has quotes or hyphens that the file has otherwise where old_string has them")


def _has_the_files_quotes(old: str, new: str, before: str) -> bool:
    """Whether a line of `new` is one of the file, and one of `old` but for the kind of its quotes."""
    ours, theirs, there = ({line.strip() for line in text.split("\n")} for text in (old, new, before))
    styled = {line.translate(_QUOTES) for line in ours - there}
    return any(line.translate(_QUOTES) in styled for line in (theirs & there) - ours)


def _check_quotes(place: Place, new: str, before: str, after: str, *, are_meant: bool) -> None:
    """Quotes of new lines that aren't written as `new` has them are so throughout, where most of the file has them so:
    two kinds stay two, one stays one, what opens no string stays, and no string may come to mean something else, as
    one with a variable in it would.
    """
    known = {line.strip() for line in before.split("\n")}
    sent, written = ([line.strip() for line in text.split("\n")] for text in (new, after))
    kinds: set[tuple[str, str]] = set()
    is_odd = False
    for i, j in shared_lines(*([fold(line).translate(_QUOTES) for line in lines] for lines in (sent, written))):
        if written[j] not in known:
            both = [*zip(_strings(sent[i]), _strings(written[j]), strict=False)]
            kinds |= {(one[0], other[0]) for one, other in both if one[0] != other[0] or _is_plain(one)}
            is_odd = is_odd or any(one[0] != other[0] and _READ_WITHIN.search(one) for one, other in both)
            ours, theirs = _QUOTE.findall(sent[i]), _QUOTE.findall(written[j])
            is_odd = is_odd or (ours != theirs and _is_odd(sent[i], written[j], are_meant=are_meant))
    changed = {pair for pair in kinds if pair[0] != pair[1]}
    usual = Counter(string[0] for string in _strings(place.text) if _is_plain(string))
    is_mixed = changed and not len(kinds) == len({one for one, _ in kinds}) == len({other for _, other in kinds})
    if is_odd or is_mixed or any(usual[one] > usual[other] for one, other in changed):
        raise UncleanError("a new line's quotes can't be told: the file has them in another style")


def _is_odd(sent: str, written: str, *, are_meant: bool) -> bool:
    """Whether a line's quotes aren't only those of a style: what is around strings differs, or what is in them does."""
    within = [[one[1:-1] for one in _strings(line)] for line in (sent, written)]
    outside = [_QUOTE.findall(_STRING.sub("", _APOSTROPHE.sub("", line))) for line in (sent, written)]
    triple = [_TRIPLE.findall(line) for line in (sent, written)]
    return are_meant or within[0] != within[1] or outside[0] != outside[1] or triple[0] != triple[1]


def _strings(text: str) -> list[str]:
    """Return the strings in quotes, with these."""
    return _STRING.findall(_APOSTROPHE.sub(_UNSEEN, text))


def _is_plain(string: str) -> bool:
    """Whether a string has no other quotes within, so that it could have others around it."""
    return _UNSEEN not in string and len({*_QUOTE.findall(string)}) == 1


def _garbled_signs(place: Place, unit: Unit) -> Iterator[tuple[str, str]]:
    ours, theirs = place.old[unit.old_start : unit.old_end], place.text[unit.start : unit.end]
    if ours == theirs:
        return
    if ours == "-" and theirs != "-":
        yield "-", _beside_sign(place.old, unit.old_start)
    mine, file = _QUOTE.findall(ours), _QUOTE.findall(theirs)
    if len(mine) == len(file):
        yield from ((one, "") for one, other in zip(mine, file, strict=True) if one != other)


def _signs(lines: Counter[str], garbled: set[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Count the signs of the lines that are among those garbled."""
    found: Counter[tuple[str, str]] = Counter()
    for line, times in lines.items():
        quotes = "" if _ESCAPED_QUOTE.search(line) else _APOSTROPHE.sub("", line)
        for sign, beside in garbled:
            text = " ".join(_STRING.findall(line)) if is_code(line) else ""  # text gets its own elsewhere
            hyphens = (1 for at, char in enumerate(text) if char == sign and _beside_sign(text, at) == beside)
            found[sign, beside] += times * (sum(hyphens) if beside else quotes.count(sign))
    return found


def _beside_sign(text: str, at: int) -> str:
    """Return what is on both sides of a sign: a word, a blank or a line's end, another sign."""
    beside = (text[max(at - 1, 0) : at], text[at + 1 : at + 2])
    return "".join("a" if char and is_word(char) else char.strip() or " " for char in beside)
