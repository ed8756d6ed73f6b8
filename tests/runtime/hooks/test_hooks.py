"""Hooks: the field's protocol around calls, and that no hook widens, hangs or takes down anything."""

import json
import re
import shlex
import stat
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from dogu.app import Options, open_runtime
from dogu.contract.content import text_of
from dogu.contract.errors import ErrorKind
from dogu.contract.function_tool import function_tool
from dogu.contract.tool import Kind
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.events import CallStarted, Noted, ToolAnswer, ToolCall
from dogu.runtime.questions import Confirm, Declined, Outcome, Question, approve
from dogu.runtime.runtime import Runtime
from dogu.settings import SettingsError
from processes import shared_fork_server

pytestmark = pytest.mark.anyio


class Place:
    """A home and a workspace; hooks are written in Python, run by this interpreter's shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.root = folder / "home", folder / "project"
        self.home.mkdir()
        self.root.mkdir()
        (self.root / "a.txt").write_text("alpha\n")
        (self.root / "b.txt").write_text("beta\n")
        self.events: list[object] = []
        self.asked: list[Question] = []

    def script(self, name: str, body: str) -> str:
        """Write a script of bash that has its JSON in $INPUT and return the command to run it."""
        file = self.folder / f"{name}.sh"
        file.write_text(f"INPUT=$(cat)\n{textwrap.dedent(body)}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return f"bash {shlex.quote(str(file))}"

    def settings(
        self, hooks: Mapping[str, Any], more: Mapping[str, Any] | None = None, *, project: bool = False
    ) -> None:
        folder = (self.root if project else self.home) / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"hooks": hooks, **(more or {})}))

    def hook(self, event: str, body: str, matcher: str = "", **more: Any) -> None:
        self.settings({event: [group(self.script("hook", body), matcher, **more)]})

    async def confirm(self, question: Question) -> Outcome:
        self.asked.append(question)
        return await approve(question)

    async def call(self, name: str, confirm: Confirm | None = None, mode: str = "default", **args: Any) -> ToolAnswer:
        options = Options(
            root=str(self.root), home=str(self.home), approval_mode=mode, fork_server=shared_fork_server()
        )
        async with open_runtime(options, confirm=confirm or self.confirm) as runtime:
            self.runtime = runtime
            return await runtime.call(name, args, emit=self.events.append)

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Noted))


def group(command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, "name": "guard", **more}]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def said(answer: ToolAnswer) -> str:
    return text_of(answer.result.llm_content)


def failure(answer: ToolAnswer) -> tuple[str, str]:
    assert answer.result.error is not None, said(answer)
    return str(answer.result.error.kind), answer.result.error.message


@pytest.mark.parametrize("event", ["BeforeTool", "PreToolUse"])
async def test_exit_code_2_refuses_the_call_with_standard_error_as_the_reason(place: Place, event: str) -> None:
    place.hook(event, "echo 'Not in this house.' >&2; exit 2")
    kind, message = failure(await place.call("read_file", path="a.txt"))
    assert kind == ErrorKind.REFUSED
    assert "Not in this house." in message


DENIALS = [
    {"decision": "deny", "reason": "because"},
    {"decision": "block", "reason": "because"},
    {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "because"}},
]


@pytest.mark.parametrize("output", DENIALS)
async def test_a_denial_in_json_refuses_the_call(place: Place, output: dict[str, Any]) -> None:
    place.hook("BeforeTool", f"echo {shlex.quote(json.dumps(output))}")
    kind, message = failure(await place.call("read_file", path="a.txt"))
    assert (kind, "because" in message) == (ErrorKind.REFUSED, True)


ALLOWANCES = [
    {"decision": "allow"},
    {"decision": "approve"},
    {"hookSpecificOutput": {"permissionDecision": "allow"}},
    {"continue": True},
]


@pytest.mark.parametrize("output", ALLOWANCES)
async def test_an_allowance_never_widens_what_the_policy_says(place: Place, output: dict[str, Any]) -> None:
    place.hook("BeforeTool", f"echo {shlex.quote(json.dumps(output))}")

    async def decline(_question: Question) -> Outcome:
        return Declined()

    kind, _ = failure(await place.call("run_shell_command", decline, command="touch made"))
    assert kind == ErrorKind.DECLINED
    place.settings(
        {"BeforeTool": [group(place.script("hook", f"echo {shlex.quote(json.dumps(output))}"))]},
        {"tools": {"exclude": ["run_shell_command(touch)"]}},
    )
    kind, _ = failure(await place.call("run_shell_command", command="touch made", mode="yolo"))
    assert kind == ErrorKind.REFUSED
    assert not (place.root / "made").exists()


@pytest.mark.parametrize("word", ["ask", "perhaps"])
async def test_a_hook_that_asks_or_says_what_nobody_knows_has_a_user_asked_even_in_yolo(
    place: Place, word: str
) -> None:
    place.hook("BeforeTool", f'echo \'{{"decision": "{word}", "reason": "look"}}\'')
    assert "alpha" in said(await place.call("read_file", path="a.txt", mode="yolo"))
    assert len(place.asked) == 1
    assert "guard" in place.asked[0].verdict.reason
    options = Options(root=str(place.root), home=str(place.home), approval_mode="yolo")
    async with open_runtime(options) as runtime:
        kind, _ = failure(await runtime.call("read_file", path="a.txt"))
    assert kind == ErrorKind.NOBODY_TO_ASK


async def test_a_changed_input_is_shown_judged_and_run_in_the_place_of_the_first(place: Place) -> None:
    change = {"hookSpecificOutput": {"tool_input": {"command": "printf changed"}}}
    place.hook("BeforeTool", f"echo {shlex.quote(json.dumps(change))}", "run_shell_command")
    answer = await place.call("run_shell_command", command="printf first", description="say")
    assert "Stdout: changed" in said(answer)
    assert "changed the arguments of this call" in said(answer)
    assert "printf changed (say)" in place.asked[0].description
    started = next(event for event in place.events if isinstance(event, CallStarted))
    assert started.call.args == {"command": "printf changed", "description": "say"}
    assert "printf changed" in place.notes


async def test_a_changed_input_that_the_settings_exclude_is_refused(place: Place) -> None:
    change = {"hookSpecificOutput": {"tool_input": {"command": "rm a.txt"}}}
    command = place.script("hook", f"echo {shlex.quote(json.dumps(change))}")
    place.settings({"BeforeTool": [group(command)]}, {"tools": {"exclude": ["run_shell_command(rm)"]}})
    kind, _ = failure(await place.call("run_shell_command", command="ls", mode="yolo"))
    assert kind == ErrorKind.REFUSED
    assert (place.root / "a.txt").exists()


async def test_a_changed_input_that_is_not_valid_is_refused(place: Place) -> None:
    place.hook("BeforeTool", 'echo \'{"hookSpecificOutput": {"updatedInput": {"nonsense": 1}}}\'')
    kind, _ = failure(await place.call("read_file", path="a.txt"))
    assert kind == ErrorKind.INVALID_ARGUMENTS


async def test_a_claude_hook_knows_tools_and_parameters_by_its_own_names(place: Place) -> None:
    body = """
    [ "$(jq -r .tool_name <<<"$INPUT")" = Read ] || exit 2
    jq -c '{hookSpecificOutput: {updatedInput: (.tool_input | .file_path |= sub("a.txt"; "b.txt"))}}' <<<"$INPUT"
    """
    if (await anyio.run_process("command -v jq", check=False)).returncode:
        pytest.skip("there is no jq")
    place.hook("PreToolUse", body, "Read|Write")
    assert "beta" in said(await place.call("read_file", path="a.txt"))


MATCHERS = [
    ("BeforeTool", "read_.*", True),
    ("BeforeTool", "file", True),
    ("BeforeTool", "*", True),
    ("BeforeTool", "write_file", False),
    ("PreToolUse", "Read", True),
    ("PreToolUse", "Edit|Write", False),
    ("PreToolUse", "Rea", False),
    ("PreToolUse", "read_file", True),
    ("BeforeTool", "(unclosed", True),
]


@pytest.mark.parametrize(("event", "matcher", "runs"), MATCHERS)
async def test_a_matcher_says_which_tools(place: Place, event: str, matcher: str, runs: bool) -> None:
    place.hook(event, "exit 2", matcher)
    answer = await place.call("read_file", path="a.txt")
    assert (answer.result.error is not None) is runs
    assert any("can't be understood" in note for note in place.runtime.notes) is (matcher == "(unclosed")


@pytest.mark.parametrize(("event", "matcher"), [("BeforeTool", "mcp__github"), ("PreToolUse", "mcp__github__.*")])
async def test_a_server_s_tool_has_the_name_that_hooks_of_the_field_know(
    place: Place, event: str, matcher: str
) -> None:
    async def create_issue() -> str:
        """Create an issue."""
        return "created"

    place.hook(event, f'printf %s "$INPUT" > {place.folder}/told', matcher)
    tool = function_tool(create_issue, name="github__create_issue", kind=Kind.READ)
    async with open_runtime(Options(root=str(place.root), home=str(place.home)), tools=[tool]) as runtime:
        await runtime.call("github__create_issue")
    assert json.loads((place.folder / "told").read_text())["tool_name"] == "mcp__github__create_issue"


async def test_the_hook_is_told_the_call_and_the_session_on_standard_input(place: Place) -> None:
    place.hook("BeforeTool", f'printf %s "$INPUT" > {place.folder}/told; pwd > {place.folder}/pwd')
    await place.call("read_file", path="a.txt")
    told = json.loads((place.folder / "told").read_text())
    assert told["hook_event_name"] == "BeforeTool"
    assert told["tool_name"] == "read_file"
    assert told["tool_input"]["path"] == "a.txt"
    assert told["cwd"] == str(place.root)
    assert told["transcript_path"].startswith(f"{place.home}/.dogu/")
    assert told["session_id"]
    assert told["timestamp"]
    assert (place.folder / "pwd").read_text().strip() == str(place.root)


async def test_our_secrets_are_not_in_its_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "our-key")
    monkeypatch.setenv("GITHUB_TOKEN", "our-token")
    place.hook("BeforeTool", f'env > {place.folder}/env; echo "$GEMINI_PROJECT_DIR" > {place.folder}/dir')
    await place.call("read_file", path="a.txt")
    environment = (place.folder / "env").read_text()
    assert "our-key" not in environment
    assert "our-token" not in environment
    assert (place.folder / "dir").read_text().strip() == str(place.root)


FAILURES = [
    ("exit 7", "exit code 7"),
    ("echo oops >&2; exit 1", "oops"),
    ("echo nonsense", "no JSON object: nonsense"),
    ("echo '[1]'", "no JSON object"),
    ("printf '{\"decision\": '", "no JSON object"),
    ("kill -9 $$", "signal 9"),
    ("head -c 5000000 /dev/zero", "more than can be read"),
    ("no-such-program-", "exit code 127"),
]


@pytest.mark.parametrize(("body", "told"), FAILURES)
async def test_a_hook_that_fails_is_told_and_the_call_goes_on(place: Place, body: str, told: str) -> None:
    place.hook("BeforeTool", body)
    assert "alpha" in said(await place.call("read_file", path="a.txt"))
    assert "The hook guard failed at BeforeTool" in place.notes
    assert told in place.notes


async def test_a_hook_that_hangs_is_ended_and_told(place: Place) -> None:
    place.hook("BeforeTool", "exec tail -f /dev/null", timeout=200)
    assert "alpha" in said(await place.call("read_file", path="a.txt"))
    assert "Timed out after 0.2 s" in place.notes


async def test_a_hook_that_prints_for_ever_is_ended_and_told(place: Place) -> None:
    place.hook("BeforeTool", "yes", timeout=300)
    assert "alpha" in said(await place.call("read_file", path="a.txt"))
    assert "The hook guard failed" in place.notes


async def test_a_hook_that_hangs_is_cancelled_with_its_call(place: Place) -> None:
    place.hook("BeforeTool", f"echo $$ > {place.folder}/pid; exec tail -f /dev/null")
    options = Options(root=str(place.root), home=str(place.home))
    async with open_runtime(options) as runtime, anyio.create_task_group() as group_:
        group_.start_soon(runtime.call, "read_file", {"path": "a.txt"})
        with anyio.fail_after(20):
            while not (place.folder / "pid").exists() or not (place.folder / "pid").read_text():
                await anyio.lowlevel.checkpoint()
        group_.cancel_scope.cancel()
    assert not psutil.pid_exists(int((place.folder / "pid").read_text()))


async def test_the_result_may_be_hidden_from_the_model(place: Place) -> None:
    place.hook("AfterTool", 'echo \'{"decision": "deny", "reason": "It held a secret."}\'')
    text = said(await place.call("read_file", path="a.txt"))
    assert "alpha" not in text
    assert "It held a secret." in text


async def test_a_claude_hook_after_a_tool_adds_its_reason(place: Place) -> None:
    place.hook("PostToolUse", "echo 'Run the linter.' >&2; exit 2")
    text = said(await place.call("read_file", path="a.txt"))
    assert "alpha" in text
    assert "Run the linter." in text


async def test_the_result_may_be_replaced_and_added_to(place: Place) -> None:
    output = {"hookSpecificOutput": {"tool_output": "instead", "additionalContext": "and more"}}
    place.hook("AfterTool", f"echo {shlex.quote(json.dumps(output))}")
    text = said(await place.call("read_file", path="a.txt"))
    assert "alpha" not in text
    assert "instead" in text
    assert "and more" in text


async def test_the_hook_after_a_tool_is_told_the_result_also_of_a_failure(place: Place) -> None:
    place.hook("AfterTool", f'printf %s "$INPUT" > {place.folder}/told')
    await place.call("read_file", path="missing.txt")
    told = json.loads((place.folder / "told").read_text())
    assert told["tool_response"]["error"]["type"] == "not_found"


async def test_a_call_that_was_refused_has_no_hook_after_it(place: Place) -> None:
    place.hook("AfterTool", f"touch {place.folder}/ran")
    options = Options(root=str(place.root), home=str(place.home))
    async with open_runtime(options) as runtime:
        kind, _ = failure(await runtime.call("run_shell_command", command="ls"))
    assert kind == ErrorKind.NOBODY_TO_ASK
    assert not (place.folder / "ran").exists()


async def test_continue_false_stops_the_turn(place: Place) -> None:
    place.hook("AfterTool", 'echo \'{"continue": false, "stopReason": "enough"}\'')
    answer = await place.call("read_file", path="a.txt")
    assert answer.stop
    assert "guard: enough" in place.notes


async def test_hooks_run_in_order_each_on_what_the_one_before_made(place: Place) -> None:
    first = place.script("one", 'echo \'{"hookSpecificOutput": {"tool_input": {"path": "b.txt"}}}\'')
    second = place.script("two", f'printf %s "$INPUT" > {place.folder}/told')
    place.settings({"BeforeTool": [group(first), group(second)]})
    assert "beta" in said(await place.call("read_file", path="a.txt"))
    assert json.loads((place.folder / "told").read_text())["tool_input"]["path"] == "b.txt"


async def test_the_strictest_of_several_decides(place: Place) -> None:
    allow = place.script("one", 'echo \'{"decision": "allow"}\'')
    deny = place.script("two", "exit 2")
    place.settings({"BeforeTool": [group(allow), group(deny), group(allow)]})
    assert failure(await place.call("read_file", path="a.txt"))[0] == ErrorKind.REFUSED


BAD = [
    ({"AfterTool": {}}, "hooks.AfterTool: takes a list"),
    ({"AfterTool": [3]}, "hooks.AfterTool[0]: takes {"),
    ({"AfterTool": [{"hooks": [{"type": "prompt"}]}]}, "hooks.AfterTool[0].hooks[0]: only hooks of type command"),
    ({"AfterTool": [{"hooks": [{"command": ""}]}]}, "command is missing"),
    ({"AfterTool": [{"hooks": [{"command": "x", "timeout": -1}]}]}, "timeout takes a number above 0"),
    ({"BeforeTwol": []}, "no hooks run at this event"),
    ({"PreCompress": []}, "no hooks run at this event"),
]


@pytest.mark.parametrize(("hooks", "told"), BAD)
async def test_a_bad_definition_is_told_and_costs_no_other(place: Place, hooks: dict[str, Any], told: str) -> None:
    place.settings({**hooks, "PreToolUse": [group("exit 2")]})
    answer = await place.call("read_file", path="a.txt")
    assert any(told in note and "settings.json" in note for note in place.runtime.notes)
    assert answer.result.error is not None


GUARDS = [
    ({event: definitions}, told.rpartition(": ")[2])
    for hooks, told in BAD[:5]
    for definitions in hooks.values()
    for event in ("BeforeTool", "UserPromptSubmit")
]


@pytest.mark.parametrize(("hooks", "told"), GUARDS)
async def test_a_definition_that_may_have_been_meant_to_refuse_stops_the_start(
    place: Place, hooks: dict[str, Any], told: str
) -> None:
    place.settings({**hooks, "SessionStart": []})
    with pytest.raises(SettingsError, match=re.escape(told)):
        await place.call("read_file", path="a.txt")


async def test_a_hook_may_be_switched_off(place: Place) -> None:
    place.settings({"BeforeTool": [group("exit 2")]}, {"hooksConfig": {"disabled": ["guard"]}})
    assert (await place.call("read_file", path="a.txt")).result.error is None
    place.settings({"BeforeTool": [group("exit 2")]}, {"hooksConfig": {"enabled": False}})
    assert (await place.call("read_file", path="a.txt")).result.error is None


async def test_a_folders_hooks_run_only_when_it_is_trusted_and_are_told_when_they_are_new(place: Place) -> None:
    from dogu.settings import Trust, record_trust

    place.settings({"BeforeTool": [group("exit 2")]}, project=True)
    assert (await place.call("read_file", path="a.txt")).result.error is None
    record_trust(str(place.root), str(place.home), Trust.TRUSTED)
    assert failure(await place.call("read_file", path="a.txt"))[0] == ErrorKind.REFUSED
    assert any("new or has changed, at BeforeTool: exit 2" in note for note in place.runtime.notes)
    await place.call("read_file", path="a.txt")
    assert not any("new or has changed" in note for note in place.runtime.notes)
    place.settings({"BeforeTool": [group("exit 2; true")]}, project=True)
    await place.call("read_file", path="a.txt")
    assert any("exit 2; true" in note for note in place.runtime.notes)


async def test_the_session_begins_and_ends_with_its_hooks(place: Place) -> None:
    start = place.script("start", f'printf %s "$INPUT" > {place.folder}/start; echo \'{{"systemMessage": "hello"}}\'')
    end = place.script("end", f'printf %s "$INPUT" > {place.folder}/end')
    place.settings({"SessionStart": [group(start, "startup")], "SessionEnd": [group(end)]})
    await place.call("read_file", path="a.txt")
    assert json.loads((place.folder / "start").read_text())["source"] == "startup"
    assert json.loads((place.folder / "end").read_text())["reason"] == "exit"
    assert "guard: hello" in place.runtime.notes


async def test_a_hook_is_told_of_a_question_and_decides_nothing(place: Place) -> None:
    body = f'printf %s "$INPUT" > {place.folder}/told; echo \'{{"decision": "deny"}}\'; exit 2'
    place.hook("Notification", body, "ToolPermission")
    assert (await place.call("run_shell_command", command="touch made")).result.error is None
    told = json.loads((place.folder / "told").read_text())
    assert told["notification_type"] == "ToolPermission"
    assert told["details"]["tool_name"] == "run_shell_command"
    assert told["message"]


async def test_what_a_door_raises_at_a_question_passes_through_the_hooks(place: Place) -> None:
    place.hook("Notification", "true")

    async def broken(_question: Question) -> Outcome:
        raise RuntimeError("the door broke")

    kind, message = failure(await place.call("run_shell_command", broken, command="touch made"))
    assert (kind, "RuntimeError: the door broke" in message) == (ErrorKind.DEFECT, True)


async def test_half_a_character_in_an_argument_takes_nothing_down(place: Place) -> None:
    place.hook("BeforeTool", 'echo \'{"hookSpecificOutput": {"tool_input": {"limit": 1}}}\'')
    kind, _ = failure(await place.call("read_file", path="a\ud800.txt"))
    assert kind != ErrorKind.DEFECT
    assert "changed the call's arguments" in place.notes


async def test_older_files_switch_hooks_off_within_hooks(place: Place) -> None:
    place.settings({"BeforeTool": [group("exit 2")], "disabled": ["guard"]})
    assert (await place.call("read_file", path="a.txt")).result.error is None
    place.settings({"BeforeTool": [group("exit 2")], "disabled": True, "enabled": False})
    assert (await place.call("read_file", path="a.txt")).result.error is None


async def test_a_helper_of_the_agent_has_the_same_hooks(place: Place) -> None:
    place.hook("BeforeTool", "exit 2", "read_file")
    options = Options(root=str(place.root), home=str(place.home))
    async with open_runtime(options) as runtime:
        answer = await nested(runtime).run(ToolCall("x", "read_file", {"path": "a.txt"}))
    assert failure(answer)[0] == ErrorKind.REFUSED


def nested(runtime: Runtime) -> Any:
    from dogu.runtime.events import emit_nothing
    from dogu.runtime.executor import NestedExecutor

    return NestedExecutor(runtime.executor, runtime.registry, "outer", emit_nothing, anyio.Lock())


async def test_plan_mode_stays_plan_mode(place: Place) -> None:
    place.hook("BeforeTool", 'echo \'{"decision": "allow"}\'')
    kind, _ = failure(await place.call("write_file", mode=ApprovalMode.PLAN.value, path="x", content="y"))
    assert kind == ErrorKind.REFUSED
