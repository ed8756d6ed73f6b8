"""Which model answers: the provider that was set, else the one a key or a name tells, else the offline model.

A profile has a name of its own: `--model fast` takes what the settings say of `fast` in `model.profiles`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from dogu.app.credentials import KEYRING, key_in_keyring
from dogu.language import say
from dogu.models import providers
from dogu.models.key import Key
from dogu.models.providers import Choice, Provider
from dogu.settings import ModelSettings, SettingsError
from dogu.settings.keys import KEYS
from dogu.settings.values import ValueProblem

if TYPE_CHECKING:
    from dogu.models.model import Model
    from dogu.models.options import ModelOptions
    from dogu.models.transport_errors import HearHeaders


def open_model(
    settings: ModelSettings, environ: Mapping[str, str] = os.environ, hear_headers: HearHeaders | None = None
) -> Model:
    """Make the model. Nothing is connected until it is asked, and what is missing is told then.

    `hear_headers` is told the headers of each answer.
    """
    provider = provider_of(settings, environ)
    return provider.open(
        Choice(
            name=settings.name or provider.default_model,
            base_url=provider.address(settings.base_url, environ),
            key=key_of(provider, settings, environ),
            options=_options_of(settings, hear_headers),
            environ=environ,
        )
    )


def account_of(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> str:
    """Name what a provider counts requests by, its address and a key, without telling the key."""
    provider = provider_of(settings, environ)
    address, key = provider.address(settings.base_url, environ), provider.key(settings.api_key, environ)
    return hashlib.sha256(msgspec.json.encode((provider.name, address, key))).hexdigest()[:16]


def _options_of(settings: ModelSettings, hear_headers: HearHeaders | None) -> ModelOptions:
    from dogu.models.options import ModelOptions
    from dogu.models.retry import RetryPolicy
    from dogu.models.transport_errors import Timeouts

    wait_s = settings.timeout_s
    return ModelOptions(
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        max_output_tokens=settings.max_output_tokens,
        effort=settings.effort,
        headers=settings.headers,
        body=settings.body,
        proxy=settings.proxy,
        timeouts=Timeouts.of(wait_s) if wait_s else None,
        hear_headers=hear_headers,
        retry=RetryPolicy(tries=settings.tries, retry_for_s=settings.retry_for_s),
    )


def provider_of(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Provider:
    """Return the provider that was set, or that is meant."""
    if settings.name == "offline":
        return providers.OFFLINE
    if settings.provider:
        return providers.named(settings.provider) or providers.OFFLINE
    if environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true"):
        return providers.VERTEX
    owner = providers.of_model(settings.name)
    if owner is not None:
        return owner
    if settings.api_key or providers.GEMINI.key("", environ):
        return providers.GEMINI
    return next(
        (each for each in providers.PROVIDERS if each.default_model and each.key("", environ)), providers.OFFLINE
    )


def is_connected(settings: ModelSettings) -> bool:
    """Whether a model answers that was meant to; the offline one, where it isn't, plays one for who looks on."""
    return provider_of(settings) is not providers.OFFLINE or settings.name == providers.OFFLINE.name


def key_of(provider: Provider, settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Key:
    """Return the key for a provider; one in the keyring is looked up when it is needed."""
    given = provider.key(settings.api_key, environ)
    return Key(given, key_in_keyring if given.startswith(KEYRING) else None, (*provider.key_names, "model.apiKey")[0])


_KEY = "model.profiles"
# What a profile may say: the keys of `model` that are about one model, and the fields they become.
_FIELDS = {
    "name": "name",
    "provider": "provider",
    "baseUrl": "base_url",
    "apiKey": "api_key",
    "contextWindow": "context_window_tokens",
    "effort": "effort",
    "temperature": "temperature",
    "topP": "top_p",
    "seed": "seed",
    "maxOutputTokens": "max_output_tokens",
    "headers": "headers",
    "body": "body",
    "proxy": "proxy",
    "timeout": "timeout_s",
    "tries": "tries",
    "retryFor": "retry_for_s",
}
_OF_ONE_PROVIDER: dict[str, object] = {"provider": "", "base_url": "", "api_key": "", "headers": {}, "body": {}}


def with_profile(model: ModelSettings) -> ModelSettings:
    """Return the settings of the profile that the model's name is, above the others; else as they are.

    A profile with a provider or an address of its own takes neither the others' key nor their headers along. Raises
    `SettingsError` for a profile that can't be understood.
    """
    profile = model.profiles.get(model.name)
    if profile is None:
        return model
    converters = {key.name: key.convert for key in KEYS}
    moved = profile.keys() & {"provider", "baseUrl"}
    fields: dict[str, object] = {"name": "", **(_OF_ONE_PROVIDER if moved else {})}
    for name, value in profile.items():
        if name not in _FIELDS:
            message = say("takes {choices} in a profile, not {value}", choices=", ".join(_FIELDS), value=name)
            raise SettingsError("settings", 0, f"{_KEY}.{model.name}", message)
        try:
            fields[_FIELDS[name]] = converters[f"model.{name}"](value)
        except ValueProblem as problem:
            raise SettingsError("settings", 0, f"{_KEY}.{model.name}.{name}", str(problem)) from problem
    return msgspec.structs.replace(model, **fields)
