"""Slips of the pen: small differences between two lines that leave no doubt that one is meant by the other."""

from __future__ import annotations

import re

from dogu.language import sentence
from dogu.workspace.edit_match.folding import fold

PARAPHRASE = sentence("a comment in other words")

_SHORTEST_WORD = 5
_FEWEST_WORDS = 5
_LEAST_ALIKE_COMMENT = 0.6
_LEAST_ALIKE_PROSE = 0.8
_DIGIT = re.compile(r"\d")
_QUOTES = re.compile("[\"'`]")
_WORDS = re.compile(r"\w+")
_WIDE = re.compile(r"[^\x00-\x7f]+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)", re.IGNORECASE)
_CONTRACTION = re.compile(r"['\u2019](s|re)\b")
_PREPROCESSOR = r"(?:\s*(?:include|define|undef|ifdef|ifndef|endif|elif|pragma)|if|else|line|!)\b"
_COMMENT = re.compile(rf"\s*(?://|#(?!{_PREPROCESSOR})|--\s|<!--|;|%|/\*|\*(?:\s|/|$)|\"\"\"|''')")


def slip_between(ours: str, theirs: str, text: str) -> str:
    """Name the slip that makes the file's line `theirs` the model's `ours`; empty when it is more than one. `text` is
    the file's.
    """
    one, other = fold(ours), fold(theirs)
    if _DIGIT.findall(one) != _DIGIT.findall(other):
        return ""
    if one.casefold() == other.casefold():
        return "" if _names_another(ours, theirs, text) else sentence("letter case")
    if _QUOTES.sub("'", one) == _QUOTES.sub("'", other):
        return sentence("the style of quotes")
    if one.rstrip(",;.:") == other.rstrip(",;.:"):
        return sentence("a sign at the end of a line")
    if typing_error(ours, theirs, text):
        return sentence("a typing error")
    return PARAPHRASE if _is_paraphrase(ours.strip(), theirs.strip()) else ""


def _names_another(ours: str, theirs: str, text: str) -> bool:
    """Whether a word that differs is another one that the file has."""
    differing = set(_WORDS.findall(ours)) - set(_WORDS.findall(theirs))
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in differing)


def typing_error(ours: str, theirs: str, text: str) -> tuple[str, str] | None:
    """Return the model's word and the file's when one word is all that differs, by one letter more, less, other or
    two swapped.

    The file's word has five letters or more, and the model's is nowhere in the file.
    """
    from rapidfuzz.distance import OSA

    if _WORDS.sub("", fold(ours)) != _WORDS.sub("", fold(theirs)):
        return None
    one, other = _WORDS.findall(ours), _WORDS.findall(theirs)
    if len(one) != len(other):
        return None
    differing = [(wrong, right) for wrong, right in zip(one, other, strict=True) if wrong != right]
    if len(differing) != 1:
        return None
    wrong, right = differing[0]
    plural = wrong.removesuffix("s") == right.removesuffix("s")  # a name of another thing more often than a slip
    if plural or len(right) < _SHORTEST_WORD or OSA.distance(wrong, right, score_cutoff=1) != 1:
        return None
    known = wrong in text and re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", text)
    return None if known else (wrong, right)


def is_whole_comment(line: str) -> bool:
    """Whether the line is a comment that opens and closes nothing beyond itself."""
    if not _COMMENT.match(line) or line.count('"""') % 2 or line.count("'''") % 2:
        return False
    return line.count("/*") == line.count("*/") and line.count("<!--") == line.count("-->")


def _is_paraphrase(ours: str, theirs: str) -> bool:
    from rapidfuzz.distance import Indel

    if _COMMENT.match(ours) and _COMMENT.match(theirs):
        return Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_COMMENT
    if len(ours.split()) > _FEWEST_WORDS and _plain_words(ours) == _plain_words(theirs):
        return True
    one, other = _WIDE.sub("\x00", ours), _WIDE.sub("\x00", theirs)
    return "\x00" in one and one == other and Indel.normalized_similarity(ours, theirs) >= _LEAST_ALIKE_PROSE


def _plain_words(line: str) -> str:
    """Return the line without articles, contractions written out, so that two ways to say it are equal."""
    written = _CONTRACTION.sub(lambda match: " is" if match[1] == "s" else " are", line)
    return fold(_ARTICLE.sub("", written))
