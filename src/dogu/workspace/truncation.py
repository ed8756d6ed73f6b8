"""Where a long text is cut, and how the cut is told."""

from __future__ import annotations

LONGEST_OUTPUT_CHARS = 40_000
LONGEST_LINE_CHARS = 2_000


def middle_left_out(text: str, max_chars: int = LONGEST_OUTPUT_CHARS) -> tuple[str, bool]:
    """Leave out the middle of a text longer than `max_chars`: its first 20 % and last 80 % stay, with a line between.

    Returns the text and whether it was cut.
    """
    if len(text) <= max_chars:
        return text, False
    first = max_chars // 5
    head, tail = text[:first], text[len(text) - (max_chars - first) :]
    left_out = len(text) - max_chars
    return f"{head}\n... [{left_out} characters left out] ...\n{tail}", True


def cut_middle(line: str, max_chars: int) -> str:
    """Cut a line in its middle: what a path is in front of, such as a system's reason, stands at its end."""
    first = max_chars // 2
    return line if len(line) <= max_chars else f"{line[:first]}…{line[first + 1 - max_chars :]}"


def cut_line(line: str, max_chars: int = LONGEST_LINE_CHARS) -> str:
    """Cut a line (without its ending) at `max_chars`, and say so in its place."""
    return line if len(line) <= max_chars else line[:max_chars] + "... [truncated]"
