"""send_input: type into a command that runs in a terminal of its own, and see what stands there then."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import msgspec
from anyio import to_thread

from dogu.contract import (
    CallContext,
    Confirmation,
    ErrorKind,
    Kind,
    Tool,
    ToolError,
    ToolResult,
    told,
)
from dogu.workspace.process.command import Until
from dogu.workspace.process.interactive import ReadBy, read_by
from dogu.workspace.system import IS_WINDOWS

if TYPE_CHECKING:
    from dogu.workspace.process.jobs import Job, Jobs

_QUIET_S = 1.0
_AT_MOST_S = 30.0
_MOST_CHARS = 30_000
_MOST_KEYS = 100
_NAMED = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "backspace": "\x7f",
    "space": " ",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "page_up": "\x1b[5~",
    "page_down": "\x1b[6~",
    "delete": "\x1b[3~",
    "end_of_file": "\x04",
}
_CONTROL = re.compile(r"(?:ctrl|control|c)[-+]([a-z\[\\\]^_])", re.IGNORECASE)
_KNOWN_TO_SHELLS = frozenset("\r\x03\x04")  # what a shell makes of other keys (history, completion) can't be known
_BROKEN_OFF = re.compile("[\x03\x04]")  # a shell drops the line, or reads it, and begins another
_QUOTES = re.compile(r"[\\'\"]")
_MOST_WENT_CHARS = 10_000
_REPLACED = re.compile(r"![^\s=(]|^\s*\^|(?:^|[\s;&|(])=\w", re.MULTILINE)
"""What bash puts an earlier command in the place of, and zsh a program's path, wherever it stands."""
_GOES_ON = re.compile(r"[^\n\x03\x04][\x03\x04]+[^\n\x03\x04]")
"""A line behind one that was broken off, which it may yet belong to: a terminal's keys can be set otherwise."""
_ANSWER = re.compile(r"(?:y|n|yes|no|q|\d{1,9})?[\n\x03\x04]*", re.IGNORECASE)
"""What is no order, whoever reads it."""
_GOES = re.compile(r"\b(?:cd|pushd|popd|exit|logout)\b")
_UNKNOWN_ORDERS = "cmd & " if IS_WINDOWS else "sh\n"
_NO_TEXT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class SendInputArgs(msgspec.Struct, kw_only=True):
    """What send_input takes."""

    pid: Annotated[int, msgspec.Meta(description="The command's process group (PGID), as its result gave it.")]
    text: Annotated[str, msgspec.Meta(description="Text to type; a line break is Enter.")] = ""
    keys: Annotated[
        list[str],
        msgspec.Meta(
            description="Keys to press after the text: enter, tab, escape, up, down, left, right, backspace, delete, "
            "home, end, page_up, page_down, space, ctrl-c (any letter), end_of_file."
        ),
    ] = []
    wait_for: Annotated[
        str | None,
        msgspec.Meta(description="Wait for output that matches this regular expression. Default: until it is quiet."),
    ] = None
    timeout_s: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None, msgspec.Meta(description="Seconds to wait at most. Default: 30.")
    ] = None


class Typed(msgspec.Struct, frozen=True):
    """The tool's proposal: to type these characters. `is_for_shell`: one may read them."""

    data: str
    is_for_shell: bool = False


