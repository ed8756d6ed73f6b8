"""Fetching over a loopback web: where it may lead, and every misbehaviour of servers."""

import gzip
import ssl
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cancelling import cancelled_when
from dogu.contract import ErrorKind, ToolError
from dogu.testing.wire_server import Reply, WireRequest
from dogu.workspace.web.address import HostRules
from dogu.workspace.web.client import WebClient
from dogu.workspace.web.inflate import Inflating
from dogu.workspace.web.page import WebAnswer
from dogu.workspace.web.url import parse_url
from workspace.web.server import PUBLIC, LoopbackWeb, page, raw, redirect

pytestmark = pytest.mark.anyio
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


async def fetch(client: WebClient, address: str = "http://public.test/") -> WebAnswer:
    return await client.fetch(parse_url(address))


async def failure(client: WebClient, address: str = "http://public.test/") -> ToolError:
    with pytest.raises(ToolError) as raised:
        await fetch(client, address)
    assert raised.value.message.endswith((".", "...")) or "It says" in raised.value.message
    return raised.value


async def test_a_page_is_fetched_from_the_address_that_was_checked() -> None:
    with LoopbackWeb({"/": page("hello")}) as web:
        answer = await fetch(web.client())
    assert (answer.status, answer.body) == (200, b"hello")
    assert (web.looked_up, web.dialled) == (["public.test"], [PUBLIC])
    assert web.requests[0].headers["host"] == "public.test"


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["::1"], ["10.0.0.7"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["fe80::1%eth0"],
     ["100.64.0.1"], ["0.0.0.0"], [PUBLIC, "127.0.0.1"], ["192.168.0.1", PUBLIC], [PUBLIC] * 9_999 + ["::1"], ["2002:7f00:1::"],
     ["no address"]],
)  # fmt: skip
async def test_a_name_that_leads_to_one_refused_address_is_refused(addresses: list[str]) -> None:
    with LoopbackWeb({"/": page("secret")}, {"public.test": addresses}) as web:
        error = await failure(web.client())
    assert error.kind is ErrorKind.REFUSED
    assert web.dialled == []
    assert web.requests == []


async def test_ten_thousand_answers_for_a_name_are_one_address() -> None:
    with LoopbackWeb({"/": page("hello")}, {"public.test": [PUBLIC] * 10_000}) as web:
        assert (await fetch(web.client())).body == b"hello"
    assert web.dialled == [PUBLIC]


async def test_a_name_is_looked_up_once_so_that_it_cant_change_its_answer() -> None:
    with LoopbackWeb({"/": page("hello")}) as web:
        answers = iter([[PUBLIC], ["127.0.0.1"]])

        async def rebinding(_name: str, _port: int) -> list[str]:
            return next(answers)

        client = WebClient(web.client().rules, resolver=rebinding, dial=web.dial)
        assert (await fetch(client)).body == b"hello"
        assert web.dialled == [PUBLIC]
        assert (await failure(client)).kind is ErrorKind.REFUSED


async def test_the_next_address_is_tried_where_one_doesnt_answer() -> None:
    with LoopbackWeb({"/": page("hello")}, {"public.test": ["2606:4700::1", PUBLIC]}) as web:

        async def dial(address: str, port: int, timeout_s: float | None) -> object:
            import httpcore2

            if ":" in address:
                web.dialled.append(address)
                raise httpcore2.ConnectError("no route")
            return await web.dial(address, port, timeout_s)

        client = WebClient(web.client().rules, resolver=web.resolve, dial=dial)  # pyright: ignore[reportArgumentType]  (a stream)
        assert (await fetch(client)).body == b"hello"
    assert web.dialled == ["2606:4700::1", PUBLIC]


class TlsSeen(httpcore2.AsyncNetworkStream):
    """A connection that notes for whom TLS is asked, and then fails."""

    def __init__(self) -> None:
        self.names: list[str | None] = []

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (the signature is httpcore's)
    ) -> httpcore2.AsyncNetworkStream:
        assert ssl_context.verify_mode is ssl.CERT_REQUIRED
        assert ssl_context.check_hostname
        self.names.append(server_hostname)
        raise httpcore2.ConnectError("certificate verify failed")

    async def aclose(self) -> None:
        """Nothing to close."""


