"""International host names that a reader could take for others."""

from __future__ import annotations

import unicodedata

from dogu.workspace.web.url import WebUrl

_LIKE_LATIN = frozenset(
    "асԁеһіјӏорԗԛѕԝхуъьҽпгѵѡвкмнтғҝ"  # Cyrillic
    "αβγεικνορτυχωϲ"  # Greek
    "օսցհոզքյ"  # Armenian
)
_ALPHABETS = frozenset(("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN"))


def shown_url(url: WebUrl) -> str:
    """Return the address for a person: an international host in both its forms."""
    return url.text if url.name == url.host else f"{url.text} ({url.name})"


def is_look_alike(url: WebUrl) -> bool:
    """Whether a label of the host could be read as another: alphabets mixed, or only letters that look Latin."""
    return url.name != url.host and any(_is_doubtful(label) for label in url.name.split("."))


def _is_doubtful(label: str) -> bool:
    letters = [char for char in label if char.isalpha()]
    if label.isascii() or not letters:
        return not label.isascii()
    if any("\u0250" <= char <= "\u02af" or char in "ıȷ" for char in letters):
        return True
    alphabets = {unicodedata.name(char, "?").split()[0] for char in letters} & _ALPHABETS
    return len(alphabets) > 1 or all(char in _LIKE_LATIN for char in letters)
