"""Python's parser in several threads, with garbage that runs code when it goes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator

import pytest

from dogu.workspace.python_text import python_tree

TEXT = "x = [f(a, b) for a in range(3) if a]\n" * 1_000


@pytest.fixture
def eager_threads() -> Generator[None]:
    """Let threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Garbage:
    """Holds itself, and runs Python code when it is collected: where the parser makes an object, threads change places."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        for _ in range(2_000):
            pass


@pytest.mark.usefixtures("eager_threads")
def test_a_sound_text_is_sound_in_each_of_many_threads() -> None:
    read: list[int] = []

    def deeper(count: int, act: Callable[[], None]) -> None:
        if count:
            deeper(count - 1, act)
        else:
            act()

    def parse() -> None:
        for _ in range(3):
            for _ in range(50):
                Garbage()
            read.append(len(python_tree(TEXT).body))

    threads = [threading.Thread(target=deeper, args=(depth, parse)) for depth in (5, 60, 120)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [1_000] * 9
