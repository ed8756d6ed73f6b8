"""GEMINI.md and AGENTS.md: what the people of a project want every session to know.

Those above the root and in the user's own folder are known from the start; one in a folder below is told when a tool
first touches that folder. Nothing is read that lies outside of where it belongs, by links or by imports.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from dogu.agent.context.imports import FoundImport, ImportPlace, Imports, read_open
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.ignore.lookup import hidden_from_models, is_left_out
from dogu.workspace.roots import Roots
from dogu.workspace.small_file import open_regular_file

DEFAULT_NAMES = ("GEMINI.md", "AGENTS.md")
_MOST_CHARS = 256 * 1024
_MOST_BELOW_CHARS = 16 * 1024
_CONFIG_FOLDERS = (".gemini", ".dogu")
_PATH_PARAMETERS = ("path", "file_path", "absolute_path", "directory", "dir_path")


class ContextFile(msgspec.Struct, frozen=True):
    """A context file as read, with what it imports (absolute); what was cut or refused is told in `text`."""

    path: str
    text: str
    imported: tuple[str, ...] = ()

    @property
    def block(self) -> str:
        """The text as the model is told it; nothing in it can end the block."""
        text = self.text.replace("</context", "<\\/context")
        return f"{opening(self.path)}\n{text}\n</context>"


class ContextSources(msgspec.Struct, frozen=True):
    """Where context files are looked for: `roots` (the workspace's, the first is the primary), the user's `home`.

    Without `reads_project` the folders' own are left out; with `imports_home` they may import the texts that lie in the
    user's `~/.gemini` and `~/.dogu`. `more` are files (absolute) that the user has added to their own.
    """

    roots: tuple[str, ...]
    home: str
    names: tuple[str, ...] = DEFAULT_NAMES
    reads_project: bool = True
    imports_home: bool = False
    more: tuple[str, ...] = ()


class ContextFiles:
    """The context files of a session: `files` are known from the start, the most general first; `told` came later."""

    def __init__(self, sources: ContextSources) -> None:
        self._sources = sources
        self.names = sources.names
        self._workspace = sources.roots
        top = _top_of(sources.roots[0], sources.home)
        self._above = _between(top, sources.roots[0])
        self._project = Roots(sources.roots[0], [*sources.roots[1:], top])
        self.files: list[ContextFile] = []
        self.told: dict[str, ContextFile] = {}
        self.problems: tuple[str, ...] = ()
        self._identities: set[tuple[int, int]] = set()
        self._told_identities: dict[str, set[tuple[int, int]]] = {}
        self._looked: set[str] = set()
        self.refresh()

    def refresh(self) -> None:
        """Read the files that are known from the start anew; one told later is told again where it has changed."""
        imports = Imports(self._sources.home, _MOST_CHARS)
        homes = self._home_folders()
        places = [ImportPlace(Roots(homes[0], homes[1:]), texts_only=True)] if homes else []
        paths = [os.path.join(folder, name) for folder in homes for name in self._sources.names]
        paths += self._sources.more
        found = [(file, places) for path in paths if (file := _read_own(path))]
        if self._sources.reads_project:
            in_project = self._places()
            paths = [os.path.join(folder, name) for folder in self._above for name in self._sources.names]
            found += [(file, in_project) for path in paths if (file := self._read(path, imports))]
        self.files = [file for file, _ in _expanded(found, imports)]
        self.problems = tuple(imports.problems)
        self._identities = imports.identities
        self._looked.update(self._above)
        for path, given in list(self.told.items()):
            now = self._read_below([path])
            if [file for file, _ in now] == [given]:
                self._identities |= self._told_identities[path]
            else:
                self._forget(path)

    def is_new(self, args: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments may touch a folder for the first time; a look at names alone."""
        if not self._sources.reads_project:
            return False
        root = self._workspace[0]
        paths = (os.path.join(root, path) for path in _paths_in(args))
        return any(path not in self._looked and os.path.dirname(path) not in self._looked for path in paths)

    def below(self, calls: Iterable[Mapping[str, Any]], contents: Sequence[bytes] = ()) -> list[ContextFile]:
        """Return the files of folders that calls with these arguments are the first to touch, the most general first.

        Each is returned once, and not when the conversation's `contents` hold it already. Files in ignored folders are
        none of the project's. Blocks for a moment in new folders.
        """
        if not self._sources.reads_project:
            return []
        new: list[ContextFile] = []
        for path in (path for args in calls for path in _paths_in(args)):
            for folder in self._new_folders(path):
                new += self._told_in(folder)
        missing = self.missing_in(contents) if new else []
        return [file for file in new if file in missing]

    def forget_missing(self, contents: Sequence[bytes]) -> None:
        """Let files be told again that no longer stand in the conversation: it went back to before them."""
        for file in self.missing_in(contents):
            self._forget(file.path)

    def missing_in(self, contents: Sequence[bytes]) -> list[ContextFile]:
        """Return the files told so far that these contents, wire JSON, don't hold."""
        marks = {path: msgspec.json.encode(opening(path))[1:-1] for path in self.told}
        return [file for path, file in self.told.items() if not any(marks[path] in content for content in contents)]

    def _forget(self, path: str) -> None:
        del self.told[path]
        self._identities -= self._told_identities.pop(path)
        self._looked.discard(os.path.dirname(path))

    def _told_in(self, folder: str) -> list[ContextFile]:
        paths = [os.path.join(folder, name) for name in self._sources.names]
        if not any(os.path.lexists(path) for path in paths) or self._is_ignored(folder):
            return []
        new = self._read_below(paths)
        for file, identities in new:
            self.told[file.path] = file
            self._told_identities[file.path] = identities
            self._identities |= identities
        return [file for file, _ in new]

    def _read_below(self, paths: Sequence[str]) -> list[tuple[ContextFile, set[tuple[int, int]]]]:
        imports = Imports(self._sources.home, _MOST_BELOW_CHARS)
        imports.identities = set(self._identities)
        places = self._places()
        return list(_expanded([(file, places) for path in paths if (file := self._read(path, imports))], imports))

    def _new_folders(self, path: str) -> list[str]:
        """The folders from the root down to what `path` names that no call has touched yet, the root left out."""
        try:
            located = self._project.locate(path)
            root = self._project.root_of(located)
        except ToolError:
            return []
        folder = located if os.path.isdir(located) else os.path.dirname(located)
        if folder in self._looked or root not in self._workspace:
            return []
        new = [each for each in _between(root, folder) if each not in self._looked]
        self._looked.update(new)
        return new

    def _places(self) -> list[ImportPlace]:
        places = [ImportPlace(self._project, is_hidden=self._is_hidden)]
        homes = self._home_folders()
        if self._sources.imports_home and homes:
            places.append(ImportPlace(Roots(homes[0], homes[1:]), texts_only=True))
        return places

    def _is_hidden(self, path: str) -> bool:
        return bool(hidden_from_models(self._project, path))

    def _home_folders(self) -> list[str]:
        return [folder for name in _CONFIG_FOLDERS if os.path.isdir(folder := os.path.join(self._sources.home, name))]

    def _read(self, path: str, imports: Imports) -> FoundImport | None:
        """Read a project's file; a link that leads out of the project is told, and not followed."""
        try:
            return ImportPlace(self._project).read(path)
        except ToolError as error:
            if error.kind not in (ErrorKind.NOT_FOUND, ErrorKind.WRONG_FILE_TYPE):
                imports.problems.append(told("{path} was not read: {message}", path=path, message=error.message))
            return None
        except OSError as error:
            imports.problems.append(told("{path} was not read: {reason}.", path=path, reason=error.strerror))
            return None

    def _is_ignored(self, folder: str) -> bool:
        try:
            return is_left_out(self._project, folder)
        except ToolError:
            return True


def opening(path: str) -> str:
    """Return what begins a file's block, by which it is found again in a conversation."""
    return f'<context file="{path}">'


def _expanded(
    found: Sequence[tuple[FoundImport, Sequence[ImportPlace]]], imports: Imports
) -> Iterator[tuple[ContextFile, set[tuple[int, int]]]]:
    """Give each file once, with the identities of itself and what it imports."""
    for file, places in found:
        if file.identity in imports.identities or not file.text:
            continue
        imports.paths = []
        before = set(imports.identities)
        text = imports.expand(file, places)
        yield ContextFile(file.path, text, tuple(imports.paths)), imports.identities - before


def _top_of(root: str, home: str) -> str:
    """The nearest folder upwards that holds `.git`; the root itself without one, or where that is the home folder."""
    folder = root
    own = os.path.realpath(home)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent in (folder, own):
            return root
        folder = parent
    return folder


def _between(top: str, folder: str) -> list[str]:
    """The folders from `top` down to `folder`, both included."""
    folders = [folder]
    while folder not in (top, "/"):
        folder = os.path.dirname(folder)
        folders.append(folder)
    return folders[::-1]


def _read_own(path: str) -> FoundImport | None:
    """Read the user's own file, wherever their links lead; never waits on a FIFO."""
    try:
        with open_regular_file(path) as file:
            return read_open(file.fileno(), path)
    except (OSError, ToolError):
        return None


def _paths_in(args: Mapping[str, Any]) -> Iterable[str]:
    """The paths that a call names, by the parameters' names; patterns are none."""
    for name in _PATH_PARAMETERS:
        if isinstance(path := args.get(name), str):
            yield path
    paths = args.get("paths")
    if isinstance(paths, list):
        yield from (path for path in cast("list[Any]", paths) if isinstance(path, str) and not set(path) & set("*?["))
