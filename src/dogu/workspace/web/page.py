"""A server's answer as content for a model: the text of a page or a file, an image or a PDF as a blob, or its failure.

The text of its bytes goes by BOM, header or the page's own declaration where they are true, else by what the bytes are.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from dogu.contract import Blob, Content, ErrorKind, ToolError
from dogu.workspace.text import decode
from dogu.workspace.text.media import HEAD_BYTES, is_binary, sniff
from dogu.workspace.web.html import PageText, read_html
from dogu.workspace.web.http_date import seconds_until
from dogu.workspace.web.url import WebUrl

# What names on the web mean. Source: encoding.spec.whatwg.org, "names and labels".
_LABELS = {
    **dict.fromkeys(("utf8", "unicode-1-1-utf-8", "unicode11utf8", "x-unicode20utf8"), "utf-8"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "csshiftjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("euc-jp", "x-euc-jp", "cseucpkdfmtjapanese"), "euc_jp"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ks_c_5601-1989", "ksc5601", "korean", "windows-949"), "cp949"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb_2312-80", "chinese", "csgb2312", "gb18030"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5", "csbig5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-1", "latin1", "l1", "ascii", "us-ascii", "windows-1252", "x-cp1252"), "cp1252"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("utf-16", "utf-16le", "unicode", "ucs-2", "csunicode"), "utf_16_le"),
    "utf-16be": "utf_16_be",
}
_BOMS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf_16_le", b"\xfe\xff": "utf_16_be"}
_IN_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s"';,]+)""", re.I)
_IN_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.I)
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_IN_XML = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.I)
_CHARSETS = re.compile(
    r"utf-8|utf-(?:16|32)(?:-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gb\w+|big5\w*|euc_\w+|iso2022_\w+|"
    r"shift_jis\w*|hz|johab|tis-620|kz1048|ptcp154|ascii"
)
_PRESCANNED_BYTES = 256 * 1024
_SURELY_UTF_8_CHARS = 10
_SURROGATES = re.compile("[\ud800-\udfff]")


def text_of(data: bytes, content_type: str) -> str:
    """Decode a page; what no encoding can read becomes U+FFFD."""
    for bom, codec in _BOMS.items():
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace")
    for label in _declared(data, content_type):
        text = _exactly(data, label)
        if text is not None:
            return text
    return _SURROGATES.sub("\ufffd", decode(data).text)


def _declared(data: bytes, content_type: str) -> list[str]:
    in_header = [match[1] for match in _IN_HEADER.finditer(content_type)][:3]
    found: list[str] = []
    head = _COMMENT.sub(b"", data[:_PRESCANNED_BYTES])
    for pattern in (_IN_XML, _IN_META):
        match = pattern.search(head)
        if match is None:
            continue
        label = match[1].decode("ascii", "replace")
        # Whoever can read the declaration as ASCII isn't reading UTF-16.
        found.append("utf-8" if label.lower().startswith("utf-16") else label)
    # Many a server says Latin-1 of everything; what a page says of itself is nearer to the truth then.
    is_default = any(_LABELS.get(label.strip().lower()) == "cp1252" for label in in_header)
    return [*found, *in_header] if is_default else [*in_header, *found]


def _exactly(data: bytes, label: str) -> str | None:
    """Decode by a declared name, if the name is known and the bytes are that; None when the declaration is untrue."""
    label = label.strip().lower()
    codec = _LABELS.get(label, label)
    if not _is_charset(codec):
        return None
    text = _if_utf_8(data, is_likely=codec == "cp1252")
    if text is not None:
        return text
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.start > len(data) - 4:
            return data[: error.start].decode(codec)
    if codec == "utf-8" and _is_mostly_utf_8(data):
        return data.decode("utf-8", "replace")
    return None


def _if_utf_8(data: bytes, *, is_likely: bool) -> str | None:
    """Decode what is UTF-8 whatever was declared: with some characters beyond ASCII nothing else is so by chance."""
    if data.isascii():
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    enough = 1 if is_likely else _SURELY_UTF_8_CHARS
    return text if len(text) - len(text.encode("ascii", "ignore")) >= enough else None


def _is_charset(codec: str) -> bool:
    """Whether a codec is one that text is written in: not UTF-7, nor one that reads escapes, by which ASCII would spell
    markup."""
    try:
        return _CHARSETS.fullmatch(codecs.lookup(codec).name) is not None
    except (LookupError, ValueError):
        return False


def _is_mostly_utf_8(data: bytes) -> bool:
    """Whether stray bytes are the exception among characters of several bytes."""
    text = data.decode("utf-8", "replace")
    strays = text.count("\ufffd")
    return strays * 10 < len(text) - len(text.encode("ascii", "ignore"))


REDIRECTS = frozenset((301, 302, 303, 307, 308))
_LATER = frozenset((429, 503))
_MISSING = frozenset((404, 410))
_SHOWN_CHARS = 500


