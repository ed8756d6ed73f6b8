"""The lines of one ignore file, compiled; and a screen that tells quickly which names no line can concern.

Paths here are relative to the folder of the ignore file. Source: gitignore(5); git's dir.c.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from dogu.workspace.ignore.pattern import (
    Matcher,
    NeverMatchesError,
    Token,
    byte_view,
    has_wildcard,
    regex_of,
    tokens_of,
)

_BOM = b"\xef\xbb\xbf"


class _Rule(NamedTuple):
    """One line, by its place in the file."""

    at: int
    ignores: bool
    folders_only: bool


class _Wild(NamedTuple):
    """A rule that must be tried: `matches` takes the last part of a path when `on_name`, else the whole path."""

    rule: _Rule
    on_name: bool
    matches: Matcher


class RuleSet:
    """An ignore file's rules; the last one that matches decides."""

    def __init__(self, data: bytes) -> None:
        self.names: dict[str, list[_Rule]] = {}
        self.extensions: dict[str, list[_Rule]] = {}
        self.wild_names: list[tuple[str, Matcher]] = []
        self.names_in: dict[str, set[str]] = {}
        self._paths: dict[str, list[_Rule]] = {}
        self._wild: list[_Wild] = []
        self._wild_in: set[str] = set()
        self._wild_in_regexes: list[str] = []
        for at, line in enumerate(_lines(data)):
            self._add(at, line)
        self._wild.reverse()
        self._is_wild_in = _on_bytes("|".join(f"(?:{regex})" for regex in self._wild_in_regexes))

    def __bool__(self) -> bool:
        return bool(self.names or self.extensions or self._paths or self._wild)

    def decide(self, name: str, path: str, is_folder: bool) -> bool | None:
        """Whether the entry is ignored, re-included (False) or not concerned (None)."""
        last: _Rule | None = None
        extension = name[name.rfind(".") :]
        for rules in (self.names.get(name), self.extensions.get(extension), self._paths.get(path)):
            for rule in rules or ():
                if (is_folder or not rule.folders_only) and (last is None or rule.at > last.at):
                    last = rule
        for rule, on_name, matches in self._wild:
            if last is not None and rule.at < last.at:
                break
            if (is_folder or not rule.folders_only) and matches(name if on_name else path):
                return rule.ignores
        return None if last is None else last.ignores

    def concerns_all_in(self, folder: str) -> bool:
        """Whether a rule with wildcards and slashes may match entries of `folder` (`a/b/`, or empty)."""
        return folder in self._wild_in or (bool(self._wild_in_regexes) and self._is_wild_in(folder) is not None)

    def _add(self, at: int, line: bytes) -> None:
        negated = line.startswith(b"!")
        glob = line[negated:]
        folders_only = glob.endswith(b"/")
        glob = glob[: len(glob) - folders_only]
        on_name = b"/" not in glob
        glob = glob.removeprefix(b"/")
        # `**/name` says the same as `name`, which is cheaper.
        while glob.startswith(b"**/") and b"/" not in glob[3:].removeprefix(b"**/"):
            glob = glob[3:]
            on_name = True
        rule = _Rule(at, not negated, folders_only)
        try:
            if on_name:
                self._add_name(rule, glob)
            else:
                self._add_path(rule, glob)
        except NeverMatchesError:
            return

    def _add_name(self, rule: _Rule, glob: bytes) -> None:
        view = glob.decode("latin-1")
        if not has_wildcard(view):
            if glob:
                self.names.setdefault(os.fsdecode(glob), []).append(rule)
            return
        suffix = view[1:]
        is_suffix = glob.isascii() and view.startswith("*") and not has_wildcard(suffix)
        if is_suffix and suffix.startswith(".") and "." not in suffix[1:]:
            self.extensions.setdefault(suffix, []).append(rule)
            return
        tokens = tokens_of(view)
        matches: Matcher = (lambda name: name.endswith(suffix)) if is_suffix else _on_bytes(regex_of(tokens))
        self.wild_names.append((_needle(tokens), matches))
        self._wild.append(_Wild(rule, True, matches))

    def _add_path(self, rule: _Rule, glob: bytes) -> None:
        view = glob.decode("latin-1")
        if not has_wildcard(view):
            literal = os.fsdecode(glob)
            folder, slash, name = literal.rpartition("/")
            self.names_in.setdefault(folder + slash, set()).add(name)
            self._paths.setdefault(literal, []).append(rule)
            return
        tokens, odd = _path_tokens(view)
        self._note_folders([Token("rest")] if odd else _folder_tokens(tokens))
        self._wild.append(_Wild(rule, False, _on_bytes(regex_of(tokens))))

    def _note_folders(self, tokens: list[Token]) -> None:
        if all(token.kind == "literal" for token in tokens):
            literal = "".join(token.text for token in tokens)
            self._wild_in.add(os.fsdecode(literal.encode("latin-1")))
        else:
            self._wild_in_regexes.append(regex_of(tokens))


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


def _needle(tokens: list[Token]) -> str:
    """Return the longest text that must occur in `\\0name\\0` for the name to match; empty if none is known."""
    runs = [""]
    for token in [Token("literal", "\0"), *tokens, Token("literal", "\0")]:
        if token.kind == "literal" and token.text.isascii():
            runs[-1] += token.text
        else:
            runs.append("")
    return max((run for run in runs if run != "\0"), key=len, default="")


class Screen:
    """What the rules of several files can concern by name alone, in every folder they hold in."""

    def __init__(self, rule_sets: Iterable[RuleSet]) -> None:
        sets = list(rule_sets)
        self._names = frozenset[str]().union(*(rules.names for rules in sets))
        self._extensions = frozenset[str]().union(*(rules.extensions for rules in sets))
        self._wild = [wild for rules in sets for wild in rules.wild_names]

    def suspects(self, names: list[str]) -> list[str]:
        """Return those of `names` that a rule may concern; a name may come twice."""
        literal, extensions = self._names, self._extensions
        found = [name for name in names if name in literal or name[name.rfind(".") :] in extensions]
        # One look through all names at once spares most folders every wildcard.
        joined = "\0".join(["", *names, ""])
        for needle, matches in self._wild:
            if needle in joined:
                found += [name for name in names if matches(name)]
        return found
