"""Pictures, on terminals that show them: kitty's protocol and iTerm's. Elsewhere a line says what they are.

Nothing is asked of the terminal, and nothing is sent to one that doesn't say which it is: within tmux or screen the
environment tells of the terminal outside.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from math import ceil

from dogu.contract import Blob
from dogu.serve.terminal.style import Style
from dogu.workspace.text.media import dimensions, picture_words
from dogu.workspace.visible import visible_line

_KITTY = ("xterm-kitty", "xterm-ghostty")
_ITERM = ("iTerm.app", "iTerm2", "WezTerm", "mintty")
_OTHERS = ("TMUX", "STY", "XTERM_VERSION", "VTE_VERSION", "KONSOLE_VERSION")
_MOST_BYTES = 4_000_000
_MOST_PIXELS = 40_000_000
_CHUNK_CHARS = 4_096
_CELL_PIXELS = 9  # a cell is taken to be so wide, and twice as high
_MOST_ROWS = 16


def protocol_of(environ: Mapping[str, str] = os.environ) -> str:
    """Return how this terminal is given pictures: `kitty`, `iterm`, or empty for not at all."""
    terminal = environ.get("TERM", "")
    if terminal in _KITTY:
        return "kitty"
    is_other = terminal in ("", "dumb", "linux") or any(name in environ for name in _OTHERS)
    is_known = environ.get("LC_TERMINAL", "") in _ITERM or environ.get("TERM_PROGRAM", "") in _ITERM
    return "iterm" if is_known and not is_other else ""


def picture(blob: Blob, style: Style, columns: int, protocol: str) -> str:
    """Return a line that says what the picture is, and below it the picture where the terminal can show it."""
    words = picture_words(blob.data, blob.media_type)
    named = f"{visible_line(blob.name)} ({words})" if blob.name else words
    line = style.paint(f"  {named}", "dim")
    size = dimensions(blob.data)
    is_shown = protocol == "iterm" or (protocol == "kitty" and blob.media_type == "image/png")
    if not is_shown or size is None or len(blob.data) > _MOST_BYTES or size[0] * size[1] > _MOST_PIXELS:
        return line
    wide, high = size
    cells = max(1, min(columns - 4, ceil(wide / _CELL_PIXELS)))
    rows = max(1, ceil(cells * high / wide / 2))
    if rows > _MOST_ROWS:
        rows, cells = _MOST_ROWS, max(1, min(cells, ceil(_MOST_ROWS * 2 * wide / high)))
    # The rows are made first, so that what scrolls has scrolled before the picture is put in its place.
    up, down = (f"\x1b[{rows - 1}A", f"\x1b[{rows - 1}B") if rows > 1 else ("", "")
    shown = _kitty(blob, cells, rows) if protocol == "kitty" else _iterm(blob, cells, rows)
    return line + "\n" * rows + f"{up}  \x1b7{shown}\x1b8{down}"


def _kitty(blob: Blob, cells: int, rows: int) -> str:
    """Give the picture in pieces; the terminal is told not to answer, and to leave the cursor where it is."""
    data = base64.b64encode(blob.data).decode()
    pieces = [data[at : at + _CHUNK_CHARS] for at in range(0, len(data), _CHUNK_CHARS)]
    first = f"a=T,f=100,q=2,C=1,c={cells},r={rows},"
    return "".join(
        f"\x1b_G{'' if at else first}m={int(at < len(pieces) - 1)};{piece}\x1b\\" for at, piece in enumerate(pieces)
    )


def _iterm(blob: Blob, cells: int, rows: int) -> str:
    data = base64.b64encode(blob.data).decode()
    return f"\x1b]1337;File=inline=1;size={len(blob.data)};width={cells};height={rows}:{data}\x07"
