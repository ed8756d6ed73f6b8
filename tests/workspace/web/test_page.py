"""What a model reads of a page: its visible text, in every charset; media as blobs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract import Blob, ErrorKind, ToolError
from dogu.workspace.web.html import is_nested_too_deeply, read_html
from dogu.workspace.web.page import WebAnswer, read_answer, text_of
from dogu.workspace.web.url import parse_url

JAPANESE = "東京の天気は晴れです。明日は雨が降るでしょう。カタカナもあります。"
TRADITIONAL = "這是一個繁體中文的網頁，歡迎各位的光臨，今天的天氣非常好。"
SIMPLIFIED = "这是一个简体中文的网页，欢迎各位的光临，今天的天气非常好。"
KOREAN = "이것은 한국어로 쓴 웹 페이지입니다. 오늘 날씨가 매우 좋습니다."
CYRILLIC = "Это страница на русском языке, сегодня хорошая погода."
WESTERN = "Les élèves naïfs goûtèrent un œuf à Noël: ça coûte 3 €."
GREEK = "Αυτή είναι μια ελληνική σελίδα."

CHARSETS = [
    ("utf-8", "utf-8", JAPANESE), ("UTF8", "utf-8", KOREAN), ("shift_jis", "cp932", JAPANESE), ("x-sjis", "cp932", JAPANESE),
    ("Windows-31J", "cp932", "①㈱髙" + JAPANESE), ("euc-jp", "euc_jp", JAPANESE), ("iso-2022-jp", "iso2022_jp", JAPANESE),
    ("euc-kr", "cp949", "똠" + KOREAN), ("ks_c_5601-1987", "cp949", KOREAN), ("gb2312", "gb18030", SIMPLIFIED),
    ("gbk", "gbk", SIMPLIFIED), ("gb18030", "gb18030", "𠀀" + SIMPLIFIED), ("big5", "big5hkscs", TRADITIONAL),
    ("iso-8859-1", "cp1252", WESTERN), ("windows-1252", "cp1252", WESTERN), ("iso-8859-15", "iso8859-15", WESTERN),
    ("windows-1251", "cp1251", CYRILLIC), ("koi8-r", "koi8-r", CYRILLIC), ("iso-8859-5", "iso8859-5", CYRILLIC),
    ("windows-1253", "cp1253", GREEK), ("iso-8859-7", "iso8859-7", GREEK),
]  # fmt: skip


@pytest.mark.parametrize(("label", "codec", "text"), CHARSETS, ids=[row[0] for row in CHARSETS])
def test_every_charset_is_read_as_header_or_page_declare_it(label: str, codec: str, text: str) -> None:
    data = text.encode(codec)
    assert text_of(data, f"text/html; charset={label}") == text
    assert text_of(data, f"text/html;CHARSET = '{label.upper()}'; x=y") == text
    for meta in (f"<meta charset={label}>", f'<META http-equiv=content-type content="text/html; charset={label}">'):
        assert text_of(meta.encode() + data, "text/html") == meta + text
    declaration = f'<?xml version="1.0" encoding="{label}"?>'
    assert text_of(declaration.encode() + data, "application/xml") == declaration + text


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf_16_be"])
def test_a_byte_order_mark_wins(codec: str) -> None:
    data = (b"\xfe\xff" if codec == "utf_16_be" else b"") + JAPANESE.encode(codec)
    assert text_of(data, "text/html; charset=iso-8859-1") == JAPANESE


@pytest.mark.parametrize(
    ("codec", "text"),
    [("utf-8", KOREAN), ("cp932", JAPANESE * 3), ("euc_jp", JAPANESE * 3), ("cp949", KOREAN * 3), ("gb18030", SIMPLIFIED * 3),
     ("big5", TRADITIONAL * 3), ("cp1252", WESTERN * 3), ("utf-16-le", f"<p>{JAPANESE}</p>\n" * 3)],
)  # fmt: skip
def test_what_isnt_declared_or_declared_wrongly_is_detected(codec: str, text: str) -> None:
    data = text.encode(codec)
    assert text_of(data, "text/plain") == text
    assert text_of(data, "text/html; charset=no-such-charset") == text
    if codec not in ("utf-8", "utf-16-le"):
        assert text_of(data, "text/html; charset=utf-8") == text


def test_a_servers_default_charset_doesnt_spoil_utf_8() -> None:
    assert text_of(JAPANESE.encode(), "text/html; charset=ISO-8859-1") == JAPANESE


@pytest.mark.parametrize("label", ["koi8-r", "windows-1251", "gb2312", "shift_jis", "big5"])
def test_what_can_only_be_utf_8_is_read_as_that_whatever_was_declared(label: str) -> None:
    assert text_of((JAPANESE * 2).encode(), f"text/html; charset={label}") == JAPANESE * 2


@pytest.mark.parametrize("behind", [b"", b"<script>" + b"a" * 200_000 + b"</script>", b"<!-- <meta charset=big5> -->"])
@pytest.mark.parametrize("header", ["text/html", "text/html; charset=ISO-8859-1", "text/html; charset=no-such"])
def test_a_page_that_says_its_charset_late_or_against_a_servers_default_is_believed(behind: bytes, header: str) -> None:
    data = behind + b"<meta charset=windows-1251>" + CYRILLIC.encode("cp1251")
    assert text_of(data, header).endswith(CYRILLIC)


def test_a_declaration_that_ascii_can_be_read_of_isnt_utf_16() -> None:
    page = f"<meta charset=utf-16>{JAPANESE}"
    assert text_of(page.encode(), "text/html") == page


def test_mixed_charsets_cost_only_the_strange_bytes() -> None:
    data = JAPANESE.encode() + b"\xe9t\xe9 " + KOREAN.encode()
    assert text_of(data, "text/html; charset=utf-8") == f"{JAPANESE}\ufffdt\ufffd {KOREAN}"


@pytest.mark.parametrize(
    "label", ["utf-7", "idna", "rot13", "base64", "hex", "unicode_escape", "raw_unicode_escape", "undefined"]
)
def test_codecs_that_are_no_charsets_arent_used(label: str) -> None:
    assert text_of(b"+ADw-script+AD4- \\u003c", f"text/html; charset={label}") == "+ADw-script+AD4- \\u003c"


@given(st.binary(max_size=200), st.sampled_from([row[0] for row in CHARSETS] + ["utf-16", "", "x" * 500]))
def test_any_bytes_become_text_without_half_characters(data: bytes, label: str) -> None:
    text_of(data, f"text/html; charset={label}").encode("utf-8")


def text(markup: str, address: str = "https://example.com/dir/page") -> str:
    return read_html(markup, address).text


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<h1>A</h1><h3>B <i>c</i></h3>d", "# A\n\n### B c\n\nd"),
        ("<p>one\n two<p>three", "one two\n\nthree"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>x<li>y</ol>", "- a\n- b\n  - c\n\n1. x\n2. y"),
        (
            "<a href='/x'>go</a> <a href='#y'>here</a> <a href='javascript:z'>run</a> <a href=''></a>",
            "[go](https://example.com/x) here run",
        ),
        ("<a href='y?z=1'> far </a>end", "[far](https://example.com/dir/y?z=1) end"),
        ("<base href='https://other.test/'><a href=q>x</a>", "[x](https://other.test/q)"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td></td><td>3</td></tr></table>", "A | B\n1 | | 3"),
        ("<pre>  if x:\n    y</pre>", "```\n  if x:\n    y\n```"),
        ("<p>x <code>y</code> &amp; &lt;z&gt; &nbsp;w</p>", "x y & <z> \xa0w"),
        ("<img src=a alt='A cat'><img src=b>", "[image: A cat]"),
        ("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>", "東京(とうきょう)"),
        ("<hr>x<hr>", "---\n\nx\n\n---"),
        ("<select><option>a<option>b</select><textarea>t</textarea><button>ok</button>", "a\nb\n\n```\nt\n```\n\nok"),
        ("<noscript>no script</noscript>", "no script"),
        ("<details><summary>s</summary>d</details><dialog open>o</dialog>", "s\nd\no"),
        ("<dl><dt>t<dd>d</dl>", "t\nd"),
        ("x<frameset><frame></frameset>", "x"),
        ("", ""),
        ("plain", "plain"),
        ("<p>unclosed <b>bold", "unclosed bold"),
    ],
)
def test_a_page_is_plain_markdown(markup: str, expected: str) -> None:
    assert text(markup) == expected


HIDDEN = {
    "script": "<script>XX</script>", "style": "<style>XX{}</style>", "template": "<template>XX</template>",
    "comment": "<!-- XX -->", "svg": "<svg><text>XX</text></svg>", "iframe": "<iframe>XX</iframe>", "title": "<title>XX</title>",
    "hidden": "<p hidden>XX</p>", "hidden until found": "<p hidden=until-found>XX</p>", "aria": "<div aria-hidden=TRUE><p>XX</p></div>",
    "dialog": "<dialog>XX</dialog>", "display": "<p style='DISPLAY : none'>XX</p>", "important": "<p style='display:none!important'>XX</p>",
    "visibility": "<p style=visibility:hidden>XX</p>", "collapse": "<p style=visibility:collapse>XX</p>",
    "opacity": "<p style='opacity: 0.01'>XX</p>", "opacity percent": "<p style='opacity:0%'>XX</p>",
    "no size": "<p style=font-size:0>XX</p>", "one pixel": "<p style=font-size:1px>XX</p>", "tiny within tiny": "<p style=font-size:0><b style=font-size:2em>XX</b></p>",
    "off to the left": "<p style='position:absolute;left:-9999px'>XX</p>", "above": "<p style='position:fixed; top:-100em'>XX</p>",
    "indented away": "<p style=text-indent:-9999px>XX</p>", "margin": "<p style='margin-left:-5000px'>XX</p>",
    "moved away": "<p style='transform:translateX(-99999px)'>XX</p>", "shrunk": "<p style='transform:scale(0)'>XX</p>",
    "no height": "<p style='height:0;overflow:hidden'>XX</p>", "no width": "<p style='max-width:1px;overflow:hidden'>XX</p>",
    "clip": "<p style='position:absolute;clip:rect(0 0 0 0)'>XX</p>", "clip path": "<p style='clip-path: inset(50%)'>XX</p>",
    "same color": "<p style='color:#FFF;background-color:white'>XX</p>", "nearly": "<p style='color:#fefefe;background:#ffffff'>XX</p>",
    "rgb": "<p style='background:rgb(10,20,30)'><b style='color:rgb(12, 20, 28)'>XX</b></p>", "page's white": "<p style=color:white>XX</p>",
    "font": "<font color=white>XX</font>", "old background": "<table bgcolor=black><tr><td><font color='#000'>XX</font></table>",
    "transparent": "<p style='color:transparent'>XX</p>", "no alpha": "<p style='color:rgba(0,0,0,0)'>XX</p>", "hex alpha": "<p style='color:#12345600'>XX</p>",
    "class": "<style>.a .b{display:none}</style><div class=a><p class=b>XX</p></div>",
    "sheet of a screen": "<style>@media screen{#a{display:none}}</style><p id=a>XX</p>",
    "sheet with comment": "<style>/* { */ p.a /* } */ { position:absolute; left: -10000px }</style><p class=a>XX</p>",
    "sheet's color": "<style>.a{color:#fff;background:#fff}</style><p class=a>XX</p>", "list of selectors": "<style>i,.q{opacity:0}</style><i>XX</i>",
    "tags as text": "\U000e0058\U000e0058", "input": "<input type=hidden value=XX>", "object": "<object>XX</object>",
    "content visibility": "<p style='content-visibility:hidden'>XX</p>", "datalist": "<datalist><option>XX</datalist>",
}  # fmt: skip


@pytest.mark.parametrize("markup", HIDDEN.values(), ids=HIDDEN)
def test_hidden_text_is_left_out(markup: str) -> None:
    found = text(f"<body><p>seen</p>{markup}<p>too</p></body>")
    assert "XX" not in found
    assert not any("\U000e0000" <= char <= "\U000e007f" for char in found)
    assert found.split() == ["seen", "too"]


SEEN = {
    "print only": "<style>@media print{p{display:none}}</style><p>XX</p>",
    "narrow only": "<style>@media (max-width:600px){p{display:none}}</style><p>XX</p>",
    "shown again": "<style>.a{display:none} .a.open{display:block}</style><p class='a open'>XX</p>",
    "inline wins": "<style>.a{display:none}</style><p class=a style=display:block>XX</p>",
    "visible within hidden": "<div style=visibility:hidden><p style=visibility:visible>XX</p></div>",
    "sized within sizeless": "<ul style=font-size:0><li style=font-size:14px>XX</ul>",
    "white on black": "<div style=background:#000><p style=color:white>XX</p></div>",
    "white on unknown": "<link rel=stylesheet href=x.css><p style=color:white>XX</p>",
    "white on a picture": "<div style='background:url(x.png)'><p style=color:white>XX</p></div>",
    "half opaque": "<p style=opacity:0.5>XX</p>",
    "slightly left": "<p style='position:relative;left:-5px'>XX</p>",
    "a page that a script uncovers": "<style>body{opacity:0} html{visibility:hidden}</style><p>XX</p>",
    "state": "<style>p:hover{display:none} p::after{display:none}</style><p>XX</p>",
    "bad style": "<style>}{ p{display none} @import 'x'; </style><p style=';;:;display'>XX</p>",
    "aria false": "<p aria-hidden=false>XX</p>",
    "height without clipping": "<div style=height:0>XX</div>",
}


@pytest.mark.parametrize("markup", SEEN.values(), ids=SEEN)
def test_seen_text_stays(markup: str) -> None:
    assert "XX" in text(f"<body>{markup}</body>")


HEAVY = {
    "deep": "<div>" * 200_000 + "x",
    "deep with strange ends": "<div></x>" * 60_000 + "x",
    "hidden ends": ("<div>" * 300 + "<object>" + "</div>" * 300 + "</object>") * 100 + "x",
    "formatting": "<b>" * 20_000 + "<p>x" * 20_000,
    "formatting with names": "".join(f"<b id={number}>" for number in range(5_000)) + "<p>x" * 5_000,
    "tables": "<table><tr><td>" * 20_000 + "x",
    "lists": "<ul><li>x" * 20_000,
    "open tags": "<" * 500_000 + "x",
    "open comment": "<!--" * 200_000 + "x",
    "attributes": "<p " + "a=b " * 100_000 + ">x",
    "open styles": "<style>" + "p{" * 100_000,
    "many rules": "<style>"
    + "".join(f".a{number}{{display:none}}" for number in range(20_000))
    + "</style>"
    + "<p>x" * 20_000,
    "slow selectors": "<style>"
    + "* * * * * * * * * * *{display:none} p:has(:has(p)){display:none} " * 50
    + "</style>"
    + "<i><p>x</p></i>" * 5_000,
    "at rules": "<style>" + "@media screen{" * 50_000 + "</style>x",
    "long lines": "<p>" + "word " * 200_000,
    "entities": "&amp;" * 200_000,
    "declarations": "<p style='" + "display:none;" * 50_000 + "'>x",
}


@pytest.mark.parametrize("markup", HEAVY.values(), ids=HEAVY)
def test_no_markup_takes_minutes(markup: str) -> None:
    text(markup)  # the time limit of tests would tell


def test_a_page_nested_too_deeply_is_still_read_as_text() -> None:
    markup = "<html><script>bad()</script>" + "<div>" * 50_000 + "<p>Hello &amp; welcome</p><!-- no -->"
    assert is_nested_too_deeply(markup)
    assert text(markup) == "Hello & welcome"


@given(st.lists(st.sampled_from(["<div>", "</div>", "<p>", "<b>", "</b>", "<table>", "<td>", "</table>", "<pre>", "</pre>", "<ul>",
                                 "</ul>", "<li>", "<a href=x>", "</a>", "<rp>", "</rp>", "x", " y ", "\n", "<br>", "<hr>", "&lt;"]), max_size=30))  # fmt: skip
def test_any_markup_is_read(pieces: list[str]) -> None:
    found = text("".join(pieces))
    assert found.count("x") >= 0
    assert "\n\n\n" not in found


def answer(body: bytes, content_type: str = "", address: str = "https://example.com/a") -> WebAnswer:
    return WebAnswer(parse_url(address), 200, {"content-type": content_type}, body)


@pytest.mark.parametrize(
    ("body", "content_type", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png", "image/png"),
        (b"\xff\xd8\xff\xe0....", "text/html", "image/jpeg"),
        (b"%PDF-1.7\n....", "application/octet-stream", "application/pdf"),
        (b"RIFF....WEBPVP8 ", "", "image/webp"),
    ],
)
def test_images_and_pdf_are_blobs_judged_by_their_bytes(body: bytes, content_type: str, media_type: str) -> None:
    [blob] = read_answer(answer(body, content_type)).content
    assert blob == Blob(media_type, body, "a")


def test_another_binary_is_an_error() -> None:
    with pytest.raises(ToolError) as raised:
        read_answer(answer(b"\x7fELF\0\0\0\1\2\3" * 10, "application/x-executable"))
    assert raised.value.kind is ErrorKind.WRONG_FILE_TYPE


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ("<p>x</p>", "text/html", "x"),
        ("<p>x</p>", "text/plain", "<p>x</p>"),
        ('{"a": "<html>"}', "application/json", '{"a": "<html>"}'),
        ("<!doctype html><p>x", "", "x"),
        ("<html><p>x", "application/octet-stream", "x"),
        ("just text", "", "just text"),
        ("# title", "text/markdown", "# title"),
        ("", "text/html", "(The page holds no text.)"),
        ("<rss><title>x</title></rss>", "application/rss+xml", "<rss><title>x</title></rss>"),
    ],
)
def test_pages_and_files_are_told_apart(body: str, content_type: str, expected: str) -> None:
    assert read_answer(answer(body.encode(), content_type)).content == expected


def test_a_title_is_kept_apart() -> None:
    page: Any = read_answer(answer(b"<title> The\n title </title><p>x", "text/html"))
    assert (page.title, page.content, page.address) == ("The title", "x", "https://example.com/a")
