"""What a fleet costs a task, beside mini-swe-agent's batch at the same fake server in one run, and beside nothing but
the commands: what those cost by themselves, each a `bash -c` of a bare loop, bare and in bubblewrap, no agent is below.

`DOGU_FLEET_TASKS` (60) tasks of ten shell calls, and of ten files read: dogu by its tool, mini-swe-agent by `cat`.
`MINI_SWE_AGENT` names the Python of an environment that has
mini-swe-agent (`python -m venv DIR && DIR/bin/pip install mini-swe-agent`); without it dogu is measured alone. CPU is
of whole process trees, by the operating system's own accounting; memory is the most that a tree had at once, each page
that is shared counted in parts (PSS).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.measure import row

_CALLS = 10
_AT_ONCE = 200
_QUEUED = 100_000
_JOBS = 8
_LIBC = ctypes.CDLL(None)
_KCMP_VM = 1  # kcmp(2)
_GIVEN = "".join(f"{number} a line of a file that is read\n" for number in range(100))

# One answer for everyone: a shell call until ten have been answered, then the end. Streamed where that is asked for.
_SERVER = """
import asyncio, json, sys
CALLS, DELAY, READS = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "reads"
def answer(body):
    done = sum(message["role"] == "tool" for message in body["messages"])
    tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
    command = "cat given.txt" if READS else f"echo {done} >> numbers.txt; cat numbers.txt"
    if done >= CALLS:
        if "bash" not in tools:
            return {"role": "assistant", "content": "done"}, "stop"
        command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    name = "bash" if "bash" in tools else "read_file" if READS else "run_shell_command"
    arguments = {"file_path": "given.txt"} if name == "read_file" else {"command": command}
    call = {"index": 0, "id": f"call_{done}", "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\\r\\n\\r\\n"):
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:] if b": " in line)
            body = json.loads(await reader.readexactly(int(fields[b"content-length"])))
            await asyncio.sleep(DELAY)
            message, finish = answer(body)
            usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
            about = {"id": "c", "created": 1, "model": body["model"], "usage": usage}
            if body.get("stream"):
                about["object"] = "chat.completion.chunk"
                one = {**about, "choices": [{"index": 0, "delta": message, "finish_reason": finish}]}
                text, kind = f"data: {json.dumps(one)}\\n\\ndata: [DONE]\\n\\n", "text/event-stream"
            else:
                about["object"] = "chat.completion"
                for call in message.get("tool_calls", ()):
                    call.pop("index")
                whole = {**about, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
                text, kind = json.dumps(whole), "application/json"
            data = text.encode()
            head = f"HTTP/1.1 200 OK\\r\\nContent-Type: {kind}\\r\\nContent-Length: {len(data)}\\r\\n\\r\\n"
            writer.write(head.encode() + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    sys.exit()
asyncio.run(main())
"""

# mini-swe-agent's own batch, `process_instance` in its thread pool; only the data set, which is fetched, is ours.
_MINI = """
import concurrent.futures, os, sys
from pathlib import Path
from minisweagent.config import builtin_config_dir, get_config_from_spec
from minisweagent.run.benchmarks.swebench import DEFAULT_CONFIG_FILE, process_instance
from minisweagent.run.benchmarks.utils.batch_progress import RunBatchProgressManager
from minisweagent.utils.serialize import recursive_merge
out, count, jobs, url = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
given = sys.argv[5]
config = recursive_merge(get_config_from_spec(str(DEFAULT_CONFIG_FILE)), {
    "environment": {"environment_class": "local"},
    "model": {"model_name": "openai/fake", "cost_tracking": "ignore_errors",
              "model_kwargs": {"api_base": url, "api_key": "k", "drop_params": True}},
})
config["environment"] = {"environment_class": "local"}
progress = RunBatchProgressManager(count, out / "statuses.yaml")
def one(number):
    folder = out / "work" / str(number)
    folder.mkdir(parents=True)
    (folder / "given.txt").write_text(given)
    own = {**config, "environment": {"environment_class": "local", "cwd": str(folder)}}
    process_instance({"instance_id": f"t{number}", "problem_statement": "count"}, out, own, progress)
    numbers = folder / "numbers.txt"
    assert given or numbers.read_text() == "".join(f"{n}\\n" for n in range(10)), number
with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
    list(pool.map(one, range(count)))
"""

# A task's commands alone, one after another, as any program starts them; with words of bubblewrap's before each.
_COMMANDS = """
import os, subprocess, sys
for number in range(int(sys.argv[2])):
    root = f"{sys.argv[1]}/{number}"
    os.makedirs(root)
    for done in range(10):
        words = [*sys.argv[3:], "bash", "-c", f"echo {done} >> numbers.txt; cat numbers.txt"]
        subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert open(f"{root}/numbers.txt").read() == "".join(f"{n}\\n" for n in range(10))
"""
_BOX = (
    "bwrap --ro-bind / / --bind {} {} --dev /dev --proc /proc --unshare-pid --unshare-net --die-with-parent "
    "--as-pid-1"  # else it doesn't wait for its own init, and the kernel counts nothing of what ran
)

# The agents alone, in one process, as the fleet's workers run them: no worlds, patches, pages, rows.
_BARE = """
import os, sys, anyio
from dogu.app import Options, Start, agent_of, read_settings
from dogu.app.model_choice import open_model
from dogu.workspace.process.launch import ForkServer
async def one(number, folder, limiter, server):
    async with limiter:
        root, home = f"{folder}/{number}/work", f"{folder}/{number}/home"
        os.makedirs(root), os.makedirs(home)
        options = Options(root=root, home=home, settings_home=os.environ["HOME"], model="openai:fake",
                          approval_mode="yolo", environment={"HOME": home}, also_writable=(home,), undoes=False,
                          fork_server=server)
        start = Start(options, read_settings(options))
        async with agent_of(start, open_model(start.settings.model)) as opened:
            await opened.agent.run(await opened.read_prompt("count"), lambda event: None)
        assert open(f"{root}/numbers.txt").read() == "".join(f"{n}\\n" for n in range(10))
async def main():
    limiter = anyio.CapacityLimiter(int(sys.argv[3]))
    with ForkServer() as server:
        async with anyio.create_task_group() as group:
            for number in range(int(sys.argv[2])):
                group.start_soon(one, number, sys.argv[1], limiter, server)
anyio.run(main)
"""

_QUEUE = """
import sys, time, json, resource
from dogu.fleet.store import Fleet
from dogu.fleet.plan import Plan
from dogu.fleet.tasks import checked, read_tasks
started = time.perf_counter()
fleet = Fleet.create(sys.argv[2], Plan(), checked(read_tasks(sys.argv[1])))
queued = time.perf_counter() - started
fleet.close()
started = time.perf_counter()
with Fleet.open(sys.argv[2]) as fleet:
    fleet.take_back()
    counts = fleet.counts()
    task = fleet.next_task()
resumed = time.perf_counter() - started
assert counts.queued == int(sys.argv[3]) and task is not None
print(json.dumps([queued, resumed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@dataclass(frozen=True)
class Tree:
    """A process and all it started, to the end: CPU and wall seconds, the most memory at once in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    status: int
    output: str


def main() -> None:
    """Print the table."""
    count = int(os.environ.get("DOGU_FLEET_TASKS", "60"))
    with tempfile.TemporaryDirectory() as base, _Server(_CALLS, 0.0) as server:
        place = Path(os.path.realpath(base))
        tasks = _tasks(place / "tasks.jsonl", count)
        boxed = _fleet(place, "boxed", tasks, server, sandbox="on")
        _tell("dogu, in the sandbox", boxed, count)
        free = _fleet(place, "free", tasks, server, sandbox="off")
        _tell("dogu, without one", free, count)
        unchecked = _tasks(place / "unchecked.jsonl", count, check="")  # those alone are checked by nobody
        for name in ("on", "off"):
            fleet = _fleet(place, f"unchecked-{name}", unchecked, server, sandbox=name)
            _tell(f"dogu, sandbox {name}, without checks", fleet, count)
            environment = _environment(place, server, name)
            words = [sys.executable, "-c", _BARE, str(place / f"bare-{name}"), str(count), str(_JOBS)]
            bare = _tree(words, environment)
            _tell(f"dogu's agents alone, sandbox {name}", bare, count)
            row("what the fleet adds", f"{(fleet.cpu_s / bare.cpu_s - 1) * 100:.0f} % CPU", "5 %")
        floor = _commands(place / "commands", count)
        _commands(place / "boxed-commands", count, _BOX.format(place, place).split())
        row("dogu without a sandbox to its commands alone, CPU", f"{free.cpu_s / floor.cpu_s:.1f}", "")
        mini = _mini(place / "mini", count, server)
        if mini is not None:
            row("the commands alone to mini-swe-agent, CPU", f"{floor.cpu_s / mini.cpu_s:.2f}", "")
        _beside("", mini, boxed, free)
    with tempfile.TemporaryDirectory() as base, _Server(_CALLS, 0.0, "reads") as server:
        place = Path(os.path.realpath(base))
        tasks = _tasks(place / "tasks.jsonl", count, check="", files={"given.txt": _GIVEN})
        reading = _fleet(place, "reads", tasks, server, sandbox="on")
        _tell("ten files read: dogu, in the sandbox", reading, count)
        _beside("ten files read: ", _mini(place / "mini", count, server, _GIVEN), reading)
    with tempfile.TemporaryDirectory() as base:
        place = Path(os.path.realpath(base))
        _many(place)
        _queued(place)


def _mini(place: Path, count: int, server: _Server, given: str = "") -> Tree | None:
    python = os.environ.get("MINI_SWE_AGENT")
    if not python:
        print("MINI_SWE_AGENT names no Python: mini-swe-agent isn't measured", flush=True)
        return None
    place.mkdir()
    words = [python, "-c", _MINI, str(place), str(count), str(_JOBS), server.url, given]
    mini = _tree(words, {**os.environ, "HOME": str(place), "MSWEA_SILENT_STARTUP": "1"})
    _tell(f"{'ten files read: ' if given else ''}mini-swe-agent, without one", mini, count)
    return mini


def _commands(place: Path, count: int, box: Sequence[str] = ()) -> Tree:
    alone = _tree([sys.executable, "-c", _COMMANDS, str(place), str(count), *box], os.environ)
    _tell(f"the commands alone{', in bubblewrap' if box else ''}", alone, count)
    return alone


def _beside(what: str, mini: Tree | None, boxed: Tree, free: Tree | None = None) -> None:
    if mini is None:
        return
    for name, ours in (("in the sandbox", boxed), ("without one", free)):
        if ours is not None:
            row(f"{what}dogu {name} to mini-swe-agent, CPU", f"{ours.cpu_s / mini.cpu_s:.2f}", "0.1")
            row(f"{what}dogu {name} to mini-swe-agent, memory", f"{ours.peak_mb / mini.peak_mb:.2f}", "0.05")


def _many(place: Path) -> None:
    """Have 200 agents wait for their model at the same time."""
    with _Server(2, 3.0) as server:
        tasks = _tasks(place / "many.jsonl", _AT_ONCE, check="")
        reached = _fleet(place, "many", tasks, server, sandbox="on", jobs=_AT_ONCE)
    row(f"{_AT_ONCE} agents at once", f"{reached.peak_mb:.0f} MB, status {reached.status}", "1,500 MB")


def _queued(place: Path) -> None:
    tasks = _tasks(place / "queued.jsonl", _QUEUED)
    words = [sys.executable, "-c", _QUEUE, str(tasks), str(place / "queued"), str(_QUEUED)]
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
    return _tree([*words, "--jobs", str(jobs), "--model", "openai:fake"], _environment(place, server, sandbox))


def _environment(place: Path, server: _Server, sandbox: str) -> dict[str, str]:
    home = place / f"home-{sandbox}"
    (home / ".dogu").mkdir(parents=True, exist_ok=True)
    (home / ".dogu" / "settings.json").write_text(json.dumps({"tools": {"sandbox": sandbox}}))
    own = {"HOME": str(home), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": ""}  # an installed dogu is compiled


def _tell(what: str, tree: Tree, count: int) -> None:
    if tree.status:
        print(tree.output[-2000:])
    reached = f"{tree.cpu_s / count:.3f} CPU s a task, {tree.peak_mb:.0f} MB, {tree.wall_s:.1f} s"
    row(f"{what}, {count} tasks", reached + (f", status {tree.status}" if tree.status else ""), "")


class _Server:
    """The fake model, in a process of its own."""

    def __init__(self, calls: int, delay_s: float, kind: str = "commands") -> None:
        words = [sys.executable, "-c", _SERVER, str(calls), str(delay_s), kind]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> _Server:
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def _tree(words: Sequence[str], environment: Mapping[str, str]) -> Tree:
    """Run a command to its end, looking at all it started five times a second."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
        peak = 0.0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, _memory_mb(process.pid))
            time.sleep(0.2)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        output = said.read().decode(errors="replace")
    wall_s = time.perf_counter() - started
    return Tree(usage.ru_utime + usage.ru_stime, wall_s, peak, process.returncode, output)


def _memory_mb(pid: int) -> float:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        waiting += [each for each in children.get(one, ()) if not _shares_all(one, each)]
        with suppress(OSError):
            rollup = Path("/proc", str(one), "smaps_rollup").read_text()
            found += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
    return found


def _shares_all(parent: int, child: int) -> bool:
    """Whether a child has its parent's memory itself, as one of `vfork` until it is another program."""
    number = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
    return number is not None and _LIBC.syscall(number, parent, child, _KCMP_VM, 0, 0) == 0


if __name__ == "__main__":
    main()
