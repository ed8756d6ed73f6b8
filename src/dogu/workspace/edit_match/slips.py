"""What a slip is: how a model may have a line of the file otherwise, and what makes it another line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import OSA, Indel

from dogu.language import sentence
from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.alignment import opened, word_chars
from dogu.workspace.edit_match.views import fold, look_alike

PARAPHRASE = sentence("a comment in other words")
LEFT_OUT = sentence("a comment left out")
OTHERWISE = sentence("another word where nothing changes")
LETTER_CASE = sentence("letter case")
END_SIGN = sentence("a sign at the end of a line")

_SHORTEST_WORD = 5
_SHORTEST_OF_OTHERS = 8
_ENDINGS = ("s", "d", "r", "y")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^A-Za-z_]+")
_FEWEST_WORDS = 5
_NEGATING = frozenset("不没沒無无非未否莫勿")
_LEAST_ALIKE_COMMENT = 0.6
_LEAST_ALIKE_PROSE = 0.8
_ESCAPED = re.compile(r"\\[\"'`$\\]|&\w+;")
_DIGIT = re.compile(r"\d")
_QUOTES = re.compile("[\"'`]")
WORDS = re.compile(r"\w+")
_WIDE = re.compile(r"[^\x00-\x7f]+")
BARE = re.compile("\\s*[^\\s@#<].*[\\w)\\]\"'`]$")  # no decorator, directive or tag: these end so
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)", re.IGNORECASE)
_CONTRACTION = re.compile(r"['\u2019](s|re)\b")
_COMMENT_BEHIND = re.compile(r"\s+(?:#|//|--|/\*.*\*/$|<!--.*-->$)\s?")
_PREPROCESSOR = r"(?:\s*(?:include|define|undef|ifdef|ifndef|endif|elif|pragma)|if|else|line|!)\b"
# A mark that begins names in some languages (`#id`, `#private`, `%element`) has a blank behind it.
_COMMENT = re.compile(
    rf"\s*(?://|#+(?!{_PREPROCESSOR})(?=\s|!|$)|--\s|<!--|;+(?=\s|$)|%+(?=\s|$)|/\*|\*(?:\s|/|$)|\"\"\"|''')"
)


def slip_between(ours: str, theirs: str, text: str) -> str:
    """Name the slip that makes the file's line `theirs` the model's `ours`; empty when it is more than one. `text` is
    the file's.
    """
    one, other = fold(ours), fold(theirs)
    if _ESCAPED.search(ours) and not _ESCAPED.search(theirs):
        return ""
    if _DIGIT.findall(one) != _DIGIT.findall(other):
        return ""
    if one.casefold() == other.casefold():
        return "" if _names_another(ours, theirs, text) else LETTER_CASE
    if _QUOTES.sub("'", one) == _QUOTES.sub("'", other):
        return sentence("the style of quotes")
    if one.rstrip(",;.:") == other.rstrip(",;.:"):
        return END_SIGN
    if typing_error(ours, theirs, text):
        return sentence("a typing error")
    if is_without_comment(ours, theirs):
        return LEFT_OUT
    return PARAPHRASE if _is_paraphrase(ours.strip(), theirs.strip()) else ""


def is_without_comment(ours: str, theirs: str) -> bool:
    """Whether the file's line is the model's and a comment behind it, which begins outside of quotes."""
    line, rest = ours.strip(), theirs.strip()
    if not rest.startswith(line) or not _COMMENT_BEHIND.match(rest, len(line)):
        return False
    return word_chars(line) > 0 and not any(line.count(quote) % 2 for quote in "\"'`")


def _names_another(ours: str, theirs: str, text: str) -> bool:
    """Whether a word that differs is another one that the file has."""
    differing = set(WORDS.findall(ours)) - set(WORDS.findall(theirs))
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in differing)


def typing_error(ours: str, theirs: str, text: str) -> tuple[str, str] | None:
    """Return the model's word and the file's when one word is all that differs, by one letter more, less, other or
    two swapped.

    The file's word has five letters or more, and the model's is nowhere in the file.
    """
    if WORDS.sub("", fold(ours)) != WORDS.sub("", fold(theirs)):
        return None
    one, other = WORDS.findall(ours), WORDS.findall(theirs)
    if len(one) != len(other):
        return None
    differing = [(wrong, right) for wrong, right in zip(one, other, strict=True) if wrong != right]
    if len(differing) != 1:
        return None
    wrong, right = differing[0]
    if not _is_slip(wrong, right):
        return None
    known = wrong in text and re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", text)
    return None if known else (wrong, right)


def _is_slip(wrong: str, right: str) -> bool:
    """Whether one longish word is the other but for a letter: no ending (`item`, `items`), and no other letter in a
    short part of it (`get`, `set`; `upload`, `unload`), for these make names of other things.
    """
    if len(right) < _SHORTEST_WORD or OSA.distance(wrong, right, score_cutoff=1) != 1:
        return False
    if not _NEGATING.isdisjoint({*wrong} ^ {*right}):
        return False
    one, other = _PARTS.findall(wrong), _PARTS.findall(right)
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) == len(other) and len(differing) == 1:
        wrong, right = differing[0]
    if len(wrong) != len(right):
        return not any(wrong in (right + end, right.removesuffix(end)) for end in _ENDINGS)
    return sorted(wrong) == sorted(right) or len(right) >= _SHORTEST_OF_OTHERS


def is_whole_comment(line: str) -> bool:
    """Whether the line is a comment that opens and closes nothing beyond itself."""
    if not _COMMENT.match(line) or line.count('"""') % 2 or line.count("'''") % 2:
        return False
    return line.count("/*") == line.count("*/") and line.count("<!--") == line.count("-->")


