"""The manifest and the tests name each other."""

import ast
from functools import cache
from pathlib import Path

from documents_page import PAGE, page
from requirements import REQUIREMENTS

TESTS = Path(__file__).parent


@cache
def marks() -> dict[str, list[str]]:
    """Return every marked id with the places of its marks, read from the source without running it."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "requirement":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{file}:{node.lineno}: an id is written out"
                    found.setdefault(str(argument.value), []).append(f"{file.relative_to(TESTS)}:{node.lineno}")
    return found


def test_every_requirement_has_a_test() -> None:
    marked = marks()
    assert [name for name, entry in REQUIREMENTS.items() if not entry.deferred and name not in marked] == []


def test_every_mark_names_a_requirement() -> None:
    assert {name: places for name, places in marks().items() if name not in REQUIREMENTS} == {}


def test_ids_are_dotted_words_and_behaviours_are_sentences() -> None:
    for name, entry in REQUIREMENTS.items():
        assert name.split(".")[0] in ("fs", "api", "shell"), name
        assert all(part.isidentifier() or part[0].isdigit() for part in name.split(".")), name
        assert entry.sources, name
        assert entry.behaviour.rstrip("'").endswith("."), name


def test_no_sentence_is_told_twice() -> None:
    told = [(entry.sources, entry.behaviour) for name, entry in REQUIREMENTS.items() if not name.endswith(".confirm")]
    repeated = {entry for entry in told if told.count(entry) > 1}
    assert repeated == set()


def test_the_users_page_says_what_the_manifest_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/documents_page.py writes it anew"
