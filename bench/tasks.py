"""Prints keys and seconds that thirty everyday tasks take in dogu, gemini-cli and codex, typed into a real terminal.

`npm install --prefix DIR @openai/codex @google/gemini-cli`, then `DOGU_BENCH_PEERS=DIR python -m bench tasks`. tmux is
the terminal, a server on loopback the model. A task counts as done when its sign is on the screen; its seconds run from
its first key until then, the least of two tries, and a tenth of one is nothing: the screen is looked at so often. `?`
for seconds: its keys are those that the program's own help names, and weren't tried or led nowhere here. Most questions
of codex are among them: its sandbox doesn't start everywhere, and without it it asks nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import msgspec
import psutil

from bench import codex

_SERVER = r"""
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from bench import codex

MODELS = {"models": [{"name": f"models/gemini-2.5-{each}", "supportedGenerationMethods": ["generateContent"]}
                     for each in ("pro", "flash")]}

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self): self.say(json.dumps(MODELS).encode())
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.endswith("responses"): return self.say(responses(body), "text/event-stream")
        if "streamGenerateContent" in self.path: return self.say(gemini(body), "text/event-stream")
        self.say(json.dumps(chunk([{"text": "{}"}])).encode())
    def say(self, data, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

def chunk(parts):
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage}

def gemini(body):
    last = body["contents"][-1]["parts"]
    text = " ".join(part.get("text", "") for part in last)
    parts = [{"text": "Done."}]
    if not any("functionResponse" in part for part in last):
        if text.rstrip().endswith("slow"): time.sleep(20)
        call = lambda name, args: [{"functionCall": {"name": name, "args": args}}]
        if text.rstrip().endswith("run it"):
            parts = call("run_shell_command", {"command": "touch made.txt; seq 50", "description": "Count."})
        if text.rstrip().endswith("edit it"):
            parts = call("write_file", {"file_path": sys.argv[1] + "/new.txt", "content": "one\n"})
    return b"data: " + json.dumps(chunk(parts)).encode() + b"\n\n"

def responses(body):
    if json.dumps(body["input"][-1]).find("slow") > 0: time.sleep(20)
    return codex.stream(len(body["input"]), None)

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""
_NAMES = ("dogu", "gemini-cli", "codex")
_READY = {"dogu": "›", "gemini-cli": "Type your message", "codex": "Tip: "}
_KEY = re.compile(r"<([A-Za-z-]+)>|(.)", re.DOTALL)
_LONGEST_S = 20.0
_LONGEST_START_S = 90.0
_BETWEEN_KEYS_S, _STILL_S, _LONGEST_SETTLING_S = 0.1, 0.1, 1.0
_LOOK_S = 0.1
_TRIES = 2  # of which the quicker one counts: the machine may be busy
_AT_REST_S, _LONGEST_REST_S = 2.0, 20.0  # a program that draws itself several times as it starts loses keys until then


class Way(msgspec.Struct, frozen=True):
    """How one program does a task: what is typed `before` it, up to the text `ready`, its `keys`, and its `sign`.

    The signs are patterns. Without a sign the keys aren't tried; without keys there is no way.
    """

    keys: str = ""
    sign: str = ""
    before: str = ""
    ready: str = ""


def _same(keys: str, sign: str, before: str = "", ready: str = "") -> tuple[Way, Way, Way]:
    way = Way(keys, sign, before, ready)
    return way, way, way


