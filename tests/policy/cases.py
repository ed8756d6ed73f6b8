"""Commands with what is expected of them, read from `data/`: sections that begin with `## TITLE`, a command a line.

A line that begins with `| ` goes on with the command before it, on a new line. They are judged and never run.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "data"


def sections(name: str) -> list[tuple[str, list[str]]]:
    """Return the file's sections in order: title, commands."""
    found: list[tuple[str, list[str]]] = []
    # At "\n" alone: commands hold other line ends on purpose.
    for line in (_FOLDER / name).read_bytes().decode("utf-8", "surrogatepass").split("\n"):
        if line.startswith("## "):
            found.append((line[3:], []))
        elif line.startswith("| "):
            found[-1][1][-1] += f"\n{line[2:]}"
        elif line and found:
            found[-1][1].append(line)
    return found


def commands(name: str, title: str | None = None) -> list[str]:
    """Return the commands of the section, or of the whole file."""
    return [each for found, lines in sections(name) for each in lines if title in (None, found)]
