"""Finding what an edit means and writing it: what each stage forgives, what it writes, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import dedent, indent

import pytest

from dogu.workspace.edit_match import (
    Edit,
    Edits,
    Refusal,
    Wanted,
    Why,
    find,
    match_edit,
    match_edits,
    spliced,
    written_lines,
)

CODE = dedent(
    '''\
    import os


    class Shop:
        """A shop."""

        def total(self, items):
            result = 0
            for item in items:
                result += item.price
            return result

        def first(self, items):
            # the cheapest one
            return min(items, key=lambda item: item.price)
    '''
)
LOOP = "        for item in items:\n            result += item.price\n        return result\n"


def edit(text: str, old: str, new: str, expected: int | None = 1) -> tuple[str, Edit]:
    """Return the text after the edit, and the edit."""
    found = match_edit(text, old, new, expected)
    assert isinstance(found, Edit), found
    out: list[str] = []
    at = 0
    for start, end, body in found.replacements:
        assert at <= start <= end <= len(text)
        out += text[at:start], body
        at = end
    return "".join([*out, text[at:]]), found


def after(text: str, old: str, new: str, expected: int | None = 1) -> str:
    return edit(text, old, new, expected)[0]


def refusal(text: str, old: str, new: str, expected: int | None = 1, path: str = "") -> Refusal:
    found = match_edit(text, old, new, expected, path=path)
    assert isinstance(found, Refusal), found
    return found


# exact


@pytest.mark.parametrize("new", ["$& $1 \\1 \\n", "&lt;&amp;lt;", "```x```", "12: x", "“x”", " x ", "", "...", "\\d+"])
def test_an_exact_match_writes_new_as_it_is(new: str) -> None:
    result, found = edit(CODE, "result += item.price", new)
    assert result == CODE.replace("result += item.price", new)
    assert found.is_exact
    assert found.lines == ((10, 10),)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("total = 1", "if ready:\n    total = 1", "    if ready:\n        total = 1\n"),
        ("total = 1", "total = 1\ncount = 2", "    total = 1\n    count = 2\n"),
        ("  total = 1", "  if ready:\n      total = 1", "    if ready:\n        total = 1\n"),
        ("total = 1", "total = 1\n    count = 2", "    total = 1\n    count = 2\n"),
        ("total = 1", "total = 1\n\n\ndef g():\n    pass", "    total = 1\n\n\ndef g():\n    pass\n"),
    ],
)
def test_several_lines_for_one_sent_without_its_indentation_get_it_where_they_lack_it(
    old: str, new: str, wanted: str
) -> None:
    assert after("def f():\n    total = 1\n", old, new) == "def f():\n" + wanted


def test_a_paragraph_sent_without_its_indentation_gets_it_where_the_block_goes_on() -> None:
    text = "    It calls into these:\n\n    - one\n"
    assert after(text, "It calls into these:", "It is plain.\n\nIt calls these:") == (
        "    It is plain.\n\n    It calls these:\n\n    - one\n"
    )


def test_a_line_that_happens_to_be_as_deep_as_the_file_s_last_one_proves_nothing() -> None:
    text = "steps:\n  - name: a\n    mode: x\n    when: y\n"
    old = "    mode: x\n    when: y\n"
    assert after(text, indent(old, "  "), "      user: z\n") == text.replace(old, "    user: z\n")
    nested = "tasks:\n    - name: a\n      file:\n        path: b\n"
    assert after(nested, "  - name: a\n    file:\n      path: b\n", "      user: z\n") == ("tasks:\n        user: z\n")


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "wanted"),
    [
        (
            "a.py",
            'class A:\n    def f(self):\n        """Do::\n\n        a(1)\n        b(2)\n        """\n        def g():\n'
            "            pass\n        return g\n",
            '    a(1)\n    b(2)\n    """\n    def g():',
            '        a(1)\n        b(3)\n    """\n    def g():',
            "            a(1)\n            b(3)\n",
        ),
        (
            "a.js",
            "describe(() => {\n  it(() => {\n    app\n      .get(1)\n      .end(2)\n  })\n})\n",
            "    .get(1)\n    .end(2)\n})",
            "      .get(1)\n      .end(3)\n})",
            "        .get(1)\n        .end(3)\n",
        ),
    ],
)
def test_of_two_ways_to_indent_the_one_is_taken_that_the_text_hangs_together_with(
    path: str, text: str, old: str, new: str, wanted: str
) -> None:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit), found
    assert wanted in spliced(text, found.replacements)


def test_a_block_loses_its_indentation_where_lines_that_both_strings_have_never_had_any() -> None:
    text = "function f() {\n  if (a) {\n    g();\n    i();\n  }\n  h();\n}\n"
    wanted = text.replace("    g();\n    i();\n  }\n", "  g();\n  i();\n")
    assert after(text, "  g();\n  i();\n}\nh();\n", "g();\ni();\nh();\n") == wanted


def test_an_edit_that_begins_with_a_later_line_is_as_deep_as_the_lines_that_stay() -> None:
    text = "case x:\n    a = 1\n  elif y:\n    b = 2\n  done\n"
    old, new = "      a = 1\n    elif y:\n      b = 2", "    elif y:\n      b = 3"
    assert after(text, old, new) == "case x:\n  elif y:\n    b = 3\n  done\n"


def test_a_line_that_goes_without_its_indentation_leaves_none_of_it() -> None:
    text = "def f():\n    x = 1\n    y = 2\n    return x\n"
    assert after(text, "y = 2\n", "") == "def f():\n    x = 1\n    return x\n"
    assert after(text, "x = 1\n    y = 2\n", "") == "def f():\n    return x\n"


def test_a_first_line_that_brings_its_own_indentation_takes_the_place_of_the_file_s() -> None:
    text = '    <c>\n\t\t\t<p a="1"/>\n        </c>\n'
    new = '            <p a="1"/>\n        </c>\n'
    assert after(text, '<p a="1"/>\n        </c>\n', new) == f"    <c>\n{new}"
    text = "for a in b:\n    c = 1\n    if d:\n        e()\n"
    new = "\n    if d:\n        f()\n"
    assert after(text, "if d:\n        e()\n", new) == f"for a in b:\n    c = 1\n{new}"


@pytest.mark.parametrize(("old", "new"), [("limit = 30", "limit = 60"), ("00\n", "50\n")])
def test_a_part_of_a_number_is_not_replaced_by_another_number(old: str, new: str) -> None:
    assert "part of a number" in refusal("limit = 300\n", old, new).reason
    assert after("limit = 300\n", "limit = 30", "most = 30") == "most = 300\n"


def test_a_match_inside_a_line_or_a_word_is_exact_too() -> None:
    assert after(CODE, "cheap", "dear") == CODE.replace("cheapest", "dearest")


def test_as_many_exact_matches_as_expected_are_replaced() -> None:
    assert after(CODE, "item.price", "p", 2) == CODE.replace("item.price", "p")
    assert after(CODE, "item.price", "p", None) == CODE.replace("item.price", "p")


@pytest.mark.parametrize("expected", [1, 3])
def test_more_or_fewer_matches_are_refused_with_all_their_lines(expected: int) -> None:
    found = refusal(CODE, "item.price", "p", expected)
    assert found.why is Why.AMBIGUOUS
    assert found.lines == ((10, 10), (15, 15))


def test_matches_that_overlap_are_no_set_of_places() -> None:
    assert refusal("aaaa", "aa", "b", None).why is Why.AMBIGUOUS
    assert refusal("aaa", "aa", "b", 1).why is Why.AMBIGUOUS


@pytest.mark.parametrize("old", ["", " ", "\n\n", "\t \n"])
def test_nothing_but_white_space_names_no_place(old: str) -> None:
    assert refusal("a\n\n\tb", old, "x").why is Why.NO_MATCH


def test_equal_strings_change_nothing() -> None:
    assert refusal(CODE, LOOP, LOOP).why is Why.NO_CHANGE


# white space


WHITE_SPACE: list[Callable[[str], str]] = [
    dedent,
    lambda text: indent(text, "  "),
    lambda text: text.replace("    ", "\t"),
    lambda text: text.replace("    ", "  "),
    lambda text: text.replace("\n", "  \n"),
    lambda text: text.replace("items:\n", "items:\n\n"),
    lambda text: text.replace("return result", "return  result"),
]


@pytest.mark.parametrize("garble", WHITE_SPACE)
def test_white_space_is_forgiven_and_the_change_fits_the_file(garble: Callable[[str], str]) -> None:
    new = LOOP.replace("item.price\n", "item.price\n            count += 1\n")
    result, found = edit(CODE, garble(LOOP), garble(new))
    assert result == CODE.replace(LOOP, new)
    assert not found.is_exact
    assert found.lines == ((9, 11),)


def test_the_receipt_says_what_was_forgiven() -> None:
    assert edit(CODE, dedent(LOOP), dedent(LOOP) + "x\n")[1].forgiven == ("indentation",)
    assert edit(CODE, "return  result", "x")[1].forgiven == ("spacing",)


def test_lines_that_both_strings_share_stay_as_the_file_has_them() -> None:
    text = "first  =  1   \n\n\tsecond = “2”\nthird = 3\n"
    assert after(text, 'first = 1\nsecond = "2"\nthird = 3', 'first = 1\nsecond = "2"\nthird = 4') == text.replace(
        "3", "4"
    )


def test_a_new_text_that_has_the_context_right_is_taken_as_it_is() -> None:
    wanted = LOOP.replace("result += item.price", "result += 2 * item.price")
    assert after(CODE, dedent(LOOP), wanted) == CODE.replace(LOOP, wanted)


def test_a_first_line_that_lost_its_indentation_gets_it_back() -> None:
    new = LOOP.replace("for item in items", "for item in list(items)")
    assert after(CODE, LOOP.strip() + "\n\n", new.strip() + "\n\n") == CODE.replace(LOOP, new)


def test_blank_lines_of_the_file_stay() -> None:
    text = "a = 1\n\n\nb = 2\n"
    assert after(text, "a  = 1\nb = 2", "a  = 1\nb = 3") == "a = 1\n\n\nb = 3\n"
    assert after("a = 1\nb = 2\n", "a  = 1\n\nb = 2", "a  = 1\n\nb = 3") == "a = 1\nb = 3\n"


def test_new_lines_like_those_above_a_dropped_blank_line_go_on_with_them() -> None:
    text = "DB_HOST=a\nDB_NAME=b\n\n# Mail\nMAIL=c\n"
    new = "DB_NAME=b\nDB_POOL=10\n\n# Mail\n"
    assert after(text, "DB_NAME=b\n# Mail\n", new) == text.replace("DB_NAME=b\n", "DB_NAME=b\nDB_POOL=10\n")


def test_lines_wrapped_otherwise_stay_when_they_do_not_change() -> None:
    text = "call(one,\n     two)\nx = 1\n"
    assert after(text, "call(one, two)\nx  = 1", "call(one, two)\nx = 2") == text.replace("x = 1", "x = 2")


def test_a_part_of_a_line_that_is_wrapped_otherwise_changes_within_it() -> None:
    assert after("call(one, two)\n", "call(one,\n  two)", "call(one,\n  three)") == "call(one, three)\n"
    found = refusal("call(one, two)\n", "call(one,\n  two)", "call(one,\n    three)")
    assert found.why is Why.UNCLEAR


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("route = path\n", "route  = pa"),
        ("total = 1.50\n", "total  = 1"),
        ("foobar = 1\n", "foo bar = 1"),
        ("foo bar = 1\n", "foobar = 1"),
        ("# total = 1\n", "    total  = 1"),
        ("# total = 1\n", "total  = 1"),
        ("// a comment\ncode()\n", "// a comment code()"),
        ("    }\n\n    )\n", "  }\n  )"),
        ("x = 1 + 2\n", "x  = 1\n"),
    ],
)
def test_words_numbers_and_comments_stay_whole(text: str, old: str) -> None:
    assert refusal(text, old, "x").why is Why.NO_MATCH


