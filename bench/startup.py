"""What starting costs, side by side with bare Python."""

from __future__ import annotations

import os
import sys
import tempfile
import time

from bench.measure import row, run, side_by_side

_PROGRAM = os.path.join(os.path.dirname(sys.executable), "dogu")
_BARE = [sys.executable, "-I", "-c", "pass"]
_ALL_TOOLS = """\
import os, dogu
from dogu.app import Options, open_runtime
import anyio
async def main():
    async with open_runtime(Options(root=os.getcwd(), home=os.environ["HOME"])) as runtime:
        runtime.registry.declarations
anyio.run(main)
"""


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "PYTHONDONTWRITEBYTECODE": ""}
        _version(environ)
        _imports(environ, home)
        _prompt(environ, home)


def _version(environ: dict[str, str]) -> None:
    one, other, wall, cpu = side_by_side([_PROGRAM, "--version"], _BARE, 15, environ=environ)
    reached = f"{one.wall_s * 1000:.1f} ms / {other.wall_s * 1000:.1f} ms = {wall:.2f} x wall, {cpu:.2f} x CPU"
    row("dogu --version / python -I -c pass", reached, "2 x")


def _imports(environ: dict[str, str], home: str) -> None:
    cases = [("import dogu", "import dogu", "30 ms"), ("every built-in tool usable", _ALL_TOOLS, "100 ms")]
    for what, code, target in cases:
        one, other, _, _ = side_by_side(
            [sys.executable, "-c", code], [sys.executable, "-c", "pass"], environ=environ, cwd=home
        )
        row(f"{what}, over bare Python", f"{(one.wall_s - other.wall_s) * 1000:.0f} ms (status {one.status})", target)


def _prompt(environ: dict[str, str], home: str) -> None:
    times = sorted(time_to_prompt(environ, home) for _ in range(7))
    row("input box drawn", f"{times[3] * 1000:.0f} ms (best {times[0] * 1000:.0f})", "250 ms")


def time_to_prompt(environ: dict[str, str], home: str) -> float:
    """Return the seconds from starting the program to its prompt."""
    import pexpect

    environment = {**os.environ, **environ, "TERM": "xterm-256color"}
    environment = {k: v for k, v in environment.items() if k not in ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    child: pexpect.spawn[bytes] = pexpect.spawn(_PROGRAM, env=environment, cwd=home, timeout=10)
    child.expect("›".encode())
    elapsed = time.perf_counter() - started
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    return elapsed


if __name__ == "__main__":
    run(_BARE)
    main()
