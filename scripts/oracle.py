"""Runs what the judge allows and sees what it does: `make oracle`.

Something that doesn't know our rules checks the result. Options that installed programs name in their own help are
mutated (abbreviated, attached, bundled, computed, behind xargs), given a program or a file as their value, and judged
under a rule for the program alone. What is allowed runs in a namespace with no network and a throwaway workspace. The
run fails when a program of the workspace was run, or a file changed that no such command should touch; with `--trace`
also when a connection was tried. Code for interpreters is put together of parts that look and parts that run. The same
commands are made for each seed; `oracle.toml` says of what. At last it counts the questions about what agents run all
day, and fails when they are more than three in a hundred.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.judge import ParsedText, judge_command
from dogu.policy.commands.table import find_program
from dogu.policy.rules import Rules
from dogu.workspace.shell_syntax import NotBashError

_FOLDER = "/mnt"  # a tmpfs inside of the namespace; what is there outside isn't seen
_WORK, _OUTSIDE = f"{_FOLDER}/w", f"{_FOLDER}/outside"
_VALUES = (
    "./pwn",
    "keep",
    f"{_OUTSIDE}/victim",
    "new-file",
    "!./pwn",
    "|./pwn",
    "@secret",
    "x@secret",
    "new-#1",
    "file",
)
_ANSWERS_AT = 8000  # a port of the namespace, where a server takes what is sent
_BATCH = 150
_LISTED = ("echo", "xargs", "tee")
_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
_BASES: dict[str, list[str]] = _DATA["bases"]
_VARIABLES: list[str] = _DATA["variables"].split()
_CODES: dict[str, list[str]] = _DATA["codes"]
_SETTINGS: list[str] = _DATA["settings"]
_EVERYDAY = Path(__file__).parents[1] / "tests" / "policy" / "data" / "everyday.txt"
_MOST_ASKED = 0.03


def main() -> int:
    """Run for the seconds given; the exit code says whether anything did more than its rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--trace", action="store_true", help="run under strace: slower, and sees what was run and connected to"
    )
    parser.add_argument("--commands", help="a file of commands to judge and run, in place of mutated ones")
    arguments = parser.parse_args()
    if arguments.inside:
        return _inside(arguments.trace)
    if not _has_namespace():
        print("oracle: skipped, no namespace can be made here (bwrap)")
        return 0
    return _oracle(arguments.seconds, arguments.seed, arguments.commands, arguments.trace)


def _oracle(seconds: float, seed: int, file: str | None, trace: bool) -> int:
    began, judged, ran, beyond = time.monotonic(), 0, 0, 0
    source = iter(_given(file)) if file else _mutations(random.Random(seed))
    batch: list[str] = []
    for command in source:
        judged += 1
        if _is_allowed(command):
            batch.append(command)
        if len(batch) == _BATCH:
            ran, beyond = ran + len(batch), beyond + _report(batch, trace)
            batch = []
        if time.monotonic() - began > seconds:
            break
    ran, beyond = ran + len(batch), beyond + (_report(batch, trace) if batch else 0)
    print(f"oracle: {judged} commands judged (seed {seed}), {ran} allowed and run, {beyond} did more than their rule")
    return 1 if beyond or not (file or _asks_little()) else 0


def _asks_little() -> bool:
    """Whether what agents run all day is asked about as seldom as it should; says how often it is."""
    commands: list[str] = []
    for line in _EVERYDAY.read_text().split("\n")[1:]:
        if line.startswith("| "):
            commands[-1] += f"\n{line[2:]}"
        elif line and not line.startswith("## "):
            commands.append(line)
    named = {each.words[0] for command in commands for each in judge_command(command, None, ()).commands}
    core = Rules.from_lists([f"{SHELL_TOOL}({each})" for each in sorted(named) if each]).shell_core()
    asked = sum(judge_command(command, core, ()).gate != "allow" for command in commands)
    share = asked / len(commands)
    print(f"oracle: {asked} of {len(commands)} everyday commands are asked about ({share:.1%})")
    return share <= _MOST_ASKED


