"""Laws of the matcher, on files and garblings drawn by hypothesis."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent, indent

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dogu.workspace.edit_match import Edit, Edits, Refusal, Wanted, Why, match_edit, match_edits
from dogu.workspace.edit_match.views import FoldedText, fold, fold_clusters
from dogu.workspace.text.change import carry_over


@dataclass(frozen=True)
class Case:
    """A file, a block of whole lines in it, and the block as it should become."""

    text: str
    old: str
    new: str

    @property
    def wanted(self) -> str:
        return self.text.replace(self.old, self.new)


BODIES = [
    "call({0}, x < {0}, 'y')",
    "{0} = “値” & {0} + 1",
    "if ({0}) {{ s = '\\\\d+\\\\n'; }}",
    "é{0} => -1",
    "{0}:",
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a file of lines that each have a word of their own, indented by fours, and a change of some lines of a block."""
    depths = draw(st.lists(st.integers(1, 3), min_size=4, max_size=12))
    bodies = [draw(st.sampled_from(BODIES)) for _ in depths]
    lines = [
        f"{' ' * 4 * depth}{body.format(f'word{n}x')}"
        for n, (depth, body) in enumerate(zip(depths, bodies, strict=True))
    ]
    first = draw(st.integers(0, len(lines) - 3))
    last = draw(st.integers(first + 3, len(lines)))
    changed = draw(st.integers(first, last - 1))
    block = lines[first:last]
    new = [*block]
    new[changed - first : changed - first + 1] = draw(
        st.sampled_from(
            [
                [lines[changed].replace("word", "other")],
                [lines[changed], lines[changed].replace("word", "other")],
                [],
            ]
        )
    )
    return Case(
        "".join(f"{line}\n" for line in lines),
        "".join(f"{line}\n" for line in block),
        "".join(f"{line}\n" for line in new),
    )


def numbered(text: str) -> str:
    return "".join(f"{number:5}\t{line}\n" for number, line in enumerate(text.splitlines(), 7))


def plus(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


GARBLINGS: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: text,
    "shifted": lambda text: indent(text, "   "),
    "halved": lambda text: text.replace("    ", "  "),
    "tabs": lambda text: text.replace("    ", "\t"),
    "trailing blanks": lambda text: text.replace("\n", "  \n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "straight quotes": lambda text: text.replace("“", '"').replace("”", '"'),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "fence": lambda text: f"```\n{text}```\n",
    "line numbers": numbered,
    "JSON": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in ASCII": lambda text: json.dumps(text)[1:-1],
    "HTML": html.escape,
    "backslashes": lambda text: text.replace("\\", "\\\\"),
}


def result_of(text: str, found: Edit) -> str:
    at = 0
    out: list[str] = []
    for start, end, body in found.replacements:
        assert at <= start <= end <= len(text)
        out += text[at:start], body
        at = end
    return "".join([*out, text[at:]])


BESIDE_QUOTED_CODE = Case(
    "    a = 'y'\n    word1x = “値” & 1\n    call(x)\n",
    "    a = 'y'\n    word1x = “値” & 1\n",
    "    a = 'y'\n    word1x = “値” & 1\n    other1x = “値” & 1\n",
)


@settings(max_examples=150)
@given(cases(), st.sampled_from(sorted(GARBLINGS)))
@example(BESIDE_QUOTED_CODE, "straight quotes")
def test_a_garbling_of_both_strings_gives_back_the_intended_text_or_a_refusal(case: Case, name: str) -> None:
    assume(case.new)
    garble = GARBLINGS[name]
    found = match_edit(case.text, garble(case.old), garble(case.new))
    if isinstance(found, Edit):
        assert result_of(case.text, found) == case.wanted
    else:
        # Nothing that both strings share shows whether the new one is garbled too, or one indentation alone tells no map.
        assert found.why is Why.UNCLEAR


SHIFTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "a level deeper": lambda text: indent(text, "    "),
    "a level less": lambda text: "".join(line[4:] for line in text.splitlines(keepends=True)),
    "in tabs": lambda text: text.replace("    ", "\t"),
}


@settings(max_examples=200)
@given(cases(), st.sampled_from(sorted(GARBLINGS)), st.sampled_from(sorted(SHIFTS)))
def test_a_garbling_and_a_shift_of_both_strings_give_the_intended_text_or_a_refusal(
    case: Case, name: str, shift: str
) -> None:
    assume(case.new)
    old, new = (GARBLINGS[name](SHIFTS[shift](text)) for text in (case.old, case.new))
    found = match_edit(case.text, old, new)
    if isinstance(found, Edit):
        assert result_of(case.text, found) == case.wanted


