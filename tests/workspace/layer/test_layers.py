import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from dogu.contract.confirmation import Answer, CallContext, Confirmation
from dogu.contract.errors import ToolError
from dogu.contract.result import ToolResult
from dogu.tools.run_shell_command import ApprovedCommand, RunShellCommand, RunShellCommandArgs, ShellLimits
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.launcher.notices import can_tell
from dogu.workspace.layer.command import CommandLayers
from dogu.workspace.layer.make import make
from dogu.workspace.layer.running import How
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.ladder import Sandbox
from processes import shared_fork_server
from workspace.layer.moving import MovingChanges

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="overlayfs is Linux")]


AS_USUAL = How()


class Place:
    """A root, its session and what runs commands in it."""

    def __init__(self, folder: Path, processes: LocalProcesses, sandbox: Sandbox) -> None:
        self.root = folder / "root"
        self.session = folder / "session"
        self.root.mkdir()
        self.changes = MovingChanges()
        self.layers = CommandLayers(self.changes, str(self.session), processes)
        self._processes = processes
        self._sandbox = sandbox
        self._home = str(folder)

    def tool(self) -> RunShellCommand:
        environment = {"PATH": os.environ["PATH"], "HOME": self._home}
        limits = ShellLimits(layers=self.layers, idle_timeout_s=20)
        return RunShellCommand(
            Roots(str(self.root)), self._processes, lambda: environment, limits, lambda: self._sandbox
        )

    async def run(self, command: str, how: How = AS_USUAL, answer: Answer | None = None) -> str:
        args = RunShellCommandArgs(command=command)
        self.asked: list[Confirmation] = []

        async def ask(question: Confirmation) -> Answer | None:
            self.asked.append(question)
            return answer

        context = CallContext(approved=ApprovedCommand(args, how), ask=ask)
        self.result: ToolResult = await self.tool().execute(args, context)
        assert isinstance(self.result.llm_content, str)
        return self.result.llm_content

    @property
    def left(self) -> list[str]:
        return [name for name in os.listdir(self.session) if name.startswith("layer-")]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    sandbox = Sandbox.detect()
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        place = Place(tmp_path, processes, sandbox)
        layers = make([str(place.root)], str(place.session)) if sandbox.makes_layers else None
        if layers is None:
            pytest.skip("no layers on this machine")
        layers.remove()
        yield place


