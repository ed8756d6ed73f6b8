"""Which hosts a sandboxed command may reach: asked once, remembered for the folder, never for a private address."""

from pathlib import Path
from typing import Any

import pytest

from dogu.policy.policy import Policy
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.host_questions import HostQuestions, RememberedHosts
from dogu.runtime.questions import Declined, Elicitation, Given

pytestmark = pytest.mark.anyio


class User:
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Elicitation] = []

    async def __call__(self, elicitation: Elicitation) -> Given | Declined | None:
        self.asked.append(elicitation)
        answer = self.answers.pop(0)
        return Given({"answer": answer}) if answer else None

    def choices(self) -> list[Any]:
        return [choice["const"] for choice in self.asked[-1].fields["answer"]["oneOf"]]


def questions(user: User, folder: Path, mode: str = "default") -> HostQuestions:
    return HostQuestions(Policy(mode=ApprovalMode(mode)), user, RememberedHosts(str(folder / "hosts.json"), "/root"))


async def test_once_is_for_once_and_always_outlives_the_session(tmp_path: Path) -> None:
    user = User("once", "always", "no")
    ask = questions(user, tmp_path)
    assert await ask("make", "example.com", 443, ())
    assert await ask("make", "example.com", 443, ())
    assert await questions(user, tmp_path)("make", "example.com", 443, ())
    assert len(user.asked) == 2
    assert not await ask("make", "example.org", 443, ())


async def test_the_registries_are_one_choice(tmp_path: Path) -> None:
    user = User("registries")
    ask = questions(user, tmp_path)
    assert await ask("npm ci", "registry.npmjs.org", 443, ())
    assert "npm" in user.asked[0].message
    assert await ask("pip install x", "files.pythonhosted.org", 443, ())
    assert len(user.asked) == 1


async def test_where_nobody_is_there_a_host_is_refused_but_in_yolo(tmp_path: Path) -> None:
    assert not await questions(User(""), tmp_path)("make", "example.com", 443, ())
    assert await questions(User(), tmp_path, "yolo")("make", "example.com", 443, ())


async def test_a_private_address_is_asked_about_each_time(tmp_path: Path) -> None:
    user = User("once", "no", "no")
    ask = questions(user, tmp_path, "yolo")
    assert await ask("make", "inside.example", 443, ("10.0.0.5",))
    assert user.choices() == ["once", "no"]
    assert "10.0.0.5" in user.asked[0].message
    assert not await ask("make", "inside.example", 443, ("10.0.0.5",))
