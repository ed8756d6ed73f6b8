"""What is nearly in the file, and means something else: another name, another selector, another column."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, match_edit, spliced


def written(text: str, old: str, new: str, path: str = "") -> str | None:
    """Return the text after the edit, None where it is refused."""
    found = match_edit(text, old, new, path=path)
    return spliced(text, found.replacements) if isinstance(found, Edit) else None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("lookup(x)", "lockup(x)"), ("getPart(x)", "setPart(x)"), ("enable(x)", "enabled(x)"), ("rows(x)", "row(x)")],
)
def test_a_word_that_makes_another_name_is_no_slip(right: str, wrong: str) -> None:
    text, old = f"first(x)\n{right}\nlast(x)\n", f"first(x)\n{wrong}\nlast(x)\n"
    assert written(text, old, old + "more(x)\n") is None


@pytest.mark.parametrize("wrong", ["conection", "connetcion", "connecsion"])
def test_a_line_with_a_slip_stays_and_never_goes(wrong: str) -> None:
    text, old = "first(x)\nconnection(x)\nlast(x)\n", f"first(x)\n{wrong}(x)\nlast(x)\n"
    assert written(text, old, old + "more(x)\n") == text + "more(x)\n"
    assert written(text, old, "first(x)\nlast(x)\n") is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("#side-bar {", "#site-bar {"),
        ("#open(item) {", "#oven(item) {"),
        ("%ul.newest", "%ul.nearest"),
    ],
)
def test_a_name_with_a_sign_before_it_is_no_comment(right: str, wrong: str) -> None:
    lines = "  border: 2;\n  colour: 3;\n"
    assert written(f"{right}\n{lines}", f"{wrong}\n{lines}", f"{wrong}\n{lines}  margin: 1;\n") is None
    text, old = f"# the side bar\n{lines}", f"# this side bar\n{lines}"
    assert written(text, old, old + "  margin: 1;\n") == text + "  margin: 1;\n"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (".box .head {\n", ".box.head {", ".box.tail {"),
        ("LC= sort a\n", "LC=sort a", "LC=sort b"),
        ("cat <<END\nx\nEND\nmake\nrun it\n", "make run it", "make run all"),
        ("a\tb\nc\td\n", "c    d\n", "c    d\ne    f\n"),
        ('unit = "s²"\n', 'unit = "s2"', 'unit = "ms2"'),
        ("run --fast\n", "run --fast", "run –fast –all"),
    ],
)
def test_blanks_breaks_forms_and_dashes_that_mean_something_are_not_forgiven(text: str, old: str, new: str) -> None:
    assert written(text, old, new, "a.sh") is None


def test_a_short_call_that_stands_below_already_is_not_added_again() -> None:
    assert written("  go();\n  log();\n  end();\n", "  go();\n", "  go();\n  log();\n") is None
    assert written("  go();\n  log();\n  end();\n", "  go();\n", "  go();\n  end();\n") is not None