@settings(max_examples=150)
@given(cases(), st.integers(-2, 2), st.booleans())
def test_a_block_that_is_wrapped_is_written_as_meant_or_refused(case: Case, levels: int, unwraps: bool) -> None:
    base = min(len(line) - len(line.lstrip(" ")) for line in case.old.splitlines())
    wrapped = f"{' ' * base}wrapped:\n{indent(case.old, '    ')}"
    before, after = (wrapped, case.old) if unwraps else (case.old, wrapped)
    text, wanted = case.text.replace(case.old, before), case.text.replace(case.old, after)
    assume(levels >= 0 or base >= -4 * levels)
    found = match_edit(text, shifted(before, levels), shifted(after, levels))
    if isinstance(found, Edit):
        assert result_of(text, found) == wanted


def shifted(text: str, levels: int) -> str:
    if levels >= 0:
        return indent(text, " " * 4 * levels)
    return "".join(line[-4 * levels :] for line in text.splitlines(keepends=True))


@settings(max_examples=100)
@given(cases(), st.data())
def test_several_edits_are_found_in_the_same_text(case: Case, data: st.DataObject) -> None:
    lines = case.text.splitlines(keepends=True)
    changed = data.draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, unique=True))
    wanted = [Wanted(lines[number], lines[number].replace("word", "other")) for number in changed]
    found = match_edits(case.text, wanted)
    assert isinstance(found, Edits)
    out = case.text
    for start, end, body in reversed(found.replacements):
        out = out[:start] + body + out[end:]
    assert out == "".join(
        line.replace("word", "other") if number in changed else line for number, line in enumerate(lines)
    )
    again = match_edits(case.text, [*wanted, wanted[0]])
    assert isinstance(again, Refusal)
    assert again.index == len(wanted)


@settings(max_examples=100)
@given(cases())
def test_white_space_line_endings_and_numbers_are_always_undone(case: Case) -> None:
    assume(case.new)
    for garble in (GARBLINGS["CRLF"], GARBLINGS["line numbers"], GARBLINGS["fence"], GARBLINGS["trailing blanks"]):
        found = match_edit(case.text, garble(case.old), garble(case.new))
        assert isinstance(found, Edit), found
        assert result_of(case.text, found) == case.wanted


@settings(max_examples=100)
@given(cases())
def test_diff_signs_are_always_undone(case: Case) -> None:
    found = match_edit(case.text, plus(case.old, "-"), plus(case.new, "+"))
    assert isinstance(found, Edit), found
    assert result_of(case.text, found) == case.wanted


@settings(max_examples=100)
@given(cases())
def test_a_common_indentation_that_was_lost_comes_back(case: Case) -> None:
    old = dedent(case.old)
    lost = len(case.old) - len(case.old.lstrip(" ")) - (len(old) - len(old.lstrip(" ")))
    new = "".join(line[lost:] for line in case.new.splitlines(keepends=True))
    assume(lost and new and all(line.startswith(" " * lost) for line in case.new.splitlines()))
    found = match_edit(case.text, old, new)
    if isinstance(found, Edit):
        assert result_of(case.text, found) == case.wanted


TEXTS = st.text(
    st.sampled_from(
        "ab1 \t\n\r(){}\"'“’-–—\\n&<>#/*…`+=,.;。、（）éかが한글\u0301\u3099\u200b\u00a0\u3000\u2028\x0b\udc80\x00²½ﬁ😀"
    )
)


@settings(max_examples=150)
@given(TEXTS, TEXTS, TEXTS, st.sampled_from([1, 2, None]))
@example("a\r\nb", "a\n", "", 1)
@example("x\u200b \n", "    x\n    ", "    y\n    z", None)
def test_any_strings_at_all_give_an_edit_of_the_text_or_a_refusal(
    text: str, old: str, new: str, expected: int | None
) -> None:
    found = match_edit(text, old, new, expected)
    if isinstance(found, Refusal):
        return
    assert result_of(text, found) != text
    assert expected is None or len(found.lines) == expected
    for start, end, _ in found.replacements:
        for cut in (start, end):
            assert text[cut - 1 : cut + 1] != "\r\n" or cut == 0


