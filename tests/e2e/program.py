"""The program as a process, in a workspace and a home of its own."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import preloaded
from preloaded import Preloaded

PROGRAM = [sys.executable, "-m", "dogu"]
_LIMIT_S = 60
_LOADED = (
    *("dogu.commands." + name for name in ("call", "command_line", "config", "doctor", "jobs", "mcp", "acp", "print")),
    *("dogu.commands." + name for name in ("sessions", "terminal", "tools", "undo")),
    *("dogu.models.gemini", "dogu.models.http_model", "dogu.models.transport", "dogu.policy.commands.judge"),
    *("dogu.app.built_in", "dogu.app.checks", "dogu.agent.context.files", "dogu.agent.extensions.commands"),
    *("dogu.workspace.edit_match", "dogu.workspace.layer.settling", "dogu.workspace.ignore.lookup"),
    *("dogu.workspace.file_view", "dogu.workspace.sandbox.proxy", "e2e.known_machine"),
    *("dogu.serve.call", "dogu.serve.run_printers", "dogu.serve.mcp.door", "dogu.serve.mcp.asking"),
    *("dogu.serve.terminal." + name for name in ("conversation", "live_screen", "markdown", "opening", "risks")),
    *("dogu.serve.acp.door", "rich.markdown", "pygments.lexers.shell"),
    *("dogu.runtime.discovery.mcp.servers", "acp.schema", "anyio._backends._asyncio", "httpcore2", "truststore"),
)
_KEPT = ("DOGU_PLATFORM", "PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")


@dataclass
class Program:
    """`root` is the workspace, `home` an empty home; `environ` what the program sees, no key among it."""

    root: Path
    home: Path

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {**kept, "HOME": str(self.home), "TERM": "xterm-256color", **more}

    @contextmanager
    def here(self, **more: str) -> Generator[None]:
        """Let this process have the program's environment, and stand in its home, for what is served without a process."""
        before = {**os.environ}
        _set_environ(self.environ(**more))
        try:
            with chdir(self.home):
                yield
        finally:
            _set_environ(before)

    def settle(self, settings: str) -> None:
        """Write the user's settings."""
        (self.home / ".dogu").mkdir(exist_ok=True)
        (self.home / ".dogu" / "settings.json").write_text(settings)

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        environ: dict[str, str] | None = None,
        begin: Sequence[str] = PROGRAM[1:],
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end, in a process that has its modules loaded: what most runs cost is a start.

        `begin` is what Python is to run: another script that runs it. Where Python itself reads the environment, or
        others look at the process, it is to be started by other means.
        """
        known = self.environ(**(environ or {}))
        if os.name != "nt":
            return _loaded().run([*begin, *words], str(self.root), known, stdin, _LIMIT_S)
        return subprocess.run(
            [sys.executable, *begin, *words],
            cwd=self.root,
            env=known,
            input=stdin,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )


def ready_program() -> list[str]:
    """Return the words that run the program in a process that has its modules loaded; see `Program.run`.

    Signals reach it, but it has another number than what was started, and no terminal by name.
    """
    return (
        PROGRAM if os.name == "nt" else [sys.executable, "-I", "-S", preloaded.__file__, _loaded().socket, *PROGRAM[1:]]
    )


@cache
def _loaded() -> Preloaded:
    loaded = Preloaded(*_LOADED)
    atexit.register(loaded.close)
    return loaded


def program_in(folder: Path) -> Program:
    """Make a workspace and a home in a folder."""
    root, home = folder / "project", folder / "home"
    root.mkdir()
    home.mkdir()
    return Program(root, home)


def _set_environ(environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
