"""A list of hosts, held: commands in a network of their own, out of which only the proxy leads."""

import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from dogu.workspace.launcher import network
from dogu.workspace.process.command import ProcessResult, ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox import proxy
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step
from workspace.sandbox.probes import PYTHON

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="network namespaces are Linux's"),
]
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent"}

# CONNECT through the proxy that the environment names, then an exchange.
ASK = """
import os, socket, sys
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
with socket.create_connection((proxy[0], int(proxy[1]))) as s:
    s.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\\r\\n\\r\\n".encode())
    s.shutdown(socket.SHUT_WR)
    print(s.makefile().read().split("\\n")[-1] or "nothing")
"""


@pytest.fixture
def server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_greet_all, args=[listener])
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _greet_all(listener: socket.socket) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.sendall(b"reached")


@pytest.fixture
async def processes() -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses() as opened:
        yield opened


@pytest.fixture(params=[Step.BUBBLEWRAP, Step.LANDLOCK, Step.SECCOMP])
def step(request: pytest.FixtureRequest) -> Step:
    if not network.works():
        pytest.skip("this machine makes no network namespaces")
    if Sandbox.detect(best=request.param).step is not request.param:
        pytest.skip(f"this machine has no {request.param}")
    return request.param


async def run(processes: LocalProcesses, sandbox: Sandbox, folder: Path, text: str) -> ProcessResult:
    order = sandbox.confine([str(folder)], ENVIRONMENT)
    command = ShellCommand(text, str(folder), order.environment, timeout_s=30, confinement=order.order)
    return await processes.run(command)


def of_hosts(step: Step, *hosts: str) -> Sandbox:
    return Sandbox.detect(SandboxSettings(hosts=hosts), best=step)


async def test_only_the_hosts_of_the_list_are_reached(
    step: Step, processes: LocalProcesses, server: int, tmp_path: Path
) -> None:
    (tmp_path / "ask.py").write_text(ASK)
    sandbox = of_hosts(step, f"127.0.0.1:{server}")
    ask = f"{PYTHON} ask.py 127.0.0.1"
    reached = await run(processes, sandbox, tmp_path, f"{ask}:{server}")
    assert (reached.stdout, reached.refused_hosts) == ("reached\n", ()), reached.stderr
    refused = await run(processes, sandbox, tmp_path, f"{ask}:{server + 1}; {PYTHON} ask.py evil.example:443")
    assert refused.refused_hosts == ("127.0.0.1", "evil.example")
    told = sandbox.denial(refused.stderr, refused.refused_hosts)
    assert told == (
        "The sandbox refused connections to 127.0.0.1, evil.example. "
        f"Network: only 127.0.0.1:{server} (tools.sandboxAllowedHosts)."
    )


async def test_no_program_gets_past_the_proxy(
    step: Step, processes: LocalProcesses, server: int, tmp_path: Path
) -> None:
    text = f"exec 3<>/dev/tcp/127.0.0.1/{server} && echo reached; exec 3<>/dev/udp/127.0.0.1/53 && echo x >&3; ls /sys/class/net"
    result = await run(processes, of_hosts(step, f"127.0.0.1:{server}"), tmp_path, text)
    assert "reached" not in result.stdout
    assert "refused" in result.stderr


async def test_commands_reach_what_earlier_ones_started(step: Step, processes: LocalProcesses, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(
        "import pathlib, socket\n"
        "s = socket.create_server(('127.0.0.1', 4711))\n"
        "pathlib.Path('is_up').touch()\n"
        "s.accept()[0].sendall(b'hello')\n"
    )
    sandbox = of_hosts(step, "example.com")
    text = f"{PYTHON} serve.py > /dev/null 2>&1 & until [ -e is_up ]; do sleep 0.02; done"
    await run(processes, sandbox, tmp_path, text)
    assert (await run(processes, sandbox, tmp_path, "cat < /dev/tcp/127.0.0.1/4711")).stdout == "hello"


async def test_an_empty_list_closes_the_network(
    step: Step, processes: LocalProcesses, server: int, tmp_path: Path
) -> None:
    (tmp_path / "ask.py").write_text(ASK)
    sandbox = of_hosts(step)
    result = await run(processes, sandbox, tmp_path, f"{PYTHON} ask.py 127.0.0.1:{server}")
    assert result.refused_hosts == ("127.0.0.1",)
    assert "Network: none" in sandbox.denial(result.stderr, result.refused_hosts)


async def test_where_a_list_cannot_be_held_the_network_is_closed(
    processes: LocalProcesses, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "works", lambda: False)
    for best in (Step.BUBBLEWRAP, Step.LANDLOCK, Step.SECCOMP):
        sandbox = Sandbox.detect(SandboxSettings(hosts=(f"127.0.0.1:{server}",)), best=best)
        if sandbox.step is Step.NONE:
            continue
        result = await run(processes, sandbox, tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{server} && echo reached")
        assert result.stdout == ""
        assert any("list of allowed hosts can't be enforced" in limit for limit in sandbox.limits)
        assert "Network: none" in sandbox.reach or sandbox.step is Step.SECCOMP


async def test_a_launcher_without_its_network_runs_nothing(processes: LocalProcesses, tmp_path: Path) -> None:
    confinement = {"seccomp": b"", "hosts": ("example.com",)}
    if network.works():
        pytest.skip("this machine makes network namespaces")
    with pytest.raises(Exception, match="network of its own"):
        await processes.run(ShellCommand("touch was_run", str(tmp_path), ENVIRONMENT, confinement=confinement))
    assert not (tmp_path / "was_run").exists()


def test_variables_send_requests_to_the_proxy() -> None:
    variables = network.proxy_variables(through_loopback_too=False)
    assert variables["https_proxy"] == variables["HTTP_PROXY"] == variables["ALL_PROXY"] == "http://127.0.0.1:3128"
    assert variables["NO_PROXY"] == "localhost,127.0.0.1,::1"
    sandbox = Sandbox(Step.BUBBLEWRAP, SandboxSettings(hosts=("localhost:3000",)), 7, "bwrap", has_own_network=True)
    assert sandbox.confine([], {"NO_PROXY": "*", "HOME": "/h"}).environment["NO_PROXY"] == ""
    assert sandbox.reach.endswith("Network: only localhost:3000.")
    assert "passed on" in " ".join(sandbox.limits)


async def test_a_host_that_is_not_listed_is_asked_for_once(
    step: Step, processes: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ask.py").write_text(ASK)

    def resolve(host: str, _port: int) -> list[str]:
        return ["10.255.255.1"] if host == "in.example" else ["169.254.169.254"]

    monkeypatch.setattr(proxy, "_resolve", resolve)
    asked: list[tuple[str, int, tuple[str, ...]]] = []

    async def ask(command: str, host: str, port: int, private: Sequence[str]) -> bool:
        assert command.startswith(PYTHON)
        asked.append((host, port, tuple(private)))
        return False

    confined = Sandbox.detect(SandboxSettings(), best=step).confine([str(tmp_path)], ENVIRONMENT)
    text = f"{PYTHON} ask.py in.example:9; {PYTHON} ask.py in.example:9; {PYTHON} ask.py metadata.example:80"
    command = ShellCommand(
        text, str(tmp_path), confined.environment, timeout_s=30, confinement=confined.order, ask_host=ask
    )
    result = await processes.run(command)
    assert asked == [("in.example", 9, ("10.255.255.1",))]
    assert result.refused_hosts == ("in.example", "metadata.example")
