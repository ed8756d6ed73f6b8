"""What an MCP door offers besides tools: resources, templates of them, prompts. An importer adds its own here."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias
from urllib.parse import unquote

import msgspec

from dogu.contract.content import Content

Complete: TypeAlias = Callable[[str, str], Sequence[str]]


def _no_completions(_argument: str, _start: str) -> Sequence[str]:
    return ()


class OfferedResource(msgspec.Struct, frozen=True):
    """A resource at one address. `read` gives its content; a `Blob` without a name is the resource itself."""

    uri: str
    name: str
    read: Callable[[], Awaitable[Content]]
    media_type: str = "text/plain"
    description: str = ""


class OfferedTemplate(msgspec.Struct, frozen=True):
    """Resources whose address holds variables: `{name}` stands for a segment, `{+name}` for any rest."""

    uri_template: str
    name: str
    read: Callable[[Mapping[str, str]], Awaitable[Content]]
    media_type: str = "text/plain"
    description: str = ""
    complete: Complete = _no_completions


class OfferedArgument(msgspec.Struct, frozen=True):
    """An argument of a prompt."""

    name: str
    description: str = ""
    required: bool = True


class OfferedPrompt(msgspec.Struct, frozen=True):
    """A prompt; `get` gives its messages, each with its role (`user`, `assistant`)."""

    name: str
    description: str
    get: Callable[[Mapping[str, str]], Awaitable[Sequence[tuple[str, Content]]]]
    arguments: tuple[OfferedArgument, ...] = ()
    complete: Complete = _no_completions


class OfferKind(StrEnum):
    """What a change was of."""

    RESOURCES = "resources"
    PROMPTS = "prompts"


Offer: TypeAlias = OfferedResource | OfferedTemplate | OfferedPrompt


class Offers:
    """The offers of a door. Later ones of the same address or name take the place of earlier ones."""

    def __init__(self, *offers: Offer) -> None:
        self._resources: dict[str, OfferedResource] = {}
        self._templates: dict[str, OfferedTemplate] = {}
        self._prompts: dict[str, OfferedPrompt] = {}
        self._observers: list[Callable[[OfferKind], None]] = []
        self._watchers: list[Callable[[str], None]] = []
        self.add(*offers)

    def add(self, *offers: Offer) -> None:
        """Offer something."""
        for offer in offers:
            match offer:
                case OfferedResource(uri=uri):
                    self._resources[uri] = offer
                    self.tell(OfferKind.RESOURCES)
                case OfferedTemplate(uri_template=uri):
                    self._templates[uri] = offer
                    self.tell(OfferKind.RESOURCES)
                case OfferedPrompt(name=name):
                    self._prompts[name] = offer
                    self.tell(OfferKind.PROMPTS)

    def remove(self, name: str) -> None:
        """Take back what has that address, template or name."""
        if self._prompts.pop(name, None) is not None:
            self.tell(OfferKind.PROMPTS)
        if self._resources.pop(name, None) or self._templates.pop(name, None):
            self.tell(OfferKind.RESOURCES)

    def resource_changed(self, uri: str) -> None:
        """Say that a resource's content is another now: those who subscribed to it are told."""
        for watcher in self._watchers:
            watcher(uri)

    def observe(self, observer: Callable[[OfferKind], None], watcher: Callable[[str], None]) -> None:
        """Tell `observer` when there are others, `watcher` when the content at an address is another."""
        self._observers.append(observer)
        self._watchers.append(watcher)

    def tell(self, kind: OfferKind) -> None:
        """Say that there are others now."""
        for observer in self._observers:
            observer(kind)

    @property
    def resources(self) -> Iterable[OfferedResource]:
        """The resources."""
        return self._resources.values()

    @property
    def templates(self) -> Iterable[OfferedTemplate]:
        """The templates."""
        return self._templates.values()

    @property
    def prompts(self) -> Iterable[OfferedPrompt]:
        """The prompts."""
        return self._prompts.values()

    def prompt(self, name: str) -> OfferedPrompt | None:
        """Return the prompt of that name."""
        return self._prompts.get(name)

    def template(self, uri_template: str) -> OfferedTemplate | None:
        """Return the template that is written so."""
        return self._templates.get(uri_template)

    async def read(self, uri: str) -> tuple[Content, str]:
        """Return what stands at the address and its media type. Raises `LookupError` where nothing does."""
        for resource in self.resources:
            if resource.uri == uri:
                return await resource.read(), resource.media_type
        for template in self._templates.values():
            pattern = "".join(_pattern_of(piece) for piece in re.split(r"(\{\+?\w+\})", template.uri_template))
            found = re.fullmatch(pattern, uri)
            values = {name: unquote(value) for name, value in found.groupdict().items()} if found else None
            if values is not None:
                return await template.read(values), template.media_type
        raise LookupError(uri)


def _pattern_of(piece: str) -> str:
    variable = re.fullmatch(r"\{(\+?)(\w+)\}", piece)
    if variable is None:
        return re.escape(piece)
    return f"(?P<{variable[2]}>{'.+' if variable[1] else '[^/]+'})"


def arguments_of(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a prompt's arguments as texts."""
    return {name: str(value) for name, value in (given or {}).items()}