class WebAnswer(msgspec.Struct, frozen=True):
    """An answer as it came, decompressed; names of headers in lower case, `redirects` the addresses before `url`."""

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: bytes
    redirects: tuple[str, ...] = ()

    @property
    def content_type(self) -> str:
        """The header, in lower case; empty when there is none."""
        return self.headers.get("content-type", "").strip().lower()


def told_wait_s(answer: WebAnswer) -> float | None:
    """Return how long a server that says "later" wants us to wait; None when it says no such thing."""
    if answer.status not in _LATER:
        return None
    value = answer.headers.get("retry-after", "")
    if not value:
        return 1.0 if answer.status == 429 else None
    if value.isdecimal():
        return float(value[:9])
    return seconds_until(value)


def explained(answer: WebAnswer) -> WebAnswer:
    """Return the answer if it is one. Raises `ToolError` for every status that isn't a success."""
    if 200 <= answer.status < 300:
        return answer
    kind = ErrorKind.NOT_FOUND if answer.status in _MISSING else ErrorKind.REMOTE_FAILED
    nowhere = ", without an address to go to" if answer.status in REDIRECTS else ""
    meaning = _meaning(answer.status) + nowhere
    raise ToolError(kind, f"{answer.url.text} answered with status {answer.status}{meaning}.{_said(answer)}")


def unanswered(url: WebUrl, error: Exception) -> ToolError:
    """Say why there is no answer."""
    name = type(error).__name__
    told = " ".join(str(error).split())[:200]
    if name == "ConnectTimeout":
        return ToolError(ErrorKind.TIMED_OUT, f"No connection to {url.host} in time. Check the address, or try later.")
    if name == "ConnectError":
        what = "has no valid certificate" if "CERTIFICATE" in told.upper() else "can't be connected to"
        why = told or "it ended the connection before anything was said"
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.host}, port {url.port}, {what} ({why}).")
    if name == "UnaskedError":
        message = (
            f"{url.text} sends a body that can't be read here: {told}. "
            "Another address may hold the same, or a command that reads it, such as `curl --compressed`."
        )
        return ToolError(ErrorKind.REMOTE_FAILED, message)
    if "buffer too long" in told:
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} sends headers longer than are read. Nothing is shown.")
    if name == "InflateError":
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} sends a body that can't be decompressed ({told}).")
    return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} gave no whole answer ({name}: {told}).")


def _said(answer: WebAnswer) -> str:

    text = " ".join(text_of_answer(answer).split())
    if not text:
        return ""
    return f" It says: {text[:_SHOWN_CHARS]}" + ("..." if len(text) > _SHOWN_CHARS else "")


def _meaning(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


_HTML = ("text/html", "application/xhtml+xml")


class WebPage(msgspec.Struct, frozen=True):
    """What an address holds. `address` is where it was found, `title` may be empty."""

    address: str
    title: str
    content: Content
    redirects: tuple[str, ...] = ()


def read_answer(answer: WebAnswer) -> WebPage:
    """Read an answer; blocks, longer for a large page. Raises `ToolError` (WRONG_FILE_TYPE) for other binaries."""
    head = answer.body[:HEAD_BYTES]
    name = answer.url.target.partition("?")[0].rsplit("/", 1)[-1]
    media_type = sniff(head, name)
    if media_type:
        return WebPage(answer.url.text, name, [Blob(media_type, answer.body, name)], answer.redirects)
    if is_binary(head):
        told = answer.content_type.partition(";")[0] or "no declared type"
        message = (
            f"{answer.url.text} is binary ({ascii(told)[1:-1][:60]}): only text, images, audio and PDF can be read."
        )
        raise ToolError(ErrorKind.WRONG_FILE_TYPE, message)
    page = _text(answer)
    return WebPage(answer.url.text, page.title, page.text or "(The page holds no text.)", answer.redirects)


def text_of_answer(answer: WebAnswer) -> str:
    """Return the text of an answer that isn't a page to be read, such as an error; empty for a binary one."""
    head = answer.body[:HEAD_BYTES]
    if sniff(head, "") or is_binary(head):
        return ""
    return _text(answer).text


def _text(answer: WebAnswer) -> PageText:
    text = text_of(answer.body, answer.content_type)
    is_html = answer.content_type.startswith(_HTML) or (not _is_plain(answer) and _looks_like_html(text))
    return read_html(text, answer.url.text) if is_html else PageText("", text.strip("\n"))


def _is_plain(answer: WebAnswer) -> bool:
    """Whether a server says that what looks like a page is meant to be read as it is."""
    return answer.content_type.startswith(("text/", "application/json", "application/xml")) and not (
        answer.content_type.startswith(_HTML)
    )


def _looks_like_html(text: str) -> bool:
    start = text[:1_000].lstrip().lower()
    return start.startswith(("<!doctype html", "<html", "<head", "<body", "<title")) or "<html" in start
