"""What stands around each request: words for what is wrong with one, and how many are under way.

The SDK says of all that is wrong with a request that its parameters are invalid, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from dogu.language import say

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

_MOST_TOLD = 3
_MEANS_NOT_INITIALIZED = "Invalid request parameters"  # the SDK raises this itself only where initialize is missing


async def refuse_in_words(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request; one that can't be taken is told what is missing or wrong in it."""
    try:
        return await call_next(_without_null_token(ctx))
    except ValidationError as error:
        told = [f"{_place(problem['loc'])}: {problem['msg']}" for problem in error.errors()[:_MOST_TOLD]]
        raise MCPError(mcp_types.INVALID_PARAMS, f"{ctx.method}: {'; '.join(told)}") from error
    except MCPError as error:
        if error.error.message != _MEANS_NOT_INITIALIZED:
            raise
        message = say("{method}: initialize comes first.", method=ctx.method)
        raise MCPError(mcp_types.INVALID_PARAMS, message) from error


def _without_null_token(context: ServerRequestContext[Any, Any]) -> ServerRequestContext[Any, Any]:
    """Take a null for nothing given: some clients write one where they want no progress."""
    params: Mapping[str, Any] = context.params or {}
    meta = params.get("_meta")
    if not isinstance(meta, dict) or cast("dict[str, Any]", meta).get("progressToken", "") is not None:
        return context
    kept = {name: value for name, value in cast("dict[str, Any]", meta).items() if name != "progressToken"}
    return replace(context, params={**params, "_meta": kept})


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "(all)"


class UnderWay:
    """Counts the requests that aren't answered yet."""

    def __init__(self) -> None:
        self._count = 0
        self._none = anyio.Event()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a request."""
        self._count += 1
        try:
            return await call_next(ctx)
        finally:
            self._count -= 1
            if not self._count:
                self._none.set()

    async def end(self) -> None:
        """Wait until all are answered."""
        while self._count:
            self._none = anyio.Event()
            await self._none.wait()
