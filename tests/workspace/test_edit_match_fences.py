"""A fence that the file has at the place is its own, whatever its info word; one around the strings is none of it."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, match_edit, spliced

GUIDE = "# Start\n```shell\nnpm run build --all\nnpm run start\n```\n\nEnd.\n"
BLOCK = GUIDE[GUIDE.index("```") : GUIDE.index("\nEnd")]


def written(text: str, old: str, new: str, path: str = "guide.md") -> str | None:
    """Return the text after the edit, None where it is refused."""
    found = match_edit(text, old, new, path=path)
    return spliced(text, found.replacements) if isinstance(found, Edit) else None


@pytest.mark.parametrize("info", ["bash", "", " sh"])
def test_the_info_word_of_a_fence_that_stays_may_be_otherwise(info: str) -> None:
    old = BLOCK.replace("shell", info)
    for new, wanted in (
        (old.replace("--all", "--one"), BLOCK.replace("--all", "--one")),
        (f"{old}\nThen open it.\n", f"{BLOCK}\nThen open it.\n"),
        (f"Run this:\n\n{old}", f"Run this:\n\n{BLOCK}"),
    ):
        assert written(GUIDE, old, new) == GUIDE.replace(BLOCK, wanted)


def test_a_fence_without_an_info_word_is_quoted_with_one() -> None:
    text = GUIDE.replace("shell", "")
    assert written(text, BLOCK, BLOCK.replace("--all", "--one")) == text.replace("--all", "--one")
    between = "```\nfirst()\n```\nnpm run build --all\nnpm run start\n```\nlast()\n```\n"
    assert written(between, BLOCK, f"{BLOCK}Then open it.\n") is None  # these lines stand between two fences


@pytest.mark.parametrize("new", ["", "See the manual.\n", "Run:\n\n    npm run build --all\n"])
def test_a_fence_of_the_file_goes_as_a_whole_or_not_at_all(new: str) -> None:
    wanted = GUIDE.replace(BLOCK, new)
    assert written(GUIDE, BLOCK.replace("shell", "bash"), new) in (wanted, None)
    assert written(GUIDE.replace("start\n", "start \n"), BLOCK, new) in (wanted, None)


def test_an_info_word_that_changes_is_the_file_s() -> None:
    assert written(GUIDE, BLOCK.replace("shell", "bash"), BLOCK.replace("shell", "console")) is None
    assert written(GUIDE, BLOCK, BLOCK.replace("shell", "console")) == GUIDE.replace("shell", "console")


def test_of_two_fences_that_are_each_a_word_otherwise_neither_is_taken() -> None:
    old = BLOCK.replace("shell", "bash")
    other = old.replace("build", "buildEntry")
    assert written(f"{GUIDE}\n{other}", old, old.replace("start", "preview")) is None


def test_what_stands_beside_a_fence_around_the_strings_is_not_written() -> None:
    text, old, new = "x = 1\ny = 2\n", "```python\nx = 1\n```\n", "```python\nx = 3\n```\n"
    assert written(text, old, new, "a.py") == text.replace("1", "3")
    for talk in (f"{new}This sets x.\n", f"Here it is:\n\n{new}", f"{new}This sets x.\n{new}"):
        assert written(text, old, talk, "a.py") is None


def test_a_fence_around_the_strings_is_no_other_one_further_up() -> None:
    old, new = "```md\nThe rest of it.\n```\n", "```md\nThe end of it.\n```\n"
    text = f"{GUIDE}\nThe rest of it.\n"
    assert written(text, old, new) == text.replace("rest", "end")
    assert written(f"{BLOCK}The rest of it.\n", old, new) == f"{BLOCK}The end of it.\n"
