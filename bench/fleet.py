"""What a fleet costs a task, beside mini-swe-agent's batch and codex in parallel at the same fake server in one run.

And beside less: runs of dogu each a process of its own (`dogu -p`), the agents alone in one process, and the commands
alone, each a `bash -c` of a bare loop, bare and in bubblewrap, which no agent is below. `DOGU_FLEET_TASKS` (60) tasks
of ten shell calls, eight at once; then of ten files read: dogu by its tool, mini-swe-agent by `cat`.

`MINI_SWE_AGENT` names the Python of an environment that has mini-swe-agent (`python -m venv DIR && DIR/bin/pip install
mini-swe-agent`), `DOGU_BENCH_PEERS` the folder of `npm install --prefix DIR @openai/codex`; what isn't there isn't
measured. CPU is of whole process trees; memory is the most that a tree had at once, each page that is shared counted in
parts (PSS).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import codex
from bench.fleet_programs import BARE, COMMANDS, MINI, PROCESSES, QUEUE, SERVER
from bench.measure import row
from bench.trees import Tree, tree

_CALLS = 10
_AT_ONCE = 200
_QUEUED = 100_000
_JOBS = 8
_ASKED = {"mini-swe-agent": ("0.1", "0.05"), "codex": ("", "")}  # of dogu's CPU and memory
_SLOW_S = 0.5  # as a quick model answers
_GIVEN = "".join(f"{number} a line of a file that is read\n" for number in range(100))
_BOX = (
    "bwrap --ro-bind / / --bind {} {} --dev /dev --proc /proc --unshare-pid --unshare-net --die-with-parent "
    "--as-pid-1"  # else it doesn't wait for its own init, and the kernel counts nothing of what ran
)


def main() -> None:
    """Print the table."""
    count = int(os.environ.get("DOGU_FLEET_TASKS", "60"))
    with tempfile.TemporaryDirectory() as base, _Server(_CALLS) as server:
        _with_commands(Path(os.path.realpath(base)), count, server)
    with tempfile.TemporaryDirectory() as base, _Server(_CALLS, kind="reads") as server:
        place = Path(os.path.realpath(base))
        tasks = _tasks(
            place / "tasks.jsonl", count, check="", files={f"{number}.txt": _GIVEN for number in range(_CALLS)}
        )
        reading = _fleet(place, "reads", tasks, server, sandbox="on")
        _tell("ten files read: dogu, in the sandbox", reading, count)
        _beside("ten files read: ", "mini-swe-agent", _mini(place / "mini", count, server, given=_GIVEN), reading)
    with tempfile.TemporaryDirectory() as base, _Server(_CALLS, _SLOW_S) as server:
        _with_a_slow_model(Path(os.path.realpath(base)), count, server)
    with tempfile.TemporaryDirectory() as base:
        place = Path(os.path.realpath(base))
        _many(place)
        _queued(place)


def _with_commands(place: Path, count: int, server: _Server) -> None:
    tasks = _tasks(place / "tasks.jsonl", count)
    boxed = _fleet(place, "boxed", tasks, server, sandbox="on")
    _tell("dogu, in the sandbox", boxed, count)
    free = _fleet(place, "free", tasks, server, sandbox="off")
    _tell("dogu, without one", free, count)
    unchecked = _tasks(place / "unchecked.jsonl", count, check="")  # what follows is checked by nobody who is measured
    for sandbox in ("on", "off"):
        fleet = _fleet(place, f"unchecked-{sandbox}", unchecked, server, sandbox=sandbox)
        _tell(f"dogu, sandbox {sandbox}, without checks", fleet, count)
        runs, agents = _runs(place, count, server, sandbox), _agents(place, count, server, sandbox)
        row("what the fleet adds to such runs", f"{_more(fleet.cpu_s, runs.cpu_s)} CPU", "5 %")
        row("what the fleet adds to the agents alone", f"{_more(fleet.cpu_s, agents.cpu_s)} CPU", "5 %")
    floor = _commands(place / "commands", count)
    _commands(place / "boxed-commands", count, _BOX.format(place, place).split())
    row("dogu without a sandbox to its commands alone, CPU", f"{free.cpu_s / floor.cpu_s:.1f}", "")
    mini = _mini(place / "mini", count, server)
    if mini is not None:
        row("the commands alone to mini-swe-agent, CPU", f"{floor.cpu_s / mini.cpu_s:.2f}", "")
    _beside("", "mini-swe-agent", mini, boxed, free)
    _beside("", "codex", _codex(place, count, server), boxed, free)


def _with_a_slow_model(place: Path, count: int, server: _Server) -> None:
    """Have most of the time be the model's, as it is with a real one: the clock counts then, not the CPU."""
    fleet = _fleet(place, "slow", _tasks(place / "tasks.jsonl", count, check=""), server, sandbox="on")
    _tell(f"{_SLOW_S} s an answer: dogu, sandbox on, without checks", fleet, count)
    runs, agents = _runs(place, count, server, "on"), _agents(place, count, server, "on")
    row("what the fleet adds to such runs", f"{_more(fleet.wall_s, runs.wall_s)} of wall time", "5 %")
    row("what the fleet adds to the agents alone", f"{_more(fleet.wall_s, agents.wall_s)} of wall time", "5 %")


