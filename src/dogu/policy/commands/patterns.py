"""The patterns of `policy/patterns.toml`: what values may be, each compiled when it is first asked for."""

from __future__ import annotations

import os
import re
from functools import cache

import msgspec

from dogu.policy.commands.effects import EFFECTS, Effect

_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "patterns.toml")


class _Kind(msgspec.Struct, frozen=True):
    effect: str
    pattern: str


class _Variables(msgspec.Struct, frozen=True):
    names: str
    values: str


class _Patterns(msgspec.Struct, frozen=True):
    kinds: dict[str, _Kind]
    words: dict[str, str]
    variables: list[_Variables]


@cache
def _patterns() -> _Patterns:
    with open(_FILE, "rb") as file:
        return msgspec.toml.decode(file.read(), type=_Patterns)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return one of the `words`."""
    return re.compile(_patterns().words[name], re.VERBOSE)


def is_a(name: str, text: str | None) -> bool:
    """Whether the whole text is one of the `words`; what can't be known isn't."""
    return text is not None and pattern(name).fullmatch(text) is not None


@cache
def kind(name: str) -> tuple[re.Pattern[str], Effect] | None:
    """Return the pattern of a kind of values and the effect of others; None when it has no pattern."""
    found = _patterns().kinds.get(name)
    return None if found is None else (re.compile(found.pattern, re.VERBOSE), EFFECTS[found.effect])


@cache
def values_of(variable: str) -> list[re.Pattern[str]]:
    """Return what a variable may be set to: no pattern, nothing."""
    found = [each for each in _patterns().variables if re.fullmatch(each.names, variable, re.VERBOSE)]
    return [re.compile(each.values, re.VERBOSE) for each in found]
