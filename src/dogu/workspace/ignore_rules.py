"""The lines of one ignore file, compiled; and a screen that tells quickly which names no line can concern.

Paths here are relative to the folder of the ignore file. Source: gitignore(5); git's dir.c.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from dogu.workspace.ignore_pattern import (
    Matcher,
    NeverMatchesError,
    Token,
    byte_view,
    has_wildcard,
    regex_of,
    tokens_of,
)

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Rule:
    """One line. `matches` takes the last part of a path when `on_name`, else the whole path."""

    negated: bool
    folders_only: bool
    on_name: bool
    matches: Matcher


class RuleSet:
    """An ignore file's rules; the last one that matches decides."""

    def __init__(self, data: bytes) -> None:
        self._rules: list[Rule] = []
        self.names: set[str] = set()
        self.extensions: set[str] = set()
        self.suffixes: set[str] = set()
        self.name_regexes: list[str] = []
        self.names_in: dict[str, set[str]] = {}
        self._folder_matchers: list[Matcher] = []
        for line in _lines(data):
            self._add(line)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def decide(self, name: str, path: str, is_folder: bool) -> bool | None:
        """Tell whether the entry is ignored, re-included (False) or not concerned (None)."""
        for rule in reversed(self._rules):
            if rule.folders_only and not is_folder:
                continue
            if rule.matches(name if rule.on_name else path):
                return not rule.negated
        return None

    def concerns_all_in(self, folder: str) -> bool:
        """Tell whether a rule with wildcards and slashes may match entries of `folder` (`a/b/`, or empty)."""
        return any(matches(folder) for matches in self._folder_matchers)

    def _add(self, line: bytes) -> None:
        negated = line.startswith(b"!")
        glob = line[negated:]
        folders_only = glob.endswith(b"/")
        glob = glob[: len(glob) - folders_only]
        on_name = b"/" not in glob
        # `**/name` says the same as `name`, which is cheaper.
        while glob.startswith(b"**/") and b"/" not in glob[3:].removeprefix(b"**/"):
            glob = glob[3:]
            on_name = True
        matches = self._name_matcher(glob) if on_name else self._path_matcher(glob.removeprefix(b"/"))
        if matches is not None:
            self._rules.append(Rule(negated, folders_only, on_name, matches))

    def _name_matcher(self, glob: bytes) -> Matcher | None:
        view = glob.decode("latin-1")
        if not has_wildcard(view):
            return self._literal_name(os.fsdecode(glob))
        if glob.isascii() and view.startswith("*") and not has_wildcard(view[1:]):
            return self._suffix(view[1:])
        try:
            regex = regex_of(tokens_of(view))
        except NeverMatchesError:
            return None
        self.name_regexes.append(regex)
        return _on_bytes(regex)

    def _literal_name(self, literal: str) -> Matcher | None:
        if not literal:
            return None
        self.names.add(literal)
        return literal.__eq__

    def _suffix(self, suffix: str) -> Matcher:
        is_extension = suffix.startswith(".") and "." not in suffix[1:]
        (self.extensions if is_extension else self.suffixes).add(suffix)
        return lambda name: name.endswith(suffix)

    def _path_matcher(self, glob: bytes) -> Matcher | None:
        view = glob.decode("latin-1")
        if not has_wildcard(view):
            literal = os.fsdecode(glob)
            folder, slash, name = literal.rpartition("/")
            self.names_in.setdefault(folder + slash, set()).add(name)
            return literal.__eq__
        try:
            tokens, odd = _path_tokens(view)
        except NeverMatchesError:
            return None
        self._folder_matchers.append(_any_folder if odd else _on_bytes(regex_of(_folder_tokens(tokens))))
        return _on_bytes(regex_of(tokens))


def _any_folder(_folder: str) -> bool:
    return True


def _on_bytes(regex: str) -> Matcher:
    matches = re.compile(regex, re.DOTALL).match
    return lambda name: matches(byte_view(name))


def _lines(data: bytes) -> Iterable[bytes]:
    for line in data.removeprefix(_BOM).split(b"\n"):
        if not line or line.startswith(b"#"):
            continue
        trimmed = _without_trailing_blanks(line.removesuffix(b"\r").split(b"\0")[0])
        if trimmed:
            yield trimmed


def _without_trailing_blanks(line: bytes) -> bytes:
    """Drop final spaces but for one that a backslash escapes."""
    trimmed = line.rstrip(b" ")
    backslashes = len(trimmed) - len(trimmed.rstrip(b"\\"))
    return line[: len(trimmed) + 1] if backslashes % 2 and len(trimmed) < len(line) else trimmed


def _path_tokens(glob: str) -> tuple[list[Token], bool]:
    """Tokens as git sees them: it compares the literal beginning first, so a `**` right behind it counts as one that
    begins a folder's name. The second value tells of that case."""
    start = 0
    while start < len(glob) and not has_wildcard(glob[start]):
        start += 1
    literal = [Token("literal", character) for character in glob[:start]]
    rest = tokens_of(glob[start:])
    odd = start > 0 and glob[start - 1] != "/" and bool(rest) and rest[0].kind in ("globstar", "rest")
    return literal + rest, odd


def _folder_tokens(tokens: list[Token]) -> list[Token]:
    """Tokens of the folders whose entries the pattern may match."""
    if tokens[-1].kind == "rest":
        return tokens
    for at in range(len(tokens) - 1, -1, -1):
        if tokens[at].kind == "globstar" or tokens[at] == Token("literal", "/"):
            return tokens[: at + 1]
    return []


@lru_cache(maxsize=512)
def compiled(data: bytes) -> RuleSet:
    """Return the rules in the bytes of an ignore file."""
    return RuleSet(data)


class Screen:
    """What the rules of several files can concern by name alone, in every folder they hold in."""

    def __init__(self, rule_sets: Iterable[RuleSet]) -> None:
        sets = list(rule_sets)
        self._names = frozenset[str]().union(*(rules.names for rules in sets))
        self._extensions = frozenset[str]().union(*(rules.extensions for rules in sets))
        self._suffixes = tuple(sorted({suffix for rules in sets for suffix in rules.suffixes}))
        regexes = [regex for rules in sets for regex in rules.name_regexes]
        self._regex = re.compile("|".join(f"(?:{regex})" for regex in regexes), re.DOTALL).match if regexes else None

    def suspects(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that a rule may concern."""
        literal, extensions, suffixes, regex = self._names, self._extensions, self._suffixes, self._regex
        if regex is None and not suffixes:
            return [name for name in names if name in literal or name[name.rfind(".") :] in extensions]
        return [
            name
            for name in names
            if name in literal
            or name[name.rfind(".") :] in extensions
            or (suffixes and name.endswith(suffixes))
            or (regex is not None and regex(byte_view(name)))
        ]
