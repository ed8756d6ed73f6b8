"""What a shell text says, read once."""

from __future__ import annotations

from functools import cached_property

from dogu.workspace.shell_syntax import Dialect, NotBashError, Script, UnprovenError, parse


class ParsedText:
    """A shell text that is parsed once, however often it is judged."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def script(self) -> Script | NotBashError | UnprovenError:
        """What bash would read, or why that can't be said."""
        try:
            return parse(self.text, Dialect.BASH)
        except (NotBashError, UnprovenError) as error:
            return error
