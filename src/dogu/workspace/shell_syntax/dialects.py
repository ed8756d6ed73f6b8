"""Where shells read a text differently: what only bash reads as we do is unproven for a text that another may read.

`sh` is dash on one machine and bash in POSIX mode on the next; `$SHELL` may be zsh. A text for such a shell counts as
read only when dash, busybox, ksh, mksh, zsh and bash all find the same commands and words in it. The grammar calls
`Reader.differs` where it takes a construct that only some of them know; what shows in a finished word or command is
looked for here. Source: POSIX Shell Command Language; dash(1), mksh(1), zshmisc(1), zshexpn(1).
"""

from __future__ import annotations

import re
from enum import Enum

from dogu.language import told
from dogu.workspace.shell_syntax.tree import Command, Part, PartKind, Redirect, UnprovenError, Word


class Dialect(Enum):
    """Which shell reads a text."""

    BASH = "bash"
    ANY = "any"  # whatever `sh` or `$SHELL` is: every reading must agree


# Asking is cheap and a wrong reading isn't: each of these was found by running the same text in all the shells and
# comparing what ran. Nothing is put right here; what they may read otherwise is only ever asked about.
_CONTINUED_INSIDE = re.compile(r"(?<![ \t\n])\\\n")
_BARE_DOLLAR = re.compile(r"\$[=^~+:\[({]")
_APPENDS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+=")
_OPERATORS = re.compile(r"(?:#?|:?[-=?+].*|%.*|#.*)", re.DOTALL)
_ONLY_SOME = frozenset(
    "- noglob nocorrect repeat foreach end always and or not begin switch redirect emulate setopt unsetopt zmodload "
    "autoload sched zargs r hist whence select function coproc namespace source".split()
)
"""Names that are reserved words, modifiers or aliases to some shell, and nothing or a program to the others."""
_OPTIONS_OF_ALL = frozenset(
    "errexit nounset pipefail xtrace noglob noclobber allexport verbose monitor notify noexec".split()
)


def check_text(text: str) -> None:
    """Raise `UnprovenError` for line continuations within a word or operator, which shells join at different times."""
    if _CONTINUED_INSIDE.search(text):
        raise UnprovenError(told("shells join lines within a word differently"))


def check_word(word: Word) -> None:
    """Raise `UnprovenError` for a word of which shells make different ones."""
    first = word.parts[0] if word.parts else None
    if first is not None and _is_bare(first) and first.text[:1] == "=" and word.text not in ("=", "=="):
        raise UnprovenError(told("zsh reads a word that begins with = as a program's path"))
    # A quoted part is a sign that is nobody's operator: what is around it isn't joined to a brace that nobody wrote.
    bare = "".join(part.text if _is_bare(part) else "\0" for part in word.parts)
    inside = bare.partition("{")[2]
    if "," in inside or ".." in inside:
        raise UnprovenError(told("only some shells expand braces"))
    if bare in ("{", "}"):
        raise UnprovenError(told("only some shells end a group at a brace among the arguments"))
    if _BARE_DOLLAR.search(bare):
        raise UnprovenError(told("only some shells expand what follows a $ here"))
    for part in word.parts:
        check_parameter(part)


def check_parameter(part: Part) -> None:
    """Raise `UnprovenError` for an operator in `${...}` that is not every shell's."""
    if part.kind is PartKind.VARIABLE and not (part.text and _OPERATORS.fullmatch(part.operator)):
        raise UnprovenError(told("shells read this ${...} differently"))
    for inner in part.inner:
        check_parameter(inner)


def check_command(command: Command) -> None:
    """Raise `UnprovenError` for a command that some shell takes for something else."""
    for each in command.assignments:
        if each.subscript is not None or each.is_array or _APPENDS.match(each.value.raw):
            raise UnprovenError(told("only some shells have this kind of assignment"))
    first = command.words[0] if command.words else None
    if first is None:
        return
    if any(_is_bare(part) and "=" in part.text for part in first.parts):
        raise UnprovenError(told("some shells read it as an assignment"))
    if first.parts and _is_bare(first.parts[0]) and first.parts[0].text.startswith("{"):
        raise UnprovenError(told("zsh begins a group at a brace with no blank behind it"))
    name = first.text.rpartition("/")[2]
    if name in _ONLY_SOME:
        raise UnprovenError(told("{name} means something else to another shell", name=name))
    if name == "set":
        _check_options(command)


def _check_options(command: Command) -> None:
    for option, value in zip(command.words[1:], command.words[2:], strict=False):
        if option.text[:1] in ("-", "+") and option.text[-1] == "o" and value.text not in _OPTIONS_OF_ALL:
            raise UnprovenError(told("it sets an option that only some shells know"))


def check_redirect(redirect: Redirect, descriptor: str) -> None:
    """Raise `UnprovenError` for a redirection that only some shells have; `descriptor` stands before the operator."""
    if len(descriptor) > 1:
        raise UnprovenError(told("only some shells take more than one digit before a redirection"))
    target = redirect.target
    is_copy = redirect.operator in (">&", "<&") and not re.fullmatch(r"[0-9]|-", target.value or "x")
    if redirect.operator in ("<<<", "&>", "&>>") or is_copy:
        raise UnprovenError(told("only some shells have this {operator}", operator=redirect.operator))
    first = target.parts[0] if target.parts else None
    if first is not None and _is_bare(first) and first.text[:1] in ("!", "|", "&"):
        raise UnprovenError(told("zsh reads a ! after a redirection differently"))


def _is_bare(part: Part) -> bool:
    return part.kind is PartKind.LITERAL and not part.quoted
