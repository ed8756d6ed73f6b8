"""The text that a shell reads from its standard input, where that can be known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dogu.workspace.shell_syntax import Command, Word


def text_on_standard_input(words: Sequence[Word], command: Command) -> str | None:
    """Return what the shell that `words` start would read; None when that can't be known. `command` holds them."""
    texts = [each.target.value for each in command.redirects if each.operator in ("<<", "<<<")]
    if command.piped_from is not None:
        texts.append(_printed(command.piped_from))
    takes_input = all((word.value or "") in ("-s", "-e", "-x", "-u", "-") for word in words[1:])
    return texts[0] if takes_input and len(texts) == 1 else None


def _printed(command: Command) -> str | None:
    """What `echo`, a plain `printf` or `cat` with a text given prints; None when that can't be known."""
    values = [word.value for word in command.words]
    if not values or None in values or values[0] not in ("echo", "printf", "cat"):
        return None
    known = [value or "" for value in values[1:]]
    if values[0] == "cat":
        texts = [each.target.value for each in command.redirects if each.operator in ("<<", "<<<")]
        return texts[0] if len(texts) == 1 and len(command.redirects) == 1 and not known else None
    if values[0] == "echo":
        text = " ".join(known)
        return None if text.startswith("-") or "\\" in text else text
    is_plain = len(known) == 1 and not re.search(r"^-|%|\\(?!n)", known[0])
    return known[0].replace("\\n", "\n") if is_plain else None
