"""Which hosts a sandboxed command may reach: names and networks as a user lists them, and what a name may stand for.

Pure. A name in the list doesn't open private addresses: who owns the name says what it resolves to. They must be listed
as addresses (`10.0.0.0/8`); `localhost` alone stands for what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec

from dogu.language import told

_NAME = re.compile(r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_WITH_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d{1,5}))?")
_TRANSLATED = IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"))
)


class _Entry(msgspec.Struct, frozen=True):
    name: str = ""  # lower case, `*.` for the names below
    network: IPv4Network | IPv6Network | None = None
    port: int | None = None


class AllowedHosts:
    """A list of hosts: `example.com`, `*.example.com`, `example.com:443`, `10.0.0.0/8`, `[::1]:80`."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Read the entries. Raises `ValueError` naming the one that isn't understood."""
        self.written = tuple(entries)
        self._entries = tuple(_read(entry) for entry in self.written)

    def allows(self, host: str, port: int) -> bool:
        """Whether a request may name this host; its addresses are judged by `allowed_addresses`."""
        address = _address(host)
        if address is not None:
            return self._lists_address(address, port)
        name = plain_name(host)
        return any(each.name and _fits(each, port) and _names(each.name, name) for each in self._entries)

    def allowed_addresses(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return those of a host's addresses that may be connected to: public ones, or listed ones."""
        is_this_machine = plain_name(host) == "localhost"
        found = [(text, ip_address(text.partition("%")[0])) for text in addresses]
        return [
            text
            for text, address in found
            if self._lists_address(address, port) or (address.is_loopback if is_this_machine else is_public(address))
        ]

    def _lists_address(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        return any(each.network is not None and _fits(each, port) and address in each.network for each in self._entries)

    @property
    def names_this_machine(self) -> bool:
        """Whether anything in the list is this machine itself: then commands must ask the proxy for it too."""
        loopback = [each for each in self._entries if each.network is not None and each.network.is_loopback]
        return bool(loopback) or any(each.name == "localhost" for each in self._entries)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one of the open internet; what carries an IPv4 address counts as that."""
    address = _inner(address)
    return address.is_global and not address.is_multicast and not address.is_reserved


def is_metadata(address: str) -> bool:
    """Whether an address (text) is a link's own, or where clouds hand out a machine's keys: never reached."""
    found = _inner(ip_address(address.partition("%")[0]))
    return found.is_link_local or found.is_multicast or found.is_unspecified or found in _METADATA


def is_this_machine(address: str) -> bool:
    """Whether an address (text) is of the loopback: a sandbox has its own."""
    return _inner(ip_address(address.partition("%")[0])).is_loopback


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An address, or the IPv4 address that it carries."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def is_host(host: str) -> bool:
    """Whether it is an address, or what a name may be: no other text is looked up, or shown to whoever is asked."""
    return _address(host) is not None or _NAME.fullmatch(plain_name(host)) is not None


def plain_name(host: str) -> str:
    """Return a name as names are compared: lower case, without the root's dot, in its form for the wire."""
    name = host.removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            return ""
    return name.lower()


def split_host(text: str, default_port: int | None = None) -> tuple[str, int | None]:
    """Return (host, port) of `host`, `host:port` or `[address]:port`. Raises `ValueError`."""
    if _address(text) is not None and text.count(":") > 1:
        return text, default_port
    match = _WITH_PORT.fullmatch(text)
    if match is None:
        raise ValueError(told("{text!r} names no host", text=text))
    port = int(match["port"]) if match["port"] else default_port
    if port is not None and not 0 < port < 65_536:
        raise ValueError(told("{text!r} names no port", text=text))
    return match["host"].removeprefix("[").removesuffix("]"), port


def _read(entry: str) -> _Entry:
    if "/" in entry:
        try:
            return _Entry(network=ip_network(entry))
        except ValueError as error:
            raise ValueError(
                told("{entry!r} isn't a network such as 10.0.0.0/8, and no host's name holds a slash", entry=entry)
            ) from error
    host, port = split_host(entry)
    address = _address(host)
    if address is not None:
        return _Entry(network=ip_network(address), port=port)
    name = plain_name(host)
    if not _NAME.fullmatch(name):
        raise ValueError(
            told("{entry!r} isn't a host such as example.com, *.example.com or example.com:443", entry=entry)
        )
    return _Entry(name, port=port)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _fits(entry: _Entry, port: int) -> bool:
    return entry.port is None or entry.port == port


def _names(entry: str, name: str) -> bool:
    if entry.startswith("*."):
        return name.endswith(entry[1:]) and len(name) > len(entry) - 1
    return name == entry