async def test_tls_is_for_the_name_though_the_checked_address_is_connected_to() -> None:
    stream = TlsSeen()

    async def dial(_address: str, _port: int, _timeout_s: float | None) -> httpcore2.AsyncNetworkStream:
        return stream

    with LoopbackWeb() as web:
        client = WebClient(HostRules(), resolver=web.resolve, dial=dial)
        error = await failure(client, "https://public.test/")
    assert stream.names == ["public.test"]
    assert "certificate" in error.message


async def test_a_name_that_doesnt_exist_is_told() -> None:
    with LoopbackWeb() as web:
        error = await failure(web.client(), "http://nowhere.example/")
    assert error.kind is ErrorKind.NOT_FOUND
    assert "nowhere.example" in error.message


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]/", "//10.0.0.1/", "http://169.254.169.254/latest/",
     "http://inner.test/", "http://2130706433/", "http://0x7f.1/", "file:///etc/passwd", "gopher://public.test/",
     "javascript:alert(1)", "http://me:secret@public.test/", "http://public.test:6379/", "http://metadata.google.internal/",
     "http://public.test\\@127.0.0.1/", "http:127.0.0.1"],
)  # fmt: skip
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_leads_to_no_refused_address(location: str, status: int) -> None:
    with LoopbackWeb({"/": redirect(location, status)}, {"inner.test": ["127.0.0.1"]}) as web:
        error = await failure(web.client())
    assert error.kind is ErrorKind.REFUSED
    assert len(web.requests) == 1
    assert web.dialled == [PUBLIC]


async def test_redirects_to_public_addresses_are_followed_and_told() -> None:
    pages = {
        "public.test/": redirect("/a"),
        "public.test/a": redirect("http://other.test/b"),
        "other.test/b": page("there"),
    }
    with LoopbackWeb(pages, {"other.test": ["1.1.1.1"]}) as web:
        answer = await fetch(web.client())
    assert answer.body == b"there"
    assert answer.url.text == "http://other.test/b"
    assert answer.redirects == ("http://public.test/", "http://public.test/a")
    assert web.dialled == [PUBLIC, PUBLIC, "1.1.1.1"]


@pytest.mark.parametrize(("count", "is_followed"), [(10, True), (11, False)])
async def test_ten_redirects_are_followed_and_no_more(count: int, is_followed: bool) -> None:
    pages = {f"/{number}": redirect(f"/{number + 1}") for number in range(count)} | {f"/{count}": page("end")}
    with LoopbackWeb(pages) as web:
        if is_followed:
            assert (await fetch(web.client(), "http://public.test/0")).body == b"end"
        else:
            assert (await failure(web.client(), "http://public.test/0")).kind is ErrorKind.REFUSED


async def test_a_redirect_in_a_circle_ends() -> None:
    with LoopbackWeb({"/": redirect("/")}) as web:
        assert (await failure(web.client())).kind is ErrorKind.REFUSED
    assert len(web.requests) == 11


async def test_a_redirect_from_https_to_http_isnt_followed() -> None:
    client = WebClient(HostRules())
    with pytest.raises(ToolError, match="from https to http"):
        client._next(parse_url("https://public.test/"), "http://public.test/")
    assert client._next(parse_url("http://public.test/"), "https://public.test/").scheme == "https"


async def test_a_host_that_a_user_named_is_fetched_though_it_is_private() -> None:
    with LoopbackWeb({"/": page("wiki")}, {"wiki.intranet": ["10.0.0.9"]}) as web:
        assert (await fetch(web.client("wiki.intranet"), "http://wiki.intranet/")).body == b"wiki"
        assert (await failure(web.client(), "http://wiki.intranet/")).kind is ErrorKind.REFUSED
    assert web.dialled == ["10.0.0.9"]


async def test_cookies_arent_kept_between_fetches() -> None:
    with LoopbackWeb({"/": page("hello", set_cookie="id=1; path=/")}) as web:
        client = web.client()
        await fetch(client)
        await fetch(client)
    assert all("cookie" not in request.headers for request in web.requests)


