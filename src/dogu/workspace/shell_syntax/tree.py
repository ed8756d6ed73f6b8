"""What a shell text is made of, as far as a judge needs it: commands, words, parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property


class NotBashError(Exception):
    """Bash would refuse this text; the message says why."""


class UnprovenError(Exception):
    """Bash may accept this text, but this grammar does not follow it; the message says where it stopped."""


class PartKind(Enum):
    """What a stretch of a word is."""

    LITERAL = "literal"
    VARIABLE = "variable"
    COMMAND = "command"
    PROCESS = "process"
    ARITHMETIC = "arithmetic"


@dataclass(slots=True)
class Part:
    """A stretch of a word.

    `text` is the literal text, the variable's name, or the source of the arithmetic or substitution. `operator` is what
    follows a variable's name inside the braces (`:-x`, `[1]`), after `!` or `#` when the name had one in front. `inner`
    are the expansions inside; `script` is what a substitution runs.
    """

    kind: PartKind
    text: str
    quoted: bool = False
    operator: str = ""
    inner: tuple[Part, ...] = ()
    script: Script | None = None


@dataclass
class Word:
    """A word as written, in parts; `value` is what bash would see, None when that can't be known."""

    parts: tuple[Part, ...]
    raw: str

    @cached_property
    def is_plain(self) -> bool:
        """Whether the word is literal text only (globs and tildes are still literal text)."""
        return all(part.kind is PartKind.LITERAL for part in self.parts)

    @cached_property
    def text(self) -> str:
        """The literal text, with every expansion left as it was written."""
        return "".join(part.text if part.kind is PartKind.LITERAL else shown(part) for part in self.parts)

    @cached_property
    def has_glob(self) -> bool:
        """Whether bash would match file names."""
        bare = "".join("\0" if part.quoted else part.text for part in self.parts if part.kind is PartKind.LITERAL)
        return "*" in bare or "?" in bare or "]" in bare.partition("[")[2]

    @cached_property
    def has_tilde(self) -> bool:
        """Whether the word begins with a tilde that bash would replace."""
        first = self.parts[0] if self.parts else None
        return first is not None and first.kind is PartKind.LITERAL and not first.quoted and first.text[:1] == "~"

    @cached_property
    def value(self) -> str | None:
        """The text bash would hand to the program, None when it can't be known."""
        return None if not self.is_plain or self.has_glob or self.has_tilde else self.text

    @cached_property
    def may_split(self) -> bool:
        """Whether bash may make no word, or several, of this one."""
        return self.has_glob or any(
            (part.kind in (PartKind.VARIABLE, PartKind.COMMAND) and not part.quoted)
            or (part.kind is PartKind.VARIABLE and (part.text == "@" or "@]" in part.operator))
            for part in self.parts
        )

    @cached_property
    def prefix(self) -> str:
        """The text the word is known to begin with."""
        known: list[str] = []
        for part in self.parts:
            if part.kind is not PartKind.LITERAL:
                break
            glob = None if part.quoted else re.search(r"[*?\[]", part.text)
            if glob:
                known.append(part.text[: glob.start()])
                break
            known.append(part.text)
        return "".join(known)

    @cached_property
    def is_bare(self) -> bool:
        """Whether nothing in the word was quoted or expanded: only then can it be a reserved word."""
        return len(self.parts) == 1 and self.parts[0].kind is PartKind.LITERAL and not self.parts[0].quoted

    @classmethod
    def literal(cls, text: str) -> Word:
        """Make a word that stands for exactly this text."""
        return cls((Part(PartKind.LITERAL, text, quoted=True),), text)

    def expansions(self) -> Iterator[Part]:
        """Yield every part that is not literal, inner ones too, outermost first."""
        waiting = [part for part in reversed(self.parts) if part.kind is not PartKind.LITERAL]
        while waiting:
            part = waiting.pop()
            yield part
            waiting.extend(inner for inner in reversed(part.inner) if inner.kind is not PartKind.LITERAL)


def shown(part: Part) -> str:
    """Return an expansion as it would be written, for people."""
    match part.kind:
        case PartKind.LITERAL:
            return part.text
        case PartKind.VARIABLE:
            return f"${{{part.text}{part.operator}}}" if part.operator else f"${part.text}"
        case PartKind.COMMAND:
            return f"$({part.text})"
        case PartKind.PROCESS:
            return f"<({part.text})"
        case PartKind.ARITHMETIC:
            return f"$(({part.text}))"


@dataclass(slots=True)
class Redirect:
    """`operator` is `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`, `&>`, `&>>`, `<<`, `<<<`; `target` is the body for `<<`.

    `name` is the variable that takes the descriptor's number, as in `{name}>file`; "" when none does.
    """

    operator: str
    target: Word
    name: str = ""


@dataclass(slots=True)
class Assignment:
    """`name=value`; an array's elements are one value's parts. `subscript` is the text between the brackets."""

    name: str
    value: Word
    subscript: Word | None = None
    is_array: bool = False


class CommandKind(Enum):
    """What a command is."""

    SIMPLE = "simple"
    CONDITION = "[["
    ARITHMETIC = "(("
    LOOP = "for"
    CASE = "case"
    GROUP = "group"
    FUNCTION = "function"
    COPROCESS = "coproc"


@dataclass(eq=False, slots=True)
class Scope:
    """What a command stands in: a list of pipelines joined by `&&` and `||`, one command of such a list, or a body.

    `joined` says how a command follows the one before in its list ("" is the first); a list has None, a body too.
    `is_apart`: what changes in it stays in it. `repeats`: it is run any number of times. `is_sure`: a body that is run
    once, where it stands.
    """

    outer: Scope | None
    is_body: bool = False
    joined: str | None = None
    is_apart: bool = False
    repeats: bool = False
    is_sure: bool = False
    is_negated: bool = False


@dataclass
class Command:
    """A command, in the order bash would read them; compound commands come flattened.

    SIMPLE: `words` may be empty (assignments or redirections alone). LOOP: `name` is the variable, `words` the list.
    CASE: the word and every pattern. GROUP: the redirections of a compound command. FUNCTION: `name` is defined; its
    body follows, with `function` set. COPROCESS: `name` takes its descriptors; its command follows. `piped_from` is the
    simple command whose output this one reads. `scope` is what it stands in.
    """

    kind: CommandKind
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[Assignment] = field(default_factory=list[Assignment])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    name: str = ""
    function: str | None = None
    piped_from: Command | None = None
    scope: Scope | None = None

    def all_words(self) -> Iterator[Word]:
        """Yield every word that bash would expand for this command."""
        yield from self.words
        for assignment in self.assignments:
            if assignment.subscript is not None:
                yield assignment.subscript
            yield assignment.value
        for redirect in self.redirects:
            yield redirect.target


@dataclass(slots=True)
class Script:
    """The commands of a text, flattened; those inside of substitutions hang on their parts."""

    commands: list[Command]