def _more(one: float, other: float) -> str:
    return f"{(one / other - 1) * 100:+.0f} %"


def _runs(place: Path, count: int, server: _Server, sandbox: str) -> Tree:
    words = [sys.executable, "-m", "dogu", "-p", "count", "--approval-mode", "yolo", "--model", "openai:fake"]
    runs = _processes(place / f"runs-{sandbox}", count, words, _environment(place, server, sandbox))
    _tell(f"`dogu -p` each, sandbox {sandbox}", runs, count)
    return runs


def _agents(place: Path, count: int, server: _Server, sandbox: str) -> Tree:
    words = [sys.executable, "-c", BARE, str(place / f"bare-{sandbox}"), str(count), str(_JOBS)]
    agents = tree(words, _environment(place, server, sandbox))
    _tell(f"dogu's agents alone, sandbox {sandbox}", agents, count)
    return agents


def _codex(place: Path, count: int, server: _Server) -> Tree | None:
    peers = os.environ.get("DOGU_BENCH_PEERS")
    if not peers:
        print("DOGU_BENCH_PEERS names no folder: codex isn't measured", flush=True)
        return None
    home = place / "home-codex"
    home.mkdir()
    own = {"HOME": str(home), "CODEX_HOME": str(home), "OPENAI_API_KEY": "k"}
    words = codex.command(peers, server.url, "count")
    each = _processes(place / "codex", count, words, {**os.environ, **own})
    _tell("codex exec each, without one", each, count)
    return each


def _processes(place: Path, count: int, words: Sequence[str], environment: Mapping[str, str]) -> Tree:
    return tree([sys.executable, "-c", PROCESSES, str(place), str(count), str(_JOBS), *words], environment)


def _mini(
    place: Path, count: int, server: _Server, *, jobs: int = _JOBS, calls: int = _CALLS, given: str = ""
) -> Tree | None:
    python = os.environ.get("MINI_SWE_AGENT")
    if not python:
        print("MINI_SWE_AGENT names no Python: mini-swe-agent isn't measured", flush=True)
        return None
    place.mkdir()
    words = [python, "-c", MINI, str(place), str(count), str(jobs), server.url, str(calls), given]
    mini = tree(words, {**os.environ, "HOME": str(place), "MSWEA_SILENT_STARTUP": "1"})
    _tell(f"{'ten files read: ' if given else ''}mini-swe-agent, without one, {jobs} at once", mini, count)
    return mini


def _commands(place: Path, count: int, box: Sequence[str] = ()) -> Tree:
    alone = tree([sys.executable, "-c", COMMANDS, str(place), str(count), *box], os.environ)
    _tell(f"the commands alone{', in bubblewrap' if box else ''}", alone, count)
    return alone