def test_two_places_that_differ_in_white_space_only_are_ambiguous() -> None:
    found = refusal("if a:\n    run(x)\nelse:\n        run(x)\n", "run( x )", "stop(x)")
    assert found.why is Why.AMBIGUOUS
    assert found.lines == ((2, 2), (4, 4))
    assert after("  a(b)\n    a(b)\n", "a( b )", "c( b )", 2) == "  c(b)\n    c(b)\n"


# blocks that are wrapped, unwrapped, moved


FUNCTION = "def f():\n    if ready:\n        go()\n        stop()\n    return 1\n"


@pytest.mark.parametrize("shift", [-1, 1, 2])
@pytest.mark.parametrize("context", [0, 1])
def test_a_block_is_wrapped_as_deep_as_the_file_has_it(shift: int, context: int) -> None:
    old = "        go()\n        stop()\n" + "    return 1\n" * context
    new = "        if c:\n            go()\n            stop()\n" + "    return 1\n" * context
    assert after(FUNCTION, shifted(old, shift), shifted(new, shift)) == FUNCTION.replace(old, new)


@pytest.mark.parametrize("shift", [-1, 1, 2])
def test_a_block_is_unwrapped_as_deep_as_the_file_has_it(shift: int) -> None:
    old = "    if ready:\n        go()\n        stop()\n"
    new = "    go()\n    stop()\n"
    assert after(FUNCTION, shifted(old, shift), shifted(new, shift)) == FUNCTION.replace(old, new)


def shifted(text: str, levels: int) -> str:
    if levels > 0:
        return indent(text, " " * 4 * levels)
    return "".join(line[-4 * levels :] for line in text.splitlines(keepends=True))


def test_what_could_not_be_parsed_any_more_is_refused() -> None:
    text = "def f():\n    try:\n        go()\n        return 1\n    finally:\n        stop()\n"
    old = "            return 1\n        finally:\n            stop()\n"
    found = match_edit(text, old, "        return 1\n", path="x.py")
    assert isinstance(found, Refusal)
    assert found.why is Why.UNCLEAR


def test_a_slip_stays_at_its_place() -> None:
    text = "const a = {\n  b: 1,\n  c: two,\n};\nx()\n"
    old = "const a = {\n  b: 1,\n  c: two,\n}\nx()"
    new = "const a = {\n  b: 1,\n  d() {\n    return 3;\n  },\n  c: two,\n}\nx()"
    assert after(text, old, new) == new[:-4] + ";\nx()\n"


@pytest.mark.parametrize("old", ["f(a)", "f( a)"])
def test_as_many_as_there_are_are_all_replaced_or_none(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MOST_PLACES", find.MOST_PLACES // 100)
    monkeypatch.setattr(find, "_MOST_PLACES", find._MOST_PLACES // 100)
    few, many = "f(a)\n" * 120, "f(a)\n" * 1_200
    found = match_edit(few, old, "g(a)", None)
    assert isinstance(found, Refusal) if old == "f( a)" else after(few, old, "g(a)", None) == "g(a)\n" * 120
    assert refusal(many, old, "g(a)", None).why is Why.AMBIGUOUS


# look-alikes


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ('say("a")\n', "say(“a”)", "say(“b”)", 'say("b")\n'),
        ("it’s — fine\n", "it's - fine", "it's - good", "it’s — good\n"),
        ("値段（円）：100\n", "値段(円):100", "値段(円):200", "値段（円）：200\n"),
        ("a\u00a0b=1\n", "a b=1", "a b=2", "a\u00a0b=2\n"),
        ("a b = 1\n", "a\u00a0b = 1", "a\u00a0b = 2", "a b = 2\n"),
        ("cafe\u0301 = 1\n", "caf\u00e9 = 1", "caf\u00e9 = 2", "cafe\u0301 = 2\n"),
        ("caf\u00e9 = 1\n", "cafe\u0301 = 1", "cafe\u0301 = 2", "caf\u00e9 = 2\n"),
        ("na\u200bme = 1\nb = 1\n", "name = 1\nb = 1", "name = 1\nb = 2", "na\u200bme = 1\nb = 2\n"),
        ("使用 Python 编写\nx\n", "使用Python编写\nx", "使用Python编写\ny", "使用 Python 编写\ny\n"),
        ("“a” (“b”)\n", '"a" ("b")', '"a" ("c", "d")', "“a” (“c”, “d”)\n"),
        ("wait…\nx\n", "wait...\nx", "wait...\ny", "wait…\ny\n"),
    ],
)
def test_look_alikes_are_forgiven_and_taken_back(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


def test_a_character_seen_in_two_ways_stays_where_it_is_and_is_written_as_sent_elsewhere() -> None:
    assert after('“a” "b" c\n', '"a" "b" c', '"a" "b" "c"') == '“a” "b" "c"\n'


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("- a list – of one\n", "- a list - of one", "- a list - of two", "- a list – of two\n"),
        (
            "pages 10–20 and well-known\n",
            "pages 10-20 and well-known",
            "pages 10-20, well-known",
            "pages 10–20, well-known\n",
        ),
        ("wait… for it\n", "wait... for it", "wait... for this", "wait… for this\n"),
        ("5\u00a0km\u00a0to\u00a0go\n", "5 km to go", "5 km to come", "5\u00a0km\u00a0to\u00a0come\n"),
    ],
)
def test_a_line_that_changes_keeps_the_files_look_alikes_where_it_does_not(
    text: str, old: str, new: str, result: str
) -> None:
    assert after(text, old, new) == result


def test_a_hyphen_of_a_new_line_is_refused_where_the_file_has_dashes_and_hyphens_so() -> None:
    text = "One – two.\nThree - four.\n"
    refused = match_edit(text, "One - two.", "One - two.\nFive - six.", path="a.md")
    assert isinstance(refused, Refusal)
    assert refused.why is Why.UNCLEAR


def test_new_code_gets_no_dash_of_a_comment() -> None:
    text = "// all — as it is\nrun();\n"
    new = "// all - as it is\nlet x = a - b;\nrun();"
    assert after(text, "// all - as it is\nrun();", new) == f"{new}\n".replace("all -", "all —")


def test_a_blank_that_is_another_in_the_file_here_and_there_is_no_guess() -> None:
    refused = match_edit("a\u00a0word or two\n", "a word or two", "a word or three", path="a.md")
    assert isinstance(refused, Refusal)
    assert refused.why is Why.UNCLEAR


# garblings undone


GARBLINGS: list[tuple[str, Callable[[str], str]]] = [
    ("fence", lambda text: f"```python\n{text}```"),
    ("line numbers", lambda text: "".join(f"{n:4}\t{line}\n" for n, line in enumerate(text.splitlines(), 9))),
    ("line numbers", lambda text: "".join(f"L{n}: {line}\n" for n, line in enumerate(text.splitlines(), 9))),
    ("escaped newlines", lambda text: text.replace("\n", "\\n")),
    ("escaped quotes", lambda text: text.replace('"', '\\"')),
    ("escaped backslashes", lambda text: text.replace("\\", "\\\\")),
    ("HTML entities", lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    ("Unicode escapes", lambda text: text.replace("é", "\\u00e9")),
]


@pytest.mark.parametrize(("stage", "garble"), GARBLINGS)
def test_one_garbling_of_both_strings_is_undone(stage: str, garble: Callable[[str], str]) -> None:
    block = 'if a < b & c:\n    print("é")\n    d = re"\\w"\n    e\n'
    text = f"start\n{block}end\n"
    new = block.replace("    e\n", "    f\n")
    result, found = edit(text, garble(block), garble(new))
    assert result == text.replace(block, new)
    assert found.stage == stage


def test_json_escapes_are_undone_as_a_whole() -> None:
    text = 'a = "é"\n\tb = 1\nc\n'
    result, found = edit(text, 'a = \\"\\u00e9\\"\\n\\tb = 1', 'a = \\"\\u00e9\\"\\n\\tb = 2')
    assert result == text.replace("1", "2")
    assert found.stage == "JSON escapes"


def test_diff_signs_are_undone() -> None:
    old, new = " import os\n-\n-\n class Shop:", " import os\n+# one\n+\n class Shop:"
    assert after(CODE, old, new) == CODE.replace("import os\n\n\n", "import os\n# one\n\n")
    assert after(CODE, " import os\n ", "+import io\n import os\n ") == "import io\n" + CODE


def test_diff_signs_before_the_lines_that_change_alone_are_undone() -> None:
    text = "end\n\ndef build(a)\n  run\nend\n"
    old, new = "end\n\n-def build(a)\n-  run\nend\n", "end\n\n+def build(a, b)\n+  run b\nend\n"
    result, found = edit(text, old, new)
    assert result == "end\n\ndef build(a, b)\n  run b\nend\n"
    assert found.stage == "diff signs"
    assert after(text, "\n-def build(a)\n  run", "\n  run") == "end\n\n  run\nend\n"
    assert refusal("- a\nb\n", "- c\nb\n", "+ d\nb\n").why is Why.NO_MATCH  # nor are they undone for what isn't there


AROUND: dict[str, Callable[[str], str]] = {
    "newlines": lambda text: text.replace("\n", "\\n"),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON string": json.dumps,
    "padded": lambda text: f"\n{text}\n\n",
}


@pytest.mark.parametrize("garble", AROUND.values(), ids=AROUND)
def test_numbers_and_diff_signs_are_found_within_what_else_is_garbled(garble: Callable[[str], str]) -> None:
    text = 'a\nif x:\n    say("b")\n\n    c()\nd\n'
    numbered = '     2\tif x:\n     3\t    say("b")\n     4\t\n     5\t    c()'
    assert after(text, garble(numbered), garble(numbered.replace("c()", "e()"))) == text.replace("c()", "e()")
    marked = ' if x:\n     say("b")\n \n-    c()\n'
    assert after(text, garble(marked), garble(marked.replace("-    c()", "+    e()"))) == text.replace("c()", "e()")


def test_lines_are_numbered_within_a_fence_too() -> None:
    text = "name: a\non:\n  push:\n\njobs:\n"
    numbered = "```yaml\n    2→on:\n    3→  push:\n    4→\n    5→jobs:\n```"
    assert after(text, numbered, numbered.replace("push", "pull")) == text.replace("push", "pull")
    listed = "1. one\n2. two\n"
    assert refusal(listed, "  1→3. one\n  2→4. two", "  1→3. ones\n  2→4. two").why is Why.NO_MATCH


@pytest.mark.parametrize("tail", ["&lt;b&gt;", '"\\"x\\""', "\\n"])
def test_a_new_string_that_has_the_context_right_is_not_unescaped(tail: str) -> None:
    text = "a < 1\nb = 2\nc\n"
    assert after(text, "a &lt; 1\nb = 2", f"a < 1\nb = {tail}") == f"a < 1\nb = {tail}\nc\n"


def test_it_is_refused_when_new_string_may_be_garbled_or_not() -> None:
    found = refusal("run(\"a 'b\\\\n'\")\n", "run(\"a 'b\\\\\\\\n'\")", 'run("a", "b\\\\n")')
    assert found.why is Why.UNCLEAR
    assert "whether in new_string too" in found.reason


def test_a_garbled_text_that_is_there_twice_is_refused() -> None:
    assert refusal("a < b\na < b\n", "a &lt; b", "c").why is Why.AMBIGUOUS


@pytest.mark.parametrize(("stage", "garble"), GARBLINGS)
def test_one_garbling_and_lost_indentation_are_both_undone(stage: str, garble: Callable[[str], str]) -> None:
    block = '    if a < b & c:\n        print("é")\n        d = re"\\w"\n        e\n'
    text = f"start\n{block}end\n"
    new = block.replace("        e\n", "        f\n")
    result, found = edit(text, garble(dedent(block)), garble(dedent(new)))
    assert result == text.replace(block, new)
    assert found.stage == stage
    assert "indentation" in found.forgiven


# line breaks


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("steps:\n  - run: make\n  test:\n    x: 1\n", "- run: make test"),
        ("cd build\nmake install\n", "cd build make"),
        ("HOST=b\nPORT=1\n", "HOST=b PORT=1"),
        ('import (\n\t"a"\n\t"b"\n)\n', '"a" "b"'),
        ("- one\n- two\n", "- one - two"),
        ("a,b,\nc,d\n", "a,b, c,d"),
        ("x = 1\ny = 2\n", "x = 1 y = 2"),
        ("const f = () => {\n  a()\n  b()\n}\n", "() => { a() b() }"),
        ("git commit -m wip now\ngit push origin main now\n", "git commit -m wip now git push origin main now"),
    ],
)
def test_a_line_break_between_statements_is_no_blank(text: str, old: str) -> None:
    assert refusal(text, old, "x").why is Why.NO_MATCH


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("call(one,\n     two)\nx = 1\n", "call(one, two)\nx  = 1"),
        ("<a href='b'\n   class='c'>d</a>\nx = 1\n", "<a href='b' class='c'>d</a>\nx = 1"),
        ("It is a line of a text that\ngoes on in the next one.\n\nx = 1\n",
         "It is a line of a text that goes on in the next one.\n\nx = 1"),
        ("list\n  .map(f)\nx = 1\n", "list.map(f)\nx = 1"),
    ],
)  # fmt: skip
def test_a_line_break_in_brackets_tags_and_prose_is_a_blank(text: str, old: str) -> None:
    assert after(text, old, old.replace("x = 1", "x = 2").replace("x  = 1", "x = 2")) == text.replace("x = 1", "x = 2")


