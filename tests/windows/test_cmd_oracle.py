"""What cmd.exe runs of lines that are made by chance, held against what the judge says of them (`make windows`).

Something that doesn't know our rules checks them: programs that note their name. One that ran must be one that the judge
knew of: the line isn't allowed where that program is excluded, nor where it is the only one that no rule allows. The
lines are the same for each seed; `DOGU_CMD_LINES` says how many, `DOGU_CMD_SEED` which.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path

import pytest

from dogu.policy.commands.cmd_exe import judge_for_cmd
from dogu.policy.rules import Rules
from policy.judging import entries

pytestmark = [
    pytest.mark.skipif(sys.platform != "win32", reason="needs cmd.exe: `make windows`"),
    pytest.mark.timeout(600),
]
PROBES = ("pa", "pb", "pc", "pd")
"""Programs that write their name into the file that `DOGU_PROBE` names."""
_BUILTINS = ("echo", "rem", "set", "cd", "call", "start", "cmd", "if", "for", "title", "ver", "type", "exit")
_JOINTS = (" & ", "&", " && ", " || ", " | ", "|", "&&")
_WORDS = (
    "x",
    "/b",
    "-v",
    '"a b"',
    '"',
    "^",
    "^^",
    "100%",
    "%OS%",
    "%%",
    "!OS!",
    "%DOGU_X%",
    "a=b",
    "a,b",
    "(x)",
    '\\"',
    "'x'",
)
_SHAPES = (
    "{0}",
    "@{0}",
    "({0})",
    "( {0} & {1} )",
    "({0}) > nul",
    "2>nul {0}",
    ">nul {0}",
    "{0} > nul 2>&1",
    "{0} < nul",
    ",;= {0}",
    "call {0}",
    'start "" /b /wait {0}',
    "cmd /d /c {0}",
    'cmd /d /s /c "{0} & {1}"',
    "%COMSPEC% /d /c {0}",
    "for %i in (1 2) do {0}",
    "for %i in ({0} x) do @%i",
    "for /l %i in (1,1,2) do {0}",
    "for /f %i in ('{0}') do {1}",
    "for /f \"usebackq\" %i in (`{0}`) do {1}",
    "if 1==1 {0}",
    "if 1==2 ({0}) else {1}",
    'if "a"=="a" ({0} & {1})',
    "if not exist nosuch {0}",
    "if errorlevel 0 {0}",
    "if defined OS {0}",
    "if /i a==A {0} else {1}",
    "echo {0} & {1}",
    "echo {0} ^& {1}",
    'echo "{0} & {1}"',
    "rem {0} & {1}",
    "set x={0}& %x%",
    "set x={0} & {1}",
    "{0}^\n{1}",
)  # fmt: skip
_CHANCE = "^\"&|()<>%!,;= \t@'`x"


def lines(count: int, seed: int) -> list[str]:
    """Make lines for cmd.exe of shapes that run programs, then change some characters by chance."""
    chance = random.Random(seed)

    def program(depth: int) -> str:
        if depth and chance.random() < 0.4:
            return shaped(depth - 1)
        name = chance.choice(PROBES if chance.random() < 0.9 else _BUILTINS)
        name = chance.choice((name, name, name, name.upper(), f"{name}.exe", f'"{name}"', f"{name[0]}^{name[1:]}"))
        words = [chance.choice(_WORDS) for _ in range(chance.choice((0, 0, 1, 1, 2)))]
        return " ".join([name, *words])

    def shaped(depth: int) -> str:
        return chance.choice(_SHAPES).format(program(depth), program(depth)).replace("\n", "")

    found: list[str] = []
    while len(found) < count:
        line = chance.choice(_JOINTS).join(shaped(2) for _ in range(chance.choice((1, 1, 2, 3))))
        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            at = chance.randrange(len(line))
            line = line[:at] + chance.choice(_CHANCE) + line[at + chance.choice((0, 1)) :]
        found.append(line)
    return found


def is_allowed(line: str, core: tuple[str, ...], exclude: tuple[str, ...] = ()) -> bool:
    rules = Rules.from_lists(entries(core), entries(exclude) if exclude else None)
    return judge_for_cmd(line, rules.shell_core(), rules.shell_exclude()).gate == "allow"


def undetected(line: str, ran: set[str]) -> set[str]:
    """Return the programs that ran although the judge knew nothing of them."""
    known = (*PROBES, *_BUILTINS)
    return {
        name
        for name in ran
        if is_allowed(line, ("*",), (name,)) or is_allowed(line, tuple(each for each in known if each != name))
    }


_INTERNAL_ERROR = 1359


def run(line: str, folder: Path, number: int) -> set[str]:
    """Have cmd.exe run a line as dogu would, and return the programs that said their names."""
    assert sys.platform == "win32"
    from dogu.workspace.process.windows import SHELL_OPTIONS, cmd_exe

    place = folder / str(number)
    place.mkdir()
    said = folder / f"{number}.said"
    environ = {**os.environ, "PATH": f"{os.environ['DOGU_TEST_PROBES']};{os.environ['PATH']}", "DOGU_PROBE": str(said)}
    command = f'"{cmd_exe()}" {" ".join(SHELL_OPTIONS)} "{line}"'
    nothing = subprocess.DEVNULL
    streams = {"stdin": nothing, "stdout": nothing, "stderr": nothing}
    start = partial(subprocess.Popen, command, executable=cmd_exe(), cwd=place, env=environ, **streams)
    try:
        begun = start()
    except OSError as error:  # Wine's own, now and then, on a busy machine
        if error.winerror != _INTERNAL_ERROR:
            raise
        begun = start()
    with begun as process:
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    return set(said.read_text().split()) if said.exists() else set()


def test_no_program_runs_that_the_judge_did_not_know_of(tmp_path: Path) -> None:
    if "DOGU_TEST_PROBES" not in os.environ:
        pytest.skip("needs the programs that say their names: scripts/windows.sh makes them")
    tried = lines(int(os.environ.get("DOGU_CMD_LINES", "1000")), int(os.environ.get("DOGU_CMD_SEED", "18")))
    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(run, tried, repeat(tmp_path), range(len(tried))))
    assert sum(map(bool, ran)) > len(tried) // 3, "too few lines ran anything"
    missed = {line: found for line, names in zip(tried, ran, strict=True) if (found := undetected(line, names))}
    print(f"{len(tried)} lines, {sum(map(len, ran))} programs run, {len(missed)} lines with one that was not known of")
    assert missed == {}
