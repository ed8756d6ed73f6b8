"""Pictures: what they are in words, and which terminals are given them."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib

import pytest
from PIL import Image, ImageDraw

from dogu.contract import Blob
from dogu.serve.terminal.cells import plain_of, width_of
from dogu.serve.terminal.pictures import picture, protocol_of
from dogu.serve.terminal.style import Style
from dogu.workspace.text.media import dimensions, picture_words

PLAIN = Style(has_color=False)


def png(wide: int, high: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\x40\x80\xc0" * wide for _ in range(high)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08\x00\x20\x00\x30\x03" + b"\0" * 20
BMP = b"BM" + b"\0" * 12 + struct.pack("<Iii", 40, 7, -9) + b"\0" * 30


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(640, 480), (640, 480)),
        (b"GIF89a\x10\x00\x20\x00", (16, 32)),
        (JPEG, (48, 32)),
        (BMP, (7, 9)),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x3f\0\0\x1f\0\0", (64, 32)),
        (png(640, 480)[:14], None),
        (b"\xff\xd8\xff", None),
        (b"\xff\xd8" + b"\xff" * 5_000, None),
        (b"", None),
        (b"RIFF", None),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_head(data: bytes, size: tuple[int, int] | None):
    assert dimensions(data) == size


def test_a_picture_is_named_by_kind_size_and_bytes():
    assert picture_words(b"GIF89a\x10\x00\x20\x00", "image/gif") == "GIF, 16 × 32, 10 B"
    assert picture_words(b"x" * 12_345, "image/svg+xml") == "SVG, 12 KB"


@pytest.mark.parametrize(
    ("environ", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, ""),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "WezTerm"}, ""),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "x", "TERM_PROGRAM": "WezTerm"}, ""),
        ({"TERM": "foot-extra"}, "sixel"),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "230804"}, "sixel"),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "211203"}, ""),
        ({"TERM": "xterm-256color", "WT_SESSION": "0"}, "sixel"),
        ({"TERM": "screen", "STY": "1", "WT_SESSION": "0"}, ""),
        ({"TERM": "dumb", "TERM_PROGRAM": "WezTerm"}, ""),
        ({"TERM": "xterm-256color"}, ""),
        ({}, ""),
    ],
)
def test_only_a_terminal_that_says_what_it_is_is_given_pictures(environ: dict[str, str], protocol: str):
    assert protocol_of(environ) == protocol


def test_a_picture_stands_in_rows_of_its_own_and_what_comes_after_it_below():
    blob = Blob("image/png", png(90, 90), "a\x1b.png")
    shown = picture(blob, PLAIN, 80, "kitty")
    first, *rest = shown.split("\n")
    assert first.startswith("  a")
    assert first.endswith(f".png (PNG, 90 × 90, {len(blob.data)} B)")
    assert len(rest) == 5, "as many rows as it is high"
    assert "".join(re.findall("\x1b_G[^;]*;([^\x1b]*)", shown)) == base64.b64encode(blob.data).decode()
    assert "\x1b_Ga=T,f=100,q=2,C=1,c=10,r=5,m=0;" in shown
    assert [width_of(line) for line in rest] == [0, 0, 0, 0, 2]
    assert "\x1b" not in plain_of(shown)

    large = picture(Blob("image/png", png(400, 4_000), ""), PLAIN, 40, "iterm")
    assert large.count("\n") == 16
    assert "\x1b]1337;File=inline=1;" in large


@pytest.mark.parametrize(
    ("blob", "protocol"),
    [
        (Blob("image/png", png(9, 9), "a.png"), ""),
        (Blob("image/jpeg", JPEG, "a.jpg"), "kitty"),
        (Blob("image/png", b"\x89PNG broken", "a.png"), "iterm"),
        (Blob("image/png", png(9, 9) + b"\0" * 4_000_000, "a.png"), "kitty"),
    ],
)
def test_what_can_t_be_shown_is_a_line(blob: Blob, protocol: str):
    shown = picture(blob, PLAIN, 80, protocol)
    assert "\n" not in shown
    assert "\x1b" not in shown


def encoded(image: Image.Image, kind: str) -> Blob:
    file = io.BytesIO()
    image.save(file, kind)
    return Blob(f"image/{kind.lower()}", file.getvalue(), "a")


def from_sixel(shown: str) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return the pixels that a terminal would color, in percent of each color."""
    found = re.search('\x1bP0;1q"1;1;[0-9]+;[0-9]+([^\x1b]*)\x1b\\\\', shown)
    assert found
    colors: dict[int, tuple[int, int, int]] = {}
    pixels: dict[tuple[int, int], tuple[int, int, int]] = {}
    x = y = color = 0
    for token in re.finditer(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|(?:!(\d+))?([?-~])|([$-])", found[1]):
        defined, red, green, blue, taken, count, sixel, moved = token.groups()
        if defined:
            colors[int(defined)] = int(red), int(green), int(blue)
        elif taken:
            color = int(taken)
        elif moved:
            x, y = 0, y + (6 if moved == "-" else 0)
        for _ in range(int(count or 1) if sixel else 0):
            pixels |= {(x, y + bit): colors[color] for bit in range(6) if (ord(sixel) - 63) >> bit & 1}
            x += 1
    return pixels


def test_a_sixel_picture_has_the_pixels_of_the_picture():
    image = Image.new("RGBA", (40, 25), (255, 0, 0, 255))
    drawn = ImageDraw.Draw(image)
    drawn.rectangle((10, 5, 29, 13), (0, 0, 255, 255))
    drawn.rectangle((0, 20, 4, 24), (0, 0, 0, 0))
    pixels = from_sixel(picture(encoded(image, "PNG"), PLAIN, 80, "sixel"))
    for x in range(40):
        for y in range(25):
            red, green, blue, seen = image.getpixel((x, y))  # pyright: ignore[reportGeneralTypeIssues]  (four, of RGBA)
            assert pixels.get((x, y)) == ((red * 100 // 255, green * 100 // 255, blue * 100 // 255) if seen else None)


def test_a_large_picture_is_made_to_fit_for_sixel():
    shown = picture(encoded(Image.new("RGB", (4_000, 1_000), (9, 99, 9)), "JPEG"), PLAIN, 40, "sixel")
    assert max(x for x, _ in from_sixel(shown)) < 36 * 8
    assert max(y for _, y in from_sixel(shown)) < (shown.count("\n") + 1) * 16


def test_kitty_is_given_other_pictures_as_png():
    shown = picture(encoded(Image.new("RGB", (30, 30), (9, 99, 9)), "GIF"), PLAIN, 80, "kitty")
    given = base64.b64decode("".join(re.findall("\x1b_G[^;]*;([^\x1b]*)", shown)))
    assert given.startswith(b"\x89PNG")


@pytest.mark.parametrize("protocol", ["sixel", "kitty"])
def test_a_broken_picture_is_only_named(protocol: str):
    shown = picture(Blob("image/gif", b"GIF89a\x10\x00\x20\x00" + b"\0" * 30, "a"), PLAIN, 80, protocol)
    assert shown == "  a (GIF, 16 × 32, 40 B)"
