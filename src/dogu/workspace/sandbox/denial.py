"""Whether a command failed because of the sandbox, as far as its output tells."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from dogu.language import told

_SIGNATURE = re.compile(
    r"^.*(?:permission denied|operation not permitted|read-only file system|device or resource busy|cross-device link|"
    r"\beacces\b|\beperm\b|\berofs\b).*$",
    re.IGNORECASE | re.MULTILINE,
)
_NETWORK_SIGNATURE = re.compile(
    r"^.*(?:network is unreachable|could not resolve|name resolution|name or service not known|"
    r"getaddrinfo|\benetunreach\b|\beai_again\b|no route to host|socket: operation not permitted).*$",
    re.IGNORECASE | re.MULTILINE,
)
_MISSING = re.compile(r"^.*(?:no such file or directory|\benoent\b).*$", re.IGNORECASE | re.MULTILINE)
_PATH = re.compile(r"""['"‘`](?P<quoted>[^'"’`\n]+)['"’`]|(?P<plain>(?:~|\.\.|/)[^\s:'"]*)""")
_LONGEST_LINE_CHARS = 200
_MOST_HOSTS = 10


def sentence(output: str, *, network: str = "") -> str:
    """Return a sentence for model and user when output holds what a sandbox's refusal looks like, else "".

    A guess: the system says the same of files that nobody may touch. `network` says what is reached, where that isn't
    everything.
    """
    for pattern in [_SIGNATURE, _NETWORK_SIGNATURE] if network else [_SIGNATURE]:
        match = pattern.search(output)
        if match:
            line = match[0].strip()[:_LONGEST_LINE_CHARS]
            if not network:
                return told(
                    "The sandbox may have refused a part of this ({line}): inside it, commands write "
                    "only to the project and a temporary folder of their own, and read only tools "
                    "and caches in the home folder.",
                    line=line,
                )
            return told(
                "The sandbox may have refused a part of this ({line}): inside it, commands write "
                "only to the project and a temporary folder of their own, and read only tools and "
                "caches in the home folder. Network: {network}.",
                line=line,
                network=network,
            )
    return ""


def hidden_sentence(output: str, directory: str, roots: Sequence[str]) -> str:
    """Say which place that output calls missing is there, outside of the roots; "" where none is."""
    for line in _MISSING.finditer(output):
        for match in _PATH.finditer(line[0]):
            path = os.path.normpath(os.path.join(directory, os.path.expanduser(match["quoted"] or match["plain"])))
            if os.path.lexists(path) and not any(path == root or path.startswith(f"{root}/") for root in roots):
                return told(
                    "The sandbox hides {path}: inside it, commands see the project, the system and "
                    "its tools, and nothing else in the home folder (tools.sandboxReadablePaths).",
                    path=path,
                )
    return ""


def hosts_sentence(refused: Sequence[str], network: str) -> str:
    """Say which hosts the sandbox refused; `network` says what is reached."""
    shown = ", ".join(refused[:_MOST_HOSTS])
    if len(refused) > _MOST_HOSTS:
        shown = told("{hosts} and {count} more", hosts=shown, count=len(refused) - _MOST_HOSTS)
    return told(
        "The sandbox refused connections to {hosts}. Network: {network} (tools.sandboxAllowedHosts).",
        hosts=shown,
        network=network,
    )
