"""What MCP servers bring to a session, and what they ask of it.

Their prompts are `/server:prompt` commands, and come and go with them; `@server:uri` in a prompt reads a resource like
any other call: the user named it, so that reading it asks nothing, and a rule that excludes `read_mcp_resource` holds.
What they ask of the user and of the model is recorded with the answers; secrets that were filled in are not.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import anyio
import msgspec

from dogu.agent.events import ElicitationAnswered, ElicitationMade, Record, SamplingAnswered
from dogu.agent.session.secrets import MASK
from dogu.agent.slash import Said, Send, SlashCommand
from dogu.contract import CallContext, Content, ErrorKind, Kind, Tool, ToolError, ToolResult, text_of
from dogu.language import say
from dogu.models.contents import RawContent, join_user_contents, model_content, user_content
from dogu.models.events import Finished, FinishReason, ModelError, Retrying, TextDelta, Usage
from dogu.models.model import Model
from dogu.runtime.events import Emit, ToolAnswer, ToolCall
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.runtime.registry import AnyTool
from dogu.workspace.environment import tells_a_secret

if TYPE_CHECKING:
    from dogu.runtime.discovery.mcp.content import Prompt, PromptArgument
    from dogu.runtime.discovery.mcp.host import Sample, Sampled, SamplingRequest

TIMEOUT_S = 120.0
_CHARS_PER_TOKEN = 4


class ModelSampling:
    """Answers a server by the session's model, with no tools and nothing of the conversation.

    Asks `model`; `count` is told the tokens that it cost.
    """

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


Get: TypeAlias = "Callable[[Prompt, Mapping[str, str]], Awaitable[Content]]"
"""Asks the server for a prompt with these arguments. Raises `ToolError`."""


def prompt_commands(prompts: Iterable[Prompt], get: Get) -> Iterable[SlashCommand]:
    """Make a command of each prompt, as they are now."""
    for prompt in prompts:
        yield SlashCommand(
            prompt.command,
            prompt.description.split("\n")[0] or say("a prompt of the MCP server {server}", server=prompt.alias),
            partial(_run, prompt, get),
            " ".join(_usage(argument) for argument in prompt.arguments),
            partial(_completions, prompt),
        )


class LatePrompts:
    """Prompts of servers that may still be starting: `is_server` knows the aliases, `wait` waits for one's lists."""

    def __init__(self, is_server: Callable[[str], bool], wait: Callable[[str], Awaitable[None]]) -> None:
        self._is_server = is_server
        self._wait = wait

    def may_have(self, name: str) -> bool:
        """Whether the name is `alias:prompt` with the alias of a server."""
        alias, colon, prompt = name.partition(":")
        return bool(colon and prompt) and self._is_server(alias)

    async def wait(self, name: str) -> None:
        """Wait until the server has listed its prompts, or can't."""
        await self._wait(name.partition(":")[0])


async def _run(prompt: Prompt, get: Get, rest: str) -> Said | Send:
    values = arguments_of(prompt.arguments, rest)
    missing = [argument.name for argument in prompt.arguments if argument.is_required and argument.name not in values]
    if missing:
        return Said(_what_is_missing(prompt, missing), is_failure=True)
    try:
        return Send(await get(prompt, values))
    except ToolError as error:
        return Said(error.message, is_failure=True)


def arguments_of(arguments: Sequence[PromptArgument], text: str) -> dict[str, str]:
    """Read `name=value` words, and others in the arguments' order; the last argument takes all that is left.

    A value with blanks is quoted as in a shell, unless it is the last.
    """
    names = [argument.name for argument in arguments]
    values: dict[str, str] = {}
    plain: list[str] = []
    for word in _words(text):
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            plain.append(word)
    left = [name for name in names if name not in values]
    while plain and left:
        name = left.pop(0)
        values[name] = plain.pop(0) if left else " ".join(plain)
    return values


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()  # such as an apostrophe


def _usage(argument: PromptArgument) -> str:
    return f"{argument.name}=..." if argument.is_required else f"[{argument.name}=...]"


def _what_is_missing(prompt: Prompt, missing: Sequence[str]) -> str:
    lines = [say("/{command} needs {names}.", command=prompt.command, names=", ".join(missing))]
    lines += [
        say("  {name}: {meaning}", name=argument.name, meaning=argument.description)
        for argument in prompt.arguments
        if argument.description
    ]
    return "\n".join(lines)


def _completions(prompt: Prompt, start: str) -> Sequence[str]:
    last = start.rpartition(" ")[2]
    return [f"{argument.name}=" for argument in prompt.arguments if argument.name.startswith(last)]