_ASKED = "Enter picks", "Allow once"
TASKS: dict[str, tuple[Way, Way, Way]] = {
    "send a prompt": _same("hi<Enter>", r"Done\."),
    "send two lines": _same("a<C-j>b<Enter>", r"Done\."),
    "take the last prompt again": _same("<Up>", r"(?s)[›>] +hi\b.*[›>] +hi\b", "hi<Enter>", r"Done\."),
    "let a command run": (
        Way("y", r"Done\.", "run it<Enter>", _ASKED[0]),
        Way("<Enter>", r"Done\.", "run it<Enter>", _ASKED[1]),
        Way("y"),
    ),
    "refuse a command": (
        Way("n", "declined", "run it<Enter>", _ASKED[0]),
        Way("<Escape>", "cancelled", "run it<Enter>", _ASKED[1]),
        Way("<Escape>"),
    ),
    "always let it run": (
        Way("a", r"Done\.", "run it<Enter>", _ASKED[0]),
        Way("2", r"Done\.", "run it<Enter>", _ASKED[1]),
        Way("p"),
    ),
    "refuse it and say why": (
        Way("rno<Enter>", "declined", "run it<Enter>", _ASKED[0]),
        Way("<Escape>no<Enter>", "(?s)cancelled.*> no", "run it<Enter>", _ASKED[1]),
        Way("<Escape>no<Enter>"),
    ),
    "accept a change": (
        Way("y", r"Done\.", "edit it<Enter>", _ASKED[0]),
        Way("<Enter>", r"Done\.", "edit it<Enter>", _ASKED[1]),
        Way("y"),
    ),
    "correct a change in an editor": (
        Way("e", "Unchanged", "edit it<Enter>", _ASKED[0]),
        Way("3", "(?s)Apply this change", "edit it<Enter>", _ASKED[1]),
        Way(),
    ),
    "cancel an answer": _same("<Escape>", "(?i)cancelled|interrupted", "slow<Enter>", "(?i)esc "),
    "let edits pass, ask for commands": (
        Way("<BTab>", "auto_edit"),
        Way("<BTab>", "(?i)auto.?accept|accepting"),
        Way("/per<Enter><Down><Enter>"),
    ),
    "see the keys": (Way("?", "Ctrl-R"), Way("?", "(?i)ctrl ?\\+ ?r|reverse"), Way("?", "(?i)ctrl")),
    "search earlier input": (
        *_same("<C-r>hi<Enter>", r"(?s)[›>] +hi\b.*[›>] +hi\b", "hi<Enter>", r"Done\.")[:2],
        Way("<C-r>hi<Enter>", r"(?s)› hi\b.*› hi\b", "hi<Enter>", r"Done\."),
    ),
    "run a command of your own": _same("!ls<Enter>", r"apple\.txt"),
    "name a file": _same("@ap<Tab>", r"@?apple\.txt"),
    "take another model": (
        Way("/mo<Enter><Down><Enter>", "gemini-2.5-flash|changed|model is now"),
        Way("/mo<Enter><Enter><Down><Enter>", "(?i)model set|Manual|gemini-"),
        Way("/mo<Enter><Down><Enter><Enter>", "(?i)model changed|gpt"),
    ),
    "take other colors": (
        Way("/th<Enter><Down><Enter>", "Theme:"),
        Way("/th<Enter><Down><Enter>"),
        Way("/th<Enter><Down><Enter>"),
    ),
    "go on with another session": (
        Way("/res<Enter><Enter>", r"(?s)hi.*Done\.", "hi<Enter>/new<Enter>", "Type what you want"),
        Way("/res<Enter><Enter>"),
        Way("/res<Enter><Enter>"),
    ),
    "begin a new session": (
        Way("/ne<Enter>", "(?s)Done.*Type what you want", "hi<Enter>", r"Done\."),
        Way("/cle<Enter>", "Tips for getting started", "hi<Enter>", r"Done\."),
        Way("/ne<Enter>", "codex resume|OpenAI Codex", "hi<Enter>", r"Done\."),
    ),
    "undo a change": (
        Way("/un<Enter>", "new.txt", "edit it<Enter>y", r"Done\."),
        Way("/rew<Enter><Enter><Enter>"),
        Way(),
    ),
    "see what was changed": (
        Way("/di<Enter>", "(?s)Done.*new.txt", "edit it<Enter>y", r"Done\."),
        Way(),
        Way("/di<Enter>", "(?i)apple|no changes|diff"),
    ),
    "make room in the context": (
        Way("/com<Enter>", "compacted", "hi<Enter>", r"Done\."),
        Way("/comp<Enter>", "(?i)compress", "hi<Enter>", r"Done\."),
        Way("/com<Enter>", "(?i)compact", "hi<Enter>", r"Done\."),
    ),
    "copy the answer": (
        Way("/cop<Enter>", "clipboard|[Cc]op", "hi<Enter>", r"Done\."),
        Way("/cop<Enter>", "(?i)cop", "hi<Enter>", r"Done\."),
        Way("/cop<Enter>", "(?i)cop", "hi<Enter>", r"Done\."),
    ),
    "see tokens and costs": (
        Way("/st<Enter>", "Context:"),
        Way("/st<Enter>", "(?i)session stats|stats"),
        Way("/stat<Enter>", "(?i)session:|usage|tokens"),
    ),
    "edit the last prompt": (
        Way("<Escape><Escape>", r"› hi\s*\n", "hi<Enter>", r"Done\."),
        Way("<Escape><Escape><Enter><Enter>"),
        Way("<Escape><Escape><Enter>"),
    ),
    "leave": (
        Way("<C-d>", "dogu --resume|Pane is dead"),
        Way("<C-d><C-d>", "Pane is dead"),
        Way("<C-c><C-c>", "Pane is dead"),
    ),
    "write the prompt in an editor": (Way("<C-g>", "›"), Way("<C-x>", ">"), Way("<C-g>", "›")),
    "take back a message that waits": (
        Way("<Up>", "› then", "slow<Enter>then<Enter>", "⏎ then"),
        Way("<Up>"),
        Way("<M-Up>"),
    ),
    "see a result in full": (
        Way("<C-o>", r"(?s)#1.*\n +1\n|\b7\n", "run it<Enter>y", r"Done\."),
        Way("<C-o>"),
        Way("<C-t>"),
    ),
    "throw a draft away": _same("<C-c>", r"Cleared|Type your message|Ask Codex", "draft", "draft"),
}


