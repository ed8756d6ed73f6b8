"""What each step of the ladder holds on this machine: probes, run as commands. A step that isn't here is skipped."""

import ctypes
import os
import shutil
import socket
import sys
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import msgspec
import pytest

from dogu.contract.errors import ToolError
from dogu.workspace.process.command import ProcessResult, ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.sandbox import places
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step
from dogu.workspace.sandbox.watch import Watch, changes, fixed_places
from dogu.workspace.sandbox.work import private_folder, repositories
from processes import shared_fork_server
from workspace.sandbox.probes import PYTHON

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the ladder is Linux's"),
]

PATH = os.environ.get("PATH", "/usr/bin:/bin")


class Place:
    """A home with secrets, a project in it, and a way to run a command in a sandbox there."""

    def __init__(self, folder: Path, processes: LocalProcesses) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.temporary = folder / "temporary"
        self.processes = processes
        for path in (self.project / ".git" / "hooks", self.home / ".ssh", self.temporary):
            path.mkdir(parents=True)
        (self.home / ".ssh" / "id_ed25519").write_text("PRIVATE")
        (self.home / ".netrc").write_text("PRIVATE")
        (self.home / "notes").write_text("notes")
        (self.project / ".git" / "config").write_text("[core]\n")
        self.environment = {"PATH": PATH, "HOME": str(self.home), "TMPDIR": str(self.temporary)}

    async def run(self, sandbox: Sandbox, text: str, *more_roots: Path) -> ProcessResult:
        roots = [str(self.project), *map(str, more_roots)]
        confined = sandbox.confine(roots, self.environment, fixed_places(roots))
        command = ShellCommand(text, str(self.project), confined.environment, timeout_s=20, confinement=confined.order)
        return await self.processes.run(command)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        yield Place(tmp_path, processes)


def sandbox_of(step: Step, settings: SandboxSettings | None = None) -> Sandbox:
    sandbox = Sandbox.detect(settings, best=step)
    if sandbox.step is not step:
        pytest.skip(f"this machine has no {step}")
    return sandbox


