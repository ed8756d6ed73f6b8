r"""`@path` in a prompt: which files the person means.

`@src/a.py`, `@"with blanks.md"` and `@with\ blanks.md`, at the start or after white space or an opening bracket, so
that an address like a@b.c is none. What a path names is read by the tool `read_many_files`, under the same rules as
any other call.
"""

from __future__ import annotations

import re

_AT = re.compile(r"""(?:(?<=^)|(?<=[\s(\[{"'「『（【]))@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'`])+))""")
_CLOSING = ".,;:!?)]}、。，；：！？）】」』"


def at_paths(prompt: str) -> list[list[str]]:
    """Return for each `@path` the readings to try in order: as written, then without closing punctuation."""
    found: list[list[str]] = []
    for match in _AT.finditer(prompt):
        quoted = match.group(1) or match.group(2)
        if quoted:
            readings = [quoted]
        else:
            written = re.sub(r"\\(.)", r"\1", match.group(3))
            shorter = written.rstrip(_CLOSING)
            readings = [written, shorter] if shorter and shorter != written else [written]
        if readings not in found:
            found.append(readings)
    return found