class _Pane:
    """A program in tmux, in a project and a home of its own."""

    def __init__(self, name: str, peers: str, folder: Path) -> None:
        self._socket = f"bench-{uuid.uuid4().hex[:8]}"
        root, home = folder / "project", folder / "home"
        root.mkdir()
        (home / ".gemini").mkdir(parents=True)
        (home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        (root / "apple.txt").write_text("apple\n")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(root)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        url = (self._server.stdout.readline() if self._server.stdout else "").strip()
        trusted = f'projects."{root}".trust_level="trusted"'
        bin_folder = os.path.join(peers, "node_modules", ".bin")
        command = {
            "dogu": [sys.executable, "-m", "dogu", "--model", "gemini-2.5-pro"],
            "gemini-cli": [os.path.join(bin_folder, "gemini"), "-m", "gemini-2.5-pro", "--skip-trust"],
            "codex": [
                codex.program(peers),
                *("--no-alt-screen", *codex.provider(f"{url}/v1"), "-c", trusted),
            ],
        }[name]
        environ = {"HOME": str(home), "CODEX_HOME": str(home), "GOOGLE_GEMINI_BASE_URL": url, "EDITOR": "true"}
        environ |= {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k", "LC_ALL": "C.UTF-8", "TERM": "tmux-256color"}
        environ |= {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if key in os.environ}
        options = ["-f", "/dev/null", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]
        options += ["new-session", "-d", "-x", "100", "-y", "40", "-c", str(root), "env", "-i"]
        self._tmux(*options, *(f"{key}={value}" for key, value in environ.items()), *command)

    def press(self, keys: str, *, waits_s: float = 0.0) -> None:
        """Press keys one after the other, a little apart, as hands do; what follows an Enter waits for what it did."""
        for name, character in _KEY.findall(keys):
            self._tmux("send-keys", *([name] if name else ["-l", character]))
            if name:
                time.sleep(waits_s)
                self.settle()
            else:
                time.sleep(_BETWEEN_KEYS_S)

    def settle(self, still_s: float = _STILL_S, longest_s: float = _LONGEST_SETTLING_S) -> None:
        """Wait until the screen stands still: then one has seen what the key did."""
        deadline = time.monotonic() + longest_s
        before, now = "", "-"
        while before != now and time.monotonic() < deadline:
            time.sleep(still_s)
            before, now = now, self._tmux("capture-pane", "-p")

    def until(self, pattern: str, longest_s: float = _LONGEST_S) -> bool:
        """Wait for a pattern on the screen."""
        deadline = time.monotonic() + longest_s
        while time.monotonic() < deadline:
            if re.search(pattern, self._tmux("capture-pane", "-p", "-S", "-")):
                return True
            time.sleep(_LOOK_S)
        return False

    def close(self) -> None:
        """End it, with what it started and what would outlive its terminal."""
        leaders = map(int, self._tmux("list-panes", "-a", "-F", "#{pane_pid}").split())
        started = [each for pid in leaders for each in _family(pid)]
        self._tmux("kill-server")
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._server.terminate()
        self._server.wait()

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self._socket, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _family(pid: int) -> list[psutil.Process]:
    try:
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def count(keys: str) -> int:
    """Return how many keys are pressed."""
    return len(_KEY.findall(keys))


def _seconds(name: str, way: Way, peers: str) -> float | None:
    """Return how long it took from the first key until it was seen to be done; None where it wasn't."""
    folder = Path(tempfile.mkdtemp(prefix="dogu-bench-"))
    pane = _Pane(name, peers, folder)
    try:
        if not pane.until(f"{_READY[name]}|Trust and continue", _LONGEST_START_S):
            return None
        if pane.until("Trust and continue", 0.5):
            pane.press("<Enter>")
        pane.until(_READY[name], _LONGEST_START_S)
        pane.settle(_AT_REST_S, _LONGEST_REST_S)
        pane.press(way.before, waits_s=1.0)
        if way.before and not pane.until(way.ready):
            return None
        time.sleep(1)
        began = time.monotonic()
        pane.press(way.keys)
        return time.monotonic() - began if pane.until(way.sign) else None
    finally:
        pane.close()
        shutil.rmtree(folder, ignore_errors=True)


def _in_turn(ways: tuple[Way, Way, Way], peers: str) -> list[float | None]:
    """Return what each program took: one after the other, so that a busy machine is so for all."""
    times: list[float | None] = []
    for name, way in zip(_NAMES, ways, strict=True):
        is_tried = bool(way.sign) and (name == "dogu" or bool(peers))
        times.append(_seconds(name, way, peers) if is_tried else None)
    return times


def main() -> None:
    """Print keys and seconds, and in how many tasks no other program needs fewer; what wasn't seen done has a `?`."""
    peers = os.environ.get("DOGU_BENCH_PEERS", "")
    least = compared = quickest = 0
    for task, ways in TASKS.items():
        tries = [_in_turn(ways, peers) for _ in range(_TRIES)]
        seconds = [
            min((each for each in times if each is not None), default=None) for times in zip(*tries, strict=True)
        ]
        shown: list[str] = []
        for way, least_s in zip(ways, seconds, strict=True):
            took = f"{least_s:.1f} s" if least_s is not None else "?"
            shown.append(f"{count(way.keys)} {took:>6}" if way.keys else "no way")
        others = [count(way.keys) for way in ways[1:] if way.keys]
        is_least = count(ways[0].keys) <= min(others, default=99)
        least += is_least
        own, *theirs = seconds
        if own is not None and any(each is not None for each in theirs):
            compared += 1
            quickest += own <= min(each for each in theirs if each is not None) + _LOOK_S
        sys.stdout.write(f"{task:<36} {shown[0]:>10} {shown[1]:>10} {shown[2]:>10}{'' if is_least else '   more'}\n")
        sys.stdout.flush()
    sys.stdout.write(f"at most the fewest keys: {least} of {len(TASKS)}\n")
    sys.stdout.write(f"at most the fewest seconds: {quickest} of {compared} that another was seen to do, too\n")
