"""The person's language: every sentence a person sees passes through `say`, which looks it up in gettext's catalogs.

What a model reads stays English. Where one sentence is for both, such as an error, `told` makes the English one and
remembers what it was made of, so that a door can still `say` it in the person's language. Known to every layer, this
module knows none. The catalogs are `locale/*.po`; the build compiles them.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LANGUAGES = ("en", "ja", "ko", "zh-CN", "zh-TW")
PSEUDO = "pseudo"  # every known sentence in ⟦brackets⟧ with accents: what has none was never translated

_CATALOGS = os.path.join(os.path.dirname(__file__), "locale")
_IDEOGRAPHIC = ("ja", "zh-CN", "zh-TW")  # they part the words of a list with 、
_MOST_KEPT = 1_000
_LONGEST = 20_000  # characters; longer texts are no sentences
_SHORTEST_WITHIN = 16  # characters; shorter ones may stand in a longer text by chance
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def sentence(text: str) -> str:
    """Mark a text that stands in a table, so that it comes into the catalogs; `say` it where it is used."""
    return text


def told(template: str, /, **values: object) -> str:
    """Return the sentence in English, for a model as for a person; doors pass it to `say`.

    A value that is a tuple is a list of words of ours, each of them a `sentence`.
    """
    sentence = template.format(**{name: _in_english(value) for name, value in values.items()}) if values else template
    if _spoken != "en" and sentence not in values.values():
        _kept[sentence] = template, values
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]
    return sentence


def was_told(message: str) -> bool:
    """Tell whether `say` has all of this text in the person's language, because it was `told` lately."""
    return message in _kept


def say(message: str, /, **values: object) -> str:
    """Return `message` in the person's language with its named fields filled in; without values, braces are literal.

    A sentence that was `told` lately is said anew, and so is what was told within it; other text comes back as it is.
    """
    if not values:
        return _formed(*_kept[message]) if message in _kept else _with_told(_translate(message))
    return _formed(message, values)


def _formed(template: str, values: Mapping[str, object]) -> str:
    text = _translate(template)
    return text.format(**{name: _said_value(value) for name, value in values.items()}) if values else text


def _said_value(value: object) -> object:
    """Translate a value that is itself a sentence of ours; names of files and the like are what they are."""
    if isinstance(value, tuple):
        return ("、" if _spoken in _IDEOGRAPHIC else ", ").join(say(word) for word in _words(value))  # pyright: ignore[reportUnknownArgumentType]  (of whatever is a text)
    return say(value) if isinstance(value, str) and " " in value else value


def _in_english(value: object) -> object:
    return ", ".join(_words(value)) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]  (as above)


def _words(value: tuple[object, ...]) -> list[str]:
    return [str(word) for word in value]


def _with_told(text: str) -> str:
    """Say what was told within a longer text, such as an error joined of several sentences."""
    for whole, (template, values) in sorted(_kept.items(), key=_longest_first) if len(text) < _LONGEST else ():
        if len(whole) >= _SHORTEST_WITHIN and whole in text:
            text = text.replace(whole, _formed(template, values))
    return text


def _longest_first(kept: tuple[str, object]) -> int:
    return -len(kept[0])


def speak(language: str) -> None:
    """Speak one of `LANGUAGES` (or `PSEUDO`) from now on; an unknown one, or one without a catalog, is English."""
    global _translate, _spoken  # noqa: PLW0603  (the one thing a process has one of: whom it talks to)
    _spoken = language if language in (*LANGUAGES, PSEUDO) else "en"
    _translate = _accented() if _spoken == PSEUDO else _catalog(_spoken)


def spoken() -> str:
    """Return the language in use."""
    return _spoken


def language_of(name: str) -> str:
    """Return which of `LANGUAGES` a locale's name means (`ja_JP.UTF-8`, `zh-Hant`, `zh_HK`); empty when none."""
    plain, _, _ = name.replace("@", ".").replace("_", "-").lower().partition(".")
    first, _, rest = plain.partition("-")
    if first == "zh":
        return "zh-TW" if any(part in rest.split("-") for part in ("tw", "hk", "mo", "hant")) else "zh-CN"
    return first if first in LANGUAGES else "en" if first in ("c", "posix") else ""


def language_of_locale(environ: Mapping[str, str] = os.environ) -> str:
    """Return the language that the environment asks for, as gettext reads it; English when it asks for none of ours."""
    for variable in _VARIABLES:
        for name in environ.get(variable, "").split(":"):
            if name and (language := language_of(name)):
                return language
    return "en"


def _untranslated(message: str) -> str:
    return message


_translate: Callable[[str], str] = _untranslated
_spoken = "en"
_kept: dict[str, tuple[str, dict[str, object]]] = {}  # what was told, the oldest first


def _catalog(language: str) -> Callable[[str], str]:
    if language == "en":
        return _untranslated
    from gettext import GNUTranslations

    try:
        with open(os.path.join(_CATALOGS, f"{language}.mo"), "rb") as file:
            return GNUTranslations(file).gettext
    except FileNotFoundError:
        return _untranslated


def _accented() -> Callable[[str], str]:
    """The pseudo-locale: what a catalog knows, with accents on its letters, its fields as they are."""
    known = _catalog("ja")
    accents = str.maketrans("aeioucnyAEIOUCNY", "áéíóúçñýÁÉÍÓÚÇÑÝ")

    def accent(message: str) -> str:
        if known(message) == message:
            return message
        parts = re.split(r"(\{[^{}]*\}|%\(\w+\)\w|%\w)", message)
        return f"⟦{''.join(part if part.startswith(('{', '%')) else part.translate(accents) for part in parts)}⟧"

    return accent
