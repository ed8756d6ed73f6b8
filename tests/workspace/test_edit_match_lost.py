"""Lines that both strings have without what the file has in them: they change elsewhere, and that stays."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, Refusal, match_edit, spliced


def after(text: str, old: str, new: str, path: str = "") -> str:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit), found
    return spliced(text, found.replacements)


def is_refused(text: str, old: str, new: str, path: str = "") -> bool:
    return isinstance(match_edit(text, old, new, path=path), Refusal)


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ('ID = r"^\\d{4}$"\n', 'ID = r"^d{4}$"', 'ID = r"^d{6}$"', 'ID = r"^\\d{6}$"\n'),
        ('f("a \\"b\\" c");\n', 'f("a "b" c");', 'g("a "b" c");', 'g("a \\"b\\" c");\n'),
        ('p("C:\\\\x\\\\y.txt")\n', 'p("C:\\x\\y.txt")', 'p("C:\\x\\y.md")', 'p("C:\\\\x\\\\y.md")\n'),
        (
            "<p>one &amp; two</p>\n",
            "<p>one & two</p>",
            '<p class="x">one & two</p>',
            '<p class="x">one &amp; two</p>\n',
        ),
        ("<p>wait&hellip;</p>\n", "<p>wait…</p>", "<p>please wait…</p>", "<p>please wait&hellip;</p>\n"),
        ("  <p>&copy; 2024 me</p>\n", "<p>© 2024 me</p>", "<p>© 2025 me</p>", "  <p>&copy; 2025 me</p>\n"),
    ],
)
def test_a_line_changes_beside_an_escape_that_both_strings_lost(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('ID = r"^\\d{4}$"\n', 'ID = r"^d{4}$"', 'ID = r"^d+d{4}$"'),
        ('f("a \\"b\\" c");\n', 'f("a "b" c");', 'f("a "b" "c"");'),
        ('p("C:\\\\x\\\\y.txt")\n', 'p("C:\\x\\y.txt")', 'p("C:\\x\\z\\y.txt")'),
        ("<p>one &amp; two</p>\n", "<p>one & two</p>", "<p>one & two & three</p>"),
        ('f("a \\"b\\" c");\n', 'f("a "b" c");', 'f("a "d" c");'),
    ],
)
def test_a_line_that_may_have_lost_another_one_is_refused(text: str, old: str, new: str) -> None:
    assert is_refused(text, old, new)


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        (
            "  (k, v) <- items\n  go k\n",
            "  (k, v) ← items\n  go k",
            "  (k, v) ← list\n  go k",
            "  (k, v) <- list\n  go k\n",
        ),
        ("RUN add --quiet x\n", "RUN add —quiet x", "RUN add —quiet x y", "RUN add --quiet x y\n"),
        ("a ``b c'' d---e\n", "a “b c” d—e", "a “b f” d—e", "a ``b f'' d---e\n"),
        ('b = "${n}-x"\n', 'b = "$\\{n}-x"', 'b = "$\\{n}-y"', 'b = "${n}-y"\n'),
    ],
)
def test_signs_that_a_model_typesets_are_those_of_the_file(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


def test_other_things_between_dots_stand_for_what_was_left_out() -> None:
    text = "CREATE TABLE t (\n    id INT,\n    a TEXT,\n    b TEXT\n);\n"
    new = "    id BIGINT,\n    -- ... other columns ...\n    b TEXT\n"
    assert is_refused(text, "    id INT,\n    a TEXT,\n    b TEXT\n", new, "t.sql")
