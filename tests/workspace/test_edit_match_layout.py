"""Text that a formatter broke over other lines than a model has it in memory."""

from __future__ import annotations

import re

import pytest

from dogu.workspace.edit_match import Edit, Refusal, match_edit, spliced


def after(text: str, old: str, new: str, path: str = "") -> str:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit), found
    return spliced(text, found.replacements)


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "wanted"),
    [
        (
            "a.c",
            "void f(int x)\n{\n\ta(x);\n}\n",
            "void f(int x) {\n    a(x);\n}",
            "void f(int x) {\n    a(x);\n    b(x);\n}",
            "void f(int x)\n{\n\ta(x);\n\tb(x);\n}\n",
        ),
        (
            "a.js",
            "function f(x)\n{\n  a(x);\n}\n",
            "function f(x) {\n  a(x);\n}",
            "function f(x) {\n  a(x);\n  b(x);\n}",
            "function f(x)\n{\n  a(x);\n  b(x);\n}\n",
        ),
        (
            "a.scss",
            ".a {\n  box-shadow: 0 1px 2px red, 0 4px 9px blue;\n}\n",
            "  box-shadow:\n    0 1px 2px red,\n    0 4px 9px blue;\n}",
            "  box-shadow:\n    0 1px 2px red,\n    0 4px 9px blue;\n  z-index: 1;\n}",
            ".a {\n  box-shadow: 0 1px 2px red, 0 4px 9px blue;\n  z-index: 1;\n}\n",
        ),
        (
            "a.ts",
            "const total =\n  items.count();\nnext();\n",
            "const total = items.count();\nnext();",
            "const total = items.count();\nlast();",
            "const total =\n  items.count();\nlast();\n",
        ),
        (
            "a.sql",
            "INSERT INTO t (a, b)\nVALUES (1, 2)\nRETURNING id;\n",
            "INSERT INTO t (a, b) VALUES (1, 2) RETURNING id;",
            "SELECT f(1, 2);",
            "SELECT f(1, 2);\n",
        ),
        (
            "a.vue",
            '<p>\n  <b v-if="x" class="y">Go on</b>\n</p>\n',
            '  <b\n    v-if="x"\n    class="y"\n  >\n    Go on\n  </b>\n',
            "",
            "<p>\n</p>\n",
        ),
        (
            "a.kt",
            "    load { api.get(id) }\n        .onSuccess { put(it) }\n        .onFailure { log(it) }\n",
            "    load { api.get(id) }.onSuccess { put(it) }.onFailure { log(it) }\n",
            "    cached(id)\n",
            "    cached(id)\n",
        ),
        (
            "a.md",
            "The first run loads the list (about 4 MB). Behind a proxy set\n`HTTPS_PROXY` before the run.\n",
            "The first run loads the list (about 4 MB). Behind a proxy set `HTTPS_PROXY` before the run.",
            "The first run loads the list.",
            "The first run loads the list.\n",
        ),
    ],
)
def test_a_break_means_nothing_where_no_statement_ends(path: str, text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new, path) == wanted


