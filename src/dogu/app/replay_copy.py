"""The copy of a session's workspace that `dogu replay` works in: all of its roots, as they were before its first call.

The copy is made of the roots as they are now; what the session changed is first put back in it to what it was before,
from the journal. Files that the session only read are as they are now.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from dogu.app.options import Options
from dogu.app.undoing import entries_and_kept
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say, told
from dogu.runtime.journal.entries import PathChange, net_changes
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import State
from dogu.runtime.journal.undo import put_back
from dogu.runtime.session_folder import StoredSession
from dogu.workspace import fs
from dogu.workspace.roots import Roots

_MOST_NOTED = 20


class Replay(msgspec.Struct, frozen=True):
    """A copy ready to be worked in, below `base`; `notes` say what can't be as it was.

    `roots` pairs each root of the session (the primary one first) with the folder in the copy that stands for it.
    """

    base: str
    roots: tuple[tuple[str, str], ...]
    session: StoredSession
    notes: tuple[str, ...] = ()

    def there(self, text: str) -> str:
        """Return a text with the copy's paths where it names the workspace's."""
        return _renamed(text, self.roots)

    def back(self, text: str) -> str:
        """Return a text with the workspace's paths where it names the copy's."""
        return _renamed(text, [(copy, origin) for origin, copy in self.roots])


@contextmanager
def copied_workspace(options: Options, stored: StoredSession) -> Generator[Replay]:
    """Copy the session's roots and put back in them what the session changed; the copy goes at the end.

    Raises `ToolError` (NOT_FOUND: the primary root is gone) and OSError.
    """
    primary = next(iter(stored.facts.roots), "")
    if not os.path.isdir(primary):
        raise ToolError(ErrorKind.NOT_FOUND, told("The folder that session worked in is gone: {roots}.", roots=primary))
    base = os.path.realpath(tempfile.mkdtemp(prefix="dogu-replay-"))
    try:
        present = [root for root in stored.facts.roots if os.path.isdir(root)]
        notes = [
            say("Not copied: {path} ({why})", path=root, why=say("it is gone"))
            for root in stored.facts.roots
            if root not in present
        ]
        replay = Replay(base, tuple(zip(present, _places(present, base), strict=True)), stored)
        for origin, copy in replay.roots:
            if not os.path.lexists(copy):  # one within another is there already
                notes += _copy(origin, copy, options.state_folder)
        _relink(replay)
        notes += _put_back(options, replay)
        for name in ("home", "tmp", "outputs"):
            os.mkdir(os.path.join(base, name))
        yield msgspec.structs.replace(replay, notes=tuple(notes))
    finally:
        shutil.rmtree(base, onerror=_make_removable)


def _places(roots: list[str], base: str) -> list[str]:
    """Where each root's copy lies: one within another, within its copy; the others in folders of their own."""
    places: dict[str, str] = {}
    for root in sorted(roots, key=len):
        outer = max((each for each in places if _is_within(root, each)), key=len, default="")
        folder = os.path.join(base, f"root-{roots.index(root) + 1}", os.path.basename(root) or "root")
        places[root] = f"{places[outer]}/{root[len(outer) :].strip('/')}" if outer else folder
    return [places[root] for root in roots]


def _is_within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _renamed(text: str, names: Any) -> str:
    """Replace paths and what lies below them, all in one pass; the longest that fits counts."""
    table = dict(names)
    words = "|".join(re.escape(name) for name in sorted(table, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{words})(?![\w.-])", lambda match: table[match[0]], text)


def moved(value: Any, replay: Replay) -> Any:
    """Return a call's arguments with the copy's paths where they name the workspace's."""
    if isinstance(value, str):
        return replay.there(value)
    if isinstance(value, Mapping):
        return {key: moved(each, replay) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [moved(each, replay) for each in cast("list[Any]", value)]
    return value


def _copy(origin: str, root: str, state_folder: str) -> list[str]:
    """Copy a folder, links as links, without what isn't a file, a folder or a link; say what couldn't be."""
    state = os.path.realpath(state_folder)

    def skipped(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if _is_skipped(os.path.join(folder, name), state)]

    try:
        shutil.copytree(origin, root, symlinks=True, ignore=skipped)
    except shutil.Error as error:
        failed = cast("list[tuple[str, str, str]]", error.args[0])
        return [say("Not copied: {path} ({why})", path=path, why=why) for path, _, why in failed[:_MOST_NOTED]]
    return []


def _is_skipped(path: str, state: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return True
    is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
    return not is_kept or os.path.realpath(path) == state


def _relink(replay: Replay) -> None:
    """Let links that lead into a root by their whole path lead into its copy."""
    for _, copy in replay.roots:
        for folder, folders, files in os.walk(copy):
            for path in (os.path.join(folder, name) for name in (*folders, *files)):
                if os.path.islink(path):
                    target = os.readlink(path)
                    if target.startswith("/") and (there := replay.there(target)) != target:
                        os.unlink(path)
                        fs.symlink(there, path)


def _put_back(options: Options, replay: Replay) -> list[str]:
    """Bring what the session changed back to before its first call; say what can't be."""
    entries, kept = entries_and_kept(options, replay.session)
    net, _ = net_changes(entries)
    inside = {
        replay.there(path): _in_copy(change, replay)
        for path, change in net.items()
        if any(_is_within(path, origin) for origin, _ in replay.roots)
    }
    primary, *also = [copy for _, copy in replay.roots]
    refused = put_back(inside, JournalReach(Roots(primary, also)), kept)
    notes = [say("Not as it was: {path} ({why})", path=replay.back(each.path), why=each.reason) for each in refused]
    if any(entry.notes for entry in entries):
        notes.append(say("Some changes of commands could not be followed then: what they changed is as it is now."))
    return notes


def _in_copy(change: PathChange, replay: Replay) -> PathChange:
    return msgspec.structs.replace(
        change, before=_linked_in(change.before, replay), after=_linked_in(change.after, replay)
    )


def _linked_in(state: State, replay: Replay) -> State:
    """A link's state with its target in the copy, where it led into a root by its whole path."""
    if not state.target.startswith(b"/"):
        return state
    return msgspec.structs.replace(state, target=os.fsencode(replay.there(os.fsdecode(state.target))))


def _make_removable(remove: Any, path: str, _error: Any) -> None:
    """A folder of the copy may be closed even to its owner."""
    os.chmod(os.path.dirname(path), 0o700)
    if not os.path.islink(path):
        os.chmod(path, 0o700)
    remove(path)
