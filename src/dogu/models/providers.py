"""The providers of models, a row each: its names, its key and address, its models, their prices, and how one is opened.

Nothing else knows a provider by its name. A further one that speaks a wire we have is a row here; wires are loaded
when a model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec

from dogu.models import addresses, prices
from dogu.models.prices import Price

if TYPE_CHECKING:
    from dogu.models.key import Key
    from dogu.models.model import Model
    from dogu.models.options import ModelOptions
    from dogu.models.vertex import VertexAccess


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A model of a provider as its user chose it; empty texts are not set."""

    name: str = ""
    base_url: str = ""
    key: Key
    options: ModelOptions
    environ: Mapping[str, str] = {}


Open: TypeAlias = "Callable[[Choice], Model]"
OpenAccess: TypeAlias = "Callable[[str, Mapping[str, str]], VertexAccess]"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One row. The first of `key_names` and `url_names` that the environment has is taken.

    `also` are other spellings of `name` in settings. `model_names` is a pattern of the models that are its own, by
    which a model alone names it. `listed` is how its models are listed; None where they aren't. `span_name` is what
    OpenTelemetry's conventions call it. One that `searches` offers a search of the web of its own. `access`, where the
    machine's login stands in for a key, takes an address (or '') and the environment.
    """

    name: str
    title: str
    open: Open
    also: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    key_advice: str = ""
    needs_key: bool = True
    url_names: tuple[str, ...] = ()
    base_url: str = ""
    default_model: str = ""
    model_names: str = ""
    access: OpenAccess | None = None
    listed: ModelListing | None = None
    prices: Mapping[str, Price] = {}
    searches: bool = False
    span_name: str = "dogu"

    def key(self, given: str, environ: Mapping[str, str]) -> str:
        """Return the key that was given, else the environment's; '' when there is none."""
        return given or next((environ[name] for name in self.key_names if environ.get(name)), "")

    def address(self, given: str, environ: Mapping[str, str]) -> str:
        """Return the address that was given, else the environment's, else the provider's own, without a last slash."""
        found = given or next((environ[name] for name in self.url_names if environ.get(name)), "") or self.base_url
        return found.rstrip("/")

    def prices_at(self, address: str) -> Mapping[str, Price]:
        """Return the list prices that hold at an address: whose it is, for a wire that many speak."""
        there = (other for other in PROVIDERS if other.base_url and _host(other.base_url) == _host(address))
        return self.prices or next(there, self).prices


