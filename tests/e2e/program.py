"""The program as a process, in a workspace and a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = [sys.executable, "-m", "dogu"]
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
        self, *words: str, stdin: bytes = b"", environ: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*PROGRAM, *words],
            cwd=self.root,
            env=self.environ(**(environ or {})),
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )


def program_in(folder: Path) -> Program:
    """Make a workspace and a home in a folder."""
    root, home = folder / "project", folder / "home"
    root.mkdir()
    home.mkdir()
    return Program(root, home)


def _set_environ(environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
