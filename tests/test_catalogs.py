"""The catalogs of translations: safe to fill in always; whole and in step with the program at a release."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest
from babel.messages.catalog import Catalog

from dogu.language import LANGUAGES
from sentences import ROOT, catalogs, sentences

TRANSLATED = [language for language in LANGUAGES if language != "en"]
_FIELD = re.compile(r"\{\{|\}\}|\{[^{}]*\}|%\(\w+\)[a-z]|%[a-z]")
_BLANKS = re.compile(r"^\s*|\s*$")

in_every_language = pytest.mark.parametrize("language", TRANSLATED)


class Anything:
    """A value that every field takes, whatever its format is."""

    def __format__(self, _spec: str) -> str:
        return "x"

    def __repr__(self) -> str:
        return "x"


def translations(language: str) -> dict[str, str]:
    """A language's sentences that have a translation."""
    catalog: Catalog = catalogs().read_catalog(language)
    return {str(message.id): str(message.string) for message in catalog if message.id and message.string}


def differing(language: str, look: re.Pattern[str]) -> list[str]:
    """The sentences in whose translation not the same things are found, in any order."""
    return [
        f"{message!r}: {text!r}"
        for message, text in translations(language).items()
        if sorted(look.findall(message)) != sorted(look.findall(text))
    ]


@pytest.mark.release
@in_every_language
def test_every_sentence_has_a_translation(language: str) -> None:
    there = translations(language)
    waiting = [message for message in sentences() if not there.get(message, "").strip()]
    assert waiting == [], f"{len(waiting)} sentences are said in English: {waiting[:5]}"


@pytest.mark.release
@in_every_language
def test_no_catalog_holds_what_the_program_does_not_say(language: str) -> None:
    known = {str(message.id) for message in catalogs().read_catalog(language) if message.id}
    assert known - set(sentences()) == set()


@in_every_language
def test_a_translation_has_the_fields_of_its_sentence(language: str) -> None:
    assert differing(language, _FIELD) == []


@in_every_language
def test_a_translation_can_be_filled_in(language: str) -> None:
    names = {
        field.strip("{}").partition("!")[0].partition(":")[0] for one in sentences() for field in _FIELD.findall(one)
    }
    values = {name: Anything() for name in names if name.isidentifier()}
    for message, text in translations(language).items():
        try:
            message.format(**values)
        except (KeyError, ValueError, IndexError):
            continue  # its braces are what they are
        assert text.format(**values), message


@in_every_language
def test_a_translation_has_the_blanks_around_it_and_the_lines_of_its_sentence(language: str) -> None:
    assert differing(language, _BLANKS) == []
    assert differing(language, re.compile("\n")) == []


@in_every_language
def test_no_translation_is_uncertain(language: str) -> None:
    assert [message.id for message in catalogs().read_catalog(language) if message.id and message.fuzzy] == []


@pytest.mark.release
@in_every_language
def test_the_file_is_as_the_script_writes_it(language: str) -> None:
    file = catalogs().LOCALE / f"{language}.po"
    is_as_written = file.read_bytes() == catalogs().updated(language)
    assert is_as_written, "make catalogs brings it up to date"  # the difference of two such files takes pytest minutes


def test_a_sentence_is_a_sentence() -> None:
    assert [message for message in sentences() if not re.search(r"[A-Za-z{%]", message)] == []


_SHOWN = {"print", "write", "Said", "tell", "_tell", "_told", "_emit", "_print", "Confirmation", "Check", "Choice"} | {
    "SlashCommand",
    "add_argument",
    "add_argument_group",
    "Noted",
    "TurnEnd",
}

_WORDS = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")


def bare_sentences(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Give what the calls that show something to a user are given as a bare text that reads like a sentence."""
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in _SHOWN:
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg != "metavar")]
            texts = (part for value in given for part in _outside_of_calls(value))
            yield from ((node.lineno, text) for text in texts if _WORDS.search(text) and text not in sentences())


def unmarked_sentences(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Give the bare texts that have a name, and are said by that name: no catalog finds them."""
    said = {
        node.args[0].id
        for node in nodes
        if isinstance(node, ast.Call) and _name(node.func) in ("say", "told", "sentence") and node.args
        if isinstance(node.args[0], ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Assign) and said & {_name(target) for target in node.targets}:
            texts = _outside_of_calls(node.value)
            yield from ((node.lineno, text) for text in texts if _WORDS.search(text) and text not in sentences())


def lost_messages(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Give the messages made within an f-string: that is a plain text, and stays English."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            calls = (child for child in ast.walk(node) if isinstance(child, ast.Call))
            yield from ((call.lineno, ast.unparse(call)) for call in calls if _name(call.func) == "told")


def _name(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _outside_of_calls(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if not isinstance(node, ast.Call):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _outside_of_calls(child)


def test_nothing_is_shown_as_a_bare_english_sentence() -> None:
    package = ROOT / "src" / "dogu"
    files = [file for file in sorted(package.rglob("*.py")) if not file.is_relative_to(package / "testing")]
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in files
        for nodes in ([*ast.walk(ast.parse(file.read_bytes()))],)
        for bare in (bare_sentences, unmarked_sentences, lost_messages)
        for line, text in bare(nodes)
    ]
    assert found == []
