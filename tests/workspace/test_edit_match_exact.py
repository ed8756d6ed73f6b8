"""What is refused though `old_string` is in the file as it was sent: what would be written there can't be meant."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, Refusal, Why, match_edit, spliced


def written(text: str, old: str, new: str, path: str = "", expected: int | None = 1) -> str | None:
    """Return the text after the edit, None where it is refused as unclear."""
    found = match_edit(text, old, new, expected, path=path)
    if isinstance(found, Refusal):
        assert found.why is Why.UNCLEAR, found
        return None
    assert isinstance(found, Edit)
    return spliced(text, found.replacements)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("from a.b import c\nx()\n", "from a", "from a\nfrom d"),
        ("port = env or 80\nx()\n", "port = env", "port = env;\nhost = none;"),
        ("RUN make && make test\n", "RUN make", "RUN make\nRUN make lint"),
        ("- first: Ada Maria\n- last: B\n", "- first: Ada", "- first: Ada\n    age: 3"),
    ],
)
def test_the_rest_of_a_line_goes_to_no_line_below(text: str, old: str, new: str) -> None:
    assert written(text, old, new) is None


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ("f(a);\n", "f(a)", "f(a)\n    .g()", "f(a)\n    .g();\n"),
        ("f(a, b);\n", "f(", "f(\n    ", "f(\n    a, b);\n"),
        ("use a;\n", "use a", "use a;\nuse b", "use a;\nuse b;\n"),
        ("x = [a]\n", "a", "a,\n    b,\n", "x = [a,\n    b,\n]\n"),
    ],
)
def test_the_rest_of_a_line_stands_behind_what_goes_on_with_it(text: str, old: str, new: str, wanted: str) -> None:
    assert written(text, old, new) == wanted


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("image: db:5.4\n", "image: db:5", "image: db:6"),
        ("filename: str\n", "name: str", "name: str | None"),
        ("#LEVEL=3\nPORT=1\n", "LEVEL=3", "LEVEL=4"),
        ("  f(g(x))\n", "f(g(x)", "f(g(x))"),
    ],
)
def test_no_part_of_a_number_a_name_a_comment_or_a_bracket_is_taken_for_the_whole(
    text: str, old: str, new: str
) -> None:
    assert written(text, old, new) is None


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("version = 1.4.2\n", "1.4", "1.5"),
        ("use: a@v1.4.2\n", "a@v1", "a@v2"),
        ("ratio = 1.5\n", "ratio = 1", "share = 1"),
        ("# old words\n", "old words", "new words"),
        ("cheapest\n", "cheap", "dear"),
    ],
)
def test_a_part_that_is_meant_is_replaced(text: str, old: str, new: str) -> None:
    assert written(text, old, new) == text.replace(old, new)


def test_a_word_that_is_also_a_part_of_others_is_replaced_nowhere() -> None:
    assert written("pay = 1\nif payload(pay):\n", "pay", "fee", expected=None) is None
    for text in ("item = 1\nitems = [item]\n", "max_size = size\n", "size = getSize()\n"):
        old, new = ("item", "part") if "item" in text else ("size", "length")
        assert written(text, old, new, expected=None) == text.replace(old, new)


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.py", "def f():\n    a()\n    b()\n", "    b()\n", "start(3)\n"),
        ("a.yml", "a:\n  b:\n    c: 1\n", "    c: 1\n", "d: 2\n"),
        ("a.coffee", "class A\n  f: ->\n    @g()\n", "    @g()\n", "$(x).on 'y'\n"),
        ("a.nim", "for i in a:\n  x(i)\n  y(i)\n", "  y(i)\n", "if i > 1:\n  y(i)\n"),
        (
            "a.py",
            "def f():\n    if x:\n        g()\n",
            "if x:\n        g()",
            "try:\n    if x:\n        g()\nfinally:\n    h()",
        ),
    ],
)
def test_new_lines_end_no_block_by_a_lost_indentation(path: str, text: str, old: str, new: str) -> None:
    assert written(text, old, new, path) is None


def test_a_line_may_leave_its_block() -> None:
    text = "def f():\n    a()\n    b()\n"
    assert written(text, "    b()\n", "b()\n", "a.py") == "def f():\n    a()\nb()\n"
    text = "a = [\n    1,\n    2,\n]\n"
    assert written(text, "    2,\n", "]\nb = [\n    3,\n", "a.py") == "a = [\n    1,\n]\nb = [\n    3,\n]\n"


@pytest.mark.parametrize("path", ["a.env", "a.md", "a.yaml"])
def test_a_lost_final_line_break_joins_no_lines(path: str) -> None:
    text = "one: 1\ntwo: 2\nfour: 4\n"
    assert written(text, "two: 2\n", "three: 3", path) == "one: 1\nthree: 3\nfour: 4\n"
    assert written("  a: 1\n  b: 2\n", "a: 1\n", "c: 3", path) == "  c: 3\n  b: 2\n"
    assert written("f(\n  a,\n  b)\n", "f(\n  a,\n", "f(a, ", path) == "f(a,   b)\n"
    assert written("if a {\n  b\n}\n", "if a {\n", "if c {", path) == "if c {\n  b\n}\n"
    assert written("x:\n  b\n", "x:\n", "y = [", path) == "y = [\n  b\n"
    assert written("a: 1\n\nb: 2\n", "a: 1\n", "a: 3", path) == "a: 3\n\nb: 2\n"
    assert written("a: 1\n\nb: 2\n", "a: 1\n", "a: 1", path) == "a: 1\nb: 2\n"


@pytest.mark.parametrize("path", ["a.py", "a.json", "a.ts", "A.java"])
def test_no_string_that_ends_with_its_line_goes_on_in_the_next(path: str) -> None:
    assert written('x = f("a");\n', 'f("a")', 'f("a\nb")', path) is None
    assert written('x = f("a");\n', 'f("a")', 'f("a",\n  "b")', path) == 'x = f("a",\n  "b");\n'
    assert written('x = f("a")\n', 'f("a")', 'f("a\nb")', "a.rb") == 'x = f("a\nb")\n'


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("names.csv", "rust\n", "go\nrust\n"),
        ("a.py", '"""Parts', '"""Part\n======='),
        ("a.md", "сайты\n", "URLы и APIшки\n"),
        ("a.md", "שלום\n", "\u200fשלום (x)\n"),
    ],
)
def test_what_looks_garbled_elsewhere_is_written_where_it_is_meant(path: str, old: str, new: str) -> None:
    assert written(old, old, new, path) == new


@pytest.mark.parametrize(
    ("text", "escaped"),
    [('if f("a\\"b"):\n    g("$x")\n', '\\"'), ('echo "a: $b"\necho `c`\n', '"$`')],
)
def test_two_kinds_of_escapes_of_one_level_are_undone_together(text: str, escaped: str) -> None:
    old, new = (
        "".join("\\" * (char in escaped) + char for char in string) for string in (text, text.replace("a", "other"))
    )
    assert written(text, old, new) == text.replace("a", "other")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "    a()\n    b()\n", "     a()\n     c()\n"),
        ("a.py", "    a()\n", '    a(\\"x\\")\n'),
        ("a.py", "    a()\n    b()\n", "    a()\\n    c()\n"),
        ("a.yml", "  b: 1\n  c: 2\n", "   b: 1\n   c: 3\n"),
        ("a.toml", 'b = "1"\n', "b = &quot;2&quot;\n"),
    ],
)
def test_what_can_be_parsed_but_for_a_garbling_is_not_written_with_it(path: str, old: str, new: str) -> None:
    heads = {"a.py": "def f():\n    x()\n", "a.yml": "a:\n  z: 0\n"}
    assert written(heads.get(path, "") + old, old, new, path) is None


def test_what_breaks_a_file_by_itself_is_written_as_it_is_meant() -> None:
    assert written("def f():\n    a()\n", "    a()\n", "    try:\n        a()\n", "a.py") is not None


@pytest.mark.parametrize(
    ("path", "old", "line"),
    [
        ("p.toml", 'name = "a"\nrequires = ">=3.7"\n', 'requires = ">=3.8"'),
        ("a.md", "# Backends need an [API](https://a.b)\n", "# [An API](https://a.b)"),
        ("a.adoc", "全て完了するまで64msかかる\n", "全て完了するまで64msかかります"),
    ],
)
def test_one_plus_before_a_line_that_changes_is_a_diff_s(path: str, old: str, line: str) -> None:
    head = "".join(old.splitlines(keepends=True)[:-1])
    assert written(f"{old}end\n", old, f"{head}+{line}\n", path) is None
    assert written(f"{old}end\n", old, f"{head}{line}\n", path) == f"{head}{line}\nend\n"


def test_a_plus_may_begin_a_line_of_text_that_says_something_else() -> None:
    old, new = "Call the office.\n", "+49 30 1234\n"
    assert written(f"{old}end\n", old, new, "a.md") == f"{new}end\n"
