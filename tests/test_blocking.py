"""The synchronous face: it waits, in any thread, and gives way to Ctrl-C."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import psutil
import pytest

import dogu.blocking
from dogu.agent.events import TurnEnded
from dogu.contract.content import text_of
from dogu.models.events import TextDelta
from dogu.testing import ScriptedModel, Turn


@pytest.fixture
def options(tmp_path: Path) -> dogu.Options:
    (tmp_path / "a.txt").write_text("alpha\n")
    return dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))


def test_a_call_waits_for_its_answer(options: dogu.Options) -> None:
    with dogu.blocking.open_runtime(options) as runtime:
        assert "alpha" in text_of(runtime.call("read_file", path="a.txt").result.llm_content)
        assert runtime.call("read_file", {"path": "no.txt"}).result.error is not None


def test_a_plain_function_confirms_and_may_block(options: dogu.Options) -> None:
    asked: list[str] = []

    def confirm(question: dogu.Question) -> dogu.Approved | dogu.Declined:
        asked.append(f"{question.description} {threading.current_thread() is not threading.main_thread()}")
        return dogu.Approved() if "yes" in question.description else dogu.Declined()

    with dogu.blocking.open_runtime(options, confirm=confirm) as runtime:
        assert runtime.call("write_file", path="yes.txt", content="x").result.error is None
        assert runtime.call("write_file", path="no.txt", content="x").result.error is not None
    assert len(asked) == 2
    assert all(line.endswith("True") for line in asked)


def test_an_agent_runs_and_streams(options: dogu.Options) -> None:
    with dogu.blocking.open_agent(options, model=ScriptedModel(["one", Turn(text="two more", pieces=2)])) as agent:
        assert agent.run("First.").text == "one"
        events = list(agent.stream("Second."))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["two ", "more"]
    assert isinstance(events[-1], TurnEnded)


def test_a_stream_may_be_left_early(options: dogu.Options) -> None:
    with dogu.blocking.open_agent(options, model=ScriptedModel([Turn(text="a b c", pieces=3), "next"])) as agent:
        for event in agent.stream("First."):
            if isinstance(event, TextDelta):
                break
        assert agent.run("Second.").text == "next"


def test_a_model_s_failure_is_raised(options: dogu.Options) -> None:
    failing = [Turn(error=dogu.ModelError("auth", "no key"))] * 2  # pyright: ignore[reportArgumentType]  (any kind)
    with dogu.blocking.open_agent(options, model=ScriptedModel(failing)) as agent:
        with pytest.raises(dogu.ModelError):
            agent.run("First.")
        with pytest.raises(dogu.ModelError):
            list(agent.stream("Second."))


def test_many_threads_may_call_at_once(options: dogu.Options) -> None:
    with dogu.blocking.open_runtime(options) as runtime, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(runtime.call, "read_file", path="a.txt") for _ in range(40)]
        answers = [future.result() for future in futures]
    assert all(answer.result.error is None for answer in answers)


def test_it_may_be_opened_in_a_thread(options: dogu.Options) -> None:
    def work() -> str:
        with dogu.blocking.open_runtime(options) as runtime:
            return text_of(runtime.call("read_file", path="a.txt").result.llm_content)

    with ThreadPoolExecutor(1) as pool:
        assert "alpha" in pool.submit(work).result()


def test_within_a_running_loop_it_says_what_to_use_instead(options: dogu.Options) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match=r"async with dogu\.open_runtime"), dogu.blocking.open_runtime(options):
            pass

    anyio.run(main)


def test_an_interrupt_in_the_body_closes_everything_and_passes_on(options: dogu.Options) -> None:
    with pytest.raises(KeyboardInterrupt), dogu.blocking.open_runtime(options):
        raise KeyboardInterrupt


PROGRAM = """
import sys, dogu, dogu.blocking
def confirm(question):
    return dogu.Approved()
with dogu.blocking.open_runtime(dogu.Options(root=sys.argv[1], home=sys.argv[2]), confirm=confirm) as runtime:
    def show(event):
        if isinstance(event, dogu.CallOutput):
            print(event.text, flush=True)
    try:
        runtime.call("run_shell_command", command="echo started $$; exec tail -f /dev/null", emit=show)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(runtime.call("read_file", path="a.txt").result.llm_content, flush=True)
"""


def test_ctrl_c_ends_the_call_that_waits_and_nothing_else(options: dogu.Options) -> None:
    arguments = [sys.executable, "-c", PROGRAM, options.root, options.home]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = next(line.split()[1] for line in program.stdout if line.startswith("started"))
        program.send_signal(signal.SIGINT)
        rest = program.stdout.read()
        assert program.wait(30) == 0
    assert "interrupted" in rest
    assert "alpha" in rest
    assert not psutil.pid_exists(int(pid))
