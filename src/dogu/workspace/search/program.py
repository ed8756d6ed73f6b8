"""Run a search program in an open folder, within a time limit, leaving no process behind however it ends.

`git grep` or `grep` name the files that hold a plain text, for the engine in the process to look at. Only names come
from them; no program that a repository's configuration names is run.
Source: git-grep(1), git-config(1).
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, NamedTuple

import msgspec

from dogu.language import told
from dogu.workspace.ignore import DEFAULT_EXCLUDED
from dogu.workspace.search.query import SearchLimits, SearchQuery
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, path_of

_CHUNK_BYTES = 1 << 18
_GIT_SAFE = ("core.fsmonitor=", "core.pager=cat", "core.hooksPath=/dev/null", "safe.bareRepository=explicit")
_GIT_ENVIRON = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_POLL_S = 0.05
# A program that writes file by file would wake us, and so be held up, once a file: what comes little by little is left
# to gather in the pipe.
_SMALL_BYTES = 1 << 12
_GATHER_S = 0.001
_KEPT_ERROR_BYTES = 1 << 16
_DENIED = b"ermission denied"


class Outcome(msgspec.Struct):
    """How a program ended: `exit_code` is None when it was stopped, because of the time or because enough was read.

    `errors` is how its standard error begins; `denied` counts its complaints of files that it may not read.
    """

    exit_code: int | None = None
    errors: bytes = b""
    denied: int = 0


class Program(msgspec.Struct, frozen=True):
    """What to run: the words, the folder to run in (a descriptor, or None where it doesn't matter), and descriptors
    that the program is to have; on Windows one, as its standard input."""

    words: Sequence[str]
    folder: int | None = None
    descriptors: Sequence[int] = ()
    environ: Mapping[str, str] | None = None

    def run(self, take: Callable[[bytes], bool], limits: SearchLimits) -> Outcome:
        """Run it and hand each piece of its output to `take`, until that says False or a limit is reached.

        Raises OSError when the program can't be started.
        """
        with subprocess.Popen(
            self.words,
            stdin=self._input(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._place(),
            pass_fds=() if IS_WINDOWS else tuple(self.descriptors),
            env=self.environ,
            bufsize=0,
        ) as process:
            follow = _follow_by_threads if IS_WINDOWS else _follow
            try:
                return follow(process, take, limits)
            finally:
                process.kill()

    def _input(self) -> int:
        if not IS_WINDOWS or not self.descriptors:
            return subprocess.DEVNULL
        os.lseek(self.descriptors[0], 0, os.SEEK_SET)
        return self.descriptors[0]

    def _place(self) -> str:
        if self.folder is None:
            return os.path.abspath(os.sep)
        return path_of(self.folder) if IS_WINDOWS else f"/proc/self/fd/{self.folder}"


def _follow(process: subprocess.Popen[bytes], take: Callable[[bytes], bool], limits: SearchLimits) -> Outcome:
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = process.stdout.fileno(), process.stderr.fileno()
    outcome = Outcome()
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        selector.register(errors, selectors.EVENT_READ)
        while selector.get_map():
            if time.monotonic() > limits.deadline or (limits.go_on is not None and not limits.go_on()):
                return outcome
            for key, _ in selector.select(_POLL_S):
                data = os.read(key.fd, _CHUNK_BYTES)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == errors:
                    _note(outcome, data)
                elif not take(data):
                    return outcome
                elif len(data) < _SMALL_BYTES:
                    time.sleep(_GATHER_S)
    outcome.exit_code = process.wait()
    return outcome


def _follow_by_threads(
    process: subprocess.Popen[bytes], take: Callable[[bytes], bool], limits: SearchLimits
) -> Outcome:
    """As `_follow`, where pipes can't be waited for together. The threads end with the program."""
    pieces: SimpleQueue[tuple[bool, bytes]] = SimpleQueue()

    def read(stream: IO[bytes] | None) -> None:
        while stream is not None and (data := stream.read(_CHUNK_BYTES)):
            pieces.put((stream is process.stderr, data))
        pieces.put((False, b""))

    streams = (process.stdout, process.stderr)
    threads = [threading.Thread(target=read, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    try:
        return _taken(process, pieces, take, limits)
    finally:
        process.kill()
        for thread in threads:
            thread.join()


def _taken(
    process: subprocess.Popen[bytes],
    pieces: SimpleQueue[tuple[bool, bytes]],
    take: Callable[[bytes], bool],
    limits: SearchLimits,
) -> Outcome:
    outcome, open_streams = Outcome(), 2
    while open_streams:
        if time.monotonic() > limits.deadline or (limits.go_on is not None and not limits.go_on()):
            return outcome
        with suppress(Empty):
            is_error, data = pieces.get(timeout=_POLL_S)
            if is_error:
                _note(outcome, data)
            elif not data:
                open_streams -= 1
            elif not take(data):
                return outcome
    outcome.exit_code = process.wait()
    return outcome


def _note(outcome: Outcome, data: bytes) -> None:
    outcome.denied += data.count(_DENIED)
    if len(outcome.errors) < _KEPT_ERROR_BYTES:
        outcome.errors += data


_PACKAGES = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))


def find_program(name: str) -> str | None:
    """Return the path of a program: where a wheel puts it, else on PATH's absolute folders.

    That is beside the interpreter, or by `pip install --target` in `bin` beside the packages.
    """
    beside = os.path.dirname(sys.executable)
    folders = [beside, os.path.join(beside, "Scripts")] if IS_WINDOWS else [beside]
    folders.append(os.path.join(_PACKAGES, "bin"))
    for folder in (*folders, *os.environ.get("PATH", os.defpath).split(os.pathsep)):
        path = os.path.join(folder, f"{name}.exe" if IS_WINDOWS else name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


class Engines(NamedTuple):
    """Which programs may be used: `rg` is its path, or None to do without; `nominates` allows `git grep` and `grep`."""

    rg: str | None
    nominates: bool = True

    @classmethod
    def found(cls) -> Engines:
        """Return what this machine has, and can be handed open files: by `/proc` on Linux, one by one on Windows."""
        return cls(find_program("rg") if IS_LINUX or IS_WINDOWS else None, nominates=IS_LINUX)


class Nominated(msgspec.Struct):
    """Files that may match, relative to the folder; `notes` say what the program doesn't look at."""

    program: str
    paths: list[str] = msgspec.field(default_factory=list[str])
    notes: list[str] = msgspec.field(default_factory=list[str])


def nominate(query: SearchQuery, folder: int, in_repository: bool, limits: SearchLimits) -> Nominated | None:
    """Name the files below a folder's handle that hold the query's text; None when no program can answer that.

    Only plain ASCII text within a line is asked for: everything else depends on a dialect or a locale.
    """
    is_plain = query.fixed_strings or not _META.search(query.pattern)
    if not is_plain or not query.pattern.isascii() or query.spans_lines or not query.pattern:
        return None
    case = [] if query.case_sensitive else ["--ignore-case"]
    if in_repository and query.respect_git_ignore:
        git = find_program("git")
        if git is not None:
            safe = [word for setting in _GIT_SAFE for word in ("-c", setting)]
            words = [git, "--no-pager", *safe, "grep", "--untracked", "--no-textconv", "-I", "-l", "-z", "-F", *case]
            return _run("git grep", [*words, "-e", query.pattern, "--", "."], folder, limits)
    grep = find_program("grep")
    if grep is None:
        return None
    excluded = [f"--exclude-dir={name}" for name in sorted(DEFAULT_EXCLUDED)]
    words = [grep, "-r", "-l", "-Z", "-I", "-F", "--devices=skip", *case, *excluded]
    return _run("grep", [*words, "-e", query.pattern, "--", "."], folder, limits)


def _run(name: str, words: list[str], folder: int, limits: SearchLimits) -> Nominated | None:
    pieces: list[bytes] = []

    def take(data: bytes) -> bool:
        pieces.append(data)
        return True

    outcome = Program(words, folder, environ={**os.environ, **_GIT_ENVIRON}).run(take, limits)
    if outcome.exit_code not in (0, 1) and not pieces:
        return None
    names = [os.fsdecode(path.removeprefix(b"./")) for path in b"".join(pieces).split(b"\0") if path]
    if name == "git grep":
        note = told("Searched by {name}: UTF-16 files and repositories inside this one were not looked at", name=name)
    else:
        note = told("Searched by {name}: UTF-16 files were not looked at", name=name)
    return Nominated(name, names, [note])
