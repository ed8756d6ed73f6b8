"""What an import loads: start-up time is a promise, and modules are what it is spent on."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "asyncio",
    "chardet",
    "difflib",
    "email",
    "google",
    "http",
    "httpx2",
    "mcp",
    "openai",
    "prompt_toolkit",
    "psutil",
    "pydantic",
    "rapidfuzz",
    "re2",
    "rich",
    "ssl",
    "subprocess",
    "tempfile",
    "urllib",
}
NOT_BEFORE_THE_PROMPT = {
    "dogu.models.offline_request",
    "dogu.policy.commands.dangers",
    "google",
    "mcp",
    "acp",
    "openai",
    "pydantic",
    "rich.markdown",
    "selectolax",
    "httpx2",
    "chardet",
}


def loaded_by(program: str) -> set[str]:
    """Return the modules that a bare interpreter has after the program and didn't have before."""
    script = (
        f"import json, sys; before = set(sys.modules)\n{program}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_dogu_loads_nothing_of_it_but_the_version() -> None:
    loaded = loaded_by("import dogu")
    assert {name for name in loaded if name.split(".")[0] == "dogu"} <= {"dogu", "dogu.version"}
    assert {name.split(".")[0] for name in loaded} & (HEAVY | {"msgspec", "anyio", "inspect", "dataclasses"}) == set()


def test_the_version_is_told_without_loading_the_program() -> None:
    loaded = loaded_by("from dogu.cli import main; assert main(['--version']) == 0")
    ours = {"dogu", "dogu.cli", "dogu.version"}
    assert {name for name in loaded if name.split(".")[0] == "dogu"} <= ours
    assert loaded & (HEAVY | {"argparse", "msgspec", "anyio", "inspect"}) == set()


def test_what_is_forked_for_a_command_loads_the_standard_library_alone() -> None:
    source = str(Path(__file__).parent.parent / "src")
    script = f"""import sys; sys.path.append({source!r})
from dogu.workspace.launcher import apply, main, network
ours = sorted(name for name in sys.modules if name.split(".")[0] == "dogu" and "launcher" not in name)
others = sorted({{name.split(".")[0] for name in sys.modules}} - {{*sys.stdlib_module_names, "dogu", "__main__"}})
print(*ours, *others)"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dogu", "dogu.version", "dogu.workspace", "dogu.workspace.system"]


@pytest.mark.parametrize("module", ["dogu.contract.tool", "dogu.runtime.executor", "dogu.policy.policy", "dogu.app"])
def test_the_runtime_is_imported_without_what_only_some_calls_need(module: str) -> None:
    assert loaded_by(f"import {module}") & HEAVY == set()


def test_opening_every_tool_loads_no_wire_and_no_screen(tmp_path: Path) -> None:
    program = f"""
import anyio, dogu
async def main():
    async with dogu.open_runtime(dogu.Options(root={str(tmp_path)!r}, home={str(tmp_path)!r})) as runtime:
        assert runtime.registry.declarations
anyio.run(main)"""
    heavy = {
        "chardet",
        "difflib",
        "google",
        "httpx2",
        "mcp",
        "openai",
        "prompt_toolkit",
        "pydantic",
        "rapidfuzz",
        "rich",
    }
    assert loaded_by(program) & heavy == set()


def test_the_prompt_is_drawn_before_any_heavy_import() -> None:
    screen = "conversation, live_screen, plain_screen, completion, confirm, connect, opening"
    loaded = loaded_by(f"import dogu.app, dogu.commands\nfrom dogu.serve.terminal import {screen}")
    assert {name for name in loaded if name in NOT_BEFORE_THE_PROMPT} == set()


def test_a_session_opens_before_any_heavy_import(tmp_path: Path) -> None:
    program = f"""
import anyio
from dogu.app import Options, open_agent

async def main():
    async with open_agent(Options(root={str(tmp_path)!r}, home={str(tmp_path)!r}, model="offline")) as opened:
        list(opened.slash)

anyio.run(main)
"""
    assert loaded_by(program) & NOT_BEFORE_THE_PROMPT == set()


def test_a_server_of_mcp_loads_its_sdk_after_the_prompt(tmp_path: Path) -> None:
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text('{"mcpServers": {"a": {"command": "true"}}}')
    program = f"""
import anyio
from dogu.app import Options, open_agent

async def go_on(_question):
    return False

async def main():
    options = Options(root={str(tmp_path)!r}, home={str(tmp_path)!r}, model="offline")
    async with open_agent(options, ask_to_go_on=go_on) as opened:
        list(opened.slash)

anyio.run(main)
"""
    assert loaded_by(program) & NOT_BEFORE_THE_PROMPT == set()


def test_reading_a_file_loads_no_engine_of_edits(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    call = ["call", "read_file", f"file_path={tmp_path}/a.txt", "--root", str(tmp_path)]
    loaded = loaded_by(f"from dogu.cli import main; assert main({call!r}) == 0")
    assert {name for name in loaded if name.startswith(("dogu.workspace.edit_match", "dogu.workspace.diff"))} == set()


def test_the_door_of_mcp_leaves_the_sdk_s_client_and_its_framework_unloaded() -> None:
    program = """
from dogu.lean_import import lean_import
with lean_import("mcp", "mcp.client", "mcp.server"):
    import dogu.serve.mcp.door
"""
    loaded = loaded_by(program)
    assert {name for name in loaded if name.startswith(("mcp.client.", "mcp.server.mcpserver"))} == set()
    whole = loaded_by(f"""{program}
import mcp, mcp.server, pydantic
from mcp.client import ClientSession
assert (mcp.ClientSession, mcp.server.lowlevel.Server) == (ClientSession, mcp.server.Server)
assert "defer_build" not in pydantic.BaseModel.model_config""")
    assert "mcp.client.session" in whole


def test_the_door_of_mcp_loads_no_http_for_standard_streams(tmp_path: Path) -> None:
    end = f"""
from dogu.cli import main
main(["mcp", "--root", {str(tmp_path)!r}])
"""
    loaded = loaded_by(end)
    assert "mcp.server.lowlevel.server" in loaded
    assert {name for name in loaded if name.startswith("mcp.server.auth.")} <= {
        "mcp.server.auth.middleware",
        "mcp.server.auth.middleware.auth_context",
    }
    assert {name for name in loaded if name.startswith(("starlette", "sse_starlette", "uvicorn", "httpx"))} == set()
    assert "starlette.applications" in loaded_by(
        f"{end}\nimport mcp.server.streamable_http_manager, starlette.applications"
    )


def test_no_other_python_of_ours_imports_from_the_current_folder():
    source = Path(__file__).parents[1] / "src" / "dogu"
    starts = [
        (path.name, word)
        for path in source.rglob("*.py")
        for word in re.findall(r'\[sys\.executable, ("[^"]*")', path.read_text(encoding="utf-8"))
    ]
    assert starts
    assert [start for start in starts if start[1] not in ('"-I"', '"-P"')] == []
