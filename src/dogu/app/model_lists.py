"""What providers say before one is used: which models there are, and whether a key is taken.

Gemini is asked whether it takes a key; others' lists of models tell it. Servers on this machine are looked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import msgspec

from dogu.agent.slash.model import KeyCheck, LocalServer, ModelList
from dogu.app.model_choice import key_of, provider_of
from dogu.language import say
from dogu.models.addresses import endpoint
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.options import ModelOptions
from dogu.models.providers import GEMINI, LOCAL_LISTING
from dogu.models.retry import RetryPolicy
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
        address = provider.address(settings.base_url, os.environ)
        if provider.access is not None:
            access = provider.access(address, os.environ)
            address, headers = access.base_url, await access.headers()
        else:
            key = await key_of(provider, settings).text()
            headers = {listed.key_header: listed.key_prefix + key} if key else {}
        headers |= {**listed.headers, **settings.headers}
        answer = await _get(endpoint(address, listed.path), headers, _LIST_S, settings.proxy)
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


async def _get(url: str, headers: Mapping[str, str], timeout_s: float, proxy: str = "") -> dict[str, Any]:
    data = b""
    local = url.startswith("http://127.0.0.1:")
    try:
        async with (
            httpx2.AsyncClient(timeout=timeout_s, trust_env=not local, proxy=proxy or None) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise ListError(f"HTTP {answer.status_code}")
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise ListError("too long")
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, ValueError) as error:  # a proxy's address among them
        raise ListError(type(error).__name__) from error
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ListError("no JSON") from error


def _port_of(host: str) -> int:
    """Return the port of `OLLAMA_HOST`, which may be `host`, `host:port` or an address; 0 for none."""
    port = host.rstrip("/").rpartition(":")[2]
    return int(port) if port.isdecimal() else 0


_LONGEST_S = 10.0
_HELLO = b'{"role":"user","parts":[{"text":"hello"}]}'


async def check_key(key: str, base_url: str) -> KeyCheck:
    """Have the tokens of a word counted: that costs nothing, and a wrong key is refused. Takes up to 10 s."""
    model = Gemini(GEMINI.default_model, KeyAccess(key, base_url), ModelOptions(retry=RetryPolicy(tries=1)))
    try:
        with anyio.fail_after(_LONGEST_S):
            await model.count_tokens("", [_HELLO], [])
    except ModelError as error:
        is_refused = error.kind is ModelErrorKind.AUTH or "API key" in error.message
        return KeyCheck(False if is_refused else None, say(error.message))
    except TimeoutError:
        return KeyCheck(None, say("It didn't answer within {seconds} s.", seconds=int(_LONGEST_S)))
    finally:
        await model.aclose()
    return KeyCheck(works=True)


def check_of(listed: ModelList) -> KeyCheck:
    """Return what a list of models that was asked for with a key says of it."""
    if listed.names:
        return KeyCheck(works=None if listed.is_open else True, reason=say("It lists its models to anyone."))
    is_refused = listed.problem in ("HTTP 401", "HTTP 403")
    return KeyCheck(False if is_refused else None, listed.problem or say("It lists no models."))
