"""Words: what white space may never join, split or cut."""

from __future__ import annotations

import re

_LINE_COMMENT = re.compile(r"//|#|--|<!--|/\*")
_COMMENT_MARK = re.compile(r"\s*(?://+!?|#+|--+|;+|%+|/\*+|\*|<!--|\"|'|\.\.|rem|dnl)\s*", re.IGNORECASE)


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
        return True
    return left.isdigit() and right[0] == "." and right[1:2].isdigit()


def word_chars(text: str) -> int:
    """Count the characters that are part of words."""
    return sum(map(is_word, text))


def has_comment(text: str) -> bool:
    """Whether the text holds what begins a comment in some common language."""
    return _LINE_COMMENT.search(text) is not None


def is_comment_mark(text: str) -> bool:
    """Whether the text is, blanks aside, only what begins a comment in some common language."""
    return _COMMENT_MARK.fullmatch(text) is not None