Read = Callable[[str, str, Callable[[str], None]], Awaitable[ToolResult]]
"""Reads a resource: a server's alias, a URI, where progress is reported. Raises `ToolError`."""


RunTool = Callable[[AnyTool, ToolCall, Emit], Awaitable[ToolAnswer]]
"""Runs a call of this tool, on record: `Runtime.run_tool`."""


class ReadMcpResourceArgs(msgspec.Struct, kw_only=True):
    """Which resource, of which server."""

    server: Annotated[str, msgspec.Meta(description="The server's alias.")]
    uri: Annotated[str, msgspec.Meta(description="The resource's URI.")]


class ReadMcpResource(Tool[ReadMcpResourceArgs]):
    """Read a resource of an MCP server."""

    name, display_name, kind = "read_mcp_resource", "ReadMcpResource", Kind.READ

    def __init__(self, read: Read) -> None:
        self._read = read

    def get_description(self, args: ReadMcpResourceArgs) -> str:
        """Name it."""
        return f"{args.server}:{args.uri}"

    async def execute(self, args: ReadMcpResourceArgs, context: CallContext) -> ToolResult:
        """Ask the server."""
        return await self._read(args.server, args.uri, context.report)


class PromptResources:
    """The resources that a prompt may name, read by `run`; `is_server` says whether there is a server of that alias."""

    def __init__(self, run: RunTool, is_server: Callable[[str], bool], read: Read) -> None:
        self._run = run
        self._is_server = is_server
        self._tool = ReadMcpResource(read)

    def names(self, written: str) -> bool:
        """Whether these words name a resource."""
        alias, colon, uri = written.partition(":")
        return bool(colon and uri) and self._is_server(alias)

    async def read(self, written: str, emit: Emit) -> Content:
        """Return what the resource holds, or why it can't be read."""
        alias, _, uri = written.partition(":")
        call = ToolCall("at", self._tool.name, {"server": alias, "uri": uri})
        answer = await self._run(self._tool, call, emit)
        return answer.result.llm_content


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined | None]]

_MOST_FIELDS = 100


def recorded_elicitations(elicit: Elicit, record: Record) -> Elicit:
    """Return an `elicit` that records each elicitation before it is made, and its answer before it is passed on."""

    async def ask(elicitation: Elicitation) -> Given | Declined | None:
        names = [*elicitation.fields][:_MOST_FIELDS]
        fields = {name: _title(name, elicitation.fields[name]) for name in names}
        record(ElicitationMade(elicitation.title, elicitation.message, fields, _without_query(elicitation.url)))
        try:
            answer = await elicit(elicitation)
        except anyio.get_cancelled_exc_class():
            record(ElicitationAnswered("cancelled"))
            raise
        record(_answered(elicitation, answer))
        return answer

    return ask


def recorded_sampling(sample: Sample, record: Record) -> Sample:
    """Return a `sample` that has the model's answers recorded; what was asked is recorded as an elicitation."""

    async def ask(request: SamplingRequest) -> Sampled:
        try:
            sampled = await sample(request)
        except ToolError as error:
            record(SamplingAnswered(problem=error.message))
            raise
        record(SamplingAnswered(sampled.model, sampled.text))
        return sampled

    return ask


def _answered(elicitation: Elicitation, answer: Given | Declined | None) -> ElicitationAnswered:
    match answer:
        case None:
            return ElicitationAnswered("nobody")
        case Declined(reason=reason, stop=stop):
            return ElicitationAnswered("closed" if stop else "declined", said=reason)
        case Given(values=values):
            shown = {name: _shown(name, elicitation.fields.get(name, {}), value) for name, value in values.items()}
            return ElicitationAnswered("given", shown)


def _shown(name: str, field: Mapping[str, Any], value: Any) -> Any:
    is_secret = field.get("format") == "password" or field.get("writeOnly") is True
    names = (name, field.get("title"), field.get("description"))
    is_secret = is_secret or any(isinstance(each, str) and tells_a_secret(each) for each in names)
    return MASK if is_secret and value not in (None, "") else value


def _title(name: str, field: Mapping[str, Any]) -> str:
    title = field.get("title")
    return title if isinstance(title, str) and title else name


def _without_query(url: str) -> str:
    """An address without what lets somebody in: its query, its fragment, a name and a password before its host."""
    end = min((at for at in (url.find("?"), url.find("#")) if at >= 0), default=len(url))
    scheme, separator, rest = url[:end].partition("://")
    host, slash, path = rest.partition("/")
    shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    return f"{shown}?…" if end < len(url) else shown
