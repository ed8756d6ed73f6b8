"""What can be completed at the input box: `/` commands and their arguments, `@` files.

The workspace's file names are walked in the background and searched in a few milliseconds however many there are. They
are stretches of bytes, not texts: 200,000 of them take some 10 MB. Both the walk and a search let the interpreter's
lock go every millisecond or two, so that keys are echoed while they run.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from heapq import nsmallest
from importlib import import_module
from typing import Any

import msgspec
from prompt_toolkit.buffer import CompletionState
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from dogu.agent.slash import OTHER_NAMES, SlashCommand, SlashCommands
from dogu.serve.terminal.cells import fit, width_of
from dogu.serve.terminal.style import Style
from dogu.workspace import fs
from dogu.workspace.visible import visible_line

_LEAST_META = 8
_CHUNK_BYTES = 64 * 1024
_MOST_CANDIDATES = 3_000
_MOST_FILES = 2_000_000
_PAUSE_AFTER_S = 0.003
_STALE_AFTER_S = 20.0
_MOST_NEAR = 20_000
_GROWS_S = 0.1


class FileIndex:
    """The names below one root, folders with a final slash. `look_again` is cheap: it walks only when that's due."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._chunks: list[bytes] = []
        self._walked_at = 0.0
        self._lock = threading.Lock()
        self._is_whole = threading.Event()

    def look_again(self) -> None:
        """Walk the tree unless it was walked just now; blocks."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._walked_at > _STALE_AFTER_S or not self._walked_at:
                self._walk()
                self._walked_at = time.monotonic()
        finally:
            self._is_whole.set()
            self._lock.release()

    def look_for(self, wanted: str) -> list[str]:
        """Find in the tree as it is now. While it is walked for the first time, wait for a name that fits; blocks.

        Nobody asks again for what was typed then: without the wait it would look as if there were no such file.
        """
        self.look_again()
        while True:
            is_whole = self._is_whole.is_set()
            found = self.find(wanted)
            if found or is_whole:
                return found
            self._is_whole.wait(_GROWS_S)

    def find(self, wanted: str, most: int = 50) -> list[str]:
        """Return the paths that fit what was typed, the best first."""
        wanted = wanted.lstrip("./") if wanted.startswith("./") else wanted
        if not wanted:
            return self._top(most)
        found = list(self._candidates(wanted))
        ranked = nsmallest(most, found, key=lambda path: _rank(path, wanted.lower()))
        if len(ranked) < 3 and len(wanted) >= 4:
            ranked += [path for path in self._near(wanted, most) if path not in ranked]
        return ranked

    def _walk(self) -> None:
        from dogu.workspace.ignore import Ignore
        from dogu.workspace.walk import Walk

        chunks: list[bytes] = []
        names: list[bytes] = []
        size = count = 0
        started = time.monotonic()
        is_first = not self._chunks
        try:
            descriptor = fs.open(self._root, os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
        except OSError:
            return
        try:
            ignore = Ignore(self._root)
            walk = Walk(ignore, ignore.root_rules(descriptor))
            for folder in walk.folders(descriptor):
                base = os.fsencode(folder.path)
                own = [base + os.fsencode(name) for name in folder.filtered(folder.names, walk.counts)]
                names += [base, *own] if base else own
                count += len(own) + 1
                size += sum(map(len, own)) + len(base)
                if size > _CHUNK_BYTES:
                    chunks.append(_joined(names))
                    names, size = [], 0
                    if is_first:
                        self._chunks = list(chunks)
                if time.monotonic() - started > _PAUSE_AFTER_S:
                    time.sleep(0.001)
                    started = time.monotonic()
                if count > _MOST_FILES:
                    break
        finally:
            os.close(descriptor)
        self._chunks = [*chunks, _joined(names)]

    def _top(self, most: int) -> list[str]:
        paths = (path for chunk in self._chunks for path in _paths(chunk))
        near = nsmallest(most, (path for path, _ in zip(paths, range(_MOST_NEAR), strict=False)), key=_depth)
        return sorted(near, key=_depth)

    def _candidates(self, wanted: str) -> Iterator[str]:
        compiled = _compiler()
        letters = [re.escape(letter) for letter in wanted]
        between = r"[^\n]*?"
        pattern = compiled(f"(?i)[^\n]*?{between.join(letters)}[^\n]*")
        exact = compiled(f"(?i)[^\n]*{re.escape(wanted)}[^\n]*")
        count = 0
        for way in (exact, pattern):
            for chunk in self._chunks:
                for match in way.finditer(chunk):
                    count += 1
                    yield os.fsdecode(match.group(0))
                if count > _MOST_CANDIDATES:
                    return
                time.sleep(0)  # let the lock go: a key may wait
            if count:
                return

    def _near(self, wanted: str, most: int) -> list[str]:
        """Return paths whose names are a slip of the finger away."""
        from rapidfuzz import fuzz, process

        found: list[tuple[float, str]] = []
        for chunk in self._chunks:
            paths = _paths(chunk)
            names = [path.rstrip("/").rpartition("/")[2].lower() for path in paths]
            matches = process.extract(wanted.lower(), names, scorer=fuzz.ratio, score_cutoff=70, limit=most)
            found += [(-score, paths[at]) for _name, score, at in matches]
            time.sleep(0)
        return [path for _score, path in nsmallest(most, found)]


def _compiler() -> Callable[[str], Any]:
    try:
        re2: Any = import_module("re2")
    except ImportError:  # musl has no wheel of it
        return lambda pattern: re.compile(pattern.encode())
    return re2.compile


def _joined(names: list[bytes]) -> bytes:
    return b"\n".join(name for name in names if name and b"\n" not in name)


def _paths(chunk: bytes) -> list[str]:
    return [os.fsdecode(name) for name in chunk.split(b"\n") if name]


def _depth(path: str) -> tuple[int, str]:
    return path.rstrip("/").count("/"), path


def _rank(path: str, wanted: str) -> tuple[int, int, str]:
    """Order: the name begins with it, holds it, the path holds it, its letters; shorter first."""
    folded = path.lower()
    name = folded.rstrip("/").rpartition("/")[2]
    if name.startswith(wanted):
        kind = 0
    elif wanted in name:
        kind = 1
    elif wanted in folded:
        kind = 2
    else:
        kind = 3 if _is_spread(name, wanted) else 4
    return kind, len(path), path


def _is_spread(name: str, wanted: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in wanted)


_MOST_ROWS = 8  # of what is offered
_FEWEST_TYPED = 2  # of a name that Enter takes for the first that is offered
_NAME = re.compile(r"[a-z][a-z-]*")
_WITH_A_KEY = frozenset(("mode",))
_AT = re.compile(r"""(?:^|(?<=[\s(\[{"'「『（【]))@(?:"([^"\n]*)|'([^'\n]*)|((?:\\.|[^\s\\"'`])*))$""")
_PLAIN = re.compile(r"[A-Za-z0-9_./+@~=%-]*[A-Za-z0-9_/+@~=%-]")


def completion_lines(state: CompletionState, style: Style, columns: int, *, takes_first: bool = False) -> list[str]:
    """Return the painted lines of what may be completed: two columns around the chosen one, and how many there are.

    `takes_first`: Enter takes the first of them where none is chosen.
    """
    completions = state.completions
    at = state.complete_index or 0
    first = max(0, min(at - _MOST_ROWS // 2, len(completions) - _MOST_ROWS))
    shown = completions[first : first + _MOST_ROWS]
    has_meta = any(each.display_meta_text for each in shown)
    widest = max((width_of(each.display_text) for each in shown), default=0)
    side = min(widest, columns // 2 if has_meta else columns - 4)
    lines: list[str] = []
    for number, each in enumerate(shown, first):
        is_chosen = number == (0 if takes_first and state.complete_index is None else state.complete_index)
        name = fit(each.display_text, side)
        name += " " * (side - width_of(name))
        left = columns - side - 6
        meta = fit(each.display_meta_text, left) if left > _LEAST_META else ""
        mark = style.paint("❯", "cyan", "bold") if is_chosen else " "
        look = ("cyan", "bold") if is_chosen else ("bold",)
        lines.append(f"{mark} {style.paint(name, *look)}  {style.paint(meta, 'dim')}".rstrip())
    if len(completions) > len(shown):
        lines.append(style.paint(f"  {at + 1}/{len(completions)}", "dim"))
    return lines


def may_complete(document: Document) -> bool:
    """Whether what stands before the cursor may be completed: no other key starts a search, or costs a frame for it."""
    return document.text_before_cursor.startswith("/") or "@" in document.current_line_before_cursor


class InputCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(self, index: FileIndex) -> None:
        self._index = index
        self._commands = SlashCommands()

    def use(self, commands: SlashCommands) -> None:
        """Complete these commands from now on."""
        self._commands = commands

    def whole(self, text: str) -> str:
        """Return a `/` command that is but begun with the name of the first one that is offered for it, else the text.

        One that needs more than its name ends with a blank.
        """
        name = text.removeprefix("/")
        if not text.startswith("/") or len(name) < _FEWEST_TYPED or not _NAME.fullmatch(name):
            return text
        if self._commands.get(name) is not None or not (fitting := self._fitting(name)):
            return text
        first = fitting[0]
        needs_more = first.arguments and not first.arguments.startswith("[") and first.offers is None
        return f"/{first.name} " if needs_more else f"/{first.name}"

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return what fits; runs in a thread of its own."""
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            yield from self._slash(before[1:])
            return
        match = _AT.search(document.current_line_before_cursor)
        if match is None:
            return
        wanted = match[1] or match[2] or re.sub(r"\\(.)", r"\1", match[3] or "")
        for path in self._index.look_for(wanted):
            shown = visible_line(path)
            yield Completion(f"@{quoted(path)}", start_position=-len(match[0]), display=shown)

    def _slash(self, typed: str) -> Iterable[Completion]:
        name, space, start = typed.partition(" ")
        if space:
            command = self._commands.get(name)
            for words in command.complete(start) if command is not None else ():
                yield Completion(words, start_position=-len(start), display=visible_line(words))
            return
        for command in self._fitting(name):
            yield Completion(
                f"{command.name} " if command.arguments else command.name,
                start_position=-len(name),
                display=visible_line(f"/{command.name}"),
                display_meta=visible_line(command.help),
            )

    def _fitting(self, name: str) -> list[SlashCommand]:
        """Return the commands that begin so; where none does, the one that another agent calls so."""
        fitting = [command for command in self._commands if command.name.startswith(name)]
        if not fitting:
            other = next((ours for theirs, ours in OTHER_NAMES.items() if name and theirs.startswith(name)), "")
            fitting = [command for command in self._commands if command.name == other]
        return sorted(fitting, key=lambda command: command.name in _WITH_A_KEY) if name else fitting


def quoted(path: str) -> str:
    r"""Return the path as it is written after `@`: bare where that is plain, else in quotes, else with `\`."""
    if _PLAIN.fullmatch(path):
        return path
    if '"' not in path:
        return f'"{path}"'
    if "'" not in path:
        return f"'{path}'"
    return re.sub(r"""([\s\\"'`.,:;!?)\]}])""", r"\\\1", path)


_MOST_READ_BYTES = 512 * 1024
_MOST_FILE_BYTES = 2 * 1024 * 1024
_MOST_ENTRY_CHARS = 20_000


class FolderHistory(History):
    """Reads the last half megabyte when it is first needed, and appends; what can't be kept isn't."""

    def __init__(self, state_folder: str, root: str) -> None:
        super().__init__()

        name = blake2b(os.fsencode(root), digest_size=12).hexdigest()
        self._path = os.path.join(state_folder, "history", f"{name}.jsonl")

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed, the newest first."""
        try:
            with open(self._path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _MOST_READ_BYTES))
                lines = file.read().split(b"\n")
        except OSError:
            return []
        found: list[str] = []
        for line in reversed(lines):
            try:
                text = msgspec.json.decode(line, type=str)
            except msgspec.DecodeError:
                continue  # cut at the beginning, or torn by a crash
            if not found or found[-1] != text:
                found.append(text)
        return found

    def store_string(self, string: str) -> None:
        """Append what was typed."""
        line = msgspec.json.encode(string[:_MOST_ENTRY_CHARS].encode("utf-8", "replace").decode()) + b"\n"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | fs.O_CLOEXEC
            with os.fdopen(fs.open(self._path, flags, 0o600), "ab") as file:
                if file.tell() > _MOST_FILE_BYTES:
                    self._shorten()
                file.write(line)
        except OSError:
            return  # a full disk must not stop the conversation

    def _shorten(self) -> None:
        with open(self._path, "r+b") as file:
            file.seek(-_MOST_READ_BYTES, os.SEEK_END)
            file.readline()
            kept = file.read()
            file.seek(0)
            file.write(kept)
            file.truncate()
