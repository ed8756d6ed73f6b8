"""Secrets in the system's keyring: none is kept where the extra isn't installed or no keyring works. All block."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_SERVICE = "dogu"


class NoKeyringError(Exception):
    """There is none that works: it isn't installed, is locked with nobody there to unlock it, or writes plain text."""


def store(name: str, secret: str) -> None:
    """Keep a secret by a name. Raises `NoKeyringError`, also for a keyring that doesn't give it back."""
    with _opened() as keyring:
        backend = keyring.get_keyring()
        if backend.priority < 1 or type(backend).__module__.startswith("keyrings.alt"):  # none, or one in the clear
            raise NoKeyringError
        keyring.set_password(_SERVICE, name, secret)
        if keyring.get_password(_SERVICE, name) != secret:
            raise NoKeyringError


def load(name: str) -> str:
    """Return the secret of a name, '' when there is none; the system may ask its user. Raises `NoKeyringError`."""
    with _opened() as keyring:
        return keyring.get_password(_SERVICE, name) or ""


def remove(name: str) -> None:
    """Take a secret out. Raises `NoKeyringError`, also when there was none."""
    with _opened() as keyring:
        keyring.delete_password(_SERVICE, name)


@contextmanager
def _opened() -> Generator[Any]:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise NoKeyringError from error
    try:
        yield keyring
    except (KeyringError, OSError, RuntimeError) as error:
        raise NoKeyringError from error
