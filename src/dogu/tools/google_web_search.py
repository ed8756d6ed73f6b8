"""google_web_search: searches the web for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import msgspec

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, told
from dogu.workspace.truncation import middle_left_out
from dogu.workspace.web.grounding import Grounded, source_list, with_citations

Search: TypeAlias = Callable[[str], Awaitable[Grounded]]


class GoogleWebSearchArgs(msgspec.Struct, kw_only=True):
    """What to search for."""

    query: Annotated[str, msgspec.Meta(description="The search query, as one would write it to a search engine.")]


class GoogleWebSearch(Tool[GoogleWebSearchArgs]):
    """Search the web and get an answer with its sources: for what happened lately, for documentation, for anything
    that isn't in the workspace. The marks [1], [2] in the answer stand for the sources listed below it; read one with
    web_fetch when you need all of it."""

    name, display_name, kind = "google_web_search", "GoogleSearch", Kind.SEARCH

    def __init__(self, search: Search) -> None:
        self._search = search

    def get_description(self, args: GoogleWebSearchArgs) -> str:
        """Say in one line what will be searched for."""
        return told('Search the web for "{query}"', query=" ".join(args.query.split())[:200])

    async def execute(self, args: GoogleWebSearchArgs, context: CallContext) -> ToolResult:
        """Search, and put citations and sources to the answer."""
        query = args.query.strip()
        if not query:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "The query is empty: write what to search for.")
        answer = await self._search(query)
        if not answer.text.strip():
            shown = told("No information found.")
            return ToolResult(f'No search results or information found for query: "{query}"', shown)
        found = f'Web search results for "{query}":\n\n{with_citations(answer)}'
        sources = source_list(answer.sources)
        text, _ = middle_left_out("\n\n".join(filter(None, (found, sources))))
        return ToolResult(text, told('Search results for "{query}" returned.', query=query))
