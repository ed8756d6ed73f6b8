"""What keeps git from running the programs that a repository's own settings name, until its folder is trusted.

`git status` runs a repository's monitor and filters, `git diff` its programs for differences: a command that only looks
must be harmless. Source: git-config(1), GIT_CONFIG_COUNT; gitattributes(5).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence

_OFF = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null", "protocol.ext.allow": "never"}
_PLAIN_DIFF = 'f() { diff -u -- "$2" "$5"; :; }; f'
# A setting that names a program, by its key in lower case, and what it is instead. First match.
_INSTEAD: tuple[tuple[str, str], ...] = (
    (r"filter\..*\.required", "false"),
    (r"filter\..*\.(?:clean|smudge|process)|diff\..*\.textconv", ""),
    (r"diff\..*\.command|diff\.external", _PLAIN_DIFF),
    (r"merge\..*\.driver", "false"),
    (r"core\.sshcommand", "ssh"),
    (r"core\.pager|pager\..*", "cat"),
    (r"core\.editor|sequence\.editor", "false"),
    (r"gpg\.program|gpg\.openpgp\.program", "gpg"),
    (r"gpg\.ssh\.program", "ssh-keygen"),
    (r"gpg\.x509\.program", "gpgsm"),
    (r"remote\..*\.uploadpack", "git-upload-pack"),
    (r"remote\..*\.receivepack", "git-receive-pack"),
    (r"alias\..*|credential\..*helper|core\.(?:askpass|gitproxy|alternaterefscommand)|uploadpack\.packobjectshook", ""),
    (r"(?:difftool|mergetool|browser|man|guitool|interactive|trailer|tar)\..*\.?(?:cmd|path|command|difffilter)", ""),
)
_TAKES_S = 5.0


class GitPrograms:
    """Keeps what the roots' repositories name, as long as their settings stay the same."""

    def __init__(self, roots: Sequence[str], *, is_trusted: bool) -> None:
        self._roots = roots
        self._is_trusted = is_trusted
        self._known: dict[str, tuple[object, tuple[str, ...]]] = {}

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make git harmless here; `environment` is what git is asked with."""
        settings = {"safe.bareRepository": "explicit"}
        if not self._is_trusted:
            settings |= _OFF
            for root in self._roots:
                settings |= _instead_of(self._keys(root, environment))
        numbered = list(enumerate(settings.items()))
        return {
            "GIT_CONFIG_COUNT": str(len(numbered)),
            **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered},
            **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
        }

    def _keys(self, root: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        seen = tuple(map(_signature, (os.path.join(root, ".git", name) for name in ("config", "config.worktree"))))
        if not os.path.lexists(os.path.join(root, ".git")):
            return ()
        known = self._known.get(root)
        if known is None or known[0] != seen:
            known = (seen, _keys_of(root, environment))
            self._known[root] = known
        return known[1]


def _keys_of(root: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys of a repository's own settings, included files among them; listing them runs nothing."""
    command = ["git", "-C", root, "config", "--includes", "--list", "--name-only", "--show-scope", "-z"]
    try:
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, timeout=_TAKES_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    fields = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return tuple(dict.fromkeys(key for scope, key in pairs if scope in ("local", "worktree")))


def _instead_of(keys: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in keys:
        instead = next((value for pattern, value in _INSTEAD if re.fullmatch(pattern, key, re.IGNORECASE)), None)
        if instead is not None:
            found[key] = instead
    return found


def _signature(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
