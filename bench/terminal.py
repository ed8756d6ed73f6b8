"""What the terminal costs: the first prompt in a loaded home, echoes while text streams and tools flood, memory."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pexpect
import psutil

from bench.measure import row
from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call

_PROGRAM = os.path.join(os.path.dirname(sys.executable), "dogu")
_FILES, _SESSIONS, _SERVERS, _CALLS = 200_000, 50, 10, 1_000
_KEYS = "αβγδεζηθικλμνξοπρστυφχψω"  # nothing else that is drawn has them


def main() -> None:
    """Print the table."""
    with _place() as (home, root):
        _make_files(root)
        _make_sessions(home, root)
        # First, while this process is small: forking it costs what it has in memory.
        _first_prompt(home, root)
        _completion(home, root)
        _idle(home, root)
    with _place() as (home, root):
        _memory(home, root)
        _echoes(home, root)


@contextmanager
def _place() -> Generator[tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="dogu-bench-") as folder:
        home, root = os.path.join(folder, "home"), os.path.join(folder, "root")
        os.makedirs(home)
        os.makedirs(root)
        yield home, root


def _make_files(root: str) -> None:
    for number in range(_FILES // 100):
        folder = os.path.join(root, f"package{number // 50:03}", f"module{number:04}")
        os.makedirs(folder)
        for name in range(100):
            os.close(os.open(os.path.join(folder, f"source_file_{name:02}.py"), os.O_CREAT | os.O_WRONLY))


def _make_sessions(home: str, root: str) -> None:
    """Hold real sessions, so that they are what earlier ones are."""
    with FakeGemini(lambda _: "An answer of some words.") as server, _talking(home, root, server) as child:
        _say(child, "go", "some words")
    kept = max(os.listdir(os.path.join(home, ".dogu", "sessions")))
    source = os.path.join(home, ".dogu", "sessions", kept)
    for number in range(_SESSIONS - 1):
        target = os.path.join(home, ".dogu", "sessions", f"20260101-0000{number:02}-000000-{number:04x}")
        os.makedirs(target)
        for name in os.listdir(source):
            with open(os.path.join(source, name), "rb") as read, open(os.path.join(target, name), "wb") as written:
                written.write(read.read())


@contextmanager
def _talking(home: str, root: str, server: FakeGemini, *words: str) -> Generator[pexpect.spawn[str]]:
    child = _spawn(home, root, server, *words)
    child.expect("›")
    try:
        yield child
    finally:
        child.close(force=True)


def _spawn(home: str, root: str, server: FakeGemini, *words: str) -> pexpect.spawn[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
    environ = {**kept, "HOME": home, "TERM": "xterm-256color", "COLORFGBG": "15;0", "GEMINI_API_KEY": "k"}
    environ["GOOGLE_GEMINI_BASE_URL"] = server.base_url
    child: pexpect.spawn[str] = pexpect.spawn(
        _PROGRAM, list(words), env=environ, cwd=root, encoding="utf-8", timeout=60, dimensions=(40, 100)
    )
    child.delaybeforesend = None
    child.logfile_read = _Answers(child)
    return child


class _Answers:
    """Answers, as terminals do, how large they are."""

    def __init__(self, child: pexpect.spawn[str]) -> None:
        self._child = child

    def write(self, text: str) -> None:
        self._child.send("\x1b[40;100R" * text.count("\x1b[6n"))

    def flush(self) -> None:
        return None


def _say(child: pexpect.spawn[str], text: str, answer: str) -> None:
    child.send(text + "\r")
    child.expect(answer)


def _first_prompt(home: str, root: str) -> None:
    """With servers that never answer: the prompt must not wait for them."""
    silent = {f"server{n}": {"command": sys.executable, "args": ["-c", "input()"]} for n in range(_SERVERS)}
    settings = os.path.join(home, "servers.json")
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": silent}, file)
    times: list[float] = []
    with FakeGemini([]) as server:
        for _ in range(8):
            started = time.perf_counter()
            child = _spawn(home, root, server, "--settings", settings)
            child.expect("›")
            times.append((time.perf_counter() - started) * 1000)
            child.close(force=True)
    times = sorted(times[1:])
    what = f"first prompt: {_SESSIONS} sessions, {_SERVERS} MCP servers, {_FILES:,} files"
    row(what, f"{statistics.median(times):.0f} ms (best {times[0]:.0f}, worst {times[-1]:.0f})", "250 ms")


def _echoes(home: str, root: str) -> None:
    words = "".join(f"Some **words** and `code` of line {n}, 日本語も。\n\n" for n in range(6_000))

    def burst(_request: GeminiRequest) -> Turn:
        return Turn(text=words, pieces=20_000)

    rows = "".join(f"| row {n} | **{n}** | `call({n})` | 日本語 | some words of it |\n" for n in range(6_000))
    table = "| row | number | call | text | words |\n|---|---|---|---|---|\n" + rows

    def table_burst(_request: GeminiRequest) -> Turn:
        return Turn(text=table, pieces=20_000)

    def flood(request: GeminiRequest) -> Turn:
        if request.responses:
            return Turn(text="over")
        return Turn(calls=[call("run_shell_command", command="timeout 8 yes 'a line of output of some length'")])

    with FakeGemini(burst) as server, _talking(home, root, server) as child:
        _say(child, "go", "line 3,")
        _tell_echoes("echo of a key while Markdown bursts", _echo_times(child))
    with FakeGemini(table_burst) as server, _talking(home, root, server) as child:
        _say(child, "go", "row 3 ")
        _tell_echoes("echo of a key while a table bursts", _echo_times(child))
    with FakeGemini(flood) as server, _talking(home, root, server, "--approval-mode", "yolo") as child:
        _say(child, "go", "Shell")
        _tell_echoes("echo of a key while a tool floods", _echo_times(child))


def _tell_echoes(what: str, times: list[float]) -> None:
    ordered = sorted(times)
    worst, most = ordered[-1], ordered[int(len(ordered) * 0.95)]
    row(what, f"median {statistics.median(ordered):.0f} ms, 95 % {most:.0f} ms, worst {worst:.0f} ms", "30 ms")


def _echo_times(child: pexpect.spawn[str]) -> list[float]:
    """Type one key after the other; measure until the input line with it is written."""
    times: list[float] = []
    for key in _KEYS:
        _drain(child)
        started = time.perf_counter()
        child.send(key)
        child.expect(key)
        times.append((time.perf_counter() - started) * 1000)
    return times


def _drain(child: pexpect.spawn[str]) -> None:
    deadline = time.perf_counter() + 0.05
    while time.perf_counter() < deadline:
        try:
            child.read_nonblocking(1 << 16, 0.01)
        except pexpect.TIMEOUT:
            continue
    child.buffer = ""


def _completion(home: str, root: str) -> None:
    with FakeGemini([]) as server, _talking(home, root, server) as child:
        time.sleep(6)  # the index is made in the background
        child.send("@source_file_4")
        child.expect("source_file_42")
        child.send("\x15")
        _drain(child)
        started = time.perf_counter()
        child.send("@module1234/42")
        child.expect("module1234/source_file_42")
        row(
            f"@ completion among {_FILES:,} files, 14 keys",
            f"{(time.perf_counter() - started) * 1000:.0f} ms",
            "instant",
        )
        row("memory with that index", f"{psutil.Process(child.pid).memory_info().rss / 1e6:.0f} MB", "90 MB")


def _idle(home: str, root: str) -> None:
    with FakeGemini([]) as server, _talking(home, root, server) as child:
        time.sleep(8)
        process = psutil.Process(child.pid)
        before = _cpu_s(process)
        _read_for(child, 10)
        row("CPU of an idle prompt, in 10 s", f"{(_cpu_s(process) - before) * 1000:.0f} ms", "none")


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _read_for(child: pexpect.spawn[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            child.read_nonblocking(1 << 16, 0.2)
        except pexpect.TIMEOUT:
            continue


def _memory(home: str, root: str) -> None:
    for number in range(50):
        with open(os.path.join(root, f"file{number}.txt"), "w", encoding="utf-8") as file:
            file.write(f"the text of file {number}\n" * 40)
    settings = os.path.join(home, "turns.json")
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({"model": {"maxSessionTurns": 5000}}, file)
    done = threading.Event()
    with FakeGemini(_calling(root, done)) as server, _talking(home, root, server, "--settings", settings) as child:
        child.send("go\r")
        while not done.is_set():
            _read_for(child, 0.2)
        _read_for(child, 2)
        memory = psutil.Process(child.pid).memory_info().rss / 1e6
    row(f"memory after {_CALLS:,} tool calls", f"{memory:.0f} MB", "90 MB")


def _calling(root: str, done: threading.Event) -> Callable[[GeminiRequest], Turn | str]:
    count = 0

    def answer(_request: GeminiRequest) -> Turn | str:
        nonlocal count
        if count >= _CALLS:
            done.set()
            return "All done."
        count += 1
        return Turn(calls=[call("read_file", path=f"{root}/file{count % 50}.txt", offset=count // 50 % 20)])

    return answer
