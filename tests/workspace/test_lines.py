"""A slice is what a reader of the whole file would cut out, and costs what the slice costs."""

from __future__ import annotations

import io
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dogu.workspace import lines
from dogu.workspace.lines import slice_of_bytes, slice_of_stream
from dogu.workspace.text.detect import Encoding

ENOUGH = 1 << 20


def cut(text: str) -> list[str]:
    pieces = text.split("\n")
    last = pieces.pop()
    return [piece + "\n" for piece in pieces] + ([last] if last else [])


@given(
    st.text(st.sampled_from("ab\nあ\r😀\u0a00\u000a"), max_size=60),
    st.integers(0, 12),
    st.integers(1, 8),
    st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp932"]),
    st.sampled_from([4, 8, 64]),
)
@example("\u0a00\n\u000a", 1, 1, "utf-16-be", 4)
def test_a_slice_equals_the_slice_of_all_lines(text: str, first: int, limit: int, codec: str, block: int) -> None:
    text = ("\n" if "\n" not in text else "") + text
    if codec == "cp932":
        text = text.replace("😀", "設").replace("\u0a00", "表")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block)
        part = slice_of_stream(io.BytesIO(text.encode(codec)), first, limit, ENOUGH, Encoding(codec))
    expected = cut(text)
    assert part.lines == expected[first : first + limit]
    assert part.total_lines == len(expected)


def test_a_phantom_line_behind_the_last_ending_is_not_counted() -> None:
    assert slice_of_bytes(b"a\nb\n", 0, 10, ENOUGH).total_lines == 2
    assert slice_of_bytes(b"a\nb", 0, 10, ENOUGH).total_lines == 2
    assert slice_of_bytes(b"", 0, 10, ENOUGH).total_lines == 0
    assert slice_of_bytes(b"\n", 0, 10, ENOUGH).total_lines == 1
    assert slice_of_bytes(b"\xff\xfe", 0, 10, ENOUGH).total_lines == 0


@pytest.mark.parametrize("first", [3, 4, 1000])
def test_a_first_line_past_the_end_gives_no_lines_and_the_total(first: int) -> None:
    part = slice_of_bytes(b"a\nb\nc\n", first, 10, ENOUGH)
    assert (part.lines, part.total_lines) == ([], 3)


def test_crlf_and_lone_cr_stay_and_only_line_feeds_end_lines() -> None:
    assert slice_of_bytes(b"a\r\nb\rc\nd", 0, 10, ENOUGH).lines == ["a\r\n", "b\rc\n", "d"]


def test_a_file_with_carriage_returns_only_has_lines_too() -> None:
    part = slice_of_bytes(b"a\rb\rc", 1, 1, ENOUGH)
    assert (part.lines, part.total_lines) == (["b\r"], 3)


def test_a_long_line_is_cut_and_keeps_its_ending() -> None:
    part = slice_of_bytes(b"x\n" + "é".encode() * 5000 + b"\r\ny\n", 0, 10, ENOUGH)
    assert part.lines[1].startswith("é" * 2000)
    assert not part.lines[1].startswith("é" * 2001)
    assert part.lines[1].endswith("\r\n")
    assert part.lines[2] == "y\n"
    assert (part.cut_lines, part.is_whole) == (1, False)


def test_a_slice_ends_at_a_whole_line_within_its_characters() -> None:
    part = slice_of_bytes(b"123456789\n" * 50, 0, 50, 95)
    assert (len(part.lines), part.end, part.total_lines) == (9, 9, 50)


def test_one_line_is_given_even_when_it_is_longer_than_all_room() -> None:
    assert slice_of_bytes(b"123456789\n" * 3, 1, 5, 4).lines == ["123456789\n"]


def test_a_slice_behind_an_ascii_start_is_in_the_encoding_it_shows() -> None:
    data = b"plain ascii line\n" * 10_000 + "設定ファイルの読み込みに失敗しました。\n".encode("cp932") * 20
    part = slice_of_stream(io.BytesIO(data), 10_000, 3, ENOUGH)
    assert part.lines[0] == "設定ファイルの読み込みに失敗しました。\n"
    assert part.encoding.codec == "cp932"


def test_counting_stops_where_it_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "COUNTED_REST_BYTES", 100)
    part = slice_of_stream(io.BytesIO(b"line\n" * 1000), 10, 5, ENOUGH)
    assert (part.total_lines, part.known_lines) == (None, 15)


def test_the_end_of_a_line_that_never_ends_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "COUNTED_REST_BYTES", 300_000)
    part = slice_of_stream(io.BytesIO(b"one\n" + b"x" * 2_000_000 + b"\nthree\n"), 0, 5, ENOUGH)
    assert part.lines[0] == "one\n"
    assert (len(part.lines), part.cut_lines) == (2, 1)
    assert (part.total_lines, part.is_whole) == (None, False)


def test_memory_grows_with_the_slice_only(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"a line of some length\n" * 40_000)
        file.write(b"y" * 10_000_000 + b"\nlast\n")
    with path.open("rb") as stream:
        tracemalloc.start()
        part = slice_of_stream(stream, 1_599_999, 2000, 256_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (len(part.lines), part.total_lines) == (3, 1_600_002)
    assert peak < 4_000_000


def test_a_file_that_shrinks_while_it_is_read_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(b"line\n" * 200_000)

    class Shrinking(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(-1 if size is None else size)
            os.truncate(path, 70_000)
            return data

    with Shrinking(str(path)) as stream:
        part = slice_of_stream(stream, 150_000, 5, ENOUGH)
    assert part.lines == []
    assert part.total_lines is not None
    assert part.total_lines < 150_000


def test_a_file_that_grows_while_it_is_read_ends_where_it_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"line\n" * 100)

    class Growing(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            with path.open("ab") as other:
                other.write(b"more\n" * 100)
            return super().read(-1 if size is None else size)

    with Growing(str(path)) as stream:
        part = slice_of_stream(stream, 0, 5, ENOUGH)
    assert part.total_lines == 100
