"""What every test shares: one async backend, and hypothesis without randomness or deadlines in CI."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from dogu.language import speak

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def english_again() -> Iterator[None]:
    """Let a test speak any language; those after it hear English."""
    yield
    speak("en")
