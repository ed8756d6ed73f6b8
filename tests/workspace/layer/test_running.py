"""What a command's run asks of the process below it."""

from __future__ import annotations

from pathlib import Path

import anyio

from dogu.contract import CallContext
from dogu.workspace.layer.running import CommandRunner, How
from dogu.workspace.process.command import ProcessResult, Report, ShellCommand


class _Noting:
    """Runs nothing, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[ShellCommand] = []

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        del report
        self.asked.append(command)
        return ProcessResult("", "", exit_code=0, signal=None, pgid=1)


def test_where_nobody_keeps_what_a_command_writes_it_is_told_of_nothing(tmp_path: Path) -> None:
    processes = _Noting()
    runner = CommandRunner([str(tmp_path)], processes, lambda: {"PATH": "/usr/bin"}, lambda: None)
    anyio.run(runner.run, ShellCommand("true", str(tmp_path), {}), How(), CallContext("1"))
    assert [command.watched for command in processes.asked] == [()]
