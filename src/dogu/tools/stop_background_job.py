"""stop_background_job: end what a command left running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, ErrorKind, Kind, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from dogu.workspace.process.jobs import Jobs


class StopBackgroundJobArgs(msgspec.Struct, kw_only=True):
    """What stop_background_job takes."""

    pid: Annotated[int, msgspec.Meta(description="The job's process group, or any of its PIDs.")]


class StopBackgroundJob(Tool[StopBackgroundJobArgs]):
    """End a background job that run_shell_command left running: all of its processes, by SIGTERM, then SIGKILL."""

    name = "stop_background_job"
    display_name = "StopJob"
    kind = Kind.EXECUTE

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def get_description(self, args: StopBackgroundJobArgs) -> str:
        """Which job."""
        return told("stop background job {pid}", pid=args.pid)

    async def execute(self, args: StopBackgroundJobArgs, context: CallContext) -> ToolResult:
        """Stop it and wait until it is gone."""
        job = await to_thread.run_sync(self._jobs.job, args.pid)
        if job is None:
            raise ToolError(
                ErrorKind.NOT_FOUND,
                f"No background job of this session has the PID {args.pid}. List them with background_jobs.",
            )
        pids = await to_thread.run_sync(lambda: job.pids)
        await job.stop()
        if job.is_running:
            raise ToolError(
                ErrorKind.IO_ERROR, f"Job {job.pgid} hasn't ended: a process in it can't be killed. Tell the user."
            )
        text = f"Stopped job {job.pgid} (PIDs {', '.join(map(str, pids))})." if pids else "It had ended by itself."
        return ToolResult(text, text)
