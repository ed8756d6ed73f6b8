"""The user's key for a provider, as it was pasted: in the system's keyring, or in a file only they can read."""

from __future__ import annotations

import os

import msgspec

from dogu.models.providers import GEMINI, named, of_model
from dogu.settings import Settings
from dogu.workspace import system_keyring
from dogu.workspace.private_file import changing_json, read_json
from dogu.workspace.system_keyring import NoKeyringError

KEYRING = "keyring:"
"""What stands for a key that is in the keyring, followed by the provider: it is looked up when it is needed."""


class _Kept(msgspec.Struct, omit_defaults=True):
    key: str = ""
    is_in_keyring: bool = False


def with_kept_key(settings: Settings, state_folder: str) -> Settings:
    """Return the settings with the key that was kept, where neither they nor the environment have one."""
    model = settings.model
    provider = named(model.provider) if model.provider else of_model(model.name) or GEMINI
    if model.api_key or provider is None or provider.key("", os.environ):
        return settings
    key = kept_key(state_folder, provider.name)
    return msgspec.structs.replace(settings, model=msgspec.structs.replace(model, api_key=key)) if key else settings


def kept_key(state_folder: str, provider: str) -> str:
    """Return the key kept for a provider, or `KEYRING` and its name; '' when there is none."""
    kept = read_json(_path(state_folder), dict[str, _Kept]).get(provider)
    if kept is None:
        return ""
    return f"{KEYRING}{provider}" if kept.is_in_keyring else kept.key


def key_in_keyring(reference: str) -> str:
    """Return what `KEYRING` and a provider's name stand for; '' when the keyring hasn't it. It may ask the user."""
    try:
        return system_keyring.load(reference.removeprefix(KEYRING))
    except NoKeyringError:
        return ""


def keep_key(state_folder: str, provider: str, key: str) -> str:
    """Keep a key; return where: `keyring`, or the file's path. Raises `OSError` when neither takes it."""
    try:
        system_keyring.store(provider, key)
        in_keyring = True
    except NoKeyringError:
        in_keyring = False
    path = _path(state_folder)
    with changing_json(path, dict[str, _Kept]) as kept:
        kept[provider] = _Kept(is_in_keyring=True) if in_keyring else _Kept(key)
    return "keyring" if in_keyring else path


def _path(state_folder: str) -> str:
    return os.path.join(state_folder, "credentials")