def tree(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            found[name] = f"folder {path.stat().st_mode & 0o7777:o}"
        elif path.is_file():
            found[name] = f"{path.stat().st_mode & 0o7777:o} {path.stat().st_nlink} {path.read_bytes()!r}"
        else:
            found[name] = "other"
    return found


CASES = {
    "a file made": "echo new > b",
    "a file appended to": "echo more >> a",
    "a file replaced": "echo x > t; mv t a",
    "a mode": "chmod 600 a; chmod 700 d",
    "a file removed": "rm a",
    "a tree removed": "rm -rf d",
    "a tree removed and made anew": "rm -rf d; mkdir d; echo 1 > d/only",
    "a file that becomes a folder": "rm a; mkdir a; echo 1 > a/b",
    "a folder that becomes a file": "rm -rf d; echo file > d",
    "a tree moved": "mv d e",
    "a tree moved into a new one": "mkdir -p n/m; mv d n/m/d; mv a n",
    "trees merged, and moved over the first": "mkdir -p x/e; echo 1 > x/e/g; cp -a d/. x/; rm -r d; mv x d",
    "a folder moved over a link to it": "mv d real; ln -s real d; rm d; mv real d; echo 1 > d/new",
    "a folder renamed by a program": 'perl -e \'rename "d", "r" or die\'; echo x > r/e/g; rm r/l',
    "a folder renamed twice, and another in its place": 'perl -e \'rename "d", "r" or die\'; mkdir d; echo 1 > d/e; '
    'perl -e \'rename "r/e", "d/q" or die\'',
    "two folders swapped": 'mkdir z; mv d/e z; perl -e \'rename "d", "t"; rename "z", "d"; rename "t", "z"\'',
    "a folder moved over the one that it lay in": "mv d/e x; rm -rf d; mv x d",
    "two folders swapped, and one of them removed": "mkdir z; touch z/1; mv d/e t; mv z d/e; mv d z; mv t d; rm -rf z; ls d",
    "links": "ln -s a s; ln a h; ln -sfn nowhere d/l",
    "hard links kept": "echo more >> one",
    "hard links parted": "sed -i s/1/2/ one",
    "another file moved over one of several names": "mv a one",
    "one of several names given to another file": "ln a b; ln a c; ln -f b one; echo more >> c",
    "a file written in a folder that was moved": "mv d m; echo more >> m/e/f",
    "a folder closed in one that was moved": "mv d m; chmod 700 m/e; echo more >> m/e/f",
    "a folder moved, and a link to it in its place": "mv d m; ln -s m d",
    "a folder moved, and a file in its place": "mv d m; echo file > d",
    "a FIFO": "mkfifo f",
    "nothing": "cat a; ls -R",
    "made and removed": "touch x; rm x; mkdir y; rmdir y",
    "spaces and colons": "mkdir 'a b:c,d'; echo x > 'a b:c,d/e\\f'",
    "an empty name's neighbours": "touch .hidden d/.x; mkdir -m 700 private",
    "git": "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm 1 && git checkout -q -b x "
    "&& rm -r d && git -c user.name=a -c user.email=b commit -qam 2 && git checkout -q - && git log --oneline | wc -l",
    "a repository cloned by links": "git init -q o && cd o && git -c user.name=a -c user.email=b commit -q "
    "--allow-empty -m 1 && git clone -q --bare . ../b.git && git clone -q ../b.git ../c",
    "sqlite": 'python3 -c \'import sqlite3; c = sqlite3.connect("db"); c.execute("pragma journal_mode=wal"); '
    'c.execute("create table t (a)"); c.execute("insert into t values (1)"); c.commit()\'; rm -f db db-wal db-shm; touch done',
    "a script that is run": "printf '#!/bin/sh\\necho ran > out\\n' > s.sh; chmod +x s.sh; ./s.sh",
}


def prepare(root: Path) -> None:
    (root / "a").write_text("alpha\n")
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "f").write_text("deep\n")
    (root / "d" / "l").symlink_to("e")
    (root / "one").write_text("1\n")
    (root / "two").hardlink_to(root / "one")


# Only a layer of the machine's root keeps a file and its names together.
_OF_SEVERAL_NAMES = {
    CASES[name]
    for name in (
        "links",
        "hard links kept",
        "hard links parted",
        "another file moved over one of several names",
        "one of several names given to another file",
    )
}


@pytest.mark.parametrize("command", CASES.values(), ids=[*CASES])
async def test_a_command_does_in_a_layer_what_it_does_without(command: str, place: Place, tmp_path: Path) -> None:
    prepare(place.root)
    other = tmp_path / "other"
    other.mkdir()
    prepare(other)
    told = await place.run(command)
    await anyio.run_process(["bash", "-c", command], cwd=other, env={"PATH": os.environ["PATH"]}, check=False)
    is_fit = "clone" not in command and command not in _OF_SEVERAL_NAMES and (can_tell() or "rename" not in command)
    is_layered = holds_renames() or is_fit
    changes_nothing = command in (CASES["nothing"], CASES["made and removed"])
    assert len(place.changes.commits) == (0 if changes_nothing or not is_layered else 1), told
    mine, others = (
        {name: row for name, row in tree(root).items() if ".git/" not in name} for root in (place.root, other)
    )
    assert mine == others
    assert place.changes.looks == (0 if is_layered else 1)
    assert place.left == []


async def test_nothing_is_there_until_the_command_has_ended(place: Place) -> None:
    (place.root / "a").write_text("alpha\n")
    seen: list[bool] = []
    tool = place.tool()
    args = RunShellCommandArgs(command="echo x > b; rm a; echo done; sleep 0.3")
    context = CallContext(
        report=lambda _text: seen.append((place.root / "a").exists() and not (place.root / "b").exists())
    )
    await tool.execute(args, context)
    assert seen
    assert all(seen)
    assert [*tree(place.root)] == ["b"]


