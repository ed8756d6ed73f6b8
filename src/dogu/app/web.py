"""The web for tools: who searches and who reads, by the settings and by what the model's server offers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from dogu.app.model_choice import key_of, open_model, provider_of
from dogu.contract import ErrorKind, ToolError
from dogu.models.events import ModelError
from dogu.settings import Settings

if TYPE_CHECKING:
    from dogu.models.events import Usage
    from dogu.models.gemini import Gemini
    from dogu.models.model import CurrentModel
    from dogu.tools.google_web_search import Search
    from dogu.tools.web_fetch import UrlContext
    from dogu.workspace.web.client import WebClient
    from dogu.workspace.web.grounding import Grounded
    from dogu.workspace.web.reader import WebReader

_HOW_TO_SEARCH = (
    "No web search is set up here. The user can set GEMINI_API_KEY and use a Gemini model, or set in "
    '~/.dogu/settings.json {"web": {"searxngUrl": "http://localhost:8888"}} for a SearXNG server, or {"web": '
    '{"braveKey": "$BRAVE_API_KEY"}} for Brave. Until then, use web_fetch with an address you know.'
)


class Web:
    """Makes what the web tools need, each part when it is first used.

    `model` is the session's, None where there is none: then the settings' is opened for a request to Gemini. `count`
    is told the tokens of such requests.
    """

    def __init__(
        self,
        settings: Settings,
        model: CurrentModel | None = None,
        count: Callable[[Usage], None] = lambda _usage: None,
    ) -> None:
        self._settings = settings
        self._model = model
        self._count = count

    def open_reader(self) -> WebReader:
        """Make what reads pages."""
        from dogu.workspace.web.reader import WebReader

        return WebReader(self._client(), trusts_proxy=self._settings.web.trusts_proxy)

    @property
    def url_context(self) -> UrlContext | None:
        """What lets Gemini's server read the addresses of a prompt; None where it isn't wanted."""
        if self._settings.web.fetch == "own":
            return None

        async def ask(prompt: str) -> Grounded:
            return await self._ask("urlContext", prompt)

        return ask

    @property
    def can_search(self) -> bool:
        """Whether there is anybody who searches, by the settings and the model that there is now."""
        return bool(self._searcher())

    async def search(self, query: str) -> Grounded:
        """Search by the provider that was set, else by the first there is: Gemini, SearXNG, Brave.

        Raises `ToolError` that says how to set one up where there is none.
        """
        found = self._search()
        if found is None:
            raise ToolError(ErrorKind.NOT_FOUND, _HOW_TO_SEARCH)
        return await found(query)

    @property
    def _brave_key(self) -> str:
        return self._settings.web.api_key or os.environ.get("BRAVE_API_KEY", "").strip()

    def _searcher(self) -> str:
        """Name who searches; '' for nobody. Asked at every request, so nothing is loaded for it."""
        web = self._settings.web
        if web.search in ("auto", "gemini") and self._is_gemini():
            return "gemini"
        if web.search in ("auto", "searxng") and web.searxng_url:
            return "searxng"
        return "brave" if web.search in ("auto", "brave") and self._brave_key else ""

    def _search(self) -> Search | None:
        from dogu.workspace.web.search import Brave, SearXNG

        async def by_gemini(query: str) -> Grounded:
            return await self._ask("googleSearch", query)

        url = self._settings.web.searxng_url
        match self._searcher():
            case "gemini":
                return by_gemini
            case "searxng":
                return SearXNG(self._client(*_host_of(url)), url)
            case "brave":
                return Brave(self._client(), self._brave_key)
            case _:
                return None

    def _client(self, *hosts: str) -> WebClient:
        from dogu.workspace.web.address import HostRules
        from dogu.workspace.web.client import WebClient, WebLimits
        from dogu.workspace.web.connect import environment_proxy

        web = self._settings.web
        limits = WebLimits(total_s=web.timeout_s)
        rules = HostRules([*web.allowed_hosts, *hosts])
        return WebClient(rules, limits, proxy_for=lambda url: environment_proxy(url, os.environ))

    def _is_gemini(self) -> bool:
        if self._model is not None:
            # Only Gemini has such tools; asked like this, its wire is loaded for no other model.
            return "googleSearch" in getattr(self._model.model, "server_tools", ())
        provider = provider_of(self._settings.model)
        return provider.searches and (not provider.needs_key or bool(key_of(provider, self._settings.model)))

    async def _ask(self, server_tool: str, prompt: str) -> Grounded:
        """Send a request of its own to the model's server. Raises `ToolError` (REMOTE_FAILED)."""
        from dogu.models.gemini import Gemini

        model = self._model.model if self._model is not None else open_model(self._settings.model)
        try:
            if not isinstance(model, Gemini) or server_tool not in model.server_tools:
                message = f"The model {model.name} has no {server_tool}."
                raise ToolError(ErrorKind.REMOTE_FAILED, message)
            return await self._grounded(model, server_tool, prompt)
        except ModelError as error:
            message = f"The model's server gave no answer: {error.message}"
            raise ToolError(ErrorKind.REMOTE_FAILED, message) from error
        finally:
            if self._model is None:
                await model.aclose()

    async def _grounded(self, model: Gemini, server_tool: str, prompt: str) -> Grounded:
        from dogu.models.gemini_grounding import read_grounded

        answer, usage = read_grounded(await model.ask_with(server_tool, prompt))
        self._count(usage)
        return answer


def _host_of(url: str) -> list[str]:
    from dogu.workspace.web.url import parse_url

    return [parse_url(url).host]
