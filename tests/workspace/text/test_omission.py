"""Omission placeholders, in the comment syntax of any language and five tongues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.workspace.text.omission import find_emptied, find_left_out, find_omission, is_elision, is_omission

PHRASES = [
    "rest of code ...",
    "... existing code ...",
    "... rest of the code remains unchanged ...",
    "rest of methods ...",
    "unchanged",
    "... remaining queries unchanged",
    "(rest of the code remains the same)",
    "... keep existing code",
    "... other methods ...",
    "same as before",
    "code omitted for brevity",
    "... (rest of the function is unchanged)",
    "... 既存のコードはそのまま ...",
    "...（以下、変更なし）...",
    "（省略）",
    "後略",
    "... 其余代码保持不变 ...",
    "... 其他代码不变 ...",
    "其餘程式碼保持不變",
    "省略其他代码",
    "... 나머지 코드 ...",
    "기존 코드 그대로",
    "(생략)",
]
COMMENTS = ["// {}", "# {}", "/* {} */", "<!-- {} -->", "{{/* {} */}}", "-- {}", "; {}", "% {}", "(* {} *)", "{{# {} #}}",
            "    * {}", "' {}", "\t//{}", "REM {}", "/// {}", "@* {} *@", "::{}"]  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_for_what_was_there_is_a_placeholder_in_any_comment_syntax(phrase: str) -> None:
    assert [comment for comment in COMMENTS if not is_omission(comment.format(phrase))] == []


@pytest.mark.parametrize(
    "line",
    [
        "-- ... rest of the query ...",
        "{/* ... existing JSX ... */}",
        '" ... rest of vimrc',
        "! ... rest of subroutine",
        '"""... rest of code ..."""',
        "{{!-- rest of the code --}}",
        "{{/* existing code */}}",
        "@REM rest of code",
        "<!-- ... remaining list items here ... -->",
    ],
)
def test_with_an_ellipsis_the_parts_may_be_called_anything(line: str) -> None:
    assert is_omission(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "...",
        '"""Unchanged."""',
        "# the rest of the words",
        "# Reading the rest of the words ...",
        "# existing users",
        "# existing users ...",
        "    ...",
        "# ...",
        "// Loading existing users...",
        "Loading... please wait",
        "and so on ...",
        "def stub(self) -> None: ...",
        "# Existing tests",
        "# Other cases...",
        "# other options",
        "# no change",
        "# are the same.",
        "# the same",
        "# Handle the rest of the cases carefully",
        "call(...args);",
        "{...rest}",
        "...rest,",
        "...other",
        '"existing code"',
        "'unchanged',",
        "return rest;",
        "unchanged = True",
        "- unchanged",
        "|unchanged|",
        "# type: ignore",
        "// original",
        "# コード",
        "# 定义",
        "# 다른 함수",
        "x" * 500,
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert not is_omission(line)


@pytest.mark.parametrize("line", ["...", "  // ...", "[...]", "/* ... */", "…", "# ... existing code ..."])
def test_a_bare_ellipsis_stands_for_lines_where_text_is_quoted(line: str) -> None:
    assert is_elision(line)
    assert not is_elision(line + " x")


def test_the_first_placeholder_is_found_with_its_line() -> None:
    assert find_omission("a\n\n  // rest of code ...\n# ... existing code ...", "") == (3, "// rest of code ...")
    assert find_omission("a\nb", "") is None


def test_a_placeholder_that_the_file_has_may_stay() -> None:
    existing = "x\n    # ... existing code ...\n"
    assert find_omission("# ... existing code ...\n", existing) is None
    assert find_omission("# ... existing code ...\n// unchanged", existing) == (2, "// unchanged")


WORDS = st.sampled_from(
    ["the", "rest", "of", "code", "existing", "...", "#", "//", "same", "コード", "省略", "代码", "그대로"]
)


@given(st.lists(WORDS, max_size=40).map(" ".join))
def test_no_line_takes_long(line: str) -> None:
    is_omission(line)
    is_elision(line)


@pytest.mark.parametrize("line", ["function f() { ... }", "  function f() {…}", "function f() { /* ... */ }"])
def test_an_ellipsis_for_all_that_is_in_braces_is_a_placeholder_where_they_held_something(line: str) -> None:
    old = "function f() {\n  return 1\n}\n"
    assert find_emptied(f"let a\n{line}\n", old, "") == (2, line.strip())
    assert find_emptied(line, "", old) == (1, line.strip())
    assert find_emptied(line, "function g() {\n}\n", "") is None
    assert find_emptied(line, line, "") is None


@pytest.mark.parametrize(
    ("line", "held"),
    [("r = run(...)", "r = run(a, b=1)"), ("xs = [...]", "xs = [1, 2]"), ("f(…);", "f(a, {")],
)
def test_an_ellipsis_in_other_brackets_is_one_where_they_held_several_things(line: str, held: str) -> None:
    assert find_emptied(f"a\n{line}", held, "") == (2, line)


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("x: int = Field(...)", "x: int = Field(None)"),
        ("y = xs[...]", "y = xs[0]"),
        ("f: Callable[..., int]", "f: Callable[[str], int]"),
        ("f(...a)", "f(a, b)"),
        ("try:\n    run(...)", "ran(a, b)"),
    ],
)
def test_an_ellipsis_in_brackets_is_code_where_it_stands_for_one_thing(line: str, held: str) -> None:
    assert find_emptied(line, held, "") is None


@pytest.mark.parametrize(
    "line",
    [
        "// ... resto del código sin cambios ...",
        "# ... le reste de la méthode est inchangé",
        "/* ... restlicher Code bleibt unverändert */",
        "<!-- ... остальной код без изменений -->",
        "-- ... o resto do código continua igual ...",
    ],
)
def test_a_placeholder_may_be_in_another_language_of_europe(line: str) -> None:
    assert is_omission(line)
    assert find_left_out(f"f(a) {{\n{line.replace('...', '')}\n}}", "f() {\nx();\ny();\n}", "") is not None


@pytest.mark.parametrize(
    "new",
    [
        "f(a): pass  # existing implementation",
        "f(a):\n    # [existing setup code]\n    z()",
        "f(a):\n    # remaining columns",
        "f(a):\n    # list items stay the same",
    ],
)
def test_a_comment_that_says_it_stays_stands_for_lines_that_go(new: str) -> None:
    old = "f():\n    one()\n    two()\n    three()"
    found = find_left_out(new, old, "")
    assert found is not None
    assert "#" in found[1]
    assert find_left_out(new, new, "") is None
    assert find_left_out(f"{old}\n{new}", old, "") is None


@pytest.mark.parametrize(
    "comment", ["# remaining time in seconds", "# the same key for both", "# other cases", "# restart"]
)
def test_a_comment_that_mentions_what_stays_is_none(comment: str) -> None:
    assert find_left_out(f"f(a):\n    {comment}", "f():\n    one()\n    two()\n    three()", "") is None


def test_a_heading_of_markdown_is_no_placeholder() -> None:
    for line in ("## Existing implementation", "### Unchanged"):
        assert find_omission(line, "", "a.md") is None
        assert find_omission(line, "", "a.py") is not None
    assert find_omission("# ... rest of the file ...", "", "a.md") is not None
