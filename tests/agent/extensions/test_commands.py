"""Commands of one's own: their files, their placeholders, and that they go the way of every call."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.agent.extensions.commands import BadCommand, CustomCommand, CustomCommands, CustomSlashCommands
from dogu.agent.extensions.template import File, Shell, TemplateError, Words, parse_template, takes_args, with_args
from dogu.agent.slash import Said, Send, SlashAnswer, SlashCommand, SlashCommands
from dogu.app import Options, open_runtime
from dogu.contract.content import text_of
from dogu.runtime.questions import Confirm, Declined, Outcome, Question, approve
from processes import shared_fork_server

pytestmark = pytest.mark.anyio


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_prompt_is_taken_apart() -> None:
    pieces = parse_template("Look at {{args}}.\n@{docs/a.md}\n!{git log -n 3 | awk '{print $1}'}!")
    assert pieces == (
        Words("Look at {{args}}.\n"),
        File("docs/a.md"),
        Words("\n"),
        Shell("git log -n 3 | awk '{print $1}'"),
        Words("!"),
    )


@pytest.mark.parametrize("prompt", ["a !{echo {", "b\n@{x", "!{}", "@{ }", "!{cat <<E\n{{args}}\nE\n}"])
def test_what_can_not_be_understood_is_told(prompt: str) -> None:
    with pytest.raises(TemplateError):
        parse_template(prompt)


def test_arguments_in_a_path_are_no_arguments() -> None:
    assert not takes_args(parse_template("@{{{args}}}"))


CONTEXTS = [
    "printf %s {{args}}",
    'printf %s "{{args}}"',
    "printf %s '{{args}}'",
    'printf %s "$(printf %s {{args}})"',
    'printf %s "$(printf %s "{{args}}")"',
    'printf %s "a\\"{{args}}" | cut -c3-',
    'printf %s "${NONE:-}{{args}}"',
]


@pytest.mark.parametrize("template", CONTEXTS)
@pytest.mark.parametrize("args", ["a b", "It's", '$(echo no) `echo no` "x" \\', "; rm -rf x", "*", "{}", "!x #"])
def test_arguments_reach_the_shell_as_one_word_whatever_quotes_they_stand_in(template: str, args: str) -> None:
    done = subprocess.run(["bash", "-c", with_args(template, args)], capture_output=True, text=True, check=False)
    assert (done.stdout.rstrip("\n"), done.stderr) == (args, "")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20))
def test_any_arguments_are_one_word_inside_of_quotes(args: str) -> None:
    import shlex

    for template in CONTEXTS[:3]:
        assert shlex.split(with_args(template, args)) == ["printf", "%s", args]


def test_no_arguments_are_no_word() -> None:
    assert with_args("grep {{args}} .", "") == "grep  ."


def test_folders_make_names_and_the_later_folder_wins(tmp_path: Path) -> None:
    write(tmp_path / "home", "git/commit.toml", 'prompt = "home"')
    write(tmp_path / "home", "plain.toml", 'prompt = "p"\ndescription = "Does\\nthings."')
    write(tmp_path / "project", "git/commit.toml", 'prompt = "project"')
    write(tmp_path / "project", "notes.md", "no command")
    write(tmp_path / "project", "can not.toml", 'prompt = "be typed"')
    found = CustomCommands([f"{tmp_path}/home", f"{tmp_path}/project", f"{tmp_path}/missing"]).all()
    assert [(entry.name, getattr(entry, "description", "")) for entry in found] == [
        ("git:commit", "git:commit"),
        ("plain", "Does things."),
    ]
    assert isinstance(found[0], CustomCommand)
    assert found[0].pieces == (Words("project"),)


BAD = [
    ("prompt = ", 1, "isn't valid TOML"),
    ('description = "x"\nprompt = 3', 2, "prompt must be text"),
    ('description = "x"', 1, "prompt is missing"),
    ('prompt = "x"\n\ndescription = []', 3, "description must be text"),
    ('# head\nprompt = """\nfirst\n!{echo {\n"""', 4, "never closed"),
    ('a = 1\nprompt = """\nopen', 3, "isn't valid TOML"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BAD)
def test_a_bad_file_is_told_with_file_and_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    file = write(tmp_path, "bad.toml", text)
    write(tmp_path, "good.toml", 'prompt = "x"')
    bad, good = CustomCommands([str(tmp_path)]).all()
    assert isinstance(bad, BadCommand)
    assert bad.problem.startswith(f"{file}:{line}: ")
    assert reason in bad.problem
    assert isinstance(good, CustomCommand)


def test_files_that_can_not_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "big.toml").write_bytes(b"#" * 300_000)
    (tmp_path / "latin.toml").write_bytes(b'prompt = "\xe4"')
    (tmp_path / "to-nowhere.toml").symlink_to(tmp_path / "nowhere")
    found = CustomCommands([str(tmp_path)]).all()
    assert [(entry.name, isinstance(entry, BadCommand)) for entry in found] == [("big", True), ("latin", True)]


def test_a_change_is_seen_without_a_restart(tmp_path: Path) -> None:
    commands = CustomCommands([str(tmp_path)])
    assert commands.all() == []
    file = write(tmp_path, "new.toml", 'prompt = "one"')
    assert [getattr(entry, "pieces", ()) for entry in commands.all()] == [(Words("one"),)]
    file.write_text('prompt = "another"')
    assert [getattr(entry, "pieces", ()) for entry in commands.all()] == [(Words("another"),)]
    file.unlink()
    assert commands.all() == []


class Session:
    def __init__(self, root: Path, outcome: Outcome | None = None) -> None:
        self.root = root
        self.asked: list[str] = []
        self.outcome = outcome

    async def confirm(self, question: Question) -> Outcome:
        self.asked.append(question.description)
        return self.outcome or await approve(question)

    async def run(self, text: str, *, confirm: Confirm | None = None) -> SlashAnswer:
        project, home = f"{self.root}/project", f"{self.root}/home"
        options = Options(root=project, home=home, fork_server=shared_fork_server())
        async with open_runtime(options, confirm=confirm or self.confirm) as runtime:
            slash = SlashCommands()
            slash.register_source(CustomSlashCommands(CustomCommands([f"{self.root}/c"]), runtime.run))
            return await slash.run(text)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for folder in ("project", "home", "c"):
        (tmp_path / folder).mkdir()
    return Session(tmp_path)


def sent(answer: SlashAnswer) -> str:
    assert isinstance(answer, Send)
    return text_of(answer.content)


async def test_arguments_are_put_in_as_typed(session: Session) -> None:
    write(session.root / "c", "fix.toml", 'prompt = "Fix {{args}}, {{args}}!"')
    assert sent(await session.run('fix "It is" $(x)')) == 'Fix "It is" $(x), "It is" $(x)!'


async def test_arguments_without_a_place_are_appended_as_the_command_was_typed(session: Session) -> None:
    write(session.root / "c", "log.toml", 'prompt = "Update."')
    assert sent(await session.run("log 1.2.0 added")) == "Update.\n\n/log 1.2.0 added"
    assert sent(await session.run("log")) == "Update."


async def test_a_shell_command_is_asked_for_with_its_arguments_escaped_then_run(session: Session) -> None:
    write(session.root / "c", "say.toml", 'prompt = "Out: !{touch made; printf %s {{args}}} end"')
    assert sent(await session.run("say It's")) == "Out: It's end"
    assert len(session.asked) == 1
    assert """printf %s 'It'"'"'s'""" in session.asked[0]
    assert (session.root / "project" / "made").exists()


async def test_what_a_command_or_a_file_prints_is_never_searched_for_placeholders(session: Session) -> None:
    write(session.root / "project", "a.md", "!{touch evil} {{args}} @{b}\n")
    write(session.root / "c", "x.toml", 'prompt = \'!{printf "%s" "!{touch evil}"} @{a.md}\'')
    text = sent(await session.run("x"))
    assert text.startswith("!{touch evil} ")
    assert "!{touch evil} {{args}} @{b}" in text
    assert not (session.root / "project" / "evil").exists()


async def test_a_failing_command_is_told_in_its_place(session: Session) -> None:
    write(session.root / "c", "bad.toml", "prompt = 'a !{echo no >&2; exit 3} b'")
    assert sent(await session.run("bad")) == "a no\n[Shell command exited with code 3] b"


async def test_a_declined_command_sends_nothing(session: Session) -> None:
    write(session.root / "c", "x.toml", "prompt = 'a !{touch made} b'")
    session.outcome = Declined("not now")
    answer = await session.run("x")
    assert isinstance(answer, Said)
    assert answer.text.startswith("/x wasn't sent.")
    assert "not now" in answer.text
    assert not (session.root / "project" / "made").exists()


async def test_a_file_is_read_through_the_file_tools_alone(session: Session) -> None:
    write(session.root, "secret.txt", "SECRET")
    write(session.root / "project", "docs/a.md", "inside\n")
    write(session.root / "c", "x.toml", "prompt = 'A @{docs/a.md} B @{../secret.txt} C @{no.md} D'")
    text = sent(await session.run("x"))
    assert "inside" in text
    assert "SECRET" not in text
    assert text.startswith("A ")
    assert text.endswith(" D")


async def test_a_bad_command_says_what_is_wrong_when_it_is_run(session: Session) -> None:
    write(session.root / "c", "bad.toml", "prompt = ")
    answer = await session.run("bad")
    assert isinstance(answer, Said)
    assert "bad.toml:1: isn't valid TOML" in answer.text


async def test_a_built_in_command_is_never_shadowed(session: Session) -> None:
    async def own(_rest: str) -> Said:
        return Said("built in")

    write(session.root / "c", "help.toml", 'prompt = "mine"')
    options = Options(root=f"{session.root}/project", home=f"{session.root}/home")
    async with open_runtime(options) as runtime:
        slash = SlashCommands()
        slash.register_source(CustomSlashCommands(CustomCommands([f"{session.root}/c"]), runtime.run))
        slash.register(SlashCommand("help", "", own))
        assert await slash.run("help") == Said("built in")