# what the file has otherwise


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ('{"a": "\\u2026",\n "b": 1}\n', '"a": "…",\n "b": 1', '"a": "…",\n "b": 2', '{"a": "\\u2026",\n "b": 2}\n'),
        ("<p>a &amp; b</p>\n<i>x</i>\n", "<p>a & b</p>\n<i>x</i>", "<p>a & b</p>\n<i>y</i>", "<p>a &amp; b</p>\n<i>y</i>\n"),
        ("r = /\\s*x/\ny = 1\n", "r = /s*x/\ny = 1", "r = /s*x/\ny = 2", "r = /\\s*x/\ny = 2\n"),
        ("a('x', 'y')\nb('z')\n", 'a("x", "y")\nb("z")', 'a("x", "y")\nb("w")', "a('x', 'y')\nb('w')\n"),
        ("# a → b, c ≤ d\nx = 1\n", "# a -> b, c <= d\nx = 1", "# a -> b, c <= d\nx = 2", "# a → b, c ≤ d\nx = 2\n"),
    ],
)  # fmt: skip
def test_what_the_file_has_otherwise_stays_in_lines_that_stay(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


def test_curly_quotes_of_any_kind_are_taken_back_where_one_was() -> None:
    text = 'const color = "red";\nend\n'
    assert after(text, "const color = “red”;", "const color = “blue”;\nf(‘x’);") == (
        "const color = \"blue\";\nf('x');\nend\n"
    )


def test_a_name_in_other_case_that_the_file_has_is_no_slip() -> None:
    text = "import NAME_A\nimport name_a\nrun(name_a, 1)\n"
    old = "import name_a\nimport NAME_A\nrun(name_a, 1)"
    assert after(text, old, f"import x\n{old}") == f"import x\n{text}"
    assert refusal(text, "import NAME_a\nrun(name_a, 1)", "import NAME_b\nrun(name_a, 1)").why is not Why.NO_CHANGE


def test_an_apostrophe_says_nothing_about_quotes() -> None:
    text = 'const s = "it’s";\nlet t = 1;\n'
    result = after(text, 'const s = "it\'s";', "const s = \"it's me, isn't it\";\nconst u = 'x';")
    assert result == "const s = \"it’s me, isn’t it\";\nconst u = 'x';\nlet t = 1;\n"


# several edits


def test_edits_that_share_context_are_both_made() -> None:
    text = "a = 1\nb = 2\nc = 3\n"
    found = match_edits(text, [Wanted("a = 1\nb = 2", "a = 5\nb = 2"), Wanted("b = 2\nc = 3", "b = 2\nc = 7")])
    assert isinstance(found, Edits)
    assert [piece.body for piece in found.replacements] == ["a = 5\n", "c = 7"]


@pytest.mark.parametrize("second", [Wanted("b = 2\nc = 3", "b = 4\nc = 3"), Wanted("nowhere", "x")])
def test_all_edits_are_refused_with_one_of_them(second: Wanted) -> None:
    found = match_edits("a = 1\nb = 2\nc = 3\n", [Wanted("a = 1\nb = 2", "a = 5\nb = 6"), second])
    assert isinstance(found, Refusal)
    assert found.index == 1


# lost escapes


def test_escapes_that_the_model_lost_stay_in_lines_that_stay() -> None:
    text = 'print("done\\n")\nx = 1\n'
    result, found = edit(text, 'print("done\n")\nx = 1', 'print("done\n")\nx = 2')
    assert result == text.replace("x = 1", "x = 2")
    assert found.stage == "lost escapes"
    text = 'say("a \\"b\\" c")\nx = 1\n'
    assert after(text, 'say("a "b" c")\nx = 1', 'say("a "b" c")\nx = 2') == text.replace("x = 1", "x = 2")


def test_lines_that_lost_an_escape_may_change_beside_it_but_not_come_new() -> None:
    text, old = 'print("done\\n")\nx = 1\n', 'print("done\n")\nx = 1'
    assert after(text, old, 'print("gone\n")\nx = 1') == text.replace("done", "gone")
    assert refusal(text, old, 'print("done\n")\nx = "1\n"').why is Why.UNCLEAR


# elision


@pytest.mark.parametrize("mark", ["...", "# ... rest of the code ...", "// ... existing code ...", "[...]", "…"])
def test_lines_left_out_of_both_strings_stay(mark: str) -> None:
    old = f"    def total(self, items):\n        {mark}\n        return result\n"
    assert after(CODE, old, old.replace("return result", "return 1")) == CODE.replace("return result", "return 1")


def test_lines_left_out_are_refused_when_the_rest_is_not_sure() -> None:
    old = "        for item in items:\n        ...\nself, items"
    assert refusal(CODE, old, old + "x").why is Why.AMBIGUOUS
    old = "    def total(self, items):\n        ...\n        return result\n"
    assert refusal(CODE, old, "    def total(self, items):\n        return 1\n").why is Why.UNCLEAR


def test_a_placeholder_in_new_alone_is_refused() -> None:
    found = refusal(CODE, LOOP, "        # ... rest of the code ...\n        return 0\n")
    assert found.why is Why.OMISSION
    assert "line 1 of new_string" in found.reason


@pytest.mark.parametrize(
    "placeholder",
    [
        "// -- snip --",
        "# TODO: keep the rest as is",
        "// (the other cases are the same as above)",
        "# --- existing imports ---",
        "# etc.",
    ],
)
def test_a_placeholder_in_odd_words_is_refused_too(placeholder: str) -> None:
    assert refusal("a\nb\nc\nd\n", "b\nc", f"b\n{placeholder}").why is Why.OMISSION


# slips


@pytest.mark.parametrize(
    ("wrong", "right", "forgiven"),
    [
        ("reslut = 0", "result = 0", "a typing error"),
        ("Result = 0", "result = 0", "letter case"),
        ("result = 0;", "result = 0", "a sign at the end of a line"),
    ],
)
def test_a_slip_in_a_line_that_stays_is_forgiven(wrong: str, right: str, forgiven: str) -> None:
    old = (
        f"    def total(self, items):\n        {wrong}\n        for item in items:\n            result += item.price\n"
    )
    result, found = edit(CODE, old, old.replace("result += ", "result -= "))
    assert result == CODE.replace("result += ", "result -= ")
    assert (found.stage, found.forgiven) == ("near", (forgiven,))
    assert right in result


def test_a_slip_never_gets_into_the_file() -> None:
    old = LOOP.replace("return result", "return reslut")
    new = old.replace("return reslut", "return reslut + 1").replace("items", "reslut")
    assert after(CODE, old, new) == CODE.replace(
        LOOP, LOOP.replace("items", "result").replace("return result", "return result + 1")
    )


def test_a_comment_in_other_words_or_left_out_stays_as_it_is() -> None:
    old = CODE[CODE.index("        return result") :]
    for garbled in (
        old.replace("the cheapest one", "return the cheapest"),
        old.replace("        # the cheapest one\n", ""),
    ):
        assert after(CODE, garbled, garbled.replace("min(", "max(")) == CODE.replace("min(", "max(")
        rest = garbled.replace("# return the cheapest", "# gone")
        if rest != garbled:
            assert after(CODE, garbled, rest) == CODE.replace("# the cheapest one", "# gone")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("for item in items", "for it in items"),
        ("            result += item.price\n", ""),
        ("            result += item.price\n", "            result += item.price\n            log(item)\n"),
    ],
)
def test_another_head_or_line_of_code_is_no_slip(right: str, wrong: str) -> None:
    old = CODE[CODE.index("    def total") : CODE.index("    def first")]
    assert right in old
    garbled = old.replace(right, wrong)
    assert refusal(CODE, garbled, garbled.replace("return result", "return 5")).why is not Why.NO_CHANGE


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("result = 0", "result = 1"),
        ("result += item.price", "result += item.value"),
        ("result += item.price", "result -= item.price"),
    ],
)
def test_another_number_word_or_sign_is_a_slip_where_it_stays_and_none_where_it_goes(right: str, wrong: str) -> None:
    old = CODE[CODE.index("    def total") : CODE.index("    def first")]
    garbled = old.replace(right, wrong)
    assert after(CODE, garbled, garbled.replace("return result", "return 5")) == CODE.replace(
        "return result", "return 5"
    )
    assert refusal(CODE, garbled, garbled.replace(wrong, "other = 1")).why is not Why.NO_CHANGE


def test_a_slip_is_refused_where_another_place_comes_near() -> None:
    block = "    open()\n    check(value, {0})\n    close()\n"
    text = block.format("longword") + "other\n" + block.format("longwork")
    assert refusal(text, block.format("logword"), block.format("x")).why is Why.AMBIGUOUS


def test_two_lines_are_too_few_for_a_slip() -> None:
    assert refusal("first line\nsecond = value\n", "first line\nsecond = valeu", "x").why is Why.NO_MATCH


def test_a_line_added_below_one_whose_comma_is_a_slip_ends_as_that_one_did() -> None:
    text = "const o = {\n  a: 1,\n  b: 2\n};\n"
    old = "const o = {\n  a: 1,\n  b: 2,\n};"
    assert after(text, old, old.replace("};", "  d: 3,\n};")) == text.replace("b: 2", "b: 2,\n  d: 3")
    assert after(text, old, old.replace("a: 1", "a: 7")) == text.replace("a: 1", "a: 7")
    new = text.rstrip("\n").replace("b: 2\n", "b: 2,\n  d: 3\n")
    assert after(text, text.rstrip("\n"), new) == f"{new}\n"


# refusals


def test_a_refusal_shows_the_nearest_place() -> None:
    found = refusal(CODE, LOOP.replace("price", "weight").replace("return result", "return 1"), "x")
    assert found.why is Why.NO_MATCH
    assert found.lines == ((9, 11),)
    assert found.nearest.split("\n") == [
        "          for item in items:",
        "-             result += item.weight",
        "-         return 1",
        "+             result += item.price",
        "+         return result",
    ]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("            result += item.weight\n        return 1\n", "            result += item.price\n        return result\n"),
        ("        return result\n", "        for item in items:\n            result += item.price\n        return result\n"),
        ("        result = 0\n        count = 1\n        mark = 2\n", "        result = 0\n"),
        ("    def total(self, items):\n        result = 1\n", "    def total(self, items):\n        result = 0\n"),
    ],
)  # fmt: skip
def test_the_diff_of_a_refusal_makes_the_text_of_the_file_of_old_string(wrong: str, right: str) -> None:
    block = CODE[CODE.index("    def total") : CODE.index("    def first")].rstrip("\n") + "\n"
    old = block.replace(right, wrong)
    found = refusal(CODE, old, "x")
    mended = old
    for tag, lines in runs(found.nearest):
        if tag == "change":
            out = "".join(line[2:] + "\n" for line in lines if not line.startswith("+"))
            put = "".join(line[2:] + "\n" for line in lines if not line.startswith("-"))
            assert mended.count(out) == 1
            mended = mended.replace(out, put)
    assert CODE.count(mended) == 1