def _is_paraphrase(ours: str, theirs: str) -> bool:
    if _COMMENT.match(ours) and _COMMENT.match(theirs):
        return Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_COMMENT
    if len(ours.split()) > _FEWEST_WORDS and _plain_words(ours) == _plain_words(theirs):
        return True
    one, other = _WIDE.sub("\x00", ours), _WIDE.sub("\x00", theirs)
    if [*filter(_NEGATING.__contains__, ours)] != [*filter(_NEGATING.__contains__, theirs)]:
        return False
    return "\x00" in one and one == other and Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_PROSE


def _plain_words(line: str) -> str:
    """Return the line without articles, contractions written out, so that two ways to say it are equal."""
    written = _CONTRACTION.sub(lambda match: " is" if match[1] == "s" else " are", line)
    return fold(_ARTICLE.sub("", written))


# What a model has otherwise in a line that it only quotes says little, but for what turns a meaning round.
_TELLING = re.compile(r"[\d!=<>+*/%&|^~?$@#\\'-]")
_UNUSUAL = re.compile(r"[^\w\s\x00-\x7f]")
_LONE_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
_SIGNS = re.compile(r"[\w\s]+")
_NEGATIONS = frozenset("not no non never none null nil undefined true false without neither nor un".split())
_MOST_SIGNS = 4
_MOST_LETTERS = 2
_FEWEST_SHARED = 3


def are_alike(ours: str, theirs: str) -> bool:
    """Whether two lines are more alike than not, white space aside."""
    return Indel.normalized_similarity(fold(ours), fold(theirs)) >= _LEAST_ALIKE_COMMENT


class Difference(NamedTuple):
    """How a line differs from one that it resembles: by a word on either side or on both, or by signs alone (both
    empty).

    `words` of both are the same, and `share` of the words' characters. `is_close` says that the one word is the other
    with something lost, added or mistyped. `spots` are where it is so: the model's word and the file's, each with those
    beside it.
    """

    ours: str
    theirs: str
    words: int
    share: float
    is_close: bool
    spots: tuple[tuple[str, str], ...]


