"""Gate, approval mode and remembered rules together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.language import say
from dogu.policy.decide import decide
from dogu.policy.narrow import narrow_rule
from dogu.policy.policy import Policy, RememberedRules
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts
from dogu.workspace.nearby import Nearby
from policy.cases import commands

_READ = CallFacts("read_file", Kind.READ)
_EDIT = CallFacts("replace", Kind.EDIT)


def shell(command: str, *always_ask: str) -> CallFacts:
    return CallFacts(SHELL_TOOL, Kind.EXECUTE, command, always_ask=always_ask)


@pytest.mark.parametrize(
    ("mode", "read", "edit", "run"),
    [
        ("default", "allow", "ask", "ask"),
        ("auto_edit", "allow", "allow", "ask"),
        ("plan", "allow", "deny", "deny"),
        ("yolo", "allow", "allow", "allow"),
    ],
)
def test_each_mode_asks_about_what_it_should(mode: str, read: str, edit: str, run: str) -> None:
    found = [decide(facts, Rules(), ApprovalMode(mode)).decision for facts in (_READ, _EDIT, shell("ls"))]
    assert found == [read, edit, run]


@pytest.mark.parametrize(
    ("mode", "rules", "expected"),
    [
        ("default", Rules(), "ask"),
        ("default", Rules.from_lists(None, None, ["commands-in-the-sandbox"]), "allow"),
        ("auto_edit", Rules(), "allow"),
        ("plan", Rules(), "allow"),
        ("yolo", Rules(), "allow"),
        ("auto_edit", Rules.from_lists(None, ["run_shell_command(make)"]), "deny"),
        ("auto_edit", Rules.from_lists(["run_shell_command(ls)"]), "deny"),
    ],
)
def test_what_cannot_leave_the_sandbox_needs_no_question_but_keeps_the_restrictions(
    mode: str, rules: Rules, expected: str
) -> None:
    facts = msgspec.structs.replace(shell("make"), has_question=True, is_contained=True)
    assert decide(facts, rules, ApprovalMode(mode)).decision == expected


def test_what_cannot_be_read_is_asked_about_only_where_it_could_leave() -> None:
    facts = shell('"$PROGRAM" --version')
    contained = msgspec.structs.replace(facts, is_contained=True)
    assert decide(facts, Rules(), ApprovalMode.YOLO).decision == "ask"
    assert decide(contained, Rules(), ApprovalMode.YOLO).decision == "allow"
    excluding = Rules.from_lists(None, ["run_shell_command(rm)"])
    assert (
        decide(contained, excluding, ApprovalMode.YOLO).decision == decide(facts, excluding, ApprovalMode.YOLO).decision
    )


def test_without_a_sandbox_by_their_own_word_a_user_in_yolo_is_not_asked_about_a_computed_name() -> None:
    facts = shell('"$PROGRAM" --version')
    free = msgspec.structs.replace(Rules(), runs_unknown=True)
    assert decide(facts, free, ApprovalMode.YOLO).decision == "allow"
    assert decide(facts, free, ApprovalMode.AUTO_EDIT).decision == "ask"
    excluding = msgspec.structs.replace(Rules.from_lists(None, ["run_shell_command(rm)"]), runs_unknown=True)
    assert decide(facts, excluding, ApprovalMode.YOLO).decision != "allow"


@pytest.mark.parametrize("command", commands("computed.txt"))
def test_ordinary_commands_whose_program_is_computed_run_in_yolo(command: str) -> None:
    facts = shell(command)
    contained = msgspec.structs.replace(facts, is_contained=True)
    assert decide(contained, Rules(), ApprovalMode.YOLO).decision == "allow"
    free = msgspec.structs.replace(Rules(), runs_unknown=True)
    assert decide(facts, free, ApprovalMode.YOLO).decision == "allow"


@pytest.mark.parametrize("mode", list(ApprovalMode))
def test_what_the_gate_refuses_no_mode_allows(mode: ApprovalMode) -> None:
    rules = Rules.from_lists(None, ["run_shell_command(rm)"], ["run_shell_command(rm)"])
    assert decide(shell("rm x"), rules, mode).decision == "deny"


def placed(root: Path, command: str, *allowed: str, mode: ApprovalMode = ApprovalMode.DEFAULT) -> str:
    """What is decided of a command in a folder, where rules name these programs."""
    rules = Rules.from_lists(allowed=[f"{SHELL_TOOL}({each})" for each in allowed])
    facts = msgspec.structs.replace(shell(command), place=Nearby(str(root)))
    return str(decide(facts, rules, mode).decision)


def test_git_is_not_asked_about_in_another_folder_of_the_same_repository(tmp_path: Path) -> None:
    for folder in (".git", "packages/api", "packages/other/.git", "bare/objects"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bare" / "HEAD").write_text("ref: x")
    (tmp_path / "link").symlink_to(tmp_path / "packages" / "api")
    for own in ("git -C packages/api status", "cd packages/api && git status", "cd packages/api; git add . && git log"):
        assert placed(tmp_path, own, "git", "cd") == "allow"
    for other in ("packages/other", "bare", "link", "nowhere", "..", "packages/../bare", str(tmp_path / "packages")):
        assert placed(tmp_path, f"git -C {other} status", "git", "cd") == "ask"
        assert placed(tmp_path, f"cd {other} && git status", "git", "cd") == "ask"
    for made in ("git checkout x; cd packages/api && git status", "tar xf a.tar -C vendor; git -C packages/api log"):
        assert placed(tmp_path, made, "git", "cd", "tar") == "ask"
    assert placed(tmp_path, "cd packages; cd api; git log", "git", "cd") == "allow"
    assert placed(tmp_path, "cd packages; cd other; git log", "git", "cd") == "ask"


def test_a_module_of_the_workspace_is_run_as_a_script_of_it_is(tmp_path: Path) -> None:
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "__main__.py").touch()
    (tmp_path / "job.py").touch()
    (tmp_path / "runpy.py").touch()
    for own in ("python -m app --port 1", "python -m job", "uv run python -m app"):
        assert placed(tmp_path, own, "python", "uv") == "allow"
    for other in ("python -m other", "python -m runpy x", "python -m job.x", "python -m ../job"):
        assert placed(tmp_path, other, "python") == "ask"


def test_what_a_pattern_lays_down_is_seen_by_what_is_there(tmp_path: Path) -> None:
    for file in ("data/a.txt", "data/b.md", "evil/Makefile", "tests/test_a.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    for fine in ("cp -r data/* .", "mkdir -p x && cp data/* .", "cp evil/Makefile notes.txt"):
        assert placed(tmp_path, fine, "cp", "mkdir") == "allow"
    for other in ("cp evil/* .", "touch data/x; cp data/* .", "cp evil/Makefile tests", "cd data; cp ./* .."):
        assert placed(tmp_path, other, "cp", "touch", "cd") == "ask"


def test_a_bare_push_goes_where_the_branch_says(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    config = '[remote "origin"]\n\turl = x\n[branch "main"]\n\tremote = origin\n'
    (tmp_path / ".git" / "config").write_text(config)
    for fine in ("git push", "git commit -m x && git push", "git checkout other && git push", "git push -u origin x"):
        assert placed(tmp_path, fine, "git") == "allow"
    assert placed(tmp_path, "git remote add evil https://x && git push", "git") == "ask"
    (tmp_path / ".git" / "config").write_text(config + '[remote "evil"]\n\turl = y\n[branch "b"]\n\tremote = evil\n')
    assert placed(tmp_path, "git push", "git") == "allow"
    assert placed(tmp_path, "git checkout b && git push", "git") == "ask"
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/b\n")
    assert placed(tmp_path, "git push", "git") == "ask"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../.git")
    assert placed(tmp_path / "tree", "git push", "git") == "ask"


def test_what_a_command_writes_is_new_or_nobodys_source(tmp_path: Path) -> None:
    (tmp_path / "data.json").touch()
    for fine in ("curl -o new.json h", "curl -o out.log h", "echo x >> data.json", "echo x > dist/data.json"):
        assert placed(tmp_path, fine.replace("new", "old"), "curl", "echo", "tee") == "allow"
    for over in ("curl -o data.json h", "echo x > data.json", "echo x > Makefile", "curl -o src/app.py h"):
        assert placed(tmp_path, over, "curl", "echo", "tee") == "ask"


def test_where_edits_are_allowed_a_command_with_a_rule_may_write_what_an_edit_may() -> None:
    auto_edit = ApprovalMode.AUTO_EDIT
    rules = Rules.from_lists(allowed=[f"{SHELL_TOOL}({each})" for each in ("cat", "sed", "echo", "tee")])
    for command in ("cat > src/x.ts <<'E'\nx\nE", "sed -i s/a/b/ src/app.py", "echo x >> Makefile", "tee src/a.py"):
        assert decide(shell(command), rules, auto_edit).decision == "allow"
        assert decide(shell(command), rules, ApprovalMode.DEFAULT).decision == "ask"
    for command in (
        "cat > ../x <<< y",
        "echo x > .git/config",
        "sed -i s/a/b/ .envrc",
        "sed -i s/a/b/ $f",
        "sed -i.bak s/a/b/ /etc/x",
        "echo x > $f",
        "sed -i 's/a/b/e' a",
        "find . -delete",
    ):
        assert decide(shell(command), rules, auto_edit).decision == "ask"


def test_a_list_of_commands_lets_them_edit_where_the_mode_does() -> None:
    rules = Rules.from_lists([f"{SHELL_TOOL}(sed)"])
    for command, expected in (("sed -i s/a/b/ src/app.py", "allow"), ("sed -i s/a/b/ ../x", "ask")):
        assert decide(shell(command), rules, ApprovalMode.AUTO_EDIT).gate == expected
        assert decide(shell(command), rules, ApprovalMode.DEFAULT).gate == "ask"


def test_what_the_gate_asks_about_is_asked_in_yolo_too() -> None:
    rules = Rules.from_lists(["run_shell_command(find)"], None, ["run_shell_command(find)"])
    verdict = decide(shell("find . -delete"), rules, ApprovalMode.YOLO)
    assert (verdict.gate, verdict.decision) == ("ask", "ask")
    assert "-delete" in verdict.reason


def test_what_always_asks_is_asked_whatever_is_remembered() -> None:
    rules = Rules.from_lists(None, None, ["replace", "run_shell_command(ls)"])
    facts = CallFacts("replace", Kind.EDIT, always_ask=("hooks run later",))
    assert decide(facts, rules, ApprovalMode.YOLO).decision == "ask"
    assert decide(_EDIT, rules, ApprovalMode.DEFAULT).decision == "allow"


def test_a_remembered_command_does_not_cover_what_is_chained_to_it() -> None:
    rules = Rules.from_lists(None, None, ["run_shell_command(git log)"])
    assert decide(shell("git log -5"), rules, ApprovalMode.DEFAULT).decision == "allow"
    for command in ("git log; ls", "git log $(ls)", "git log --output=f", "git log > f", "git push"):
        assert decide(shell(command), rules, ApprovalMode.DEFAULT).decision == "ask"


def test_tools_that_the_lists_leave_out_are_refused() -> None:
    assert decide(_EDIT, Rules.from_lists(["read_file"]), ApprovalMode.YOLO).decision == "deny"
    assert decide(_READ, Rules.from_lists(["read_file"]), ApprovalMode.DEFAULT).decision == "allow"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git log -5 --stat", "run_shell_command(git log)"),
        ("npm run build -- -v", "run_shell_command(= npm run build -- -v)"),
        ("uv pip list --outdated", "run_shell_command(uv pip list)"),
        ("docker volume ls", "run_shell_command(docker volume ls)"),
        ("gh pr view 12", "run_shell_command(gh pr view)"),
        ("go mod graph", "run_shell_command(go mod graph)"),
        ("git reflog", "run_shell_command(= git reflog)"),
        ("npm cache verify", "run_shell_command(= npm cache verify)"),
        ("npm install x", "run_shell_command(= npm install x)"),
        ("git apply a.patch", "run_shell_command(= git apply a.patch)"),
        ("git --no-pager log", "run_shell_command(= git --no-pager log)"),
        ("ls -la src", "run_shell_command(ls)"),
        ("./deploy.sh staging", "run_shell_command(= ./deploy.sh staging)"),
        ("git push", "run_shell_command(= git push)"),
        ("git push origin x", "run_shell_command(= git push origin x)"),
        ("make", "run_shell_command(= make)"),
        ("make test", "run_shell_command(= make test)"),
        ("rm a.txt", "run_shell_command(= rm a.txt)"),
        ("git add a && git commit -m x", "run_shell_command(= git add a), run_shell_command(= git commit -m x)"),
        ("cd src && ls", "run_shell_command(= cd src), run_shell_command(ls)"),
        ("python -c 'print(1)'", "run_shell_command(= python -c 'print(1)')"),
    ],
)
def test_always_saves_the_narrowest_rule(command: str, rule: str) -> None:
    found = narrow_rule(shell(command))
    assert found is not None
    assert found.text == rule


@pytest.mark.parametrize(
    "command",
    [
        "git log > f",
        "$X",
        "ls $(a)",
        "A=1 ls",
        "ls *",
        "f() { ls; }",
        "'",
        "python3 - <<E\nx\nE",
        "bash <<< x",
        "a | sh",
        "rm -rf build",
        "rm -r build && ls",
        "git push --force origin x",
        "git push origin +x",
        "git push --forc",
        "git reset --hard",
        "git clean -fd",
        "docker volume rm db",
        "docker compose down -v",
        "kubectl delete pod x",
        "terraform apply",
        "npm publish",
        "find . -delete",
        "dd if=a of=b",
    ],
)
def test_a_command_that_no_rule_can_hold_is_asked_about_each_time(command: str) -> None:
    assert narrow_rule(shell(command)) is None


def test_what_always_asks_is_never_remembered() -> None:
    assert narrow_rule(shell("ls", "it writes a hook")) is None


def test_a_session_remembers_what_it_was_told() -> None:
    policy = Policy()
    facts = shell("git log -5")
    assert policy.decide(facts).decision == "ask"
    rule = policy.narrow_rule(facts)
    assert rule is not None
    policy.remember(rule)
    assert policy.decide(shell("git log")).decision == "allow"
    assert policy.decide(shell("git push")).decision == "ask"


def test_a_chain_that_was_allowed_always_is_its_commands() -> None:
    policy = Policy()
    rule = policy.narrow_rule(shell("git add a && git commit -m x"))
    assert rule is not None
    policy.remember(rule)
    assert policy.decide(shell("git commit -m x; git add a")).decision == "allow"
    assert policy.decide(shell("git commit -m x")).decision == "allow"
    assert policy.decide(shell("git commit -m y")).decision == "ask"
    assert policy.decide(shell("git push")).decision == "ask"


@pytest.mark.parametrize(
    "more", ["rm a.txt b.txt", "rm b.txt", "rm -r a.txt", "git push --force origin x", "git push origin x -f"]
)
def test_always_for_a_command_that_changes_something_is_for_that_one_alone(more: str) -> None:
    policy = Policy()
    for command in ("rm a.txt", "git push origin x"):
        rule = policy.narrow_rule(shell(command))
        assert rule is not None
        policy.remember(rule)
        assert policy.decide(shell(command)).decision == "allow"
    assert policy.decide(shell(more)).decision == "ask"


def test_a_rule_says_all_that_it_covers_and_where_it_holds(tmp_path: Path) -> None:
    kept = Policy(remembered=RememberedRules(str(tmp_path / "rules.json"), "/root"))
    for policy, where in ((Policy(), "for this session"), (kept, "in this folder from now on")):
        rule = policy.narrow_rule(shell("git log a && rm a.txt"))
        assert rule is not None
        assert say(rule.scope) == f"`git log` with any arguments, `rm a.txt` as it is, {where}"
    edit = Policy().narrow_rule(_EDIT)
    assert edit is not None
    assert say(edit.scope) == "replace, for this session"


def test_a_rule_for_one_command_alone_is_kept_as_such(tmp_path: Path) -> None:
    store = RememberedRules(str(tmp_path / "rules.json"), "/root")
    policy = Policy(remembered=store)
    rule = policy.narrow_rule(shell("rm a.txt"))
    assert rule is not None
    policy.remember(rule)
    later = Policy(remembered=RememberedRules(str(tmp_path / "rules.json"), "/root"))
    assert later.decide(shell("rm a.txt")).decision == "allow"
    assert later.decide(shell("rm a.txt b.txt")).decision == "ask"


def test_a_refusal_says_what_may_run_instead() -> None:
    policy = Policy(Rules.from_lists(["run_shell_command(git)", "run_shell_command(npm test)"]))
    said = policy.refusal(policy.decide(shell("ls")))
    assert said == (
        "Refused: ls: ls is not among the commands allowed. Nothing was run. Don't try it in another spelling. "
        "What may run: git, npm test."
    )


@pytest.mark.parametrize("rules", [Rules(), Rules.from_lists(["run_shell_command(git)"])])
def test_every_reason_is_a_clause_of_which_one_function_makes_the_sentence(rules: Rules) -> None:
    for command in (*commands("asked.txt")[::25], *commands("under_lists.txt")[::25]):
        verdict = decide(shell(command), rules, ApprovalMode.DEFAULT)
        for reason in (verdict.reason, *(judged.reason for judged in verdict.commands)):
            assert not reason.endswith((".", "!", "?", ":")), (command, reason)


def test_a_command_that_bash_cannot_read_is_to_be_mended_not_given_up() -> None:
    policy = Policy()
    said = policy.refusal(policy.decide(shell("echo 'x")))
    assert said.endswith("Nothing was run. Fix the command, and call again.")
    assert "another spelling" not in said