async def test_what_another_changes_meanwhile_stays_and_is_told(place: Place) -> None:
    (place.root / "notes.md").write_text("old\n")
    saved: list[bool] = []

    def save(_text: str) -> None:
        if not saved:
            (place.root / "notes.md").write_text("by hand\n")
            (place.root / "mine.txt").write_text("by hand\n")
        saved.append(True)

    args = RunShellCommandArgs(command="echo said; sleep 0.5; echo tool > other.txt; echo tool > notes.md")
    result = await place.tool().execute(args, CallContext(report=save))
    assert (place.root / "notes.md").read_text() == "by hand\n"
    assert (place.root / "mine.txt").read_text() == "by hand\n"
    assert (place.root / "other.txt").read_text() == "tool\n"
    assert [change.path for change in place.changes.commits[0]] == [
        f"{place.root}/{n}" for n in ("notes.md", "other.txt")
    ]
    assert "Not changed: notes.md (" in str(result.llm_content)
    aside = str(result.llm_content).partition("own version is in ")[2].partition(".\n")[0]
    assert read(f"{aside}{place.root}/notes.md") == "tool\n"


async def test_discarded_nothing_has_happened(place: Place) -> None:
    prepare(place.root)
    before = tree(place.root)
    answer = Answer(is_yes=False, reason="not like this")
    told = await place.run("rm -rf d; echo x > a; touch new", How(is_preview=True), answer)
    assert tree(place.root) == before
    assert "nothing was kept. They said: not like this" in told
    [question] = place.asked
    assert question.is_of_changes
    assert "1 deleted" in question.reasons[0]
    assert place.left == []


async def test_a_part_is_kept(place: Place) -> None:
    answer = Answer(is_yes=True, edited="new/deep/x\n")
    told = await place.run(
        "mkdir -p new/deep; touch new/deep/x new/deep/y new/z; echo b > b", How(is_preview=True), answer
    )
    assert [*tree(place.root)] == ["new", "new/deep", "new/deep/x"]
    assert "The user kept only a part: new, new/deep, new/deep/x." in told


async def test_in_plan_mode_it_is_a_dry_run(place: Place) -> None:
    prepare(place.root)
    before = tree(place.root)
    told = await place.run("rm a; echo x > b; cat b", How(is_reading=True))
    assert "Stdout: x\n" in told
    assert "A dry run: nothing of it was kept. It would have changed: 1 file changed, +1 -1, 1 deleted (a, b)." in told
    assert tree(place.root) == before


async def test_what_runs_later_is_kept_only_if_the_user_says_so(place: Place) -> None:
    command = (
        "git init -q . && echo x > .git/hooks/pre-commit && mkdir .vscode && echo '{}' > .vscode/tasks.json; echo a > a"
    )
    told = await place.run(command)
    assert (
        f"The sandbox put back what runs later: {place.root}/.git/hooks/pre-commit, {place.root}/.vscode/tasks.json"
        in told
    )
    assert (place.root / ".git" / "HEAD").exists()
    assert not (place.root / ".git" / "hooks" / "pre-commit").exists()
    assert (place.root / "a").exists()
    told = await place.run("echo x > .git/hooks/pre-commit; git config user.name me", AS_USUAL, Answer(is_yes=True))
    assert (place.root / ".git" / "hooks" / "pre-commit").exists()
    assert "This changed what runs later" in told
    assert "me" in (place.root / ".git" / "config").read_text()
    assert len(place.asked) == 1


async def test_harmless_settings_of_git_need_no_question(place: Place) -> None:
    await place.run("git init -q . && git config user.name me && git remote add o https://example.com/o")
    assert place.asked == []
    assert "example.com" in (place.root / ".git" / "config").read_text()
    told = await place.run("git config core.pager ./x")
    assert "put back" in told
    assert "pager" not in (place.root / ".git" / "config").read_text()


@pytest.mark.parametrize("elsewhere", ["../../../../.git", "../../../../../other", "/tmp"])
async def test_a_submodule_s_settings_stay_as_long_as_its_files_lie_in_the_repository(place: Place, elsewhere: str):
    await place.run(
        "git init -q . && git init -q lib && git -C lib -c user.name=a -c user.email=b commit -q --allow-empty -m 1"
        " && git -c protocol.file.allow=always submodule --quiet add ./lib deep/sub"
    )
    settings = place.root / ".git" / "modules" / "deep" / "sub" / "config"
    assert "worktree = ../../../../deep/sub" in settings.read_text()
    told = await place.run(f"git config -f {settings} core.worktree {elsewhere}")
    assert "put back" in told
    assert "worktree = ../../../../deep/sub" in settings.read_text()