def difference(ours: str, theirs: str) -> Difference | None:
    """Return how the model's line differs from the file's; None where it is by more than a word and a few brackets and
    stops: numbers, operators, quotes and negations are the same in lines that say the same.
    """
    one, other = (_LONE_POINT.sub("0.", _QUOTES.sub("'", look_alike(line))) for line in (ours, theirs))
    if _TELLING.findall(one) != _TELLING.findall(other):
        return None
    if not Counter(_UNUSUAL.findall(one)) <= Counter(_UNUSUAL.findall(other)):
        return None
    if Indel.distance(_SIGNS.sub("", one), _SIGNS.sub("", other)) > _MOST_SIGNS:
        return None
    mine, file = WORDS.findall(one), WORDS.findall(other)
    changes = [*changed_ranges(mine, file)]
    spots = {
        (" ".join(mine[each.old_start : each.old_end]), " ".join(file[each.new_start : each.new_end]))
        for each in changes
    }
    wrong, right = next(iter(spots), ("", ""))
    if len(spots) > 1 or " " in wrong + right or not _NEGATIONS.isdisjoint((wrong.lower(), right.lower())):
        return None
    is_close = not (wrong and right) or _is_close(wrong, right)
    if not is_close and not (_is_simple(wrong) and _is_simple(right) and _is_near(wrong, right)):
        return None
    same = len(mine) - sum(each.old_end - each.old_start for each in changes)
    share = Indel.normalized_similarity(" ".join(mine), " ".join(file))
    around = (
        (
            " ".join(mine[max(each.old_start - 1, 0) : each.old_end + 1]),
            " ".join(file[max(each.new_start - 1, 0) : each.new_end + 1]),
        )
        for each in changes
    )
    return Difference(wrong, right, same, share, is_close, tuple(around))


def _is_simple(word: str) -> bool:
    """Whether the word is one, rather than a name of several: names like `part_a` and `part_b` come together."""
    return len(_PARTS.findall(word)) == 1 and "_" not in word


def _is_near(wrong: str, right: str) -> bool:
    """Whether two words begin alike and differ by a letter or two."""
    return wrong[:2] == right[:2] and OSA.distance(wrong, right) <= _MOST_LETTERS


def _is_close(wrong: str, right: str) -> bool:
    """Whether one word is the other in other case, or but for a letter, or without its end, as a whole or in one of its
    parts; what a word begins with may turn it round (`unlock`).
    """
    if wrong.lower() == right.lower():
        return True
    one, other = (_PARTS.findall(word) for word in (wrong, right))
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    pairs = [(wrong, right), *(differing if len(one) == len(other) and len(differing) == 1 else ())]
    return _is_slip(wrong, right) or any(
        len(short) >= _FEWEST_SHARED and long.startswith(short) and long.isascii()
        for short, long in (sorted(pair, key=len) for pair in pairs)
    )


# The same lines, told otherwise: in another order, with other line breaks, spelt in another way.
_BLANKS = re.compile(r"(\S)[ \t]+(?=(\S))")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_MARK = re.compile(r"\A[ \t]*(?://[/!]?|#+|--|;+|%+|\*(?!\*)|>)(?=[ \t]|$)")
_BULLET = re.compile(r"\A[ \t]*[-*+][ \t]")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_LITTLE_SIGNS = re.compile(r"[(){};,]")
_QUALIFIER = re.compile(r"(?:[A-Za-z_]\w*(?:::|\.))+")
_FEWEST_PERMUTED_WORDS = 4
_FEWEST_WRAPPED_TOKENS = 6
_FEWEST_SPELT_CHARS = 15
TELLING = re.compile(r"\d|[!<>=]=|\b(?:not|no|non|never|true|false|null|nil|none|undefined)\b", re.IGNORECASE)


def tokens_of(text: str) -> list[str]:
    """Return the words and the signs of a text."""
    return _TOKENS.findall(text)


