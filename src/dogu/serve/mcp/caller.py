"""The client behind a call over MCP, for tools, resources and prompts of an importer: what only it can do.

Written once, it works in both generations of the protocol: a client of the handshake's (to 2025-11-25) is sent a
request while the call waits. One of 2026-07-28 is answered that input is required; the call is then made again from its
beginning, with the answers so far. So ask before anything is changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import mcp_types
import msgspec
from mcp.server.connection import allowed_log_levels
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from dogu.contract.errors import ErrorKind, ToolError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

AnswerT = TypeVar("AnswerT", bound="BaseModel")

TASKS = "io.modelcontextprotocol/tasks"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass
class AskedCall:
    """A request on whose behalf questions are asked.

    `responses` came with it; `state` is what we had the client send back (it is sealed on the wire). `needed` is the
    answer to give when the client must ask first, `failure` the error to answer with, whatever came of the call.
    `ask_later` asks once the call has become a task, `status` says in a line how far that is.
    """

    context: ServerRequestContext[Any]
    responses: Mapping[str, mcp_types.InputResponse]
    state: str
    needed: mcp_types.InputRequiredResult | None = None
    failure: Exception | None = None
    ask_later: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, BaseModel]]] | None = None
    status: str = ""
    carried: _Carried = field(init=False)

    def __post_init__(self) -> None:
        self.carried = _carried(self.state)

    @property
    def is_modern(self) -> bool:
        """Whether the client is of 2026-07-28, which is asked by an answer."""
        return is_modern(self.context)

    @property
    def can_be_asked(self) -> bool:
        """Whether the client said that it can put a form before the user."""
        capabilities = self.context.session.client_capabilities
        elicitation = capabilities.elicitation if capabilities else None
        return elicitation is not None and (elicitation.form is not None or elicitation.url is None)

    def answers_to(self, requests: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answers that came, now or in an earlier round; None when one is missing."""
        answers: dict[str, Any] = {}
        for key, request in requests.items():
            wanted = answer_type_of(request)
            answer: object = self.responses.get(key)
            if not isinstance(answer, wanted) and key in self.carried.answers:
                answer = wanted.model_validate(self.carried.answers[key])
            if not isinstance(answer, wanted):
                return None
            answers[key] = answer
        dumped = {key: answer.model_dump(mode="json", by_alias=True) for key, answer in answers.items()}
        self.carried.answers.update(dumped)
        return answers

    def need(self, requests: Mapping[str, Any]) -> None:
        """Answer that the client must ask first."""
        state = msgspec.json.encode(self.carried).decode()
        self.needed = mcp_types.InputRequiredResult(input_requests=dict(requests), request_state=state)


class _Carried(msgspec.Struct):
    """What a later round must know of earlier ones: which question is open, which was approved, other answers."""

    open: str = ""
    approved: str = ""
    answers: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


def _carried(state: str) -> _Carried:
    try:
        return msgspec.json.decode(state, type=_Carried) if state else _Carried()
    except msgspec.DecodeError:
        return _Carried()


