"""A page in a headless Chromium, driven over a pipe by the DevTools protocol (chromedevtools.github.io)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_READS_BYTES = 1 << 20


def program() -> str:
    """Find the program; skip the test where there is none, or no /proc, which Linux' own wants."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip(f"no Chromium on this machine ({', '.join(_NAMES)})")
    if sys.platform == "linux" and not Path("/proc/cpuinfo").exists():
        pytest.skip("no /proc, which Chromium wants")
    return found


class Page:
    """One page. `problems` are its console's errors and exceptions, `requests` the addresses that it asked for."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._count = 0
        self._session = ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def open(self, path: Path, width: int = 1000, *, is_dark: bool = False) -> None:
        """Open a file and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        self._ask("Page.navigate", url=path.as_uri())
        self._until("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page and return its JSON value."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def key(self, name: str, text: str = "") -> None:
        """Press and release a key."""
        code = {"Tab": 9, "Enter": 13, " ": 32}.get(name, ord(name[0].upper()))
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self._ask("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **more)

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self._ask("Input.insertText", text=text)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, msgspec.json.encode(message) + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def _until(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._from, _READS_BYTES)
            if not piece:
                raise AssertionError("Chromium has ended")
            self._rest += piece
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = msgspec.json.decode(line)
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.problems.append(str(params["entry"]["text"]))
            case "Network.requestWillBeSent":
                self.requests.append(str(params["request"]["url"]))
            case _:
                pass
        return message


@contextmanager
def opened_page(folder: Path) -> Generator[Page]:
    """Start a browser with a profile in `folder`, and end it."""
    found = program()
    (in_browser, to_browser), (from_browser, out_browser) = os.pipe(), os.pipe()
    words = [
        found,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
    ]
    script = f'exec "$0" "$@" 3<&{in_browser} 4>&{out_browser}'
    with subprocess.Popen(
        ["bash", "-c", script, *words],
        pass_fds=(in_browser, out_browser),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        os.close(in_browser)
        os.close(out_browser)
        try:
            yield Page(to_browser, from_browser)
        finally:
            os.close(to_browser)
            process.terminate()
            process.wait()
            os.close(from_browser)
