"""A server's answer as content for a model: the text of a page or a file, an image or a PDF as a blob."""

from __future__ import annotations

import msgspec

from dogu.contract import Blob, Content, ErrorKind, ToolError
from dogu.workspace.media import HEAD_BYTES, is_binary, sniff
from dogu.workspace.web.charset import text_of
from dogu.workspace.web.failure import WebAnswer
from dogu.workspace.web.html import PageText, read_html

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
