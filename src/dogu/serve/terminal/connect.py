"""Connecting a model at the terminal: a short menu, which never stands in the way of just typing."""

from __future__ import annotations

from dogu.agent.slash import Said, SlashCommand
from dogu.agent.slash.model import Connections, KeyProvider, LocalServer
from dogu.language import say
from dogu.serve.terminal.cells import wrapped
from dogu.serve.terminal.choices import Choice, Menu, named, plain_lines
from dogu.serve.terminal.screen import Screen
from dogu.workspace.visible import make_visible, visible_line

_MOST_LISTED = 20
GEMINI = KeyProvider("gemini", "Gemini", "GEMINI_API_KEY")


class ConnectMenu:
    """Offers to connect a model, once, where none is; `/connect` shows it at any time."""

    def __init__(self, connections: Connections, screen: Screen) -> None:
        self._connections = connections
        self._screen = screen
        self._is_offered = False

    def command(self) -> SlashCommand:
        """Make `/connect`."""
        return SlashCommand("connect", say("connect a model: a key, or a server on this machine"), self._connect)

    def offer(self, *, is_first: bool) -> None:
        """Show the menu where no model is connected and the user hasn't said that this is meant."""
        if not is_first:
            return
        self._is_offered = True
        self._say(
            say(
                "No model is connected yet. Meanwhile an offline demo model answers: it can list, read, find, "
                "search, replace and run."
            )
        )
        if not self._screen.is_live:
            self._screen.print(plain_lines(Menu(_choices()), self._screen.columns))
            self._say(say("Answer, or just type what you want done. /connect shows this again."))

    async def open(self) -> None:
        """Let one of what was offered be picked, where it is drawn; typing anything else puts it away."""
        if self._is_offered and self._screen.is_live:
            await self._choose(await self._screen.choose(Menu(_choices(), is_own=True, yields=True)), is_quiet=True)
            self._is_offered = False

    async def look_for_servers(self) -> None:
        """Say which server answers on this machine, if the menu is shown."""
        if not self._is_offered:
            return
        for server in await self._connections.servers():
            if self._is_offered:
                self._screen.print(self._screen.style.paint(_found(server), "green"))

    async def takes(self, text: str) -> bool:
        """Take a message that names one of the choices; anything else puts the menu away."""
        if not self._is_offered or self._screen.is_live:
            return False
        key = named(Menu(_choices()), text)
        self._is_offered = bool(key)
        if key:
            await self._choose(key)
        return bool(key)

    async def _connect(self, _rest: str) -> Said:
        await self._choose(await self._screen.choose(Menu(_choices(), is_own=True)))
        return Said("")

    async def _choose(self, key: str, *, is_quiet: bool = False) -> None:
        match key:
            case "1":
                await self._take_key()
            case "2":
                await self._take_server()
            case "3":
                self._done(await self._connections.use_model("offline"))
            case "4":
                await self._take_other()
            case _ if not is_quiet:
                self._say(say("Nothing was changed."))
            case _:
                pass

    async def _take_other(self) -> None:
        """Take another provider's key, and one of its models."""
        offered = [each for each in self._connections.key_providers() if each.name != "gemini"]
        choices = [Choice(each.name, each.title, each.variable) for each in offered]
        picked = await self._screen.choose(Menu(choices, filters=True, is_own=True))
        provider = next((each for each in offered if each.name == picked), None)
        if provider is None:
            self._say(say("Nothing was changed."))
            return
        await self._take_key(provider)

    async def _model_of(self, provider: KeyProvider, key: str) -> str:
        """Let one of the models that a provider lists be picked; '' for the usual one."""
        names = (await self._connections.models_with(key, provider.name)).names
        choices = [Choice(name, visible_line(name), "") for name in names]
        return await self._screen.choose(Menu(choices, filters=True, is_own=True)) or "" if choices else ""

    async def _take_key(self, provider: KeyProvider = GEMINI) -> None:
        title = provider.title
        while True:
            key = await self._screen.read_line(say("{title} API key (not shown):", title=title), is_secret=True)
            key = (key or "").strip()
            if not key:
                self._say(say("No key was entered; /connect asks again."))
                return
            if not key.isascii() or not key.isprintable() or " " in key:
                self._say(say("That isn't a key. Paste it again, or press Esc."))
                continue
            self._say(say("Checking the key ..."))
            check = await self._connections.check_key(key, provider.name)
            if check.works is False:
                self._say(say("{title} refused this key: {reason}", title=title, reason=check.reason))
                continue
            if check.works is None:
                self._say(say("The key couldn't be checked: {reason}", reason=check.reason))
            model = "" if provider is GEMINI else await self._model_of(provider, key)
            try:
                self._done(await self._connections.use_key(key, provider.name, model))
            except OSError as error:
                self._say(say("The key is used now, but couldn't be saved: {error}", error=error))
            return

    async def _take_server(self) -> None:
        servers = await self._connections.servers()
        if not servers:
            self._say(
                say(
                    "Neither Ollama (port 11434) nor llama.cpp (port 8080) answers on this machine. "
                    "Start one, then /connect."
                )
            )
            return
        offers = [(server, model) for server in servers for model in server.models][:_MOST_LISTED]
        if len(offers) == 1:
            self._done(await self._connections.use_server(*offers[0]))
            return
        choices = [Choice(str(at), model, server.name) for at, (server, model) in enumerate(offers)]
        key = await self._screen.choose(Menu(choices, filters=True, is_own=True))
        if key:
            self._done(await self._connections.use_server(*offers[int(key)]))
        else:
            self._say(say("Nothing was changed."))

    def _done(self, told: str) -> None:
        self._is_offered = False
        self._say(told)

    def _say(self, text: str) -> None:
        self._screen.print(wrapped(make_visible(text), self._screen.columns))


def _choices() -> list[Choice]:
    free = say("free at aistudio.google.com/apikey; or set GEMINI_API_KEY")
    return [
        Choice("1", say("Gemini, with an API key"), free),
        Choice("2", say("A model on this machine"), say("Ollama or llama.cpp")),
        Choice("3", say("Stay offline"), say("the demo model")),
        Choice("4", say("Another provider, with an API key"), say("Claude, OpenAI and more")),
    ]


def _found(server: LocalServer) -> str:
    names = ", ".join(server.models[:3]) + (", ..." if len(server.models) > 3 else "")
    found = say(
        "{server} answers at {url} with {models}: pick 2.", server=server.name, url=server.base_url, models=names
    )
    return visible_line(found)
