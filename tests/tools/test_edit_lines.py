"""edit_lines and the tags of read_file, called as a model would call them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.edit_lines import EditLines
from dogu.tools.read_file import ReadFile
from dogu.workspace.files import LocalFiles
from dogu.workspace.line_tags import lines_of, number_of, replacements_of, tag_of
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio

TEXT = "one\ntwo\nthree\nfour\n"


async def edit(path: Path, *edits: dict[str, str]) -> ToolResult:
    roots = Roots(str(path.parent))
    return await run_tool(EditLines(LocalFiles(roots), roots), file_path=str(path), edits=list(edits))


async def read(path: Path, **args: Any) -> str:
    roots = Roots(str(path.parent))
    result = await run_tool(ReadFile(LocalFiles(roots), roots, lambda _: "", tags_lines=True), path=str(path), **args)
    return str(result.llm_content)


def tags(text: str) -> list[str]:
    return [tag_of(number, line) for number, line in enumerate(lines_of(text), 1)]


def written(folder: Path, text: str) -> Path:
    path = folder / "a"
    path.write_bytes(text.encode())
    return path


async def test_it_keeps_the_contract(tmp_path: Path) -> None:
    roots = Roots(str(tmp_path))
    check_tool(EditLines(LocalFiles(roots), roots))


async def test_reading_shows_the_tags_that_edits_take(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    shown = await read(path, offset=1, limit=2)
    found = re.findall(r"^(\d+:[0-9a-f]{3})\|(.*)$", shown, re.MULTILINE)
    assert [line for _, line in found] == ["two", "three"]
    result = await edit(path, {"first": found[0][0], "last": found[1][0], "text": "2\n3\n3b"})
    assert result.error is None
    assert path.read_text() == "one\n2\n3\n3b\nfour\n"
    assert f"{tag_of(4, '3b')}|3b\n" in str(result.llm_content)


async def test_several_edits_are_of_the_same_state(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    one, two, three, four = tags(TEXT)
    edits = (
        {"after": "0", "text": "zero"},
        {"first": two},
        {"after": three, "text": "3b\n"},
        {"first": four, "text": "4"},
    )
    assert (await edit(path, *edits)).error is None
    assert path.read_text() == "zero\none\nthree\n3b\n4\n"
    result = await edit(path, {"first": one, "text": "x"})
    assert result.error is not None
    assert (result.error.kind, tag_of(1, "zero") in result.error.message) == (ErrorKind.STALE, True)


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("a\r\nb\r\n", [{"first": 2, "text": "c\nd"}], "a\r\nc\r\nd\r\n"),
        ("a\nb", [{"first": 2, "text": "c\n"}], "a\nc"),
        ("a\nb", [{"after": 2, "text": "c\n"}], "a\nb\nc"),
        ("a\nb\n", [{"after": 2, "text": "c"}], "a\nb\nc\n"),
        ("a", [{"first": 1}], ""),
    ],
)
async def test_line_endings_are_those_of_the_place(
    tmp_path: Path, text: str, edits: list[dict[str, Any]], expected: str
) -> None:
    path = written(tmp_path, text)
    named = [
        {key: tags(text)[value - 1] if isinstance(value, int) else value for key, value in edit.items()}
        for edit in edits
    ]
    result = await edit(path, *named)
    assert result.error is None
    assert path.read_bytes().decode() == expected


@pytest.mark.parametrize(
    ("edits", "kind"),
    [
        ([{"first": "12", "text": "x"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"text": "x"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"first": "1:000", "after": "0", "text": "x"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"first": "9:000", "text": "x"}], ErrorKind.STALE),
        ([{"first": "1:000", "text": "x"}], ErrorKind.STALE),
        ([{"first": "3", "last": "2", "text": "x"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"first": "1", "last": "2", "text": "x"}, {"first": "2", "text": "y"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"after": "2", "text": "x"}, {"after": "2", "text": "y"}], ErrorKind.INVALID_ARGUMENTS),
        ([{"first": "1", "text": "one"}], ErrorKind.NO_CHANGE),
        ([], ErrorKind.INVALID_ARGUMENTS),
    ],
)
async def test_what_cannot_be_is_refused_whole(tmp_path: Path, edits: list[dict[str, str]], kind: ErrorKind) -> None:
    path = written(tmp_path, TEXT)
    real = {str(number): tag for number, tag in enumerate(tags(TEXT), 1)}
    named = [{key: real.get(value, value) if key != "text" else value for key, value in edit.items()} for edit in edits]
    if edits == [{"first": "12", "text": "x"}]:
        named = edits
    result = await edit(path, *named)
    assert result.error is not None
    assert result.error.kind is kind, result.error.message
    assert path.read_text() == TEXT


async def test_a_line_too_long_to_be_shown_has_no_tag(tmp_path: Path) -> None:
    path = written(tmp_path, "x" * 5_000 + "\nshort\n")
    shown = await read(path)
    assert "1:cut|xxx" in shown
    assert f"{tag_of(2, 'short')}|short" in shown


LINES = st.lists(st.text("ab \t", max_size=3), max_size=6)


@given(LINES, st.data())
def test_any_edits_give_the_lines_named(lines: list[str], data: st.DataObject) -> None:
    text = "".join(f"{line}\n" for line in lines)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(lines) + 1), min_size=1)))
    edits = [
        (first, last - 1, data.draw(st.sampled_from(["", "new", "n\nm\n"])))
        for first, last in zip(cuts, [*cuts[1:], len(lines) + 1], strict=True)
    ]
    if len({edit[:2] for edit in edits if edit[0] > edit[1]}) < sum(edit[0] > edit[1] for edit in edits):
        return
    expected = lines[: cuts[0] - 1]
    for _, _, new in edits:
        expected += new.split()
    found = text
    for start, end, body in reversed(replacements_of(text, lines_of(text), edits)):
        found = f"{found[:start]}{body}{found[end:]}"
    assert found == "".join(f"{line}\n" for line in expected)


@given(LINES, st.integers(-1, 8), st.text("0123456789abcdef", min_size=3, max_size=3))
def test_a_tag_names_its_line_or_none(lines: list[str], number: int, code: str) -> None:
    try:
        found = number_of(f"{number}:{code}", lines)
    except ToolError:
        return
    assert tag_of(found, lines[found - 1]) == f"{number}:{code}"