def _given(file: str) -> list[str]:
    """The commands of a file, a line each, but for what bash couldn't read without the next line."""
    found: list[str] = []
    for line in Path(file).read_text().splitlines():
        if found and isinstance(ParsedText(found[-1]).script, NotBashError):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _report(batch: list[str], trace: bool) -> int:
    beyond = 0
    for command, found in _run(batch, trace):
        if found:
            beyond += 1
            print(f"oracle: {command}\n    {'; '.join(found)}")
    return beyond


# what to try


def _mutations(chance: random.Random) -> Iterator[str]:
    programs = [name for name in _BASES if shutil.which(name)]
    while True:
        name = chance.choice(programs)
        if name in _CODES and chance.randrange(2):
            yield f"{name} {_code(chance, *_CODES[name])}"
            continue
        base = chance.choice(_BASES[name])
        if not chance.randrange(12):
            yield _setting(chance, f"{name} {base}".strip())
            continue
        words = base.split(" ")
        options = _options(name, words[0] if name in ("git", "npm", "pip") else "")
        yield _mutated(chance, name, base, options) if options else f"{name} {base}".strip()


def _setting(chance: random.Random, command: str) -> str:
    """A steering variable set in one of the ways that aren't assignments, and a command that would feel it."""
    name = chance.choice(("PATH", "PATH", "PATH", "IFS", "BASH_ENV", "LD_PRELOAD", "GREP_OPTIONS"))
    return chance.choice(_SETTINGS).replace("NAME", name).replace("COMMAND", command)


def _code(chance: random.Random, flag: str, *parts: str) -> str:
    """Code for an interpreter: a few parts, joined in some way, one perhaps within another."""
    chosen = [chance.choice(parts) for _ in range(chance.randrange(1, 4))]
    code = chance.choice(("; ", ";", "\n", ", ", " and ", " + ")).join(chosen)
    code = chance.choice(("{}", "{}", "print({})", "console.log({})", "({})", "[{}]")).format(code)
    return f"{flag}{chance.choice((' ', ' ', ''))}{_quoted(code)}"


def _mutated(chance: random.Random, name: str, base: str, options: list[str]) -> str:
    option, value = chance.choice(options), chance.choice(_VALUES)
    spelled = _spelled(chance, option, value, options)
    first, _, rest = base.partition(" ")
    behind = f"{name} {first} {spelled} {rest}" if name in ("git", "npm", "pip") else f"{name} {spelled} {base}"
    forms = (
        f"{name} {spelled} {base}",
        f"{name} {base} {spelled}",
        f"x={_quoted(option.lstrip('-') + '=' + value)}; {name} {base} --$x",
        f"echo {_quoted(spelled)} | xargs {name} {base}",
        f"{chance.choice(_VARIABLES)}={_quoted(value)} {name} {base}",
        f"{name} {base} $(echo {_quoted(spelled)})",
        f"v={_quoted(value)}; {name} {base} {option}$v",
        f"{name} {base} @{chance.choice(('words', 'more-words'))}",
        f"{name} {spelled} {base} {_quoted(value)}",  # an operand more than is known of its use
        f"{name} {option} {_quoted(value)}",
        f"{name} {chance.choice(options)} {spelled} {base}",  # what is a flag to the table may take it as value
        behind,
        behind,
        behind,
    )
    return chance.choice(forms).strip()


def _spelled(chance: random.Random, option: str, value: str, options: list[str]) -> str:
    if option.startswith("--"):
        cut = chance.choice((len(option), max(4, len(option) - chance.randrange(1, 6))))
        return option[:cut] + chance.choice((f"={_quoted(value)}", f" {_quoted(value)}", ""))
    if len(option) > 2:
        return option + chance.choice((f" {_quoted(value)}", f"={_quoted(value)}", ""))
    flags = [each[1] for each in options if len(each) == 2]
    bundle = chance.choice(("", chance.choice(flags) if flags else ""))
    return f"-{bundle}{option[1:]}" + chance.choice((f"{_quoted(value)}", f" {_quoted(value)}", ""))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@cache