async def test_nothing_of_this_machine_is_told_to_servers() -> None:
    with LoopbackWeb({"/": page("hello")}) as web:
        await fetch(web.client(), "http://public.test/?q=1#secret")
    assert set(web.requests[0].headers) == {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert web.requests[0].query == {"q": "1"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, ErrorKind.REMOTE_FAILED), (401, ErrorKind.REMOTE_FAILED), (403, ErrorKind.REMOTE_FAILED), (404, ErrorKind.NOT_FOUND),
     (410, ErrorKind.NOT_FOUND), (500, ErrorKind.REMOTE_FAILED), (304, ErrorKind.REMOTE_FAILED), (999, ErrorKind.REMOTE_FAILED)],
)  # fmt: skip
async def test_a_failure_of_http_is_a_failure(status: int, kind: ErrorKind) -> None:
    with LoopbackWeb({"/": page("<p>No <b>such</b> thing.</p>", status=status)}) as web:
        error = await failure(web.client())
    assert error.kind is kind
    assert str(status) in error.message
    assert status == 304 or "No such thing." in error.message


def answers(*each: bytes) -> dict[str, object]:
    remaining = list(each)

    def answer(_request: WireRequest, reply: Reply) -> None:
        reply.raw(remaining.pop(0))
        reply.cut()

    return {"/": answer}


async def test_a_server_that_says_later_is_asked_once_more() -> None:
    later = b"HTTP/1.1 429 Slow\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n"
    with LoopbackWeb(answers(later, OK + b"content-length: 2\r\n\r\nok")) as web:  # pyright: ignore[reportArgumentType]  (answerers)
        assert (await fetch(web.client())).body == b"ok"
    with LoopbackWeb(answers(later, later)) as web:  # pyright: ignore[reportArgumentType]  (answerers)
        assert "429" in (await failure(web.client())).message
    assert len(web.requests) == 2


@pytest.mark.parametrize("told", ["3600", "date"])
async def test_too_long_a_wait_is_told_and_kept_to(told: str) -> None:
    if told == "date":
        told = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with LoopbackWeb({"/": page("later", status=503, retry_after=told)}) as web:
        client = web.client()
        first, second = await failure(client), await failure(client)
    assert "not to be asked again" in first.message
    assert "not to be asked again" in second.message
    assert len(web.requests) == 1


@pytest.mark.parametrize("told", ["soon", "Mon, 99 Foo", "-1", "1e9999"])
async def test_a_wait_that_is_no_wait_is_a_plain_failure(told: str) -> None:
    with LoopbackWeb({"/": page("later", status=503, retry_after=told)}) as web:
        assert "503" in (await failure(web.client())).message
    assert len(web.requests) == 1


def slowly(start: bytes, more: bytes) -> object:
    def answer(_request: WireRequest, reply: Reply) -> None:
        reply.raw(start)
        while True:
            reply.wait(0.02)
            reply.raw(more)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        slowly(OK + b"\r\n", b"x"),
        slowly(OK, b"x: y\r\n"),
        slowly(b"", b"H"),
        slowly(OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        raw(OK + b"content-length: 10\r\n\r\nabc", stays_open=True),
        raw(b"", stays_open=True),
        redirect("/slow"),
    ],
    ids=["body", "headers", "status line", "chunks", "stops in the middle", "never answers", "behind a redirect"],
)
async def test_a_server_that_takes_its_time_is_left(answer: object) -> None:
    pages = {"/": answer, "/slow": raw(b"", stays_open=True)}
    with LoopbackWeb(pages) as web:  # pyright: ignore[reportArgumentType]  (answerers)
        error = await failure(web.client(total_s=0.3))
    assert error.kind in (ErrorKind.TIMED_OUT, ErrorKind.REMOTE_FAILED)


def endlessly(start: bytes, more: bytes) -> object:
    def answer(_request: WireRequest, reply: Reply) -> None:
        reply.raw(start)
        while True:
            reply.raw(more)

    return answer


BOMBS = {
    "endless body": endlessly(OK + b"\r\n", b"x" * 10_000),
    "endless chunks": endlessly(OK + b"transfer-encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n"),
    "a length told": raw(OK + b"content-length: 99999999999\r\n\r\nx", stays_open=True),
    "gzip": page(gzip.compress(b"\0" * 30_000_000, 1), content_encoding="gzip"),
    "deflate": page(zlib.compress(b"\0" * 30_000_000, 1), content_encoding="deflate"),
}


