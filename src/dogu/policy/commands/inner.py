"""What a command may have inside of it: words, a text for a shell, a tool of the project, something elsewhere.

Of `sh -c TEXT` and its kin: which text, and which shells' reading of it counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dogu.policy.commands.elsewhere import Elsewhere
from dogu.workspace.shell_syntax import Dialect, Part, PartKind, Word


@dataclass(frozen=True)
class ShellText:
    """A text that a shell will read; `value` None when it can't be known. `dialect`: which shell."""

    value: str | None
    dialect: Dialect = Dialect.ANY


@dataclass(frozen=True)
class Tool:
    """A command that a project's own runner starts: it must not be excluded, and needn't be listed."""

    words: list[Word]


Inner: TypeAlias = list[Word] | ShellText | Tool | Elsewhere
UNKNOWN = ShellText(None)
DATA = Word((Part(PartKind.VARIABLE, "..."),), "...")
"""A word that stands for what can't be known."""


SHELLS = frozenset("sh bash dash ash rbash ksh mksh lksh pdksh yash zsh posh".split())
"""Shells whose `-c` text can be judged, as bash's or as any shell's."""

_HARMLESS_OPTIONS = frozenset(("--", "--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose"))
_HARMLESS_SETTINGS = ("pipefail", "errexit", "nounset", "xtrace")
_CHANGES_READING = frozenset("ikBOo")  # interactive; assignments anywhere; no braces; settings by name


@dataclass
class _Options:
    """`takes_text`: `-c` is among them; `is_plain`: none of them changes how bash reads its text."""

    takes_text: bool = False
    is_plain: bool = True
    at: int = 1

    def take(self, value: str, following: str | None) -> None:
        """Take one option; `following` is the word after it."""
        self.at += 1
        letters = set("" if value.startswith("--") else value[1:])
        self.takes_text = self.takes_text or (value[0] == "-" and "c" in letters)
        if letters & {"o", "O"}:
            self.at += 1
            letters -= {"o"} if following in _HARMLESS_SETTINGS and value[0] == "-" else set()
        self.is_plain = self.is_plain and not letters & _CHANGES_READING and value != "--posix"


def shell_text(words: Sequence[Word]) -> list[Inner]:
    """Return the text of `sh -c TEXT`; an unknown one for a script (standard input is the judge's to look at)."""
    options = _Options()
    if len(words) > 2 and words[1].value == "-n" and all(re.match(r"[^-+]", word.value or "-") for word in words[2:]):
        return []  # a script that is only read
    while options.at < len(words):
        value = words[options.at].value
        if value in ("--version", "--help"):
            return []
        if value is None or (value.startswith("--") and value not in _HARMLESS_OPTIONS):
            return [UNKNOWN]
        if not value.startswith(("-", "+")) or len(value) == 1:
            break
        options.take(value, words[options.at + 1].value if options.at + 1 < len(words) else None)
        if value == "--":
            break
    is_bash = options.is_plain and words[0].text.endswith("bash")
    dialect = Dialect.BASH if is_bash else Dialect.ANY
    if not options.takes_text or options.at >= len(words):
        return [ShellText(None, dialect)]
    text = ShellText(words[options.at].value, dialect)
    return [text] if options.is_plain and text.value is not None else [text, UNKNOWN]
