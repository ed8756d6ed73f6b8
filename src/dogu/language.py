"""The user's language: every sentence a user sees passes through `say`, which looks it up in gettext's catalogs.

What a model reads stays English. Below the doors a sentence is `told`: an English text that carries its template and
values, so that it is translated where it is shown, to whoever looks. Known to every layer, this module knows none. The
catalogs are `locale/*.po`; the build compiles them.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LANGUAGES = ("en", "ja", "ko", "zh-CN", "zh-TW")
PSEUDO = "pseudo"  # every known sentence in ⟦brackets⟧ with accents: what has none was never translated

_CATALOGS = os.path.join(os.path.dirname(__file__), "locale")
_IDEOGRAPHIC = ("ja", "zh-CN", "zh-TW")  # they part the words of a list with 、
_FULL_WIDTH_ENDS = tuple("。！？：；）」』")
# "{count} more files were": a field, perhaps a word, a noun of many, perhaps its verb.
_COUNTED = re.compile(
    r"((?<!\{)\{(\w+)[^{}]*\})((?: [a-z-]{4,})?) ([a-z]{3,}?)"
    r"(ies|(?<=[cs]h|.x|ss)es|(?<!s)s)\b(?!\()( are| were| have)?"
)
_FOR_ONE = {"ies": "y", " are": " is", " were": " was", " have": " has"}
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


class Message(str):
    """An English sentence that can still be said in another language: its template and values travel with the text.

    A value may itself be a message, or a tuple: a list of words. Without `values`, the template's braces are literal.
    Whatever makes another text of it (an f-string, `strip`, `join`) leaves plain English: `told` and `joined` put
    messages together so that each can be said.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, object] | None

    def __new__(cls, template: str, values: Mapping[str, object] | None = None) -> Message:
        """Fill in the template in English."""
        template = _plain(template)
        known = values and {name: _value(value) for name, value in values.items()}
        shown = known and {name: _in_english(value) for name, value in known.items()}
        text = _counted(template, shown).format(**shown) if shown else template
        message = super().__new__(cls, text)
        message.template, message.values = template, known
        return message

    def __str__(self) -> str:
        return self  # so that an exception's own text, str(error), is still the message it was raised with

    def __add__(self, other: str) -> str:
        return joined("", (self, other))

    def __radd__(self, other: str) -> str:
        return joined("", (other, self))

    def __reduce__(self) -> tuple[type, tuple[str, Mapping[str, object] | None]]:
        return Message, (self.template, self.values)


def sentence(text: str) -> str:
    """Return a sentence of a table as a `Message`, and mark it for the catalogs."""
    return Message(text)


def told(template: str, /, **values: object) -> str:
    """Return the sentence as a `Message`: English, for a model as for a user, which doors show by `say`."""
    return Message(template, values or None)


def joined(separator: str, parts: Iterable[str]) -> str:
    """Join texts of which some may be messages; these are still said in the user's language."""
    texts = list(parts)
    if not any(isinstance(text, Message) for text in texts):
        return separator.join(texts)
    template = separator.replace("{", "{{").replace("}", "}}").join(f"{{part{at}}}" for at in range(len(texts)))
    return Message(template, {f"part{at}": text for at, text in enumerate(texts)})


def redacted(text: str, secret: str, shown: str) -> str:
    """Return a text with `shown` in the secret's place; a message can still be said in the user's language."""
    if secret not in text:
        return text
    if not isinstance(text, Message):
        return text.replace(secret, shown)
    return Message(
        text.template, {name: _redacted(value, secret, shown) for name, value in (text.values or {}).items()}
    )


def _redacted(value: object, secret: str, shown: str) -> object:
    if isinstance(value, tuple):
        return tuple(_redacted(word, secret, shown) for word in _words(value))  # pyright: ignore[reportUnknownArgumentType]  (as below)
    return redacted(value, secret, shown) if isinstance(value, str) else value


def plain(text: object) -> str:
    """Return a message's English text alone; for encoders that want nothing but `str`."""
    if isinstance(text, Message):
        return _plain(text)
    raise NotImplementedError(type(text))


def say(message: str, /, **values: object) -> str:
    """Return a message, or a template with its named fields filled in, in the user's language.

    Without values, braces are literal. A text that is no sentence of ours comes back as it is.
    """
    if values:
        return _formed(message.template if isinstance(message, Message) else message, values)
    if isinstance(message, Message):
        return _formed(message.template, message.values)
    return _translate(message)


def said(text: str) -> str:
    """Return a text of unknown origin: a message in the user's language, any other as it is."""
    return say(text) if isinstance(text, Message) else text


def _formed(template: str, values: Mapping[str, object] | None) -> str:
    text = _translate(template)
    if not values:
        return text
    words = {name: _said_value(value) for name, value in values.items()}
    if _spoken in _IDEOGRAPHIC:
        return _closed_up(text, words)
    return (_counted(text, words) if _spoken == "en" else text).format(**words)


def _counted(template: str, values: Mapping[str, object]) -> str:
    """Return the English template with the nouns (and their verbs) behind a number that is 1 said of one.

    Only numbers count, never texts: so no verb behind a name ("{option} takes") passes for a noun. Of the languages
    here only English has a plural; a further one that has gets its forms from gettext's `msgid_plural`.
    """
    if not any(isinstance(value, int | float) for value in values.values()):
        return template

    def of_one(found: re.Match[str]) -> str:
        field, name, word, noun, ending, verb = found.groups(default="")
        is_one = isinstance(values.get(name), int | float) and field.format(**values) == "1"
        return f"{field}{word} {noun}{_FOR_ONE.get(ending, '')}{_FOR_ONE.get(verb, '')}" if is_one else found[0]

    return _COUNTED.sub(of_one, template)


def _closed_up(template: str, words: Mapping[str, object]) -> str:
    """Fill in a template without the blank between two parts of which the first ends in a full-width mark."""
    from string import Formatter

    text = ""
    for literal, field, form, conversion in Formatter().parse(template):
        looks = f"!{conversion}" * bool(conversion) + f":{form}" * bool(form)
        value = f"{{{field}{looks}}}".format(**words) if field is not None else ""
        for piece in (literal, value):
            is_closed = bool(piece.strip(" ")) and text.rstrip(" ").endswith(_FULL_WIDTH_ENDS)
            text = text.rstrip(" ") + piece.lstrip(" ") if is_closed else text + piece
    return text


def _said_value(value: object) -> object:
    """Translate a value that is itself a message; names of files and the like are what they are."""
    if isinstance(value, tuple):
        return ("、" if _spoken in _IDEOGRAPHIC else ", ").join(str(_said_value(word)) for word in _words(value))  # pyright: ignore[reportUnknownArgumentType]  (of whatever)
    return say(value) if isinstance(value, Message) else value


def _in_english(value: object) -> object:
    return ", ".join(map(str, _words(value))) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]  (as above)


def _value(value: object) -> object:
    """A value as a message holds it: what can be recorded, so that a record speaks each reader's language."""
    if isinstance(value, tuple):
        return tuple(_value(word) for word in _words(value))  # pyright: ignore[reportUnknownArgumentType]  (as above)
    return value if isinstance(value, str | int | float) else str(value)


def _words(value: tuple[object, ...]) -> tuple[object, ...]:
    return value


def _plain(text: str) -> str:
    return str.__str__(text)


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
