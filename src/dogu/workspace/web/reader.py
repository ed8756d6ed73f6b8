"""Reads several addresses at once, each on its own: one that fails doesn't cost the others.

Here an address is also shown: an international host name that a reader could take for another is said to be one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from dogu.contract import Part, Text, ToolError, parts_of
from dogu.language import told
from dogu.workspace.web.client import WebClient
from dogu.workspace.web.page import read_answer
from dogu.workspace.web.url import WebUrl, raw_url, urls_in

if TYPE_CHECKING:
    from dogu.workspace.web.page import WebPage

_LIKE_LATIN = frozenset(
    "асԁеһіјӏорԗԛѕԝхуъьҽпгѵѡвкмнтғҝ"  # Cyrillic
    "αβγεικνορτυχωϲ"  # Greek
    "օսցհոզքյ"  # Armenian
)
_ALPHABETS = frozenset(("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN"))


def shown_url(url: WebUrl) -> str:
    """Return the address for a user: an international host in both its forms."""
    return url.text if url.name == url.host else f"{url.text} ({url.name})"


def is_look_alike(url: WebUrl) -> bool:
    """Whether a label of the host could be read as another: alphabets mixed, or only letters that look Latin."""
    return url.name != url.host and any(_is_doubtful(label) for label in url.name.split("."))


def _is_doubtful(label: str) -> bool:
    letters = [char for char in label if char.isalpha()]
    if label.isascii() or not letters:
        return not label.isascii()
    if any("\u0250" <= char <= "\u02af" or char in "ıȷ" for char in letters):
        return True
    alphabets = {unicodedata.name(char, "?").split()[0] for char in letters} & _ALPHABETS
    return len(alphabets) > 1 or all(char in _LIKE_LATIN for char in letters)


_AT_ONCE = 4


class WebReader:
    """Fetches pages and reads them. `trusts_proxy`: a proxy may look names up without a user being asked."""

    def __init__(self, client: WebClient, *, trusts_proxy: bool = False) -> None:
        self._client = client
        self._trusts_proxy = trusts_proxy

    def addresses_in(self, prompt: str) -> list[WebUrl]:
        """Find the addresses in a prompt and judge them; nothing is looked up.

        Raises:
            ToolError: as `urls_in`, and REFUSED for an address that isn't public.
        """
        urls = urls_in(prompt)
        for url in urls:
            self._client.check(raw_url(url))
        return urls

    def reaches_only_public(self, urls: Sequence[WebUrl]) -> bool:
        """Whether all hosts are such as anybody could ask: none that only this machine's user allowed."""
        return not any(self._client.rules.allows(url.host) for url in urls)

    def doubts(self, urls: Sequence[WebUrl]) -> list[str]:
        """Return why a user should look at these addresses each time, for the model and the user."""
        found = [
            told("{address} may be taken for another address", address=shown_url(url))
            for url in urls
            if is_look_alike(url)
        ]
        if not self._trusts_proxy and any(self._client.proxy_for(raw_url(url)) for url in urls):
            found.append(told("a proxy looks the names up, so that dogu can't see where they lead"))
        return found

    async def read(self, urls: Sequence[WebUrl]) -> list[WebPage | ToolError]:
        """Fetch and read the addresses, in order; a failure stands in its page's place."""
        pages: dict[WebUrl, WebPage | ToolError] = {}
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def read_one(url: WebUrl) -> None:
            async with limiter:
                try:
                    answer = await self._client.fetch(raw_url(url))
                    pages[url] = await to_thread.run_sync(read_answer, answer)
                except ToolError as error:
                    pages[url] = error

        async with anyio.create_task_group() as group:
            for url in urls:
                group.start_soon(read_one, url)
        return [pages[url] for url in urls]


def address_list(urls: Sequence[WebUrl]) -> str:
    """Return the addresses as a list for a user, international hosts in both their forms."""
    return "\n".join(f"- {shown_url(url)}" for url in urls)


def parts_of_pages(urls: Sequence[WebUrl], pages: Sequence[WebPage | ToolError]) -> list[Part]:
    """Return the pages for a model, each under its address, failures told in their place, blobs after their heading."""
    parts: list[Part] = []
    for url, page in zip(urls, pages, strict=True):
        if isinstance(page, ToolError):
            parts.append(Text(f"--- {url.text} ---\nNot read: {page.message}\n"))
            continue
        found = f" (found at {page.address})" if page.redirects or page.address != url.text else ""
        title = f"Title: {page.title}\n" if page.title and isinstance(page.content, str) else ""
        first, *rest = parts_of(page.content)
        heading = f"--- {url.text}{found} ---\n{title}"
        parts += [Text(f"{heading}{first.text}\n")] if isinstance(first, Text) else [Text(heading), first]
        parts += rest
    return parts