def is_modern(context: ServerRequestContext[Any]) -> bool:
    """Whether the request is of 2026-07-28, in which a server asks by its answers alone."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


class McpCaller:
    """The client that made the present call. See the module."""

    def __init__(self, asked: AskedCall, least_level: str = "debug") -> None:
        self._asked = asked
        self._least_level = least_level

    @property
    def context(self) -> ServerRequestContext[Any]:
        """The SDK's context of the request."""
        return self._asked.context

    @property
    def capabilities(self) -> mcp_types.ClientCapabilities:
        """What the client said that it can."""
        return self.context.session.client_capabilities or mcp_types.ClientCapabilities()

    def require(self, capability: str) -> None:
        """Go on only if the client has the capability (`sampling`, `elicitation`, `roots`, an extension's identifier).

        Else the request is answered with the protocol's error, whatever the call does with this `ToolError`.
        """
        if "/" in capability:
            is_there = capability in (self.capabilities.extensions or {})
            told, data = missing_extension(capability)
        else:
            is_there = getattr(self.capabilities, capability) is not None
            told, data = f"This needs a client with the capability {capability}.", _required({capability: {}})
        if not is_there:
            self._asked.failure = MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, told, data)
            raise ToolError(ErrorKind.NOBODY_TO_ASK, told)

    async def elicit(self, message: str, schema: Mapping[str, Any], key: str = "answer") -> mcp_types.ElicitResult:
        """Put a form before the user. `key` tells the questions of one call apart."""
        params = mcp_types.ElicitRequestFormParams(message=message, requested_schema=dict(schema))
        return await self.ask(key, mcp_types.ElicitRequest(params=params), mcp_types.ElicitResult)

    async def sample(self, prompt: str, max_tokens: int, key: str = "sample") -> mcp_types.CreateMessageResult:
        """Have the client's model answer a prompt."""
        return await self.ask(key, sampling_request(prompt, max_tokens), _type("CreateMessageResult"))

    async def roots(self, key: str = "roots") -> mcp_types.ListRootsResult:
        """Ask for the client's roots."""
        return await self.ask(key, mcp_types.ListRootsRequest(), mcp_types.ListRootsResult)

    async def ask(self, key: str, request: Any, answer_type: type[AnswerT]) -> AnswerT:
        """Send one of the protocol's requests and return its answer."""
        return (await self.ask_all({key: request}))[key]  # pyright: ignore[reportReturnType]  (checked by its request)

    async def ask_all(self, requests: Mapping[str, Any]) -> Mapping[str, BaseModel]:
        """Send several at once. Raises `ToolError`, which the call must let through."""
        if not self._asked.is_modern:
            return {key: await self._send(request) for key, request in requests.items()}
        if self._asked.ask_later is not None:
            return await self._asked.ask_later(requests)
        answers = self._asked.answers_to(requests)
        if answers is None:
            self._asked.need(requests)
            raise ToolError(ErrorKind.NOBODY_TO_ASK, "The client is asked first; the call is made again then.")
        return answers

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is, if the client wants to know."""
        await self.context.session.report_progress(done, total, message)

    async def log(self, level: str, data: Any) -> None:
        """Send a message for the client's log; below the level that it set, nothing is sent."""
        session, request_id = self.context.session, self.context.request_id
        allowed = allowed_log_levels(self.context.protocol_version, self.context.meta)
        if level not in allowed or LEVELS.index(level) < LEVELS.index(self._least_level):
            return
        params = mcp_types.LoggingMessageNotificationParams.model_validate({"level": level, "data": data})
        await session.send_notification(mcp_types.LoggingMessageNotification(params=params), request_id)

    async def release(self) -> None:
        """Let the client go until the call has ended: it comes back for the answer by itself, where it can (SEP-1699).

        That is one of 2025-11-25 over HTTP; of others the request stays open.
        """
        if self.context.close_sse_stream is not None:
            await self.context.close_sse_stream()

    async def _send(self, request: Any) -> BaseModel:
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        try:
            return await self.context.session.send_request(request, answer_type_of(request), metadata=related)
        except (MCPError, ValidationError) as error:
            raise ToolError(ErrorKind.NOBODY_TO_ASK, f"The client could not answer: {error}") from error


def sampling_request(prompt: str, max_tokens: int) -> mcp_types.CreateMessageRequest:
    """Make the request that has the client's model answer a prompt."""
    said = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(text=prompt))
    params = mcp_types.CreateMessageRequestParams(messages=[said], max_tokens=max_tokens)
    return mcp_types.CreateMessageRequest(params=params)


def missing_extension(identifier: str) -> tuple[str, dict[str, Any]]:
    """Return words and data of the protocol's error to a client that hasn't named an extension."""
    told = f"This needs a client that names the extension {identifier}."
    return told, _required({"extensions": {identifier: {}}})


def _required(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {"requiredCapabilities": capabilities}


def answer_type_of(request: Any) -> type[BaseModel]:
    """Return the type of the answer to one of the protocol's requests."""
    names = {
        "elicitation/create": "ElicitResult",
        "sampling/createMessage": "CreateMessageResult",
        "roots/list": "ListRootsResult",
    }
    return _type(names[request.method])


def _type(name: str) -> Any:
    return getattr(mcp_types, name)


CALLER: ContextVar[McpCaller] = ContextVar("dogu_mcp_caller")


def caller() -> McpCaller:
    """Return who makes the present call. Raises `ToolError` when the call didn't come over MCP."""
    try:
        return CALLER.get()
    except LookupError as error:
        raise ToolError(ErrorKind.NOBODY_TO_ASK, "This call didn't come over MCP, so there is no client.") from error


def path_of_root(uri: str) -> str:
    """Return the path that a root names; empty where it is no address of a file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else ""
