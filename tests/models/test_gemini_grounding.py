"""Search grounding and URL context: what the server says about its sources, and that the official SDK reads the same."""

from typing import Any

import msgspec
import pytest

from dogu.models.contents import user_content
from dogu.models.events import ModelError
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.gemini_grounding import read_grounded
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.fake_gemini_web import grounding, url_context
from dogu.testing.turn import Turn
from dogu.workspace.web.grounding import Citation, Grounded, Source, character_offset, source_list, with_citations

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]

SOURCES = [("京都市", "https://a.example/"), ("Wiki", "https://b.example/?q=1")]
TEXTS = {
    "ascii": ("It rains. It pours.", [("It rains.", [0]), ("It pours.", [0, 1])], "It rains.[1] It pours.[1][2]"),
    "japanese": (
        "京都は雨。東京は晴れ。",
        [("京都は雨。", [0]), ("東京は晴れ。", [1])],
        "京都は雨。[1]東京は晴れ。[2]",
    ),
    "korean": ("비가 온다. 갠다.", [("비가 온다.", [1])], "비가 온다.[2] 갠다."),
    "emoji": ("🎉🎉 party 👩‍👩‍👧 now", [("🎉🎉 party 👩‍👩‍👧", [0])], "🎉🎉 party 👩‍👩‍👧[1] now"),
    "arabic": ("السلام عليكم اليوم", [("السلام عليكم", [0])], "السلام عليكم[1] اليوم"),
    "accents": ("Cafe\u0301 déjà vu.", [("déjà", [1])], "Cafe\u0301 déjà[2] vu."),
    "two ends at one place": ("One. Two.", [("One.", [1]), ("One.", [0])], "One.[1][2] Two."),
    "a source that isn't there": ("One.", [("One.", [7])], "One."),
}


def model_at(fake: FakeGemini) -> Gemini:
    return Gemini("gemini-2.5-flash", KeyAccess("k", fake.base_url))


async def asked(turn: Turn, tool: str = "googleSearch") -> Grounded:
    with FakeGemini([turn]) as fake:
        model = model_at(fake)
        answer, _ = read_grounded(await model.ask_with(tool, "What's the weather?"))
        await model.aclose()
        assert fake.requests[0].server_tools == [tool]
        assert fake.requests[0].tool_names == []
        assert fake.problems == []
    return answer


@pytest.mark.parametrize(("text", "cited", "expected"), TEXTS.values(), ids=TEXTS)
async def test_citations_stand_at_the_right_characters_in_any_script(text: str, cited: Any, expected: str) -> None:
    answer = await asked(Turn(text=text, metadata=grounding(text, SOURCES, cited)))
    assert with_citations(answer) == expected
    assert answer.sources == tuple(Source(*source) for source in SOURCES)
    assert source_list(answer.sources).splitlines() == [
        "Sources:",
        "[1] 京都市 (https://a.example/)",
        "[2] Wiki (https://b.example/?q=1)",
    ]


async def test_the_ends_are_counted_within_the_part_that_the_server_names() -> None:
    second = "続きです。終わり。"
    metadata = grounding(second, SOURCES, [("続きです。", [1])], part=1)
    answer = await asked(Turn(parts=[{"text": "初めに。"}, {"text": second}], metadata=metadata))
    assert with_citations(answer) == "初めに。続きです。[2]終わり。"


async def test_thoughts_are_no_part_of_the_answer() -> None:
    metadata = grounding("答え。", SOURCES, [("答え。", [0])], part=1)
    answer = await asked(Turn(thought="Hmm, hmm.", text="答え。", metadata=metadata))
    assert with_citations(answer) == "答え。[1]"


async def test_the_addresses_that_were_read_are_the_sources_where_nothing_is_cited() -> None:
    turn = Turn(text="Both say so.", metadata=url_context(["https://a.example/x"], ["https://b.example/y"]))
    answer = await asked(turn, "urlContext")
    assert answer.sources == (Source("", "https://a.example/x"),)
    assert answer.unread == ("https://b.example/y",)