@settings(max_examples=100)
@given(TEXTS, st.data())
def test_what_is_there_once_is_replaced_and_nothing_else(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    old = text[start:end]
    assume("\r" not in text and old.strip() and text.find(old) == start and text.find(old, start + 1) < 0)
    found = match_edit(text, old, "NEW")
    is_whole = old[0] == "\n" or not text[:start].rpartition("\n")[2].strip()
    joins = is_whole and old[-1] == "\n" and text[end : end + 1] not in ("", "\n")
    if isinstance(found, Refusal):  # what is cut: a word, a number, the text of a comment
        head = text[:start].rpartition("\n")[2]
        edges = (text[end - 1 : end + 1], text[max(start - 1, 0) : start + 1], text[end - 1 : end + 2])
        is_cut = any(re.fullmatch(r"\w\w|\d\.\d", edge) for edge in edges) or re.fullmatch(r"\s*[#/;%]+", head)
        assert is_cut or "\\n" in text[end:].partition("\n")[0]  # or a line break written out
    else:
        assert result_of(text, found) == "".join([text[:start], "NEW", "\n" * joins, text[end:]])


def test_what_ends_within_a_word_that_it_has_begun_is_refused() -> None:
    assert isinstance(match_edit("1111111 1a", "1111111 1", "NEW"), Refusal)


@settings(max_examples=100)
@given(cases(), st.sampled_from(["zebra", "zebra = 1", "word0xx", "call(zebra)"]))
def test_a_line_that_the_file_does_not_have_is_refused(case: Case, line: str) -> None:
    lines = case.old.splitlines(keepends=True)
    for position in range(len(lines) + 1):
        old = "".join([*lines[:position], f"    {line}\n", *lines[position:]])
        assert isinstance(match_edit(case.text, old, case.new), Refusal)


@settings(max_examples=100)
@given(TEXTS)
@example("a\u200b\u0301")
def test_folding_by_clusters_is_folding(text: str) -> None:
    folded, starts, ends = fold_clusters(text)
    assert folded == "".join(fold(line) for line in text.split("\n")) or "\n" in text
    assert len(folded) == len(starts) == len(ends)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts)


@settings(max_examples=100)
@given(TEXTS, st.data())
def test_a_place_in_the_folded_view_folds_to_itself(text: str, data: st.DataObject) -> None:
    view = FoldedText(text)
    assume(view.folded)
    start = data.draw(st.integers(0, len(view.folded) - 1))
    end = data.draw(st.integers(start + 1, len(view.folded)))
    span = view.locate(start, end)
    if span is not None:
        assert "".join(fold(line) for line in text[span[0] : span[1]].split("\n")) == view.folded[start:end]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8).map("".join)


@settings(max_examples=100)
@given(LINES, LINES, LINES, LINES)
def test_changes_that_lie_apart_are_both_made(head: str, tail: str, ours: str, theirs: str) -> None:
    base, fence = "one\n", "x\ny\nz\n"
    text = f"{base}{head}{fence}{tail}"
    pieces = carry_over(text, f"{ours}{head}{fence}{tail}", f"{base}{head}{fence}{tail}{theirs}")
    if pieces is not None:
        merged = f"{base}{head}{fence}{tail}{theirs}"
        for start, end, body in reversed(pieces):
            merged = merged[:start] + body + merged[end:]
        assert merged == f"{ours}{head}{fence}{tail}{theirs}"


def test_changes_of_the_same_or_touching_lines_are_not_merged() -> None:
    assert carry_over("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n") is None
    assert carry_over("a\nb\nc\n", "a\nx\nc\n", "a\nb\ny\n") is None
    assert carry_over("a\nb\nc\nd\n", "x\nb\nc\nd\n", "a\nb\nc\ny\n") == [(0, 2, "x\n")]


@given(cases(), st.sets(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_an_edit_of_which_a_part_is_made_is_made_whole(case: Case, made: set[int], data: st.DataObject):
    lines = case.old.split("\n")
    at = data.draw(st.sets(st.sampled_from(range(len(lines))), min_size=2, max_size=4))
    changed = {number: lines[number].replace("word", "changed") for number in at if "word" in lines[number]}
    assume(len(changed) > 1)
    half = {number: line for index, (number, line) in enumerate(changed.items()) if index in made}
    assume(0 < len(half) < len(changed))
    old, new, now = (
        "\n".join(some.get(number, line) for number, line in enumerate(lines)) for some in ({}, changed, half)
    )
    edit = match_edit(case.text.replace(case.old, now), old, new)
    assert isinstance(edit, Edit)
    assert edit.forgiven == ("a part of the change is made already",)
    assert result_of(case.text.replace(case.old, now), edit) == case.text.replace(case.old, new)
