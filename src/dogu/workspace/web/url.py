"""Addresses as they are written, read strictly: what two programs could read differently is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urljoin

import idna
import msgspec

from dogu.contract import ErrorKind, ToolError

LONGEST_URL_CHARS = 8_192
MOST_URLS = 20

_PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?", re.I)
_PORT = re.compile(r":([0-9]*)$")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.I)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\u3000\ufeff\ud800-\udfff]")
_DOTS = str.maketrans("。．｡", "...")
# Ports of other protocols, which a request could be smuggled to. Source: fetch.spec.whatwg.org, "bad port".
_BAD_PORTS = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109),
        *(110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530),
        *(531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045),
        *(4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211),
    )
)
_WRITTEN = re.compile(r"(?:[a-z][a-z0-9+.-]{0,30})://[^\s<>\"`「」『』【】（）、，！？；]+", re.I)
_CLOSING = ".,;:!?'*_。．"
_GITHUB_BLOB = re.compile(r"/([^/]+/[^/]+)/blob/(.+)")


class WebUrl(msgspec.Struct, frozen=True):
    """An address that may be asked for as it is: `host` in ASCII and lower case, IPv6 without brackets.

    `target` is path and query, percent-encoded; `name` is the host as a user reads it.
    """

    scheme: str
    host: str
    port: int
    target: str
    name: str

    @property
    def text(self) -> str:
        """The whole address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _default_port(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def parse_url(text: str) -> WebUrl:
    """Read an http or https address; nothing is looked up.

    Raises:
        ToolError: INVALID_ARGUMENTS for what isn't a plain address, REFUSED for credentials and odd spellings.
    """
    shown = text if len(text) <= 100 else text[:100] + "..."
    if len(text) > LONGEST_URL_CHARS:
        raise _bad(shown, f"is longer than {LONGEST_URL_CHARS} characters")
    if unsafe := _UNSAFE.search(text):
        raise _bad(ascii(shown)[1:-1], f"holds U+{ord(unsafe[0]):04X}, which no address may hold; percent-encode it")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise _bad(shown, "is no address of the web: write http://HOST/PATH or https://HOST/PATH")
    scheme, authority = parts["scheme"].lower(), parts["authority"]
    if "@" in authority:
        hint = "leave user name and password out; a page behind a login can't be fetched"
        raise ToolError(ErrorKind.REFUSED, f"{scheme}://...@{authority.rpartition('@')[2]} holds credentials: {hint}.")
    written, port = _split_port(authority, scheme, shown)
    host = _host(written, shown)
    return WebUrl(scheme, host, port, _target(parts["path"], parts["query"] or ""), _name(host, shown))


def join_url(base: WebUrl, location: str) -> WebUrl:
    """Read where a redirect leads. Raises `ToolError` as `parse_url` does."""
    location = location.strip(" ").replace(" ", "%20")  # as browsers do
    if _UNSAFE.search(location) or re.match(r"[\w+.-]*:(?!//)", location):
        raise _bad(ascii(location[:100])[1:-1], "is no address to be redirected to")
    try:
        return parse_url(urljoin(base.text, location))
    except ValueError:  # brackets that hold no IPv6 address
        raise _bad(ascii(location[:100])[1:-1], "is no address to be redirected to") from None


def urls_in(prompt: str) -> list[WebUrl]:
    """Find the addresses in a prompt, each once, in order.

    Raises:
        ToolError: INVALID_ARGUMENTS for none, for more than 20, or for one that isn't of the web; as `parse_url`.
    """
    found = list(dict.fromkeys(parse_url(written) for written in _written_urls(prompt)))
    if not found:
        message = "The prompt holds no address: it must contain at least one that starts with http:// or https://."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    if len(found) > MOST_URLS:
        message = f"The prompt holds {len(found)} addresses; at most {MOST_URLS} can be fetched in one call."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    return found


def raw_url(url: WebUrl) -> WebUrl:
    """Return the address of the file itself for a page of GitHub that shows one; any other as it is."""
    match = _GITHUB_BLOB.fullmatch(url.target.partition("?")[0])
    if url.host != "github.com" or match is None:
        return url
    return parse_url(f"https://raw.githubusercontent.com/{match[1]}/{match[2]}")


def _written_urls(prompt: str) -> Iterator[str]:
    for match in _WRITTEN.finditer(prompt):
        written = match[0]
        while written and (written[-1] in _CLOSING or _is_unopened(written)):
            written = written[:-1]
        yield written


def _is_unopened(written: str) -> bool:
    """Whether an address ends with a bracket that belongs to the sentence around it."""
    pairs = {")": "(", "]": "[", "}": "{"}
    opening = pairs.get(written[-1])
    return opening is not None and written.count(opening) < written.count(written[-1])


def _split_port(authority: str, scheme: str, shown: str) -> tuple[str, int]:
    match = _PORT.search(authority)
    if match is None:
        return authority, _default_port(scheme)
    written = authority[: match.start()]
    if not match[1]:
        return written, _default_port(scheme)
    port = int(match[1]) if len(match[1]) <= 5 else 0
    if not 0 < port < 65536:
        raise _bad(shown, "has no valid port")
    if port in _BAD_PORTS:
        raise ToolError(ErrorKind.REFUSED, f"{shown} names port {port}, which belongs to another protocol than HTTP.")
    return written, port


def _host(written: str, shown: str) -> str:
    if not written:
        raise _bad(shown, "names no host")
    if written.startswith("["):
        return _ipv6(written, shown)
    host = (written if written.isascii() else _ascii_name(written, shown)).lower()
    host = host.removesuffix(".")
    labels = host.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or len(host) > 253:
        raise _bad(shown, "names no valid host; a host's name isn't percent-encoded")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host, shown)
    return host


def _ipv6(written: str, shown: str) -> str:
    try:
        if not written.endswith("]") or "%" in written:
            raise _bad(shown, "names no valid host; an address with a zone belongs to the local link")
        return str(IPv6Address(written[1:-1]))
    except AddressValueError:
        raise _bad(shown, "names no valid IPv6 address") from None


def _ipv4(host: str, shown: str) -> str:
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        hint = "write the four decimal numbers plainly"
        raise ToolError(ErrorKind.REFUSED, f"{shown} spells an address oddly: {hint}, as in 93.184.216.34.") from None


def _ascii_name(written: str, shown: str) -> str:
    folded = unicodedata.normalize("NFKC", written.translate(_DOTS))
    if folded.isascii():
        return folded  # full-width letters and digits: judged as what they stand for
    try:
        return idna.encode(folded, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _bad(shown, "names no valid host") from None


def _name(host: str, shown: str) -> str:
    if "xn--" not in host:
        return host

    try:
        return idna.decode(host)
    except (idna.IDNAError, UnicodeError):
        raise _bad(shown, "names no valid international host") from None


def _target(path: str, query: str) -> str:
    return quote(path or "/", safe="/%:@!$&'()*+,;=~-._|") + quote(query, safe="?/%:@!$&'()*+,;=~-._|[]")


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _bad(shown: str, why: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, f"{shown} {why}.")
