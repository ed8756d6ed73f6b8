"""Which runtime a client's calls are for: the one it was started with, or one in the roots that the client names."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.abc
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.runtime.runtime import Runtime
from dogu.serve.defects import contained
from dogu.serve.mcp.caller import AskedCall, is_modern, path_of_root

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

OpenAt: TypeAlias = Callable[[tuple[str, ...]], AbstractAsyncContextManager[Runtime]]

_PATIENCE_S = 10.0
_ROOTS = "dogu-roots"  # names the question among those of one call
_MOST_RUNTIMES = 16
_MOST_CLIENTS = 1000


class _NamedRoots(mcp_types.Result):
    """Roots as the client names them: each is looked at by itself, whatever it is an address of."""

    roots: list[dict[str, Any]]


class Workspaces:
    """Runtimes by their roots. `open_at` opens one at absolute folders; None means that the client's roots don't count.

    `opened` is told each runtime, the first one too. Runtimes live until `group` ends.
    """

    def __init__(
        self,
        first: Runtime,
        open_at: OpenAt | None,
        group: anyio.abc.TaskGroup,
        opened: Callable[[Runtime], None],
    ) -> None:
        self.first = first
        self._open_at = open_at
        self._group = group
        self._opened = opened
        self._runtimes: dict[tuple[str, ...], Runtime] = {}
        self._roots: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._asking = anyio.Lock()
        opened(first)

    async def of(self, context: ServerRequestContext[Any], asked: AskedCall | None = None) -> Runtime:
        """Return the runtime for a request. Raises `ToolError` when one can't be opened.

        A client of 2026-07-28 can be asked for its roots by the answer to a call, and by nothing else: without `asked`
        its request is for the first runtime. With it, `asked.needed` says that the client must be asked first.
        """
        if self._open_at is None or not _has_roots(context):
            return self.first
        if is_modern(context):
            return self.first if asked is None else await self._at(_told_roots(asked))
        async with self._asking:
            client = client_id(context)
            if client not in self._roots:
                self._roots[client] = await _asked_roots(context)
                while len(self._roots) > _MOST_CLIENTS:
                    self._roots.popitem(last=False)
            roots = self._roots[client]
        return await self._at(roots)

    @property
    def open(self) -> list[Runtime]:
        """The runtimes that are open now."""
        return [self.first, *self._runtimes.values()]

    async def _at(self, roots: tuple[str, ...]) -> Runtime:
        if not roots or roots == self.first.roots:
            return self.first
        async with self._asking:
            return self._runtimes.get(roots) or await self._open(roots)

    def forget(self, context: ServerRequestContext[Any]) -> None:
        """Ask the client anew before its next call: its roots are others."""
        self._roots.pop(client_id(context), None)

    async def _open(self, roots: tuple[str, ...]) -> Runtime:
        if len(self._runtimes) >= _MOST_RUNTIMES:
            message = f"More than {_MOST_RUNTIMES} workspaces are open in this `dogu mcp`: start another one."
            raise ToolError(ErrorKind.START_FAILED, message)
        runtime = await self._group.start(self._keep_open, roots)
        self._runtimes[roots] = runtime
        self._opened(runtime)
        return runtime

    async def _keep_open(self, roots: tuple[str, ...], *, task_status: anyio.abc.TaskStatus[Runtime]) -> None:
        assert self._open_at is not None
        is_open = False
        try:
            with contained(partial(ToolError, ErrorKind.DEFECT), ToolError):
                async with self._open_at(roots) as runtime:
                    is_open = True
                    task_status.started(runtime)
                    await anyio.sleep_forever()
        except ToolError as error:
            if not is_open:
                raise
            sys.stderr.write(f"{error.message}\n")
        finally:
            self._runtimes.pop(roots, None)  # it is opened anew for the next call there


def client_id(context: ServerRequestContext[Any]) -> str:
    """Tell clients of one door apart: by the session over HTTP; over standard streams there is one."""
    headers = getattr(context.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""


def _has_roots(context: ServerRequestContext[Any]) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


def _told_roots(asked: AskedCall) -> tuple[str, ...]:
    """The roots that came with a request of 2026-07-28. Raises `ToolError` once the client is asked for them."""
    requests = {_ROOTS: mcp_types.ListRootsRequest()}
    answers = asked.answers_to(requests)
    if answers is None:
        asked.need(requests)
        raise ToolError(ErrorKind.NOBODY_TO_ASK, "The client is asked for its roots first.")
    return _folders([str(root.uri) for root in answers[_ROOTS].roots])


async def _asked_roots(context: ServerRequestContext[Any]) -> tuple[str, ...]:
    related = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        answer = await context.session.send_request(mcp_types.ListRootsRequest(), _NamedRoots, _PATIENCE_S, related)
    except (MCPError, ValidationError) as error:
        sys.stderr.write(say("The client didn't say what its roots are: {error}", error=error) + "\n")
        return ()
    return _folders([str(root.get("uri", "")) for root in answer.roots])


def _folders(uris: Sequence[str]) -> tuple[str, ...]:
    """Return the roots that are folders here, each once, made plain; the others are told.

    Raises `ToolError` where roots are named and none is one: another folder isn't what the client means.
    """
    found: dict[str, None] = {}
    for uri in uris:
        path = path_of_root(uri)
        if path and os.path.isdir(path):
            found[os.path.abspath(path)] = None
        else:
            sys.stderr.write(say("The client's root isn't a folder here: {path}", path=path or uri) + "\n")
    if uris and not found:
        message = f"None of the client's roots is a folder here: {', '.join(uris)}. Open one that is, and call again."
        raise ToolError(ErrorKind.NOT_FOUND, message)
    return tuple(found)
