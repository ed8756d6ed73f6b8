"""`!cmd`: a shell line of the person's own, through the same tool, sandbox, limits and journal as the model's.

Restrictions (`tools.core`, `tools.exclude`) hold for it as well; nothing else asks, because the person typed it. It is
shown and not sent to the model; `!!cmd` also puts what it printed before the person's next prompt.
"""

from __future__ import annotations

from collections.abc import Callable

from dogu.contract import text_of
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.runtime.runtime import Runtime

_MOST_SENT_CHARS = 20_000


class ShellLines:
    """Runs the person's own lines. `own` is told each call's id before it runs."""

    def __init__(self, runtime: Runtime, own: set[str]) -> None:
        self._runtime = runtime
        self._own = own
        self._count = 0
        self._to_send: list[str] = []

    async def run(self, line: str, emit: Callable[[object], None]) -> ToolAnswer:
        """Run what was typed after the first `!`."""
        is_sent = line.startswith("!")
        command = line.removeprefix("!").strip()
        self._count += 1
        call = ToolCall(f"own-{self._count}", "run_shell_command", {"command": command})
        self._own.add(call.call_id)
        try:
            answer = await self._runtime.executor.run(call, emit)
        finally:
            self._own.discard(call.call_id)
        if is_sent:
            self._to_send.append(text_of(answer.result.llm_content)[:_MOST_SENT_CHARS])
        return answer

    def before(self, prompt: str) -> str:
        """Return the prompt with what `!!` lines printed before it."""
        if not self._to_send:
            return prompt
        sent, self._to_send = self._to_send, []
        return "\n\n".join(["I ran this myself:", *sent, prompt])
