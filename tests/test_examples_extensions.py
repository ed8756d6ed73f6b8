"""The examples of hooks, commands, skills and the library work as they are."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dogu.agent.extensions.commands import CustomCommand, CustomCommands
from dogu.agent.extensions.skills import SkillFolder, Skills
from dogu.app import Options, open_runtime

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = pytest.mark.anyio


def test_the_commands_are_understood() -> None:
    found = CustomCommands([str(EXAMPLES / "commands")]).all()
    assert [entry.name for entry in found] == ["git:commit", "review"]
    assert all(isinstance(entry, CustomCommand) for entry in found)


def test_the_skills_are_understood() -> None:
    skills = Skills([SkillFolder(str(EXAMPLES / "skills"))])
    assert [skill.name for skill in skills.all()] == ["changelog"]
    assert skills.problems() == []
    assert [Path(path).name for path in skills.load(skills.all()[0]).files] == ["style.md"]


async def test_the_hook_keeps_lock_files(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "project"
    (home / ".dogu").mkdir(parents=True)
    root.mkdir()
    command = shlex.join([sys.executable, str(EXAMPLES / "hooks" / "keep_lockfiles.py")])
    hooks = {"BeforeTool": [{"matcher": "^(write_file|replace)$", "hooks": [{"command": command, "timeout": 20000}]}]}
    (home / ".dogu" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    options = Options(root=str(root), home=str(home), approval_mode="yolo")
    async with open_runtime(options) as runtime:
        refused = await runtime.call("write_file", file_path="uv.lock", content="x")
        let_in = await runtime.call("write_file", file_path="a.txt", content="x")
    assert refused.result.error is not None
    assert "run that instead" in refused.result.error.message
    assert let_in.result.error is None


def test_the_hook_tells_the_branch(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "topic", str(tmp_path)], check=True)
    hook = ["bash", str(EXAMPLES / "hooks" / "add_branch.sh")]
    done = subprocess.run(hook, cwd=tmp_path, input="{}", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == "The branch is topic."


def test_the_library_s_example_runs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    program = [sys.executable, str(EXAMPLES / "library" / "review_changes.py"), "read a.txt", "--model", "offline"]
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "alpha" in done.stdout
