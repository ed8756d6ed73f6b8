"""An editor made of the ACP SDK's client: it remembers what it was told, answers as a test says, holds buffers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import anyio
from acp import schema

from dogu.app import Options
from dogu.app.acp import AcpSessions
from dogu.serve.acp.door import Door
from dogu.testing.fake_gemini import FakeGemini
from e2e.program import Program, ready_program

LIMIT_S = 60
_LINE_BYTES = 64 << 20


class Editor:
    """Answers permission requests with the options of `choices`, in order, the last one for ever.

    `buffers` are texts with unsaved changes by path, `saves` what a save makes of a text; `hangs` never answers.
    """

    def __init__(self, *choices: str, buffers: Mapping[str, str] | None = None) -> None:
        self.choices = list(choices)
        self.buffers = dict(buffers or {})
        self.saves: Callable[[str], bytes] = str.encode
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.written: list[str] = []
        self.read: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.form_answer: dict[str, Any] | None = None
        self.hangs = False
        self.is_asked = anyio.Event()
        self.terminals: dict[str, asyncio.subprocess.Process] = {}
        self.outputs: dict[str, bytes] = {}
        self.ended: list[str] = []
        self.changed = anyio.Event()

    # what tests ask

    def of_kind(self, kind: str, session_id: str = "") -> list[Any]:
        """The updates of a kind, in order."""
        return [
            update for session, update in self.updates if update.session_update == kind and session_id in ("", session)
        ]

    def said(self, kind: str = "agent_message_chunk", session_id: str = "") -> str:
        """The text of a kind's chunks, joined."""
        return "".join(
            update.content.text for update in self.of_kind(kind, session_id) if update.content.type == "text"
        )

    def call(self, title: str) -> Any:
        """The last word about the call whose title holds `title`: its updates, laid over one another."""
        calls = [update for update in self.of_kind("tool_call") if title in update.title]
        found = calls[-1].model_copy()
        for update in self.of_kind("tool_call_update"):
            if update.tool_call_id == found.tool_call_id:
                for name in ("status", "title", "content", "locations", "raw_output"):
                    if getattr(update, name) is not None:
                        setattr(found, name, getattr(update, name))
        return found

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds; it is looked at after each update."""
        with anyio.fail_after(LIMIT_S):
            while not holds():
                self.changed = anyio.Event()
                with anyio.move_on_after(0.05):
                    await self.changed.wait()

    # the protocol's client

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append({"call": tool_call, "options": {option.option_id: option for option in options}})
        self.is_asked.set()
        if self.hangs:
            await anyio.sleep_forever()
        choice = self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]
        if choice == "cancelled":
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        if choice == "error":
            raise acp.RequestError.internal_error({"details": "no"})
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(option_id=choice, outcome="selected"))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.forms.append({"message": message, "mode": mode})
        if self.form_answer is None:
            return schema.DeclineElicitationResponse(action="decline")
        return schema.AcceptElicitationResponse(action="accept", content=self.form_answer)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> schema.ReadTextFileResponse:
        self.read.append(path)
        if path in self.buffers:
            return schema.ReadTextFileResponse(content=self.buffers[path])
        try:
            return schema.ReadTextFileResponse(content=_read(path))
        except (OSError, UnicodeDecodeError) as error:
            raise acp.RequestError.internal_error({"details": str(error)}) from error

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        self.written.append(path)
        self.buffers.pop(path, None)
        _save(path, self.saves(content))

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        **_: Any,
    ) -> schema.CreateTerminalResponse:
        terminal = f"t{len(self.terminals) + 1}"
        self.terminals[terminal] = await asyncio.create_subprocess_exec(
            command,
            *(args or ()),
            cwd=cwd,
            env={variable.name: variable.value for variable in env or ()},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return schema.CreateTerminalResponse(terminal_id=terminal)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> schema.WaitForTerminalExitResponse:
        output, _none = await self.terminals[terminal_id].communicate()
        self.outputs[terminal_id] = output
        return schema.WaitForTerminalExitResponse(exit_code=max(0, self.terminals[terminal_id].returncode or 0))

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> schema.TerminalOutputResponse:
        code = self.terminals[terminal_id].returncode
        status = None
        if code is not None:
            status = (
                schema.TerminalExitStatus(exit_code=code) if code >= 0 else schema.TerminalExitStatus(signal="SIGKILL")
            )
        output = self.outputs.get(terminal_id, b"").decode()
        return schema.TerminalOutputResponse(output=output, truncated=False, exit_status=status)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.ended.append(f"kill {terminal_id}")
        self.terminals[terminal_id].kill()
        await self.terminals[terminal_id].wait()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.ended.append(f"release {terminal_id}")
        process = self.terminals[terminal_id]
        if process.returncode is None:
            process.kill()
            await process.wait()


def _read(path: str) -> str:
    return Path(path).read_bytes().decode()


def _save(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)


def capabilities(*, files: bool = False, terminal: bool = False, forms: bool = False) -> schema.ClientCapabilities:
    """What the editor says it can."""
    return schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=files, write_text_file=files),
        terminal=terminal,
        elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()) if forms else None,
    )


@asynccontextmanager
async def connected(
    program: Program,
    editor: Editor,
    server: FakeGemini | None,
    *,
    can: schema.ClientCapabilities | None = None,
    uses_client_terminals: bool = False,
) -> AsyncGenerator[Any]:
    """Serve the door in this process, over a socket, and initialize it: a process a test costs a second each.

    What is given is the SDK's `ClientSideConnection`, untyped: almost all that the protocol tells may be missing.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs, program.here(**_key_of(server)), anyio.fail_after(LIMIT_S):
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=theirs, limit=_LINE_BYTES)
        async with anyio.create_task_group() as group:
            door = Door(AcpSessions(Options()), group, uses_client_terminals=uses_client_terminals)
            group.start_soon(door.peer.run, ours.fileno(), ours.fileno())
            connection = acp.connect_to_agent(editor, writer, reader, use_unstable_protocol=True)  # pyright: ignore[reportArgumentType]  (the SDK's protocol has a method too many)
            await connection.initialize(1, can or capabilities())
            try:
                yield connection
            finally:
                with anyio.CancelScope(shield=True):
                    await door.close_all()
                    await connection.close()
            group.cancel_scope.cancel()
        writer.close()


