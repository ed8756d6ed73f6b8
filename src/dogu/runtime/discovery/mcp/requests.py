"""Requests to an MCP server whose answers are taken as they came. Imports the SDK: import it late.

The SDK's checks would drop all tools for one bad schema, and a whole result for one block they don't know.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

import anyio
import mcp_types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage

from dogu.contract import JsonObject
from dogu.language import told

Responses: TypeAlias = mcp_types.InputResponses | None
Send: TypeAlias = Callable[[Responses, str | None], Awaitable[JsonObject]]

_RAW = "dogu/raw"
_HALVES = "[\ud800-\udfff]"
_MOST_PAGES = 100
_MOST_ROWS = 2_000
_MOST_ROUNDS = 10
_EMPTY_ROUND_WAIT_S = 0.1
_RESULTS: Mapping[str, type[mcp_types.Result]] = {
    "tools/list": mcp_types.ListToolsResult,
    "tools/call": mcp_types.CallToolResult,
    "prompts/list": mcp_types.ListPromptsResult,
    "prompts/get": mcp_types.GetPromptResult,
    "resources/list": mcp_types.ListResourcesResult,
    "resources/templates/list": mcp_types.ListResourceTemplatesResult,
    "resources/read": mcp_types.ReadResourceResult,
}
_LISTS: Mapping[str, tuple[str, type[mcp_types.PaginatedRequest[Any]]]] = {
    "tools": ("tools", mcp_types.ListToolsRequest),
    "prompts": ("prompts", mcp_types.ListPromptsRequest),
    "resources": ("resources", mcp_types.ListResourcesRequest),
    "resource templates": ("resourceTemplates", mcp_types.ListResourceTemplatesRequest),
}


class RawDispatcher(JSONRPCDispatcher[Any]):
    """Keeps the answers that `Requests` takes, and hands the session an empty one that says where."""

    def __init__(self, read_stream: ReadStream[SessionMessage | Exception], write_stream: WriteStream[SessionMessage]):
        super().__init__(read_stream, write_stream)
        self._kept: dict[str, JsonObject] = {}
        self._numbers = itertools.count(1)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **more: Any
    ) -> dict[str, Any]:
        """Send, and keep the answer if it is one of those."""
        answer = await super().send_raw_request(method, _in_characters(params), opts, **more)
        if method not in _RESULTS:
            return answer
        key = str(next(self._numbers))
        self._kept[key] = answer
        none: list[object] = []
        empty = dict.fromkeys(("tools", "content", "prompts", "messages", "contents", "resources"), none)
        fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {_RAW: key}}
        return {**empty, "resourceTemplates": none, **fresh}

    def raw(self, result: mcp_types.Result) -> JsonObject:
        """Return, once, the answer in whose place the result came."""
        return self._kept.pop(str((result.meta or {})[_RAW]))


def _in_characters(params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Put U+FFFD for halves of characters, which models write and no wire carries: the SDK would end the connection."""
    text = json.dumps(params, ensure_ascii=False)
    return json.loads(re.sub(_HALVES, "\ufffd", text)) if re.search(_HALVES, text) else params


class Requests:
    """The requests of one session. All raise whatever the SDK or the transport does."""

    def __init__(self, session: ClientSession, raw: RawDispatcher) -> None:
        self._session = session
        self._raw = raw

    async def rows(self, what: str) -> tuple[list[object], list[str]]:
        """Return the raw rows of all pages of a list, and what was wrong with the pages."""
        rows: list[object] = []
        seen: set[str] = set()
        cursor: str | None = None
        key, request = _LISTS[what]
        for _ in range(_MOST_PAGES):
            params = None if cursor is None else mcp_types.PaginatedRequestParams(cursor=cursor)
            page = await self._send(request(params=params))  # pyright: ignore[reportCallIssue]  (each names its own method)
            found = page.get(key)
            if not isinstance(found, list):
                return rows, [told("it listed its {what} as something that isn't a list", what=what)]
            rows += cast("list[object]", found)
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following or len(rows) > _MOST_ROWS:
                break
            if following in seen:
                return rows, [told("its list of {what} never ends: a page names itself as the next", what=what)]
            seen.add(following)
            cursor = following
        else:
            return rows, [
                told(
                    "its list of {what} has more than {count} pages: the rest was left out",
                    what=what,
                    count=_MOST_PAGES,
                )
            ]
        if len(rows) > _MOST_ROWS:
            return rows[:_MOST_ROWS], [
                told("it has more than {count} {what}: the rest was left out", count=_MOST_ROWS, what=what)
            ]
        return rows, []

    async def call_tool(self, name: str, arguments: JsonObject, progress: ProgressFnT) -> JsonObject:
        """Return the raw answer to `tools/call`."""

        def send(responses: Responses, state: str | None) -> Awaitable[JsonObject]:
            params = mcp_types.CallToolRequestParams(
                name=name, arguments=arguments, input_responses=responses, request_state=state
            )
            return self._send(mcp_types.CallToolRequest(params=params), progress)

        return await self._completed(send)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        """Return the raw answer to `prompts/get`."""

        def send(responses: Responses, state: str | None) -> Awaitable[JsonObject]:
            params = mcp_types.GetPromptRequestParams(
                name=name, arguments=dict(arguments), input_responses=responses, request_state=state
            )
            return self._send(mcp_types.GetPromptRequest(params=params))

        return await self._completed(send)

    async def read_resource(self, uri: str) -> JsonObject:
        """Return the raw answer to `resources/read`."""

        def send(responses: Responses, state: str | None) -> Awaitable[JsonObject]:
            params = mcp_types.ReadResourceRequestParams(uri=uri, input_responses=responses, request_state=state)
            return self._send(mcp_types.ReadResourceRequest(params=params))

        return await self._completed(send)

    async def _send(self, request: mcp_types.Request[Any, Any], progress: ProgressFnT | None = None) -> JsonObject:
        result_type = _RESULTS[request.method]
        return self._raw.raw(await self._session.send_request(request, result_type, progress_callback=progress))

    async def _completed(self, send: Send) -> JsonObject:
        """Answer what a server of 2026-07-28 asks for before it can answer, and send again, ten times at most."""
        responses: Responses = None
        state: str | None = None
        for _ in range(_MOST_ROUNDS):
            answer = await send(responses, state)
            if answer.get("resultType") != "input_required":
                return answer
            needed = mcp_types.InputRequiredResult.model_validate(answer)
            responses, state = await self._responses(needed), needed.request_state
        raise MCPError(mcp_types.INTERNAL_ERROR, told("it asked for more input {count} times over", count=_MOST_ROUNDS))

    async def _responses(self, needed: mcp_types.InputRequiredResult) -> Responses:
        if not needed.input_requests:
            await anyio.sleep(_EMPTY_ROUND_WAIT_S)
            return None
        responses: mcp_types.InputResponses = {}
        for key, request in needed.input_requests.items():
            context = ClientRequestContext(session=self._session, request_id=key)
            response = await self._session.dispatch_input_request(context, request)
            if isinstance(response, mcp_types.ErrorData):
                raise MCPError.from_error_data(response)
            responses[key] = response
        return responses