LIST = 'a = [\n    "p",\n    "q",\n]\ndev = ["x", "y"]\n'
WIDE = 'dev = [\n    "x",\n    "y",\n]'


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "wanted"),
    [
        # one line takes another's place: within the file's line
        (
            "a.rs",
            "    S { a, b: false }\n",
            "    S {\n        a,\n        b: false,\n    }",
            "    S {\n        a,\n        b: true,\n    }",
            "    S { a, b: true }\n",
        ),
        # lines more: laid out as new_string has it
        (
            "a.toml",
            LIST,
            WIDE,
            WIDE.replace('"y"', '"w",\n    "y"'),
            LIST.replace('["x", "y"]', '[\n    "x",\n    "w",\n    "y",\n]'),
        ),
        ("a.c", "  f(a, b);\n  g();\n", "  f(a,\n    b);\n  g();", "  f(b);\n  g();", "  f(b);\n  g();\n"),
        # the last comma is the file's
        (
            "a.kt",
            "class N(\n    val a: A,\n    val b: B,\n)\n",
            "class N(\n    val a: A,\n    val b: B\n)",
            "class N(\n    val a: A,\n    val b: B,\n    val c: C\n)",
            "class N(\n    val a: A,\n    val b: B,\n    val c: C,\n)\n",
        ),
        (
            "a.c",
            "int f(\n    int a,\n    int b\n);\n",
            "int f(\n    int a,\n    int b,\n);",
            "int f(\n    int a,\n    int b,\n    int c,\n);",
            "int f(\n    int a,\n    int b,\n    int c\n);\n",
        ),
        (
            "a.rs",
            "    f(\n        g()\n            .a(),\n    )\n",
            "    f(\n        g()\n            .a()\n    )",
            "    f(\n        g()\n            .a()\n            .b()\n    )",
            "    f(\n        g()\n            .a()\n            .b(),\n    )\n",
        ),
        (
            "a.html",
            '<meta a="b">\n<p>x</p>\n',
            '<meta a="b" />\n<p>x</p>',
            '<meta a="b" />\n<br />\n<p>y</p>',
            '<meta a="b">\n<br>\n<p>y</p>\n',
        ),
        (
            "a.ts",
            "const a = f();\nreturn a;\n",
            "const a = f()\nreturn a\n",
            "const a = f()\nreturn a + 1\n",
            "const a = f();\nreturn a + 1;\n",
        ),
        (
            "a.ts",
            "const a = f()\nreturn a\n",
            "const a = f();\nreturn a;\n",
            "const a = g();\nh();\nreturn a;\n",
            "const a = g()\nh()\nreturn a\n",
        ),
    ],
)
def test_what_a_formatter_adds_is_as_the_file_has_it(path: str, text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new, path) == wanted


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.ts", "const a = f();\nreturn a;\n", "const a = f()\nreturn a\n", "const a = f()\nuse(a)\nreturn a\n"),
        ("a.ts", "const a = f()\nuse(a);\n", "const a = f();\nuse(a);\n", "const a = f();\nlast(a);\nuse(a);\n"),
        ("a.xml", "<a>\n<b c='d'>\n</a>\n", "<a>\n<b c='d' />\n</a>", "<a>\n<b c='e' />\n</a>"),
    ],
)
def test_whether_a_new_line_has_it_too_cant_be_told(path: str, text: str, old: str, new: str) -> None:
    assert isinstance(match_edit(text, old, new, path=path), Refusal)


@pytest.mark.parametrize(
    ("path", "text", "old"),
    [
        ("a.py", "from one import a\nfrom two import b\nuse(a, b)\n", "from one import a from two import b\nuse(a, b)"),
        ("a.md", "```js\nimport A from 'a'\nrun(A)\n```\n", "```js import A from 'a'\nrun(A)"),
        ("a.yml", "- run: make\n  test:\n    x: 1\n", "- run: make test"),
        ("a.sh", "cd build\nmake install\n", "cd build make"),
        ("a.env", "HOST=b\nPORT=1\n", "HOST=b PORT=1"),
        ("a.c", "#define A 1\nint b;\n", "#define A 1 int b;"),
    ],
)
def test_a_break_that_ends_something_is_no_blank(path: str, text: str, old: str) -> None:
    assert isinstance(match_edit(text, old, "something = 1", path=path), Refusal)


TABLE = """\
| Name     | Default | Text               |
| -------- | ------- | ------------------ |
| `first`  | `1`     | The first of them. |
| `second` | `"two"` | Another one.       |

| Other | Text |
| --- | --- |
| x | y |
"""
SENT = re.sub(r" +\|", " |", re.sub("-+", "---", TABLE[: TABLE.index("\n\n") + 1]))


@pytest.mark.parametrize(
    ("old", "new", "right", "wanted"),
    [
        ('| `second` | `"two"` | Another one. |\n', "", None, ""),
        ("Another one. |", "The other. |", "Another one.       |", "The other.         |"),
        (
            "| `second`",
            "| third | 3 | New. |\n| `second`",
            None,
            "| third    | 3       | New.               |\n| `second`",
        ),
        ("| `second`", "| the third one | 3 | New. |\n| `second`", None, None),
    ],
)
def test_rows_of_a_table_are_as_wide_as_the_files(old: str, new: str, right: str | None, wanted: str | None) -> None:
    assert old in SENT
    found = match_edit(TABLE, SENT, SENT.replace(old, new), path="a.md")
    assert isinstance(found, Edit)
    lines = TABLE.split("\n")
    if wanted == "":
        lines = [line for line in lines if not line.startswith("| `second`")]
        assert spliced(TABLE, found.replacements) == "\n".join(lines)
    else:
        right = right or old
        assert spliced(TABLE, found.replacements) == TABLE.replace(right, wanted or new)


def test_a_table_of_other_columns_is_another_one() -> None:
    for rule in ("| --- | --- |", "| --- | :-: | --- |"):
        old = SENT.replace("| --- | --- | --- |", rule)
        assert isinstance(match_edit(TABLE, old, old.replace("Another", "An"), path="a.md"), Refusal)


