"""`dogu fleet`: the same agent over many tasks; run, go on, look, retry, export, compare."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from dogu.agent.budget import usd
from dogu.app import Options, read_settings
from dogu.app.model_choice import is_connected
from dogu.commands.running import run_async
from dogu.contract import ErrorKind, ToolError
from dogu.fleet import arena
from dogu.fleet.arena import arena_tasks
from dogu.fleet.compare import compare
from dogu.fleet.driver import Driver
from dogu.fleet.export import FOLDERS, FORMATS, export, export_to, patch_text
from dogu.fleet.local import LocalEngine
from dogu.fleet.plan import Plan
from dogu.fleet.progress import row_line, shown
from dogu.fleet.report import write_report
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Task, checked, read_tasks
from dogu.language import joined, plain, say, sentence, told
from dogu.serve.exit_codes import ExitCode
from dogu.workspace.event_loop import open_signal_receiver
from dogu.workspace.truncation import middle_left_out
from dogu.workspace.visible import make_visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from dogu.fleet.compare import Comparison, Difference
    from dogu.fleet.driver import Report
    from dogu.fleet.engine import Engine

_MOST_NAMES = {
    "run": 1,
    "resume": 1,
    "status": 1,
    "show": 2,
    "retry": sys.maxsize,
    "export": 1,
    "report": 1,
    "compare": 2,
}
_MOST_PATCH_CHARS = 400_000  # who reads on opens the file
_FAILED = 1
_STOPPED = 53


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", choices=list(_MOST_NAMES))
    parser.add_argument("names", nargs="*", metavar="NAME", help=say("run: the tasks; else the fleet's folder"))
    parser.add_argument("--out", metavar="DIR", help=say("run: the fleet's folder, new or empty"))
    parser.add_argument("--jobs", metavar="N", type=int, help=say("tasks at once (default: 8)"))
    workers = say("processes (default: one per 32 tasks at once, at most one per processor)")
    parser.add_argument("--workers", metavar="N", type=int, help=workers)
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help=say("where tasks are run"))
    parser.add_argument("--address", metavar="ADDRESS", default="auto", help=say("ray: the cluster's address"))
    for name, what in (
        ("--repo", say("tasks without one work in a clone of this repository")),
        ("--folder", say("tasks without a repository work in a copy of this folder")),
        ("--ref", say("the commit, tag or branch to begin at")),
        ("--setup", say("a command that is run before the agent")),
        ("--check", say("a command that is run after the agent, and decides")),
    ):
        parser.add_argument(name, help=what)
    parser.add_argument("--submodules", action="store_true", help=say("have the submodules of repositories there too"))
    parser.add_argument("--task-timeout", metavar="S", type=float, help=say("seconds that the agent has for a task"))
    parser.add_argument("--task-cost", metavar="USD", type=float, help=say("US dollars that a task may cost"))
    parser.add_argument("--check-timeout", metavar="S", type=float, help=say("seconds that a setup or check may take"))
    parser.add_argument(
        "--max-failures", metavar="N", type=int, help=say("stop when so many tasks have failed (1: at the first)")
    )
    parser.add_argument("--rpm", metavar="N", type=float, help=say("requests per minute, for all tasks together"))
    parser.add_argument("--tpm", metavar="N", type=float, help=say("tokens per minute, for all tasks together"))
    parser.add_argument("--keep-worlds", action="store_true", help=say("leave the tasks' folders there"))
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help=say("export: as what"))
    parser.add_argument("--output", metavar="FILE", help=say("export, report: to this file"))
    parser.add_argument("--json", action="store_true", help=say("print one JSON object"))


def run(options: Options, space: Namespace) -> int:
    """Do what the action says."""
    act = {
        "run": _run,
        "resume": _resume,
        "status": _status,
        "show": _show,
        "retry": _retry,
        "export": _export,
        "report": _report,
        "compare": _compare,
    }[space.action]
    rest = space.names[_MOST_NAMES[space.action] :]
    if rest:
        words = sentence("`dogu fleet {action}` doesn't take another name: {names}")
        raise _usage(told(words, action=space.action, names=", ".join(rest)))
    return act(options, space)


def _run(options: Options, space: Namespace) -> int:
    path = _name(space, 0, told("Which tasks? dogu fleet run TASKS --out DIR"))
    if not space.out:
        raise _usage(told("Where to? dogu fleet run TASKS --out DIR"))
    if space.repo and space.folder:
        raise _usage(told("it names both a repo and a folder: give one"))
    base = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
    found = arena_tasks() if path == arena.NAME and not os.path.exists(path) else read_tasks(path)
    plan = _plan(Plan(), options, space)
    tasks = checked((_completed(task, space) for task in found), base)
    with Fleet.create(space.out, plan, tasks) as fleet:
        return _drive(fleet, options, space)


def _resume(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        _replan(fleet, options, space)
        return _drive(fleet, options, space)


def _replan(fleet: Fleet, options: Options, space: Namespace) -> None:
    """Have it run from now on as the command line says; only who drives it may."""
    fleet.drive()
    fleet.change_plan(_plan(fleet.plan, options, space))


def _plan(plan: Plan, options: Options, space: Namespace) -> Plan:
    """The plan, with what was said on the command line."""
    bounds = {"max_turns": options.max_turns, "max_cost": space.task_cost, "timeout_s": space.task_timeout}
    changes = {
        "jobs": space.jobs,
        "workers": space.workers,
        "model": options.model,
        "settings_file": os.path.abspath(options.settings_file) if options.settings_file else None,
        "approval_mode": options.approval_mode,
        "max_cost": options.max_cost,
        "max_failures": space.max_failures,
        "requests_per_minute": space.rpm,
        "tokens_per_minute": space.tpm,
        "check_timeout_s": space.check_timeout,
        "keep_worlds": space.keep_worlds or None,
        "effort": options.effort,
        "system_prompt": options.system_prompt,
        "append_system_prompt": options.append_system_prompt,
        "allowed_tools": options.allowed_tools or None,
        "retry_for_s": options.retry_for_s,
        "commands": options.commands,
        "is_container": options.is_container or None,
        "bounds": msgspec.structs.replace(plan.bounds, **_said(bounds)),
    }
    if options.include_directories or options.keep_jobs:
        raise _usage(told("A task works in a folder of its own: no --include-directories, no --keep-jobs."))
    changed = msgspec.structs.replace(plan, **_said(changes))
    changed.check()
    return changed


def _said(values: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _completed(task: Task, space: Namespace) -> Task:
    """A task with the command line's words where it has none."""
    has_place = bool(task.repo or task.folder)
    repo = task.repo or ("" if has_place else _repository(space.repo or ""))
    return msgspec.structs.replace(
        task,
        repo=repo,
        submodules=task.submodules or bool(repo and space.submodules),
        folder=task.folder
        or ("" if has_place or space.repo else os.path.abspath(space.folder) if space.folder else ""),
        ref=task.ref or space.ref or "",
        setup=task.setup or space.setup or "",
        check=task.check or space.check or "",
    )


