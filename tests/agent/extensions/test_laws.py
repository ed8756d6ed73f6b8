"""Whatever stands in files of one's own and whatever hooks print: it is understood or told, and never raises else."""

import contextlib
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dogu.agent.extensions.commands import BadCommand, CustomCommand, read_command
from dogu.agent.extensions.skills import FrontmatterError, read_skill, split_frontmatter
from dogu.agent.extensions.template import File, Shell, TemplateError, Words, parse_template, with_args
from dogu.runtime.hooks.answer import HookAnswer, read_answer
from dogu.runtime.hooks.config import Hook, HookFile, Moment, disabled_names, read_hooks

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
EVENTS = st.sampled_from([*Moment, "PreToolUse", "Stop", "Nonsense", "disabled", "enabled"])
WORDS = ("decision", "reason", "continue", "hookSpecificOutput", "systemMessage", "stopReason", "permissionDecision")
OUTPUTS = st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=8), VALUES, max_size=5)


def hook(event: str, moment: Moment) -> Hook:
    return Hook(moment, event, "x", "", 1.0, "x", "settings.json", False)


@settings(max_examples=50)
@given(st.dictionaries(EVENTS, VALUES | st.lists(st.fixed_dictionaries({"hooks": st.lists(VALUES)})), max_size=4))
def test_any_hooks_of_a_settings_file_are_read_or_told(value: dict[str, Any]) -> None:
    file = HookFile("settings.json", False, value)
    hooks, problems = read_hooks((file,))
    assert all(isinstance(found, Hook) and found.command for found in hooks)
    assert all(str(problem).startswith("settings.json: hooks.") for problem in problems)
    assert all(isinstance(name, str) for name in disabled_names(file))


@settings(max_examples=50)
@given(
    OUTPUTS.map(json.dumps) | VALUES.map(json.dumps) | st.text(max_size=60), st.text(max_size=20), st.integers(-1, 3)
)
def test_anything_that_a_hook_prints_is_an_answer(stdout: str, stderr: str, code: int) -> None:
    for event, moment in (("BeforeTool", Moment.BEFORE_TOOL), ("UserPromptSubmit", Moment.BEFORE_AGENT)):
        answer = read_answer(hook(event, moment), stdout, stderr, code)
        assert isinstance(answer, HookAnswer)
        assert answer.decision in ("", "ask", "deny")
        if code == 2:
            assert answer.decision == "deny"


@settings(max_examples=50)
@given(st.text(alphabet="{}!@a \"'$()`\\\n", max_size=60))
def test_a_prompt_s_pieces_are_the_prompt(prompt: str) -> None:
    try:
        pieces = parse_template(prompt)
    except TemplateError:
        return
    words = [piece.text for piece in pieces if isinstance(piece, Words)]
    assert all(word in prompt for word in words)
    assert all(isinstance(piece, Words | Shell | File) for piece in pieces)


@settings(max_examples=50)
@given(st.text(alphabet="{}ar gs\"'$()`\\|;", max_size=40), st.text(max_size=10))
def test_arguments_are_put_in_or_refused(command: str, args: str) -> None:
    with contextlib.suppress(TemplateError):
        assert "{{args}}" not in with_args(command, args) or "{{args}}" in args or "{{args}}" in command


@settings(max_examples=50)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_command_or_a_bad_one(tmp_path_factory: Any, data: bytes) -> None:
    file: Path = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(data)
    assert isinstance(read_command(str(file), "any"), CustomCommand | BadCommand)


@settings(max_examples=50)
@given(st.text(alphabet="-na me:\n>|'\"#\\xdescription", max_size=80))
def test_any_head_is_read_or_told(text: str) -> None:
    for head in (text, f"---\n{text}\n---\nbody"):
        with contextlib.suppress(FrontmatterError):
            values, _ = split_frontmatter(head)
            assert all(isinstance(value, str) for value in values.values())


@settings(max_examples=50)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_skill_or_a_sentence(tmp_path_factory: Any, data: bytes) -> None:
    folder: Path = tmp_path_factory.getbasetemp() / "skill"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(b"---\n" + data)
    assert read_skill(str(folder), is_project=False)
