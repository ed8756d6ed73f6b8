"""What `bench.fleet` starts and measures, each a program of its own: the model's server, and those that do the tasks.

A task is ten shell calls (`echo N >> numbers.txt; cat numbers.txt`), and each program looks whether its tasks have made
their lines.
"""

# One answer for everyone: a shell call until so many have been answered, then the end; streamed where that is asked.
SERVER = """
import asyncio, json, sys
from bench import codex
CALLS, DELAY, READS = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "reads"
def call(done, names):
    command = f"cat {done}.txt" if READS else f"echo {done} >> numbers.txt; cat numbers.txt"
    if "bash" in names:
        return "bash", {"command": command if done < CALLS else "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
    if done >= CALLS:
        return None
    if READS:
        return "read_file", {"file_path": f"{done}.txt"}
    return ("run_shell_command", {"command": command}) if "run_shell_command" in names else codex.shell(names, command)
def responses(body):
    done = sum(item.get("type") == "function_call_output" for item in body["input"])
    return codex.stream(done, call(done, {tool.get("name") for tool in body["tools"]})), "text/event-stream"
def completions(body):
    done = sum(message["role"] == "tool" for message in body["messages"])
    message, finish = {"role": "assistant", "content": "done"}, "stop"
    if wanted := call(done, {tool["function"]["name"] for tool in body.get("tools") or ()}):
        function = {"name": wanted[0], "arguments": json.dumps(wanted[1])}
        calls = [{"index": 0, "id": f"call_{done}", "type": "function", "function": function}]
        message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    about = {"id": "c", "created": 1, "model": body["model"], "usage": usage}
    if body.get("stream"):
        about["object"] = "chat.completion.chunk"
        one = {**about, "choices": [{"index": 0, "delta": message, "finish_reason": finish}]}
        return f"data: {json.dumps(one)}\\n\\ndata: [DONE]\\n\\n".encode(), "text/event-stream"
    about["object"] = "chat.completion"
    for each in message.get("tool_calls", ()):
        each.pop("index")
    whole = {**about, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return json.dumps(whole).encode(), "application/json"
async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\\r\\n\\r\\n"):
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:] if b": " in line)
            body = json.loads(await reader.readexactly(int(fields[b"content-length"])))
            await asyncio.sleep(DELAY)
            data, kind = responses(body) if "input" in body else completions(body)
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
MINI = """
import concurrent.futures, os, sys
from pathlib import Path
from minisweagent.config import builtin_config_dir, get_config_from_spec
from minisweagent.run.benchmarks.swebench import DEFAULT_CONFIG_FILE, process_instance
from minisweagent.run.benchmarks.utils.batch_progress import RunBatchProgressManager
from minisweagent.utils.serialize import recursive_merge
out, count, jobs, url = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
calls, given = int(sys.argv[5]), sys.argv[6]
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
    for file in range(calls if given else 0):
        (folder / f"{file}.txt").write_text(given)
    own = {**config, "environment": {"environment_class": "local", "cwd": str(folder)}}
    process_instance({"instance_id": f"t{number}", "problem_statement": "count"}, out, own, progress)
    numbers = folder / "numbers.txt"
    assert given or numbers.read_text() == "".join(f"{n}\\n" for n in range(calls)), number
with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
    list(pool.map(one, range(count)))
"""

# A task's commands alone, one after another, as any program starts them; with words of bubblewrap's before each.
COMMANDS = """
import os, subprocess, sys
for number in range(int(sys.argv[2])):
    root = f"{sys.argv[1]}/{number}"
    os.makedirs(root)
    for done in range(10):
        words = [*sys.argv[3:], "bash", "-c", f"echo {done} >> numbers.txt; cat numbers.txt"]
        subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert open(f"{root}/numbers.txt").read() == "".join(f"{n}\\n" for n in range(10))
"""

# Each task by a process of its own, so many at once.
PROCESSES = """
import concurrent.futures, os, subprocess, sys
def one(number):
    root = f"{sys.argv[1]}/{number}"
    os.makedirs(root)
    done = subprocess.run(sys.argv[4:], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert open(f"{root}/numbers.txt").read() == "".join(f"{n}\\n" for n in range(10)), number
with concurrent.futures.ThreadPoolExecutor(max_workers=int(sys.argv[3])) as pool:
    list(pool.map(one, range(int(sys.argv[2]))))
"""

# The agents alone, in one process, as the fleet's workers run them: no worlds, patches, pages, rows.
BARE = """
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

QUEUE = """
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