def _repository(name: str) -> str:
    return os.path.abspath(name) if os.path.exists(name) else name


def _drive(fleet: Fleet, options: Options, space: Namespace) -> int:
    if space.engine == "local" and _lacks_model(fleet):  # on a cluster the nodes have the key
        words = say(
            "No model is connected, so nothing was begun. Set GEMINI_API_KEY, or name a model: "
            "dogu fleet resume {folder} --model NAME",
            folder=fleet.folder,
        )
        sys.stderr.write(f"{words}\n")
        return ExitCode.NO_CREDENTIALS

    async def drive() -> int:
        with shown(fleet.counts()) as watch:
            driver = Driver(fleet, watch)
            report = await _until_stopped(driver, _engine(fleet, options, space))
        return _told(fleet, report, space)

    return run_async(drive)


def _lacks_model(fleet: Fleet) -> bool:
    plan = fleet.plan
    options = Options(root=fleet.folder, settings_file=plan.settings_file, model=plan.model)
    return fleet.needs_model() and not is_connected(read_settings(options).model)


def _engine(fleet: Fleet, options: Options, space: Namespace) -> Engine:
    if space.engine == "ray":
        from dogu.fleet.ray_engine import RayEngine

        return RayEngine(fleet.folder, fleet.plan, options.home, space.address)
    return LocalEngine(fleet.folder, fleet.plan, options.home)


