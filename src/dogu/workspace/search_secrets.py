"""Keep back what a search found in files that hold secrets: told as a number and a reason, never shown.

By path alone, after an engine has counted; so it holds for every engine, and only files with matches are asked about.
"""

from __future__ import annotations

import os

from dogu.workspace.names import shown_name
from dogu.workspace.protected import secret_reason
from dogu.workspace.roots import Roots
from dogu.workspace.search_query import SearchQuery

_MOST_NAMED = 5


class SecretFiles:
    """Knows the secret files at or below a path, by the name it was asked by and by its real one."""

    def __init__(self, roots: Roots, path: str) -> None:
        """`path` is absolute. Raises `ToolError`."""
        # Where a root lies says nothing; what it is called does.
        self._places = {
            os.path.join(os.path.basename(roots.root_of(name)), roots.relative(name))
            for name in (path, roots.real(path))
        }

    def reason(self, below: str = "") -> str | None:
        """Say why the content of the file at `below`, relative to the path, isn't shown, or None."""
        names = (f"{place}/{below}" for place in self._places)
        return next((reason for name in names if (reason := secret_reason(name))), None)

    def keep_back(self, counts: dict[str, int], query: SearchQuery) -> tuple[dict[str, int], list[str]]:
        """Return the counts by path without the secret files', and what to tell of those."""
        reasons = {path: reason for path in counts if (reason := self.reason(path))}
        if not reasons:
            return counts, []
        shown = {path: count for path, count in counts.items() if path not in reasons}
        matches = sum(counts[path] for path in reasons)
        return shown, [kept_back(reasons, matches, query)]


def kept_back(reasons: dict[str, str], matches: int, query: SearchQuery) -> str:
    """Say in a few words what is not shown: `reasons` by path, and the number of matches in all of them."""
    # A pattern beyond ASCII has only nominated its files, and these are not looked at again.
    number = f"{'' if query.pattern.isascii() else 'at most '}{matches} {'match' if matches == 1 else 'matches'}"
    paths = sorted(reasons)
    named = [f"{shown_name(path)} ({reasons[path].rstrip('.')})" for path in paths[:_MOST_NAMED]]
    more = [f"{len(paths) - _MOST_NAMED} more files"] if len(paths) > _MOST_NAMED else []
    return f"{number} left out, in {', '.join([*named, *more])}: ask with read_file"
