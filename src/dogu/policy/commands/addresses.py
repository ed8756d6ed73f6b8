"""Which server an address names, as the programs that fetch read it: curl's globs, short numbers, letters of others."""

from __future__ import annotations

import re
from ipaddress import ip_address

from dogu.policy.commands.patterns import is_a

_HOST = re.compile(
    r"(?:https?://)?(?:[^/?#\\]*@)?(\[[^\]]*\]|[^/?#:\\]*)(?::\d*)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL
)
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?|")
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+))*\.?")
_KEEPS_SECRETS = frozenset(("metadata", "instance-data"))


def is_web_address(text: str, *, is_whole: bool = True) -> bool:
    """Whether it is plainly the address of a web server, and none where clouds hand out a machine's keys.

    `is_whole`: its end is known, too.
    """
    if not is_a("url", text):
        return False
    match = _HOST.fullmatch(text)
    return match is not None and _is_plain_host(match[1], is_whole=is_whole)


def _is_plain_host(host: str, *, is_whole: bool) -> bool:
    if host.startswith("["):
        return host.endswith("]") and _is_plain_number(host[1:-1])
    if not host:
        return not is_whole
    if _NAME.fullmatch(host) is None:  # `{169}.254`, `[1-1]69`, `%31`, letters that stand for digits
        return False
    if _NUMBERS.fullmatch(host):
        return _is_plain_number(host.removesuffix("."))
    labels = host.lower().split(".")
    return labels[0] not in _KEEPS_SECRETS and not host.startswith("169.254.")


def _is_plain_number(text: str) -> bool:
    """Whether it is an address in the one spelling that everyone writes, and not one where secrets are kept."""
    from dogu.workspace.sandbox.hosts import is_metadata

    try:
        ip_address(text)
    except ValueError:
        return False
    return text in ("0.0.0.0", "::") or not is_metadata(text)