@pytest.mark.parametrize("encoding", ["br", "zstd"])
async def test_a_compression_that_isnt_understood_is_told(encoding: str) -> None:
    with LoopbackWeb({"/": page(b"\x1b\x00\x00", content_encoding=encoding)}) as web:
        error = await failure(web.client())
    assert error.kind is ErrorKind.REMOTE_FAILED
    assert f"compressed as {encoding}, and only gzip, deflate were asked for" in error.message
    assert [request.headers["accept-encoding"] for request in web.requests] == ["gzip, deflate", "identity"]


async def test_a_server_that_compresses_unasked_may_leave_it_when_asked_for_none() -> None:
    def answer(request: WireRequest, reply: Reply) -> None:
        is_plain = request.headers["accept-encoding"] == "identity"
        (page("hello") if is_plain else page(b"\x1b", content_encoding="br"))(request, reply)

    with LoopbackWeb({"/": answer}) as web:
        assert (await fetch(web.client())).body == b"hello"


@pytest.mark.parametrize(("body", "encoding"), [(b"\x1b\x00", "br"), (b"no gzip", "gzip")])
async def test_an_error_or_a_redirect_counts_though_its_body_cant_be_decompressed(body: bytes, encoding: str) -> None:
    moved = page(body, status=302, location="/there", content_encoding=encoding)
    with LoopbackWeb(
        {"/": moved, "/there": page("hello"), "/gone": page(body, status=404, content_encoding=encoding)}
    ) as web:
        assert (await fetch(web.client())).body == b"hello"
        assert (await failure(web.client(), "http://public.test/gone")).kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize("encoding", ["none", "utf-8", "identity, identity", ""])
async def test_a_header_that_names_no_compression_means_none(encoding: str) -> None:
    with LoopbackWeb({"/": page("hello", content_encoding=encoding)}) as web:
        assert (await fetch(web.client())).body == b"hello"


@pytest.mark.parametrize("answer", BOMBS.values(), ids=BOMBS)
async def test_what_is_too_large_is_left(answer: object) -> None:
    with LoopbackWeb({"/": answer}) as web:  # pyright: ignore[reportArgumentType]  (answerers)
        assert (await failure(web.client())).kind is ErrorKind.TOO_LARGE


async def test_a_body_that_unpacks_to_nothing_for_ever_is_left() -> None:
    start = OK + b"content-encoding: gzip\r\n\r\n"
    with LoopbackWeb({"/": endlessly(start, gzip.compress(b"") * 2_000)}) as web:  # pyright: ignore[reportArgumentType]  (an answerer)
        assert (await failure(web.client(max_bytes=500_000))).kind is ErrorKind.REMOTE_FAILED


async def test_media_may_be_larger_than_text() -> None:
    data = b"\x89PNG\r\n\x1a\n" + b"x" * 600
    pdf = b"%PDF-1.7\n" + b"x" * 600
    pages = {"/": page(data, "image/png"), "/pdf": page(pdf, "text/html"), "/text": page("x" * 600, "text/plain")}
    with LoopbackWeb(pages) as web:
        client = web.client(max_bytes=500, max_media_bytes=1_000)
        assert (await fetch(client)).body == data
        assert (await fetch(client, "http://public.test/pdf")).body == pdf  # its bytes say so, not the header
        assert (await failure(client, "http://public.test/text")).kind is ErrorKind.TOO_LARGE


@pytest.mark.parametrize(
    "encoding", ["gzip, gzip", "gzip,deflate", "compress", "x-unknown", "gzip" + ", gzip" * 99, "\xff"]
)
async def test_a_compression_that_we_didnt_ask_for_is_refused(encoding: str) -> None:
    with LoopbackWeb({"/": page(b"x", content_encoding=encoding)}) as web:
        assert (await failure(web.client())).kind is ErrorKind.REMOTE_FAILED


COMPRESSED = {
    "gzip": (gzip.compress(b"hello"), "gzip"),
    "two members": (gzip.compress(b"hel") + gzip.compress(b"lo"), "gzip"),
    "padded": (gzip.compress(b"hello") + b"\0\0\0", "GZIP"),
    "deflate": (zlib.compress(b"hello"), "deflate"),
    "deflate without its header": (zlib.compress(b"hello", wbits=-15), "deflate"),
    "not at all": (b"hello", "identity"),
}


