"""`/` commands: what a user may type besides prompts, through any door.

They know no door; a door shows what they say. A name is without the slash and may hold a colon (`server:prompt`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from threading import RLock
from typing import Protocol, TypeAlias

import msgspec

from dogu.contract.content import Blob, Content
from dogu.contract.display import FileDiff
from dogu.language import said, say
from dogu.runtime.events import ToolAnswer


class Said(msgspec.Struct, frozen=True):
    """An answer for the user: plain text, several lines at most a screen or two; foreign text is not yet escaped.

    `diffs` are the same for a door that can draw diffs, `pictures` the images of theirs that changed, by path: before
    and now. `draft` is a prompt to be edited and sent again, where there is
    an input box. `is_failure`: nothing was done, and the text says why; `refused` is the call that wasn't made, if it
    was that.
    """

    text: str
    diffs: tuple[FileDiff, ...] = ()
    is_failure: bool = False
    draft: str = ""
    pictures: Mapping[str, Sequence[Blob]] = {}
    refused: ToolAnswer | None = None


class Send(msgspec.Struct, frozen=True):
    """A prompt for the model, as if the user had typed it."""

    content: Content


SlashAnswer: TypeAlias = Said | Send


class Offer(msgspec.Struct, frozen=True):
    """Arguments that a user may pick instead of typing them: what they mean in a few words, and more beside that.

    `about` explains them further where they are highlighted. `then` are offers to choose from next, in place of these
    arguments. `is_current`: it is so already.
    """

    arguments: str
    words: str
    detail: str = ""
    is_current: bool = False
    then: tuple[Offer, ...] = ()
    about: str = ""


class SlashCommand(msgspec.Struct, frozen=True):
    """A command. `help` is one line, `arguments` a usage such as `[CALL]`; `complete` offers arguments for a start.

    One without `arguments` takes none: what is typed behind it is refused.

    `offers` are for a door that lets the user pick, where nothing was typed behind the command; none are no offer.
    """

    name: str
    help: str
    run: Callable[[str], Awaitable[SlashAnswer]]
    arguments: str = ""
    complete: Callable[[str], Sequence[str]] = lambda _start: ()
    offers: Callable[[], Awaitable[Sequence[Offer]]] | None = None


OTHER_NAMES = {
    "exit": "quit",
    "compress": "compact",
    "status": "stats",
    "usage": "stats",
    "cost": "stats",
    "approvals": "mode",
    "permissions": "mode",
    "auth": "connect",
    "login": "connect",
    "restore": "undo",
    "continue": "resume",
    "shortcuts": "keys",
    "commands": "help",
    "context": "stats",
    "about": "stats",
    "agents": "tools",
    "plan": "mode plan",
    "chat save": "rename",
    "chat resume": "resume",
    "chat list": "resume",
}
"""What other agents call our commands: known where they are typed, and listed nowhere."""

_MOST_WORDS = 2  # of such a name
_MOST_TYPOS = 2
_FEWEST_TYPED = 3  # of a name that is but begun

Source: TypeAlias = Callable[[], Iterable[SlashCommand]]


class Late(Protocol):
    """Commands that may still be on their way."""

    def may_have(self, name: str) -> bool:
        """Whether a command of that name may be there, now or later."""
        ...

    async def wait(self, name: str) -> None:
        """Wait until it is known whether it is."""
        ...


class SlashCommands:
    """The commands of a session. Those registered by name come first; sources are asked anew each time.

    `first` makes the commands before those, once somebody asks: many a session never does.
    """

    def __init__(self, commands: Iterable[SlashCommand] = (), first: Source | None = None) -> None:
        self._first = first
        self._making = RLock()
        self._registered = {command.name: command for command in commands}
        self._sources: list[Source] = []
        self._late: list[Late] = []

    def register(self, *commands: SlashCommand) -> None:
        """Add commands; a later one of the same name takes the place of the earlier."""
        self._registered.update({command.name: command for command in commands})

    def register_source(self, source: Source, late: Late | None = None) -> None:
        """Add commands that come and go; one whose name is taken already is left out. `late` ones are waited for."""
        self._sources.append(source)
        if late is not None:
            self._late.append(late)

    def __iter__(self) -> Iterator[SlashCommand]:
        """Go through the commands as they are now, in the order of their registration."""
        return iter(self._all().values())

    def get(self, name: str) -> SlashCommand | None:
        """Return the command of that name."""
        return self._known(name) or self._known(OTHER_NAMES.get(name, ""))

    def _known(self, name: str) -> SlashCommand | None:
        return self._commands.get(name) or self._all().get(name)

    def _ours(self, text: str) -> str:
        """Return what was typed after the slash with our command's name, where another agent's was typed."""
        words = text.split(maxsplit=_MOST_WORDS)
        if words and self._known(words[0]) is None:
            for count in range(_MOST_WORDS, 0, -1):
                if len(words) >= count and (ours := OTHER_NAMES.get(" ".join(words[:count]))):
                    return " ".join([ours, *words[count:]])
        return text

    def means(self, text: str) -> bool:
        """Whether a text that begins with a slash is a command, or may be one that is on its way; a path is none."""
        if not text.startswith("/"):
            return False
        name = _first_word(text[1:])
        is_known = self.get(_first_word(self._ours(text[1:]))) or any(late.may_have(name) for late in self._late)
        return bool(name) and text.startswith(f"/{name}") and bool(is_known)

    async def run(self, text: str) -> SlashAnswer:
        """Run what was typed after the slash: a name, then its arguments."""
        text = self._ours(text)
        name = _first_word(text)
        for late in self._late:
            if self.get(name) is None and late.may_have(name):
                await late.wait(name)
        command = self.get(name)
        if command is None:
            return Said(self._unknown(name), is_failure=True)
        rest = text.strip().removeprefix(name).strip()
        if rest and not command.arguments:
            return Said(say("/{name} takes no arguments: {rest}", name=name, rest=rest), is_failure=True)
        answer = await command.run(rest)
        return msgspec.structs.replace(answer, text=said(answer.text)) if isinstance(answer, Said) else answer

    @property
    def _commands(self) -> dict[str, SlashCommand]:
        with self._making:  # completion asks in a thread of its own
            if self._first is not None:
                made = {command.name: command for command in self._first()}
                self._registered = made | self._registered
                self._first = None
        return self._registered

    def _all(self) -> dict[str, SlashCommand]:
        found = dict(self._commands)
        for source in self._sources:
            for command in source():
                found.setdefault(command.name, command)
        return found

    def _unknown(self, name: str) -> str:
        from rapidfuzz.distance import OSA

        most = min(_MOST_TYPOS, max(1, len(name) // 3))
        names = [*self._all(), *(each for each in OTHER_NAMES if " " not in each)]
        begun = [each for each in names if each.startswith(name)] if len(name) >= _FEWEST_TYPED else []
        far = {each: OSA.distance(name.lower(), each, score_cutoff=most) for each in names}
        nearest = min(far, key=lambda each: (far[each], each in OTHER_NAMES), default="")
        nearest = nearest if nearest and far[nearest] <= most else next(iter(begun), "")
        if not nearest:
            return say("There is no command /{name}. /help lists them.", name=name)
        return say("There is no command /{name}; did you mean /{nearest}?", name=name, nearest=nearest)


def _first_word(text: str) -> str:
    return text.split(maxsplit=1)[0] if text.strip() else ""
