"""What is asked of the policy (`CallFacts`), in which mode, and what it answers (`Verdict`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from dogu.contract.tool import Kind
from dogu.workspace.system import DEFAULT_SHELL


class ApprovalMode(StrEnum):
    """What a user wants to be asked about when no rule speaks; the gate stands above all of them."""

    DEFAULT = "default"
    AUTO_EDIT = "auto_edit"
    PLAN = "plan"
    YOLO = "yolo"


class Decision(StrEnum):
    """May it run? The strictest answer wins."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


_STRICTNESS = {Decision.DENY: 0, Decision.ASK: 1, Decision.ALLOW: 2}


def strictest(*decisions: Decision) -> Decision:
    """Return the strictest of the decisions; ALLOW when there is none."""
    return min(decisions, key=_STRICTNESS.__getitem__, default=Decision.ALLOW)


class Place(Protocol):
    """The folder that a command is run in, as the judge may ask about it; paths are relative to it."""

    def is_free(self, path: str) -> bool:
        """Whether nothing is there, not even a broken link."""
        ...

    def leads_to(self, path: str, *, is_entry: bool) -> str | None:
        """Where a path leads by the links that are there; None when that is elsewhere.

        `is_entry`: the name itself is meant, which may be a link's.
        """
        ...

    def is_same_repository(self, path: str) -> bool:
        """Whether the folder is there and of no other repository than the place is: none begins on the way to it."""
        ...

    def pushed_to(self, *, by_any_branch: bool) -> list[str]:
        """Where a bare `git push` goes: the remote of the branch, or all that any branch may go to; none is unknown."""
        ...

    def matching(self, pattern: str) -> list[str] | None:
        """The names, without their folders, of what a pattern of files matches; None when it leads elsewhere."""
        ...

    def files_below(self, path: str) -> list[str] | None:
        """Every file in a folder and below it; None for a link, a path elsewhere, or when there are many."""
        ...

    def has_tag_like_an_option(self) -> bool:
        """Whether the repository has a tag whose name begins with a hyphen, or may."""
        ...

    def has_links_out(self, path: str) -> bool:
        """Whether a link in a folder or below it leads out of it, or may."""
        ...

    def has_module(self, name: str) -> bool:
        """Whether `python -m NAME` runs a file that lies there."""
        ...


class CallFacts(msgspec.Struct, frozen=True):
    """What the policy may know of a call, and nothing else.

    `command` is the text a shell will run (shell tool only), `directory` where, absolute. `always_ask` are reasons why
    no mode and no remembered rule may answer for the user. `is_built_in`: the list of built-in tools names it too.
    `shell` reads the command: bash, cmd or powershell. `has_question`: the tool itself asks before it acts.
    `is_contained`: what it does can't leave the sandbox. `args` are the call's arguments, for rules about them. `place`
    answers for the folder, where it is known. `text` is a `ParsedText` of the command, for who judges it again.
    """

    tool: str
    kind: Kind
    command: str | None = None
    directory: str | None = None
    always_ask: tuple[str, ...] = ()
    is_built_in: bool = True
    shell: str = DEFAULT_SHELL
    has_question: bool = False
    is_contained: bool = False
    args: object = None
    place: Place | None = None
    text: object = None


class JudgedCommand(msgspec.Struct, frozen=True):
    """One simple command found in a shell text: its words as bash would see them, and what was thought of it.

    `rule` names the rule that spoke, None when none did.
    """

    words: tuple[str, ...]
    verdict: Decision
    reason: str
    rule: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """`gate` is what the restrictions and the command itself allow; `decision` adds mode and remembered rules.

    `reason` is a clause, of which `refusal` makes the sentence. `is_unreadable`: bash itself would refuse the text.
    `commands` are the simple commands of a shell text.
    """

    decision: Decision
    gate: Decision
    reason: str
    rule: str | None = None
    commands: tuple[JudgedCommand, ...] = ()
    is_unreadable: bool = False


class Judgement(msgspec.Struct):
    """What is thought of a shell text: the gate, why, and each simple command."""

    gate: Decision
    reason: str
    commands: list[JudgedCommand] = msgspec.field(default_factory=list[JudgedCommand])
    is_unreadable: bool = False