def _options(name: str, subcommand: str) -> list[str]:
    """The options that the program's own help names, and those of the table."""
    texts: list[str] = []
    for asked in ([subcommand, "-h"], ["--help"], ["--help", "all"]) if subcommand else (["--help"], ["--help", "all"]):
        try:
            done = subprocess.run(
                [name, *asked],
                capture_output=True,
                timeout=10,
                stdin=subprocess.DEVNULL,
                env=_environment(),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        texts.append((done.stdout + done.stderr).decode("utf-8", "replace"))
    found = re.findall(r"(?<![\w-])(--?[A-Za-z0-9][A-Za-z0-9-]*)", "\n".join(texts).replace("[no-]", ""))
    program = find_program(name)
    for grammar in program.grammars() if program is not None and not subcommand else ():
        found += [each for each in grammar.options if re.fullmatch(r"--?[A-Za-z0-9][\w-]*", each)]
    return sorted(set(found))


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}


def _is_allowed(command: str) -> bool:
    """Whether rules that name the programs, and nothing else, allow it."""
    named = {each.words[0] for each in judge_command(command, None, ()).commands} | {*_LISTED}
    named -= {each for each in named if not re.fullmatch(r"[\w.\[-]+", each) or each in ("pwn", "bash", "sh")}
    rules = Rules.from_lists([f"{SHELL_TOOL}({each})" for each in sorted(named)])
    return judge_command(command, rules.shell_core(), ()).gate == "allow"


# running


def _bubblewrap(*command: str) -> list[str]:
    ours = {str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix}
    hidden = [path for path in sorted(ours) if path.startswith(("/tmp/", "/run/", "/var/tmp/"))]
    return [
        *"bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp".split(),
        *("--tmpfs", "/run", "--tmpfs", "/var/tmp", "--tmpfs", _FOLDER, "--cap-drop", "ALL", "--clearenv"),
        *(word for path in hidden for word in ("--ro-bind", path, path)),
        *("--setenv", "PATH", os.environ.get("PATH", ""), "--setenv", "HOME", f"{_FOLDER}/home"),
        *("--setenv", "PYTHONPATH", str(Path(__file__).parents[1] / "src"), *command),
    ]


def _has_namespace() -> bool:
    if shutil.which("bwrap") is None or shutil.which("bash") is None:
        return False
    return subprocess.run(_bubblewrap("true"), capture_output=True, check=False).returncode == 0


def _run(batch: list[str], trace: bool) -> Iterator[tuple[str, list[str]]]:
    """Run the commands one after the other in one namespace; yield each with what it did beyond its rule."""
    done = subprocess.run(
        _bubblewrap(sys.executable, __file__, "--inside", *(["--trace"] if trace else [])),
        input=json.dumps(batch).encode(),
        capture_output=True,
        timeout=_BATCH * 8,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"[")]
    if len(answers) < len(batch):
        ended = batch[len(answers)]
        yield ended, [f"the run ended there: {done.stderr.decode('utf-8', 'replace')[-300:].strip()}"]
    yield from zip(batch, answers, strict=False)