@pytest.mark.parametrize(("body", "encoding"), COMPRESSED.values(), ids=COMPRESSED)
async def test_compressed_pages_are_read(body: bytes, encoding: str) -> None:
    with LoopbackWeb({"/": page(body, content_encoding=encoding)}) as web:
        assert (await fetch(web.client())).body == b"hello"


async def test_an_empty_body_may_be_called_compressed() -> None:
    with LoopbackWeb({"/": page(b"", content_encoding="gzip")}) as web:
        assert (await fetch(web.client())).body == b""


@given(st.binary(max_size=5_000), st.integers(1, 700), st.sampled_from(["gzip", "deflate"]))
def test_whatever_was_compressed_comes_back_however_it_is_cut(data: bytes, size: int, encoding: str) -> None:
    packed = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
    inflating = Inflating(encoding)
    chunks = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert b"".join(piece for chunk in chunks for piece in inflating.feed(chunk)) == data
    inflating.check_whole()


BROKEN = {
    "nothing": raw(b""),
    "no http": raw(b"220 smtp.example.com ESMTP\r\n"),
    "half a head": raw(b"HTTP/1.1 200 OK\r\ncontent-"),
    "a body cut": raw(OK + b"content-length: 100\r\n\r\nabc"),
    "chunks cut": raw(OK + b"transfer-encoding: chunked\r\n\r\n5\r\nab"),
    "chunks without an end": raw(OK + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n"),
    "a chunk with a bad length": raw(OK + b"transfer-encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n"),
    "a chunk with a negative length": raw(OK + b"transfer-encoding: chunked\r\n\r\n-5\r\nab\r\n"),
    "a chunk longer than told": raw(OK + b"transfer-encoding: chunked\r\n\r\n1\r\nabcdef\r\n0\r\n\r\n"),
    "a bad length": raw(OK + b"content-length: abc\r\n\r\nabc"),
    "two lengths": raw(OK + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
    "a huge header": raw(OK + b"x: " + b"y" * 300_000 + b"\r\n\r\n"),
    "no gzip": page(b"plain", content_encoding="gzip"),
    "half a gzip": page(gzip.compress(bytes(range(256)) * 99)[:200], content_encoding="gzip"),
    "no deflate": page(b"\xff\xff\xff", content_encoding="deflate"),
    "a bad status": raw(b"HTTP/1.1 abc OK\r\n\r\n"),
    "headers without colon": raw(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\nabc"),
}  # fmt: skip


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_is_a_failure(answer: object) -> None:
    with LoopbackWeb({"/": answer}) as web:  # pyright: ignore[reportArgumentType]  (answerers)
        assert (await failure(web.client())).kind is ErrorKind.REMOTE_FAILED


async def test_bytes_after_the_told_length_arent_part_of_the_page() -> None:
    with LoopbackWeb({"/": raw(OK + b"content-length: 3\r\n\r\nabcdef")}) as web:
        assert (await fetch(web.client())).body == b"abc"


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    with LoopbackWeb({"/": raw(b"HTTP/1.0 200 OK\r\n\r\nabc")}) as web:
        assert (await fetch(web.client())).body == b"abc"


async def test_a_server_that_isnt_there_is_told() -> None:
    with LoopbackWeb() as web:
        client = web.client()
    error = await failure(client)
    assert error.kind is ErrorKind.REMOTE_FAILED
    assert "public.test, port 80" in error.message


async def test_one_request_at_a_time_goes_to_a_host() -> None:
    import anyio

    at_once: list[int] = []
    running = 0

    def answer(_request: WireRequest, reply: Reply) -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        reply.wait(0.02)
        running -= 1
        reply.send(200, b"x")

    with LoopbackWeb({f"/{number}": answer for number in range(4)}) as web:
        client = web.client()
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(fetch, client, f"http://public.test/{number}")
    assert at_once == [1, 1, 1, 1]


async def test_a_cancelled_fetch_closes_its_connection() -> None:
    import anyio

    with LoopbackWeb({"/": raw(b"", stays_open=True)}) as web:
        client = web.client()
        await cancelled_when(lambda: web._server.connections_open, lambda: fetch(client))
        with anyio.fail_after(30):
            while web._server.connections_open:
                await anyio.lowlevel.checkpoint()
