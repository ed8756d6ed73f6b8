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
from cast_svg import animated_svg, still_svg
from cast_words import FIRST_HOURS, SCENES, STILLS, Scene, Still

from dogu.commands.tour import write_sample_project
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


def record(
    language: str, scene: Scene, columns: int = COLUMNS, rows: int = ROWS, background: str = "15;0"
) -> list[tuple[float, str]]:
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
            "COLORFGBG": background,
            "LANG": "C.UTF-8",
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        }
        if scene.has_key:
            environment["GEMINI_API_KEY"] = "a-key-of-the-fake"
        recording = Recording()
        child: pexpect.spawn[str] = pexpect.spawn(
            sys.executable,
            ["-m", "dogu", "--lang", language, "--root", root],
            env=environment,
            dimensions=(rows, columns),
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


def draw_again() -> None:
    """Draw the animations of the recordings that are there."""
    for file in sorted(FOLDER.glob("*.cast")):
        _, *lines = file.read_text(encoding="utf-8").splitlines()
        events = [(when, text) for when, _, text in map(json.loads, lines)]
        file.with_suffix(".svg").write_text(animated_svg(events, COLUMNS, ROWS), encoding="utf-8")


def draw_still(still: Still) -> None:
    """Play a still's scene at its width, and draw the last screen."""
    background = "0;15" if still.is_light else "15;0"
    events = record("en", still.scene, still.columns, still.rows, background)
    shade = "light" if still.is_light else "dark"
    file = FOLDER / f"{still.name}.{still.columns}.{shade}.svg"
    file.write_text(still_svg(events, still.columns, still.rows, is_light=still.is_light), encoding="utf-8")
    print(file.name)


def main(words: Sequence[str]) -> int:
    """Record the languages named, or all; `first-hour` a newcomer's, `stills` single screens, `again` what is there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if "again" in words:
        draw_again()
    for still in STILLS if "stills" in words or not words else ():
        draw_still(still)
    for language in [word for word in words if word in SCENES] if words else SCENES:
        keep(f"dogu.{language}", language, SCENES[language])
    for language, scene in FIRST_HOURS.items() if "first-hour" in words or not words else ():
        keep(f"first-hour.{language}", language, scene)
    return 0


def keep(name: str, language: str, scene: Scene) -> None:
    """Record a scene, and write the recording and its animation."""
    events = record(language, scene)
    (FOLDER / f"{name}.cast").write_text(cast_file(language, events), encoding="utf-8")
    (FOLDER / f"{name}.svg").write_text(animated_svg(events, COLUMNS, ROWS), encoding="utf-8")
    print(f"{name}: {events[-1][0]:.0f} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