@pytest.fixture(params=[Step.BUBBLEWRAP, Step.LANDLOCK])
def files_are_held(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_of(request.param)


@pytest.fixture(params=[Step.BUBBLEWRAP, Step.LANDLOCK, Step.SECCOMP])
def calls_are_held(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_of(request.param)


async def test_ordinary_work_goes_on(place: Place, calls_are_held: Sandbox) -> None:
    text = """set -e
    echo one > a; mkdir -p d/e; mv a d/e/a; ln -s d/e/a l; cat l; rm -r d
    echo two > "$TMPDIR/t"; cat "$TMPDIR/t"; echo -n notes; echo > /dev/null; ls /usr > /dev/null
    sleep 0.01 & wait; cat <(echo three); echo four > /dev/stdout; test -r /proc/self/status
    """
    result = await place.run(calls_are_held, text)
    assert (result.stdout, result.stderr, result.exit_code) == ("one\ntwo\nnotesthree\nfour\n", "", 0)


async def test_names_go_from_folder_to_folder(place: Place, calls_are_held: Sandbox) -> None:
    """By the kernel: `mv` would copy, and nobody see that it refuses (EXDEV)."""
    text = "import os; os.rename('a/f', 'b/f'); os.link('b/f', 'a/g'); os.rename('b', 'a/b')"
    result = await place.run(calls_are_held, f'mkdir a b; echo x > a/f; {PYTHON} -c "{text}" && cat a/g a/b/f')
    assert (result.stdout, result.stderr) == ("x\nx\n", "")


async def test_python_threads_processes_and_sockets_work(place: Place, calls_are_held: Sandbox) -> None:
    (place.project / "t.py").write_text(
        "import concurrent.futures as f, multiprocessing as m, socket\n"
        "if __name__ == '__main__':\n"
        "    print(list(f.ThreadPoolExecutor(2).map(abs, [-1])), m.get_context('spawn').Pool(1).map(abs, [-2]))\n"
        "    s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print(3)\n"
    )
    result = await place.run(calls_are_held, f"{PYTHON} t.py")
    assert result.stdout == "[1] [2]\n3\n", result.stderr


@pytest.mark.parametrize(
    "write",
    [
        "echo x > ../outside",
        "echo x >> ../notes",
        "rm ../notes",
        "mv ../notes .",
        "mv f ../outside",
        "mkdir ../outside",
        "ln ../notes linked",
        "ln -s x ../outside",
        "ln -s .. up; echo x > up/outside",
        "truncate -s 0 ../notes",
        "mkfifo ../outside",
        "echo x > ../.bashrc",
        "echo x > ../.ssh/authorized_keys",
        "rm -r ../.ssh",
        "mknod null c 1 3",
    ],
)
async def test_nothing_outside_is_written(place: Place, files_are_held: Sandbox, write: str) -> None:
    (place.project / "f").write_text("f")
    result = await place.run(files_are_held, write)
    assert result.exit_code != 0
    assert (place.home / "notes").read_text() == "notes"
    assert not (place.home / "outside").exists()
    assert sorted(os.listdir(place.home)) == [".netrc", ".ssh", "notes", "project"]
    assert os.listdir(place.home / ".ssh") == ["id_ed25519"]
    assert ".ssh/authorized_keys: No such" in result.stderr or files_are_held.denial(
        result.stderr, (), str(place.project), [str(place.project)]
    )


@pytest.mark.parametrize(
    "read", ["cat ../.ssh/id_ed25519", "cat ../.netrc", "ln -s ../.ssh s; cat s/*", "cp ../.netrc ."]
)
async def test_secrets_are_not_read(place: Place, files_are_held: Sandbox, read: str) -> None:
    result = await place.run(files_are_held, read + "; cat .netrc 2>&1")
    assert "PRIVATE" not in result.stdout + result.stderr


@pytest.mark.parametrize("above_is_writable", [False, True])
async def test_secrets_are_not_read_where_the_home_is_a_root(
    place: Place, files_are_held: Sandbox, above_is_writable: bool
) -> None:
    for name in (".gemini", ".dogu"):
        (place.home / name).mkdir()
        (place.home / name / "token").write_text("PRIVATE")
    (place.home / ".bashrc").write_text("")
    roots = [place.home, place.home.parent] if above_is_writable else [place.home]
    result = await place.run(files_are_held, "cd ..; cat .ssh/* .netrc .gemini/token .dogu/token; cat notes", *roots)
    assert "PRIVATE" not in result.stdout + result.stderr
    assert "notes" in result.stdout


async def test_git_works_in_a_worktree_and_its_hooks_stay(place: Place, files_are_held: Sandbox) -> None:
    git = "git -c user.name=a -c user.email=a@b"
    plain = Sandbox.detect(best=Step.NONE)
    text = f"rm -r .git; git init -q ../main; cd ../main; {git} commit -q --allow-empty -m one; git worktree add -q ../project/w"
    assert (await place.run(plain, text)).stderr.replace("Preparing worktree (new branch 'w')\n", "") == ""
    place.project = place.project / "w"
    result = await place.run(files_are_held, f"echo x > f; git add f; {git} commit -q -m two && git log --format=%s")
    assert result.stdout == "two\none\n", result.stderr
    before = Watch([str(place.project)]).snapshot()
    result = await place.run(files_are_held, "echo x > ../../main/.git/hooks/pre-commit")
    told = changes(before, Watch([str(place.project)]).snapshot())
    if files_are_held.step is Step.BUBBLEWRAP:
        assert (result.exit_code, told) == (1, [])
    else:
        assert told == [str(place.home / "main" / ".git" / "hooks" / "pre-commit")]


async def test_a_forged_worktree_opens_nothing(place: Place, files_are_held: Sandbox) -> None:
    forged = place.home / "other" / "worktrees" / "w"
    forged.mkdir(parents=True)
    (place.home / "other" / "HEAD").touch()
    (forged / "commondir").write_text("../..\n")
    (forged / "gitdir").write_text(f"{place.home}/elsewhere/.git\n")
    await place.run(Sandbox.detect(best=Step.NONE), f"rm -r .git; echo 'gitdir: {forged}' > .git")
    result = await place.run(files_are_held, "echo x > ../other/config")
    assert result.exit_code == 1
    assert not (place.home / "other" / "config").exists()


async def test_caches_have_a_place_of_their_own(place: Place, files_are_held: Sandbox) -> None:
    place.environment["UV_CACHE_DIR"] = "/set"
    result = await place.run(files_are_held, 'mkdir -p "$GOCACHE" && echo x > "$GOCACHE/f" && echo "$UV_CACHE_DIR"')
    assert result.stdout == "/set\n", result.stderr
    again = await place.run(files_are_held, 'cat "$GOCACHE/f"')
    assert again.stdout == "x\n"


async def test_a_setting_opens_places(place: Place) -> None:
    settings = SandboxSettings(writable=(str(place.home / "cache"),), readable=(str(place.home / ".netrc"),))
    (place.home / "cache").mkdir()
    result = await place.run(Sandbox.detect(settings), "echo x > ../cache/f; cat ../.netrc; cat ../cache/f")
    assert result.stdout == "PRIVATEx\n"


async def test_modes_of_others_files_stay(place: Place) -> None:
    result = await place.run(sandbox_of(Step.BUBBLEWRAP), "chmod 777 ../notes || touch -d 2001-01-01 ../notes")
    assert result.exit_code != 0
    assert (place.home / "notes").stat().st_mode & 0o777 != 0o777


@pytest.mark.parametrize(
    "write",
    [
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/config",
        "rm -r .git",
        "mv .git .g",
        "mv .git/hooks h",
        "mv .git/config c",
    ],
)
async def test_what_runs_later_stays_as_it_is_under_bubblewrap(place: Place, write: str) -> None:
    result = await place.run(sandbox_of(Step.BUBBLEWRAP), write)
    assert result.exit_code != 0
    assert os.listdir(place.project / ".git" / "hooks") == []
    assert (place.project / ".git" / "config").read_text() == "[core]\n"


@pytest.mark.parametrize(
    "call",
    [
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, {dogu}, 0, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.unshare(0x10000000), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.mount(b'a', b'/mnt', b'tmpfs', 0, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(250, 0, -3, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(321, 0, 0, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(425, 8, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(298, 0, 0, -1, -1, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.ioctl(0, 0x5412, b'x'), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.socket(17, 3, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(310, {dogu}, 0, 0, 0, 0, 0), ctypes.get_errno())",
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.chroot(b'/'), ctypes.get_errno())",
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the probes' numbers are x86_64's")
async def test_dangerous_system_calls_are_refused(place: Place, calls_are_held: Sandbox, call: str) -> None:
    (place.project / "call.py").write_text(call.replace("{dogu}", str(os.getpid())))
    result = await place.run(calls_are_held, f"{PYTHON} call.py")
    assert result.stdout == "-1 1\n", result.stderr


async def test_32_bit_numbers_do_not_pass_the_filter(place: Place, calls_are_held: Sandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("x32 is x86_64's")
    program = (
        "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(0x40000000 + 39), ctypes.get_errno())"
    )
    assert (await place.run(calls_are_held, f"{PYTHON} -c '{program}'")).stdout == "-1 38\n"


async def test_other_processes_are_out_of_reach(place: Place, files_are_held: Sandbox) -> None:
    if files_are_held.landlock_abi < 6:
        pytest.skip("signals are scoped from Landlock's ABI 6 on")
    pid = os.getpid()
    result = await place.run(
        files_are_held, f"kill -CONT {pid} 2>&1; cat /proc/{pid}/environ; ls /proc/{pid}/root/; cat /proc/{pid}/maps"
    )
    assert "not permitted" in result.stdout
    assert result.output_bytes == len(result.stdout) + len(result.stderr)
    assert len(result.stdout.splitlines()) == 1


async def test_one_command_can_end_what_another_started(place: Place, files_are_held: Sandbox) -> None:
    started = await place.run(files_are_held, "sleep 91 &")
    if files_are_held.landlock_abi < 6:
        pytest.skip("processes have numbers of their own there")
    pid = started.background_pids[0]
    result = await place.run(
        files_are_held, f"kill {pid} && while kill -0 {pid} 2> /dev/null; do sleep 0.02; done; echo gone"
    )
    assert result.stdout == "gone\n"


async def test_killing_supervisor_and_launcher_frees_nothing(place: Place, files_are_held: Sandbox) -> None:
    if files_are_held.landlock_abi < 6:
        pytest.skip("the launcher is guarded from Landlock's ABI 6 on")
    text = "setsid sleep 92 & echo $! > pid; read -r _ _ _ launcher _ < /proc/$PPID/stat; kill -9 $PPID $launcher; sleep 92"
    await place.run(files_are_held, text)
    pid = (place.project / "pid").read_text().strip()
    await place.processes.aclose()
    assert pid not in os.listdir("/proc")
    assert (await place.run(files_are_held, "echo again")).stdout == "again\n"


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_accept_all, args=[server])
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept_all(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


async def test_the_network_is_cut_off_when_it_is_set_so(place: Place, listener: int) -> None:
    text = f"exec 3<>/dev/tcp/127.0.0.1/{listener} && echo reached"
    for step in Step:
        allowed = Sandbox.detect(best=step)
        assert (await place.run(allowed, text)).stdout == ("" if allowed.has_own_network else "reached\n")
        cut = Sandbox.detect(SandboxSettings(network=False), best=step)
        if cut.step is not Step.NONE:
            assert (await place.run(cut, text)).stdout == ""


async def test_no_socket_outside_is_reached_and_ones_own_are(
    place: Place, files_are_held: Sandbox, tmp_path: Path
) -> None:
    program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"
    (place.project / "connect.py").write_text(program)
    toolchain = place.home / ".cargo" / "bin"
    toolchain.mkdir(parents=True)
    for path in (tmp_path / "s", place.home / "s", place.temporary / "s", toolchain / "s", place.project / "s"):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            result = await place.run(files_are_held, f"{PYTHON} connect.py {path}")
            is_own = path.parent == place.project and files_are_held.step is Step.BUBBLEWRAP
            assert result.stdout == ("reached\n" if is_own else ""), path


async def test_rights_are_not_gained(place: Place, calls_are_held: Sandbox) -> None:
    result = await place.run(calls_are_held, "grep -E 'NoNewPrivs|^Seccomp:' /proc/self/status")
    assert result.stdout.split() == ["NoNewPrivs:", "1", "Seccomp:", "2"]


async def test_a_sandbox_that_cannot_be_set_up_runs_nothing(place: Place) -> None:
    sandbox = sandbox_of(Step.LANDLOCK)
    order = {**(sandbox.confine([str(place.project)], place.environment).order or {}), "seccomp": b"\0" * 8}
    with pytest.raises(Exception, match="sandbox could not be set up"):
        await place.processes.run(
            ShellCommand("touch was_run", str(place.project), place.environment, confinement=order)
        )
    assert not (place.project / "was_run").exists()


@pytest.mark.parametrize(
    ("text", "exit_code", "signal"),
    [
        ("exit 143", 143, None),
        ("kill -TERM $$", None, 15),
        ("kill -SEGV $$", None, 11),
        ("exit 137", 137, None),
        ("exit 255", 255, None),
        ("(exit 130)", 130, None),
        ("nothing_so_named", 127, None),
    ],
)
async def test_an_exit_code_is_no_signal(
    place: Place, files_are_held: Sandbox, text: str, exit_code: int | None, signal: int | None
) -> None:
    if files_are_held.step is Step.BUBBLEWRAP and files_are_held.landlock_abi < 6:
        pytest.skip("an init stands between there")
    result = await place.run(files_are_held, text)
    assert (result.exit_code, result.signal) == (exit_code, signal)


async def test_where_processes_have_numbers_of_their_own_commands_run_too(place: Place) -> None:
    sandbox = msgspec.structs.replace(sandbox_of(Step.BUBBLEWRAP), landlock_abi=5)
    result = await place.run(sandbox, "echo $$; exec 3<&8 || exec 3<&9; exit 7")
    assert (int(result.stdout) < 10, result.exit_code) == (True, 7)
    assert "8: Bad file descriptor" in result.stderr
    assert "9: Bad file descriptor" in result.stderr
    assert (await place.run(sandbox, "kill -TERM $$")).signal == 15


async def test_nothing_of_ours_is_left_inside(place: Place, files_are_held: Sandbox) -> None:
    text = 'ls -l /proc/self/fd | grep -v "/proc/" | wc -l; env | grep -vE "^(PATH|HOME|TMPDIR|PWD|SHLVL|_|.*_CACHE_.*|GO.*|.*_cache|.*CACHE.*|.*(PROXY|proxy))="; echo $SHLVL'
    lines = (await place.run(files_are_held, text)).stdout.split()
    assert lines[1:] == ["1" if files_are_held.step is Step.BUBBLEWRAP else lines[1]]
    assert int(lines[0]) <= 5  # the heading, three streams, and a seccomp filter's


async def test_no_command_starts_in_a_directory_swapped_meanwhile(place: Place, files_are_held: Sandbox) -> None:
    inside, outside = place.project / "inside", place.home / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (inside / "mark").write_text("inside")
    (outside / "mark").write_text("outside")
    (place.project / "link").symlink_to(outside)
    directory = os.open(inside, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    order = files_are_held.confine([str(place.project)], place.environment).order
    command = ShellCommand("cat mark", directory, place.environment, timeout_s=20, confinement=order)
    seen: list[str] = []
    with flipping(inside, place.project / "link"):
        for _ in range(int(os.environ.get("DOGU_RACES", "4000")) // 100):
            try:
                seen.append((await place.processes.run(command)).stdout)
            except ToolError as error:
                seen.append(str(error))
    os.close(directory)
    refused = "The command could not start: its directory was moved or swapped meanwhile."
    assert set(seen) <= {"inside", refused}
    if files_are_held.step is Step.LANDLOCK:  # nothing is looked up anew there
        assert set(seen) == {"inside"}


@contextmanager
def flipping(one: Path, other: Path) -> Generator[None]:
    """Exchange two names in a thread, as fast as it can."""
    libc, stop = ctypes.CDLL(None), threading.Event()

    def flip() -> None:
        while not stop.is_set():
            libc.renameat2(-100, bytes(one), -100, bytes(other), 2)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def test_a_sandbox_that_fails_on_its_way_runs_nothing(place: Place) -> None:
    sandbox = sandbox_of(Step.BUBBLEWRAP)
    order = {**(sandbox.confine([str(place.project)], place.environment).order or {})}
    order["outer"] = [order["outer"][0], "--bind", "/nonexistent/a", "/b", *order["outer"][1:]]
    command = ShellCommand("touch was_run", str(place.project), place.environment, confinement=order)
    with pytest.raises(ToolError, match=r"sandbox could not be set up \(.*/nonexistent/a"):
        await place.processes.run(command)
    assert not (place.project / "was_run").exists()


async def test_jobs_and_cancelling_work_inside(place: Place, files_are_held: Sandbox) -> None:
    result = await place.run(files_are_held, "(setsid sleep 93 &); sleep 93 & echo on")
    assert len(result.background_pids) == 2
    await place.processes.aclose()
    assert not {str(pid) for pid in result.background_pids} & {*os.listdir("/proc")}


def test_every_step_says_what_it_cannot_enforce() -> None:
    for step in Step:
        sandbox = Sandbox(step, SandboxSettings(network=False), landlock_abi=2)
        assert sandbox.limits
        assert sandbox.describe()
        asks = "So each command asks first." in sandbox.limits
        assert not asks or not Sandbox(step, SandboxSettings(), landlock_abi=7, has_own_network=True).holds_all
        assert asks is (step in (Step.LANDLOCK, Step.SECCOMP))
    assert Sandbox.detect(best=Step.NONE).confine(["/"], {}).order is None
    assert Sandbox.detect(best=Step.NONE).denial("Permission denied") == ""


def test_a_cover_leaves_out_what_is_hidden_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a/b/secret", "a/b/open", "a/c", "d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    top = str(tmp_path)
    assert places.cover([], top) == [top]
    assert sorted(places.cover([f"{top}/a/b/secret"], top)) == [f"{top}/a/b/open", f"{top}/a/c", f"{top}/d"]
    assert places.cover([top], top) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("echo x > .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        ("echo '[alias]' > .git/config", [".git/config"]),
        ("mkdir .vscode", [".vscode"]),
        ("git init -q sub/new", ["sub/new/.git/config"]),
        (
            "git init -q new && echo x > new/.git/hooks/pre-commit && chmod +x new/.git/hooks/pre-commit",
            ["new/.git/config", "new/.git/hooks/pre-commit"],
        ),
        (
            "git init -q --template= new && mkdir new/.git/hooks && echo x > new/.git/hooks/post-checkout",
            ["new/.git/config", "new/.git/hooks/post-checkout"],
        ),
        ("ln -s x sub/.envrc", ["sub/.envrc"]),
        ("echo x > plain; echo x > .git/hooks/x.sample; rm .git/config", []),
    ],
)
async def test_what_runs_later_is_compared(place: Place, text: str, told: list[str]) -> None:
    root = str(place.project)
    (place.project / "sub").mkdir()
    watch = Watch([root])
    before = watch.snapshot()
    assert changes(before, watch.snapshot()) == []
    await place.run(Sandbox.detect(best=Step.NONE), text)
    assert [path.removeprefix(root + "/") for path in changes(before, watch.snapshot())] == told


@pytest.mark.parametrize(
    "text",
    [
        "echo x > .git/hooks/pre-commit",
        "mkdir evil; echo x > evil/pre-commit; rm -rf .git/hooks; ln -s ../evil .git/hooks",
        "mkdir evil; echo x > evil/post-checkout; rm -rf .git/hooks; mv evil .git/hooks",
        "mkdir -p .git/modules/m/hooks; echo x > .git/modules/m/hooks/pre-commit",
        "mkdir -p .git/modules/a/b/hooks; echo x > .git/modules/a/b/hooks/pre-commit",
    ],
)
async def test_a_hook_that_a_command_brings_in_any_way_is_gone_afterwards(place: Place, text: str) -> None:
    watch = Watch([str(place.project)])
    before = watch.snapshot()
    watch.keep(before)
    await place.run(Sandbox.detect(best=Step.NONE), text)
    assert watch.put_back(before, watch.snapshot())
    assert [*(place.project / ".git" / "hooks").glob("*"), *(place.project / ".git").glob("modules/**/hooks/*")] == []


async def test_a_link_that_leads_to_hooks_leads_there_again(place: Place) -> None:
    hooks = place.project / ".git" / "hooks"
    hooks.rmdir()
    hooks.symlink_to("../own")
    watch = Watch([str(place.project)])
    before = watch.snapshot()
    watch.keep(before)
    await place.run(Sandbox.detect(best=Step.NONE), "ln -sfn ../evil .git/hooks")
    assert watch.put_back(before, watch.snapshot()) == [str(hooks)]
    assert hooks.readlink() == Path("../own")


def test_a_repository_whose_link_is_a_fifo_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert repositories([str(tmp_path)]) == []
    (tmp_path / ".git").unlink()
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / ".git").write_text(f"gitdir: {own}\n")
    os.mkfifo(own / "commondir")
    assert repositories([str(tmp_path)]) == []


@pytest.mark.parametrize("named", ["", ".", "nowhere", "/nowhere", "/etc/passwd", "/proc"])
def test_a_temporary_folder_that_is_none_is_the_systems(named: str) -> None:
    folder = private_folder(["/a"], {"TMPDIR": named})
    assert folder.startswith(f"{os.path.realpath('/tmp')}/dogu-")


async def test_a_root_in_a_root_that_became_a_link_is_followed_nowhere(place: Place, files_are_held: Sandbox) -> None:
    inner, outside = place.project / "a" / "b", place.home / "outside"
    inner.mkdir(parents=True)
    outside.mkdir()
    assert (await place.run(files_are_held, "touch a/b/mark", inner)).exit_code == 0
    (place.project / "a").rename(place.project / "a2")
    (place.project / "a").mkdir()
    inner.symlink_to(outside)
    await place.run(files_are_held, "touch a/b/mark", inner)
    assert [*outside.iterdir()] == []


async def test_a_secret_in_a_root_keeps_its_name(place: Place, files_are_held: Sandbox) -> None:
    secret = place.home / ".config" / "gh" / "hosts.yml"
    secret.parent.mkdir(parents=True)
    secret.write_text("PRIVATE")
    place.project = place.home
    await place.run(files_are_held, "mv .config c2; mv .config/gh c3; mkdir -p .config/gh")
    result = await place.run(
        files_are_held, "cat c2/gh/hosts.yml c3/hosts.yml .config/gh/hosts.yml; echo x > .config/new && cat .config/new"
    )
    assert "PRIVATE" not in result.stdout
    assert result.stdout == "x\n" or files_are_held.step is Step.LANDLOCK


@pytest.mark.parametrize("spelled", ["{}/", "{}/.", "{}/project/.."])
async def test_a_home_may_be_spelled_in_any_way(place: Place, files_are_held: Sandbox, spelled: str) -> None:
    place.environment["HOME"] = spelled.format(place.home)
    assert (await place.run(files_are_held, "echo here")).stdout == "here\n"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="who gives rights must be root")
@pytest.mark.parametrize("step", [Step.BUBBLEWRAP, Step.LANDLOCK])
@pytest.mark.parametrize("given", ["--inh-caps=+sys_ptrace,+mknod", "--bounding-set=-setpcap"])
async def test_rights_that_dogu_could_hand_on_stay_behind(place: Place, step: Step, given: str) -> None:
    sandbox_of(step)
    script = (
        "import anyio, os\nfrom workspace.sandbox.test_ladder import *\n"
        "async def main():\n"
        "    async with LocalProcesses() as processes:\n"
        f"        place = Place(Path({str(place.home)!r}), processes)\n"
        f"        print((await place.run(sandbox_of(Step({step.value!r})), 'grep CapEff /proc/self/status')).stdout)\n"
        "anyio.run(main)"
    )
    path = os.pathsep.join(filter(None, sys.path))
    argv = ["setpriv", given, sys.executable, "-c", script]
    done = await anyio.run_process(argv, env={**os.environ, "PYTHONPATH": path})
    effective = int(done.stdout.split()[1], 16)
    assert not effective & (1 << 19 | 1 << 21 | 1 << 27), done.stdout


async def test_a_home_may_be_a_link(place: Place, files_are_held: Sandbox) -> None:
    """As where homes lie on a disk of their own, and the tools in one are named by the link."""
    link = place.home.with_name("link")
    link.symlink_to(place.home)
    (place.home / ".cargo" / "bin").mkdir(parents=True)
    (place.home / ".gitconfig").write_text("[user]\n")
    place.environment |= {"HOME": str(link), "PATH": f"{link}/.cargo/bin:{PATH}"}
    result = await place.run(
        files_are_held, "cd ~/project && pwd -P && ls -d ~/.cargo/bin && cat ~/.gitconfig ~/.netrc"
    )
    assert result.stdout.splitlines() == [str(place.project), f"{link}/.cargo/bin", "[user]"]
