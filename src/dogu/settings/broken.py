"""Settings that are no JSON: may dogu start without them?

Only if nothing in the text could be a restriction, or say which model the user's words are sent to. A text that can't
be read can still be searched for the words that such keys are made of, wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dogu.settings.keys import KEYS
from dogu.settings.unknown import looks_like_a_restriction

_WORD = re.compile(r'"((?:[^"\\\n]|\\.)*)"?|([A-Za-z_][\w.-]*)')
_MODEL_WORDS = ("model", "baseurl", "apikey", "provider")


def word_that_stops(text: str) -> str:
    """Return a word of the text that could be the key of a restriction or of the model; '' when there is none."""
    known = [name for key in KEYS if key.restricts for name in (key.name, *key.also)]
    spellings = {_plain(part) for name in known for part in _parts(name)}
    for word in _words(text):
        plain = _plain(word)
        if plain in spellings or plain in _MODEL_WORDS or looks_like_a_restriction(word, known) or "\\u" in word:
            return word
    return ""


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        if match[1] is None:
            yield match[2]
            continue
        try:
            written = msgspec.json.decode(f'"{match[1]}"')
        except msgspec.DecodeError:
            written = match[1]
        yield from (written, *re.findall(r"[A-Za-z_][\w.-]*", written)[:1])


def _parts(name: str) -> tuple[str, str]:
    """A key may be written whole, with dots, or in the group that it belongs to."""
    return name, name.rpartition(".")[2]


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(".", "")