def runs(diff: str) -> list[tuple[str, list[str]]]:
    """Return the diff as one run with its context."""
    return [("change", diff.split("\n"))]


def test_a_refusal_names_what_each_place_is_in_or_shows_the_lines() -> None:
    assert refusal(CODE, "item.price", "p").shown.split("\n") == [
        "    10  in for item in items:",
        "    15  in def first(self, items):",
    ]
    found = refusal("call(one, two)\n", "call(one,\n  two)", "call(one,\n    three)")
    assert found.shown == "     1\tcall(one, two)"


def test_the_lines_written_are_shown_with_their_numbers() -> None:
    found = match_edits(CODE, [Wanted("import os\n", ""), Wanted("return result", "return 1")])
    assert isinstance(found, Edits)
    assert written_lines(CODE, found.replacements).split("\n")[-1] == "    10\t        return 1"
    text = "a\n" * 50
    [piece] = edit(text + "b\n", "b\n", "c\n" * 40)[1].replacements
    lines = written_lines(text + "b\n", [piece]).split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("    51\tc", "...", 31)


def test_a_refusal_of_an_edit_that_is_made_already_says_so() -> None:
    found = refusal(CODE, "result += item.weight", "result += item.price")
    assert "there already" in found.reason
    assert found.lines == ((10, 10),)


def test_swapped_lines_and_parts_of_two_places_are_refused() -> None:
    one, other = "            result += item.price\n", "        for item in items:\n"
    assert refusal(CODE, one + other, "x").why is Why.NO_MATCH
    assert refusal(CODE, "import os\n        result = 0\n        return result\n", "x").why is Why.NO_MATCH


# line endings


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb\r\n", "a\r\nc\r\n", "a\nc\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "x\na\nb\nc", "x\r\na\r\nb\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nb\ny\nc", "a\r\nb\ny\nc\r\n"),
        ("a\rb\rc", "b\nc", "b\nx\nc", "a\rb\rx\rc"),
        ("a\rb\nc\n", "c\n", "d\n", "a\rb\nd\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\r\n\r\n  b(c)\r\n", "b( c )", "b( d )\ne", "a\r\n\r\n  b( d )\r\n  e\r\n"),
        ("a\u2028b\x0cc\x85d\n", "d", "e", "a\u2028b\x0cc\x85e\n"),
    ],
)
def test_new_lines_end_as_their_place_does(text: str, old: str, new: str, wanted: str) -> None:
    assert after(text, old, new) == wanted


def test_a_file_without_a_final_newline_stays_without() -> None:
    assert after("a = 1\nb = 2", "b  = 2\n", "b = 3\n") == "a = 1\nb = 3"
    assert after("a = 1\nb = 2", "a  = 1\nb = 2\n", "a  = 1\n") == "a = 1"


MACRO = "#define F(x) \\\n    do {       \\\n        g(x); \\\n        h(x); \\\n    } while (0)\n\nint y;\n"


def test_backslashes_lost_at_the_ends_of_lines_stay() -> None:
    old = MACRO.replace(" \\", "").replace("{      ", "{")
    assert after(MACRO, old, old.replace("int y", "int z")) == MACRO.replace("int y", "int z")
    assert after(MACRO, "        g(x);\n        h(x);", "        g(x);\n        k(x);") == MACRO.replace("h(x)", "k(x)")


@pytest.mark.parametrize("new", ["        g(x);\n        k(x); \\", "        g(x);\n        i(x);\n        h(x);"])
def test_a_new_line_that_may_need_its_own_is_no_guess(new: str) -> None:
    refused = match_edit(MACRO, "        g(x);\n        h(x);", new)
    assert isinstance(refused, Refusal)
    assert refused.why is Why.UNCLEAR


def test_line_breaks_written_out_in_new_code_are_refused_where_they_break_it() -> None:
    text = "def f():\n    return 1\n"
    refused = match_edit(text, "    return 1", "    x = 1\\n    return x", path="a.py")
    assert isinstance(refused, Refusal)
    assert refused.why is Why.UNCLEAR
    assert after(text, "return 1", 'return "a\\nb"') == 'def f():\n    return "a\\nb"\n'


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a: 1\nb: 2\nc: 3\n", "```\nb: 2\n```", "b: 9", "a: 1\nb: 9\nc: 3\n"),
        ("a: 1\nb: 2\nc: 3\n", "```\nb: 2\n```", "", "a: 1\nc: 3\n"),
        ("def f():\n        return 1\n", "return 1", "        return 2", "def f():\n        return 2\n"),
        ("def f():\n    a()\n    b()\n", "a()\n    b()", "    a()\n    c()", "def f():\n    a()\n    c()\n"),
        ("x = 1  # the x\nz\n", "x = 1", "x = 1\ny = 2", "x = 1  # the x\ny = 2\nz\n"),
        ("a = 1\nb\n", "\ufeffa = 1", "\ufeffa = 2", "a = 2\nb\n"),
        ("x = f(1)\n", "x = f(1)", "x = t.split(/\\n/)", "x = t.split(/\\n/)\n"),
        ("- item one\n", "item one", "item one\n- item two", "- item one\n- item two\n"),
        ("total = a;\n", "total = a", "total = a\n  + b", "total = a\n  + b;\n"),
        ("    foo()\n", "foo()", "    foo()", "        foo()\n"),
        ("aa\n\nbb\ncc\n", "aa\nbb\ncc", "aa\n\nbb\ndd", "aa\n\nbb\ndd\n"),
        ("aa\n\nbb\ncc\n", "aa\nbb\ncc", "aa\n\nxx\nbb\ncc", "aa\n\nxx\nbb\ncc\n"),
        (
            "long = one + two;\nmore();\n",
            "long= one + two;\nmore();",
            "length= one + two;\nmore();",
            "length = one + two;\nmore();\n",
        ),
        (
            "long = one + two;\nmore();\n",
            "long= one + two;\nmore();",
            "long.of= one + two;\nmore();",
            "long.of = one + two;\nmore();\n",
        ),
    ],
)
def test_what_is_left_of_a_line_stays_beside_what_it_belongs_to(text: str, old: str, new: str, result: str) -> None:
    assert edit(text, old, new)[0] == result


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("FROM x\nRUN b\nCMD c\n", "RUN b", "RUN b\\nRUN d", "written out"),
        ("a = 1\nb = 2\n", "a = 1\nb = 2", "1\ta = 1\n2\tb = 3", "line numbers"),
        ("a = 1\nb = 2\n", "a = 1", "```python\na = 3\n```", "Markdown fence"),
        ("a();\n", "a();", "if (a &amp;&amp; b) {\n  a();\n}", "HTML entities"),
        ("a()\n", "a()", "if a &lt; b:\n    a()", "HTML entities"),
        ("a();\n", "a();", 'a();\nconst x = \\"y\\";', "a backslash before them"),
        ("a()\n", "a()", "a()\nx =\u00a01", "no-break spaces"),
        ("if c {\n  d;\n}\n", "if c ", "if c \n\nfor (;;) {\n}", "would end another"),
        ("x: {\n  y: {\n  }\n},\nz\n", "x: {\n  y: {\n  }\n}", "x: {\n  y: {\n  }\n}\nn = 0;", "would end another"),
        ("run a \\\n  b\n", "run a", "run a\nrun c", "would end another"),
        ("import abc\n", "import a", "import a\nimport b", "a part of a word"),
        ("// one\n// two\n", "// one\n//", "// one\n//\nfoo();", "would end another"),
        ("f(a,\n  b);\n", "f(a,\n  b)", "f(a,\n  b)\n-- c", "would end another"),
        ("# x = 1\n", "x = 1", "x = 1\nz = 2", "behind '#'"),
        ("f() {\n  a();\n  b();\n}\n", "  a();\n  b();\n", "  z();\n  // ...\n", "stands for code left out"),
        ("f() {\n  a();\n  b();\n}\n", "  a();\n  b();\n", "  z();\n  /* ... */\n", "stands for code left out"),
        ("let a = () => 1;\nb();\n", "b();", "let c = () =&gt; 2;\nb();", "HTML entities"),
        ("  a(&b);\n  c();\n", "a(&b);\nc();", "a(&amp;b);\nd();", "HTML entities"),
        ("x\na\n\nb()\nc\n", "a\n\nb()", "2  a\n3  \n4  d()", "line numbers"),
        ("x\na\nb()\nc\n", "a\nb()", "[2] a\n[3] d()\n[4] e()", "line numbers"),
        ('a("b")\nraise X\n', "raise X", "log \\\"to '#{f}'\\\" if on", "a backslash before every quote"),
        ("def f():\n", "def f():", "def fоr_all():", "two alphabets"),
        ("print(a)\n", "print(a", "print(b)", "would close what isn't open"),
        ("    a(b)\n    c(d)\n", "      a(b)\n      c(d)", "    a(b)\n    c(d)", "nothing but depths"),
        ("f();\ng();\n", "f();\ng();", "f();\n...\ng();", "stands for code left out"),
        ("f('a')\ng('b')\n", "f(\\'a\\')\ng(\\'b\\')", "f(\\’a\\’)\nh(\\'b\\')", "with a backslash before them"),
        ("  - a b\n  - c\n", "  – a b\n", "  – a b\n  – d —e\n", "typographic signs"),
        ('  ("a", ["*.bc"]),\n', '("a", ["', '("c", 1),\n("a", ["*.bc"]),', "stand there twice"),
        ("        a b\n        c d\n", "a b\nc d", "    x y\n    z w", "how deep"),
        ('\ta("x")\n\tb\n', 'a(\\"x\\")\n\tb', 'c(\\"x\\")\n  b', "by tabs in one of the strings"),
        ("A = b \\\n  c \\\n  d\n\ne:\n", "  c\n  d\n", "  c\n", "lose its backslash"),
        ("a(1)\nb('c')\n", "a(1)\\nb('c')", "a(1)\\nd('e\\n')\\nb('c')", "within quotes"),
    ],
)
def test_a_new_string_that_is_garbled_alone_is_refused(text: str, old: str, new: str, reason: str) -> None:
    found = match_edit(text, old, new)
    assert isinstance(found, Refusal)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("    one(1)\n    five(2)\n</new_string>", "belongs to no file"),
        ("    one(1)\n    five(2)</parameter>\n</invoke>", "belongs to no file"),
        ("<![CDATA[    one(1)\n    five(2)]]>", "belongs to no file"),
        ("=======\n    one(1)\n    five(2)\n>>>>>>> REPLACE", "belongs to no file"),
        ("python\n    one(1)\n    five(2)", "belongs to no file"),
        ('"    one(1)\\n    five(2)"', "belongs to no file"),
        ("    one(1)\n    five(2)\n```", "Markdown fence"),
        ("```python\n    one(1)\n    five(2)", "Markdown fence"),
        ("[2]     one(1)\n[3]     five(2)", "line numbers"),
        ("    one(1)\n3:     five(2)", "line numbers"),
        ("7) one(1)\n8) five(2)", "line numbers"),
        ("    one(1)\n+    five(2)", "diff signs"),
        ("> one(1)\n> five(2)", "before each of its lines"),
        (">     one(5)", "before each of its lines"),
        ("+     one(5)\n    two(2)", "diff signs"),
        ("@1     one(1)\n@2     five(2)", "line numbers"),
        ("    one(5)\n    two(2)\n=======", "belongs to no file"),
        ('    one(5)\n    two(2)"}', "belongs to no file"),
        ("    one(1)\\n\n    five(2)\\n", "written out"),
        ("    one(1)\n    five(2)\\n    six(2)", "written out"),
        ("    one(1)\\r\\n    five(2)", "written out"),
        ("    one(1)\n    five（2）", "full-width signs"),
        ("    one(1)\n    a\u00a0=\u00a0five(2)", "no-break spaces"),
    ],
)
def test_what_no_line_of_code_begins_or_ends_with_is_not_written(new: str, reason: str) -> None:
    text = "def f():\n    one(1)\n    two(2)\n    three(3)\n"
    found = match_edit(text, "    one(1)\n    two(2)", new, path="a.go")
    assert isinstance(found, Refusal)
    assert reason in found.reason


