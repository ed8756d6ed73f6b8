"""Prompts of MCP servers as `/server:prompt` commands; they come and go with their servers."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from dogu.agent.slash import Said, Send, SlashCommand
from dogu.contract import Content, ToolError
from dogu.language import say
from dogu.runtime.discovery.mcp.content import Prompt, PromptArgument

Get = Callable[[Prompt, Mapping[str, str]], Awaitable[Content]]
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
