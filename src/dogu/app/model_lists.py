"""Which models there are: a provider's own list, and servers found on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

import anyio
import msgspec

from dogu.agent.slash.model import LocalServer, ModelList
from dogu.app.credentials import KEYRING, key_in_keyring
from dogu.app.model_choice import gemini_key, provider_of
from dogu.settings import ModelSettings

GEMINI = "https://generativelanguage.googleapis.com"
_LOCAL = (("Ollama", 11434, "OLLAMA_HOST"), ("llama.cpp", 8080, ""))
_MOST_BYTES = 4 * 1024 * 1024
_KNOCK_S, _ANSWER_S, _LIST_S = 0.4, 2.0, 5.0


async def models_of(settings: ModelSettings) -> ModelList:
    """Return the names that the provider of the settings lists; `problem` says why there are none."""
    provider = provider_of(settings)
    try:
        if provider == "gemini":
            key = await anyio.to_thread.run_sync(resolved_key, settings)
            base = (settings.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL", "") or GEMINI).rstrip("/")
            found = await _get(f"{base}/v1beta/models?pageSize=1000", {"x-goog-api-key": key}, _LIST_S)
            return ModelList(_gemini_names(found))
        if provider == "openai_compatible":
            base = (settings.base_url or os.environ.get("OPENAI_BASE_URL", "")).rstrip("/")
            key = settings.api_key or os.environ.get("OPENAI_API_KEY", "")
            headers = {"authorization": f"Bearer {key}"} if key else {}
            return ModelList(_openai_names(await _get(f"{base}/models", headers, _LIST_S)))
    except ListError as error:
        return ModelList((), str(error))
    return ModelList(())


def resolved_key(settings: ModelSettings) -> str:
    """Return the Gemini key itself; blocks when it is in the keyring."""
    key = gemini_key(settings)
    return key_in_keyring(key) if key.startswith(KEYRING) else key


async def local_servers() -> list[LocalServer]:
    """Return the servers on loopback that list models; takes half a second where there are none."""
    found: list[LocalServer] = []

    async def look(name: str, port: int, variable: str) -> None:
        port = _port_of(os.environ.get(variable, "")) or port
        base_url = f"http://127.0.0.1:{port}/v1"
        try:
            with anyio.fail_after(_KNOCK_S):
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
            names = _openai_names(await _get(f"{base_url}/models", {}, _ANSWER_S))
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
    import httpx2

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


def _gemini_names(found: dict[str, Any]) -> tuple[str, ...]:
    models = _dicts(found.get("models"))
    able = [model for model in models if "generateContent" in (model.get("supportedGenerationMethods") or ())]
    return tuple(str(model.get("name", "")).removeprefix("models/") for model in able or models)


def _openai_names(found: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(model["id"]) for model in _dicts(found.get("data")) if model.get("id"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _port_of(host: str) -> int:
    """Return the port of `OLLAMA_HOST`, which may be `host`, `host:port` or an address; 0 for none."""
    port = host.rstrip("/").rpartition(":")[2]
    return int(port) if port.isdecimal() else 0
