"""`@path` in a prompt."""

import pytest

from dogu.agent.at_paths import at_paths, typed_text
from dogu.contract import Text


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("explain @src/a.py", [["src/a.py"]]),
        ("@a.md and @b.md", [["a.md"], ["b.md"]]),
        ("what is @a.md?", [["a.md?", "a.md"]]),
        ("see (@a.md).", [["a.md).", "a.md"]]),
        ('read @"with blanks.md" now', [["with blanks.md"]]),
        (r"read @with\ blanks.md now", [["with blanks.md"]]),
        ("@資料/計画.md を読んで", [["資料/計画.md"]]),
        ("「@計画.md」を読んで", [["計画.md」を読んで"]]),
        ("mail a@b.c", []),
        ("alone @ here", []),
        ("@a @a", [["a"]]),
        ("100%25 @100%25.txt", [["100%25.txt"]]),
    ],
)
def test_the_paths_of_a_prompt(prompt: str, expected: list[list[str]]):
    assert at_paths(prompt) == expected


@pytest.mark.parametrize("read", ["The files named above:", "The resource a:text://x named above:"])
def test_what_was_typed_is_known_beside_what_was_read(read: str):
    assert typed_text("see @a.md") == "see @a.md"
    assert typed_text([Text(f"see @a.md\n\n{read}"), Text("--- a.md ---\none")]) == "see @a.md"