def _beside(what: str, who: str, other: Tree | None, boxed: Tree, free: Tree | None = None) -> None:
    if other is None:
        return
    for name, ours in (("in the sandbox", boxed), ("without one", free)):
        if ours is not None:
            cpu, memory = _ASKED[who]
            row(f"{what}dogu {name} to {who}, CPU", f"{ours.cpu_s / other.cpu_s:.2f}", cpu)
            row(f"{what}dogu {name} to {who}, memory", f"{ours.peak_mb / other.peak_mb:.2f}", memory)


def _many(place: Path) -> None:
    """Have 200 agents wait for their model at the same time."""
    calls = 2
    with _Server(calls, 3.0) as server:
        tasks = _tasks(place / "many.jsonl", _AT_ONCE, check="")
        boxed, free = (
            _fleet(place, f"many-{sandbox}", tasks, server, sandbox=sandbox, jobs=_AT_ONCE) for sandbox in ("on", "off")
        )
        mini = _mini(place / "mini", _AT_ONCE, server, jobs=_AT_ONCE, calls=calls)
    for name, each in (("agents at once, in the sandbox", boxed), ("agents at once, without one", free)):
        _tell(f"{_AT_ONCE} {name}", each, _AT_ONCE)
        row("memory of each", f"{each.peak_mb / _AT_ONCE:.1f} MB", "7.5 MB")
    if mini is not None:
        row("memory of each of mini-swe-agent's threads", f"{mini.peak_mb / _AT_ONCE:.1f} MB", "")
    _beside(f"{_AT_ONCE} at once: ", "mini-swe-agent", mini, boxed, free)


def _queued(place: Path) -> None:
    tasks = _tasks(place / "queued.jsonl", _QUEUED)
    words = [sys.executable, "-c", QUEUE, str(tasks), str(place / "queued"), str(_QUEUED)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    queued_s, resumed_s, peak_mb = json.loads(done.stdout)
    row(f"{_QUEUED:,} tasks queued and resumed", f"{queued_s:.1f} s + {resumed_s:.2f} s, {peak_mb:.0f} MB", "5 s")


def _tasks(
    file: Path,
    count: int,
    check: str = "test $(wc -l < numbers.txt) = 10",
    files: Mapping[str, str] | None = None,
) -> Path:
    with file.open("w") as lines:
        for number in range(count):
            lines.write(
                json.dumps({"id": f"t{number}", "prompt": "count", "check": check, "files": files or {}}) + "\n"
            )
    return file


def _fleet(place: Path, name: str, tasks: Path, server: _Server, *, sandbox: str, jobs: int = _JOBS) -> Tree:
    words = [sys.executable, "-m", "dogu", "fleet", "run", str(tasks), "--out", str(place / name)]
    return tree([*words, "--jobs", str(jobs), "--model", "openai:fake"], _environment(place, server, sandbox))


def _environment(place: Path, server: _Server, sandbox: str) -> dict[str, str]:
    home = place / f"home-{sandbox}"
    (home / ".dogu").mkdir(parents=True, exist_ok=True)
    (home / ".dogu" / "settings.json").write_text(json.dumps({"tools": {"sandbox": sandbox}}))
    own = {"HOME": str(home), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": ""}  # an installed dogu is compiled


def _tell(what: str, each: Tree, count: int) -> None:
    if each.status:
        sys.exit(f"{what}: status {each.status}, so what it cost says nothing\n{each.output[-2000:]}")
    reached = f"{each.cpu_s / count:.3f} CPU s a task, {each.peak_mb:.0f} MB, {each.wall_s:.1f} s"
    row(f"{what}, {count} tasks", reached, "")


class _Server:
    """The fake model, in a process of its own."""

    def __init__(self, calls: int, delay_s: float = 0.0, kind: str = "commands") -> None:
        words = [sys.executable, "-c", SERVER, str(calls), str(delay_s), kind]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> _Server:
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    main()
