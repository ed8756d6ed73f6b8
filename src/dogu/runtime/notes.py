"""Sentences for the user about what went wrong when a session was opened, or behind it since."""

from __future__ import annotations

from collections.abc import Iterable


class Notes:
    """Collects them. Whoever has something to tell is given this when it is made; doors show what is new."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self._notes = list(notes)

    def add(self, *notes: str) -> None:
        """Tell more."""
        self._notes += notes

    @property
    def all(self) -> tuple[str, ...]:
        """All that was told so far, in order."""
        return tuple(self._notes)
