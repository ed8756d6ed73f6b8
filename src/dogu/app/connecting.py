"""Connects a model while a session is open, and remembers the choice in the user's own settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from dogu.agent.slash.model import KeyCheck, KeyProvider, LocalServer, ModelList
from dogu.app.credentials import keep_key
from dogu.app.model_choice import open_model, provider_of, with_profile
from dogu.app.options import Options
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.models import providers
from dogu.settings import ModelSettings, SettingsError
from dogu.settings.edit import EditError, with_values
from dogu.settings.json import JsonError
from dogu.workspace.private_file import lock_of_file, read_private_file, write_private_file

if TYPE_CHECKING:
    from dogu.models.model import CurrentModel, Model


class SessionConnections:
    """The model of one session. Those it replaces are closed with the session."""

    def __init__(self, current: CurrentModel, settings: ModelSettings, options: Options) -> None:
        self._current = current
        self._settings = settings
        self._options = options
        self._opened: list[Model] = []

    def present(self) -> str:
        """Return the name of the model that answers."""
        return self._current.name

    def provider(self) -> str:
        """Return whose model it is."""
        return provider_of(self._settings).name

    async def models(self) -> ModelList:
        """Ask the provider which models it has."""
        return await _models_of(self._settings)

    async def servers(self) -> list[LocalServer]:
        """Look for servers on this machine."""
        from dogu.app.model_lists import local_servers

        return await local_servers()

    async def use_model(self, name: str) -> str:
        """Take another model of the provider."""
        provider = "" if name == "offline" else self._provider_for(name)
        self._take(msgspec.structs.replace(self._settings, name=name, provider=provider or self._settings.provider))
        values = {"name": name, **({"provider": provider} if provider else {})}
        return await self._remembered(values)

    def profiles(self) -> tuple[str, ...]:
        """Return the names of the settings' profiles."""
        return tuple(self._settings.profiles)

    def choose(self, name: str) -> None:
        """Take a profile, or another model of the provider, and keep it nowhere."""
        named = msgspec.structs.replace(self._settings, name=name)
        if name not in self._settings.profiles:
            provider = "" if name == "offline" else self._provider_for(name)
            named = msgspec.structs.replace(named, provider=provider or self._settings.provider)
        try:
            self._take(with_profile(named))
        except SettingsError as error:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, str(error)) from error

    async def use_server(self, server: LocalServer, model: str) -> str:
        """Take a model of a local server."""
        provider = providers.LOCAL.name
        chosen = {"provider": provider, "baseUrl": server.base_url, "name": model}
        self._take(
            msgspec.structs.replace(self._settings, provider=provider, base_url=server.base_url, name=model, api_key="")
        )
        return await self._remembered(chosen)

    def key_providers(self) -> list[KeyProvider]:
        """Return the providers that a key connects, Gemini first."""
        keyed = (each for each in providers.PROVIDERS if each.needs_key and each.key_names)
        return [KeyProvider(each.name, each.title, each.key_names[0]) for each in keyed]

    async def models_with(self, key: str, provider: str) -> ModelList:
        """Ask a provider with a key which models it has."""
        theirs = msgspec.structs.replace(self._settings, provider=provider, base_url="", api_key=key, headers={})
        return await _models_of(theirs)

    async def check_key(self, key: str, provider: str = providers.GEMINI.name) -> KeyCheck:
        """Ask a provider whether it takes a key: Gemini by a count of tokens, others by their list of models."""
        from dogu.app.model_lists import check_key, check_of

        if provider == providers.GEMINI.name:
            return await check_key(key, providers.GEMINI.address("", os.environ))
        return check_of(await self.models_with(key, provider))

    async def use_key(self, key: str, provider: str = providers.GEMINI.name, model: str = "") -> str:
        """Keep a provider's key and use it."""
        state_folder = self._options.state_folder
        owner = providers.of_model(self._settings.name)
        name = model or (self._settings.name if owner is not None and owner.name == provider else "")
        self._take(msgspec.structs.replace(self._settings, provider=provider, base_url="", api_key=key, name=name))
        where = await to_thread.run_sync(keep_key, state_folder, provider, key)
        kept = say("The key is saved in the system's keyring.") if where == "keyring" else ""
        kept = kept or say("The key is saved in {path}, which only you can read.", path=where)
        saved = await self._remembered({"provider": provider, "baseUrl": "", "name": name})
        return f"{kept}\n{saved}"

    async def aclose(self) -> None:
        """Close the models that were opened here."""
        for model in self._opened:
            await model.aclose()

    def _provider_for(self, name: str) -> str:
        """Return the provider to be remembered with a name: the present one, or where there is none the name's own."""
        present = provider_of(self._settings)
        return (present if present is not providers.OFFLINE else providers.of_model(name) or providers.GEMINI).name

    def _take(self, settings: ModelSettings) -> None:
        model = open_model(settings)
        self._settings = settings
        self._opened.append(model)
        self._current.change(model)

    async def _remembered(self, values: Mapping[str, str]) -> str:
        path = os.path.join(self._options.state_folder, "settings.json")
        try:
            await to_thread.run_sync(_write_model, path, values)
        except (OSError, EditError, JsonError) as error:
            return say(
                "Model: {name}. It couldn't be saved in {path}: {error}.", name=self.present(), path=path, error=error
            )
        return say("Model: {name}. Saved in {path}.", name=self.present(), path=path)


async def _models_of(settings: ModelSettings) -> ModelList:
    from dogu.app.model_lists import models_of  # with it comes the client for HTTP

    return await models_of(settings)


def _write_model(path: str, values: Mapping[str, str]) -> None:
    """Change the model in the user's settings and nothing else, whole or not at all."""
    with lock_of_file(path):
        try:
            data, mode = read_private_file(path)
            text = data.decode()
        except FileNotFoundError:
            text, mode = "", 0o600
        except UnicodeDecodeError as error:
            raise JsonError(1, say("it isn't UTF-8 ({reason})", reason=error.reason)) from error
        write_private_file(path, with_values(text, "model", values).encode(), mode=mode)
