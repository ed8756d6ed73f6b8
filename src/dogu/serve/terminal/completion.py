"""What can be completed at the input box: `/` commands and their arguments, `@` files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dogu.agent.slash import SlashCommands
from dogu.serve.terminal.file_index import FileIndex
from dogu.workspace.visible import visible_line

_AT = re.compile(r"""(?:^|(?<=[\s(\[{"'「『（【]))@(?:"([^"\n]*)|'([^'\n]*)|((?:\\.|[^\s\\"'`])*))$""")
_PLAIN = re.compile(r"[A-Za-z0-9_./+@~=%-]*[A-Za-z0-9_/+@~=%-]")


class InputCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(self, index: FileIndex) -> None:
        self._index = index
        self._commands = SlashCommands()

    def use(self, commands: SlashCommands) -> None:
        """Complete these commands from now on."""
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return what fits; runs in a thread of its own."""
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            yield from self._slash(before[1:])
            return
        match = _AT.search(document.current_line_before_cursor)
        if match is None:
            return
        wanted = match[1] or match[2] or re.sub(r"\\(.)", r"\1", match[3] or "")
        self._index.look_again()
        for path in self._index.find(wanted):
            shown = visible_line(path)
            yield Completion(f"@{quoted(path)}", start_position=-len(match[0]), display=shown)

    def _slash(self, typed: str) -> Iterable[Completion]:
        name, space, start = typed.partition(" ")
        if space:
            command = self._commands.get(name)
            for words in command.complete(start) if command is not None else ():
                yield Completion(words, start_position=-len(start), display=visible_line(words))
            return
        for command in self._commands:
            if command.name.startswith(name):
                text = f"{command.name} " if command.arguments else command.name
                yield Completion(
                    text,
                    start_position=-len(name),
                    display=visible_line(f"/{command.name}"),
                    display_meta=visible_line(command.help),
                )


def quoted(path: str) -> str:
    r"""Return the path as it is written after `@`: bare where that is plain, else in quotes, else with `\`."""
    if _PLAIN.fullmatch(path):
        return path
    if '"' not in path:
        return f'"{path}"'
    if "'" not in path:
        return f"'{path}'"
    return re.sub(r"""([\s\\"'`.,:;!?)\]}])""", r"\\\1", path)
