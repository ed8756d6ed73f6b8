"""Tells an MCP door's clients what is different now: tools, resources, prompts, the content of a resource."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from dogu.runtime.runtime import Runtime
from dogu.serve.mcp.caller import is_modern
from dogu.serve.mcp.offers import OfferKind, Offers
from dogu.serve.mcp.workspaces import client_id

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

_TOGETHER_S = 0.05  # changes come in bursts, as a server's tools do
_MOST_CLIENTS = 1000


class Changes:
    """Hears of changes from registries and offers, and tells them in both generations' ways."""

    def __init__(self, offers: Offers) -> None:
        self._bus: InMemorySubscriptionBus = InMemorySubscriptionBus()
        self.listen: ListenHandler = ListenHandler(self._bus)
        self._clients: OrderedDict[str, ServerRequestContext[Any]] = OrderedDict()
        self._subscribed: dict[str, set[str]] = {}
        self._changed: set[str] = set()
        self._touched: set[str] = set()
        self._is_new = anyio.Event()
        offers.observe(self._offers_changed, self.touch)

    def watch(self, runtime: Runtime) -> None:
        """Hear of the tools of a runtime."""
        runtime.registry.observe(self._tools_changed)

    def meet(self, context: ServerRequestContext[Any]) -> None:
        """Remember a client, in order to tell it; of one client, its last request."""
        if is_modern(context):
            return  # it listens, or it doesn't want to know
        client = client_id(context)
        self._clients[client] = context
        self._clients.move_to_end(client)
        while len(self._clients) > _MOST_CLIENTS:
            self._subscribed.pop(self._clients.popitem(last=False)[0], None)

    def subscribe(self, context: ServerRequestContext[Any], uri: str) -> None:
        """Tell this client when the content at the address is another."""
        self._subscribed.setdefault(client_id(context), set()).add(uri)

    def unsubscribe(self, context: ServerRequestContext[Any], uri: str) -> None:
        """Don't tell it any more."""
        self._subscribed.get(client_id(context), set()).discard(uri)

    def touch(self, uri: str) -> None:
        """The content at the address is another."""
        self._touched.add(uri)
        self._is_new.set()

    async def tell(self) -> None:
        """Tell until cancelled."""
        while True:
            await self._is_new.wait()
            await anyio.sleep(_TOGETHER_S)
            self._is_new = anyio.Event()
            changed, self._changed = sorted(self._changed), set()
            touched, self._touched = sorted(self._touched), set()
            for kind in changed:
                await self._tell_lists(kind)
            for uri in touched:
                await self._tell_content(uri)

    def _tools_changed(self) -> None:
        self._changed.add("tools")
        self._is_new.set()

    def _offers_changed(self, kind: OfferKind) -> None:
        self._changed.add(kind.value)
        self._is_new.set()

    async def _tell_lists(self, kind: str) -> None:
        events = {"tools": ToolsListChanged, "resources": ResourcesListChanged, "prompts": PromptsListChanged}
        await self._bus.publish(events[kind]())
        for client in list(self._clients):
            session = self._clients[client].session
            sends = {
                "tools": session.send_tool_list_changed,
                "resources": session.send_resource_list_changed,
                "prompts": session.send_prompt_list_changed,
            }
            await self._send(client, sends[kind])

    async def _tell_content(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri))
        for client in [each for each in self._clients if uri in self._subscribed.get(each, ())]:
            context = self._clients[client]
            await self._send(client, lambda context=context: context.session.send_resource_updated(uri))

    async def _send(self, client: str, send: Any) -> None:
        """Send; a client that is gone is forgotten."""
        try:
            await send()
        except (MCPError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._clients.pop(client, None)
            self._subscribed.pop(client, None)
