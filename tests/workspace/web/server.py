"""A web on loopback for tests: names and public addresses that lead to one server, and a record of who was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpcore2

from dogu.testing.wire_server import Reply, WireRequest, WireServer
from dogu.workspace.web.address import HostRules
from dogu.workspace.web.client import WebClient, WebLimits
from dogu.workspace.web.connect import dial_by_system

PUBLIC = "93.184.216.34"
Answerer = Callable[[WireRequest, Reply], None]


def page(
    text: str | bytes, content_type: str = "text/html; charset=utf-8", status: int = 200, **headers: str
) -> Answerer:
    """Answer with a page."""
    body = text.encode() if isinstance(text, str) else text
    return lambda _request, reply: reply.send(
        status, body, {"content-type": content_type, **{name.replace("_", "-"): headers[name] for name in headers}}
    )


def redirect(location: str, status: int = 302) -> Answerer:
    """Answer with a redirect."""
    return page("moved", status=status, location=location)


def raw(data: bytes, *, stays_open: bool = False) -> Answerer:
    """Answer with these bytes, then end the connection or let it hang."""

    def answer(_request: WireRequest, reply: Reply) -> None:
        reply.raw(data)
        if stays_open:
            reply.stall()
        reply.cut()

    return answer


class LoopbackWeb:
    """`pages` answer by `host/path`, or by `/path` for any host; `names` are the resolver's answers.

    `looked_up`, `dialled` and `requests` hold what was asked of whom.
    """

    def __init__(
        self, pages: Mapping[str, Answerer] | None = None, names: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.pages = dict(pages or {})
        self.names = dict(names or {})
        self.looked_up: list[str] = []
        self.dialled: list[str] = []
        self.requests: list[WireRequest] = []
        self._server = WireServer(self._answer)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    @property
    def port(self) -> int:
        """The server's real port, which every name and port leads to."""
        return int(self._server.url.rpartition(":")[2])

    def client(self, *allowed: str, **limits: Any) -> WebClient:
        """Make a client that takes this web for the internet."""
        return WebClient(HostRules(allowed), WebLimits(**limits), resolver=self.resolve, dial=self.dial)

    async def resolve(self, name: str, _port: int) -> Sequence[str]:
        """Answer as the name server of this web."""
        self.looked_up.append(name)
        if name not in self.names and not name.endswith(".test"):
            raise OSError(-2, "Name or service not known")
        return self.names.get(name, [PUBLIC])

    async def dial(self, address: str, port: int, timeout_s: float | None) -> httpcore2.AsyncNetworkStream:
        """Connect to the loopback server, whichever address was asked for."""
        self.dialled.append(address)
        return await dial_by_system("127.0.0.1", self.port, timeout_s)

    def _answer(self, request: WireRequest, reply: Reply) -> None:
        self.requests.append(request)
        host = request.headers.get("host", "").partition(":")[0]
        answer = self.pages.get(f"{host}{request.path}") or self.pages.get(request.path)
        (answer or page("There is no such page.", status=404))(request, reply)