def test_rows_stay_as_they_are_sent_where_the_files_arent_even() -> None:
    text = TABLE.replace("first`  |", "first` |")
    new = SENT + "| third | 3 | New. |\n"
    found = match_edit(text, SENT, new, path="a.md")
    assert isinstance(found, Edit)
    assert "| third | 3 | New. |\n" in spliced(text, found.replacements)


def test_cells_of_wide_characters_and_numbers_are_as_their_columns_are() -> None:
    text = "| 名前 | 数 |\n| ---- | -: |\n| 一つ |  1 |\n| a    | 12 |\n"
    old = "| 名前 | 数 |\n| --- | -: |\n| 一つ | 1 |\n| a | 12 |\n"
    found = match_edit(text, old, old + "| b | 7 |\n", path="a.md")
    assert isinstance(found, Edit)
    assert spliced(text, found.replacements) == text + "| b    |  7 |\n"


def test_a_line_of_blanks_alone_is_indented_as_the_file_is() -> None:
    text = "class A {\n\tprivate $one;\n\t\n\t/** x */\n\tprivate $two;\n}\n"
    old = "    private $one;\n\n    /** x */\n"
    new = "    private $one;\n    \n    /** y */\n    private $more;\n    \n    /** x */\n"
    found = match_edit(text, old, new, path="a.php")
    assert isinstance(found, Edit)
    assert spliced(text, found.replacements) == text.replace(
        "\t/** x */\n", "\t/** y */\n\tprivate $more;\n\t\n\t/** x */\n"
    )


def test_a_line_that_takes_in_the_next_one_stands_where_it_stood() -> None:
    text = "    if wide(table) or (\n        table.width is None\n        and table.other < limit\n    ):\n        return\n"
    old = text.replace("        table.width", "            table.width")
    new = old.replace("None\n        and table.other", "None and other").replace("limit", "limits")
    found = match_edit(text, old, new, path="a.py")
    assert isinstance(found, Edit)
    assert spliced(text, found.replacements) == text.replace(
        "None\n        and table.other < limit", "None and other < limits"
    )


FLAT = """\
from box import Body, Frame, Path
from lid import Lid

def draw(self):
    if not self.legacy or self.count or self.record:
        text = self.render(self.count)
    return first_part + second_part
"""
WRAPPED = """\
from box import (
    Body,
    Frame,
    Path,
)
from lid import Lid

def draw(self):
    if (
        not self.legacy
        or self.count
        or self.record
    ):
        text = self.render(self.count)
    return (
        first_part
        + second_part
    )
"""


@pytest.mark.parametrize(("text", "old"), [(FLAT, WRAPPED), (WRAPPED, FLAT)])
@pytest.mark.parametrize(
    ("was", "now"),
    [("from lid import Lid", "from lid import Cap"), ("self.render(self.count)", "self.show()")],
)
def test_brackets_that_wrap_a_statement_may_be_there_or_not(text: str, old: str, was: str, now: str) -> None:
    found = match_edit(text, old, old.replace(was, now), path="a.py")
    assert isinstance(found, Edit)
    assert spliced(text, found.replacements) == text.replace(was, now)
    part = old[old.index("    if") : old.index("    return")]
    found = match_edit(text, part, part.replace("self.legacy", "self.old"), path="a.py")
    assert isinstance(found, Edit)
    there = text[text.index("    if") : text.index("    return")]
    assert spliced(text, found.replacements) == text.replace(there, part.replace("self.legacy", "self.old"))


@pytest.mark.parametrize(
    ("flat", "wrapped"),
    [
        ("value = first\n", "value = (\n    first,\n)\n"),
        ("if first and second:\n", "if (\n    first and  # why\n    second\n):\n"),
        ("if first and second:\n", "if (\n    first and other\n):\n"),
        ("if not first and second:\n", "if not (\n    first and second\n):\n"),
        ("value = first + second * 2\n", "value = (\n    first + second\n) * 2\n"),
    ],
)
def test_brackets_that_mean_something_are_not_taken_away(flat: str, wrapped: str) -> None:
    for text, old in ((flat, wrapped), (wrapped, flat)):
        text, old = (
            f"before = 1\n{lines}    pass\n" if "if" in flat else f"before = 1\n{lines}" for lines in (text, old)
        )
        found = match_edit(text, old, old.replace("before = 1", "before = 2"), path="a.py")
        assert isinstance(found, Refusal)