@pytest.mark.parametrize(
    "new",
    [
        "1. one\n2. two",
        "+ one\n+ two",
        "> one\n> two",
        "one\n===",
        "- one\n- two",
        "# one\n# two",
        "<p>two</p>",
    ],
)
def test_what_prose_and_lists_begin_with_is_written(new: str) -> None:
    assert after("head\none\ntwo\n", "one\ntwo", new) == f"head\n{new}\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("  assert.a(1)\n  b\n", "ert.a(1)\n  b", "  assert.a(2)\n  b", "a part of a word"),
        ("  * @since 1\n  */\n", "@since 1\n  */", "  * @since 2\n  */", "a part of a word"),
        ("use a.that;\nc;\n", "use a.tha", "use a.that;\nuse b;", "a part of a word"),
        (
            "a(1)\nwt: Writer<W>,\nmatches: V,\n}\n",
            "a(1)\n",
            "a(2)\nwt: Writer<W>,\nmatches: V,\n",
            "stand there twice",
        ),
        ("{\n  name: commander,\n  v: 1\n}\n", "  v: 1", "{\n  name: commander,\n  v: 2", "stand there twice"),
        ("\t\ta(1)\n\t\tb(2)\n\t\tcall(3)\n\t}\n", "a(1)\nb(2)\n", "a(1)\nd(2)\n  call(3)\n}\n", ""),
        ("s = '\\n    x'\nf(a)\ng(b)\n", "f(a)\ng(b)", "f(c)\\ng(b)", "written out"),
        ("s = '\\n    x'\nf(a)\ng('\\n')\n", "f(a)\ng('\\n')", "f(c)\\r\\n    g('\\n')", "written out"),
    ],
)
def test_what_is_beside_old_string_is_not_written_again(text: str, old: str, new: str, reason: str) -> None:
    found = match_edit(text, old, new)
    assert isinstance(found, Refusal)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('f("{authorized}")\n', "authorized}", "authorized}\\n"),
        ('x = ("rule 1"):\n', " rule 1".strip(), "1: rule 1"),
        ('re.sub("([^a]*)b")\n', "([^a]*)b", "+([^a]*+)b"),
        ("foo_bar()\n", "bar()", "baz()"),
    ],
)
def test_a_part_of_a_line_may_begin_and_end_with_any_sign(text: str, old: str, new: str) -> None:
    assert after(text, old, new) == text.replace(old, new)


@pytest.mark.parametrize("number", [0, 1, 700, 2998, 2999])
def test_a_long_edit_changes_what_it_changes_wherever_that_is(number: int) -> None:
    lines = [f"        value_{each} = compute(value_{each - 1}, {each})\n\n" for each in range(3_000)]
    text = "class A:\n    def f(self):\n" + "".join(lines)
    old = dedent("".join(lines))
    for changed in ("", "other = 1\n", f"value_{number} = compute(1)\nother = 1\n"):
        sent = old.replace(f"value_{number} = compute(value_{number - 1}, {number})\n", changed)
        made = text.replace(lines[number], indent(changed, " " * 8) + "\n")
        assert after(text, old, sent) == made


def test_what_a_string_begins_with_unseen_or_ends_its_lines_by_is_not_written() -> None:
    assert after("a = 1\nb = 2\n", "b = 2", "\ufeffb = 3") == "a = 1\nb = 3\n"
    result, found = edit("a = 1\nb = 2\n", "a\u200b = 1\nb = 2", "a = 1\u200b\nb = 3")
    assert (result, found.forgiven) == ("a = 1\nb = 3\n", ("zero-width characters",))
    assert after("a\u200b = 1\n", "1", "x\u200by") == "a\u200b = x\u200by\n"
    assert after("a = 1\nb = 2\n", "a = 1\rb = 2", "a = 1\rb = 3") == "a = 1\nb = 3\n"


@pytest.mark.parametrize("new", ['x = "' + '\\"' * 50_000, "'" + "\\" * 50_001, "a\\n" + "'\"" * 50_000])
def test_quotes_and_backslashes_that_nothing_closes_take_no_time(new: str) -> None:
    assert isinstance(match_edit("a\n", "a", new), Edit | Refusal)


def test_a_block_that_is_wrapped_keeps_the_quotes_that_old_string_has_in_another_style() -> None:
    block = '\trun\n\tif test -s "$D"\n\tthen\n\t\techo "$c"\n\tfi\n'
    garbled = block.replace('"', "'")
    wrapped = "\tif true; then\n" + indent(garbled, "\t") + "\tfi\n"
    assert after(f"a\n{block}b\n", garbled, wrapped) == "a\n\tif true; then\n" + indent(block, "\t") + "\tfi\nb\n"


def test_a_new_statement_gets_the_quotes_that_the_whole_old_string_has_in_another_style() -> None:
    text = 'import x\nfirst("a", "b")\nlog("c")\n'
    old = "first('a', 'b')\nlog('c')\n"
    assert after(text, old, f"{old}log('d')\n") == f'{text}log("d")\n'


def test_an_escaped_quote_of_a_new_statement_stays() -> None:
    text = 'import x\nfirst("a", "b")\nlog("c")\n'
    old = "first('a', 'b')\nlog('c')\n"
    assert after(text, old, f"{old}log('it\\'s')\n") == f"{text}log('it\\'s')\n"


def test_the_rest_of_a_line_is_not_written_twice() -> None:
    text = "call(\n  opts: {\n    a: 1,\n  },\n)\n"
    found = refusal(text, "call(\n  opts: ", "with_lock(\n  opts: {")
    assert found.why is Why.UNCLEAR
    assert "twice" in found.reason
    assert refusal("a = 1;\nb = 2;\n", "a = 1", "a = 1;").why is Why.UNCLEAR


def test_new_lines_that_may_lack_the_sign_that_old_string_lacks_are_refused() -> None:
    text = "const title = read();\nopen(title) {\nshow(title) {\n}\n"
    old = "const title = read()\nopen(title) {\nshow(title) {\n"
    assert refusal(text, old, f"{old}  step()\n").why is Why.UNCLEAR
    assert after(text, old, f"{old}@step()\n") == f"{text[:-2]}@step()\n}}\n"
    assert after(text, old, f"{old}  step();\n") == text.replace("show(title) {\n", "show(title) {\n  step();\n")
    assert after(text, old, old.replace("show", "hide")) == text.replace("show", "hide")


def test_a_byte_order_mark_behind_a_line_number_is_no_text() -> None:
    text = "a {\n  b: c;\n}\n"
    old, new = "   7\t\ufeffa {\n   8\t  b: c;\n   9\t}\n", "   7\t\ufeffx {\n   8\t  b: c;\n   9\t}\n"
    assert after(text, old, new) == text.replace("a {", "x {")


def test_a_tab_never_stands_for_one_blank() -> None:
    text = "for:\n            if i:\n                push(i)\n"
    old = "if i:\n\t\t\t\tpush(i)\n"
    new = "\t\t\tif i:\n\t\t\t\tstep()\n\t\t\t\tpush(i)\n"
    assert after(text, old, new) == text.replace("push", "step()\n                push", 1)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("a();\n", 'a();\nreturn s.replace("&", "&amp;");'),
        ("<p>a</p>\n", "<p>a &lt; b (</p>\n<p>c &lt; d ("),
        ("a()\n", "a()\n# x &lt; y:"),
        ("echo a\n", 'echo a\necho "say \\"x\\""'),
        ("Un mot\n", "Un mot\u00a0: deux"),
    ],
)
def test_entities_and_escapes_that_are_meant_are_written(text: str, new: str) -> None:
    assert after(text, text.rstrip("\n"), new) == f"{new}\n"


# what the verifier holds every result to


@pytest.mark.parametrize("depth", ["    ", "        ", "\t\t"])
def test_a_block_wrapped_in_the_files_own_depth_stays_where_it_was(depth: str) -> None:
    text = f"top:\n{depth}a = one()\n{depth}b = two()\n{depth}c = three()\n"
    old = "a = one()\nb = two()\n"
    new = f"{depth}if flag:\n{depth}    a = one()\n{depth}    b = two()\n"
    assert after(text, old, new) == text.replace(indent(old, depth), new)


def test_a_line_that_leaves_among_lines_in_the_files_depth_moves_no_other() -> None:
    text = "rules:\n    first: 1\n\n    second: 2\n    third: 3\n"
    old, new = "first: 1\n\nsecond: 2\nthird: 3\n", "    first: 1\n    second: 2\n    third: 3\n"
    assert after(text, old, new) == "rules:\n" + new


def test_new_lines_that_stand_as_deep_as_neither_string_nor_file_has_them_are_refused() -> None:
    text = "def f():\n    first()\n    if x:\n        second()\n"
    old = "first()\nif x:\n    second()\n"
    assert "how deep" in refusal(text, old, indent("first()\nif y:\n    second()\n", " " * 12)).reason


def test_lines_without_numbers_that_lost_their_indentation_are_refused() -> None:
    text = "f() {\n  one();\n  two();\n}\n"
    old = "   2\t  one();\n   3\t  two();\n"
    assert "how deep" in refusal(text, old, "one();\nstep();\ntwo();\n").reason
    for new in ("one();\n  step();\n  two();\n", "  one();\n  step();\n  two();\n"):
        assert after(text, old, new) == text.replace("  two", "  step();\n  two")


def test_a_line_that_moves_keeps_its_spacing() -> None:
    text = "A   = 1\nBB  = 22\nCCC = 333\n"
    assert after(text, "A = 1\nBB = 22\nCCC = 333\n", "BB = 22\nA = 1\nCCC = 333\n") == "BB  = 22\nA   = 1\nCCC = 333\n"


def test_operators_that_old_string_has_apart_are_written_by_nobody() -> None:
    text = "a := 1\nif a == 2 {\n}\n"
    assert "beside signs" in refusal(text, "a: = 1\nif a = = 2 {\n", "a: = 1\nb: = 3\nif a = = 2 {\n").reason
    assert after(text, "a: = 1\nif a = = 2 {\n", "a: = 1\nstop()\nif a = = 2 {\n") == text.replace("if", "stop()\nif")


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ('# the "a" file', '# the \\"a\\" file'),
        ("if (a && b < c)", "if (a &amp;&amp; b &lt; c)"),
        ("match = find(/\\d+/)", "match = find(/\\\\d+/)"),
        ("# say 'hello'", "# say ‘hello’"),
        ("rest = all - some", "rest = all — some"),
    ],
)
def test_a_garbled_copy_of_a_line_of_the_file_is_refused(line: str, sent: str) -> None:
    text = f"start()\nstop()\n{line}\n"
    found = refusal(text, "start()\n", f"start()\n{sent}\n")
    assert found.why is Why.UNCLEAR
    assert after(text, "start()\n", f"start()\n{line}\n") == f"start()\n{line}\nstop()\n{line}\n"
    assert after(text, f"{line}\n", f"{sent}\n") == f"start()\nstop()\n{sent}\n"


def test_a_line_break_in_json_that_may_be_a_backslash_and_an_n_is_refused() -> None:
    text = "# one\n# two\n# three\n"
    assert "several ways" in refusal(text, "# one\\n# two", "# one\\nrun \\\\n# two").reason
    assert after(text, "# one\\n# two", "# one\\nrun\\n# two") == "# one\nrun\n# two\n# three\n"


