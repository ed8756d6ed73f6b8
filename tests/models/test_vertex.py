import sys
from pathlib import Path

import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.models.contents import user_content
from dogu.models.events import ModelError, ModelErrorKind, TextDelta
from dogu.models.gemini import Gemini
from dogu.models.vertex import VertexAccess
from dogu.testing.fake_gemini import FakeGemini

pytestmark = pytest.mark.anyio


class FakeCredentials:
    def __init__(self) -> None:
        self.valid = False
        self.token: str | None = None
        self.quota_project_id: str | None = "payer"
        self.refreshed = 0

    def refresh(self, request: object) -> None:
        self.refreshed += 1
        self.valid, self.token = True, "token-1"


async def test_a_token_is_fetched_once_and_sent_as_bearer() -> None:
    credentials = FakeCredentials()
    with FakeGemini(["one", "two"]) as fake:
        model = Gemini("gemini-2.0-flash", VertexAccess("project-1", "europe-west4", fake.base_url, credentials))
        for expected in ("one", "two"):
            async with model.stream("", [user_content("hi")], []) as events:
                assert [event.text async for event in events if isinstance(event, TextDelta)] == [expected]
        declarations = [FunctionDeclaration("f", "does", {"type": "object", "properties": {}})]
        assert await model.count_tokens("s", [user_content("hi")], declarations) > 0
        await model.aclose()
    assert credentials.refreshed == 1
    assert fake.requests[0].headers["authorization"] == "Bearer token-1"
    assert fake.requests[0].headers["x-goog-user-project"] == "payer"
    assert fake.requests[0].version == "v1beta1"
    assert "generateContentRequest" not in fake.requests[2].raw.decode()


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "https://aiplatform.googleapis.com/"),
        ("us", "https://aiplatform.us.rep.googleapis.com/"),
        ("europe-west4", "https://europe-west4-aiplatform.googleapis.com/"),
    ],
)
def test_each_location_has_its_host(location: str, host: str) -> None:
    url = VertexAccess("p", location).url("gemini-2.5-flash", "v1beta", "generateContent")
    assert (
        url
        == f"{host}v1beta1/projects/p/locations/{location}/publishers/google/models/gemini-2.5-flash:generateContent"
    )


@pytest.mark.parametrize("project", ["", "a/b"])
async def test_a_project_that_is_none_is_said(project: str) -> None:
    with pytest.raises(ModelError, match="GOOGLE_CLOUD_PROJECT") as caught:
        await VertexAccess(project).headers()
    assert caught.value.kind is ModelErrorKind.AUTH


async def test_without_google_auth_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(ModelError, match="pip install"):
        await VertexAccess("p").headers()


async def test_without_credentials_logging_in_is_advised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(ModelError, match="gcloud auth") as caught:
        await VertexAccess("p").headers()
    assert caught.value.kind is ModelErrorKind.AUTH


def test_the_token_is_taken_out_of_messages() -> None:
    credentials = FakeCredentials()
    credentials.refresh(None)
    assert VertexAccess("p", credentials=credentials).redact("x token-1 y") == "x [token] y"
