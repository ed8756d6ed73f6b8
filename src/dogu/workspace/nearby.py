"""What lies in the folder that a command is run in, as far as a judge of commands asks about it."""

from __future__ import annotations

import os
import re
import stat
import sys

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_OF_A_REPOSITORY = (".git", "HEAD")  # a bare one begins with the file HEAD, whatever its name is


class Nearby:
    """Answers about paths relative to a folder, by looking when it is asked."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def is_free(self, path: str) -> bool:
        """Whether nothing is there, not even a broken link."""
        return not os.path.lexists(os.path.join(self._directory, path))

    def is_same_repository(self, path: str) -> bool:
        """Whether the folder is there and of no other repository than this one: none begins on the way to it."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if path.startswith("/") or ".." in parts:
            return False
        place = self._directory
        for part in parts:
            place = os.path.join(place, part)
            try:
                is_folder = stat.S_ISDIR(os.lstat(place).st_mode)
            except (OSError, ValueError):
                return False
            if not is_folder or any(os.path.lexists(os.path.join(place, name)) for name in _OF_A_REPOSITORY):
                return False
        return True

    def has_module(self, name: str) -> bool:
        """Whether `python -m NAME` runs a file that lies here, or below `src`, and not one of Python's own."""
        if _MODULE.fullmatch(name) is None or name.partition(".")[0] in sys.stdlib_module_names:
            return False
        root = os.path.realpath(self._directory)
        path = name.replace(".", os.sep)
        found = (
            os.path.join(root, base, path + end) for base in ("", "src") for end in (".py", f"{os.sep}__main__.py")
        )
        return any(os.path.isfile(each) and os.path.realpath(each) == each for each in found)
