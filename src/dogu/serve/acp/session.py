"""One session of a client: its turns, its mode, its commands, its past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import anyio

from dogu.agent.events import EndReason, PromptGiven, RecordedEvent, Rewound
from dogu.agent.session.record import read_record
from dogu.agent.slash import Said, Send
from dogu.contract.content import Content, Part, Text, parts_of
from dogu.contract.errors import ToolError
from dogu.language import say
from dogu.models.events import ModelError, ModelErrorKind, Usage
from dogu.policy.verdict import ApprovalMode
from dogu.serve.acp.blocks import prompt_parts
from dogu.serve.acp.peer import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Peer, RpcError
from dogu.serve.acp.protocols import OpenSession
from dogu.serve.acp.updates import Updates

Json = dict[str, Any]

_STOP_REASONS = {
    EndReason.DONE: "end_turn",
    EndReason.STOPPED: "cancelled",
    EndReason.STEP_LIMIT: "max_turn_requests",
    EndReason.LOOP: "max_turn_requests",
    EndReason.BUDGET: "max_turn_requests",
    EndReason.TIMEOUT: "max_turn_requests",
    EndReason.CUT: "max_tokens",
}
_MODE, _MODEL = "mode", "model"
_LISTS_WITHIN_S = 1.0
_LONGEST_TITLE_CHARS = 80
_END_TAKES_S = 15.0  # a command's end takes up to seven
_REFUSALS = (ModelErrorKind.SAFETY, ModelErrorKind.BLOCKED)


class AcpSession:
    """An open session. One prompt at a time."""

    def __init__(self, peer: Peer, parts: OpenSession) -> None:
        self._peer = peer
        self._parts = parts
        self.updates = Updates(self._update, parts.runtime.registry, parts.runtime.roots)
        self._turn: anyio.CancelScope | None = None
        self._rested = anyio.Event()
        self._has_title = False
        self._told_mode = ""
        self._models: tuple[str, ...] = ()
        self._told_options: list[Json] = []
        self._told_commands: list[Json] = []
        self._told_notes = 0
        self.wants_to_close = anyio.Event()
        self.is_closed = anyio.Event()

    @property
    def session_id(self) -> str:
        """Its id, the same as in `dogu sessions`."""
        return self._parts.session_id

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders it works in, absolute and without symbolic links, its own first."""
        return self._parts.runtime.roots

    async def prompt(self, blocks: Sequence[Any]) -> Json:
        """Run a turn (or a `/` command) and return the protocol's answer. Raises `RpcError`."""
        if self._turn is not None:
            message = say("This session is still answering; cancel that first.")
            raise RpcError(INVALID_REQUEST, message)
        usage = self._parts.agent.usage
        self._rested = anyio.Event()
        reason = "cancelled"
        try:
            with anyio.CancelScope() as self._turn:
                reason = await self._answer(blocks)
        finally:
            self._turn = None
            self._rested.set()
            self.updates.end_all()
        self.tell_changes()
        return {"stopReason": reason, "usage": _usage(usage, self._parts.agent.usage)}

    def cancel(self) -> None:
        """End the turn under way; its prompt is answered with `cancelled`."""
        if self._turn is not None:
            self._turn.cancel()

    async def end_turn(self) -> None:
        """End the turn under way, if one is, and wait for its end a while, whatever is cancelled meanwhile."""
        self.cancel()
        with anyio.move_on_after(_END_TAKES_S, shield=True):
            await self._at_rest()

    async def close(self) -> None:
        """End what runs and free everything; returns when that is done."""
        self.cancel()
        await self._at_rest()
        self.wants_to_close.set()
        await self.is_closed.wait()

    def set_mode(self, mode_id: str) -> None:
        """Change the approval mode. Raises `RpcError`."""
        if mode_id not in self._parts.modes:
            known = ", ".join(self._parts.modes)
            message = say("There is no mode {mode} here. Modes: {modes}.", mode=mode_id, modes=known)
            raise RpcError(INVALID_PARAMS, message)
        self._parts.runtime.policy.mode = ApprovalMode(mode_id)
        self._told_mode = mode_id

    def modes(self) -> Json:
        """Return the modes as the protocol tells them."""
        words = _mode_words()
        mode = str(self._parts.runtime.policy.mode)
        self._told_mode = mode
        available = [{"id": each, "name": words[each][0], "description": words[each][1]} for each in self._parts.modes]
        if mode not in self._parts.modes:
            available.append({"id": mode, "name": words[mode][0], "description": words[mode][1]})
        return {"currentModeId": mode, "availableModes": available}

    async def find_models(self) -> None:
        """Ask the provider which models there are, a moment at most; without an answer the present one can be kept."""
        with anyio.move_on_after(_LISTS_WITHIN_S):
            self._models = (await self._parts.connections.models()).names

    def options(self) -> list[Json]:
        """Return what can be chosen, as the protocol tells it: the mode and the model."""
        modes, connections = self.modes(), self._parts.connections
        models = dict.fromkeys((connections.present(), *connections.profiles(), *self._models))
        mode = {
            **{"id": _MODE, "name": say("Approval mode"), "category": "mode", "type": "select"},
            "currentValue": modes["currentModeId"],
            "options": [{"value": each.pop("id"), **each} for each in modes["availableModes"]],
        }
        model = {
            **{"id": _MODEL, "name": say("Model"), "category": "model", "type": "select"},
            "currentValue": connections.present(),
            "options": [{"value": name, "name": name} for name in models],
        }
        self._told_options = [mode, model]
        return self._told_options

    def choose(self, option: str, value: str) -> None:
        """Choose for one of the options. Raises `RpcError`."""
        if option == _MODE:
            self.set_mode(value)
            return
        offered = [each["value"] for each in self.options()[1]["options"]]
        if option != _MODEL or value not in offered:
            message = say("There is no option {option} with the value {value} here.", option=option, value=value)
            raise RpcError(INVALID_PARAMS, message)
        try:
            if value != self._parts.connections.present():
                self._parts.connections.choose(value)
        except ToolError as error:
            raise RpcError(INVALID_PARAMS, error.message) from error

    def tell_changes(self) -> None:
        """Tell the client what is different from what it was told: the mode, the options, the commands."""
        told_options = self._told_options
        mode = str(self._parts.runtime.policy.mode)
        if mode != self._told_mode:
            self._told_mode = mode
            self._update({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        if told_options != (options := self.options()):
            self._update({"sessionUpdate": "config_option_update", "configOptions": options})
        commands = list(self._commands())
        if commands != self._told_commands:
            self._told_commands = commands
            self._update({"sessionUpdate": "available_commands_update", "availableCommands": commands})

    async def play_again(self) -> None:
        """Tell the client all that was said and done in the session."""

        def events() -> list[RecordedEvent]:
            return [recorded.event for recorded in read_record(self._parts.record)]

        try:
            past = await anyio.to_thread.run_sync(events)
        except FileNotFoundError:
            past = []  # it begins with the first prompt
        except OSError as error:
            message = say("The session's record can't be read: {error}", error=error.strerror)
            raise RpcError(INTERNAL_ERROR, message) from error
        await self._at_rest()
        self._tell_title(self._parts.title)
        for event in _not_taken_back(past):
            if isinstance(event, PromptGiven):
                self.updates.end_all()
            self.updates.event(event)
        self.updates.end_all()

    async def _answer(self, blocks: Sequence[Any]) -> str:
        self._tell_notes()
        try:
            text, parts = prompt_parts(blocks)
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from error
        content = await self._content(text, parts)
        if isinstance(content, Said):
            self.updates.say(content.text)
            return "end_turn"
        self._tell_title(self._parts.title or text)
        try:
            is_command = self._parts.slash.means(text.strip())
            end = await self._parts.agent.run(content, self.updates.live, typed=text.strip() if is_command else "")
        except ModelError as error:
            return self._failed(error)
        self._tell_notes()
        return _STOP_REASONS[end.reason]

    async def _content(self, text: str, parts: list[Part]) -> Content | Said:
        command = text.strip()
        if self._parts.slash.means(command):
            match await self._parts.slash.run(command.removeprefix("/")):
                case Said() as said:
                    return said
                case Send(content=content):
                    return [*parts_of(content), *parts]
        if not text.strip() and not parts:
            raise RpcError(INVALID_PARAMS, say("The prompt is empty."))
        read = await self._parts.read_prompt(text, self.updates.event) if text.strip() else ""
        if not parts:
            return read
        return [*(parts_of(read) or [Text(text)] if text.strip() else []), *parts]

    def _failed(self, error: ModelError) -> str:
        if error.kind in _REFUSALS:
            self.updates.say(error.message)
            return "refusal"
        code = AUTH_REQUIRED if error.kind is ModelErrorKind.AUTH else INTERNAL_ERROR
        raise RpcError(code, error.message) from error

    def _tell_notes(self) -> None:
        """Say what went wrong when the session was opened, or behind it since; once."""
        notes = self._parts.runtime.notes
        new, self._told_notes = notes[self._told_notes :], len(notes)
        if new:
            self.updates.say("\n".join(new))

    def _tell_title(self, prompt: str) -> None:
        """Name a new session by its first prompt, as lists of sessions do."""
        title = " ".join(prompt.split())[:_LONGEST_TITLE_CHARS]
        if title and not self._has_title:
            self._has_title = True
            self._update({"sessionUpdate": "session_info_update", "title": title})

    def _commands(self) -> Iterator[Json]:
        for command in self._parts.slash:
            told: Json = {"name": command.name, "description": command.help or command.name}
            if command.arguments:
                told["input"] = {"hint": command.arguments}
            yield told

    async def _at_rest(self) -> None:
        if self._turn is not None:
            await self._rested.wait()

    def _update(self, update: Json) -> None:
        self._peer.notify("session/update", {"sessionId": self._parts.session_id, "update": update})


def _not_taken_back(past: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Leave out the turns that the session went back before."""
    kept: list[RecordedEvent] = []
    for event in past:
        if isinstance(event, Rewound):
            prompts = (at for at, each in enumerate(kept) if isinstance(each, PromptGiven) and each.turn >= event.turn)
            del kept[next(prompts, len(kept)) :]
        else:
            kept.append(event)
    return kept


def _mode_words() -> dict[str, tuple[str, str]]:
    return {
        "default": (say("Ask"), say("Asks before anything is changed or run.")),
        "auto_edit": (say("Edit without asking"), say("Changes files without asking; asks before commands.")),
        "plan": (say("Plan"), say("Reads only; nothing is changed or run.")),
        "yolo": (say("Ask nothing"), say("Asks only what it always must.")),
    }


def _usage(before: Usage, after: Usage) -> Json:
    total = after.total - before.total
    thoughts, cached = after.thoughts - before.thoughts, after.cached - before.cached
    used: Json = {"totalTokens": total, "inputTokens": after.prompt - before.prompt}
    return {
        **used,
        "outputTokens": after.output - before.output,
        "thoughtTokens": thoughts,
        "cachedReadTokens": cached,
    }
