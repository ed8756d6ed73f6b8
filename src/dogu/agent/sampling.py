"""Answers an MCP server by the session's model, with no tools and nothing of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import msgspec

from dogu.contract import ErrorKind, ToolError, text_of
from dogu.models.contents import RawContent, join_user_contents, model_content, user_content
from dogu.models.events import Finished, FinishReason, ModelError, Retrying, TextDelta, Usage
from dogu.models.model import Model

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.host import Sampled, SamplingRequest

TIMEOUT_S = 120.0
_CHARS_PER_TOKEN = 4


class ModelSampling:
    """Asks `model`; `count` is told the tokens that it cost."""

    def __init__(self, model: Model, count: Callable[[Usage], None]) -> None:
        self._model = model
        self._count = count

    async def __call__(self, request: SamplingRequest) -> Sampled:
        """Return the answer, cut at about the tokens asked for. Raises `ToolError` (REMOTE_FAILED)."""
        from dogu.runtime.discovery.mcp.host import Sampled

        try:
            with anyio.fail_after(TIMEOUT_S):
                text, was_cut = await self._ask(request)
        except TimeoutError as error:
            raise ToolError(ErrorKind.REMOTE_FAILED, f"The model did not answer within {TIMEOUT_S:g} s.") from error
        except ModelError as error:
            raise ToolError(ErrorKind.REMOTE_FAILED, error.message) from error
        limit = request.max_tokens * _CHARS_PER_TOKEN
        return Sampled(text[:limit], self._model.name, was_cut or len(text) > limit)

    async def _ask(self, request: SamplingRequest) -> tuple[str, bool]:
        text = ""
        async with self._model.stream(request.system, _history(request), []) as events:
            async for event in events:
                match event:
                    case TextDelta(text=more):
                        text += more
                    case Retrying():
                        text = ""
                    case Usage():
                        self._count(event)
                    case Finished(reason=reason):
                        return text, reason is FinishReason.LENGTH
                    case _:
                        pass
        return text, False


def _history(request: SamplingRequest) -> list[RawContent]:
    history: list[RawContent] = []
    for role, content in request.messages:
        if role == "assistant":
            history.append(model_content(text_of(content)))
            continue
        said = user_content(content)
        if history and msgspec.json.decode(history[-1])["role"] == "user":
            history[-1] = join_user_contents(history[-1], said)
        else:
            history.append(said)
    return history or [user_content("")]