class ModelListing(msgspec.Struct, frozen=True, kw_only=True):
    """How models are listed: a path below the address, the header of the key, and where the names are.

    An open list is shown to anybody, so that it tells nothing of a key. `prefix` is what stands before each name, and
    `wanted` a pattern of the names, for a list that holds models of other kinds too.
    """

    path: str = "/models"
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = {}
    items: str = "data"
    field: str = "id"
    prefix: str = ""
    wanted: str = ""
    is_open: bool = False

    def names(self, answer: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the models' names; of Gemini's, those that answer at all, where the list says it of any."""
        found = answer.get(self.items)
        rows = [cast("dict[str, Any]", row) for row in cast("list[Any]", found or []) if isinstance(row, dict)]
        able = [row for row in rows if "generateContent" in (row.get("supportedGenerationMethods") or ())]
        names = (str(row.get(self.field) or "").removeprefix(self.prefix) for row in able or rows)
        return tuple(name for name in names if name and re.match(self.wanted, name))


def _gemini(choice: Choice) -> Model:
    from dogu.models.gemini import Gemini, KeyAccess

    return Gemini(choice.name, KeyAccess(choice.key, choice.base_url), choice.options)


def _vertex(choice: Choice) -> Model:
    from dogu.models.gemini import Gemini

    return Gemini(choice.name, _vertex_access(choice.base_url, choice.environ), choice.options)


def _vertex_access(base_url: str, environ: Mapping[str, str]) -> VertexAccess:
    from dogu.models.vertex import VertexAccess

    project, location = environ.get("GOOGLE_CLOUD_PROJECT", ""), environ.get("GOOGLE_CLOUD_LOCATION", "global")
    return VertexAccess(project, location, base_url)


def _chat(choice: Choice) -> Model:
    from dogu.models.openai_compatible import OpenAICompatible

    return OpenAICompatible(choice.name, choice.base_url, choice.key, choice.options)


def _openai(choice: Choice) -> Model:
    """Open the Responses wire at OpenAI's own server; another's, set as OpenAI's address, speaks the older one."""
    if _host(choice.base_url) != _host(addresses.OPENAI):
        return _chat(choice)
    return _responses(choice)


def _responses(choice: Choice) -> Model:
    from dogu.models.responses import Responses

    return Responses(choice.name, choice.key, choice.base_url, choice.options)


def _anthropic(choice: Choice) -> Model:
    from dogu.models.anthropic import Anthropic

    return Anthropic(choice.name, choice.key, choice.base_url, choice.options)


def _offline(_choice: Choice) -> Model:
    from dogu.models.offline import Offline

    return Offline()


LOCAL_LISTING = ModelListing()


def _service(
    name: str, title: str, base_url: str, model_names: str = "", listed: ModelListing = LOCAL_LISTING
) -> Provider:
    """Make the row of a service that speaks the chat-completions wire at an address of its own."""
    return Provider(
        name=name,
        title=title,
        open=_chat,
        key_names=(f"{name.upper()}_API_KEY",),
        base_url=base_url,
        model_names=model_names,
        listed=listed,
        span_name=name,
    )


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="gemini",
        title="Gemini",
        open=_gemini,
        key_names=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_advice="aistudio.google.com/apikey",
        url_names=("GOOGLE_GEMINI_BASE_URL",),
        base_url=addresses.GOOGLE,
        default_model="gemini-2.5-pro",
        model_names=r"(?:models/)?gemini",
        listed=ModelListing(
            path="/v1beta/models?pageSize=1000",
            key_header="x-goog-api-key",
            key_prefix="",
            items="models",
            field="name",
            prefix="models/",
        ),
        prices=prices.GEMINI,
        searches=True,
        span_name="gcp.gemini",
    ),
    Provider(
        name="vertex",
        title="Vertex AI",
        open=_vertex,
        needs_key=False,
        default_model="gemini-2.5-pro",
        access=_vertex_access,
        listed=ModelListing(
            path="/v1beta1/publishers/google/models?pageSize=1000",
            items="publisherModels",
            field="name",
            prefix="publishers/google/models/",
            wanted="gemini-",
        ),
        prices=prices.GEMINI,
        searches=True,
        span_name="gcp.vertex_ai",
    ),
    Provider(
        name="openai",
        title="OpenAI",
        open=_openai,
        key_names=("OPENAI_API_KEY",),
        key_advice="platform.openai.com/api-keys",
        url_names=("OPENAI_BASE_URL",),
        base_url=addresses.OPENAI,
        default_model="gpt-5.1",
        model_names=r"gpt-\d|o\d",
        listed=LOCAL_LISTING,
        prices=prices.OPENAI,
        span_name="openai",
    ),
    Provider(
        name="openai_responses",
        title="OpenAI Responses",
        open=_responses,
        key_names=("OPENAI_API_KEY",),
        needs_key=False,
        url_names=("OPENAI_BASE_URL",),
        base_url=addresses.OPENAI,
        listed=LOCAL_LISTING,
        span_name="openai",
    ),
    Provider(
        name="anthropic",
        title="Claude",
        open=_anthropic,
        key_names=("ANTHROPIC_API_KEY",),
        key_advice="console.anthropic.com/settings/keys",
        url_names=("ANTHROPIC_BASE_URL",),
        base_url=addresses.ANTHROPIC,
        default_model="claude-sonnet-5",
        model_names=r"claude-",
        listed=ModelListing(
            path="/v1/models?limit=1000",
            key_header="x-api-key",
            key_prefix="",
            headers={"anthropic-version": addresses.ANTHROPIC_VERSION},
        ),
        prices=prices.ANTHROPIC,
        span_name="anthropic",
    ),
    _service("deepseek", "DeepSeek", "https://api.deepseek.com", r"deepseek-[^/]*$"),
    _service("moonshot", "Moonshot", "https://api.moonshot.ai/v1", r"(?:kimi-|moonshot-)[^/]*$"),
    _service("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", listed=ModelListing(is_open=True)),
    _service("mistral", "Mistral", "https://api.mistral.ai/v1"),
    _service("groq", "Groq", "https://api.groq.com/openai/v1"),
    _service("xai", "xAI", "https://api.x.ai/v1", r"grok-[^/]*$"),
    Provider(
        name="openai_compatible",
        title="OpenAI-compatible",
        open=_chat,
        key_names=("OPENAI_API_KEY",),
        needs_key=False,
        url_names=("OPENAI_BASE_URL",),
        base_url=addresses.OLLAMA,
        listed=LOCAL_LISTING,
        span_name="openai",
    ),
    Provider(
        name="offline", title="offline", open=_offline, needs_key=False, default_model="offline", prices=prices.FREE
    ),
)
OFFLINE = PROVIDERS[-1]
GEMINI, VERTEX, OPENAI = PROVIDERS[:3]
LOCAL = PROVIDERS[-2]
"""What a server on this machine is, unless it is known otherwise."""


def named(name: str) -> Provider | None:
    """Return the provider of that name, in any letter case, with `-`, `_` or nothing between words."""
    plain = _plain(name)
    return next((each for each in PROVIDERS if plain in map(_plain, (each.name, *each.also))), None)


def of_model(model: str) -> Provider | None:
    """Return the provider whose own a model is, by its name; None when that tells nothing."""
    return next((each for each in PROVIDERS if each.model_names and re.match(each.model_names, model)), None)


def _plain(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "")


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0].rpartition("@")[2]