async def _until_stopped(driver: Driver, engine: Engine) -> Report:
    """Run; the first Ctrl-C lets what runs end, the second ends it too."""
    report: Report | None = None

    async def listen(scope: anyio.CancelScope) -> None:
        with open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                if driver.is_stopped:
                    scope.cancel()
                    return
                driver.drain()
                words = say(
                    "Running tasks are finished first; Ctrl-C again ends them too. Either way the fleet can be resumed."
                )
                sys.stderr.write(f"\n{words}\n")

    async with anyio.create_task_group() as group:
        group.start_soon(listen, group.cancel_scope)
        report = await driver.run(engine)
        group.cancel_scope.cancel()
    return report or driver.report()


def _told(fleet: Fleet, report: Report, space: Namespace) -> int:
    page = _page(fleet)
    counts = report.counts
    if space.json:
        _print_json({**msgspec.to_builtins(report), "page": page})
    else:
        print(
            say(
                "{done} of {total} done: {passed} passed, {failed} failed, {unchecked} without a check; {cost}.",
                done=counts.done,
                total=counts.total,
                passed=counts.passed,
                failed=counts.failed,
                unchecked=counts.unchecked,
                cost=usd(counts.cost_usd),
            )
        )
        if report.stopped:
            go_on = [told("`dogu fleet resume {folder}` continues.", folder=fleet.folder)] * report.can_go_on
            print(say(joined(" ", (told("Stopped: {why}.", why=report.stopped), *go_on))))
        if page:
            print(say("Report: {page}", page=page))
    return _STOPPED if report.stopped else _FAILED if counts.failed else 0


def _page(fleet: Fleet) -> str:
    """Write the report and return its path; where it can't be written, say so and return nothing."""
    try:
        return write_report(fleet)
    except OSError as error:
        sys.stderr.write(say(_unwritten(fleet.folder, error).message) + "\n")
        return ""


def _unwritten(path: str, error: OSError) -> ToolError:
    why = error.strerror or str(error)
    return ToolError(ErrorKind.IO_ERROR, told("{path} can't be written: {why}", path=path, why=why))