async def test_a_job_runs_on_the_roots_themselves(place: Place) -> None:
    told = await place.run("(sleep 0.6; echo late > late) & echo started")
    assert "Background PIDs: (none)" not in told
    assert place.changes.commits == []
    for _ in range(200):
        if (place.root / "late").exists():
            break
        await place.run("sleep 0.05")
    assert (place.root / "late").read_text() == "late\n"


async def test_without_a_layer_nothing_is_run_that_must_be_shown_first(place: Place) -> None:
    args = RunShellCommandArgs(command="echo x > a")
    tool = place.tool()
    layers = make([str(place.root)], str(place.session))
    assert layers is not None
    place.layers.give_up(layers)
    with pytest.raises(ToolError, match="can't be held back"):
        await tool.execute(args, CallContext(approved=ApprovedCommand(args, How(is_preview=True))))
    assert tree(place.root) == {}


def read(path: str) -> str:
    return Path(path).read_text()


async def test_what_cannot_be_put_in_place_is_set_aside_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_values: object, **_named: object) -> None:
        raise RuntimeError("nobody has thought of this")

    monkeypatch.setattr(place.changes, "commit", fail)
    told = await place.run("echo said; mkdir -p new/deep; echo work > new/deep/er")
    [aside] = re.findall(r"What wasn't is in (\S+)\.", told)
    assert read(f"{aside}/new/deep/er") == "work\n"
    assert "Stdout: said\n" in told
    assert "nobody has thought of this" in told
    assert place.result.error is not None
    await place.run("true")
    assert read(f"{aside}/new/deep/er") == "work\n"


async def test_what_lives_on_unforeseen_goes_on_writing_into_the_roots(place: Place) -> None:
    script = "#!/bin/bash\n(exec > log; echo one; sleep 1; echo two; echo late > late) &\nsleep 0.2\n"
    (place.root / "start.sh").write_text(script)
    told = await place.run("bash start.sh")
    assert "Background PIDs: (none)" not in told
    assert (place.root / "log").read_text() == "one\n"
    for _ in range(100):
        await place.run("true")
        if (place.root / "late").exists():
            break
    assert (place.root / "log").read_text() == "one\ntwo\n"
    assert (place.root / "late").read_text() == "late\n"
    assert place.left == []


async def test_layers_of_a_dead_process_are_cleared_away(place: Place, tmp_path: Path) -> None:
    dead = place.session / "layer-0123"
    (dead / "upper" / "closed").mkdir(parents=True, mode=0o700)
    (dead / "upper" / "closed" / "x").touch()
    (dead / "upper" / "closed").chmod(0)
    kept = place.session / "layer-4567"
    (kept / "upper").mkdir(parents=True)
    (kept / "committing").touch()
    await place.run("true")
    assert place.left == ["layer-4567"]


@pytest.mark.parametrize(
    "command",
    [
        "touch started; exec sleep 1000",
        "until [ -f ready ]; do sleep 1; done",
        "tail -f log",
        "npm run dev",
        "python3 -m http.server",
        "make &",
        "(make 2>&1 &); echo",
        "make& echo",
        "make & wait; make &",
        "bash -c 'make &'",
        "setsid make",
        "sudo FOO=1 nice -n 5 nohup make",
        "find . -exec docker run {} +",
        "npx vite --port 3000",
        "uv run --with x uvicorn app:app",
        "cargo watch",
        "gradle build",
        "while ! curl -s localhost; do sleep 1; done",
        "mkfifo q; while :; do cat q; done",
        "docker compose up",
        "python3 -c 'import time; time.sleep(60)'",
    ],
)
async def test_what_waits_for_others_is_seen_by_them(command: str, place: Place) -> None:
    assert place.layers.make_for(command, [str(place.root)], is_kept=True) is None
    layers = place.layers.make_for(command, [str(place.root)], is_kept=False)
    assert layers is not None
    layers.remove()


@pytest.mark.parametrize(
    "command",
    [
        "make 2>&1 | tee log",
        "cd a && b",
        "sleep 8; echo x > y",
        "echo a &> b",
        "touch -d yesterday x",
        "grep -f list a",
        "make a & make b & wait",
        "for f in *; do (gzip $f) & done; wait; ls",
        "ls | while read -r f; do wc -l $f; done",
        "while IFS= read -r f; do echo $f; done < list",
        "sed 's/foo/[&]/; s/x/\\U&/' f; curl 'http://host/?a=1&b=2'",
        "npx vite build",
        "npm create vite; pip install uvicorn gunicorn; cat vite.config.ts docker-compose.yml src/watch.py",
        "npm test -- --watch=false",
        "python3 -c 'print(float(\"inf\"))'; make docker-build",
    ],
)
async def test_ordinary_commands_have_a_layer(command: str, place: Place) -> None:
    layers = place.layers.make_for(command, [str(place.root)], is_kept=True)
    assert layers is not None
    layers.remove()


