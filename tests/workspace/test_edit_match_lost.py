"""Lines that both strings have without what the file has in them: they change elsewhere, and that stays."""

from __future__ import annotations

import html

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
        ("\tsh $$t ./a || exit 1\n", "\tsh $t ./a || exit 1", "\tsh $t ./a || exit 2", "\tsh $$t ./a || exit 2\n"),
        (
            "RAISE 'it isn''t free';\n",
            "RAISE 'it isn't free';",
            "RAISE 'this isn't free';",
            "RAISE 'this isn''t free';\n",
        ),
        ("See \\ref{a} of $\\phi$.\n", "See ref{a} of $phi$.", "See ref{a} and $phi$.", "See \\ref{a} and $\\phi$.\n"),
        (
            "| [aws](#the\\_aws) | >= 5 |\n",
            "| [aws](#the_aws) | >= 5 |",
            "| [aws](#the_aws) | >= 6 |",
            "| [aws](#the\\_aws) | >= 6 |\n",
        ),
        (
            "#define A(x)\t((x) - 1)\n",
            "#define A(x) ((x) - 1)",
            "#define A(x) ((x) - 1u)",
            "#define A(x)\t((x) - 1u)\n",
        ),
    ],
)
def test_a_line_changes_beside_an_escape_that_both_strings_lost(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('ID = r"^\\d{4}$"\n', 'ID = r"^d{4}$"', 'ID = r"^d+d{4}$"'),
        ('f("a \\"b\\" c");\n', 'f("a "b" c");', 'f("a "b" "c"");'),
        ("See [aws](#the\\_aws).\n", "See [aws](#the_aws).", "See [aws](#our_aws)."),
        ("See [aws](#the\\_aws).\n", "See [aws](#the_aws).", "See [aws](#the_aws).\nSee [gcp](#the_gcp)."),
        ('p("C:\\\\x\\\\y.txt")\n', 'p("C:\\x\\y.txt")', 'p("C:\\x\\z\\y.txt")'),
        ("<p>one &amp; two</p>\n", "<p>one & two</p>", "<p>one & two & three</p>"),
        ('f("a \\"b\\" c");\n', 'f("a "b" c");', 'f("a "d" c");'),
        ("See \\ref{a} and \\cite{b}.\nx\n", "See ref{a} and", "See ref{a} of cite{c} and"),
        ("\tsh $$t ./a\n", "\tsh $t ./a", "\tsh $t ./a $u"),
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


def test_marks_of_search_and_replace_are_no_part_of_the_strings() -> None:
    old, new = "<<<<<<< SEARCH\n    a: A,\n}\n=======", "    a: A,\n    b: B,\n}\n>>>>>>> REPLACE"
    assert after("struct S {\n    a: A,\n}\n", old, new) == "struct S {\n    a: A,\n    b: B,\n}\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        (
            "first_line_of(it, all)\n# why\nsecond(a)\n",
            "first_line_of(it, all)\nsecond(a)",
            "first_line_of(it, all)\nsecond(b)",
            "first_line_of(it, all)\n# why\nsecond(b)\n",
        ),
        (
            "<td>{formatDate(a)}</td>\n<td class='numeric'>{money(a)}</td>\n",
            "<td>{formatdate(a)}</td>\n<td class='numeric'>{money(a)}</td>",
            "<td>{formatdate(a)}</td>\n<td class='numeric'>{money(b)}</td>",
            "<td>{formatDate(a)}</td>\n<td class='numeric'>{money(b)}</td>\n",
        ),
    ],
)
def test_two_lines_are_known_by_one_that_is_nowhere_else(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted
    assert is_refused(text + "\n" + text, old, new)


def test_a_block_replaced_as_a_whole_begins_as_deep_as_it_did() -> None:
    text = "  const go = use(\n    (k) => {\n      run(k);\n    },\n    [k],\n  );\n"
    old = "  const go = use((k) => {\n    run(k);\n  }, [k]);"
    assert after(text, old, "  const go = other(k);", "a.ts") == "  const go = other(k);\n"


def test_other_things_between_dots_stand_for_what_was_left_out() -> None:
    text = "CREATE TABLE t (\n    id INT,\n    a TEXT,\n    b TEXT\n);\n"
    new = "    id BIGINT,\n    -- ... other columns ...\n    b TEXT\n"
    assert is_refused(text, "    id INT,\n    a TEXT,\n    b TEXT\n", new, "t.sql")


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "wanted"),
    [
        (  # a tab more is a level more, also where one line alone tells
            "a.go",
            "func f() {\n\tif a {\n\t\tbuf = g(n)\n\t}\n}\n",
            "\t\t\tbuf = g(n)\n",
            "\n\t\t\tif n > 9 {\n\t\t\t\tbuf = g(n)\n\t\t\t}\n",
            "func f() {\n\tif a {\n\n\t\tif n > 9 {\n\t\t\tbuf = g(n)\n\t\t}\n\t}\n}\n",
        ),
        (  # the stars of comments, a blank deeper, are no steps
            "a.js",
            "/**\n * A.\n *\n * @a\n * @b\n */\nfunction f() {\n  if (a) {\n    one();\n    two();\n  }\n}\n",
            "        one();\n        two();",
            "        if (b) {\n            one();\n        } else {\n            two();\n        }",
            "/**\n * A.\n *\n * @a\n * @b\n */\nfunction f() {\n  if (a) {\n"
            "    if (b) {\n      one();\n    } else {\n      two();\n    }\n  }\n}\n",
        ),
        (  # what is in tabs isn't as deep as the file has it by accident
            "a.lua",
            "function f()\n    if a then\n        one(1)\n        two(2)\n    end\nend\n",
            "\t\tone(1)\n\t\ttwo(2)",
            "\tone(3)\n\ttwo(2)",
            "function f()\n    if a then\n    one(3)\n    two(2)\n    end\nend\n",
        ),
    ],
)
def test_a_block_that_moves_is_in_the_terms_of_old_string(
    path: str, text: str, old: str, new: str, wanted: str
) -> None:
    assert after(text, old, new, path) == wanted


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (
            "if a:\n    if b:\n        zero()\n        one(1)\n        two(2)\nend()\n",
            "            one(1)\n            two(2)",
            "        one(3)\n        two(2)",
        ),
        (
            "def f():\n    if b:\n        one(1)\n        two(2)\n    return 1\n",
            "    one(1)\n    two(2)",
            "        one(3)\n        two(2)",
        ),
        ("def f():\n    return argv\n", "  return argv", "    return argv"),
        ("def f():\n    return argv\n", "  return argv", "    return argc"),
    ],
)
def test_a_block_that_moves_by_a_level_looks_like_one_that_is_right(text: str, old: str, new: str) -> None:
    assert is_refused(text, old, new, "a.py")