def _status(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        counts = fleet.counts()
        if space.json:
            _print_json({"folder": fleet.folder, **msgspec.structs.asdict(counts), "done": counts.done})
            return 0
        for row in fleet.rows():
            if row.passed is False:
                print(make_visible(row_line(row)))
        print(
            say(
                "{total} tasks: {queued} waiting, {running} begun, {passed} passed, {failed} failed, "
                "{unchecked} without a check.",
                **msgspec.structs.asdict(counts),
            )
        )
        return 0


def _show(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        task_id = _name(space, 1, told("Which task? dogu fleet show DIR ID"))
        found = fleet.task(task_id)
        if found is None:
            raise _usage(told("{folder} has no task {id}.", folder=fleet.folder, id=task_id))
        task, state = found
        row = fleet.row(task_id)
        if space.json:
            _print_json({"task": task, "state": state, "row": row})
            return 0
        print(make_visible(row_line(row)) if row else f"{task_id}: {state}")
        print(make_visible(task.prompt))
        if row is not None:
            if row.text:
                print(f"\n--- answer\n{make_visible(row.text)}")
            for title, command, outcome in (("setup", task.setup, row.setup), ("check", task.check, row.check)):
                if outcome is not None:
                    said = f"$ {command}\n{outcome.output}".rstrip("\n")
                    print(f"\n--- {title}: {outcome.ending}\n{make_visible(said)}")
            if row.patch.file:
                seen, _ = middle_left_out(patch_text(fleet, row), _MOST_PATCH_CHARS)
                print(f"\n--- {fleet.place(row.patch.file)}\n{make_visible(seen)}")
        return 0


def _retry(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        ids = space.names[1:]
        unknown = [task_id for task_id in ids if fleet.task(task_id) is None]
        if unknown:
            raise _usage(told("{folder} has no task {id}.", folder=fleet.folder, id=unknown[0]))
        _replan(fleet, options, space)
        fleet.take_back()
        count = fleet.retry(ids)
        print(say("Queued again: {count}.", count=count))
        return _drive(fleet, options, space) if count else 0


def _export(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        if space.format in FOLDERS and not space.output:
            raise _usage(told("Each task makes a file: name a folder for them with --output."))
        if not fleet.counts().done:
            words = say("No task is done yet: `dogu fleet status {folder}` says how far it is.", folder=fleet.folder)
            sys.stderr.write(f"{words}\n")
        if not space.output:
            export(fleet, space.format, sys.stdout.buffer.write)
            sys.stdout.buffer.flush()
            return 0
        _check_output(fleet, space.output)
        try:
            export_to(fleet, space.format, space.output)
        except OSError as error:
            raise _unwritten(space.output, error) from error
        sys.stderr.write(say("Saved to {name}.", name=space.output) + "\n")
        return 0


def _check_output(fleet: Fleet, path: str) -> None:
    if fleet.owns(path):
        raise _usage(told("{path} is the fleet's own: name another file.", path=path))


def _report(options: Options, space: Namespace) -> int:
    with _opened(space) as fleet:
        if space.output:
            _check_output(fleet, space.output)
        try:
            page = write_report(fleet, space.output or "")
        except OSError as error:
            raise _unwritten(space.output or fleet.folder, error) from error
        print(page)
        return 0


def _compare(options: Options, space: Namespace) -> int:
    names = [_name(space, number, told("Which two? dogu fleet compare DIR DIR")) for number in (0, 1)]
    with Fleet.open(names[0]) as first, Fleet.open(names[1]) as second:
        found = compare(first.rows(), second.rows())
    if not found.pairs:
        words = sentence("{a} and {b} have no task in common that both have done: tasks are paired by their ids.")
        raise _usage(told(words, a=names[0], b=names[1]))
    if space.json:
        _print_json(found)
    else:
        _print_comparison(found, names)
    return 0


def _print_comparison(found: Comparison, names: list[str]) -> None:
    print(
        say(
            "A: {a}\nB: {b}\n{pairs} tasks in both, {unpaired} in one only.",
            a=names[0],
            b=names[1],
            pairs=found.pairs,
            unpaired=found.unpaired,
        )
    )

    def line(what: str, one: Difference, form: str) -> None:
        if one.low is None or one.high is None:
            few = say("too few to tell")
            print(f"{what}: {one.a:{form}} → {one.b:{form}}  ({one.difference:{form}}; {few})")
            return
        values = [format(value, form) for value in (one.a, one.b, one.difference, one.low, one.high)]
        mark = "" if one.is_clear else f"  ({say('may be chance')})"
        print(f"{what}: {values[0]} → {values[1]}  ({values[2]}, 95 % {values[3]} … {values[4]}){mark}")

    line(say("passed"), found.success, ".1%")
    if found.cost_usd is not None:
        line(say("US dollars per task"), found.cost_usd, ".4f")
    line(say("requests per task"), found.requests, ".2f")
    line(say("failed calls per task"), found.failed_calls, ".2f")
    line(say("seconds per task"), found.wall_s, ".1f")
    for title, ids in ((say("only A passes"), found.only_a), (say("only B passes"), found.only_b)):
        if ids:
            print(f"{title}: {', '.join(ids)}")
    for name, (in_a, in_b) in found.errors.items():
        print(f"  {name}: {in_a} → {in_b}")


def _opened(space: Namespace) -> Fleet:
    return Fleet.open(_name(space, 0, told("Which fleet? Name its folder.")))


def _name(space: Namespace, number: int, missing: str) -> str:
    names: list[str] = space.names
    if len(names) <= number:
        raise _usage(missing)
    return names[number]


def _usage(message: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, message)


def _print_json(value: object) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=plain)).decode() + "\n")
