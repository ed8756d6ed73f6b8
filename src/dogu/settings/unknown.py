"""What to say of a key that dogu doesn't know: nothing, the nearest key, or that it looks like a restriction."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from dogu.language import joined, told
from dogu.settings.keys import KEYS, KeyReach

_RESTRICTING_WORDS = ("exclud", "deny", "denied", "block", "forbid", "disallow", "restrict", "coretool", "toolscore")
_RESTRICTING_NAMES = ("core", "exclude", "coretools", "excludetools", "permissions")
_LISTS = ("coreTools", "excludeTools", "tools.core", "tools.exclude", "mcp.allowed", "mcp.excluded")


_GUARDS = ("hooks",)  # which may stop any call
# Whatever another program keeps under these names restricts somebody.
_GUARDED_GROUPS = ("security", "admin", "policy", "policies")


class UnknownKey(msgspec.Struct, frozen=True):
    """What to tell of an unknown key."""

    message: str
    is_restriction: bool


def unknown_key_problem(name: str, value: Any, known: Sequence[str]) -> UnknownKey | None:
    """Judge an unknown key by its dotted name and its value; None where it is Gemini CLI's, and means nothing here."""
    from dogu.settings.gemini_keys import has_no_effect, restriction_of

    restriction = restriction_of(name, value)
    if restriction is not None:
        message = told(
            "restricts in a way that dogu can't, and dogu drops no restriction: remove it, and see {instead}",
            instead=restriction.instead,
        )
        return UnknownKey(message, is_restriction=True)
    if has_no_effect(name) or restriction_of(name, ...) is not None:
        return None
    hint = nearest_key(name, known)
    for deeper in (name, *_names_within(value, name)):
        if looks_like_a_restriction(deeper, known) or _is_guarded(name, value):
            meant = hint if hint in _LISTS else told("tools.core or tools.exclude")
            problem = told("looks like a restriction, but dogu knows no such key and drops none in silence")
            if deeper != name:
                problem = joined(" ", (deeper, problem))
            return UnknownKey(
                told("{problem}: did you mean {meant}?", problem=problem, meant=meant), is_restriction=True
            )
    return UnknownKey(
        told("unknown key{value}", value=told(": did you mean {hint}?", hint=hint) if hint else ""),
        is_restriction=False,
    )


def _is_guarded(name: str, value: Any) -> bool:
    return name.partition(".")[0] in _GUARDED_GROUPS and value not in (None, False, "", [], {})


def looks_like_a_restriction(name: str, known: Sequence[str]) -> bool:
    """Whether an unknown key may be meant to restrict something."""
    plain = _plain(name)
    last = _plain(name.rpartition(".")[2])
    if any(word in plain for word in _RESTRICTING_WORDS) or last in _RESTRICTING_NAMES:
        return True
    return nearest_key(name, known) in _LISTS


def _names_within(value: Any, prefix: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield f"{prefix}.{name}"
            yield from _names_within(inner, f"{prefix}.{name}")


def nearest_key(name: str, known: Sequence[str]) -> str:
    """Return the known key that a name misspells, or ''."""
    from difflib import get_close_matches

    by_plain = {_plain(spelling): spelling for spelling in known}
    near = get_close_matches(_plain(name), by_plain, n=1, cutoff=0.8)
    return by_plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(".", "")


_WORD = r'"((?:[^"\\\n]|\\.)*)"?|([A-Za-z_][\w.-]*)'
_MODEL_WORDS = ("model", "baseurl", "apikey", "provider")


def word_that_stops(text: str) -> str:
    """Return a word of a text that is no JSON that could be the key of a restriction or of the model; '' for none.

    Without such a word dogu may start without these settings: what can't be read can still be searched for the words
    that such keys are made of, wherever they stand.
    """
    text = "".join(char for char in text if char.isascii() or unicodedata.category(char) != "Cf")
    restricting = [key for key in KEYS if key.restricts or key.reach is KeyReach.STRICTER or key.name in _GUARDS]
    known = [name for key in restricting for name in (key.name, *key.also)]
    # A key may be written whole, with dots, or in the group that it belongs to.
    spellings = {_plain(part) for name in known for part in (name, name.rpartition(".")[2])}
    for word in _words(text):
        plain = _plain(word)
        if plain in spellings or plain in _MODEL_WORDS or looks_like_a_restriction(word, known) or "\\u" in word:
            return word
    return ""


def _words(text: str) -> Iterator[str]:
    for match in re.finditer(_WORD, text):
        if match[1] is None:
            yield match[2]
            continue
        try:
            written = msgspec.json.decode(f'"{match[1]}"')
        except msgspec.DecodeError:
            written = match[1]
        yield from (written, *re.findall(r"[A-Za-z_][\w.-]*", written)[:1])
