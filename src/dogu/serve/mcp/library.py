"""Resources, prompts and completions in the words of the Model Context Protocol."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from itertools import chain
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from dogu.contract.content import Blob, Content, Text, parts_of
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp.offers import Offers, arguments_of
from dogu.serve.mcp.results import block_of, writable
from dogu.serve.mcp.session_offers import session_resources

_PAGE = 200
_MOST_VALUES = 100


class Library:
    """What the offers hold, and each runtime's session record."""

    def __init__(self, offers: Offers) -> None:
        self.offers = offers

    def list_resources(self, runtime: Runtime, cursor: str | None) -> mcp_types.ListResourcesResult:
        """List resources, a page at a time. Raises `MCPError` for a cursor that is none."""
        rows = [*self.offers.resources, *session_resources(runtime)]
        start = start_of(cursor, len(rows))
        listed = [
            mcp_types.Resource(
                uri=each.uri, name=each.name, description=each.description or None, mime_type=each.media_type
            )
            for each in rows[start : start + _PAGE]
        ]
        following = str(start + _PAGE) if start + _PAGE < len(rows) else None
        return mcp_types.ListResourcesResult(resources=listed, next_cursor=following)

    def list_templates(self, cursor: str | None) -> mcp_types.ListResourceTemplatesResult:
        """List the templates."""
        start_of(cursor)
        return mcp_types.ListResourceTemplatesResult(
            resource_templates=[
                mcp_types.ResourceTemplate(
                    uri_template=each.uri_template,
                    name=each.name,
                    description=each.description or None,
                    mime_type=each.media_type,
                )
                for each in self.offers.templates
            ]
        )

    async def read(self, runtimes: Iterable[Runtime], uri: str) -> mcp_types.ReadResourceResult:
        """Read what stands at an address, which names its session. Raises `MCPError` where nothing does."""
        try:
            content, media_type = await self._content(runtimes, uri)
        except LookupError as error:
            # One code in both generations: 2026-07-28 demands it, earlier ones knew no MUST.
            message = f"There is no resource {uri}."
            raise MCPError(mcp_types.INVALID_PARAMS, message, {"uri": uri}) from error
        return mcp_types.ReadResourceResult(contents=[*_contents(uri, content, media_type)])

    def list_prompts(self, cursor: str | None) -> mcp_types.ListPromptsResult:
        """List the prompts."""
        start_of(cursor)
        return mcp_types.ListPromptsResult(
            prompts=[
                mcp_types.Prompt(
                    name=each.name,
                    description=each.description or None,
                    arguments=[
                        mcp_types.PromptArgument(
                            name=argument.name, description=argument.description or None, required=argument.required
                        )
                        for argument in each.arguments
                    ],
                )
                for each in self.offers.prompts
            ]
        )

    async def get_prompt(self, name: str, arguments: Any) -> mcp_types.GetPromptResult:
        """Make a prompt. Raises `MCPError` for an unknown one or a missing argument."""
        prompt, given = self.offers.prompt(name), arguments_of(arguments)
        if prompt is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no prompt {name!r}.")
        missing = [each.name for each in prompt.arguments if each.required and each.name not in given]
        if missing:
            raise MCPError(mcp_types.INVALID_PARAMS, f"The prompt {name!r} needs {', '.join(missing)}.")
        messages = [
            mcp_types.PromptMessage.model_validate({"role": role, "content": block_of(part)})
            for role, content in await prompt.get(given)
            for part in parts_of(content)
        ]
        return mcp_types.GetPromptResult(description=prompt.description or None, messages=messages)

    def complete(self, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        """Complete an argument of a prompt or a variable of a template."""
        name = getattr(params.ref, "name", None)
        offer = self.offers.prompt(name) if name else self.offers.template(str(getattr(params.ref, "uri", "")))
        values = [*offer.complete(params.argument.name, params.argument.value)] if offer is not None else []
        completion = mcp_types.Completion(
            values=values[:_MOST_VALUES], total=len(values), has_more=len(values) > _MOST_VALUES
        )
        return mcp_types.CompleteResult(completion=completion)

    async def _content(self, runtimes: Iterable[Runtime], uri: str) -> tuple[Content, str]:
        for resource in chain.from_iterable(map(session_resources, runtimes)):
            if resource.uri == uri:
                return await resource.read(), resource.media_type
        return await self.offers.read(uri)


def _contents(uri: str, content: Content, media_type: str) -> Iterable[Any]:
    for part in parts_of(content) or [Text("")]:
        if isinstance(part, Blob):
            data = base64.b64encode(part.data).decode()
            yield mcp_types.BlobResourceContents(uri=uri, mime_type=part.media_type, blob=data)
        else:
            yield mcp_types.TextResourceContents(uri=uri, mime_type=media_type, text=writable(part.text))


def start_of(cursor: str | None, count: int = 0) -> int:
    """Return where the page begins, in a list of so many; 0 for one that has a single page. Raises `MCPError`."""
    if not cursor:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or int(cursor) >= count:
        raise MCPError(mcp_types.INVALID_PARAMS, "This cursor wasn't issued here.")
    return int(cursor)
