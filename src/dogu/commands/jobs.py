"""`dogu jobs`: background jobs of this user, also those whose session is gone: list, output, stop, keep."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from dogu.contract import ToolError
from dogu.language import say
from dogu.runtime.jobs import job_line, job_of, job_row, keep_job, output_of, stop_job
from dogu.serve.wire import to_line
from dogu.workspace.process.stored_jobs import StoredJobs

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.app import Options

_ACTIONS = ("list", "output", "stop", "keep")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list")
    parser.add_argument("job", nargs="*", metavar="PID", help=say("a job's number, as the list shows it"))
    parser.add_argument("--json", action="store_true", help=say("print one JSON object"))


def run(options: Options, space: Namespace) -> int:
    """Do what the action says, to each job that is named."""
    jobs = StoredJobs(os.path.join(options.state_folder, "jobs"))
    if space.action == "list":
        found = jobs.all()
        if space.json:
            print(to_line({"jobs": [job_row(job) for job in found]}))
        else:
            print("\n".join(map(job_line, found)) or say("No background jobs."))
        return 0
    if not space.job:
        sys.stderr.write(say("Which job? dogu jobs lists them.") + "\n")
        return 2
    status = 0
    for word in space.job:
        try:
            _act(jobs, space.action, word, as_json=space.json)
        except ToolError as error:
            sys.stderr.write(f"{say(error.message)}\n")
            status = 54
    return status


def _act(jobs: StoredJobs, action: str, word: str, *, as_json: bool) -> None:
    job = job_of(jobs, word)
    if action == "output":
        stdout, stderr = job.output(1 << 24) if as_json else (output_of(job), "")
        print(to_line({"stdout": stdout, "stderr": stderr})) if as_json else sys.stdout.write(stdout)
        return
    said = (stop_job if action == "stop" else keep_job)(job)
    print(to_line(job_row(job)) if as_json else said)
