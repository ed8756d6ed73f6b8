"""Show the names of files so that a list of them stays a list, whatever they hold."""

from __future__ import annotations

import json
import re

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def shown_name(name: str) -> str:
    """Return a name or path as it is, or as a JSON string when it holds line breaks, control characters or bytes that
    are not UTF-8; copied into a call's JSON, that names the same file."""
    if name.isprintable() or not _ODD.search(name):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
