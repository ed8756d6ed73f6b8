"""`/model` and `/connect`: which model answers, and how another is connected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from dogu.agent.slash import Offer, Said, SlashCommand
from dogu.language import say

_MOST_LISTED = 40


class LocalServer(msgspec.Struct, frozen=True):
    """A server on this machine that speaks the chat-completions wire."""

    name: str
    base_url: str
    models: tuple[str, ...]


class ModelList(msgspec.Struct, frozen=True):
    """The names a provider lists; `problem` says why there are none; `is_open`: anybody may see them."""

    names: tuple[str, ...]
    problem: str = ""
    is_open: bool = False


class KeyProvider(msgspec.Struct, frozen=True):
    """A provider that takes a key, and the variable in which the environment has one."""

    name: str
    title: str
    variable: str


class KeyCheck(msgspec.Struct, frozen=True):
    """What a provider said of a key: it works (True), is refused (False), or nobody could be asked (None)."""

    works: bool | None
    reason: str = ""


class Connections(Protocol):
    """How models are found, connected and remembered. Sentences are for the user."""

    def present(self) -> str:
        """Return the name of the model that answers."""
        ...

    def provider(self) -> str:
        """Return the name of the provider, `offline` for none."""
        ...

    async def models(self) -> ModelList:
        """Ask the provider which models it has."""
        ...

    async def servers(self) -> Sequence[LocalServer]:
        """Look for servers on this machine."""
        ...

    async def use_model(self, name: str) -> str:
        """Take another model of the provider (`offline` for none) from now on; return what was remembered, where."""
        ...

    def profiles(self) -> Sequence[str]:
        """Return the names of the profiles that the settings hold."""
        ...

    def choose(self, name: str) -> None:
        """Take a profile, or another model of the provider, for this session only.

        Raises `ToolError` for one that can't be taken.
        """
        ...

    async def use_server(self, server: LocalServer, model: str) -> str:
        """Take a model of a local server from now on; return what was remembered, where."""
        ...

    def key_providers(self) -> Sequence[KeyProvider]:
        """Return the providers that a key connects, Gemini first."""
        ...

    async def models_with(self, key: str, provider: str) -> ModelList:
        """Ask a provider with a key which models it has."""
        ...

    async def check_key(self, key: str, provider: str = "gemini") -> KeyCheck:
        """Ask a provider whether it takes a key."""
        ...

    async def use_key(self, key: str, provider: str = "gemini", model: str = "") -> str:
        """Keep a provider's key and use it from now on; return where it is kept."""
        ...


def model_commands(connections: Connections) -> list[SlashCommand]:
    """Make them. A door with a menu of its own registers its own `/connect` above this one."""
    commands = _ModelCommands(connections)
    return [
        SlashCommand(
            "model", say("show or change the model"), commands.model, "[NAME]", commands.complete, commands.offers
        ),
        SlashCommand("connect", say("how to connect a model"), commands.connect),
    ]


class _ModelCommands:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._names: tuple[str, ...] = ("offline",)

    def complete(self, start: str) -> list[str]:
        return [name for name in self._names if name.startswith(start)]

    async def offers(self) -> list[Offer]:
        """Offer the models that the provider lists, and the offline one; none where it lists none."""
        found = await self._connections.models()
        if not found.names:
            return []
        self._names = (*found.names, "offline")
        present, provider = self._connections.present(), self._connections.provider()
        return [
            Offer(name, name, "" if name == "offline" else provider, is_current=name == present)
            for name in dict.fromkeys((present, *self._names))
        ]

    async def model(self, rest: str) -> Said:
        if len(rest.split()) > 1:
            return Said(say("A model's name can't contain spaces: {name}", name=rest), is_failure=True)
        if rest:
            return Said(await self._connections.use_model(rest))
        found = await self._connections.models()
        lines = [
            say(
                "The model is {name} ({provider}). /model NAME changes it.",
                name=self._connections.present(),
                provider=self._connections.provider(),
            )
        ]
        if found.names:
            self._names = (*found.names, "offline")
            lines += [f"  {name}" for name in found.names[:_MOST_LISTED]]
        if len(found.names) > _MOST_LISTED:
            lines.append(say("  … and {count} more", count=len(found.names) - _MOST_LISTED))
        if found.problem:
            lines.append(say("The provider can't list its models right now ({reason}).", reason=found.problem))
        return Said("\n".join(lines))

    async def connect(self, _rest: str) -> Said:
        servers = await self._connections.servers()
        lines = [say("Gemini: set GEMINI_API_KEY (get a free key at aistudio.google.com/apikey).")]
        others = [each for each in self._connections.key_providers() if each.name != "gemini"]
        lines += [say("{title}: set {variable}.", title=each.title, variable=each.variable) for each in others]
        for server in servers:
            found = say(
                "{server} answers at {url} with {models}.",
                server=server.name,
                url=server.base_url,
                models=", ".join(server.models[:5]),
            )
            lines.append(found)
        lines.append(say("In a terminal, start `dogu` and type /connect to set one up."))
        return Said("\n".join(lines))
