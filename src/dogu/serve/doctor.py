"""What dogu needs, checked one by one; for what is missing, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum

import httpx2
import msgspec

from dogu.language import say, sentence
from dogu.workspace.columns import hanging, padded, width
from dogu.workspace.system import IS_LINUX
from dogu.workspace.visible import visible_line

_NAME_CELLS = 11
_LEAST_BESIDE = 24
_NAMES = (
    sentence("system"),
    sentence("terminal"),
    sentence("settings"),
    sentence("folder"),
    sentence("model"),
    sentence("key"),
    sentence("key file"),
    sentence("layers"),
    sentence("commands"),
    sentence("sandbox"),
    sentence("network"),
    sentence("rules"),
    sentence("servers"),
    sentence("hooks"),
    sentence("skills"),
    sentence("own folder"),
)  # of the checks


class Health(StrEnum):
    """How a check went."""

    GOOD = "ok"
    POOR = "warn"
    BAD = "fail"


class Check(msgspec.Struct, frozen=True):
    """One thing checked: what was found, and what to do when it isn't good."""

    name: str
    health: Health
    found: str
    advice: str = ""


def print_checks(checks: Sequence[Check]) -> bool:
    """Print the checks; whether none is bad. On a terminal, lines are broken between words."""
    marks = {Health.GOOD: "✔", Health.POOR: "!", Health.BAD: "✘"}
    widest = max(_NAME_CELLS, *(width(say(check.name)) for check in checks))
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    before = widest + 3 if columns - widest >= _LEAST_BESIDE else 2
    for check in checks:
        _print(f"{marks[check.health]} {padded(say(check.name), widest)} {check.found}", columns, before)
        if check.advice:
            _print(f"{' ' * before}→ {check.advice}", columns, before + 2)
    return all(check.health is not Health.BAD for check in checks)


def _print(line: str, columns: int, indent: int) -> None:
    print(hanging(visible_line(line), columns, " " * indent))


def check_system() -> Check:
    """Look at Python and the system."""
    found = say(
        "Python {version} on {system} {release}",
        version=platform.python_version(),
        system=platform.system(),
        release=platform.release(),
    )
    if not IS_LINUX:
        return Check(
            "system",
            Health.POOR,
            found,
            say("Fewer protections hold here than on Linux; docs/platforms.md lists them, and what was tested."),
        )
    return Check("system", Health.GOOD, found)


def check_program(name: str, program: str | None, advice: str, *, is_needed: bool) -> Check:
    """Ask a program for its version; `program` None means that it wasn't found."""
    path = program and shutil.which(program)
    if not path:
        return Check(name, Health.BAD if is_needed else Health.POOR, say("not found"), advice)
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Check(name, Health.BAD, say("{path} doesn't run: {error}", path=path, error=error), advice)
    return Check(name, Health.GOOD, f"{done.stdout.splitlines()[0] if done.stdout else say('runs')} ({path})")


def check_terminal() -> Check:
    """Look at the terminal's encoding, kind, colors and size."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        found = say("encoding {encoding}", encoding=sys.stdout.encoding)
        return Check("terminal", Health.POOR, found, say("Set LANG=C.UTF-8 or PYTHONUTF8=1."))
    if not sys.stdout.isatty():
        return Check("terminal", Health.GOOD, say("not a terminal, UTF-8"))
    kind, columns = os.environ.get("TERM", ""), shutil.get_terminal_size().columns
    found = say("{kind}, UTF-8, {columns} columns", kind=kind or "TERM?", columns=columns)
    if kind in ("", "dumb"):
        advice = say(
            "Set TERM (such as xterm-256color) for colors and an input box; without it, dogu prints plain lines."
        )
        return Check("terminal", Health.POOR, found, advice)
    if columns < 40:
        return Check("terminal", Health.POOR, found, say("Make it at least 40 columns wide."))
    return Check("terminal", Health.GOOD, found)


async def check_address(name: str, url: str) -> Check:
    """Try to reach a server; any answer counts, a time-out after 5 s doesn't."""
    try:
        async with httpx2.AsyncClient(timeout=5) as client:
            answer = await client.get(url)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        found = say("{url} can't be reached ({reason})", url=url, reason=reason)
        return Check(name, Health.BAD, found, say("Check the network, HTTPS_PROXY, the address."))
    return Check(name, Health.GOOD, say("{url} answers ({status})", url=url, status=answer.status_code))
