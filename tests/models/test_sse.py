from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.models.sse import Body, EventTooLargeError, SseParser


def events_of(*chunks: bytes) -> list[bytes]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_with_lf_crlf_or_cr(end: bytes) -> None:
    stream = b"data: a" + end + end + b"data: b" + end + end
    assert events_of(stream) == [b"a", b"b"]
    assert events_of(*[stream[i : i + 1] for i in range(len(stream))]) == [b"a", b"b"]


def test_data_lines_are_joined_and_one_space_after_the_colon_goes() -> None:
    assert events_of(b"data: a\ndata:b\ndata:  c\ndata\n\n") == [b"a\nb\n c\n"]


def test_comments_and_other_fields_are_ignored() -> None:
    assert events_of(b": keep-alive\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n:\n\n") == [b"a"]


def test_line_and_paragraph_separators_are_data() -> None:
    text = "a\u2028b\x85c\x0b\x0cd".encode()
    assert events_of(b"data: " + text + b"\n\n") == [text]


def test_the_last_event_needs_no_blank_line() -> None:
    assert events_of(b"data: a\n\ndata: b") == [b"a", b"b"]


def test_byte_order_marks_at_the_start_are_no_field() -> None:
    assert events_of(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]
    assert events_of(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n") == [b"a"]
    assert events_of(b"\xef", b"\xbb", b"\xbfda", b"ta: a\n", b"\n") == [b"a"]


def test_an_event_past_the_limit_is_refused_however_it_is_cut() -> None:
    parser = SseParser(max_event_bytes=100)
    with pytest.raises(EventTooLargeError):
        parser.feed(b"data: " + b"x" * 200)
    parser = SseParser(max_event_bytes=100)
    with pytest.raises(EventTooLargeError):
        parser.feed(b"data: xxxxxxxxxx\n" * 20)


def test_many_events_below_the_limit_pass() -> None:
    parser = SseParser(max_event_bytes=100)
    assert sum(len(parser.feed(b"data: " + b"x" * 50 + b"\n\n")) for _ in range(50)) == 50


@dataclass
class Stream:
    data: bytes
    events: list[bytes]


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8).map(str.encode)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    data, events = b"", []
    for lines in draw(st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=4)):
        end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
        data += b"".join(b"data: " + line + end for line in lines) + end
        events.append(b"\n".join(lines))
    return Stream(data, events)


@given(streams(), st.lists(st.integers(0, 120), max_size=8))
def test_any_cut_gives_the_same_events(stream: Stream, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(stream.data)) for cut in cuts), len(stream.data)]
    chunks = [stream.data[a:b] for a, b in pairwise(bounds)]
    assert events_of(*chunks) == stream.events


def test_blanks_in_an_answer_of_json_are_no_more_of_it() -> None:
    body = Body()
    body.feed(b'{"a": ')
    assert body.grows
    body.feed(b" \n ")
    assert not body.grows
    body.feed(b"1}")
    assert body.grows
    assert body.feed(None) == [b'{"a":  \n 1}']
