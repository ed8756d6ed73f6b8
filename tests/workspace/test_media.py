"""Files are judged by what they begin with."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.workspace.text.media import HEAD_BYTES, is_binary, sniff

# MPEG-1 layer III, 128 kbit/s, 44,100 Hz: a frame of 417 bytes. ADTS: a frame of 16 bytes.
MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)
ADTS_FRAME = b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(9)


@pytest.mark.parametrize(
    ("name", "head", "media_type"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
        ("a.gif", b"GIF89a\x01\0\x01\0", "image/gif"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        ("a.bmp", b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0", "image/bmp"),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + MP3_FRAME, "audio/mpeg"),
        ("a.mp3", MP3_FRAME, "audio/mpeg"),
        ("unnamed", MP3_FRAME + MP3_FRAME, "audio/mpeg"),
        ("a.wav", b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
        ("a.aiff", b"FORM\0\0\0\x2eAIFFCOMM", "audio/aiff"),
        ("a.aif", b"FORM\0\0\0\x2eAIFCFVER", "audio/aiff"),
        ("a.aac", ADTS_FRAME, "audio/aac"),
        ("unnamed", ADTS_FRAME + ADTS_FRAME, "audio/aac"),
        ("a.ogg", b"OggS\0\x02" + bytes(20) + b"\x01\x1e\x01vorbis", "audio/ogg"),
        ("a.flac", b"fLaC\0\0\0\x22", "audio/flac"),
        ("a.flac", b"ID3\x04\0\0\0\0\0\x02\0\0fLaC", "audio/flac"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
        ("a.pdf", b"\r\n\r\n%PDF-1.4\n", "application/pdf"),
        ("a.pdf", b"HTTP/1.0 200 OK\r\n\r\n%PDF-1.4\n", "application/pdf"),
    ],
)
def test_media_are_known_by_their_content(name: str, head: bytes, media_type: str) -> None:
    assert sniff(head, name) == media_type
    assert sniff(head, "renamed.txt") == media_type or name in ("a.mp3", "a.aac", "a.flac", "a.pdf")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.png", b"not an image"),
        ("a.txt", b"BM is how a bitmap begins"),
        ("a.txt", b"RIFF is a container"),
        ("a.txt", b"OggS"[:3]),
        ("sniff.py", b'SIGNATURES = [b"%PDF-1.7"]\n'),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("a.txt", "\ufefftext".encode("utf-16-le")),
        ("a.mp3", b"plain words"),
        ("a.ogv", b"OggS\0\x02" + bytes(22) + b"\x80theora"),
        ("a.bin", MP3_FRAME),
        ("empty.png", b""),
    ],
)
def test_a_name_or_a_likeness_makes_no_media(name: str, head: bytes) -> None:
    assert sniff(head, name) is None


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"plain\r\n\ttext\x0c\n",
        b"\x1b[31mcolors\x1b[0m\n" * 50,
        "日本語のテキスト\n".encode("cp932"),
        "日本語のテキスト\n".encode("utf-16-le"),
        "設定 text\n".encode("utf-16-be"),
        "text".encode("utf-32-le"),
        "\ufeff漢字".encode("utf-16-le"),
        b"plain" * 1000 + b"\0",
        "日本語".encode()[:-1],
        b"caf\xe9\n",
        b"a\x01b" + b"text" * 100,
        b"line one\nNUL: \0\nend\n",
    ],
)
def test_text_is_not_binary(head: bytes) -> None:
    assert not is_binary(head)


@pytest.mark.parametrize(
    "head",
    [
        b"\0",
        bytes(HEAD_BYTES),
        bytes(range(256)),
        b"\0\1\2\3",
        b"text\0with a NUL",
        b"\0\n\0\1\n",
        b"\x7fELF\x02\x01\x01" + bytes(9),
        b"PK\x03\x04\x14\0\0\0\x08\0",
        zlib.compress(os.urandom(4096)),
        b"\xca\xfe\xba\xbe\0\0\0\x34",
        b"SQLite format 3\0\x10\0\x01\x01",
    ],
)
def test_other_bytes_are_binary(head: bytes) -> None:
    assert is_binary(head)


@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_printable_unicode_in_a_file_with_a_bom_or_utf_8_is_text(text: str, codec: str) -> None:
    text = "".join(character for character in text if character >= " " and character != "\x7f")
    assert not is_binary(text.encode(codec))


@given(st.binary(max_size=64), st.sampled_from(["a.mp3", "a.aac", "a.pdf", "a"]))
def test_no_bytes_confuse_it(head: bytes, name: str) -> None:
    for start in (b"", b"ID3", b"\xff\xfb", b"\xff\xf1", b"BM", b"RIFF", b"OggS"):
        sniff(start + head, name)
        is_binary(start + head)