@asynccontextmanager
async def connected_process(
    program: Program,
    editor: Editor,
    server: FakeGemini | None,
    *words: str,
    can: schema.ClientCapabilities | None = None,
) -> AsyncGenerator[Any]:
    """Start `dogu acp` and initialize it; leaving ends it as a client does, and it must end well. Gives as `connected`."""
    with anyio.fail_after(LIMIT_S):
        async with acp.spawn_agent_process(
            editor,  # pyright: ignore[reportArgumentType]  (the SDK's protocol has a method too many)
            *ready_program(),
            "acp",
            *words,
            env=program.environ(**_key_of(server)),
            cwd=program.home,
            transport_kwargs={"limit": _LINE_BYTES, "stderr": None, "shutdown_timeout": 20.0},
            use_unstable_protocol=True,
        ) as (connection, process):
            await connection.initialize(1, can or capabilities())
            yield connection
        assert process.returncode in (0, 143), process.returncode


def _key_of(server: FakeGemini | None) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url} if server else {}


async def new_session(connection: Any, root: str | os.PathLike[str], **more: Any) -> str:
    """Open a session in the folder and return its id."""
    return (
        await connection.new_session(cwd=os.fspath(root), mcp_servers=more.pop("mcp_servers", []), **more)
    ).session_id


async def ask(connection: Any, session_id: str, text: str) -> str:
    """Send a prompt of text and return why its turn stopped."""
    return (await connection.prompt(session_id=session_id, prompt=[acp.text_block(text)])).stop_reason
