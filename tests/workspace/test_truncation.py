from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dogu.workspace.truncation import cut_line, middle_left_out


def test_a_text_within_the_limit_stays() -> None:
    assert middle_left_out("x" * 40_000) == ("x" * 40_000, False)
    assert middle_left_out("") == ("", False)


def test_the_first_fifth_and_the_last_four_fifths_of_the_limit_stay() -> None:
    text, is_cut = middle_left_out("a" * 10_000 + "b" * 30_000 + "c" * 40_000)
    assert is_cut
    assert text == "a" * 8_000 + "\n... [40000 characters left out] ...\n" + "c" * 32_000


@given(st.text(max_size=200), st.integers(5, 60))
def test_what_stays_is_the_beginning_and_the_end(text: str, limit: int) -> None:
    shorter, is_cut = middle_left_out(text, limit)
    assert is_cut == (len(text) > limit)
    if is_cut:
        head = shorter[: limit // 5]
        tail = shorter[-(limit - limit // 5) :]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert f"{len(text) - limit} characters left out" in shorter


def test_a_long_line_is_cut_and_says_so() -> None:
    assert cut_line("x" * 2000) == "x" * 2000
    assert cut_line("x" * 2001) == "x" * 2000 + "... [truncated]"
