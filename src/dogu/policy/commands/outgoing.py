"""What goes to another machine, or is asked of it: kinds of values that are addresses, or that are sent.

An address names the server that the programs which fetch read in it: curl's globs, short numbers, letters of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address

from dogu.language import told
from dogu.policy.commands.effects import Effect, Surroundings
from dogu.policy.commands.patterns import is_a
from dogu.policy.commands.places import Finding, leads_outside, no_known_value
from dogu.workspace.protected import secret_reason
from dogu.workspace.shell_syntax import Word

_REMOTE_HELPER = re.compile(r"(?:-[^=]*=)?\w[\w+.-]*::")
_HOST = re.compile(
    r"(?:https?://)?(?:[^/?#\\]*@)?(\[[^\]]*\]|[^/?#:\\]*)(?::\d*)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL
)
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?|")
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+))*\.?")
_NAMES_AN_ADDRESS = re.compile(r"(?i)(?:^|\.)(?:(?:nip|sslip|xip)\.io|traefik\.me|rbndr\.us|1u\.ms)\.?$")
_NAMES_THIS_MACHINE = re.compile(r"(?i)(?:^|[.-])127[.-]0[.-]0[.-]1\.[a-z]+\.[a-z]+\.?$")
_OF_THIS_MACHINE = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?]|$)")
_KEEPS_SECRETS = frozenset(("metadata", "instance-data"))


def _url(word: Word) -> Finding | None:
    known = word.value if word.value is not None else word.text if word.is_plain else word.prefix or "x"
    if not _is_web_address(known, is_whole=word.value is not None):
        return Effect.REACHES, told("{address} isn't a web server's address", address=word.text[:40])
    return None


def _asked(word: Word) -> Finding | None:
    """A word of httpie: how it asks, a header, a part of the question, or where; none that sends or is a file."""
    if is_a("asked", word.value):
        return None
    if re.match(r":\d|:/", word.text):  # this machine
        return None
    is_address = re.match(r"(?i)https?://|localhost|[\w-]+:\d", word.prefix or "") is not None
    return _url(word) if is_address else (Effect.REACHES, no_known_value(word))


def goes_to_this_machine(word: Word) -> bool:
    """Whether an address is this machine's own, whatever stands behind its host."""
    match = _OF_THIS_MACHINE.match(word.prefix)
    return match is not None and (word.value is not None or match.end() < len(word.prefix) or match[0][-1] in "/?")


def check_loopback(word: Word) -> Finding | None:
    """Say why an address isn't this machine's own."""
    return None if is_a("loopback", word.value) else (Effect.REACHES, told("sends data"))


def check_no_address(word: Word) -> Finding | None:
    """Say why a word looks as if it named another machine, to a program of which nothing is known."""
    is_elsewhere = is_a("elsewhere", word.value) and not is_a("loopback", word.value)
    return (Effect.REACHES, no_known_value(word)) if is_elsewhere else None


def _sent(word: Word) -> Finding | None:
    """A file whose text is sent: of the project, and none that holds secrets by its name."""
    if word.value == "-":
        return None
    if word.value is None or leads_outside(word) or secret_reason(word.value) is not None:
        return Effect.REACHES, told("it sends {path}", path=word.text[:40])
    return None


def _header(word: Word) -> Finding | None:
    is_file = (word.value is None and not word.prefix) or word.text.startswith("@")
    return (Effect.REACHES, told("sends data")) if is_file else None


def _query(word: Word) -> Finding | None:
    """A part of an address: `NAME=TEXT`, or a file's text behind an `@`."""
    known = word.value if word.value is not None else word.prefix
    is_file = "@" in known.partition("=")[0] or (word.value is None and "=" not in known)
    return (Effect.REACHES, told("sends data")) if is_file else None


def _repository(word: Word) -> Finding | None:
    if _REMOTE_HELPER.match(word.text) or "://-" in word.text:
        return Effect.RUNS, told("the address names a program to run")
    return None


def check_remote(word: Word, around: Surroundings) -> Finding | None:
    """Where git pushes to: a remote's usual name, and no folder that bears it, whose hooks would be run."""
    if is_a("remote", word.value) and around.is_free(word.text) and around.is_free(f"{word.text}.git"):
        return None
    return Effect.REACHES, no_known_value(word)


def _image(word: Word) -> Finding | None:
    """An image of a well-known registry, or of this machine."""
    if is_a("image", word.value if word.value is not None else f"{word.prefix}x"):
        return None
    return Effect.REACHES, no_known_value(word)


def _cookie(word: Word) -> Finding | None:
    return None if "=" in word.text else (Effect.REACHES, told("sends data"))


def _curl_format(word: Word) -> Finding | None:
    if word.value is None or "%output{" in word.value or word.value.startswith("@"):
        return Effect.WRITES, told("writes a file, or what a file says")
    return None


def _is_web_address(text: str, *, is_whole: bool = True) -> bool:
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
    if _NAMES_AN_ADDRESS.search(host) and not _NAMES_THIS_MACHINE.search(host):
        return False
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


CHECKS: dict[str, Callable[[Word], Finding | None]] = {
    "url": _url,
    "asked": _asked,
    "loopback": check_loopback,
    "header": _header,
    "query": _query,
    "sent": _sent,
    "repository": _repository,
    "image": _image,
    "cookie": _cookie,
    "curl_format": _curl_format,
}