def test_the_end_of_a_statement_stays_with_it_when_it_is_wrapped() -> None:
    text = "function f() {\n  let a = null;\n  go();\n}\n"
    assert "would end another" in refusal(text, "  let a = null", "  for (;;) {\n    let a = null\n  }").reason
    assert after("f(a);\n", "f(a", "f({\n  a\n}") == "f({\n  a\n});\n"


def test_new_lines_with_quotes_that_the_file_has_in_both_styles_are_refused() -> None:
    text = 'first("a", \'\')\nsecond("b")\n'
    old = "first('a', '')\nsecond('b')\n"
    assert "quotes" in refusal(text, old, f"{old}third('c')\n").reason
    assert after(text, old, f"{old}third(c)\n") == f"{text}third(c)\n"
    text = "a('x')\nb('y')\nfirst(\"a\")\nlast()\n"
    assert "quotes" in refusal(text, "first('a')\nlast()\n", "first('a')\nmore('b')\nlast()\n").reason


@pytest.mark.parametrize(
    "line",
    [
        "tags: ['-tags \"sonic avx\"']",
        "say 'no `$HOME` here', \"it\"",
        "' a comment\nsecond: 'x'",
        "key: 'a'\nother: \"b\"",
    ],
)
def test_two_kinds_of_quotes_of_new_lines_never_become_one(line: str) -> None:
    text = 'run: "a"\ngoes: "b"\nlast: 1\n'
    old = text.replace('"', "'")
    assert "quotes" in refusal(text, old, old.replace("last", f"{line}\nlast")).reason


def test_new_lines_keep_their_quotes_where_new_string_has_a_line_as_the_file_does_and_old_string_hasnt() -> None:
    text = "with:\n  version: 'lts'\n  run: |\n    a\n"
    new = "with:\n  version: 'lts'\n  command: \"check\"\n"
    assert after(text, text.replace("'", '"'), new) == new


def test_a_fence_is_written_into_no_configuration() -> None:
    text = "steps:\n    - name: Set up\n      uses: a/b@v1\n"
    old = text.partition("\n")[2]
    assert "fence" in refusal(text, old, f"```\n{old.replace('v1', 'v2')}```\n", path="ci.yml").reason


def test_what_leaves_a_key_twice_is_refused_where_old_string_isnt_as_in_the_file() -> None:
    text = "matrix:\n  fast: true\ninstall:\n  - a\n"
    assert "parsed" in refusal(text, "  install:\n", "  matrix:\n", path="a.yml").reason


def test_lines_arent_added_beside_one_that_a_blank_line_parts_from_old_string() -> None:
    text = 'import (\n\t"sync"\n\t"testing"\n\t"time"\n\n\t"a/assert"\n)\n'
    old = '\t"sync"\n\t"tseting"\n\t"time"\n'
    assert "blank line" in refusal(text, old, f'{old}\n\t"a/http2"').reason


def test_a_word_of_the_file_is_not_taken_for_a_slip_in_new_lines() -> None:
    text = "- [readme](a/readme)\n- [readme](b/README.fr)\n- [readme](c/README.kr)\nend\n"
    old = text.replace("b/README", "b/readme")
    assert refusal(text, old, old.replace("end", "- [Italian readme](d)\nend")).why is Why.UNCLEAR


def test_a_new_string_whose_lines_have_all_lost_their_indentation_gets_it_back_or_is_refused() -> None:
    text = "jobs:\n  steps:\n    - name: a\n      run: |\n        one\n        two\n"
    old = "    - name: a\n      run: |\n        one\n"
    assert refusal(text, old, "- name: a\n  run: |\n    if x:\n      one\n").why is Why.UNCLEAR
    edit = match_edit(text, old, "- name: a\n  run: |\n    if x:\n      one\n", path="a.yml")
    assert isinstance(edit, Edit)
    assert spliced(text, edit.replacements) == text.replace("        one\n", "        if x:\n          one\n")


def test_an_edit_made_before_isnt_made_again_where_its_end_is_as_its_beginning() -> None:
    text = 'a("x")\n}\n\nfirst() {\n  b("y")\n}\n\nsecond() {\n'
    old = "}\n\nsecond() {\n"
    made = text.replace("first", "f1")
    assert refusal(made, f" {old}", ' }\n\nf1() {\n  b("y")\n}\n\nsecond() {\n').why is Why.UNCLEAR


@pytest.mark.parametrize("sent", ["/* a */\\nb: c;", "some version.\\n    -- step"])
def test_a_line_break_written_out_behind_a_comment_or_a_sentence_is_refused(sent: str) -> None:
    line = sent.partition("\\n")[0]
    assert "written out" in refusal(f"{line}\nx\n", line, sent).reason


def test_a_new_line_that_lacks_the_sign_a_line_of_old_string_lacks_is_no_guess() -> None:
    text = '  ("/one", false),\n  ("/two", false),\n}\nroutes(t)\n'
    new = text.replace("}", '  ("/five", false)\n  ("/six", true),\n}')
    found = match_edit(text, text.replace("e),", "e)", 1), new)
    assert isinstance(found, Refusal)
    assert "lacks signs" in found.reason


def test_a_line_that_lacks_its_sign_in_old_string_alone_gets_it_once() -> None:
    text = "jobs:\n  build:\n    with:\n      depth: 1\n    steps: here\n"
    old = "  build:\n    with\n      depth: 1\n    steps: here\n"
    new = "  build:\n    with:\n      depth: 2\n    steps: here\n"
    assert after(text, old, new) == text.replace("depth: 1", "depth: 2")


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("\n  b();\n  c();", "  b();\n  d();", "a();\n  b();\n  d();\ne();\n"),
        ("\n  b();\n  c();", "  x();\n  c();", "a();\n  x();\n  c();\ne();\n"),
        ("  b();\n  c();\n", "  x();\n  c();", "a();\n  x();\n  c();\ne();\n"),
        ("\n  b();", "; b();", "a();; b();\n  c();\ne();\n"),
        ("  c();\n", "  d(", "a();\n  b();\n  d(e();\n"),
    ],
)
def test_a_line_break_that_new_string_lacks_beside_a_line_it_keeps_stays(old: str, new: str, wanted: str) -> None:
    assert after("a();\n  b();\n  c();\ne();\n", old, new) == wanted


def test_a_line_break_without_which_the_text_cannot_be_parsed_stays() -> None:
    found = match_edit("a = 1\nb = 2\n", "a = 1\n", "a = 3", path="x.py")
    assert isinstance(found, Edit)
    assert [piece.body for piece in found.replacements] == ["a = 3"]
    assert found.replacements[0].end == 5


def test_a_line_that_stands_beside_old_string_is_not_written_twice() -> None:
    text = "first_of_all()\nsecond()\n# what comes then\nthird()\n"
    found = refusal(text, "second()\n", "second(1)\n# what comes then\n")
    assert "twice" in found.reason
    assert "twice" in refusal(text, "second()\n", "first_of_all()\nsecond(1)\n").reason
    assert after("{\n  a()\n}\n", "  a()\n", "  b()\n}\n") == "{\n  b()\n}\n}\n"


def test_text_across_lines_never_begins_with_a_sign_of_the_line_before() -> None:
    text = "<a>one</a>\n    <b>two</b>\n"
    assert refusal(text, "> <b>two</b>", "> <b>three</b>").why is Why.NO_MATCH


def test_several_lines_that_begin_within_an_indentation_are_mapped() -> None:
    text = "a\n        b(1)\n    c(2)\n    d(3)\n"
    old, new = "      b(1)\n    c(2)\n    d(3)\n", "      b(1)\n      e(4)\n    c(2)\n    d(3)\n"
    assert after(text, old, new) == text.replace("b(1)\n", "b(1)\n        e(4)\n")


@pytest.mark.parametrize(
    ("added", "written"),
    [
        ("        if not x:\n            raise E\n", "        if not x:\n            raise E\n"),
        ("        with y:\n            z()\n", "        with y:\n            z()\n"),
    ],
)
def test_a_line_that_goes_on_from_another_deeper_than_sent_says_nothing_of_new_lines(added: str, written: str) -> None:
    text = "class A:\n    def f(self):\n        x = find(\n                1)\n        g(x)\n"
    old = "    def f(self):\n        x = find(\n            1)\n        g(x)\n"
    wanted = text.replace("        g(x)\n", written + "        g(x)\n")
    assert after(text, old, old.replace("        g(x)\n", added + "        g(x)\n")) == wanted


def test_a_step_that_most_lines_do_not_keep_is_no_scale() -> None:
    text = "    a()\n    b()\n            c()\n        d()\n        e()\n"
    wanted = "    a()\n    b()\n            c()\n        if f:\n            d()\n            e()\n"
    assert after(text, "    d()\n    e()\n", "    if f:\n        d()\n        e()\n") == wanted


@pytest.mark.parametrize(
    "number", ["{}. ", "{}) ", "[{}] ", "{}> ", "{}-", "{} │ ", "{:>5}│", "| {} | ", "Line {}: ", "src/a.py:{}:"]
)
def test_numbers_with_any_sign_behind_them_are_taken_from_several_lines(number: str) -> None:
    def numbered(lines: list[str]) -> str:
        return "\n".join(number.format(9 + i) + line for i, line in enumerate(lines))

    old, new = ["def f():", "    a()", "    b()"], ["def f():", "    a()", "    c()", "    b()"]
    text = "x = 1\n" + "\n".join(old) + "\n"
    assert after(text, numbered(old), numbered(new)) == "x = 1\n" + "\n".join(new) + "\n"


def test_numbers_of_a_list_are_text() -> None:
    assert refusal("one\ntwo\nthree\n", "3. two", "3. four").why is Why.NO_MATCH
    assert refusal("one\ntwo\nthree\n", "3. one\n5. two", "3. one\n5. four").why is Why.NO_MATCH


def test_strings_written_as_json_strings_are_read() -> None:
    assert after('say("a")\nstop()\n', '"say(\\"a\\")\\nstop()"', '"say(\\"b\\")\\nstop()"') == 'say("b")\nstop()\n'


def test_a_sign_that_ends_a_line_behind_old_string_is_not_written_twice_by_any_stage() -> None:
    text = 'requires = [\n    "click>=8.1",\n]\n'
    assert "twice" in refusal(text, 'requires = [\n"click>=8.1"', 'requires = (\n"click>=8.1",').reason


def test_a_refusal_shows_the_difference_of_twenty_lines_that_are_all_garbled() -> None:
    lines = [f"value_{i} = compute_{i}(item_{i})" for i in range(20)]
    found = refusal("\n".join(lines), "\n".join(f"@@ {line}" for line in lines), "x = 1")
    assert found.nearest == "\n".join([f"- @@ {line}" for line in lines] + [f"+ {line}" for line in lines])


def test_an_end_that_old_string_has_twice_takes_no_other_end_with_it() -> None:
    text = "if (a) {\n    if (b) {\n        go();\n    }\n}\nnext();\n"
    old = "if (b) {\n    go();\n}\n}"
    assert "closes something" in refusal(text, old, "if (b) {\n    stop();\n}").reason
    assert after(text, "if (b) {\n    go();\n}", "go();") == "if (a) {\n    go();\n}\nnext();\n"


YAML = "on:\n  push:\n    steps:\n      - run: a\n      - run: b\n"


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "wanted"),
    [  # the first line, which both strings have; a whole block; a line without which nothing can be parsed
        ("x.js", "{\n  a();\n  b();\n}\n", "  a();\n  b();", "a();\n  c();", "{\n  a();\n  c();\n}\n"),
        ("x.py", "if a:\n    b()\n    c()\n", "    b()\n    c()\n", "b()\nd()\n", "if a:\n    b()\n    d()\n"),
        ("x.py", "if a:\n    b()\n    c()\n", "    b()\n", "e()\n", "if a:\n    e()\n    c()\n"),
    ],
)
def test_indentation_that_new_string_alone_has_lost_is_put_back(
    path: str, text: str, old: str, new: str, wanted: str
) -> None:
    found = match_edit(text, old, new, path=path)
    assert isinstance(found, Edit)
    [(start, end, body)] = found.replacements
    assert f"{text[:start]}{body}{text[end:]}" == wanted
    assert found.forgiven == ("indentation",)


