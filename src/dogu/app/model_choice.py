"""Which model answers: the provider that was set, else Gemini when there is a key, else the offline model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dogu.app.credentials import KEYRING
from dogu.settings import ModelSettings

if TYPE_CHECKING:
    from dogu.models.model import Model

DEFAULT_MODEL = "gemini-2.5-pro"


def open_model(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Model:
    """Make the model. Nothing is connected until it is asked, and what is missing is told then."""
    key = gemini_key(settings, environ)
    match provider_of(settings, environ):
        case "vertex":
            from dogu.models.gemini import Gemini
            from dogu.models.vertex import VertexAccess

            project, location = environ.get("GOOGLE_CLOUD_PROJECT", ""), environ.get("GOOGLE_CLOUD_LOCATION", "global")
            return Gemini(settings.name or DEFAULT_MODEL, VertexAccess(project, location))
        case "openai_compatible":
            from dogu.models.openai_compatible import OpenAICompatible

            base_url = settings.base_url or environ.get("OPENAI_BASE_URL", "")
            return OpenAICompatible(settings.name, base_url, settings.api_key or environ.get("OPENAI_API_KEY", ""))
        case "gemini":
            from dogu.app.keyring_access import KeyringAccess
            from dogu.models.gemini import Gemini, KeyAccess

            base_url = settings.base_url or environ.get("GOOGLE_GEMINI_BASE_URL", "")
            access = KeyringAccess(key, base_url) if key.startswith(KEYRING) else KeyAccess(key, base_url)
            return Gemini(settings.name or DEFAULT_MODEL, access)
        case _:
            from dogu.models.offline import Offline

            return Offline()


def provider_of(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> str:
    """Return `vertex`, `gemini`, `openai_compatible` or `offline`."""
    if settings.name == "offline":
        return "offline"
    if settings.provider:
        return settings.provider
    if environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true"):
        return "vertex"
    return "gemini" if gemini_key(settings, environ) or settings.name.startswith("gemini") else "offline"


def gemini_key(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> str:
    """Return the Gemini key, '' when there is none."""
    return settings.api_key or environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY") or ""
