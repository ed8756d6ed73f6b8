"""What dogu needs, checked one by one; for what is missing, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from enum import StrEnum

import msgspec


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


def print_checks(checks: Iterable[Check]) -> bool:
    """Print the checks; whether none is bad."""
    marks = {Health.GOOD: "✔", Health.POOR: "!", Health.BAD: "✘"}
    is_well = True
    for check in checks:
        print(f"{marks[check.health]} {check.name:<11} {check.found}")
        if check.advice:
            print(f"  {'':<11} → {check.advice}")
        is_well = is_well and check.health is not Health.BAD
    return is_well


def check_system() -> Check:
    """Look at Python and the system."""
    found = f"Python {platform.python_version()} on {platform.system()} {platform.release()}"
    if sys.platform != "linux":
        return Check("system", Health.POOR, found, "dogu is tested on Linux; elsewhere the sandbox is missing.")
    return Check("system", Health.GOOD, found)


def check_program(name: str, program: str | None, advice: str, *, is_needed: bool) -> Check:
    """Ask a program for its version; `program` None means that it wasn't found."""
    path = program and shutil.which(program)
    if not path:
        return Check(name, Health.BAD if is_needed else Health.POOR, "not found", advice)
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Check(name, Health.BAD, f"{path} doesn't run: {error}", advice)
    return Check(name, Health.GOOD, f"{done.stdout.splitlines()[0] if done.stdout else 'runs'} ({path})")


def check_terminal() -> Check:
    """Look at the terminal's encoding and colors."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        return Check("terminal", Health.POOR, f"encoding {sys.stdout.encoding}", "Set LANG=C.UTF-8 or PYTHONUTF8=1.")
    kind = os.environ.get("TERM", "none") if sys.stdout.isatty() else "not a terminal"
    return Check("terminal", Health.GOOD, f"{kind}, UTF-8")


async def check_address(name: str, url: str) -> Check:
    """Try to reach a server; any answer counts, a time-out after 5 s doesn't."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=5) as client:
            answer = await client.get(url)
    except httpx2.HTTPError as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return Check(
            name, Health.BAD, f"{url} can't be reached ({reason})", "Check the network, HTTPS_PROXY, the address."
        )
    return Check(name, Health.GOOD, f"{url} answers ({answer.status_code})")
