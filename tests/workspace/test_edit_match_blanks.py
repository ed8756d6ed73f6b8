"""What random edits beside their known results have shown of blank lines, blanks and breaks at the edges."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, Refusal, Why, match_edit, spliced


def after(text: str, old: str, new: str, path: str = "/a.py") -> str:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit), found
    return spliced(text, found.replacements)


@pytest.mark.parametrize("form", ["{}\t", "{}: ", "{:4} | ", "{:6}→"])
def test_numbered_lines_are_whole_lines_whatever_became_of_the_last_break(form: str) -> None:
    text = "a = 1\nb = 2\n\nc = 3\nd = 4\n"
    old = f"{form.format(4)}c = 3\n{form.format(5)}d = 4"
    assert after(text, old, "c = 3\nd = 5\n") == "a = 1\nb = 2\n\nc = 3\nd = 5\n"
    assert after(text, form.format(2) + "b = 2", "") == "a = 1\n\nc = 3\nd = 4\n"
    assert after(text.removesuffix("\n"), old, "c = 3\nd = 5\n") == "a = 1\nb = 2\n\nc = 3\nd = 5"


def test_lines_that_go_with_the_breaks_at_both_edges_leave_one() -> None:
    assert after("a = 1\nb = 2\nc = 3\n", "\nb = 2\n", "") == "a = 1\nc = 3\n"


def test_a_blank_line_that_only_old_string_doubles_stays() -> None:
    text = "x = 1\n\nclass A:\n    b: int\n\n    c: int\n    d: int\n\ny = 2\n"
    old = "class A:\n    b: int\n\n\n    c: int\n    d: int\n\n"
    meant = text.replace("d: int", "e: int")
    assert after(text, old, "class A:\n    b: int\n\n    c: int\n    e: int\n\n") == meant
    assert after(text, old, "class A:\n    b: int\n\n\n    c: int\n    e: int\n\n") == meant
    assert after(text, old, "b: int\n\nc: int\nd: int\n\n") == "x = 1\n\nb: int\n\nc: int\nd: int\n\ny = 2\n"


def test_a_blank_that_only_new_string_has_as_the_file_is_not_doubled() -> None:
    text = "def f(a: Tuple[int, int], b):\n    pass\n"
    new = "def f(a: Tuple[int, int], c):\n"
    assert after(text, "def f(a: Tuple[int,int], b):\n", new) == new + "    pass\n"


def test_a_new_block_without_a_deeper_line_is_refused_where_it_would_break_the_file() -> None:
    text = "import a\nimport b\n\nc()\n"
    found = match_edit(text, "import a\nimport b\n", "import a\nif c:\nimport b\n", path="/a.py")
    assert isinstance(found, Refusal), found
    assert found.why is Why.UNCLEAR


def test_without_any_indentation_nobody_knows_how_deep_the_lines_of_a_block_that_goes_are() -> None:
    text = "def f():\n    with a:\n        b()\n    with c:\n        d()\n    with e:\n        g()\n"
    old = "with a:\nb()\nwith c:\nd()\nwith e:\ng()"
    found = match_edit(text, old, "with a:\nb()\nd()\nwith e:\ng()", path="/a.py")
    assert isinstance(found, Refusal), found
    assert found.why is Why.UNCLEAR
