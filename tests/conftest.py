"""What every test shares: one async backend, hypothesis without randomness in CI, and processes that end with their test."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import on_windows
import preloaded
from dogu.language import speak
from processes import end_all_in, hear_signals

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")

TESTS = Path(__file__).resolve().parent
LOCALE = TESTS.parent / "src" / "dogu" / "locale"
# What `--fast` leaves out: what starts programs, loads the SDKs of others, asks the kernel much, or is a long table.
SLOW = frozenset(
    """
    conformance e2e foreign agent/extensions policy/commands runtime/discovery runtime/hooks workspace/launcher
    workspace/layer workspace/process workspace/sandbox
    fleet/test_arena.py fleet/test_fleet_faults.py fleet/test_fleet_images.py fleet/test_fleet_runs.py
    fleet/test_fleet_viewers.py fleet/test_fleet_worlds.py models/test_answer_shape.py models/test_gemini_contract.py
    models/test_wires.py
    runtime/journal/test_commit.py runtime/journal/test_killed.py runtime/journal/test_owners.py
    runtime/journal/test_twins.py runtime/journal/test_written.py
    test_blocking.py test_catalogs.py test_check_shape.py test_check_sizes.py test_docs.py test_docs_commands.py
    test_examples.py test_examples_extensions.py test_extras.py test_other_systems.py test_preloaded.py
    test_processes.py test_requirements.py test_startup.py
    tools/test_background_jobs.py tools/test_bombs.py tools/test_races.py tools/test_run_shell_command.py
    tools/test_send_input.py
    workspace/test_atomic_write.py workspace/test_openat.py workspace/test_edit_match_laws.py
    workspace/test_edit_twins.py workspace/test_power_loss.py workspace/test_python_text.py workspace/test_walk.py
    workspace/web
    """.split()
)
_MCP_SERVER = ("mcp.server.mcpserver", "mcp.server.mcpserver.resolve", "mcp.server.elicitation", "uvicorn")
_FAILED = pytest.StashKey[bool]()
_ON_WINDOWS = os.name == "nt"
_DEAF = "this user's programs hear of as many files as they may (fs.inotify.max_user_instances)"


def pytest_configure(config: pytest.Config) -> None:
    """Hear signals as in a terminal, and let the catalogs be those of the sources, also where nothing was installed."""
    hear_signals()
    if _ON_WINDOWS:
        on_windows.prepare()
    if config.getoption("--fast"):
        settings.load_profile("fast")
    if not hasattr(config, "workerinput"):  # a worker of xdist comes after its controller
        for catalog in LOCALE.glob("*.po"):
            compile_catalog(catalog)


def compile_catalog(catalog: Path) -> None:
    """Compile a catalog that is newer than what was compiled of it; whole at each moment, for runs beside this one."""
    compiled = catalog.with_suffix(".mo")
    if compiled.exists() and compiled.stat().st_mtime >= catalog.stat().st_mtime:
        return
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    beside = compiled.with_suffix(f".{os.getpid()}")
    with catalog.open("rb") as source, beside.open("wb") as target:
        write_mo(target, read_po(source))
    beside.replace(compiled)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """End what is left in any folder of this run, and say what it was."""
    yield
    for process in end_all_in(tmp_path_factory.getbasetemp()):
        print(f"left by a test, and ended: {process.pid} {process.command}", file=sys.stderr)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--release", action="store_true", help="insist on what may otherwise wait, such as translations")
    parser.addoption("--part", metavar="N/M", help="run each Mth test, from the Nth on, counted from 0")
    parser.addoption("--fast", action="store_true", help="leave out what is slow, and try fewer examples of each law")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Have half as many workers more than the machine has cores: the tests wait for programs that they start."""
    return None if config.getoption("--fast") else (os.cpu_count() or 1) * 3 // 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is slow, and what this system can't even load."""
    name = collection_path.relative_to(TESTS).as_posix()
    if (config.getoption("--fast") and name in SLOW) or (_ON_WINDOWS and on_windows.reason_for(name)):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the part that is wanted, and skip what this system can't do, with the reason in words."""
    if part := config.getoption("--part"):
        first, step = map(int, part.split("/"))
        items[:] = items[first::step]
    for item in items if _ON_WINDOWS else ():
        why = on_windows.reason_for(item.nodeid.removeprefix("tests/"))
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which files this system can't load, and which tests a user who hears of too much couldn't run."""
    unheard = [report for report in terminalreporter.stats.get("skipped", ()) if _DEAF in str(report.longrepr)]
    if unheard:
        terminalreporter.write_line(f"NOT RUN {len(unheard)} tests of who wrote a file: {_DEAF}")
    files = [(name, why) for why, names in on_windows.CANNOT.items() for name in names if "::" not in name]
    for name, why in files if _ON_WINDOWS else ():
        terminalreporter.write_line(f"LEFT OUT {name}: {why}")


@pytest.fixture
def heard() -> None:
    """What is told of who else writes: a user has 128 of it, in all programs together, or in all containers."""
    one = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC)
    if one < 0:
        pytest.skip(_DEAF)
    os.close(one)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder of the test's own, which reads as dogu shows it."""
    return on_windows.shown(tmp_path) if _ON_WINDOWS else tmp_path


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let wait what may, and end what a failed test had started."""
    report = yield
    if _ON_WINDOWS and report.failed and call.excinfo is not None:
        _skip_without_program(report, call.excinfo.value)
    _let_wait_for_a_release(item, call, report)
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    if call.when == "teardown" and item.stash[_FAILED]:
        _end_what_it_started(item)
    return report


def _skip_without_program(report: pytest.TestReport, raised: BaseException) -> None:
    program = on_windows.missing_program(raised)
    if program is not None:
        report.outcome = "skipped"
        report.longrepr = (*report.location[:1], report.location[1] or 0, f"Skipped: {program} isn't on this machine")


def _let_wait_for_a_release(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Report what may wait for a release without failing: nobody needs five languages to add a sentence."""
    may_wait = item.get_closest_marker("release") and not item.config.getoption("--release")
    if report.failed and may_wait and call.excinfo is not None:
        report.outcome = "skipped"
        report.wasxfail = f"make release-catalogs insists on this: {call.excinfo.exconly().splitlines()[0][:300]}"


def _end_what_it_started(item: pytest.Item) -> None:
    """End what runs in the test's folder; a test that passes has ended it itself."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if folder is not None:
        end_all_in(folder)


@pytest.fixture(scope="session")
def python_with_mcp() -> Iterator[list[str]]:
    """A command line that runs a Python script as `python` does, with the MCP SDK's server loaded once a run."""
    loaded = preloaded.Preloaded(*_MCP_SERVER)
    yield [sys.executable, "-I", "-S", preloaded.__file__, loaded.socket]
    loaded.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def english_again() -> Iterator[None]:
    """Let a test speak any language; those after it hear English."""
    yield
    speak("en")
