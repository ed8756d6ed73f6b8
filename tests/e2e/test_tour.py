"""The tour plays in every language: the offline model understands what it is asked."""

from __future__ import annotations

import pytest

from dogu.language import LANGUAGES
from e2e.program import Program


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tour_plays_in_every_language(program: Program, language: str) -> None:
    done = program.run("tour", "--lang", language, environ={"NO_COLOR": "1"})
    shown = done.stdout.decode()
    assert done.returncode == 0, shown
    assert sum(line.startswith("›") for line in shown.splitlines()) == 6
    assert '-GREETING = "Hello"' in shown
    assert "✗" not in shown
