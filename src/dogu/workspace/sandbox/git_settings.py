"""Which settings of a git repository name no program: what a new or changed `.git/config` may hold unasked.

A list of what is harmless, since git's settings that start something are dozens and grow. Pure.
Source: git-config(1).
"""

from __future__ import annotations

import re

_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|"
    r"eol|safecrlf|abbrev|quotepath|sparsecheckout|sparsecheckoutcone|untrackedcache|preloadindex)"
    r"|extensions\.(?:objectformat|partialclone|worktreeconfig|refstorage)"
    r"|user\.(?:name|email)|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|fetch\.prune"
    r"|(?:branch\..*\.(?:remote|merge|rebase|description|vscode-merge-base))|remote\.pushdefault"
    r"|remote\..*\.(?:fetch|push|tagopt|prune|promisor|partialclonefilter|mirror)"
    r"|submodule\.(?:active|recurse)|submodule\..*\.active"
)
_ADDRESS = re.compile(r"remote\..*\.(?:url|pushurl)|submodule\..*\.url")
_STARTS_NOTHING = re.compile(r"(?:https?|ssh|git|file)://[^-].*|[\w.@-]+:(?!:).*|[./][^:]*|\w[^:]*")
_SECTION = re.compile(r"\[\s*(?P<name>[\w.-]+)\s*(?:\"(?P<sub>(?:[^\"\\]|\\.)*)\")?\s*\](?P<rest>.*)")


def is_harmless(new: bytes, old: bytes = b"") -> bool:
    """Whether all that `new` says beyond `old` is known to start nothing. What can't be read for certain isn't."""
    said, known = _entries(new), _entries(old)
    return said is not None and all(_may_be_said(*entry) for entry in said - (known or set()))


def _may_be_said(key: str, value: str) -> bool:
    if _ADDRESS.fullmatch(key):
        return bool(_STARTS_NOTHING.fullmatch(value)) and "::" not in value.partition("/")[0]
    return bool(_HARMLESS.fullmatch(key))


def _entries(content: bytes) -> set[tuple[str, str]] | None:
    """Read (key, value) pairs, keys in lower case; None for what may mean something else to git."""
    found: set[tuple[str, str]] = set()
    section = ""
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        return None
    for line in map(str.strip, lines):
        if not line or line[0] in "#;":
            continue
        match = _SECTION.fullmatch(line)
        if match:
            section = match["name"].lower() + (f".{match['sub']}" if match["sub"] is not None else "")
            line = match["rest"].strip()
            if not line or line[0] in "#;":
                continue
        key, _, value = line.partition("=")
        if not section or line.endswith("\\"):
            return None
        found.add((f"{section}.{key.strip().lower()}", value.strip().strip('"')))
    return found
