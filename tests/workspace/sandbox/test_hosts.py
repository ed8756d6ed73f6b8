"""Which hosts a list allows, and what a name in it may stand for."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from dogu.workspace.sandbox.hosts import AllowedHosts, is_public, plain_name, split_host


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("example.com", "example.com", 443),
        ("example.com", "EXAMPLE.com.", 80),
        ("*.example.com", "a.example.com", 443),
        ("*.example.com", "a.b.example.com", 443),
        ("example.com:443", "example.com", 443),
        ("localhost:3000", "localhost", 3000),
        ("127.0.0.1", "127.0.0.1", 1),
        ("10.0.0.0/8", "10.1.2.3", 5432),
        ("[::1]:80", "::1", 80),
        ("::1", "[::1]", 80),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("xn--bcher-kva.example", "bücher.example", 443),
        ("my_host", "my_host", 1),
    ],
)
def test_a_listed_host_is_allowed(entry: str, host: str, port: int) -> None:
    assert AllowedHosts([entry]).allows(host, port)


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("example.com", "www.example.com", 443),
        ("example.com", "example.com.evil.org", 443),
        ("example.com", "notexample.com", 443),
        ("example.com", "example.com@evil.org", 443),
        ("example.com", "example.com\x00.evil.org", 443),
        ("*.example.com", "example.com", 443),
        ("*.example.com", ".example.com", 443),
        ("*.example.com", "aexample.com", 443),
        ("example.com:443", "example.com", 80),
        ("127.0.0.1", "127.0.0.2", 80),
        ("127.0.0.1", "2130706433", 80),
        ("127.0.0.1", "0x7f.1", 80),
        ("localhost", "127.0.0.1", 80),
        ("10.0.0.0/8", "11.0.0.1", 80),
        ("example.com", "", 80),
    ],
)
def test_what_is_not_listed_is_refused(entry: str, host: str, port: int) -> None:
    assert not AllowedHosts([entry]).allows(host, port)


def test_a_name_opens_no_private_address() -> None:
    hosts = AllowedHosts(["example.com", "10.1.0.0/16"])
    addresses = ["93.184.216.34", "127.0.0.1", "10.0.0.1", "10.1.0.1", "::1", "fe80::1%eth0", "::ffff:127.0.0.1"]
    assert hosts.allowed_addresses("example.com", 443, addresses) == ["93.184.216.34", "10.1.0.1"]


def test_localhost_is_this_machine_and_nothing_else() -> None:
    hosts = AllowedHosts(["localhost:80"])
    assert hosts.allowed_addresses("localhost", 80, ["127.0.0.1", "::1", "10.0.0.1", "1.1.1.1"]) == ["127.0.0.1", "::1"]


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fc00::1",
        "fe80::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
    ],
)
def test_addresses_that_are_not_of_the_open_internet(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_addresses_of_the_open_internet(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "a..b", "https://example.com", "a b", "exa*mple.com", "a:0", "a:99999", "10.0.0.1/8", "a/8"],
)
def test_an_entry_that_is_not_understood_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match=r"no|isn't"):
        AllowedHosts([entry])


def test_names_are_compared_as_on_the_wire() -> None:
    assert plain_name("ExAmple.COM.") == "example.com"
    assert plain_name("bücher.example") == "xn--bcher-kva.example"
    assert plain_name("ä" * 70) == ""


def test_hosts_and_ports_are_told_apart() -> None:
    assert split_host("a:1") == ("a", 1)
    assert split_host("[::1]:2") == ("::1", 2)
    assert split_host("::1", 3) == ("::1", 3)
    assert split_host("a", 4) == ("a", 4)
    with pytest.raises(ValueError, match="no host"):
        split_host("a:b:c")
