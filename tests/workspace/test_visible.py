"""Nothing a terminal obeys gets through, nothing that was printed is lost, nothing hidden stays unseen."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.workspace.visible import VisibleStream, hidden_characters, make_visible, strip_escapes

ODD = "\x1b\x9b\x9d\x90\x07\x08\\[]PX^_;0mA\r\n\t\x00\x7f\u202e\u200b\u200d\ufe0f😀漢a\U000e0041\ud800\u2028"
odd_text = st.text(st.sampled_from(ODD), max_size=40)


def is_obeyed(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in "\n\t"


@given(odd_text)
def test_no_control_character_is_left(text: str) -> None:
    assert not any(map(is_obeyed, strip_escapes(text)))
    assert not any(map(is_obeyed, make_visible(text)))


@given(odd_text)
def test_what_was_made_visible_stays_as_it_is(text: str) -> None:
    once = make_visible(text)
    assert make_visible(once) == once


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=60))
def test_plain_text_is_not_touched(text: str) -> None:
    text = "".join(character for character in text if character not in "\u115f\u1160\u3164\uffa0")
    assert strip_escapes(text) == text
    assert make_visible(text) == text


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hx", "x"),
        ("\x1b[?25lx\x1b[>q", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0=\x07x", "x"),
        ("\x1bPq#0;2\x1b\\x", "x"),
        ("\x1b_Gf=100\x1b\\x", "x"),
        ("\x1b^pm\x1b\\x\x1bXsos\x1b\\y", "xy"),
        ("\x9b31mx\x9d0;t\x07y\x90q\x9cz", "xyz"),
        ("\x1bc\x1b#8\x1b(B\x1b=x", "x"),
        ("x\x1b", "x"),
        ("x\x1b[", "x"),
        ("x\x1b[31", "x"),
        ("\x1b]0;never ended\nnext line", "0;never ended\nnext line"),
        ("\x0e\x0f\x00a\x07", "a"),
        ("a\r\nb\rc\r\r\n", "a\nb\nc\n"),
        ("b\bbo\bol\bld\bd", "bold"),
        ("_\bu_\bn", "un"),
        ("secret\b\b\b\b\b\bpublic", "secretpublic"),
        ("|\b/\b-\b", "|/-"),
    ],
)
def test_output_reads_as_without_a_terminal(raw: str, plain: str) -> None:
    assert strip_escapes(raw) == plain


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mx", "␛[31mx"),
        ("a\0b\x7f\b\r\n", "a␀b␡␈␍\n"),
        ("\x9b", "‹U+009B›"),
        ("\u202eexe.gpj", "‹U+202E›exe.gpj"),
        ("\u2066x\u2069", "‹U+2066›x‹U+2069›"),
        ("\u200b\u200c\u200d\u2060\ufeff", "‹U+200B›‹U+200C›‹U+200D›‹U+2060›‹U+FEFF›"),
        ("a\u2028b\x85", "a‹U+2028›b‹U+0085›"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ufe00\ufe0f", "‹U+FE00›‹U+FE0F›"),
        ("\u115f\u3164\uffa0", "‹U+115F›‹U+3164›‹U+FFA0›"),
        ("\udc80", "‹U+DC80›"),
    ],
)
def test_what_could_deceive_is_shown(raw: str, shown: str) -> None:
    assert make_visible(raw) == shown


@pytest.mark.parametrize("text", ["❤️ 1️⃣", "👨‍👩‍👧 🏳️‍🌈", "می‌خواهم", "क्‍ष", "葛\U000e0100城", "🇯🇵👍🏽"])
def test_joiners_and_selectors_stay_where_scripts_and_emoji_need_them(text: str) -> None:
    assert make_visible(text) == text
    assert hidden_characters(text) == []


def test_layout_is_kept_as_asked() -> None:
    assert make_visible("a\tb\n") == "a\tb\n"
    assert make_visible("a\tb\n", keep="") == "a␉b␊"


@pytest.mark.parametrize(
    "text",
    ["", "plain\ttext\r\n", "日本語の説明。", "русский текст USB-кабель", "Δt = 5 μs, λx.x", "naïve café €", "한국어"],
)
def test_ordinary_text_holds_nothing_hidden(text: str) -> None:
    assert hidden_characters(text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\nb\u202ec", "U+202E RIGHT-TO-LEFT OVERRIDE (line 2): text is shown in another order"),
        ("x\u200by\u200bz", "U+200B ZERO WIDTH SPACE (2 times, first in line 1): it can't be seen"),
        ("x\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A (line 1): invisible, and can carry hidden text"),
        ("x\x1b[0m", "U+001B (line 1): a terminal may obey it"),
        ("x\xa0y", "U+00A0 NO-BREAK SPACE (line 1): it looks like a space"),
        ("p\u0430ypal", "U+0430 CYRILLIC SMALL LETTER A (line 1): it looks like a Latin letter"),
        ("\u0430\u0440ple", "U+0430 CYRILLIC SMALL LETTER A, U+0440 CYRILLIC SMALL LETTER ER (2 times"),
        ("a\u2028b", "U+2028 LINE SEPARATOR"),
        ("a\udc80b", "U+DC80 (line 1)"),
    ],
)
def test_hidden_characters_are_told_in_words(text: str, words: str) -> None:
    assert words in " ".join(hidden_characters(text))


def test_many_hidden_characters_are_told_in_one_short_sentence() -> None:
    told = hidden_characters("".join(chr(0xE0020 + number) for number in range(90)) * 100)
    assert len(told) == 1
    assert "and 87 other characters" in told[0]
    assert len(told[0]) < 200


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b]52;c;cm0=\x07", "␛]52;c;cm0=␇"),
        ("\x1b]8;;http://x\x1b\\\\link\x1b]8;;\x1b\\\\", "␛]8;;http://x␛\\\\link␛]8;;␛\\\\"),
        ("\x1b[2J\x1b[Hx", "␛[2J␛[Hx"),
        ("a\u202eb", "a‹U+202E›b"),
        ("\x1b[8mhidden\x1b[m", "␛[8mhidden\x1b[m"),
        ("\x1b[1;33mbold\x1b[0m\n", "\x1b[1;33mbold\x1b[0m\n"),
        ("\x9b2Jx\rover\r\n", "‹U+009B›2Jx␍over\n"),
    ],
)
def test_behind_a_visible_stream_nothing_is_obeyed_but_colors(written: str, shown: str) -> None:
    out = io.StringIO()
    VisibleStream(out).write(written)
    assert out.getvalue() == shown
