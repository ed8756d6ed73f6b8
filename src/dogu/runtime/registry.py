"""Which tools there are, by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.tool import Tool
from dogu.contract.tool_names import OTHER_NAMES
from dogu.language import told

AnyTool = Tool[Any]

MOST_DECLARED = 40
_MOST_FOUND = 10

# Names other generations of the documents and of models use; accepted, never published.
_OTHER_NAMES = {"search_file_content": "grep_search", "read_folder": "list_directory", "edit": "replace"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


class ToolRegistry:
    """The tools of one session, in the order they were registered.

    With a finder, and more discovered tools than may be declared at once, only those that `find` found are declared.
    """

    def __init__(self, tools: Iterable[AnyTool] = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._observers: list[Callable[[], None]] = []
        self._discovered: set[str] = set()
        self._found: set[str] = set()
        self._missing: dict[str, str] = {}
        self._finder: AnyTool | None = None
        self._explain: Callable[[str], str] = lambda _name: ""
        self._is_of_use: Callable[[AnyTool], bool] = lambda _tool: True
        for tool in tools:
            self.register(tool)

    def register(self, tool: AnyTool, *, is_discovered: bool = False) -> None:
        """Add a tool. Raises `ValueError` when the name is taken: nothing shadows another tool."""
        if tool.name in self:
            raise ValueError(f"a tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool
        self._tell()
        if is_discovered:
            self._discovered.add(tool.name)

    def register_unless(self, why: str, tool: AnyTool, *, is_discovered: bool = False) -> None:
        """Add a tool unless there is a reason why it is kept out, which a call of it is then answered with."""
        if why:
            self._missing[tool.name] = why
        else:
            self._missing.pop(tool.name, None)
            self.register(tool, is_discovered=is_discovered)

    @property
    def kept_out(self) -> frozenset[str]:
        """The names of the tools that were kept out."""
        return frozenset(self._missing)

    @property
    def taken_names(self) -> list[str]:
        """The names that no discovered tool may have: those of tools, and others that mean built-in ones."""
        return [*self._tools, *([self._finder.name] if self._finder is not None else []), *_OTHER_NAMES]

    def offer_on_demand(self, finder: AnyTool) -> None:
        """Declare discovered tools on demand once there are more than 40: `finder` is declared then, and finds them."""
        self._finder = finder

    def explain_missing(self, explain: Callable[[str], str]) -> None:
        """Have `explain` say why a tool of that name isn't there, if it knows; else it returns ''."""
        self._explain = explain

    def declare_if(self, is_of_use: Callable[[AnyTool], bool]) -> None:
        """Declare only what is of use when a request is made; the others can still be called, and say why not."""
        self._is_of_use = is_of_use

    @property
    def held_back(self) -> frozenset[str]:
        """The names of the tools that can be called and aren't declared until they are found."""
        return frozenset(self._discovered - self._found) if self._has_too_many else frozenset()

    def find(self, words: str) -> list[tuple[str, str]]:
        """Return (name, description) of up to ten discovered tools that fit the words, declared from now on."""

        rows = [(tool.name, tool.description) for tool in self._tools.values() if tool.name in self._discovered]
        found = [rows[index] for index in best_fitting(rows, words, _MOST_FOUND)]
        self._found.update(name for name, _ in found)
        return found

    def sources(self) -> list[tuple[str, int]]:
        """Return where discovered tools come from, and how many: what stands before `__` in their names."""
        names = [name.partition("__") for name in self._tools if name in self._discovered]
        return [*Counter(alias if parted else "the discovery command" for alias, parted, _ in names).items()]

    @property
    def _has_too_many(self) -> bool:
        return self._finder is not None and len(self._discovered) > MOST_DECLARED

    def observe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Tell `observer` after each change of what there is; call what is returned to end that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def _tell(self) -> None:
        for observer in self._observers:
            observer()

    def unregister(self, name: str) -> None:
        """Take a tool away, if it is there."""
        if self._tools.pop(name, None) is not None:
            self._tell()
        self._discovered.discard(name)

    def get(self, name: str) -> AnyTool:
        """Return the tool of that name, or that the documents call so.

        Raises `ToolError`: UNKNOWN_TOOL that names the nearest ones, REFUSED for one that was kept out.
        """
        if self._finder is not None and name == self._finder.name:
            return self._finder
        own_name = _OTHER_NAMES.get(name) or OTHER_NAMES.get(name, name)
        tool = self._tools.get(name) or self._tools.get(own_name)
        if tool is not None:
            return tool
        why = self._missing.get(name) or self._missing.get(own_name)
        if why:
            names = self._declared_names
            message = told("Refused: {why}. Nothing was run. Available tools: {names}.", why=why, names=names)
            raise ToolError(ErrorKind.REFUSED, message)
        raise ToolError(ErrorKind.UNKNOWN_TOOL, self._unknown(name))

    def __iter__(self) -> Iterator[AnyTool]:
        yield from self._tools.values()
        if self._finder is not None and self._has_too_many:
            yield self._finder

    def __contains__(self, name: str) -> bool:
        return name in self._tools or (self._finder is not None and name == self._finder.name)

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def declarations(self) -> list[FunctionDeclaration]:
        """What the model is sent, one a tool, in order."""
        held_back = self.held_back
        return [tool.declaration for tool in self if tool.name not in held_back and self._is_of_use(tool)]

    def filtered(self, keep: Callable[[AnyTool], bool]) -> ToolRegistry:
        """Return a registry of the tools that `keep` says yes to."""
        kept = ToolRegistry()
        for tool in self._tools.values():
            if keep(tool):
                kept.register(tool, is_discovered=tool.name in self._discovered)
        kept._found = self._found
        kept._missing = dict(self._missing)
        kept._explain = self._explain
        kept._is_of_use = self._is_of_use
        kept._finder = self._finder if self._finder is not None and keep(self._finder) else None
        return kept

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        if not name:
            return f"The call names no tool. Available tools: {self._declared_names}."
        why = self._explain(name)
        if why:
            return f"There is no tool named {name[:80]!r} now: {why}"
        near = get_close_matches(name, self._tools, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        return f"There is no tool named {name[:80]!r}.{hint} Available tools: {self._declared_names}."

    @property
    def _declared_names(self) -> str:
        return ", ".join(declaration.name for declaration in self.declarations)


def best_fitting(rows: Sequence[tuple[str, str]], words: str, limit: int) -> list[int]:
    """Return the indices of the (name, description) rows that fit the words, best first.

    A word of the name counts more than one of the description, a whole word more than a part of one; a word that is
    nearly one of a name counts a little, for slips of the pen.
    """
    wanted = _words(words)
    scores = [(_score(name, description, wanted, words), index) for index, (name, description) in enumerate(rows)]
    fitting = sorted((-score, index) for score, index in scores if score > 0)
    return [index for _, index in fitting[:limit]]


def _score(name: str, description: str, wanted: Iterable[str], words: str) -> float:
    if name in words.split():
        return 1_000
    in_name, text = _words(name), description.casefold()
    in_text = frozenset(_words(description))
    return sum(_score_of(word, in_name, in_text, text) for word in wanted)


def _score_of(word: str, in_name: Sequence[str], in_text: frozenset[str], text: str) -> float:
    if word in in_name:
        return 6
    if any(part.startswith(word) or (len(part) > 2 and word.startswith(part)) for part in in_name):
        return 4
    if word in in_text:
        return 2
    if word in text:
        return 1

    from rapidfuzz.distance import OSA

    return 2 if len(word) > 3 and any(OSA.distance(word, part, score_cutoff=1) <= 1 for part in in_name) else 0


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
