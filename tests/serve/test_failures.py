"""A failed call in words for the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.cli import _tell_defect
from dogu.contract import ErrorKind
from dogu.contract.result import ToolFailure
from dogu.language import PSEUDO, speak, told
from dogu.serve.defects import failure_of
from dogu.serve.failures import failure_parts, failure_words
from sentences import write_known_catalog


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_known_catalog(tmp_path_factory.mktemp("locale"))


@pytest.fixture(autouse=True)
def known_catalogs(english_again: None, catalogs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(catalogs))


@pytest.mark.parametrize("kind", [kind for kind in ErrorKind if kind is not ErrorKind.DECLINED])
def test_every_kind_of_failure_is_said_with_its_english_key(kind: ErrorKind) -> None:
    error = ToolFailure(kind, "File not found: /w/a.txt.")
    assert failure_words(error) == "File not found: /w/a.txt."
    speak(PSEUDO)
    first, own = failure_words(error).split("\n")
    assert first.startswith("⟦")
    assert first.endswith(f"⟧ ({kind})⟧")
    assert own == "File not found: /w/a.txt."


def test_who_declined_is_told_so_and_not_what_the_model_hears() -> None:
    error = ToolFailure(ErrorKind.DECLINED, "The user declined this call.")
    assert failure_words(error) == "Declined. Nothing was done."


def test_the_words_for_the_model_stand_apart_unless_the_kind_tells_little() -> None:
    missing, remote = ToolFailure(ErrorKind.NOT_FOUND, "Not there."), ToolFailure(ErrorKind.REMOTE_FAILED, "It said 5.")
    assert failure_parts(missing) == ("It wasn't found.", "Not there.")
    assert failure_parts(remote) == ("It said 5.", "")
    speak(PSEUDO)
    assert failure_parts(missing)[1] == "Not there."
    assert failure_parts(remote)[0].endswith("(remote_failed)⟧\nIt said 5.")
    assert failure_parts(remote)[1] == ""


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), 54, "machine"),
        (OSError(24, "Too many open files"), 54, "machine"),
        (MemoryError(), 54, "machine"),
        (RuntimeError("oops"), 70, "defect"),
    ],
)
def test_an_exception_ends_the_row_and_the_program_alike(error: Exception, code: int, kind: str) -> None:
    failure = failure_of(error)
    assert (failure.code, failure.kind) == (code, kind)
    assert _tell_defect(error) == code


def test_of_a_refusal_the_user_is_told_why_and_not_what_the_model_may_do_instead() -> None:
    model = "Refused: {reason}. Nothing was run. Don't try it in another spelling. What may run: {allowed}."
    error = ToolFailure(ErrorKind.REFUSED, told(model, reason=told("no command"), allowed="ls"))
    assert failure_words(error) == "Refused: no command. Nothing was run."