@pytest.mark.parametrize("tool", ["googleSearch", "urlContext"])
async def test_the_official_sdk_reads_the_same_sources(tool: str) -> None:
    from google import genai
    from google.genai import types

    text = "京都は雨。東京は晴れ。"
    metadata = {
        **grounding(text, SOURCES, [("京都は雨。", [0, 1])]),
        **url_context(["https://a.example/"], ["https://c/"]),
    }
    turn = Turn(text=text, metadata=metadata)
    with FakeGemini([turn, turn]) as fake:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=fake.base_url))
        switched_on = (
            types.Tool(google_search=types.GoogleSearch())
            if tool == "googleSearch"
            else types.Tool(url_context=types.UrlContext())
        )
        config = types.GenerateContentConfig(tools=[switched_on])
        response = await client.aio.models.generate_content(model="gemini-2.5-flash", contents="hi", config=config)
        await client.aio.aclose()
        model = model_at(fake)
        answer, usage = read_grounded(await model.ask_with(tool, "hi"))
        await model.aclose()
        assert fake.problems == []
        theirs, ours = fake.requests
    assert ours.body["tools"] == theirs.body["tools"]
    assert ours.contents == theirs.contents
    candidate = (response.candidates or [])[0]
    assert candidate.grounding_metadata is not None
    assert candidate.url_context_metadata is not None
    chunks = [chunk.web for chunk in candidate.grounding_metadata.grounding_chunks or []]
    assert [(page.title, page.uri) for page in chunks if page] == [
        (page.title, page.address) for page in answer.sources
    ]
    [support] = candidate.grounding_metadata.grounding_supports or []
    assert support.segment is not None
    assert support.segment.end_index is not None
    assert answer.citations == (
        Citation(
            character_offset(text.encode(), support.segment.end_index), tuple(support.grounding_chunk_indices or ())
        ),
    )
    pages = candidate.url_context_metadata.url_metadata or []
    unread = [
        page.retrieved_url
        for page in pages
        if page.url_retrieval_status != types.UrlRetrievalStatus("URL_RETRIEVAL_STATUS_SUCCESS")
    ]
    assert unread == list(answer.unread)
    assert response.text == answer.text
    assert response.usage_metadata is not None
    assert usage.total == response.usage_metadata.total_token_count


async def test_the_fake_refuses_its_own_tools_beside_functions_as_the_server_does() -> None:
    with FakeGemini(["ok"]) as fake:
        model = model_at(fake)
        body = msgspec.json.decode(user_content("hi"))
        request = {
            "contents": [body],
            "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "f", "description": "d"}]}],
        }
        call = await model._call("generateContent", msgspec.json.encode(request))
        with pytest.raises(ModelError):
            await model._transport.post(call, model._explain)
        await model.aclose()
        assert fake.problems == ["Tool use with function calling is unsupported"]


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("gemini-1.5-pro", set()),
        ("gemini-2.0-flash", {"googleSearch"}),
        ("gemini-2.5-pro", {"googleSearch", "urlContext"}),
        ("gemini-3-pro-preview", {"googleSearch", "urlContext"}),
        ("gemini-flash-latest", {"googleSearch", "urlContext"}),
    ],
)
def test_what_the_server_offers_is_told_by_the_model(name: str, tools: set[str]) -> None:
    assert Gemini(name, KeyAccess("k")).server_tools == tools


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"{",
        b'{"candidates":[{"content":{"parts":[{"text":1}]}}]}',
        b'{"promptFeedback":{"blockReason":"SAFETY"}}',
    ],
)
def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    with pytest.raises(ModelError):
        read_grounded(answer)


def test_an_offset_within_a_character_means_its_end() -> None:
    encoded = "aあb".encode()
    assert [character_offset(encoded, offset) for offset in (-1, 0, 1, 2, 3, 4, 5, 99)] == [0, 0, 1, 2, 2, 2, 3, 3]


def test_a_citation_doesnt_part_a_letter_from_its_accent() -> None:
    answer = Grounded("e\u0301a 👍🏽!", (Source("", "u"),), (Citation(1, (0,)), Citation(5, (0,))))
    assert with_citations(answer) == "e\u0301[1]a 👍🏽[1]!"
