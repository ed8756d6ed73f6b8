"""What big files and folders cost, each in a process of its own so that memory can be told."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable

from bench.measure import row, several, side_by_side

_CALL = """\
import anyio, sys, os, json, time, resource
from dogu.app import Options, open_runtime
async def main():
    async with open_runtime(Options(root=sys.argv[1], home=sys.argv[1] + "/.home", approval_mode="yolo")) as runtime:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        answer = await runtime.call(sys.argv[2], json.loads(sys.argv[3]))
        elapsed = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert answer.result.error is None, answer.result.error
        print(f"{elapsed:.3f} s, peak {after / 1024:.0f} MB ({(after - before) / 1024:.0f} MB more)", file=sys.stderr)
anyio.run(main)
"""


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for case in (_slice, _folder, _replace):
            case(folder)


def _slice(folder: str) -> None:
    path = os.path.join(folder, "big.log")
    line = b"2026-11-21 12:00:00 a line of a log that is about as long as such lines are, or nearly\n"
    with open(path, "wb") as file:
        for _ in range(120):
            file.write(line * 100_000)
    ours = _command(folder, "read_file", f'{{"path": "{path}", "offset": 10000000, "limit": 2000}}')
    one, other, wall, _ = side_by_side(ours, ["sed", "-n", "10000001,10002000p;10002000q", path], 3)
    reached = f"{one.wall_s:.2f} s / {other.wall_s:.2f} s = {wall:.2f} x, {one.peak_mb:.0f} MB (status {one.status})"
    row(f"2,000 lines at line 10,000,000 of {os.path.getsize(path) / 1e9:.1f} GB / sed -n", reached, "1.3 x, 50 MB")
    os.unlink(path)


def _folder(folder: str) -> None:
    many = os.path.join(folder, "many")
    os.mkdir(many)
    for number in range(100_000):
        os.close(os.open(f"{many}/entry-{number:06}.txt", os.O_CREAT | os.O_WRONLY))
    _inside("list_directory of 100,000 entries", _command(folder, "list_directory", f'{{"path": "{many}"}}'), "0.4 s")


def _replace(folder: str) -> None:
    path = os.path.join(folder, "large.txt")

    def make() -> None:
        # In pieces: a child's peak memory counts what its parent had when it was started.
        with open(path, "wb") as file:
            for _ in range(700):
                file.write(b"some text in a line of a large file\n" * 1_000)
            file.write(b"THE PLACE\n")
            for _ in range(1_800):
                file.write(b"and more text\n" * 1_000)

    args = f'{{"file_path": "{path}", "old_string": "THE PLACE", "new_string": "the place"}}'
    _inside("replace in a 50 MB file", _command(folder, "replace", args), "0.5 s, 200 MB", make)


def _command(folder: str, tool: str, args: str) -> list[str]:
    return [sys.executable, "-c", _CALL, folder, tool, args]


def _inside(what: str, command: list[str], target: str, before: Callable[[], None] | None = None) -> None:
    """Print what the process itself measured of its one call."""
    import subprocess

    lines: list[str] = []
    for _ in range(3):
        if before is not None:
            before()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines.append(done.stderr.strip().split("\n")[-1])
    row(what, min(lines), target)


if __name__ == "__main__":
    several([sys.executable, "-c", "pass"])
    main()
