"""The `/` commands about the session as a whole: help, tools, mode, stats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
from anyio import to_thread

from dogu.agent.loop import Agent
from dogu.agent.slash import Offer, Said, Send, SlashCommand, SlashCommands
from dogu.contract import ToolError
from dogu.language import say, sentence
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.jobs import job_line, job_of, joined_output, keep_job, output_of, own_job_line, stop_job
from dogu.runtime.runtime import Runtime
from dogu.workspace.columns import padded, width
from dogu.workspace.process.jobs import Job
from dogu.workspace.process.stored_jobs import StoredJob, StoredJobs


def general_commands(
    agent: Agent, runtime: Runtime, commands: SlashCommands, *, yolo_is_disabled: bool
) -> list[SlashCommand]:
    """Make them; `commands` is what `/help` lists."""
    general = _General(agent, runtime, commands, yolo_is_disabled=yolo_is_disabled)
    modes = [mode.value for mode in ApprovalMode]
    return [
        SlashCommand("help", say("show help"), general.help),
        SlashCommand("tools", say("show the model's tools"), general.tools),
        SlashCommand(
            "mode",
            say("show or set the approval mode: default, auto_edit, plan, yolo"),
            general.mode,
            "[MODE]",
            lambda start: [mode for mode in modes if mode.startswith(start)],
            general.modes,
        ),
    ]


_MOST_SENTENCE_CHARS = 160
_WIDEST_USAGE = 26  # a longer one has its words below, so that they aren't squeezed at 80 columns

_MODES = {
    ApprovalMode.DEFAULT: sentence("asks before anything is changed or run"),
    ApprovalMode.AUTO_EDIT: sentence("changes files without asking; asks before commands"),
    ApprovalMode.PLAN: sentence("only reads"),
    ApprovalMode.YOLO: sentence("asks only what it always must"),
}


class _General:
    def __init__(self, agent: Agent, runtime: Runtime, commands: SlashCommands, *, yolo_is_disabled: bool) -> None:
        self._agent = agent
        self._runtime = runtime
        self._slash = commands
        self._yolo_is_disabled = yolo_is_disabled

    async def help(self, _rest: str) -> Said:
        rows = [(f"/{command.name} {command.arguments}".strip(), command.help) for command in self._slash]
        rows.append(("@path", say("reads a file into your prompt")))
        widest = min(max(width(usage) for usage, _ in rows), _WIDEST_USAGE)
        return Said("\n".join(_row(usage, text, widest) for usage, text in rows))

    async def tools(self, _rest: str) -> Said:
        rows = [(tool.name, _tool_words(tool.name, tool.description)) for tool in self._runtime.registry]
        widest = min(max((width(name) for name, _ in rows), default=0), _WIDEST_USAGE)
        return Said("\n".join(_row(name, words, widest) for name, words in rows))

    async def modes(self) -> list[Offer]:
        """Offer the approval modes."""
        modes = [mode for mode in ApprovalMode if mode is not ApprovalMode.YOLO or not self._yolo_is_disabled]
        present = self._runtime.policy.mode
        return [Offer(mode.value, mode.value, say(_MODES[mode]), is_current=mode is present) for mode in modes]

    async def mode(self, rest: str) -> Said | Send:
        """Set the mode; what stands behind it is a prompt to begin with."""
        policy = self._runtime.policy
        name, _, prompt = rest.partition(" ")
        if rest:
            try:
                mode = ApprovalMode(name)
            except ValueError:
                return Said(say("There is no mode {mode}. Modes: {modes}.", mode=rest, modes=", ".join(ApprovalMode)))
            if mode is ApprovalMode.YOLO and self._yolo_is_disabled:
                return Said(say("The settings switch yolo off (security.disableYoloMode)."))
            policy.mode = mode
            if prompt.strip():
                return Send(prompt.strip())
        return Said(say("Approval mode: {mode}", mode=policy.mode.value))


_TOOLS = {
    "list_directory": sentence("lists a folder"),
    "read_file": sentence("reads a file"),
    "read_many_files": sentence("reads several files at once"),
    "glob": sentence("finds files by their names"),
    "grep_search": sentence("searches in files"),
    "replace": sentence("changes text in a file"),
    "edit_lines": sentence("changes lines of a file"),
    "apply_patch": sentence("changes several files with a patch"),
    "write_file": sentence("writes a whole file"),
    "edit_notebook": sentence("changes a cell of a notebook"),
    "run_shell_command": sentence("runs a command"),
    "background_jobs": sentence("lists background jobs, and reads what they printed"),
    "send_input": sentence("types into a running command"),
    "stop_background_job": sentence("stops a background job"),
    "web_fetch": sentence("reads web pages"),
    "google_web_search": sentence("searches the web"),
    "write_todos": sentence("keeps the plan that Ctrl-T shows"),
    "ask_user": sentence("asks you a question"),
    "run_subagent": sentence("gives a task to a helper (/agents)"),
    "save_memory": sentence("remembers something for every session"),
    "activate_skill": sentence("reads a skill's instructions"),
    "find_tools": sentence("finds further tools"),
}
"""What our tools do, said to the user; others say it themselves."""


def _tool_words(name: str, description: str) -> str:
    return say(_TOOLS[name]) if name in _TOOLS else _first_sentence(description)


def _first_sentence(text: str) -> str:
    first = " ".join(text.split())[:_MOST_SENTENCE_CHARS]
    return re.split(r"\. |: |; ", first)[0].rstrip(".")


def _row(name: str, text: str, widest: int) -> str:
    if width(name) <= widest:
        return f"  {padded(name, widest)}  {text}"
    return f"  {name}\n  {padded('', widest)}  {text}"


class ServerState(msgspec.Struct, frozen=True):
    """An MCP server now. `problem` says why it doesn't run; empty when it does.

    `tools`, `prompts` and `resources` are what they are called by, each with its description.
    """

    alias: str
    problem: str = ""
    is_starting: bool = False
    tools: Sequence[tuple[str, str]] = ()
    prompts: Sequence[tuple[str, str]] = ()
    resources: Sequence[tuple[str, str]] = ()

    @property
    def words(self) -> str:
        """Say how it is, in a few words."""
        if self.problem:
            return say("starting") if self.is_starting else self.problem
        counts = {"tools": len(self.tools), "prompts": len(self.prompts), "resources": len(self.resources)}
        return say("running; tools: {tools}, prompts: {prompts}, resources: {resources}", **counts)


def mcp_command(states: Callable[[], Sequence[ServerState]]) -> SlashCommand:
    """Make `/mcp`: which servers there are, and what one has."""

    async def offers() -> list[Offer]:
        return [Offer(each.alias, each.alias, each.words) for each in states()]

    async def run(rest: str) -> Said:
        servers = states()
        if not servers:
            told = say("No MCP servers are set up. In a shell, `dogu mcp-servers add` adds one; /new then starts it.")
            return Said(told)
        if not rest:
            return Said("\n".join(f"{each.alias}: {each.words}" for each in servers))
        server = next((each for each in servers if each.alias == rest), None)
        if server is None:
            return Said(say("There is no MCP server {name}. /mcp lists them.", name=rest), is_failure=True)
        rows = [*server.tools, *server.prompts, *server.resources]
        described = [f"  {name}  {words.strip().partition(chr(10))[0]}".rstrip() for name, words in rows]
        return Said("\n".join([f"{server.alias}: {server.words}", *described]))

    def complete(start: str) -> list[str]:
        return [each.alias for each in states() if each.alias.startswith(start)]

    words = say("show the MCP servers and what they offer")
    return SlashCommand("mcp", words, run, "[SERVER]", complete, offers)


_ACTIONS: Mapping[str, Callable[[StoredJob], str]] = {
    "output": output_of,
    "stop": stop_job,
    "keep": partial(keep_job, jobs="/jobs"),
}
_MOST_CHARS = 8_000


def jobs_command(jobs: StoredJobs, own: Callable[[], Sequence[Job]] = tuple, folder: str = "") -> SlashCommand:
    """Make it over the folder of jobs; `own` are the session's, of which those that end with it are in no folder.

    Where a job runs is told from `folder` on.
    """
    words, found = say("show background jobs"), _Jobs(jobs, own, folder)
    return SlashCommand("jobs", words, found.run, "[output PID | stop PID | keep PID]", offers=found.offers)


def _job_offer(pid: int, line: str, actions: Sequence[str]) -> Offer:
    words = {
        "output": say("show what it printed"),
        "stop": say("stop it"),
        "keep": say("keep it running after the session"),
    }
    then = tuple(Offer(f"{action} {pid}", words[action]) for action in actions)
    return Offer(f"output {pid}", line, then=then)


class _Jobs:
    def __init__(self, stored: StoredJobs, own: Callable[[], Sequence[Job]], folder: str) -> None:
        self._stored = stored
        self._own = own
        self._folder = folder

    async def run(self, rest: str) -> Said:
        match rest.split():
            case []:
                return Said("\n".join(await to_thread.run_sync(self._lines)) or say("No background jobs."))
            case [action, word] if action in _ACTIONS:
                job = next((job for job in self._bound() if word == str(job.pgid)), None)
                try:
                    text = await (self._of_own(action, job) if job else to_thread.run_sync(self._of, action, word))
                except ToolError as error:
                    return Said(say(error.message), is_failure=True)
                return Said(text[-_MOST_CHARS:] or say("Nothing was printed."))
            case _:
                return Said(say("/jobs lists them; /jobs output, stop and keep take a job's number."), is_failure=True)

    async def offers(self) -> list[Offer]:
        """Offer the jobs, and what can be done with each."""
        return [_job_offer(*each) for each in await to_thread.run_sync(self._all)]

    def _lines(self) -> list[str]:
        return [line for _, line, _ in self._all()]

    def _all(self) -> list[tuple[int, str, list[str]]]:
        """Return each job's number, its line, and what can be done with it."""
        stored = [
            (job.pgid, job_line(job, self._folder), ["output", *(["stop", "keep"] if job.is_running else [])])
            for job in self._stored.all()
        ]
        return stored + [(job.pgid, own_job_line(job), ["output", "stop"]) for job in self._bound()]

    def _bound(self) -> list[Job]:
        return [job for job in self._own() if not job.can_be_kept]

    def _of(self, action: str, word: str) -> str:
        return _ACTIONS[action](job_of(self._stored, word))

    async def _of_own(self, action: str, job: Job) -> str:
        if action == "output":
            return await to_thread.run_sync(joined_output, job)
        if action == "keep":
            job.keep()  # says why it can't be
        await job.stop()
        return say("Stopped: {command}", command=job.command)
