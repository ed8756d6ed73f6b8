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


@pytest.mark.parametrize("line", ["// b does it.", "# b", "@Override", "/* b */", "#[test]", '[Fact("b")]', "-- b"])
def test_what_leads_to_a_line_stays_above_it_where_old_string_leaves_out_the_blank_line(line: str) -> None:
    text = "func a() {\n}\n\nfunc b() {\n\tx := 1\n}\n"
    old = "}\nfunc b() {\n\tx := 1\n"
    new = old.replace("func b", f"{line}\nfunc b")
    assert after(text, old, new, "/a.go") == text.replace("func b", f"{line}\nfunc b")
    commented = text.replace("}\n\n", "}\n// end of a\n\n")
    new = "// end of a\n// and more of it\nfunc b() {\n"
    assert after(commented, "// end of a\nfunc b() {\n", new, "/a.go") == commented.replace(
        "of a\n", "of a\n// and more of it\n"
    )


def test_a_blank_line_that_old_string_leaves_out_is_put_into_no_new_lines() -> None:
    text = "struct A {\n  int a;\n};\n\n}\n"
    macro = "#define M(x) \\\ntry { \\\n  f(x); \\\n}\n\n"
    old = "struct A {\n  int a;\n};\n}\n"
    assert after(text, old, old.replace(";\n};\n", f";\n}};\n{macro}"), "/a.h") == text.replace(
        "\n\n}", f"\n\n{macro}}}"
    )


def test_a_blank_line_that_both_strings_invent_is_written_into_no_file() -> None:
    text = "function a() {\n  return 1;\n}\n\nfunction b() {\n  return 2;\n}\n\nfunction c() {\n  return 3;\n}\n"
    gone = "function b() {\n  return 2;\n}\n\n"
    old = f"  return 1;\n\n}}\n\n{gone}function c() {{\n"
    assert after(text, old, old.replace(gone, ""), "/a.js") == text.replace(gone, "")


def test_a_blank_line_with_a_number_is_one() -> None:
    text = "all: x\n\n# one\n# two\nSCRIPTS = a\n"
    old = "     1\tall: x\n     2\t\n     3\t# one\n     4\t# two"
    for end in ("", "\n"):
        assert after(text, old + end, f"     1\tall: x\n     2\t{end}", "/Makefile") == "all: x\n\nSCRIPTS = a\n"


def test_blank_lines_that_both_strings_end_in_stay_where_only_old_string_is_numbered() -> None:
    text = "class A:\n    a: str\n\n\nclass B(A):\n    pass\n"
    old = "1\tclass A:\n2\t    a: str\n3\t\n4\t"
    assert after(text, old, "class A:\n    b: str\n\n") == text.replace("a: str", "b: str")
    assert (
        after(text, "5\tclass B(A):\n6\t    pass", "5\t") == "class A:\n    a: str\n\n\n"
    )  # an empty string, numbered


def test_a_break_of_markdown_is_no_padding() -> None:
    text = "# Title\n\nold line\nend\n"
    assert after(text, "# Title \n\nold line\nend", "# Title \n\nnew line  \nsecond \nend", "/a.md") == (
        "# Title\n\nnew line  \nsecond\nend\n"
    )


def test_a_text_that_is_elsewhere_too_is_written_where_only_blanks_at_an_end_are_lost() -> None:
    text = "def f():\n    x = one(1)\n    return x\n\n\ndef g():\n    x = two(2)\n    return x\n"
    old, new = "    x = one(1) \n    return x\n", "    x = two(2)\n    return x\n"
    assert after(text, old, new) == text.replace("one(1)", "two(2)")


def test_a_heading_is_no_comment_that_old_string_leaves_out() -> None:
    text = "# T\n\nfirst words of it go\n## Heading\non for a second line here\n\nend\n"
    old = "first words of it go\non for a second line here\n"
    new = "first words of it are now\nother and run on here\n"
    assert isinstance(match_edit(text, old, new, path="/a.md"), Refusal)
    assert isinstance(match_edit(text, old, new, path="/a.sh"), Edit)


@pytest.mark.parametrize(("text", "line"), [("* a\n  * b\n\n## C\n", "* d"), ("#A=1\n#B=2\n\n# c\n", "#D=3")])
def test_one_more_of_what_is_above_stays_above_the_blank_line_that_old_string_leaves_out(text: str, line: str) -> None:
    old = text.replace("\n\n", "\n")
    head, _, tail = text.partition("\n\n")
    assert after(text, old, f"{head}\n{line}\n{tail}", "/a.md") == f"{head}\n{line}\n\n{tail}"


def test_the_last_line_break_of_a_file_goes_with_no_empty_line_that_only_old_string_has() -> None:
    text = "module A\n  B = 1\nend\n"
    assert after(text, "module A\n    B = 1\nend\n\n", "module A\n    B = 2\nend\n", "/a.rb") == text.replace("1", "2")
    padded = "  B = 1\nend\n\n"
    assert after(text, padded, padded.replace("end\n", "end\n\nC = 2\n"), "/a.rb") == f"{text}\nC = 2\n"
