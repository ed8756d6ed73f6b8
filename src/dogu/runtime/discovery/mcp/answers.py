"""What MCP servers ask of us, answered: roots, forms, addresses, the model. Imports the SDK: import it late.

A server may ask only while it works on a request of ours, and a few times at most: a user is not to be worn down. The
request's time stands still while a user answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from pathlib import Path
from types import coroutine
from typing import Any, TypeVar, cast

import anyio
import mcp_types
from mcp.client.session import ClientRequestContext, ElicitationFnT, SamplingFnT
from pydantic import FileUrl

from dogu.contract import Content, Part, Text, ToolError
from dogu.contract.content import parts_of
from dogu.language import told
from dogu.runtime.discovery.mcp.content import joined_content, part_of
from dogu.runtime.discovery.mcp.host import Host, SamplingRequest
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.workspace.truncation import middle_left_out

_MOST_TIMES_EXTENDED = 6


class Clock:
    """Ends its scope after `limit_s`; progress starts it anew, six times as long in all at most.

    While a user is asked it stands still: their time is not the server's.
    """

    def __init__(self, limit_s: float) -> None:
        now = anyio.current_time()
        self.limit_s = limit_s
        self.stopped = ""
        self.was_extended = False
        self._last = now + _MOST_TIMES_EXTENDED * limit_s
        self._questions = 0
        self._asked_at = now
        self._left_s = limit_s
        self.scope = anyio.CancelScope(deadline=now + limit_s)

    def extend(self) -> None:
        """Start anew: the server told progress."""
        self.was_extended = True
        if not self._questions:
            self.scope.deadline = min(anyio.current_time() + self.limit_s, self._last)

    def pause(self) -> None:
        """Stand still until `go_on` has been called as often."""
        self._questions += 1
        if self._questions == 1:
            self._asked_at = anyio.current_time()
            self._left_s = self.scope.deadline - self._asked_at
            self.scope.deadline = math.inf

    def go_on(self) -> None:
        """Go on with what was left."""
        self._questions -= 1
        if not self._questions:
            now = anyio.current_time()
            self._last += now - self._asked_at
            self.scope.deadline = now + self._left_s

    def stop(self, why: str) -> None:
        """End the request now; `stopped` says why."""
        self.stopped = why
        self.scope.cancel()


MOST_ELICITATIONS = 10
_REFUSED = -1  # Source: the specification, "User rejected sampling request"
_LONGEST_SHOWN_CHARS = 20_000


class Answering:
    """The answers of one connection. `tell` is given what a server wanted that nobody could be asked about."""

    def __init__(self, alias: str, host: Host, tell: Callable[[str], None]) -> None:
        self.host = host
        self._alias = alias
        self._tell = tell
        self._clocks: dict[Clock, Context] = {}
        self._elicitations = 0
        self._was_stopped = False

    @contextmanager
    def during(self, clock: Clock) -> Generator[None]:
        """Let the server ask while the request of that clock is under way, on behalf of whoever made it."""
        if not self._clocks:
            self._elicitations = 0
            self._was_stopped = False
        self._clocks[clock] = copy_context()
        try:
            yield
        finally:
            del self._clocks[clock]

    async def roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        """The workspace's folders."""
        return mcp_types.ListRootsResult(
            roots=[
                mcp_types.Root(uri=FileUrl(Path(root).as_uri()), name=Path(root).name or root)
                for root in self.host.roots
            ]
        )

    @property
    def sampling(self) -> SamplingFnT | None:
        """The answer to `sampling/createMessage`; None where there is no model."""
        return None if self.host.sample is None else self._sample

    @property
    def elicitation(self) -> ElicitationFnT:
        """The answer to `elicitation/create`."""
        return self._elicit

    async def ask_to_log_in(self, address: str) -> bool:
        """Ask the user to log in at the address; only while they wait for the server."""
        if not self._clocks:
            return False
        title = told("The MCP server {server} wants you to log in. Open its address?", server=self._alias)
        return isinstance(await self._ask_user(Elicitation(title, "", url=address)), Given)

    async def open_addresses(self, elicitations: object) -> str:
        """Put the addresses before the user that a call needs opened first; say what they answered."""
        try:
            needed = mcp_types.ElicitationRequiredErrorData.model_validate({"elicitations": elicitations})
        except ValueError:
            return "it wants the user to open an address, and named none"
        for wanted in needed.elicitations:
            if (await self._open_address(wanted)).action != "accept":
                return "it wants the user to open an address, and they declined"
        return "the user was shown the address it wants opened; call it again when they say that they are done"

    async def _elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            return await self._open_address(params)
        schema = cast("Mapping[str, Any]", params.requested_schema)
        fields = _fields(schema.get("properties"))
        required = tuple(name for name in cast("list[object]", schema.get("required") or []) if isinstance(name, str))
        title = told("The MCP server {server} asks:", server=self._alias)
        answer = await self._ask_user(Elicitation(title, params.message, fields, required))
        if not isinstance(answer, Given):
            return _declined(answer)
        content = {name: field["default"] for name, field in fields.items() if "default" in field}
        content.update((name, value) for name, value in answer.values.items() if name in fields and value is not None)
        return mcp_types.ElicitResult(action="accept", content=content)

    async def _open_address(self, params: mcp_types.ElicitRequestURLParams) -> mcp_types.ElicitResult:
        if not re.match(r"https?://[^/\s]", params.url):
            self._tell(told("it asked to open {url!r}, which isn't a web address: declined", url=params.url[:200]))
            return mcp_types.ElicitResult(action="decline")
        title = told("The MCP server {server} asks you to open an address:", server=self._alias)
        answer = await self._ask_user(Elicitation(title, params.message, url=params.url))
        return mcp_types.ElicitResult(action="accept") if isinstance(answer, Given) else _declined(answer)

    async def _sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        assert self.host.sample is not None
        if params.tools or params.tool_choice is not None:
            # Source: the specification of 2025-11-25: a client without `sampling.tools` must answer with an error.
            message = "This client samples without tools: it has no capability sampling.tools."
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=message)
        messages = tuple((message.role, _content(message)) for message in params.messages)
        request = SamplingRequest(params.system_prompt or "", messages, params.max_tokens)
        title = told("The MCP server {server} wants the model to answer this for it:", server=self._alias)
        answer = await self._ask_user(Elicitation(title, _shown(request)))
        if not isinstance(answer, Given):
            return mcp_types.ErrorData(code=_REFUSED, message="The user rejected the sampling request")
        try:
            sampled = await self.host.sample(request)
        except ToolError as error:
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message=error.message)
        return mcp_types.CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(text=sampled.text),
            model=sampled.model,
            stop_reason="maxTokens" if sampled.was_cut else "endTurn",
        )

    async def _ask_user(self, elicitation: Elicitation) -> Given | Declined:
        if not self._clocks:
            self._tell(told("it asked for something while nothing was asked of it: declined"))
            return Declined(stop=True)
        self._elicitations += 1
        why = told("it asked the user more than {count} times", count=MOST_ELICITATIONS)
        if self._was_stopped:
            why = told("it asked the user again, who had closed its question")
        if self._was_stopped or self._elicitations > MOST_ELICITATIONS:
            for clock in self._clocks:
                clock.stop(why)
            return Declined(stop=True)
        clocks = [*self._clocks]
        for clock in clocks:
            clock.pause()
        try:  # a question comes in the connection's own task, which doesn't know whose call it is about
            answer = await _within(self._clocks[clocks[-1]], self._elicited(elicitation))
        finally:
            for clock in clocks:
                clock.go_on()
        if answer is None:
            self._tell(told("it asked for something that a person must answer, and nobody is here to ask: declined"))
            return Declined()
        self._was_stopped = isinstance(answer, Declined) and answer.stop
        return answer

    async def _elicited(self, elicitation: Elicitation) -> Given | Declined | None:
        return await self.host.elicit(elicitation)


