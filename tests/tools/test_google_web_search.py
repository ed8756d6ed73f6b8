"""google_web_search as a model calls it."""

import pytest

from dogu.contract import ErrorKind, ToolError
from dogu.testing.workspace import executor_for, run_tool
from dogu.tools.google_web_search import GoogleWebSearch
from dogu.workspace.web.grounding import Citation, Grounded, Source

pytestmark = pytest.mark.anyio

FOUND = Grounded(
    "京都は雨。東京は晴れ。",
    (Source("天気", "https://a.example/"), Source("", "https://b.example/")),
    (Citation(5, (0,)), Citation(11, (0, 1))),
)


def answering(answer: Grounded | ToolError) -> GoogleWebSearch:
    async def search(_query: str) -> Grounded:
        if isinstance(answer, ToolError):
            raise answer
        return answer

    return GoogleWebSearch(search)


@pytest.mark.requirement("api.builtin.web_search")
async def test_the_answer_has_citations_and_the_list_of_sources() -> None:
    result = await run_tool(answering(FOUND), query=" 天気 ")
    assert result.llm_content == (
        'Web search results for "天気":\n\n京都は雨。[1]東京は晴れ。[1][2]\n\n'
        "Sources:\n[1] 天気 (https://a.example/)\n[2] Untitled (https://b.example/)"
    )
    assert result.return_display == 'Search results for "天気" returned.'
    assert result.error is None


async def test_nothing_found_is_said() -> None:
    result = await run_tool(answering(Grounded(" ")), query="x")
    assert result.llm_content == 'No search results or information found for query: "x"'
    assert result.return_display == "No information found."


async def test_a_failing_search_is_a_failure() -> None:
    result = await run_tool(answering(ToolError(ErrorKind.REMOTE_FAILED, "The search server failed.")), query="x")
    assert result.error is not None
    assert result.llm_content == "The search server failed."


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_an_empty_query_is_an_error(query: str) -> None:
    result = await run_tool(answering(FOUND), query=query)
    assert result.error is not None
    assert result.error.kind is ErrorKind.INVALID_ARGUMENTS


async def test_searching_asks_nobody_even_where_only_reading_is_allowed() -> None:
    from dogu.runtime.events import ToolCall

    executor = executor_for(answering(FOUND), confirm=None, mode="plan")
    assert (await executor.run(ToolCall("1", "google_web_search", {"query": "x"}))).result.error is None


async def test_a_very_long_answer_is_bounded() -> None:
    result = await run_tool(answering(Grounded("x" * 100_000)), query="x")
    assert len(str(result.llm_content)) < 41_000
