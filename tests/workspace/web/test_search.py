"""The search providers a user may set, over a loopback web; and which proxy is used."""

import msgspec
import pytest

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.web.connect import environment_proxy
from dogu.workspace.web.grounding import Source, source_list, with_citations
from dogu.workspace.web.search import Brave, SearXNG
from dogu.workspace.web.url import parse_url
from workspace.web.server import LoopbackWeb, page

pytestmark = pytest.mark.anyio
RESULTS = [
    {"title": "One &amp; <b>two</b>", "url": "https://a.example/", "content": "The <strong>first</strong>\n result."},
    {"title": "二番目", "url": "https://b.example/", "content": None},
    {"title": "no address", "content": "x"},
    {"title": "", "url": "https://c.example/", "content": "third", "engine": "unknown fields are fine"},
]
SOURCES = (
    Source("One & two", "https://a.example/"),
    Source("二番目", "https://b.example/"),
    Source("", "https://c.example/"),
)
JSON = "application/json"


async def test_searxng_is_asked_for_json_and_its_results_are_cited() -> None:
    with LoopbackWeb({"/sx/search": page(msgspec.json.encode({"results": RESULTS}), JSON)}) as web:
        found = await SearXNG(web.client(), "http://search.test/sx/")("何 & why?")
    assert web.requests[0].query == {"q": "何 & why?", "format": "json"}
    assert found.sources == SOURCES
    assert with_citations(found) == "One & two: The first result.[1]\n二番目[2]\n: third[3]"
    assert source_list(found.sources).splitlines()[3] == "[3] Untitled (https://c.example/)"


async def test_brave_is_asked_with_the_key() -> None:
    results = [{**result, "description": result.get("content")} for result in RESULTS]
    with LoopbackWeb({"/res/v1/web/search": page(msgspec.json.encode({"web": {"results": results}}), JSON)}) as web:
        found = await Brave(web.client(), "secret-key", "http://brave.test")("why?")
    assert web.requests[0].headers["x-subscription-token"] == "secret-key"
    assert web.requests[0].query["q"] == "why?"
    assert found.sources == SOURCES


async def test_nothing_found_is_an_empty_text() -> None:
    with LoopbackWeb({"/search": page(b'{"results": []}', JSON), "/res/v1/web/search": page(b"{}", JSON)}) as web:
        assert (await SearXNG(web.client(), "http://search.test")("x")).text == ""
        assert (await Brave(web.client(), "k", "http://brave.test")("x")).text == ""


async def test_a_server_without_json_is_told_with_what_to_set() -> None:
    with (
        LoopbackWeb({"/search": page("Forbidden", status=403)}) as web,
        pytest.raises(ToolError, match=r"search\.formats must hold json"),
    ):
        await SearXNG(web.client(), "http://search.test")("x")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"results": 1}', b"\xff", b'{"results": [{"url": 1}]}'])
async def test_an_answer_that_isnt_the_json_asked_for_is_told(body: bytes) -> None:
    with LoopbackWeb({"/search": page(body, JSON)}) as web, pytest.raises(ToolError) as raised:
        await SearXNG(web.client(), "http://search.test")("x")
    assert raised.value.kind is ErrorKind.REMOTE_FAILED


async def test_a_failing_brave_tells_no_key() -> None:
    answer = page("bad key: secret-key", "text/plain", status=422)
    with LoopbackWeb({"/res/v1/web/search": answer}) as web, pytest.raises(ToolError) as raised:
        await Brave(web.client(), "secret-key", "http://brave.test")("x")
    assert "secret-key" not in raised.value.message
    assert "422" in raised.value.message


async def test_the_key_doesnt_go_along_with_a_redirect_to_another_host() -> None:
    pages = {
        "brave.test/res/v1/web/search": page("", status=302, location="http://other.test/"),
        "other.test/": page(b"{}", JSON),
    }
    with LoopbackWeb(pages) as web:
        await Brave(web.client(), "secret-key", "http://brave.test")("x")
    assert [request.headers.get("x-subscription-token") for request in web.requests] == ["secret-key", None]


@pytest.mark.parametrize(
    ("address", "environ", "proxy"),
    [
        ("http://a.test/", {}, ""),
        ("http://a.test/", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("http://a.test/", {"HTTP_PROXY": "p:1"}, "http://p:1"),
        ("http://a.test/", {"HTTP_PROXY": "p:1", "REQUEST_METHOD": "GET"}, ""),
        ("http://a.test/", {"https_proxy": "http://p:1"}, ""),
        ("https://a.test/", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.test/", {"ALL_PROXY": "socks5://p:1"}, "socks5://p:1"),
        ("https://a.test/", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b.test, .test"}, ""),
        ("https://a.test/", {"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, ""),
        ("https://a.test/", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.test:8443,xa.test"}, "http://p:1"),
        ("https://a.test/", {"HTTPS_PROXY": ""}, ""),
        ("http://localhost:8888/", {"HTTP_PROXY": "http://p:1"}, ""),
    ],
)
def test_the_proxy_of_the_environment_is_found(address: str, environ: dict[str, str], proxy: str) -> None:
    assert environment_proxy(parse_url(address), environ) == proxy
