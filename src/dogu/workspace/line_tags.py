"""Line tags: a line's number and a short hash of its text, by which a model names lines without quoting them.

For models that can't quote a file reliably. The hash is what makes it safe: a tag of a line that has changed or moved
is refused, never followed to another line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.edit_match.result import Replacement, lie_apart
from dogu.workspace.text import line_ending_at
from dogu.workspace.truncation import LONGEST_LINE_CHARS

_TAG = re.compile(r"\s*([0-9]{1,9}):([0-9a-f]{3})(?:\|.*)?\s*", re.DOTALL)
_CONTEXT_LINES = 3
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

# first and last line of a stretch (1-based, both inclusive; last = first - 1 puts in before first), and its new text.
LineEdit = tuple[int, int, str]


def tag_of(number: int, line: str) -> str:
    """Return the tag of a line, with or without its ending."""
    code = zlib.crc32(line.rstrip("\r\n").encode("utf-8", "surrogatepass"))
    return f"{number}:{code & 0xFFF:03x}"


def tagged(lines: Sequence[str], first: int) -> str:
    """Put each line's tag before it; `first` is the number of the first one, from 1. A line shown cut has none."""
    return "".join(
        f"{tag_of(number, line) if len(line) <= LONGEST_LINE_CHARS else f'{number}:cut'}|{line}"
        for number, line in enumerate(lines, first)
    )


def lines_of(text: str) -> list[str]:
    r"""Split into lines with their endings (`\n`, `\r\n`, `\r`)."""
    return _LINES.findall(text)


def number_of(tag: str, lines: Sequence[str]) -> int:
    """Return the number of the line a tag names. Raises `ToolError` (INVALID_ARGUMENTS, STALE) that shows what is."""
    found = _TAG.fullmatch(tag)
    if not found:
        message = f"{tag!r} is no line tag. Tags look like 12:a3f: copy them from what read_file shows."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    number = int(found[1])
    if not 1 <= number <= len(lines):
        message = f"There is no line {number}: the file has {len(lines)} lines. Read it again."
        raise ToolError(ErrorKind.STALE, message)
    if tag_of(number, lines[number - 1]) != f"{number}:{found[2]}":
        around = _around(lines, number, number)
        message = f"Line {number} is no longer the one tagged {number}:{found[2]}. Nothing was written. It reads now:\n"
        raise ToolError(ErrorKind.STALE, f"{message}{around}")
    return number


def replacements_of(text: str, lines: Sequence[str], edits: Sequence[LineEdit]) -> list[Replacement]:
    """Return what to write for the edits, all of the same text. Raises `ToolError` where they overlap."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[Replacement] = []
    for first, last, new in edits:
        start, end = starts[first - 1], starts[last]
        found.append(Replacement(start, end, _ended(text, start, end, new)))
    found.sort(key=lambda piece: piece[:2])
    spans = [piece[:2] for piece in found]
    if not lie_apart(spans) or len({span for span in spans if span[0] == span[1]}) < sum(a == b for a, b in spans):
        message = "Nothing was written: two of the edits name the same lines. Make one of them."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    return found


def receipt_of(lines: Sequence[str], edits: Sequence[LineEdit]) -> str:
    """Return the lines around each edit as they are now, tagged, for the next one; `lines` are the new file's."""
    shown: list[str] = []
    grown = 0
    for first, last, new in sorted(edits):
        count = len(lines_of(new))
        shown.append(_around(lines, first + grown, first + grown + count - 1))
        grown += count - (last - first + 1)
    return "...\n".join(shown)


def _around(lines: Sequence[str], first: int, last: int) -> str:
    start = max(first - _CONTEXT_LINES, 1)
    shown = lines[start - 1 : last + _CONTEXT_LINES]
    text = tagged(shown, start)
    return text if text.endswith("\n") else f"{text}\n"


def _ended(text: str, start: int, end: int, new: str) -> str:
    """Give new lines the endings of their place; only the file's last line may have none, as before."""
    ending = line_ending_at(text, start)
    body = "".join(line.rstrip("\r\n") + ending for line in lines_of(new))
    if end < len(text) or not body:
        return body
    is_open = bool(text) and not text.endswith(("\n", "\r"))
    if start == end and is_open:
        return ending + body.removesuffix(ending)
    return body.removesuffix(ending) if is_open else body