def test_a_block_that_new_string_alone_has_at_the_margin_is_no_guess() -> None:
    found = match_edit(YAML, "    steps:\n      - run: a\n", "steps:\n  - run: c\n", path="x.txt")
    assert isinstance(found, Refusal)
    assert "how deep" in found.reason
    assert after(YAML, "      - run: a\n", "- run: a\n").endswith("steps:\n- run: a\n      - run: b\n")


def test_lines_that_stand_below_the_place_already_are_not_added_again() -> None:
    text = "def f():\n    first_line()\n    second_line()\n    third_line()\n"
    found = refusal(text, "def f():\n  first_line()", "def f():\n  first_line()\n  second_line()")
    assert "already" in found.reason
    found = refusal(text, "  third_line()\n", "  second_line()\n  third_line()\n")
    assert found.why is Why.AMBIGUOUS or "already" in found.reason


def test_whole_lines_stay_whole_lines() -> None:
    text = "[a]\nversion = 1  # mark\nname = 2\n"
    assert after(text, "version = 1  # mark\n", "version = 3  # mark") == "[a]\nversion = 3  # mark\nname = 2\n"


def test_a_comment_behind_old_string_stays_with_the_line_that_ends_both() -> None:
    text = "jobs:\n  contents: read # why\n"
    new = "permissions:\n  contents: read\njobs:\n  contents: read"
    assert after(text, "jobs:\n  contents: read", new).endswith("\njobs:\n  contents: read # why\n")


def test_another_kind_of_escape_in_new_string_alone_is_no_guess() -> None:
    text = 'say("a")\nend\n'
    found = refusal(text, 'say(\\"a\\")\nend\n', 'say(\\"a\\")\nfind(\\"\\\\s\\")\nend\n')
    assert "can't be told" in found.reason


def test_a_comment_left_out_behind_a_line_stays_there() -> None:
    text = "def f():\n    one = 1  # the first\n    two = 2\n    three = 3\n"
    old = "    one = 1\n    two = 2\n    three = 3\n"
    found, edited = edit(text, old, old.replace("3", "4"))
    assert found == text.replace("three = 3", "three = 4")
    assert edited.forgiven == ("a comment left out",)
    # Only where it stays, and never a part of a text in quotes.
    assert refusal(text, old, old.replace("one = 1", "one = 5")).why is Why.UNCLEAR
    quoted = text.replace("1  # the first", '"1  # the first"')
    assert refusal(quoted, old.replace("1", '"1'), old.replace("1", '"1').replace("3", "4")).why is Why.NO_MATCH


def test_a_comma_left_out_in_the_middle_of_a_list_stays() -> None:
    text = '{\n  "name": "a",\n  "version": 1,\n  "last": 2\n}\n'
    old = '{\n  "name": "a"\n  "version": 1,\n  "last": 2\n}\n'
    assert after(text, old, old.replace("1,", "3,")) == text.replace("1,", "3,")
    found = refusal(text, old, old.replace('  "version": 1,\n  "last": 2\n', ""))
    assert "comma" in found.reason or found.why is Why.NO_MATCH


def test_lines_without_the_depth_that_python_needs_are_refused() -> None:
    text = "class A:\n    def f(self):\n        one()\n        two()\n"
    found = match_edit(text, "one()\ntwo()\n", "one()\nif a:\ntwo()\n", path="x.py")
    assert isinstance(found, Refusal)
    assert "parsed" in found.reason


def test_a_name_in_another_letter_case_is_the_files_in_new_text_too() -> None:
    text = "def f(fn):\n    with open(fn) as f:\n        return yaml.load(f)\n"
    old = "def f(fn):\n    with open(fn) as f:\n        return Yaml.load(f)\n"
    found = after(text, old, old.replace("(f)", "(f, Loader=Yaml.Loader)"))
    assert found == text.replace("(f)", "(f, Loader=yaml.Loader)")


# what the file and the strings don't vouch for


def test_a_first_line_that_lost_its_indentation_in_new_string_alone_gets_it_back() -> None:
    text = "help: |\n  One line\n  of text.\n  Another.\nnext: 1\n"
    old = "  One line\n  of text.\n"
    assert after(text, old, "One long line\n  of text.\n") == text.replace("One", "One long")
    inexact = old.replace("line", "line  ")
    assert after(text, inexact, "One long line\n  of text.\n") == text.replace("One", "One long")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("def f():\n    one()\n    two()\n    three()\n", "    two()\n    three()\n", "    ...\n    four()\n"),
        ("one\ntwo\nthree\nfour\n", "two\nthree\nfour\n", "two\n[...]\nfive\n"),
        # made already, and old_string fits another place but for its indentation
        (
            "one(alpha)\nnew(beta)\nlast()\n\n  one(alpha)\n  last()\n",
            "one(alpha)\nlast()",
            "one(alpha)\nnew(beta)\nlast()",
        ),
        ('a = "1"\nb = "2"\n', 'a = "1"\nb = "2"\n', 'a = \\"1\\"\nb = \\"3\\"\n'),
        ('a = "1"\nb = "2"\nc = \\"3\\"\n', 'a = "1"\nb = "2"\n', 'a = \\"1\\"\n'),
        ("one(alpha)\ntwo(beta)\n", "one(alpha)\ntwo(beta)\n", "  97→two(beta)\n"),
        ("  'a': 1,\n  'b': 2,\n", "'a': 1,\n'b': 2,\n", "'c': 1,\n  'b': 2,\n"),
        ('a = "1"\nb = "2"\n', 'a = "1"\nb = "2"\n', "a = “1”\nb = “3”\n"),
        ("begin(1)\nfinish(2)\n", "begin(1)\nfinish(2)\n", "10: begin(1)\n11: more(3)\n12: finish(2)\n"),
        ("steps(alpha);\nlast(beta);\n", "steps(alpha);\nlast(beta)", "steps(alpha);\nlast(gamma);"),
        ("# one of\n# the lines\nbegin()\nend()\n", "# one of\nbegin()\nend()\n", "# one of\n# more\nbegin()\nend()\n"),
        ("one()\ntwo() \\\n  three()\n", "one()\ntwo()\n  three()\n", "one()\ntwo()\n  more()\n  three()\n"),
    ],
)
def test_what_may_be_garbled_in_new_string_alone_or_meant_for_another_place_is_refused(
    text: str, old: str, new: str
) -> None:
    assert refusal(text, old, new).why in (Why.UNCLEAR, Why.OMISSION)


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.yml", "a:\n  b: 1\n  c: 2\n  d: 3\n", "  c: 2\n", "  c: 2\n\te: 4\n"),
        ("Makefile", "all:\n\tone\n\ttwo\n\tthree\n", "\ttwo\n", "\ttwo\n    two and a half\n"),
    ],
)
def test_tabs_and_blanks_are_not_mixed_by_an_exact_edit_where_depth_has_a_meaning(
    path: str, text: str, old: str, new: str
) -> None:
    assert refusal(text, old, new, path=path).why is Why.UNCLEAR
    assert after(text, old, new) == text.replace(old, new)


def test_lines_that_become_a_block_of_their_own_are_as_deep_as_the_model_has_them_beside_the_first() -> None:
    text = "class A:\n    def f(self):\n        if x:\n            stop()\n        else:\n            close()\n"
    old = "        else:\n            close()\n"
    new = "        elif y:\n            go()\n\n    def _g(self):\n        close()\n"
    for shift in ("    ", "  "):
        assert after(text, indent(old, shift), indent(new, shift)) == text.replace(old, new)


def test_what_looks_like_it_but_is_meant_is_written() -> None:
    stub = "class P:\n    def f(self):\n        return 1\n\n    x = 1\n"
    assert after(stub, "        return 1\n", "        ...\n") == stub.replace("return 1", "...")
    quotes = '# say "a"\n# say "b"\n'
    assert after(quotes, '# say "a"', "# say “a”") == quotes.replace('"a"', "“a”")
    outdent = "if x:\n    one()\n    two()\nthree()\n"
    assert after(outdent, "    two()\nthree()\n", "two()\nthree()\n") == outdent.replace("    two", "two")


def test_a_comment_told_in_other_words_stays_beside_one_that_goes() -> None:
    text = "begin(one)\n// what comes at the last point\n// and more\nfinish(two)\n"
    old = text.replace("at the", "in the")
    assert after(text, old, old.replace("// and more\n", "")) == text.replace("// and more\n", "")


def test_a_dedented_line_and_its_end_are_deleted() -> None:
    assert after("a:\n    two = 2\n    three = 3\n", "\nthree = 3\n", "") == "a:\n    two = 2\n"


def test_a_line_that_new_string_has_as_the_file_does_is_kept() -> None:
    text = 'build = "main"\nedition = \'2021\'\nversion = "1.74"\n'
    old = text.replace('"', "`").replace("'", '"').replace("`", "'")
    assert after(text, old, text.replace("1.74", "1.79")) == text.replace("1.74", "1.79")


def test_quotes_that_are_others_in_the_file_are_written_in_no_new_line() -> None:
    text = "if (path[0] == '/')\n    say(\"a path\");\nend();\n"
    old = "if (path[0] == '/')\n    say('a path');\nend();\n"
    assert refusal(text, old, old.replace("end();", "if (path == '')\n    end();")).why is Why.UNCLEAR


def test_a_hyphen_in_a_string_is_the_dash_that_the_file_has() -> None:
    text = "throw Error(\n  'no x — use y'\n);\nmore(a - b);\n"
    assert refusal(text, "throw Error(\n  'no x - use y'\n);\n", "throw Error('no x - take z');\n").why is Why.UNCLEAR


def test_a_hyphen_is_what_old_string_has_beside_such_characters() -> None:
    text = "One re-read — of two.\nMore.\n"
    assert after(text, "One re-read - of two.\nMore.", "One re-read - of two.\nBut re-do - all.") == (
        "One re-read — of two.\nBut re-do — all.\n"
    )


def test_a_comment_that_the_file_has_beside_is_no_slip_of_another() -> None:
    text = "#\n# - TMUX_OPTS\n# - CTRL_T_COMMAND\n# - CTRL_T_OPTS\n# - CTRL_R_OPTS\n"
    old = "# - TMUX_OPTS\n# - CTRL_T_OPTS\n# - CTRL_R_OPTS"
    added = "# - CTRL_T_OPTS\n# - CTRL_R_COMMAND"
    assert after(text, old, old.replace("# - CTRL_T_OPTS", added)) == text.replace("# - CTRL_T_OPTS", added)


def test_a_line_that_begins_where_a_wrapper_goes_has_lost_no_indentation() -> None:
    text = "a:\n    if ready:\n        one()\n    two()\n"
    assert after(text, "if ready:\n    one()\ntwo()", "one()\ntwo()") == "a:\n    one()\n    two()\n"


def test_a_block_that_has_lost_indentation_as_one_gets_none_for_its_first_line_alone() -> None:
    text = "repos:\n  - repo: a\n    rev: 1\n    hooks:\n"
    assert refusal(text, "  - repo: a\n    rev: 1\n", "- repo: a\n  rev: 2\n").why is Why.UNCLEAR


def test_all_lines_that_move_by_as_much_are_in_the_terms_of_old_string() -> None:
    text = "top:\n  # one\n  name:\n    style: a\nend: 1\n"
    old = "top:\n    # one\n    name:\n        style: a\n"
    assert after(text, old, "# one\nname:\n    style: a\n") == "# one\nname:\n  style: a\nend: 1\n"


