"""What dogu offers to MCP servers: its roots, the user at the door, the session's model. Knows no SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from dogu.contract import Content
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.workspace.process.launch import ForkServer


class SamplingRequest(msgspec.Struct, frozen=True):
    """What a server wants the session's model to answer. `messages` are (role, content), role `user` or `assistant`."""

    system: str
    messages: tuple[tuple[str, Content], ...]
    max_tokens: int


class Sampled(msgspec.Struct, frozen=True):
    """The model's answer; `was_cut` when it came to the limit of its tokens."""

    text: str
    model: str
    was_cut: bool = False


Sample: TypeAlias = Callable[[SamplingRequest], Awaitable[Sampled]]
"""Asks the session's model. Raises `ToolError` when it gives no answer."""


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined | None]]


async def ask_nobody(_elicitation: Elicitation) -> None:
    """Nobody is there to be asked."""
    return


class Host(msgspec.Struct, frozen=True):
    """`elicit` answers None where nobody can be asked; `sample` is None where there is no model.

    `environment` is what every server gets beside what its entry names; `state_folder` is where logins and approved
    declarations are kept, '' for nowhere. A `fork_server` starts what starts their programs, if given.
    """

    roots: tuple[str, ...]
    environment: Callable[[], Mapping[str, str]]
    elicit: Elicit = ask_nobody
    sample: Sample | None = None
    state_folder: str = ""
    fork_server: ForkServer | None = None