async def test_a_dry_run_tells_text_as_a_diff_and_the_rest_in_words(place: Place) -> None:
    prepare(place.root)
    told = await place.run(
        "echo beta >> a; rm -r d; printf '\\0' > bin; ln -s a link; chmod 600 one", How(is_reading=True)
    )
    changes = told.partition("What it would have changed:\n")[2]
    assert "-alpha" not in changes
    assert "+beta\n" in changes
    assert "bin\nNew, 1 byte." in changes
    assert "link\nA link to a." in changes
    assert "d\nA folder, removed with all that is in it." in changes
    assert "Mode 644, now 600." in changes


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .git/hooks; mv scripts .git/hooks",
        "rm -rf .git/hooks; ln -s ../scripts .git/hooks",
        "mkdir h; cp scripts/pre-commit h; rm -rf .git/hooks; mv h .git/hooks",
        "ln scripts/pre-commit .git/hooks/pre-commit",
        "mv .git a; rm -rf a/hooks; mv scripts a/hooks; mv a .git",
        "mkdir -p sub; mv .git/hooks x; mv scripts .git/hooks; mv x sub/x",
    ],
)
async def test_no_way_leads_what_runs_later_past_the_question(command: str, place: Place) -> None:
    await place.run("git init -q . && mkdir scripts && echo echo > scripts/pre-commit && chmod +x scripts/pre-commit")
    await place.run(command)
    assert not (place.root / ".git" / "hooks" / "pre-commit").exists()
    assert place.asked


REPOSITORY = (
    "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m 1 && git remote add origin /x"
    " && git -c user.name=a -c user.email=b commit -q --allow-empty -m 2 && git worktree add -q wt && git stash list"
    " && git tag v1 && git -c user.name=a -c user.email=b rebase -q HEAD~1 && git bisect start -q; git notes list"
)
IN_REPOSITORIES = {
    "lines to run in an interrupted rebase": (
        "mkdir .git/rebase-merge; echo 'exec touch x' > .git/rebase-merge/git-rebase-todo",
        "This changed what runs later: {root}/.git/rebase-merge/git-rebase-todo",
    ),
    "a worktree led to another repository": (
        "echo ../../../evil > .git/worktrees/wt/commondir",
        "put back what runs later: {root}/.git/worktrees/wt/commondir",
    ),
    "what no git is known to write": ("echo x > .git/new-place", "This changed what runs later: {root}/.git/new-place"),
    "programs for a repository among packages": (
        "git init -q node_modules/r && git -C node_modules/r config core.fsmonitor ./x",
        "put back what runs later: {root}/node_modules/r/.git/config",
    ),
    "a link in place of settings": (
        "mv .git/config c && echo '[core]' > c && ln -s ../c .git/config",
        "put back what runs later: {root}/.git/config",
    ),
    "its owner's rights for whoever runs it": ("cp /bin/true t; chmod u+s t", "This changed what runs later: {root}/t"),
}


@pytest.mark.parametrize("case", IN_REPOSITORIES)
async def test_what_starts_programs_in_a_repository_is_put_back_or_told(place: Place, case: str) -> None:
    command, expected = IN_REPOSITORIES[case]
    ordinary = await place.run(REPOSITORY)
    assert "runs later" not in ordinary
    assert (place.root / ".git" / "worktrees" / "wt" / "commondir").read_text() == "../..\n"
    assert expected.format(root=place.root) in await place.run(command)


@pytest.mark.parametrize(
    ("command", "at"),
    [
        ("mv .git g2", "g2"),
        ("mv .git g2 && mkdir .git", "g2"),
        ("cp -r .git g3 && git config -f g3/config core.pager less && rm -rf .git", "g3"),
    ],
)
async def test_the_last_copy_of_a_repository_s_settings_stays(place: Place, command: str, at: str) -> None:
    await place.run("git init -q . && git remote add origin https://example.com/a")
    await place.run(command)
    assert "example.com" in (place.root / at / "config").read_text()
