import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogu.workspace.launcher import ring as output_ring
from dogu.workspace.launcher.ring import OutputRing, in_order, read_ends
from dogu.workspace.process.output import LiveText, plain, readable


def test_legacy_output_is_decoded() -> None:
    text = "設定ファイルを読み込みました。正常に終了しました。\n" * 3
    assert readable(text.encode("cp932"), 0, b"") == text


def test_stray_bytes_in_utf_8_are_shown_and_lose_nothing_else() -> None:
    shown = readable("日本語です、正しい文字\n".encode() * 20 + b"\xff\n", 0, b"")
    assert shown.startswith("日本語です、正しい文字\n")
    assert not any(0xD800 <= ord(character) <= 0xDFFF for character in shown)


def test_binary_output_is_described() -> None:
    assert readable(b"\x7fELF\0\0\1\2\0" * 100, 5, b"x") == "[binary output, 906 bytes, not shown]"
    assert readable(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 9, 0, b"", "/s/f").startswith("[image/png output, ")


def test_escape_sequences_are_removed_and_overwritten_lines_stay() -> None:
    assert plain("\x1b[31mred\x1b[0m\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ 10%\r20%\r\n") == (
        "redlink 10%\n20%\n"
    )


def test_a_cut_falls_between_lines_or_at_least_between_characters() -> None:
    shown = readable("あ\nい".encode()[:-1], 100, "う".encode()[1:] + "\nえ\n".encode())
    assert shown == "あ\n\n[... 105 bytes left out ...]\nえ\n"
    assert readable("ああ".encode()[:-1], 10, "いい".encode()[2:]) == "あ\n[... 13 bytes left out ...]\nい"


@given(st.lists(st.integers(1, 40), max_size=10))
@settings(max_examples=50)
def test_live_text_does_not_depend_on_where_it_is_split(sizes: list[int]) -> None:
    data = "日本 \x1b[1;31mred\x1b[0m \x1b]0;title\x1b\\x\r\ny\rz\x1b(B é\n".encode()
    live, shown, position = LiveText(), "", 0
    for size in [*sizes, len(data)]:
        shown += live.feed(data[position : position + size])
        position += size
    assert shown == "日本 red x\ny\nz é\n"


def test_live_binary_output_is_not_shown() -> None:
    live = LiveText()
    assert live.feed(b"text\n") == "text\n"
    assert live.feed(b"\0\1\2") + live.feed(b"more") == ""


@pytest.fixture
def small_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_ring, "RING_BYTES", 50)
    monkeypatch.setattr(output_ring, "HEAD_BYTES", 10)
    monkeypatch.setattr(output_ring, "_TURN_BYTES", 40)


@pytest.mark.usefixtures("small_ring")
@pytest.mark.parametrize("total", [0, 1, 9, 10, 11, 49, 50, 51, 89, 90, 91, 130, 131, 999])
@pytest.mark.parametrize("piece", [1, 7, 10, 40, 64])
def test_a_ring_keeps_both_ends(tmp_path: Path, total: int, piece: int) -> None:
    data = bytes(index % 251 for index in range(total))
    descriptor = os.open(tmp_path / "ring", os.O_RDWR | os.O_CREAT)
    try:
        ring = OutputRing(descriptor)
        for start in range(0, total, piece):
            ring.write(data[start : start + piece])
        assert (ring.total_bytes, ring.failure) == (total, "")
        for most in (5, 20, 50):
            first, left_out, last = read_ends(descriptor, total, most)
            assert len(first) + left_out + len(last) == total
            assert len(first) + len(last) <= most
            assert data.startswith(first)
            assert data.endswith(last)
        kept = b"".join(in_order(descriptor, total))
        if total <= 50:
            assert kept == data
        else:
            assert kept.startswith(data[:10])
            assert kept.endswith(data[-40:])
            assert b"%d bytes are missing" % (total - 50) in kept
        assert os.fstat(descriptor).st_size <= 50
    finally:
        os.close(descriptor)


def test_a_full_disk_loses_output_and_says_so() -> None:
    descriptor = os.open("/dev/full", os.O_RDWR)
    try:
        ring = OutputRing(descriptor)
        ring.write(b"x" * 100)
        assert ring.total_bytes == 100
        assert "No space" in ring.failure
    finally:
        os.close(descriptor)
