"""Which models there are: a provider's own list, and servers found on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import msgspec

from dogu.agent.slash.model import LocalServer, ModelList
from dogu.app.model_choice import key_of, provider_of
from dogu.models.addresses import endpoint
from dogu.models.events import ModelError
from dogu.models.providers import LOCAL_LISTING
from dogu.settings import ModelSettings

_LOCAL = (("Ollama", 11434, "OLLAMA_HOST"), ("llama.cpp", 8080, ""))
_MOST_BYTES = 4 * 1024 * 1024
_KNOCK_S, _ANSWER_S, _LIST_S = 0.4, 2.0, 5.0


async def models_of(settings: ModelSettings) -> ModelList:
    """Return the names that the provider of the settings lists; `problem` says why there are none."""
    provider = provider_of(settings)
    listed = provider.listed
    if listed is None:
        return ModelList(())
    try:
        key = await key_of(provider, settings).text()
        headers = {listed.key_header: listed.key_prefix + key} if key else {}
        address = provider.address(settings.base_url, os.environ)
        answer = await _get(endpoint(address, listed.path), headers | dict(listed.headers), _LIST_S)
        return ModelList(listed.names(answer), is_open=listed.is_open)
    except ListError as error:
        return ModelList((), str(error))
    except ModelError as error:
        return ModelList((), error.message)


async def local_servers() -> list[LocalServer]:
    """Return the servers on loopback that list models; takes half a second where there are none."""
    found: list[LocalServer] = []

    async def look(name: str, port: int, variable: str) -> None:
        port = _port_of(os.environ.get(variable, "")) or port
        base_url = f"http://127.0.0.1:{port}/v1"
        try:
            with anyio.fail_after(_KNOCK_S):
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
            names = LOCAL_LISTING.names(await _get(base_url + LOCAL_LISTING.path, {}, _ANSWER_S))
        except (OSError, TimeoutError, ListError):
            return
        if names:
            found.append(LocalServer(name, base_url, names))

    async with anyio.create_task_group() as group:
        for name, port, variable in _LOCAL:
            group.start_soon(look, name, port, variable)
    return sorted(found, key=lambda server: server.name, reverse=True)


class ListError(Exception):
    """The list can't be had; the text says why."""


async def _get(url: str, headers: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    data = b""
    local = url.startswith("http://127.0.0.1:")
    try:
        async with (
            httpx2.AsyncClient(timeout=timeout_s, trust_env=not local) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise ListError(f"HTTP {answer.status_code}")
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise ListError("too long")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ListError(type(error).__name__) from error
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ListError("no JSON") from error


def _port_of(host: str) -> int:
    """Return the port of `OLLAMA_HOST`, which may be `host`, `host:port` or an address; 0 for none."""
    port = host.rstrip("/").rpartition(":")[2]
    return int(port) if port.isdecimal() else 0
