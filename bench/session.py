"""What a headless session costs against a fake Gemini server, as a whole process."""

from __future__ import annotations

import json
import os
import sys
import tempfile

from bench.measure import Run, row, run, several
from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call

_PROGRAM = os.path.join(os.path.dirname(sys.executable), "dogu")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(50):
            with open(os.path.join(folder, f"file{number}.txt"), "w", encoding="utf-8") as file:
                file.write(f"the text of file {number}\n" * 20)
        one = several(**_command(folder, 0))  # pyright: ignore[reportArgumentType]  (a mapping of mixed values)
        row(
            "headless one-turn answer",
            f"{one.cpu_s:.2f} s CPU, {one.peak_mb:.0f} MB (status {one.status})",
            "0.30 s, 60 MB",
        )
        hundred = _with_calls(folder, 100)
        reached = f"{hundred.cpu_s:.2f} s CPU, {hundred.peak_mb:.0f} MB (status {hundred.status})"
        row("100 tool calls, one a turn", reached, "0.8 s CPU")
        ten, more, most = (_with_calls(folder, count).cpu_s for count in (10, 510, 1010))
        first, last = (more - ten) / 500, (most - more) / 500
        reached = f"{first * 1000:.1f} ms / {last * 1000:.1f} ms a turn = {last / first:.2f} x"
        row("turns 511-1,010 against turns 11-510, CPU a turn", reached, "no dearer")


def _command(folder: str, calls: int) -> dict[str, object]:
    server = FakeGemini(lambda request: _turn(request, folder, calls))
    server.__enter__()
    settings = os.path.join(folder, "settings.json")
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({"model": {"maxSessionTurns": 5000}}, file)
    environ = {"GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": server.base_url, "HOME": folder}
    return {"command": [_PROGRAM, "-p", "go", "--settings", settings], "environ": environ, "cwd": folder}


def _with_calls(folder: str, calls: int) -> Run:
    return run(**_command(folder, calls))  # pyright: ignore[reportArgumentType]  (a mapping of mixed values)


def _turn(request: GeminiRequest, folder: str, calls: int) -> Turn | str:
    done = sum("functionResponse" in part for content in request.contents for part in content.get("parts", ()))
    if done >= calls:
        return "All done."
    return Turn(calls=[call("read_file", path=f"{folder}/file{done % 50}.txt", offset=done // 50 % 20)])