def test_a_block_of_code_gets_a_fence_for_its_indentation() -> None:
    text = "Run:\n\n    one\n    two\n\nMore.\n"
    new = "```sh\none\ntwo\n```\n"
    found = match_edit(text, "    one\n    two\n", new, path="a.md")
    assert isinstance(found, Edit)
    assert text.replace("    one\n    two\n", new) == text[:6] + found.replacements[0].body + text[22:]


def test_what_takes_one_move_from_the_file_is_in_its_terms() -> None:
    text = "    a:\n        one()\n        two()\n    b:\n        three()\n"
    old = "a:\n    one()\n    two()\nb:\n    three()\n"
    new = "    a:\n        one()\n            two()\n    b:\n        three()\n"
    assert after(text, old, new) == new


def test_a_text_that_only_loses_lines_isnt_made_already_by_what_stays() -> None:
    text = "begin()\nif old:\n    install(a)\nelse:\n    install(production)\n    check(production)\nend()\n"
    old = "  if old:\n      install(a)\n  else:\n      install(production)\n      check(production)\n"
    made = after(text, old, "  install(production)\n  check(production)\n")
    assert made == "begin()\ninstall(production)\ncheck(production)\nend()\n"


def test_the_nearest_lines_are_those_of_the_longest_one_also_where_others_are_common() -> None:
    check = "  if err != nil {\n    return err\n  }\n"
    calls = [
        f"  value, err := catalog.{name}(schema, len(arguments))\n" for name in ("Tables", "FunctionsIn", "Columns")
    ]
    text = f"load()\n{check}" + "".join(f"{call}{check}\n  use(value)\n" for call in calls)
    old = calls[1].replace("FunctionsIn", "Functs").replace("schema", "scheme", 1) + check
    assert refusal(text, old, "x").nearest.split("\n") == [
        f"- {old.split(chr(10))[0]}",
        f"+ {calls[1].rstrip()}",
        "    if err != nil {",
    ]


def test_the_nearest_lines_begin_and_end_with_what_old_string_has_in_some_form() -> None:
    text = "before(it)\nother(it)\nfirst line of it\nlast line of it is here\nafter(it)\nmore(it)\n"
    old = "{\n}\nfirst line of it\nlast line of it was here\nzzz\nqqq"
    lines = refusal(text, old, "x").nearest.split("\n")
    assert [line for line in lines if line[0] == "+"] == ["+ last line of it is here"]


def test_the_nearest_lines_are_those_most_like_the_longest_one() -> None:
    text = "one line of this text\n\n```\n\nanother line of this long text that says more\n\n```\n\nend\n"
    found = refusal(text, "another line of that long txt that says more\n\n```\nx\n", "")
    assert "+ another line of this long text that says more" in found.nearest


def test_a_line_that_was_deeper_than_the_one_that_goes_begins_where_that_did() -> None:
    text = "rvm:\n  - 2.0\n  wrapped:\n    - jruby-18\n  - jruby-19\n"
    found = match_edit(text, "  wrapped:\n    - jruby-18\n  - jruby-19\n", "- jruby-18\n  - jruby-19\n", path="a.yaml")
    assert not isinstance(found, Edit) or "    - jruby-18" not in "".join(piece.body for piece in found.replacements)


def test_what_is_between_lines_of_tildes_of_two_lengths_is_in_no_fence() -> None:
    text = "~~~~~~~~\n\nOne line of it.\n\nTwo\n~~~~\n"
    assert after(text, f"```rst\n{text}```", text.replace("One", "This")) == text.replace("One", "This")


def test_a_copy_of_a_line_in_other_quotes_is_the_line_of_the_file() -> None:
    text = 'equal(body, "{\\"a\\"}\\n")\nend()\n'
    line = "equal(body, '{\\'a\\'}\\n')\n"
    assert after(text, f"{line}end()\n", f"{line}end()\nmore()\n{line}") == f"{text}more()\n{text[: -len('end()') - 1]}"


def test_a_capital_at_a_words_head_in_new_text_isnt_taken_for_the_slip_of_old_string() -> None:
    text = "# Title\n\n- install in docker\n- use it daily\n- more of this\n"
    old = text.replace("docker", "Docker")
    assert refusal(text, old, f"{old}- Docker is needed\n").why is Why.UNCLEAR


def test_new_lines_that_begin_as_deep_as_the_file_does_are_in_its_terms_though_others_are_as_deep_as_in_old_string() -> (
    None
):
    text = "def f():\n    if a:\n        b()\n    else:\n        c()\n    d()\n\nrest\n"
    old = "if a:\n    b()\nelse:\n    c()\nd()\n"
    new = "    if not a:\n        return c()\n    b()\n    d()\n"
    assert after(text, old, new) == f"def f():\n{new}\nrest\n"
    # In the terms of old_string it would stay as deep without what it was in, so it is in those of the file.
    assert after(text, old, "    b()\n") == "def f():\n    b()\n\nrest\n"


def test_a_line_with_a_slip_that_both_strings_have_is_not_written_elsewhere_as_it_was_sent() -> None:
    text = "size = total(a);\nlength = read_long(p);\n\nif (length < 0) {\n    fail(length);\n"
    old = "size = total(a);\nlength = read_long(p)\n\nif (length < 0) {\n    fail(length);\n"
    new = "size = total(a);\noffset = 0;\n\nlength = read_long(p)\nif (length < 0) {\n    fail(length);\n"
    assert refusal(text, old, new).why is Why.UNCLEAR
    text = "loop(a);\nerr(one);\ngo(two);\nfree(xs);\nleave(a);\n"
    new = "free(xs)\nbreak;\nloop(a);\nfree(xs);\nerr(one);\ngo(two);\nleave(a);\n"
    assert refusal(text, text.replace("xs);", "xs)"), new).why is Why.UNCLEAR


def test_a_line_that_old_string_spaces_otherwise_is_the_file_s_wherever_new_string_has_it() -> None:
    text = "  f(a, b);\n  g();\n"
    new = "  f(a,b);\n  h();\n  f(a,b);\n  g();\n"
    assert after(text, text.replace(", ", ","), new) == new.replace(",", ", ")


def test_a_fence_around_old_string_alone_ends_with_a_line_break_of_its_own() -> None:
    text = "a:\n  b\n\nc\n"
    for inner in ("a:\n  b\n", "a:\n  b\n\n"):
        assert after(text, f"```\n{inner}```", "a:\n  d\n") == text.replace("b", "d")


def test_deeper_lines_of_a_new_string_that_moves_nothing_are_no_sign_of_old_string_s_steps() -> None:
    text = "f() {\n  a();\n  b();\n}\n"
    new = "f() {\n  a();\n  b();\n  if (c) {\n    d();\n  }\n}\n"
    assert after(text, text.replace("  ", "    "), new) == new


def test_a_backslash_beside_quotes_that_the_file_has_alike_is_written() -> None:
    text = 'say [\n  "a b",\n  "c"\n]\n'
    new = text.replace('  "c"', '  "d\\n e",\n  "c"')
    old_sent, new_sent = (string.replace(" b", "\u00a0b").replace(" e", "\u00a0e") for string in (text, new))
    assert after(text, old_sent, new_sent) == new


def test_a_line_break_behind_strings_escaped_as_json_is_no_part_of_them() -> None:
    assert after('a("x")\nb\n', 'a(\\"x\\")\\nb\n', 'a(\\"y\\")\\nb\n') == 'a("y")\nb\n'


def test_quotes_around_a_docstring_are_of_no_style() -> None:
    text = "@option('--count', help='greetings')\n@option('--name', help='person')\ndef hello(count):\n    pass\n"
    old = text.replace("'", '"')
    new = old.replace("    pass", '    """Greet."""')
    assert refusal(text, old, new).why is Why.UNCLEAR


def test_new_lines_may_be_indented_by_another_step_than_those_around() -> None:
    text = "def f():\n    g(\n        a,\n        b,\n    )\n    return 1\n"
    old, new = "  g(\n      a,\n      b,\n  )\n", "  g(a,\n    b)\n"
    assert after(text, old, new) == "def f():\n    g(a,\n      b)\n    return 1\n"


def test_a_block_that_moves_less_from_where_old_string_has_it_than_from_the_file_moves_so() -> None:
    text = "it(x, () => {\n  get(1)\n  .expect(2)\n  .end(3)\n})\n"
    old, new = "    .expect(2)\n    .end(3)\n", "      .expect(4)\n      .end(3)\n"
    assert after(text, old, new) == text.replace("  .expect(2)\n  .end", "    .expect(4)\n    .end")
    flat = "    .expect(2)\n    .end(3)\n"
    assert refusal(f"{{\n{flat}}}\n", ".expect(2)\n.end(3)\n", "      .expect(4)\n      .end(3)\n").why is Why.UNCLEAR


def test_a_line_moves_to_where_the_file_has_the_old_one_where_the_last_line_stays() -> None:
    text = "Call it:\n\n    one(1);\n    two(2);\n\nThe rest of it.\n"
    old = "\n        one(1);\n        two(2);\n\n    The rest of it.\n"
    new = "\n    ```c\n    one(1);\n    two(2);\n    ```\n\n    The rest of it.\n"
    wanted = "Call it:\n\n```c\none(1);\ntwo(2);\n```\n\nThe rest of it.\n"
    found = match_edit(text, old, new, path="a.md")
    assert isinstance(found, Edit), found
    assert spliced(text, found.replacements) == wanted


def test_a_fence_is_put_around_no_lines_that_stay_a_block_of_code() -> None:
    text = "```sh\nmake\n```\n\nCall it:\n\n    one(1);\n    two(2);\n\nThe rest.\n"
    new = "```c\none(1);\ntwo(2);\n```\n"
    assert "block of code" in refusal(text, "one(1);\ntwo(2);\n", new, path="a.md").reason
    assert refusal(text, "        one(1);\n        two(2);\n", indent(new, "    "), path="a.md").why is Why.UNCLEAR


def test_a_line_goes_deeper_beneath_one_that_begins_a_block_now() -> None:
    text = "def f():\n    # if ready:\n    go(there)\n"
    wanted = "def f():\n    if ready:\n        go(there)\n"
    assert after(text, "# if ready:\ngo(there)\n", "if ready:\n    go(there)\n") == wanted


@pytest.mark.parametrize("string", ["'in $HOME'", "'#{name}'", "'`pwd`'", "'@list'", "'\\d'"])
def test_a_string_that_may_be_read_within_gets_no_quotes_of_another_style(string: str) -> None:
    text = 'set -e\necho "one two"\nprint "three"\n'
    old = "echo 'one two'\nprint 'three'\n"
    assert refusal(text, old, f"echo 'one two'\necho {string}\nprint 'three'\n").why is Why.UNCLEAR
    assert after(text, old, old.replace("print", "echo 'x@y.z'\nprint")) == text.replace("print", 'echo "x@y.z"\nprint')


def test_a_block_whose_first_line_alone_gets_its_indentation_back_would_hold_nothing() -> None:
    text = "- hosts: x\n  vars:\n    a: 1\n"
    assert "begins a block" in refusal(text, "  vars:\n", "wrapped:\n  vars:\n", path="a.yml").reason
    found = match_edit("def f():\n    x = 1\n", "    x = 1\n", "if a:\n    x = 1\n", path="a.py")
    assert isinstance(found, Edit), found
    assert [piece.body for piece in found.replacements] == ["    if a:\n        x = 1\n"]


def test_a_line_that_stays_keeps_its_tab_though_others_have_blanks() -> None:
    text = "OBJS = a.o \\\n       b.o\n\nclean:\n\trm -f app\n\nall:\n\tmake\n"
    assert refusal(text, "clean:\n\trm -f app\n", "clean:\n    rm -f app\n    rm -f x\n").why is Why.UNCLEAR
    retabbed = "clean:\n    rm -f app\n"
    assert after(text, "clean:\n\trm -f app\n", retabbed) == text.replace("clean:\n\trm -f app\n", retabbed)
