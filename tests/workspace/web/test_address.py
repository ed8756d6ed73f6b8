"""Which addresses may be asked, however they are written."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.web.address import HostRules, why_not_public
from dogu.workspace.web.reader import is_look_alike, shown_url
from dogu.workspace.web.url import MOST_URLS, join_url, parse_url, raw_url, urls_in


def refusal(text: str) -> str:
    """Return why an address is refused as a whole; empty when it may be asked."""
    try:
        return HostRules().why_host_is_refused(parse_url(text).host)
    except ToolError as error:
        return error.message


@pytest.mark.parametrize(
    "host",
    [
        "8.8.8.8", "1.1.1.1", "93.184.216.34", "[2606:4700::1111]", "[2a00:1450:4001::5]", "example.com", "a.test",
        "ip.example.org", "xn--fsq.com", "1.example.com", "my_host.example.com", "a--b.example.com", "EXAMPLE.COM",
        "example.com.", "127.example.com", "localhost.example.com",
    ],
)  # fmt: skip
def test_public_hosts_may_be_asked(host: str) -> None:
    assert refusal(f"https://{host}/") == ""


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.9.9", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "0.9.9.9", "100.64.0.1", "100.100.100.200", "100.127.255.254", "192.0.0.8", "192.0.2.7", "192.88.99.1",
        "198.18.0.1", "198.19.1.1", "198.51.100.3", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "168.63.129.16",
        "[::]", "[::1]", "[::127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:8.8.8.8]", "[::ffff:0:127.0.0.1]",
        "[64:ff9b::a00:1]", "[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[3fff::1]",
        "[5f00::1]", "[fc00::5]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff0e::1]",
        "[2606:4700::5efe:10.0.0.1]", "[2606:4700::200:5efe:127.0.0.1]",
    ],
)  # fmt: skip
def test_addresses_that_arent_public_are_refused(host: str) -> None:
    assert refusal(f"http://{host}/")


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "017700000001", "127.1", "127.0.1", "0x7f.1", "0177.0.0.1", "127.0.0.01",
        "127.0.0.0x1", "127.0.0.1.", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "ｌｏｃａｌｈｏｓｔ", "lo\u00adcalhost",
        "%31%32%37.0.0.1", "127.0.0.%31", "256.256.256.256", "1.2.3.4.5", "0x", "1.2.3", "3232235777", "8.8.2056",
        "[::1%25lo]", "[::1%lo]", "[fe80::1%eth0]", "[::ffff:7f.1]", "[1.2.3.4]", "[", "[]", "]", "[::1]x", "[::1",
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "metadata", "metadata.google.internal",
        "intranet", "nas.lan", "router.home.arpa", "db.svc.cluster.local", "vault.service.consul", "1.0.0.127.in-addr.arpa",
        "127.0.0.1.nip.io", "a.10-0-0-5.sslip.io", "169.254.169.254.example.com",
        "", ".", "..", "a..b", ".example.com", "-a.example.com", "a-.example.com", "a b.example.com", "exa mple.com",
        "a\u3000b.com", "a\x00.example.com", "a\r\nb.example.com", "a\tb.example.com", "a\\b.example.com",
        "a<b.example.com", "a|b.example.com", "a^b.example.com", "ex`ample.com", "a" * 64 + ".com", "a." * 130 + "com",
        "xn--a.example.com", "xn--\u00e9.com", "\ud800.example.com", "example.com\u2028", "*.example.com",
    ],
)  # fmt: skip
def test_odd_spellings_and_local_names_are_refused(host: str) -> None:
    assert refusal(f"http://{host}/")


@pytest.mark.parametrize(
    "text",
    [
        "", "http", "http:", "http:/", "http://", "http:///", "http:///example.com/", "http:example.com", "//example.com/",
        "http:/example.com", "http:\\\\example.com", "http://example.com\\@127.0.0.1/", "ftp://example.com/",
        "file:///etc/passwd", "gopher://example.com/", "data:text/html,x", "javascript:alert(1)", "https//example.com",
        "http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/", "http://:@example.com/",
        "http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/", "http://example.com@127.0.0.1/",
        "http://example.com:0/", "http://example.com:65536/", "http://example.com:80:80/", "http://example.com:-1/",
        "http://example.com:８0/", "http://example.com:+80/", "http://example.com:8e1/", "http://example.com:22/",
        "http://example.com:6379/", "http://example.com:25/", " http://example.com/", "http://example.com/ x",
        "http://example.com/\n", "http://example.com/\x00", "http://example.com/\ud800", "http://example.com/" + "a" * 9_000,
        "view-source:http://example.com", "http://http://example.com/", "jar:http://example.com!/",
    ],
)  # fmt: skip
def test_what_programs_could_read_differently_is_refused(text: str) -> None:
    assert refusal(text)


def test_credentials_are_not_told_back() -> None:
    with pytest.raises(ToolError) as raised:
        parse_url("https://me:secret@example.com/")
    assert raised.value.kind is ErrorKind.REFUSED
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:/a", "https://example.com/a"),
        ("http://example.com:8080/x?y=1#z", "http://example.com:8080/x?y=1"),
        ("http://example.com?q=a/b", "http://example.com/?q=a/b"),
        ("https://例え.jp/道?名=値", "https://xn--r8jz45g.jp/%E9%81%93?%E5%90%8D=%E5%80%A4"),
        ("https://example.com/a%20b/%E9", "https://example.com/a%20b/%E9"),
        ("https://[2606:4700:0:0::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://example.com/a'b(c)[d]", "https://example.com/a'b(c)%5Bd%5D"),
    ],
)
def test_an_address_is_asked_for_in_one_plain_form(text: str, expected: str) -> None:
    url = parse_url(text)
    assert url.text == expected
    assert parse_url(url.text) == url


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_that_the_registry_calls_private_is_never_public(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    if not address.is_global or address.is_multicast:
        assert why_not_public(str(address))


@given(st.integers(0, 2**128 - 1) | st.integers(0, 2**61 - 1).map(lambda low: (0x2 << 124) | low))
def test_an_ipv6_address_that_the_registry_calls_private_is_never_public(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    if not address.is_global or address.is_multicast or address.ipv4_mapped or address.sixtofour or address.teredo:
        assert why_not_public(str(address))


@given(st.text(max_size=40))
def test_whatever_is_written_is_an_address_or_an_error_for_the_model(text: str) -> None:
    for written in (text, f"http://{text}", f"http://example.com/{text}", f"http://example.com:{text}"):
        try:
            url = parse_url(written)
        except ToolError:
            continue
        assert parse_url(url.text) == url
        assert url.text.isascii()


def test_a_host_that_a_user_named_may_be_private() -> None:
    rules = HostRules(["Wiki.Intranet", "10.1.2.3", "[::1]"])
    assert [rules.why_host_is_refused(host) for host in ("wiki.intranet", "10.1.2.3", "::1")] == ["", "", ""]
    assert rules.why_address_is_refused("wiki.intranet", "10.9.9.9") == ""
    assert rules.why_host_is_refused("other.intranet")
    assert rules.why_host_is_refused("10.1.2.4")
    assert rules.why_address_is_refused("example.com", "10.9.9.9")


def test_a_named_host_may_not_lead_to_a_clouds_metadata() -> None:
    rules = HostRules(["wiki.intranet"])
    assert rules.why_address_is_refused("wiki.intranet", "169.254.169.254")
    assert rules.why_address_is_refused("wiki.intranet", "fe80::1%eth0")
    assert HostRules(["169.254.169.254"]).why_address_is_refused("169.254.169.254", "169.254.169.254") == ""


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("Summarize https://example.com/a and (https://example.org/b).", ["https://example.com/a", "https://example.org/b"]),
        ("See [this](https://example.com/x_(y)), then stop!", ["https://example.com/x_(y)"]),
        ("<https://example.com/a> \"https://example.com/b\"", ["https://example.com/a", "https://example.com/b"]),
        ("「https://example.com/日本」を要約、https://example.com/b。", ["https://example.com/%E6%97%A5%E6%9C%AC", "https://example.com/b"]),
        ("https://example.com/a https://example.com/a", ["https://example.com/a"]),
        ("HTTPS://EXAMPLE.COM/A", ["https://example.com/A"]),
    ],
)  # fmt: skip
def test_addresses_are_found_in_a_prompt(prompt: str, found: list[str]) -> None:
    assert [url.text for url in urls_in(prompt)] == found


@pytest.mark.parametrize(
    "prompt", ["", "read example.com", "http:example.com", "file:///etc/passwd and https://a.test/"]
)
def test_a_prompt_without_a_plain_address_is_an_error(prompt: str) -> None:
    with pytest.raises(ToolError) as raised:
        urls_in(prompt)
    assert raised.value.kind is ErrorKind.INVALID_ARGUMENTS


def test_twenty_addresses_are_taken_and_not_one_more() -> None:
    urls = [f"https://example.com/{number}" for number in range(MOST_URLS + 1)]
    assert len(urls_in(" ".join(urls[:MOST_URLS]))) == MOST_URLS == 20
    with pytest.raises(ToolError, match="at most 20"):
        urls_in(" ".join(urls))


def test_a_page_of_github_that_shows_a_file_is_the_file() -> None:
    blob = parse_url("https://github.com/o/r/blob/main/src/a%20b.py?plain=1#L3")
    assert raw_url(blob).text == "https://raw.githubusercontent.com/o/r/main/src/a%20b.py"
    for other in (
        "https://github.com/o/r",
        "https://github.com/o/r/tree/main/x",
        "https://evil.example/o/r/blob/main/f",
    ):
        assert raw_url(parse_url(other)).text == other


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/b", "https://example.com/b"),
        ("c?d", "https://example.com/a/c?d"),
        ("//other.test/x", "https://other.test/x"),
        ("https://other.test", "https://other.test/"),
        ("../../x", "https://example.com/x"),
        (" /a b ", "https://example.com/a%20b"),
    ],
)
def test_a_redirect_is_read_against_where_it_stands(location: str, expected: str) -> None:
    assert join_url(parse_url("https://example.com/a/b"), location).text == expected


@pytest.mark.parametrize(
    "location", ["javascript:x", "data:,x", "file:///x", "http:x", "\\\\x\\y", "https://a@b.test/", "https://a b.test/"]
)
def test_a_redirect_to_what_is_no_plain_address_is_an_error(location: str) -> None:
    with pytest.raises(ToolError):
        join_url(parse_url("https://example.com/a/b"), location)


@pytest.mark.parametrize(
    ("host", "looks_alike"),
    [
        ("xn--80ak6aa92e.com", True), ("раураl.com", True), ("gοοgle.com", True), ("ɡoogle.com", True),
        ("例え.jp", False), ("müller.de", False), ("пример.рф", False), ("한국.kr", False), ("東京タワーabc.jp", False),
        ("example.com", False), ("ελλάδα.gr", False),
    ],
)  # fmt: skip
def test_a_name_that_looks_like_another_is_told(host: str, looks_alike: bool) -> None:
    assert is_look_alike(parse_url(f"https://{host}/")) is looks_alike


def test_an_international_name_is_shown_in_both_its_forms() -> None:
    assert shown_url(parse_url("https://xn--80ak6aa92e.com/")) == "https://xn--80ak6aa92e.com/ (аррӏе.com)"
    assert shown_url(parse_url("https://example.com/")) == "https://example.com/"