def test_an_outline_of_yaml_stays_one_where_depths_were_lost() -> None:
    text = "on: push\njobs:\n  a:\n    steps:\n      - uses: a@b\n\n      # Two\n      - uses: c@d\n"
    new = "\t\t- uses: e@f\n\t\twith:\n\t\t\tx: 1\n\n\t\t# Two\n\t\t- uses: c@d"
    assert is_refused(text, "\t\t# Two\n\t\t- uses: c@d", new, "ci.yml")


def test_without_any_indentation_nobody_knows_how_deep_a_new_block_is() -> None:
    text = "class A:\n    def f(self):\n        if a:\n            return b\n        c()\n        d()\n"
    old = "return b\nc()\nd()"
    assert is_refused(text, old, "return b\nif e(\nx\n):\nreturn c\nd()", "a.py")
    assert after(text, old, "return b\ne()\nd()", "a.py") == text.replace("c()", "e()")


def test_numbers_and_fences_are_taken_away_from_what_is_garbled_otherwise_too() -> None:
    text = "#include <direct.h>\n#endif\n#include <float.h>\nint a = b && c;\n"
    sent = html.escape(text, quote=False)
    new = sent.replace("#endif", html.escape("#include <path.h>", quote=False) + "\n#endif")
    wanted = text.replace("#endif", "#include <path.h>\n#endif")
    for garble in (numbered, fenced):
        found = match_edit(text, garble(sent), garble(new), path="a.c")
        assert isinstance(found, Edit)
        assert spliced(text, found.replacements) == wanted
    found = match_edit(text, numbered(sent), html.escape(numbered(new)), path="a.c")
    assert isinstance(found, Refusal)


def numbered(text: str) -> str:
    return "".join(f"{number:6}→{line}\n" for number, line in enumerate(text.splitlines(), 41))


def fenced(text: str) -> str:
    return f"```c\n{text}```\n"


def test_what_stays_behind_lines_left_out_may_stand_elsewhere_too() -> None:
    text = "def a\n  one\nend\n\ndef b(k)\n  two\nend\n\ndef c\n  three\nend\n\n"
    old, new = "def b(k)\n  # ...\nend\n\n", "def b(key)\n  # ...\nend\n\n"
    assert after(text, old, new, "a.rb") == text.replace("b(k)", "b(key)")
    assert is_refused(text, old, old.replace("end", "end # b"), "a.rb")
    assert is_refused(text.replace("c", "b(k)"), old, new, "a.rb")
    assert is_refused("end\n\ndef b(k)\n  two\n", old, new, "a.rb")
