"""The names in a folder, and names shown so that a list of them stays a list, whatever they hold."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from dogu.workspace import fs

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def shown_name(name: str) -> str:
    """Return a name or path as it is, or as a JSON string when it holds line breaks, control characters or bytes that
    are not UTF-8; copied into a call's JSON, that names the same file."""
    if name.isprintable() or not _ODD.search(name):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


class Entries(NamedTuple):
    """Names by what they are; `linked` are those of either that are symbolic links."""

    folders: list[str]
    others: list[str]
    linked: set[str]


def entries_of(descriptor: int) -> Entries:
    """Return the names in an open folder."""
    found = Entries([], [], set())
    with fs.scandir(descriptor) as entries:
        for entry in entries:
            (found.folders if _is_folder(entry) else found.others).append(entry.name)
            if entry.is_symlink():
                found.linked.add(entry.name)
    return found


def _is_folder(entry: fs.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def flaw_of(name: str, is_link: bool, descriptor: int) -> str:
    """Say in brackets why a name in an open folder leads to nothing that can be read; "" where it does."""
    if fs.access(name, os.R_OK, dir_fd=descriptor):
        return ""
    if not is_link:
        return " (unreadable)"
    try:
        fs.stat(name, dir_fd=descriptor)
    except PermissionError:
        return " (unreadable)"
    except OSError:
        return " (broken symlink)"
    return " (unreadable)"
