"""Brings the catalogs up to date with the program's sentences, and compiles them: `make catalogs`.

A sentence is what `say`, `told` and `sentence` are given, and a reason in the policy's tables. One that is gone from
the program leaves the catalogs; a new one stands in them without a translation, and is said in English, until somebody
writes it (`make test` reports which; `make release-catalogs` insists).
"""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "dogu"
LOCALE = SOURCES / "locale"
LOCALES = {"ja": "ja", "ko": "ko", "zh-CN": "zh_Hans_CN", "zh-TW": "zh_Hant_TW"}
_BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
_SPEAKING = ("say", "told", "sentence")
# What argparse says by itself, in the words of Python 3.11 to 3.13.
_ARGPARSE = (
    "usage: ",
    "positional arguments",
    "options",
    "show this help message and exit",
    "%(prog)s: error: %(message)s\n",
    "unrecognized arguments: %s",
    "the following arguments are required: %s",
    "expected one argument",
    "expected at least one argument",
    "not allowed with argument %s",
    "argument %(argument_name)s: %(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)",
    "invalid %(type)s value: %(value)r",
    "ambiguous option: %(option)s could match %(matches)s",
    "ignored explicit argument %r",
)


@cache
def sentences() -> dict[str, list[tuple[str, int]]]:
    """Return every sentence of the program with the places it is said at, in the order of the sources."""
    found: dict[str, list[tuple[str, int]]] = {message: [("argparse", 0)] for message in _ARGPARSE}
    for file in sorted(SOURCES.rglob("*.py")):
        for message, line in _said_in(file):
            found.setdefault(message, []).append((file.relative_to(ROOT).as_posix(), line))
    return found


def _said_in(file: Path) -> Iterator[tuple[str, int]]:
    source = file.read_bytes()
    if not any(f"{name}(".encode() in source for name in _SPEAKING):  # parsing takes most of the time
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SPEAKING and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, node.lineno


def read_catalog(language: str) -> Catalog:
    """Read a language's catalog; an empty one when there is none yet."""
    file = LOCALE / f"{language}.po"
    if not file.exists():
        return _catalog(language)
    with file.open("rb") as source:
        return read_po(source, locale=LOCALES[language])


def updated(language: str) -> bytes:
    """Return the catalog as it should stand in its file: the program's sentences, with the translations there are."""
    known = {message.id: message.string for message in read_catalog(language) if message.id}
    catalog = _catalog(language)
    for message, places in sentences().items():
        files = sorted({file for file, _ in places})
        catalog.add(message, known.get(message, ""), locations=[(file, None) for file in files])  # pyright: ignore[reportArgumentType]  (a place without a line, as write_po takes it)
    out = io.BytesIO()
    write_po(out, catalog, width=0, omit_header=False, include_lineno=False)
    return out.getvalue()


def _catalog(language: str) -> Catalog:
    return Catalog(
        locale=LOCALES[language],
        project="dogu",
        header_comment="# dogu in this language. Written by hand; the sentences come from the program (make catalogs).",
        version="1",
        copyright_holder="The dogu authors",
        msgid_bugs_address="README.md",
        last_translator="The dogu authors",
        language_team="the dogu authors",
        fuzzy=False,
        creation_date=_BEGAN,  # not the present: a catalog changes when its sentences do
        revision_date=_BEGAN,
    )


def main() -> int:
    """Write and compile every catalog; say how many sentences wait for a translation."""
    for language in LOCALES:
        (LOCALE / f"{language}.po").write_bytes(updated(language))
        catalog = read_catalog(language)
        compiled = LOCALE / f"{language}.mo"
        with compiled.with_suffix(f".{os.getpid()}").open("wb") as beside:
            write_mo(beside, catalog)
        os.replace(beside.name, compiled)  # whoever reads it meanwhile reads a whole one
        waiting = sum(1 for message in catalog if message.id and not message.string)
        print(f"{language}: {len(catalog)} sentences, {waiting} wait for a translation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
