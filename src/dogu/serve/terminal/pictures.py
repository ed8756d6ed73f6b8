"""Pictures, on terminals that show them: kitty's protocol, iTerm's and sixel. Elsewhere a line says what they are.

Nothing is asked of the terminal, and nothing is sent to one that doesn't say which it is: within tmux or screen the
environment tells of the terminal outside. Sixel wants pixels, which Pillow reads (the extra `pictures`); with it, kitty
is given other pictures than PNG, too.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

from dogu.contract import Blob
from dogu.serve.terminal.style import Style
from dogu.workspace.system import window_size
from dogu.workspace.text.media import dimensions, picture_words
from dogu.workspace.visible import visible_line

if TYPE_CHECKING:
    from PIL.Image import Image

_KITTY = ("xterm-kitty", "xterm-ghostty")
_ITERM = ("iTerm.app", "iTerm2", "WezTerm", "mintty")
_SIXEL = ("foot", "mlterm", "contour", "yaft")  # how TERM begins
_SIXEL_KONSOLE = 220_400  # the first version that has it
_COLORS = 128
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")  # Pillow starts programs for some others
_BAND = 6  # rows of pixels that a sixel holds
_OTHERS = ("TMUX", "STY", "XTERM_VERSION", "VTE_VERSION", "KONSOLE_VERSION")
_MOST_BYTES = 4_000_000
_MOST_PIXELS = 40_000_000
_CHUNK_CHARS = 4_096
_CELL_PIXELS = 9  # a cell is taken to be so wide, and twice as high
_MOST_ROWS = 16


def protocol_of(environ: Mapping[str, str] = os.environ) -> str:
    """Return how this terminal is given pictures: `kitty`, `iterm`, `sixel`, or empty for not at all."""
    terminal = environ.get("TERM", "")
    if terminal in _KITTY:
        return "kitty"
    if "TMUX" in environ or "STY" in environ:
        return ""
    konsole = environ.get("KONSOLE_VERSION", "")
    is_konsole = konsole.isdecimal() and int(konsole) >= _SIXEL_KONSOLE
    if terminal.startswith(_SIXEL) or is_konsole or "WT_SESSION" in environ:
        return "sixel"
    is_other = terminal in ("", "dumb", "linux") or any(name in environ for name in _OTHERS)
    is_known = environ.get("LC_TERMINAL", "") in _ITERM or environ.get("TERM_PROGRAM", "") in _ITERM
    return "iterm" if is_known and not is_other else ""


def picture(blob: Blob, style: Style, columns: int, protocol: str) -> str:
    """Return a line that says what the picture is, and below it the picture where the terminal can show it."""
    words = picture_words(blob.data, blob.media_type)
    named = f"{visible_line(blob.name)} ({words})" if blob.name else words
    line = style.paint(f"  {named}", "dim")
    size = dimensions(blob.data)
    if not protocol or size is None or len(blob.data) > _MOST_BYTES or size[0] * size[1] > _MOST_PIXELS:
        return line
    wide, high = size
    cells = max(1, min(columns - 4, ceil(wide / _CELL_PIXELS)))
    rows = max(1, ceil(cells * high / wide / 2))
    if rows > _MOST_ROWS:
        rows, cells = _MOST_ROWS, max(1, min(cells, ceil(_MOST_ROWS * 2 * wide / high)))
    if not (shown := _shown(blob, cells, rows, protocol)):
        return line
    # The rows are made first, so that what scrolls has scrolled before the picture is put in its place.
    up, down = (f"\x1b[{rows - 1}A", f"\x1b[{rows - 1}B") if rows > 1 else ("", "")
    return line + "\n" * rows + f"{up}  \x1b7{shown}\x1b8{down}"


def _shown(blob: Blob, cells: int, rows: int, protocol: str) -> str:
    """Return what shows the picture in so much room; empty where it can't be read."""
    if protocol == "iterm":
        return _iterm(blob, cells, rows)
    if protocol == "kitty" and blob.media_type == "image/png":
        return _kitty(blob.data, cells, rows)
    cell = _cell_pixels()
    image = _pixels(blob.data, cells * cell[0], rows * cell[1])
    if image is None:
        return ""
    if protocol == "sixel":
        return _sixel(image)
    png = io.BytesIO()
    image.save(png, "PNG")
    return _kitty(png.getvalue(), cells, rows)


def _cell_pixels() -> tuple[int, int]:
    """Return how large a cell is: as the terminal says, else rather too small, so that a picture fits in its rows."""
    rows, columns, wide, high = window_size()
    return (wide // columns, high // rows) if wide and high and columns and rows else (_CELL_PIXELS - 1, 16)


def _pixels(data: bytes, wide: int, high: int) -> Image | None:
    """Return a picture's pixels, made as small as said; None where Pillow isn't installed or can't read it."""
    try:
        from PIL import Image as Images
    except ImportError:
        return None
    try:
        with Images.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            image.draft("RGB", (wide, high))
            image.thumbnail((wide, high))
            return image.convert("RGBA")
    except (
        OSError,
        ValueError,
        SyntaxError,
        ArithmeticError,
        Images.DecompressionBombError,
    ):  # Pillow's own, for what is broken
        return None


def _sixel(image: Image) -> str:
    """Write the pixels in bands six rows high, color by color; what is seen through is left out."""
    wide, high = image.size
    seen = image.getchannel("A").tobytes()
    flat = image.convert("RGB").quantize(_COLORS)
    colors, pixels = flat.getpalette() or [], flat.tobytes()
    written = [f'\x1bP0;1q"1;1;{wide};{high}']
    for at in range(len(colors) // 3):
        red, green, blue = (value * 100 // 255 for value in colors[at * 3 : at * 3 + 3])
        written.append(f"#{at};2;{red};{green};{blue}")
    for top in range(0, high, _BAND):
        band: dict[int, bytearray] = {}
        for row in range(top, min(top + _BAND, high)):
            bit = 1 << (row - top)
            for x, color in enumerate(pixels[row * wide : (row + 1) * wide]):
                if seen[row * wide + x] > 127:
                    band.setdefault(color, bytearray(b"?" * wide))[x] += bit
        lines = (f"#{color}{_LONG_RUN.sub(_run, sixels.decode().rstrip('?'))}" for color, sixels in band.items())
        written.append("$".join(lines) + "-")
    return "".join(written) + "\x1b\\"


_LONG_RUN = re.compile(r"(.)\1{3,}", re.DOTALL)


def _run(match: re.Match[str]) -> str:
    return f"!{len(match[0])}{match[1]}"


def _kitty(png: bytes, cells: int, rows: int) -> str:
    """Give the picture in pieces; the terminal is told not to answer, and to leave the cursor where it is."""
    data = base64.b64encode(png).decode()
    pieces = [data[at : at + _CHUNK_CHARS] for at in range(0, len(data), _CHUNK_CHARS)]
    first = f"a=T,f=100,q=2,C=1,c={cells},r={rows},"
    return "".join(
        f"\x1b_G{'' if at else first}m={int(at < len(pieces) - 1)};{piece}\x1b\\" for at, piece in enumerate(pieces)
    )


def _iterm(blob: Blob, cells: int, rows: int) -> str:
    data = base64.b64encode(blob.data).decode()
    return f"\x1b]1337;File=inline=1;size={len(blob.data)};width={cells};height={rows}:{data}\x07"
