"""The README and the guide say the same in every language: the same parts, code, links and numbers of everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dogu.language import LANGUAGES

pytestmark = pytest.mark.release

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README", "docs/guide")
TRANSLATIONS = [(document, language) for document in DOCUMENTS for language in LANGUAGES if language != "en"]
PARTS = ("heading_open", "paragraph_open", "list_item_open", "table_open", "tr_open", "th_open", "td_open", "fence")
COMMENT = re.compile(r"(?:^|\s+)(#|//)\s(.*)$", re.MULTILINE)
ENOUGH_TO_DIFFER = 30  # characters besides code; names such as "pydantic-ai, google-genai" are shorter

everywhere = pytest.mark.parametrize(("document", "language"), TRANSLATIONS)


def page(document: str, language: str) -> Path:
    return ROOT / (f"{document}.md" if language == "en" else f"{document}.{language}.md")


def parsed(document: str, language: str) -> list[Token]:
    """Give a page's tokens, block and inline, in their order."""
    tokens: list[Token] = []
    for token in MarkdownIt("commonmark").enable("table").parse(page(document, language).read_text(encoding="utf-8")):
        tokens += [token, *(token.children or [])]
    return tokens


def parts(document: str, language: str) -> list[str]:
    return [f"{token.type} {token.tag}" for token in parsed(document, language) if token.type in PARTS]


def emphasis(document: str, language: str) -> int:
    return sum(token.type == "strong_open" for token in parsed(document, language))


def blocks(document: str, language: str) -> list[tuple[str, str]]:
    fences = [token for token in parsed(document, language) if token.type == "fence"]
    return [(token.info, COMMENT.sub(" # ", token.content)) for token in fences]


def comments(document: str, language: str) -> list[str]:
    fences = [token.content for token in parsed(document, language) if token.type == "fence"]
    return [found[2] for content in fences for found in COMMENT.finditer(content)]


def code(document: str, language: str) -> set[str]:
    return {token.content for token in parsed(document, language) if token.type == "code_inline"}


def targets(document: str, language: str) -> list[str]:
    names = {"link_open": "href", "image": "src"}
    return [str(token.attrs[names[token.type]]) for token in parsed(document, language) if token.type in names]


def sentences(document: str, language: str) -> set[str]:
    """Give the texts of paragraphs and cells that are long enough to be told in another language."""
    texts = [token.content for token in parsed(document, language) if token.type in ("inline", "image")]
    return {text for text in texts if len(re.sub(r"`[^`]*`", "", text)) > ENOUGH_TO_DIFFER}


def other_languages(document: str, language: str) -> list[str]:
    return sorted(page(document, other).name for other in LANGUAGES if other != language)


def is_of_languages(target: str, document: str) -> bool:
    return target in {page(document, language).name for language in LANGUAGES}


def in_language(target: str, language: str) -> str:
    """Name what a translation should link where English links `target`."""
    return target.replace("docs/guide.md", f"docs/guide.{language}.md").replace("dogu.en.svg", f"dogu.{language}.svg")


@everywhere
def test_the_same_parts_in_the_same_order(document: str, language: str) -> None:
    assert parts(document, language) == parts(document, "en")


@everywhere
def test_the_same_code(document: str, language: str) -> None:
    assert blocks(document, language) == blocks(document, "en")
    assert code(document, language) == code(document, "en")


@everywhere
def test_comments_and_sentences_are_translated(document: str, language: str) -> None:
    assert len(comments(document, language)) == len(comments(document, "en"))
    assert not set(comments(document, language)) & set(comments(document, "en"))
    assert not sentences(document, language) & sentences(document, "en")


@everywhere
def test_bold_is_bold(document: str, language: str) -> None:
    """`**…。**` before a letter is no emphasis: the full stop belongs behind the stars, or a space does."""
    assert emphasis(document, language) == emphasis(document, "en")
    assert not [token.content for token in parsed(document, language) if token.type == "text" and "**" in token.content]


@everywhere
def test_the_same_links_and_those_to_the_language_s_own_pages(document: str, language: str) -> None:
    told = [target for target in targets(document, language) if not is_of_languages(target, document)]
    english = [target for target in targets(document, "en") if not is_of_languages(target, document)]
    assert sorted(told) == sorted(in_language(target, language) for target in english)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_language_links_the_others(document: str, language: str) -> None:
    assert sorted(target for target in targets(document, language) if is_of_languages(target, document)) == (
        other_languages(document, language)
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_linked_is_there(document: str, language: str) -> None:
    """`make casts` draws the README's pictures."""
    folder = page(document, language).parent
    files = [target.partition("#")[0] for target in targets(document, language) if "://" not in target]
    assert [file for file in files if not (folder / file).is_file()] == []
