"""Prints what a run costs beside codex and gemini-cli, all against one server on loopback: CPU and peak memory.

`npm install --prefix DIR @openai/codex @google/gemini-cli`, then `DOGU_BENCH_PEERS=DIR python -m bench peers`. The
programs take turns, so that their ratios hold on a busy machine. Each asks a first question and answers as many calls
as the server makes: a read of a file by the tool that each has for it (codex: a command), or a command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench import codex
from bench.measure import Run, median, run

_ROUNDS = 3
_SERVER = r"""
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from bench import codex

FOLDER = sys.argv[1]

def call_of(names, wants, number):
    file = f"{FOLDER}/{number % 100}.txt"  # equal calls would be a loop
    if wants == "command":
        line = "cat " + file
        return ("run_shell_command", {"command": line}) if "run_shell_command" in names else codex.shell(names, line)
    if "read_file" in names:
        return "read_file", {"file_path" if "read_file:file_path" in names else "path": file}
    return call_of(names, "command", number)

def names_of(schemas):
    fields = {f"{name}:{field}" for name, schema in schemas.items() for field in schema.get("properties", ())}
    return set(schemas) | fields

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self): self.say(b"{}")
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        _, wants, calls, *rest = self.path.split("/")
        if rest[-1].startswith("responses"): return self.say(responses(body, wants, int(calls)), "text/event-stream")
        if "streamGenerateContent" in self.path: return self.say(gemini(body, wants, int(calls)), "text/event-stream")
        self.say(json.dumps(chunk([{"text": "{}"}])).encode())
    def say(self, data, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

def responses(body, wants, calls):
    names = names_of({tool.get("name"): tool.get("parameters") or {} for tool in body.get("tools") or []})
    done = sum(item.get("type") == "function_call_output" for item in body["input"])
    return codex.stream(done, call_of(names, wants, done) if done < calls else None)

def chunk(parts):
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}

def gemini(body, wants, calls):
    declared = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    schemas = {each["name"]: each.get("parametersJsonSchema") or each.get("parameters") or {} for each in declared}
    names = names_of(schemas)
    done = sum("functionResponse" in part for content in body["contents"] for part in content.get("parts") or ())
    if done < calls and names:
        name, args = call_of(names, wants, done)
        more = {"description": "Read."} if wants == "command" else {}
        parts = [{"functionCall": {"name": name, "args": {**args, **more}}}]
    else:
        parts = [{"text": "Done."}]
    return b"data: " + json.dumps(chunk(parts)).encode() + b"\n\n"

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


class _Peers:
    """The programs, each with a home of its own; `root` is where they work."""

    def __init__(self, peers: str, base_url: str, home: Path) -> None:
        self.root, self._base_url, self._home = home / "project", base_url, home
        self._peers = peers
        self.root.mkdir(exist_ok=True)
        for number in range(100):
            (self.root / f"{number}.txt").write_text(f"hello {number}\n")
        (home / ".gemini").mkdir(exist_ok=True)
        (home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def commands(self, wants: str, calls: int) -> Mapping[str, tuple[list[str], dict[str, str]]]:
        """Return each program's command and environment for a run with so many calls."""
        url = f"{self._base_url}/{wants}/{calls}"
        dogu = [sys.executable, "-m", "dogu", "-p", "go", "--approval-mode", "yolo"]
        found: dict[str, tuple[list[str], dict[str, str]]] = {
            "dogu (Gemini)": ([*dogu, "--model", "gemini-2.5-pro"], {"GOOGLE_GEMINI_BASE_URL": url}),
            "dogu (Responses)": ([*dogu, "--model", "gpt-5.1", "--settings", self._settings(url)], {}),
        }
        if not self._peers:
            return {name: (command, self._environ(more)) for name, (command, more) in found.items()}
        gemini = [
            os.path.join(self._peers, "node_modules", ".bin", "gemini"),
            "-p",
            "go",
            "--approval-mode",
            "yolo",
            "-m",
            "gemini-2.5-pro",
            "--skip-trust",
        ]
        found |= {
            "codex": (codex.command(self._peers, f"{url}/v1", "go"), {}),
            "gemini-cli": (gemini, {"GOOGLE_GEMINI_BASE_URL": url}),
        }
        return {name: (command, self._environ(more)) for name, (command, more) in found.items()}

    def _settings(self, url: str) -> str:
        file = self._home / "responses.json"
        file.write_text(f'{{"model": {{"provider": "openai_responses", "baseUrl": "{url}/v1", "name": "gpt-5.1"}}}}')
        return str(file)

    def _environ(self, more: Mapping[str, str]) -> dict[str, str]:
        keys = {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}
        return {**keys, "HOME": str(self._home), "CODEX_HOME": str(self._home), "NO_COLOR": "1", **more}


def _compare(peers: _Peers, what: str, wants: str, calls: int) -> None:
    commands = peers.commands(wants, calls)
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(_ROUNDS + 1):
        for name, (command, environ) in commands.items():
            done = run(command, environ=environ, cwd=str(peers.root))
            runs[name] += [done] if number else []  # the first makes what the others find made
    print(what)
    theirs = median(runs["codex"]).cpu_s if "codex" in runs else 0.0
    for name, each in runs.items():
        middle = median(each)
        ratio = f"{middle.cpu_s / theirs:6.2f} x codex" if theirs else ""
        failed = f"  status {middle.status}" if middle.status else ""
        print(f"  {name:<18} {middle.cpu_s:7.2f} s CPU {middle.wall_s:7.2f} s {middle.peak_mb:6.0f} MB {ratio}{failed}")


def main() -> None:
    """Print the rows; without the other programs, dogu's alone."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        command = [sys.executable, "-c", _SERVER, str(home / "project")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                peers = _Peers(os.environ.get("DOGU_BENCH_PEERS", ""), server.stdout.readline().strip(), home)
                _compare(peers, "a turn of text", "read", 0)
                _compare(peers, "100 files read", "read", 100)
                _compare(peers, "100 commands", "command", 100)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
