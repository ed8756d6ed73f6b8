"""What of a git repository's own files starts programs: which settings name none, which places git reads none from.

Lists of what is harmless, since what starts something are dozens of settings and places, and they grow. Pure.
Source: git-config(1), gitrepository-layout(5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum

_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|"
    r"eol|safecrlf|abbrev|quotepath|sparsecheckout|sparsecheckoutcone|untrackedcache|preloadindex)"
    r"|extensions\.(?:objectformat|partialclone|worktreeconfig|refstorage)"
    r"|user\.(?:name|email)|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|fetch\.prune"
    r"|(?:branch\..*\.(?:remote|merge|rebase|description|vscode-merge-base))|remote\.pushdefault"
    r"|remote\..*\.(?:fetch|push|tagopt|prune|promisor|partialclonefilter|mirror)"
    r"|submodule\.(?:active|recurse)|submodule\..*\.active"
)
# Places in `.git`; a submodule's and a worktree's lie deeper.
_SETTINGS = r"(?:.+/)?(?:config|config\.worktree|modules\.config)"
_LINK = r"worktrees/[^/]+/commondir"
_TODO = r"(?:.+/)?(?:rebase-merge/git-rebase-todo(?:\.backup)?|rebase-merge/done|sequencer/todo)"
_STARTS = (
    r"(?:modules/.+/)?(?:hooks|hooks/.+(?<!\.sample)|info/attributes|objects/info/(?:http-)?alternates)"
    r"|(?:.+/)?commondir"
)
_ORDINARY = (
    r"(?:modules/.+/)?(?:worktrees/[^/]+/)?(?:(?:objects|refs|logs|reftable|lfs|annex|svn|rr-cache|rebase-merge|"
    r"rebase-apply|sequencer|NOTES_MERGE_WORKTREE|filter-repo|fsmonitor--daemon)/.+|[A-Z][A-Z_]*|(?:sharedindex|index)(?:\..+)?|"
    r"packed-refs|shallow|description|gitdir|locked|gc\.\w+|info/(?:exclude|refs|grafts|sparse-checkout)|hooks/.+\.sample|"
    r"(?:.+/)?[\w.-]+\.lock|fsmonitor--daemon\.ipc|branches(?:/.+)?)"
)
_RUNS_A_LINE = rb"(?m)^\s*(?:exec|x)\b"
_ADDRESS = re.compile(r"remote\..*\.(?:url|pushurl)|submodule\..*\.url")
_STARTS_NOTHING = re.compile(r"(?:https?|ssh|git|file)://[^-].*|[\w.@-]+:(?!:).*|[./][^:]*|\w[^:]*")
_SECTION = re.compile(r"\[\s*(?P<name>[\w.-]+)\s*(?:\"(?P<sub>(?:[^\"\\]|\\.)*)\")?\s*\](?P<rest>.*)")


class Effect(Enum):
    """What a changed place in a repository does: nothing of its own, what isn't known, or start programs of its own."""

    NONE = "none"
    UNKNOWN = "unknown"
    STARTS = "starts"


def effect_of(inside: str, read: Callable[[], bytes], known: Iterable[bytes] = ()) -> Effect:
    """Say what a file does, by its path inside `.git`; its content is read only where that decides.

    `known` are the settings that the user's own repositories have: who copies them adds nothing.
    """
    if re.fullmatch(_SETTINGS, inside):
        new = read()
        own = {("core.worktree", place) for place in _submodule_places(new, inside)}
        return Effect.NONE if any(_adds_nothing(new, old, own) for old in (b"", *known)) else Effect.STARTS
    if re.fullmatch(_LINK, inside) and read().strip() == b"../..":
        return Effect.NONE
    if re.fullmatch(_TODO, inside):  # `rebase --exec` leaves its own lines here, so that they are told and stay
        return Effect.UNKNOWN if re.search(_RUNS_A_LINE, read()) else Effect.NONE
    if re.fullmatch(_STARTS, inside):
        return Effect.STARTS
    return Effect.NONE if re.fullmatch(_ORDINARY, inside) else Effect.UNKNOWN


def _adds_nothing(new: bytes, old: bytes, own: set[tuple[str, str]]) -> bool:
    """Whether all that `new` says beyond `old` is known to start nothing. What can't be read for certain isn't."""
    said, known = settings_in(new), settings_in(old)
    return said is not None and all(may_be_said(*entry) for entry in said - (known or set()) - own)


def _submodule_places(new: bytes, inside: str) -> set[str]:
    """Return where a submodule's settings say that its files lie, if that is a folder of the repository it is in."""
    if not inside.startswith("modules/"):
        return set()
    up = "../" * (inside.count("/") + 1)
    places = {value for key, value in settings_in(new) or () if key == "core.worktree" and value.startswith(up)}
    return {place for place in places if not {"..", "", ".git"} & {*place[len(up) :].lower().split("/")}}


def may_be_said(key: str, value: str) -> bool:
    """Whether a setting is known to start nothing."""
    if _ADDRESS.fullmatch(key):
        return bool(_STARTS_NOTHING.fullmatch(value)) and "::" not in value.partition("/")[0]
    return bool(_HARMLESS.fullmatch(key))


def settings_in(content: bytes) -> set[tuple[str, str]] | None:
    """Read (key, value) pairs, keys in lower case; None for a content that may mean something else to git."""
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
