"""What may be on a disk when the power goes: a model over the system calls that a program made, as strace(1) told them.

Every change that was not yet asked to be on the disk may be there or not, each for itself, and data also half written
or as zeros. Source: Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014 (ALICE).
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

CALLS = (
    "open,openat,openat2,creat,write,pwrite64,ftruncate,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,"
    "link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir"
)
_LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:[< ].*)?")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_HANDLE = re.compile(r"(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>")
_MOST_UNSYNCED = 8

Tree = Mapping[str, bytes | None]  # path to content; None for a folder


@dataclass
class _Change:
    """Names that came to mean something else, or bytes of a file that did; a sync is a change of nothing."""

    folders: frozenset[str] = frozenset()
    names: dict[str, int | None] = field(default_factory=dict[str, int | None])
    file: int = -1
    data: bytes | None = None  # None: cut to `offset`
    offset: int = 0
    is_durable_from: int = 1 << 60  # the step after which it is on the disk for good

    def on(self, content: bytes, variant: int) -> bytes:
        if self.data is None:
            return content[: self.offset].ljust(self.offset, b"\0")
        kept = {1: self.data, 2: self.data[: len(self.data) // 2], 3: bytes(len(self.data))}[variant]
        content = content.ljust(self.offset, b"\0")
        return content[: self.offset] + kept + content[self.offset + len(kept) :]


class Trace:
    """The changes that a trace tells, from the tree that was there before."""

    def __init__(self, before: Tree, lines: Sequence[str]) -> None:
        self._numbers = itertools.count()
        self._first = {path: next(self._numbers) for path in before}
        self._contents = {self._first[path]: content for path, content in before.items()}
        self._names: dict[str, int] = dict(self._first)
        self._tops = tuple(path + "/" for path, content in before.items() if content is None)
        self.changes: list[_Change] = []
        for line in lines:
            if found := _LINE.fullmatch(line.strip()):
                name, words, result = found.groups()
                if int(result) >= 0:
                    self._call(name, words, int(result))

    def states(self) -> Iterator[tuple[bool, dict[str, bytes | None]]]:
        """Every tree that a loss of power may leave, and whether the program had come to its end by then."""
        for step in range(len(self.changes) + 1):
            done = self.changes[:step]
            loose = [change for change in done if change.is_durable_from > step]
            assert len(loose) <= _MOST_UNSYNCED, "too many changes that nobody synced"
            variants = [(0, 1, 2, 3) if change.data is not None else (0, 1) for change in loose]
            for chosen in itertools.product(*variants):
                of = dict(zip(map(id, loose), chosen, strict=True))
                yield step == len(self.changes), self._tree([(c, of.get(id(c), 1)) for c in done])

    def _tree(self, changes: Sequence[tuple[_Change, int]]) -> dict[str, bytes | None]:
        names: dict[str, int | None] = dict(self._first)
        contents = dict(self._contents)
        for change, variant in changes:
            if not variant:
                continue
            names.update(change.names)
            if change.file >= 0:
                contents[change.file] = change.on(contents.get(change.file) or b"", variant)
        found = {path: contents.get(number, b"") for path, number in names.items() if number is not None}
        return {
            path: content for path, content in found.items() if os.path.dirname(path) in found or path in self._first
        }

    def _call(self, name: str, words: str, result: int) -> None:
        handles = [_text(found) for found in _HANDLE.findall(words)]
        texts = [_text(found) for found in _TEXT.findall(re.sub(r"<[^>]*>", "", words))]
        if name in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync"):
            self._of_handle(name, handles[0], words, texts, result)
            return
        paths = [_absolute(handles, at, text) for at, text in enumerate(texts)]
        if not paths or not any(path.startswith(self._tops) for path in paths):
            return
        self._of_names(name, words, paths)

    def _of_handle(self, name: str, path: str, words: str, texts: Sequence[str], result: int) -> None:
        number = self._names.get(path)
        if number is None:
            return
        if name in ("fsync", "fdatasync"):
            self.changes.append(_Change(is_durable_from=0))  # a step of its own: the power may go before it
            for change in self.changes:
                if change.file == number or path in change.folders:
                    change.is_durable_from = min(change.is_durable_from, len(self.changes))
            return
        offset = int(words.rpartition(",")[2])
        data = None if name == "ftruncate" else texts[0].encode("latin-1")[:result]
        assert name != "write", f"a write without an offset isn't modelled: {path}"
        self.changes.append(_Change(file=number, data=data, offset=offset))

    def _of_names(self, name: str, words: str, paths: Sequence[str]) -> None:
        one, other = paths[0], paths[-1]
        if name.startswith(("open", "creat")):
            if "O_CREAT" not in words or one in self._names:
                return
            changed: dict[str, int | None] = {one: next(self._numbers)}
        elif name.startswith("mkdir"):
            changed = {one: next(self._numbers)}
            self._contents[changed[one] or 0] = None
        elif name.startswith(("unlink", "rmdir")):
            changed = {one: None}
        elif "RENAME_EXCHANGE" in words:
            changed = {one: self._names[other], other: self._names[one]}
        else:
            changed = {other: self._names[one]}
            if name.startswith("rename"):
                changed[one] = None
        self.changes.append(_Change(frozenset(map(os.path.dirname, changed)), changed))
        self._names = {path: n for path, n in {**self._names, **changed}.items() if n is not None}


def _text(escaped: str) -> str:
    return bytes.fromhex(escaped.replace("\\x", "")).decode("latin-1")


def _absolute(handles: Sequence[str], at: int, text: str) -> str:
    folder = handles[min(at, len(handles) - 1)] if handles else "/"
    return os.path.normpath(os.path.join(folder, text))