class SendInput(Tool[SendInputArgs]):
    """Type into a command that run_shell_command started with `pty`, wait, and return what stands on its terminal.

    To look without typing, use background_jobs. The command goes on in the background until it ends.
    """

    name = "send_input"
    display_name = "Input"
    kind = Kind.EXECUTE

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def get_description(self, args: SendInputArgs) -> str:
        """What is typed, and where."""
        shown = [*([repr(args.text)] if args.text else []), *args.keys]
        return told("type {shown} into {pid}", shown=" ".join(shown) or "-", pid=args.pid)

    async def should_confirm_execute(self, args: SendInputArgs) -> Confirmation | None:
        """Show what is typed. What a shell reads is judged as its command, what a program reads as an order to it."""
        data = _data(args)
        if not data:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS, "Nothing to type: give 'text' or 'keys'. background_jobs looks."
            )
        job = await to_thread.run_sync(self._job, args)
        pids = await to_thread.run_sync(lambda: job.pids)
        is_unknown = job.is_running and not pids
        is_shell = is_unknown or await to_thread.run_sync(read_by, pids) is ReadBy.SHELL
        typed = job.typed_line + data.replace("\r", "\n")
        is_command = is_shell and bool(_BROKEN_OFF.sub("", typed).strip())  # Enter alone, and leaving, run nothing
        always_ask = is_shell and (_is_unclear(data, typed, job.went) or (is_command and IS_WINDOWS))
        shown = _NO_TEXT.sub(lambda match: repr(match[0])[1:-1], data.replace("\r", "\n"))
        return Confirmation(
            told("Type this into {command}?", command=" ".join(job.command.split())[:100]),
            f"```\n{shown}\n```",
            proposal=Typed(data, is_shell),
            always_ask=always_ask,
            reasons=(told("what a shell makes of these keys can't be known"),) if always_ask else (),
            is_contained=job.is_contained,
            command=job.went + _lines(typed) if is_command else _orders(job.command, typed),
        )

    async def execute(self, args: SendInputArgs, context: CallContext) -> ToolResult:
        """Type, wait, look."""
        if not isinstance(context.approved, Typed):
            raise ToolError(ErrorKind.REFUSED, "Nothing may be typed in this approval mode. Nothing was sent.")
        data, job = context.approved.data, await to_thread.run_sync(self._job, args)
        typed = (job.typed_line + data).replace("\r", "\n")
        job.typed_line = _unfinished(typed)
        ended = _lines(typed.removesuffix(job.typed_line).replace("\x04", "\nexit\n"))
        if context.approved.is_for_shell and _GOES.search(_QUOTES.sub("", ended)):
            job.went += ended
        at_most_s = args.timeout_s or _AT_MOST_S
        quiet_s = None if args.wait_for else _QUIET_S
        over = await job.wait(Until(args.wait_for or "", quiet_s, at_most_s), typed=data)
        screen, _ = await to_thread.run_sync(lambda: job.output(_MOST_CHARS, only_new=True))
        text = f"{screen}\n\n[{_state(job, over, at_most_s)}]"
        return ToolResult(text, f"```\n{text}\n```")

    def _job(self, args: SendInputArgs) -> Job:
        job = self._jobs.job(args.pid)
        if job is None:
            raise ToolError(ErrorKind.NOT_FOUND, f"No command of this session has the PID {args.pid}.")
        if not job.has_terminal:
            raise ToolError(
                ErrorKind.INVALID_ARGUMENTS,
                f"Command {job.pgid} has no terminal to type into: stop it, and run it again with 'pty': true.",
            )
        return job


def _is_unclear(data: str, typed: str, went: str) -> bool:
    """Whether it can't be known what a shell makes of it: of keys, what it replaces, and where it is by now."""
    keys = set(_NO_TEXT.findall(data)) - _KNOWN_TO_SHELLS
    return bool(keys or _REPLACED.search(typed) or _GOES_ON.search(typed) or len(went) > _MOST_WENT_CHARS)


def _lines(typed: str) -> str:
    """Return the lines that a shell reads."""
    return _NO_TEXT.sub("", _BROKEN_OFF.sub("\n", typed))


def _unfinished(typed: str) -> str:
    """Return what is typed of a line that hasn't ended: behind the last end that no backslash takes away."""
    end = typed.rfind("\n")
    while end > 0 and (end - len(typed[:end].rstrip("\\"))) % 2:
        end = typed.rfind("\n", 0, end)
    return typed[end + 1 :]


def _orders(command: str, typed: str) -> str:
    """Return what a program that is no shell is judged as: itself, and as one that does what it is told.

    Pagers, editors, debuggers and remote shells run commands when they are told to, whatever started them.
    """
    return command if _ANSWER.fullmatch(typed) else _UNKNOWN_ORDERS + command


def _state(job: Job, over: str, at_most_s: float) -> str:
    if not job.is_running:
        return f"ended, {job.ending or 'exit code unknown'}"
    states = {
        "matched": "output matched",
        "quiet": "quiet",
        "waited": f"no end of output, or no match, within {at_most_s:g} s",
    }
    return f"running, {states.get(over, over)}; send_input goes on, stop_background_job ends it"


def _data(args: SendInputArgs) -> str:
    """Return the characters to type. Raises `ToolError` for keys that there aren't."""
    if len(args.text) > _MOST_CHARS or len(args.keys) > _MOST_KEYS:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Type at most {_MOST_CHARS} characters and {_MOST_KEYS} keys.")
    return args.text.replace("\r\n", "\n").replace("\n", "\r") + "".join(map(_key, args.keys))


def _key(name: str) -> str:
    wanted = name.strip().lower().replace(" ", "_").replace("-", "_") if len(name) > 1 else name
    if wanted in _NAMED:
        return _NAMED[wanted]
    if match := _CONTROL.fullmatch(name.strip()):
        return chr(ord(match[1].upper()) & 0x1F)
    if len(name) == 1:
        return name
    raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"No such key: {name!r}. There are {', '.join(_NAMED)}, and ctrl-c.")
