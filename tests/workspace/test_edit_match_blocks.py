"""What random edits beside their known results have shown of blocks, moved lines and signs that new lines alone have."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, Refusal, Why, match_edit, spliced


def after(text: str, old: str, new: str, path: str = "/a.py") -> str:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit), found
    return spliced(text, found.replacements)


def is_unclear(text: str, old: str, new: str, path: str = "/a.py") -> bool:
    found = match_edit(text, old, new, path=path)
    return isinstance(found, Refusal) and found.why is Why.UNCLEAR


TEXT = "class A:\n    def f(self):\n        a()\n\n    def g(self):\n        b()\n\n    def h(self):\n        c()\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def g(self):\nb()\n\ndef h(self):\n", "b()\n\ndef h(self):\n"),
        ("def g(self):\n    b(“”)\n\ndef h(self):\n", '    b("")\n\ndef h(self):\n'),
        ("a()\n\ndef g(self):\nb()\n\ndef h(self):", "a()\n\nb()\n\ndef h(self):"),
    ],
)
def test_no_block_joins_the_one_before_when_its_head_goes(old: str, new: str) -> None:
    assert is_unclear(TEXT.replace("b()", 'b("")') if "“" in old else TEXT, old, new)


def test_a_block_may_get_another_head_and_more_lines() -> None:
    old, new = "def g(self):\n    b()\n", "def k(self):\n    a()\n    b()\n"
    assert after(TEXT, old, new) == TEXT.replace("g(self):\n", "k(self):\n        a()\n")


def test_a_line_that_moves_is_as_deep_as_it_was_where_all_indentation_is_lost() -> None:
    text = "run(\n{\n  path: '/echo',\n  method: 'GET',\n  headers: {\n    host: a,\n  }\n})\n"
    old = "{\npath: '/echo',\nmethod: 'GET',\nheaders: {\nhost: a,\n}\n})"
    new = "{\nmethod: 'GET',\npath: '/echo',\nheaders: {\nhost: a,\n}\n})"
    meant = text.replace("  path: '/echo',\n  method: 'GET',\n", "  method: 'GET',\n  path: '/echo',\n")
    assert after(text, old, new, "/a.js") == meant


def test_a_closing_line_that_stands_below_is_not_doubled() -> None:
    text = "class A {\n  f() {\n    a()\n\n    b()\n  }\n\n  g() {}\n}\n"
    old = "  f() {\n    a()\n    b()\n\n"
    assert is_unclear(text, old, "  f() {\n    a()\n    c()\n  }\n\n", "/a.js")


@pytest.mark.parametrize("quote", ["&quot;", "&#x27;", "&#39;"])
def test_a_string_does_not_begin_with_an_entity(quote: str) -> None:
    text = "#define A 1\n#define B 2\n"
    assert is_unclear(text, "#define B 2", f"report({quote}a{quote}, 1);\n#define B 2", "/a.h")
    kept = 'replace("&quot;", c); // as &quot;\n#define B 2'
    assert after(text, "#define B 2", kept, "/a.h") == text.replace("#define B 2", kept)


def test_a_numbered_blank_line_at_the_end_is_the_one_that_new_string_ends_in() -> None:
    text = 'f()\n\nreturn False\n}\n\n"""A role.\n"""\n'
    old = "2\t\n3\treturn False\n4\t}\n5\t"
    made = text.replace("False\n}\n", "True\n}\n\ng()\n")
    assert after(text, old, "\nreturn True\n}\n\ng()\n") == made


def test_a_new_line_among_others_at_no_depth_is_as_deep_as_what_it_replaces_or_what_is_on_both_sides() -> None:
    text = "x = {\n  a: {\n    b: 1,\n    c: [\n      2,\n    ],\n  },\n};\n"
    old = "x = {\na: {\nb: 1,\nc: [\n2,\n],\n},\n};"
    replaced = text.replace("    c: [\n      2,\n    ],\n", "    c: 2,\n")
    assert after(text, old, old.replace("c: [\n2,\n],", "c: 2,"), "/a.js") == replaced
    assert after(text, old, old.replace("b: 1,", "b: 1,\nd: 2,"), "/a.js") == text.replace("1,\n", "1,\n    d: 2,\n")
    assert is_unclear(text, old, old.replace("b: 1,", "d: 2,\nb: 1,"), "/a.js")


def test_a_rule_that_stands_below_is_not_doubled() -> None:
    text = "---\ntitle: a\nsection: 1\n---\n\n# A\n"
    assert is_unclear(text, "title: a\nsection: 1\n", "title: a\nsection: 2\n---\n", "/a.md")
