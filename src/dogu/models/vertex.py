"""Access to Gemini on Vertex AI by Google's application default credentials; loads `google-auth` when first used."""

from __future__ import annotations

import re
from typing import Any, Protocol, cast
from urllib.parse import quote

import anyio
import anyio.to_thread

from dogu.extras import install_command
from dogu.language import redacted, sentence, told
from dogu.models.events import ModelError, ModelErrorKind

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LOG_IN = sentence("Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS.")


class Credentials(Protocol):
    """What google-auth gives."""

    valid: bool
    token: str | None

    def refresh(self, request: Any) -> None:
        """Fetch a token."""
        ...


class VertexAccess:
    """A project and a location of Vertex AI. `credentials` None: the machine's own, looked up at first use."""

    wraps_count_request = False

    def __init__(
        self, project: str, location: str = "global", base_url: str = "", credentials: Credentials | None = None
    ) -> None:
        self._project = project
        self._location = location or "global"
        self.base_url = (base_url or _host(self._location)).rstrip("/")
        self._credentials = credentials
        self._lock: anyio.Lock | None = None

    def url(self, model: str, version: str, method: str) -> str:
        """Return the address of a method of the model."""
        version = "v1beta1" if version == "v1beta" else version
        path = model if model.startswith("publishers/") else f"publishers/google/models/{model}"
        place = f"projects/{quote(self._project)}/locations/{quote(self._location)}"
        return f"{self.base_url}/{version}/{place}/{quote(path)}:{method}"

    async def headers(self) -> dict[str, str]:
        """Return a bearer token, renewed in a thread when it has run out, and who pays for a user's login."""
        if not self._project:
            raise ModelError(ModelErrorKind.AUTH, told("Vertex AI needs a project: set GOOGLE_CLOUD_PROJECT."))
        if not re.fullmatch(r"[a-z0-9:.-]+", self._project) or not re.fullmatch(r"[a-z0-9-]+", self._location):
            message = told(
                "{project!r} in {location!r} isn't a project and location: check GOOGLE_CLOUD_PROJECT.",
                project=self._project,
                location=self._location,
            )
            raise ModelError(ModelErrorKind.AUTH, message)
        if self._lock is None:
            self._lock = anyio.Lock()
        async with self._lock:
            credentials = await anyio.to_thread.run_sync(self._renewed)
        headers = {"authorization": f"Bearer {credentials.token}"}
        if payer := getattr(credentials, "quota_project_id", None):
            headers["x-goog-user-project"] = payer
        return headers

    def redact(self, text: str) -> str:
        """Return the text without the token."""
        token = self._credentials.token if self._credentials else None
        return redacted(text, token, "[token]") if token else text

    def _renewed(self) -> Credentials:
        try:
            import google.auth
            import google.auth.exceptions
            from google.auth.transport.requests import Request
        except ImportError:
            message = told("Vertex AI needs google-auth: {command}", command=install_command("vertex"))
            raise ModelError(ModelErrorKind.AUTH, message) from None
        auth = cast("Any", google.auth)
        try:
            if self._credentials is None:
                self._credentials = cast("Credentials", auth.default(scopes=[_SCOPE])[0])
            if not self._credentials.valid:
                self._credentials.refresh(Request())
        except google.auth.exceptions.DefaultCredentialsError:
            raise ModelError(
                ModelErrorKind.AUTH, told("No Google credentials were found. {log_in}", log_in=told(_LOG_IN))
            ) from None
        except google.auth.exceptions.RefreshError:
            raise ModelError(
                ModelErrorKind.AUTH, told("The Google credentials have expired. {log_in}", log_in=told(_LOG_IN))
            ) from None
        except google.auth.exceptions.TransportError:
            message = told("Google's login server can't be reached. Check the network.")
            raise ModelError(ModelErrorKind.NETWORK, message, most_tries=3) from None
        if not self._credentials.token:
            raise ModelError(ModelErrorKind.AUTH, told("Google gave no token. {log_in}", log_in=told(_LOG_IN)))
        return self._credentials


def _host(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