def steps_between(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield which parts are equal, and which give way to which, with the most that can be equal."""
    for step in Indel.opcodes(ours, theirs):
        yield step.tag == "equal", step.src_start, step.src_end, step.dest_start, step.dest_end


def comment_mark(line: str) -> str:
    """Return the mark that a line of a comment or a quotation begins with, empty for none."""
    found = _MARK.match(line)
    return found[0].strip() if found else ""


def is_commented(line: str) -> bool:
    """Whether a line is behind the mark of a comment that is no bullet and no quotation."""
    return comment_mark(line) not in ("", "*", ">")


def are_permuted(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether lines have the words and signs of as many others in another order."""
    mine, file = (tokens_of("\n".join(lines)) for lines in (ours, theirs))
    words = sum(WORDS.fullmatch(token) is not None for token in mine)
    return len(ours) == len(theirs) and words >= _FEWEST_PERMUTED_WORDS and Counter(mine) == Counter(file)


def are_wrapped(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether lines are others with other line breaks, all behind the same mark."""
    mine, file = (tokens_of(" ".join(_MARK.sub("", line) for line in lines)) for lines in (ours, theirs))
    is_same = len(mine) >= _FEWEST_WRAPPED_TOKENS and mine == file
    return is_same and len({comment_mark(line) for lines in (ours, theirs) for line in lines}) == 1


def are_spelt_so(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether lines are others but for bullets, hyphens, the kind of quotes, the brackets and stops of code, or the
    qualifiers of names; where there are more or fewer of them, what one side opens it closes, too.
    """
    if len(ours) != len(theirs) and opened("\n".join(ours)):
        return False
    mine, file = (_spelt(lines) for lines in (ours, theirs))
    return word_chars("".join(mine)) >= _FEWEST_SPELT_CHARS and _differ_by_qualifiers(mine, file)


def _spelt(lines: Sequence[str]) -> list[str]:
    plain = "\n".join(_BULLET.sub("- ", line) for line in lines)
    return tokens_of(_LITTLE_SIGNS.sub(" ", _HYPHEN.sub("", _QUOTES.sub("'", plain))))


def _differ_by_qualifiers(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether both are the same but for qualifiers before names, of which one side has none."""
    for is_equal, i1, i2, j1, j2 in steps_between(ours, theirs):
        part, after = (ours[i1:i2], ours[i2:]) if i2 > i1 else (theirs[j1:j2], theirs[j2:])
        if not is_equal and not (part and _QUALIFIER.fullmatch("".join(part)) and after and after[0].isidentifier()):
            return False
    return True


def has_spot(ours: str, theirs: str, text: str) -> bool:
    """Whether a text has a spot where words differ as the first line has it, with what is beside it."""
    mine, file = tokens_of(ours), tokens_of(theirs)
    written = f" {' '.join(tokens_of(text))} "
    for is_equal, i1, i2, j1, j2 in steps_between(mine, file):
        spot = f" {' '.join(mine[max(i1 - 1, 0) : i2 + 1])} "
        if not is_equal and word_chars("".join(mine[i1:i2] + file[j1:j2])) and spot in written:
            return True
    return False


def spaced_otherwise(ours: str, theirs: str) -> set[str] | None:
    """Return the signs that blanks are beside on one side only, where lines differ by blanks alone; None else.

    A point is none of them: blanks beside it are a slip, and no style.
    """
    if ours.split() == theirs.split() or "".join(ours.split()) != "".join(theirs.split()):
        return None
    return {sign for sign, _ in _spaced(ours) ^ _spaced(theirs)} - {"."}


def _spaced(line: str) -> set[tuple[str, int]]:
    """Return the signs of a line that a blank is beside, each with the number of characters before that blank."""
    found = ((len("".join(line[: match.start()].split())), match) for match in _BLANKS.finditer(line.strip()))
    return {(sign, at) for at, match in found for sign in match.groups() if not word_chars(sign)}


_STYLE = re.compile(r"[\s;,\"'`\\]+")
_QUOTING = re.compile(r"[\"'`\\]")
_END_SIGNS = ";,"


def may_spread(ours: str, theirs: str, brought: Sequence[str], known: set[str]) -> bool:
    """Whether new lines may have the style in which `ours` differs from the file: quotes, signs at the end, the letter
    case of comments. `known` are the signs of lines that are just so.
    """
    if not brought or _STYLE.sub("", fold(ours)).casefold() != _STYLE.sub("", fold(theirs)).casefold():
        return False
    mine, file = (Counter(_QUOTING.findall(text)) for text in (ours, theirs))
    added, lost = {*(mine - file)}, {*(file - mine)}
    if not (lost or added) <= known and any(char in line for char in added | lost for line in brought):
        return True
    ends = [sorted(line.rstrip()[-1:] for line in text.split("\n") if line.strip()) for text in (ours, theirs)]
    if (
        ends[0] != ends[1]
        and any(sign in part for sign in _END_SIGNS for part in ends)
        and any(map(BARE.match, brought))
    ):
        return True
    is_case = ours.casefold().split() == theirs.casefold().split()
    return is_case and is_whole_comment(ours) and any(map(is_whole_comment, brought))