_T = TypeVar("_T")


@coroutine
def _within(context: Context, awaited: Coroutine[Any, Any, _T]) -> Generator[Any, Any, _T]:
    """Await something with the context variables of another task."""
    return (yield from _Steps(context.copy(), awaited))


class _Steps(Generator[Any, Any, Any]):
    """The steps of a coroutine, each taken within the context."""

    def __init__(self, context: Context, awaited: Coroutine[Any, Any, Any]) -> None:
        self._context = context
        self._awaited = awaited

    def send(self, value: Any, /) -> Any:
        return self._context.run(self._awaited.send, value)

    def throw(self, *error: Any) -> Any:
        return self._context.run(self._awaited.throw, *error)


def _declined(answer: Given | Declined) -> mcp_types.ElicitResult:
    is_closed = isinstance(answer, Declined) and answer.stop
    return mcp_types.ElicitResult(action="cancel" if is_closed else "decline")


def _fields(properties: object) -> dict[str, Mapping[str, Any]]:
    found: Mapping[str, object] = cast("Mapping[str, object]", properties) if isinstance(properties, dict) else {}
    return {name: cast("Mapping[str, Any]", field) for name, field in found.items() if isinstance(field, dict)}


def _content(message: mcp_types.SamplingMessage) -> Content:
    blocks = [block.model_dump(by_alias=True, exclude_none=True) for block in message.content_as_list]
    parts: list[Part] = [part_of(block) for block in blocks]
    return joined_content(parts)


def _shown(request: SamplingRequest) -> str:
    lines = [f"[system] {request.system}"] if request.system else []
    for role, content in request.messages:
        shown = [
            part.text if isinstance(part, Text) else f"[{part.media_type}, {len(part.data)} bytes]"
            for part in parts_of(content)
        ]
        lines.append(f"[{role}] " + "\n".join(shown))
    return middle_left_out("\n".join(lines), _LONGEST_SHOWN_CHARS)[0]
