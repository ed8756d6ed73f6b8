"""A failed call in words for the person."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.contract import ErrorKind
from dogu.contract.result import ToolFailure
from dogu.language import PSEUDO, speak
from dogu.serve.failures import failure_words
from sentences import write_known_catalog


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_known_catalog(tmp_path_factory.mktemp("locale"))


@pytest.fixture(autouse=True)
def known_catalogs(english_again: None, catalogs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(catalogs))


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_failure_is_said_with_its_english_key(kind: ErrorKind) -> None:
    error = ToolFailure(kind, "File not found: /w/a.txt.")
    assert failure_words(error) == "File not found: /w/a.txt."
    speak(PSEUDO)
    first, own = failure_words(error).split("\n")
    assert first.startswith("⟦")
    assert first.endswith(f"⟧ ({kind})")
    assert own == "File not found: /w/a.txt."