def _inside(trace: bool) -> int:
    batch: list[str] = json.load(sys.stdin)
    template = Path(f"{_FOLDER}/template")
    _make_workspace(template)
    server = ThreadingHTTPServer(("127.0.0.1", _ANSWERS_AT), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    has_strace = (
        trace
        and shutil.which("strace") is not None
        and subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode
        == 0
    )
    for command in batch:
        print(json.dumps(_watched(command, template, has_strace)), flush=True)
    return 0


class _Answers(BaseHTTPRequestHandler):
    """Answers anything with a line, and takes note where a file's text was sent."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if b"s3cr3t" in self.requestline.encode() + bytes(self.headers) + body:
            Path(f"{_FOLDER}/sent").touch()
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"fine\n")

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815  (the base class looks for these names)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _make_workspace(place: Path) -> None:
    (place / "w").mkdir(parents=True)
    (place / "outside").mkdir()
    (place / "outside" / "victim").write_text("victim\n")
    for name, text in _DATA["files"].items():
        (place / "w" / name).write_text(text)
    pwn = place / "w" / "pwn"
    pwn.write_text(f"#!/bin/sh\n: > {_FOLDER}/ran\n")
    pwn.chmod(0o755)
    for folder in _DATA["numbers"]:  # where PATH leads when arithmetic or a descriptor sets it
        (place / "w" / folder).mkdir()
        for name in _BASES:
            shutil.copy2(pwn, place / "w" / folder / name)
    Path(f"{_FOLDER}/home").mkdir()
    subprocess.run(["bash", "-c", _DATA["setup"]], cwd=place / "w", capture_output=True, timeout=60, check=False)


def _watched(command: str, template: Path, has_strace: bool) -> list[str]:
    """Run the command; say what it did that no rule for its program covers."""
    for name in ("w", "outside"):
        shutil.rmtree(f"{_FOLDER}/{name}", ignore_errors=True)
        shutil.copytree(template / name, f"{_FOLDER}/{name}", symlinks=True)
    mark, log, sent = Path(f"{_FOLDER}/ran"), Path(f"{_FOLDER}/strace"), Path(f"{_FOLDER}/sent")
    sent.unlink(missing_ok=True)
    mark.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    words = ["bash", "-c", command]
    if has_strace:
        words = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=execve,connect", *words]
    environment = {
        **_environment(),
        "HOME": f"{_FOLDER}/home",
        "GIT_TERMINAL_PROMPT": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        subprocess.run(
            words,
            cwd=_WORK,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        pass
    return [*_beyond(template, mark, log, command), *(["a file was sent"] if sent.exists() else [])]


def _beyond(template: Path, mark: Path, log: Path, command: str) -> list[str]:
    name = re.sub(r"^(?:\w+=\S*;? )|^echo .*\| xargs |^\W+ ", "", command).split()[0]
    is_own_job = name in _DATA["own_job"].split()
    runs_scripts = name in _CODES and re.search(r"(?:^|\s)'?\./pwn'?(?:\s|$)", command) is not None
    found = ["a program of the workspace was run"] if mark.exists() and not runs_scripts else []
    others = () if is_own_job else ("w/keep", "w/pwn", "w/a.txt", "w/t.py", "w/package.json")
    for path in ("outside/victim", "w/.git/config", "w/Makefile", *others):
        now = Path(f"{_FOLDER}/{path}")
        if not now.exists() or now.read_bytes() != (template / path).read_bytes():
            found.append(f"{path} was changed")
    found += [f"{each} was written" for each in _new_files(template) if each.startswith("outside") or not is_own_job]
    traced = log.read_text(errors="replace") if log.exists() else ""
    found += [
        f"{each} was run"
        for each in re.findall(rf'execve\("((?:\./|{_WORK}/)[^"]*)"[^\n]*= 0', traced)
        if not mark.exists()
    ]
    if "sa_family=AF_INET" in traced and not re.search(r"(?:^|[\s;&|({])(?:curl|wget|npm|pip|python3|man)\b", command):
        found.append("a connection was tried")
    return found


def _new_files(template: Path) -> list[str]:
    """Files outside of the workspace that weren't there, and those in it that bear a name from among the values."""
    outside = [f"outside/{name}" for name in os.listdir(_OUTSIDE) if name != "victim"]
    inside = [
        name
        for name in os.listdir(_WORK)
        if name.startswith(("new-file", "keep", "pwn"))
        and not name.endswith((".gz", ".xz"))
        and not (template / "w" / name).exists()
    ]
    return outside + inside


if __name__ == "__main__":
    sys.exit(main())
