"""Searches the web by a provider that a user set: a SearXNG server, or Brave's API."""

from __future__ import annotations

import re
from html import unescape
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.web.client import WebClient
from dogu.workspace.web.grounding import Citation, Grounded, Source
from dogu.workspace.web.url import parse_url

BRAVE_URL = "https://api.search.brave.com"
_MOST_RESULTS = 10
_MOST_SNIPPET_CHARS = 1_000
_TAG = re.compile(r"</?(?:strong|b|em|i|mark)>")

_AnswerT = TypeVar("_AnswerT")


class _Found(msgspec.Struct):
    """A result as SearXNG writes it; Brave's `description` is its `content`."""

    title: str = ""
    url: str = ""
    content: str | None = None
    description: str | None = None


class _SearxngAnswer(msgspec.Struct):
    results: list[_Found] = []


class _BraveResults(msgspec.Struct):
    results: list[_Found] = []


class _BraveAnswer(msgspec.Struct):
    web: _BraveResults | None = None


class SearXNG:
    """A SearXNG server whose settings allow the JSON format."""

    def __init__(self, client: WebClient, base_url: str) -> None:
        self._client = client
        self._base_url = base_url.rstrip("/")

    async def __call__(self, query: str) -> Grounded:
        """Return the first results. Raises `ToolError`."""
        url = parse_url(f"{self._base_url}/search?{urlencode({'q': query, 'format': 'json'})}")
        try:
            answer = await self._client.fetch(url, {"accept": "application/json"})
        except ToolError as error:
            hint = "In its settings.yml, search.formats must hold json." if "status 403" in error.message else ""
            raise ToolError(error.kind, f"The search server failed: {error.message} {hint}".rstrip()) from None
        return _grounded(_decoded(answer.body, _SearxngAnswer).results)


class Brave:
    """Brave's search API, with a key."""

    def __init__(self, client: WebClient, key: str, base_url: str = BRAVE_URL) -> None:
        self._client = client
        self._key = key
        self._base_url = base_url.rstrip("/")

    async def __call__(self, query: str) -> Grounded:
        """Return the first results. Raises `ToolError`."""
        asked = urlencode({"q": query[:400], "count": _MOST_RESULTS})
        url = parse_url(f"{self._base_url}/res/v1/web/search?{asked}")
        headers = {"accept": "application/json", "x-subscription-token": self._key}
        try:
            answer = await self._client.fetch(url, headers)
        except ToolError as error:
            raise ToolError(error.kind, f"Brave's search failed: {error.message.replace(self._key, '[key]')}") from None
        web = _decoded(answer.body, _BraveAnswer).web
        return _grounded(web.results if web else [])


def _decoded(body: bytes, kind: type[_AnswerT]) -> _AnswerT:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"The search server's answer isn't the JSON that was asked for ({error})."
        raise ToolError(ErrorKind.REMOTE_FAILED, message) from None


def _grounded(results: list[_Found]) -> Grounded:
    """Make a text of titles and snippets, each cited."""
    text = ""
    sources: list[Source] = []
    citations: list[Citation] = []
    for found in results:
        if not found.url or len(sources) == _MOST_RESULTS:
            continue
        title, snippet = _plain(found.title), _plain(found.content or found.description or "")
        text += f"{title}: {snippet}" if snippet else title
        citations.append(Citation(len(text), (len(sources),)))
        sources.append(Source(title, found.url))
        text += "\n"
    return Grounded(text.rstrip("\n"), tuple(sources), tuple(citations))


def _plain(text: str) -> str:
    return " ".join(unescape(_TAG.sub("", text)).split())[:_MOST_SNIPPET_CHARS]
