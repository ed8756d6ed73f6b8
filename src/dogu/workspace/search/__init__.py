"""Search the contents of files: ripgrep's dialect, our own ignore rules, bounded results with the full count.

Engines, in order: `rg`; `git grep` or `grep` to nominate files for a plain text; google-re2 in the process. None of
them is Python's `re`. Above: the `grep_search` tool. Below: `search_run`, loaded when first used.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.search.program import Engines
    from dogu.workspace.search.query import SearchQuery, SearchResult

DEFAULT_TIME_LIMIT_S = 30.0


class ContentSearch:
    """Search below the roots. Blocking: run it in a thread."""

    def __init__(
        self, roots: Roots, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S, engines: Engines | None = None
    ) -> None:
        self._roots = roots
        self._time_limit_s = time_limit_s
        self._engines = engines

    def search(self, query: SearchQuery, go_on: Callable[[], bool] | None = None) -> SearchResult:
        """Search a folder or a file; `go_on`, asked often, ends it early and may raise.

        Raises `ToolError` (BAD_PATTERN, NOT_FOUND, OUTSIDE_WORKSPACE, IGNORED, ...).
        """
        from dogu.workspace.search.program import Engines
        from dogu.workspace.search.query import SearchLimits
        from dogu.workspace.search.run import SearchRun

        limits = SearchLimits(time.monotonic() + self._time_limit_s, go_on)
        return SearchRun(self._roots, self._engines or Engines.found()).search(query, limits)
