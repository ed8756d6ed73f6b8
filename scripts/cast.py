"""Records a session of the real program in a terminal, as an asciinema cast and an animated SVG: `make casts`.

The program, its tools and its screen are real; the model is `dogu.testing`'s fake Gemini, with a script a language.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
from cast_svg import animated_svg
from cast_words import SCENES, Scene

from dogu.serve.terminal.tour import write_sample_project
from dogu.testing import FakeGemini

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "casts"
COLUMNS, ROWS = 88, 30
_TYPING_S = 0.045
_LONGEST_PAUSE_S = 1.6  # of the cast; the session itself takes the time it takes


@dataclass
class Recording:
    """What the terminal printed, and when: `events` are (seconds from the start, text)."""

    events: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    _began: float = field(default_factory=time.monotonic)

    def write(self, text: str) -> None:
        """Take what the program printed."""
        self.events.append((time.monotonic() - self._began, text))

    def flush(self) -> None:
        """Nothing is held back."""

    def calm(self) -> list[tuple[float, str]]:
        """Return the events with long pauses shortened."""
        calm: list[tuple[float, str]] = []
        cut = before = 0.0
        for when, text in self.events:
            cut += max(0.0, when - before - _LONGEST_PAUSE_S)
            calm.append((when - cut, text))
            before = when
        return calm


def record(language: str, scene: Scene) -> list[tuple[float, str]]:
    """Play the scene and return what was printed."""
    with tempfile.TemporaryDirectory() as folder, FakeGemini(scene.turns(f"{folder}/greeter")) as gemini:
        root, home = f"{folder}/greeter", f"{folder}/home"
        write_sample_project(root)
        os.mkdir(home)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "GEMINI_API_KEY": "a-key-of-the-fake",
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        }
        recording = Recording()
        child: pexpect.spawn[str] = pexpect.spawn(
            sys.executable,
            ["-m", "dogu", "--lang", language, "--root", root],
            env=environment,
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            timeout=30,
        )
        child.logfile_read = recording
        play(child, scene.steps)
        child.close(force=True)
    return recording.calm()


def play(child: pexpect.spawn[str], steps: Sequence[tuple[str, str]]) -> None:
    """Wait for each step's text on the screen, then type its keys as a user would."""
    for awaited, keys in steps:
        child.expect(awaited)
        settle(child, 0.9)
        for key in keys:
            child.send(key)
            settle(child, _TYPING_S)
    settle(child, 2.0)


def settle(child: pexpect.spawn[str], seconds: float) -> None:
    """Read what is printed for a while."""
    child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=seconds)


def cast_file(language: str, events: Sequence[tuple[float, str]]) -> str:
    """Return the recording as an asciicast, version 2."""
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "dogu", "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps({**header, "language": language})]
    lines += [json.dumps([round(when, 3), "o", text], ensure_ascii=False) for when, text in events]
    return "\n".join(lines) + "\n"


def main(languages: Sequence[str]) -> int:
    """Record the languages named, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for language in languages or SCENES:
        events = record(language, SCENES[language])
        (FOLDER / f"dogu.{language}.cast").write_text(cast_file(language, events), encoding="utf-8")
        (FOLDER / f"dogu.{language}.svg").write_text(animated_svg(events, COLUMNS, ROWS), encoding="utf-8")
        print(f"{language}: {events[-1][0]:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
