"""Which addresses of the internet may be asked: the public ones, and what a user named.

What isn't plainly public is refused: private, loopback, link-local and shared networks, clouds' metadata, multicast,
documentation, and every form of IPv6 that carries an IPv4 address to a translator.

Source: the IANA special-purpose address registries (RFC 6890 and its additions).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_IPV4 = {
    "0.0.0.0/8": "this machine",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a carrier's shared network",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "a cloud's own services",  # Azure's, on a public address
    "169.254.0.0/16": "the local link, where clouds keep their metadata",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "reserved for documentation",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "a private network",
    "198.18.0.0/15": "reserved for measurements",
    "198.51.100.0/24": "reserved for documentation",
    "203.0.113.0/24": "reserved for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_GLOBAL_IPV6 = "2000::/3"
_IPV6 = {  # inside of 2000::/3, outside of which nothing is public
    "2001::/23": "reserved for protocols (Teredo among them)",
    "2001:db8::/32": "reserved for documentation",
    "2002::/16": "6to4, which carries an IPv4 address",
    "3fff::/20": "reserved for documentation",
}
_LOCAL_IPV6 = {
    "::1/128": "this machine",
    "::/128": "this machine",
    "::/96": "an IPv4 address in IPv6",
    "::ffff:0:0/96": "an IPv4 address in IPv6",
    "64:ff9b::/96": "NAT64, which carries an IPv4 address",
    "64:ff9b:1::/48": "NAT64, which carries an IPv4 address",
    "fc00::/7": "a private network",
    "fe80::/10": "the local link",
    "ff00::/8": "multicast",
}
_LINK_LOCAL = ("169.254.0.0/16", "fe80::/10", "168.63.129.16/32", "fd00:ec2::/32")
_ISATAP = re.compile("(?:0000|0200):5efe:....:....$")

_LOCAL_SUFFIXES = frozenset(
    "localhost local localdomain internal intranet lan home corp private svc cluster consul arpa".split()
)
_QUAD = re.compile(r"(?<![0-9])(\d{1,3})([.-])(\d{1,3})\2(\d{1,3})\2(\d{1,3})(?![0-9])")


def why_not_public(address: str) -> str:
    """Say what an IPv4 or IPv6 address is that isn't public ("a private network"); empty for a public one."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no plain address"
    if isinstance(parsed, IPv4Address):
        return _first(parsed, _IPV4)
    if parsed.scope_id is not None:
        return "the local link"
    if parsed not in _network(_GLOBAL_IPV6):
        return _first(parsed, _LOCAL_IPV6) or "not part of the public internet"
    if _ISATAP.search(parsed.exploded) and why_not_public(str(IPv4Address(int(parsed) & 0xFFFFFFFF))):
        return "ISATAP, which carries a private IPv4 address"
    return _first(parsed, _IPV6)


def is_link_local(address: str) -> bool:
    """Whether an address is on the local link or a cloud's own: not reached through a name, whoever allows the name."""
    parsed = ip_address(address.partition("%")[0])
    return any(parsed in _network(text) for text in _LINK_LOCAL)


def why_name_is_local(name: str) -> str:
    """Say why a host's name (ASCII, lower case, no dot at its end) can't be a public one; empty when it may be."""
    labels = name.split(".")
    if len(labels) == 1 and labels[0] not in _LOCAL_SUFFIXES:
        return "a name without a dot belongs to the local network"
    if labels[-1] in _LOCAL_SUFFIXES:
        return f".{labels[-1]} belongs to the local network"
    for match in _QUAD.finditer(name):
        quad = ".".join(str(int(match[group])) for group in (1, 3, 4, 5))
        reason = why_not_public(quad)
        if reason and reason != "no plain address":
            return f"the name stands for {quad}, {reason}"
    return ""


class HostRules:
    """Which hosts may be asked. `allowed` are names or addresses that a user set, in any letter case.

    An allowed name may be private, with one limit: it may not lead to the local link, where metadata are, unless that
    address itself is allowed.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(host.strip().strip("[]").rstrip(".").lower() for host in allowed)

    def allows(self, host: str) -> bool:
        """Whether a user named this host."""
        return host.lower() in self._allowed

    def why_host_is_refused(self, host: str) -> str:
        """Judge a name or address before anything is looked up; empty when it may be asked."""
        if self.allows(host):
            return ""
        if ":" in host or host.replace(".", "").isdigit():
            return why_not_public(host)
        return why_name_is_local(host)

    def why_address_is_refused(self, host: str, address: str) -> str:
        """Judge an address that a host's name led to; empty when it may be connected to."""
        reason = why_not_public(address)
        if not reason or self.allows(address):
            return ""
        if self.allows(host) and reason != "no plain address" and not is_link_local(address):
            return ""
        return reason


def _first(address: IPv4Address | IPv6Address, networks: dict[str, str]) -> str:
    return next((reason for network, reason in networks.items() if address in _network(network)), "")


@cache
def _network(text: str) -> IPv4Network | IPv6Network:
    return IPv6Network(text) if ":" in text else IPv4Network(text)
