"""What is undone as a whole or not at all: git's repositories, databases of several files, what other programs hold."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.choice import within
from dogu.runtime.journal.entries import Entries, Entry, PathChange
from dogu.runtime.journal.kept import Kept
from dogu.runtime.journal.states import Seen, State
from dogu.runtime.journal.steps import FORCE, Step, UndoRefusal
from dogu.workspace.fs import walked
from dogu.workspace.held import Head, beside, companions, git_folder, head_of, held, related, untold
from dogu.workspace.sandbox.places import parents
from dogu.workspace.small_file import open_regular_file

_REFS = ("HEAD", "packed-refs", "refs", "worktrees")
_OBJECT = re.compile("[0-9a-f]{2}/[0-9a-f]{38,62}")


class Units:
    """Says what belongs together among the paths of `calls` (the oldest first), which are to be undone.

    `look` says what a path holds now.
    """

    def __init__(self, kept: Kept, known: Entries, calls: Sequence[Entry], look: Callable[[str, State], Seen]) -> None:
        self._kept = kept
        self._known = known
        self._calls = calls
        self._look = look

    def with_companions(self, net: Mapping[str, PathChange], wanted: str) -> list[str]:
        """Return the paths that are wanted, where moved ones of them lay, and what is one thing with a wanted file."""
        paths = within(net, wanted)
        if not wanted:
            return paths
        moved = _moved_to(net, paths)
        moved += _homes(net, [*paths, *moved])
        if paths == [wanted] and not moved:
            head = self._head_of({path: change.before for path, change in net.items()})
            paths += sorted(companions(net, paths, head))
        paths += moved
        return [*paths, *_folders_of(net, paths)]

    def whole(
        self,
        steps: Sequence[Step],
        refused: Sequence[UndoRefusal],
        unchanged: Collection[str],
        folders: Sequence[str],
        *,
        force: bool,
    ) -> tuple[list[Step], list[UndoRefusal]]:
        """Leave out what would be taken back without what belongs to it; `unchanged` are as before the calls."""
        changed = {change.path for entry in self._known.with_changes() for change in entry.changes}
        steps, apart = _repositories(steps, refused, changed, self._calls[-1].last_s, force=force)
        steps, others = self._not_held(steps, refused, folders, force=force)
        steps, outrun = self._not_outrun(steps, unchanged)
        return steps, [*apart, *others, *outrun]

    def with_homes(
        self, steps: Sequence[Step], refused: Sequence[UndoRefusal], net: Mapping[str, PathChange]
    ) -> tuple[list[Step], list[UndoRefusal]]:
        """Leave out what would take away a file that lay at another path, which stays as it is: nowhere else is it."""
        needs = {each.path: each.needs for each in refused}
        homes: dict[str, list[str]] = {}
        for path, change in net.items():
            if change.before.kind == "file" and change.before.size and not change.before.has_same_content(change.after):
                homes.setdefault(change.before.digest, []).append(path)
        coming = {step.target.digest for step in steps}
        left: list[UndoRefusal] = []
        for step in steps:
            now = step.now.state
            is_going = now.kind == "file" and not now.has_same_content(step.target) and now.digest not in coming
            places = homes.get(now.digest, []) if is_going else []
            if places and all(place in needs for place in places):
                why = told("what it holds lay at {path} before, which stays as it is", path=places[0])
                left.append(UndoRefusal(step.path, why, needs=needs[places[0]]))
        gone = {each.path for each in left}
        return [step for step in steps if step.path not in gone], left

    def _not_held(
        self, steps: Sequence[Step], refused: Sequence[UndoRefusal], folders: Sequence[str], *, force: bool
    ) -> tuple[list[Step], list[UndoRefusal]]:
        """Leave out what another program has open or locked, and what belongs to that or to a path refused."""
        targets = {step.path: step.target for step in steps}
        head = self._head_of(targets)
        now = held(targets, folders, head)
        kin = related(targets, now.union(each.path for each in refused if each.needs), head) - now
        why_held = told("another program has it open or locked: it can be undone when that is over")
        why_kin = told("it belongs with another file in its folder that stays as it is")
        left = [UndoRefusal(path, why_held) for path in targets if path in now]
        left += [UndoRefusal(path, why_kin, needs="" if now else FORCE) for path in targets if path in kin]
        theirs = set[str]() if force else untold(targets, head) - now - kin
        why_theirs = told("it is another user's, who may have it open")
        left += [UndoRefusal(path, why_theirs, needs=FORCE) for path in targets if path in theirs]
        return [step for step in steps if step.path not in now | kin | theirs], left

    def _not_outrun(self, steps: Sequence[Step], unchanged: Collection[str]) -> tuple[list[Step], list[UndoRefusal]]:
        """Leave out what is one thing with a file that isn't taken back and was written since.

        Also where it is forced: a database is broken by an older journal of its own.
        """
        targets = {step.path: step.target for step in steps}
        left: list[UndoRefusal] = []
        for path, others in beside(targets, self._head_of(targets)).items():
            newer = next((other for other in others if other not in unchanged and self._is_newer(other)), "")
            if newer:
                name = os.path.basename(newer)
                why = told("it belongs with {name}, which was written since and isn't undone", name=name)
                left.append(UndoRefusal(path, why))
        gone = {each.path for each in left}
        return [step for step in steps if step.path not in gone], left

    def _is_newer(self, path: str) -> bool:
        """Whether a file was written after the calls, by whomever, and isn't again as it was."""
        newest = self._calls[-1]
        entries = [each for each in self._known.with_changes() if any(path == one.path for one in each.changes)]
        later = (each for each in entries if each.number > newest.number and not each.is_undo)
        if any(path == change.path for entry in later for change in entry.open_changes()):
            return True
        try:
            if not entries:
                return os.lstat(path).st_ctime_ns > newest.last_s * 1e9
            last = next(change for change in entries[-1].changes if change.path == path)
            return not self._look(path, last.after).state.has_same_content(last.after)
        except (OSError, ToolError):
            return False

    def _head_of(self, targets: Mapping[str, State]) -> Head:
        """Give the beginning of what a path holds, or where nothing is, of what it shall hold."""

        def head(path: str) -> bytes | None:
            found = head_of(path)
            target = targets.get(path)
            return self._kept.head(target) if found is None and target is not None and target.kind == "file" else found

        return head


def _moved_to(net: Mapping[str, PathChange], paths: Collection[str]) -> list[str]:
    """Return where the files that have left these paths lie now."""
    came = {
        change.after.digest: path
        for path, change in net.items()
        if change.before.kind == "missing" and change.after.kind == "file" and change.after.size
    }
    left = (net[path].before for path in paths if net[path].after.kind == "missing")
    return sorted({came[each.digest] for each in left if each.digest in came}.difference(paths))


def _folders_of(net: Mapping[str, PathChange], paths: Collection[str]) -> list[str]:
    """Return the folders that went and that these paths need again."""
    gone = {path for path, change in net.items() if change.before.kind == "folder" != change.after.kind}
    found = {above for path in paths for above in takewhile(gone.__contains__, parents(path))}
    return sorted(found.difference(paths))


def _homes(net: Mapping[str, PathChange], paths: Collection[str]) -> list[str]:
    """Return the paths that files which these hold have left."""
    left = {
        path: change.before.digest
        for path, change in net.items()
        if change.before.kind == "file" and change.before.size and change.after.kind == "missing"
    }
    came = {
        path: change.after.digest
        for path, change in net.items()
        if change.before.kind == "missing" and change.after.kind == "file"
    }
    by_content = {digest: path for path, digest in left.items()}
    # Moved and then edited: what is nowhere any more, of the same name, or the only one.
    lost = [path for path, digest in left.items() if digest not in came.values()]
    others = [path for path, digest in came.items() if digest not in by_content]
    found: set[str] = set()
    for path in paths:
        homes = [by_content[net[path].after.digest]] if came.get(path) in by_content else []
        if path in others:
            homes = _likest(path, lost) or (lost if len(lost) == len(others) == 1 else [])
        found.update(homes)
    return sorted(found.difference(paths))


def _likest(path: str, others: Sequence[str]) -> list[str]:
    """Return those of the paths that end as this one does, in as many names as any of them and at least in one."""

    def shared(other: str) -> int:
        pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
        return len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])

    most = max(map(shared, others), default=0)
    return [other for other in others if most and shared(other) == most]


def _repositories(
    steps: Sequence[Step], refused: Sequence[UndoRefusal], known: Collection[str], since_s: float, *, force: bool
) -> tuple[list[Step], list[UndoRefusal]]:
    """Leave out what belongs to a repository in which somebody has changed something since a time, unless forced.

    `known` are the paths that the journal knows to be changed by calls. Forced, objects that were made stay: git
    removes by itself what nothing names.
    """
    touched = {folder for each in refused if (folder := git_folder(each.path))}
    for folder in {git_folder(step.path) for step in steps} - touched - {""}:
        going = _objects_going(steps, folder)
        if any(path not in known and _is_in_need(path, going) for path in _newer_refs(folder, since_s)):
            touched.add(folder)
    left: list[Step] = []
    more: list[UndoRefusal] = []
    for step in steps:
        folder = git_folder(step.path)
        if folder not in touched:
            left.append(step)
        elif not force:
            why = told("the repository was changed since, and is undone as a whole or not at all")
            more.append(UndoRefusal(step.path, why, needs=FORCE))
        elif not (step.target.kind == "missing" and step.path.startswith(f"{folder}/objects/")):
            left.append(step)
    return left, more


def _newer_refs(folder: str, since_s: float) -> Iterator[str]:
    """Give the files that say where branches stand and that were written after a time (POSIX).

    Git writes each anew; an undo, which may be another session's, gives them their time back.
    """
    for name in _REFS:
        path = os.path.join(folder, name)
        for base, _, names in [("", [], [path]), *walked(path)]:
            for each in (os.path.join(base, name) for name in names):
                try:
                    status = os.lstat(each)
                except OSError:
                    continue
                if not os.path.isdir(each) and status.st_mtime > since_s:
                    yield each


def _objects_going(steps: Sequence[Step], folder: str) -> list[bytes] | None:
    """Return the hashes of a repository's objects that are to go; None where packs of them are."""
    store = f"{folder}/objects/"
    names = [step.path[len(store) :] for step in steps if step.target.kind == "missing" and step.path.startswith(store)]
    if any(name.endswith(".pack") for name in names):
        return None
    return [bytes.fromhex(name.replace("/", "")) for name in names if _OBJECT.fullmatch(name)]


def _is_in_need(path: str, going: Sequence[bytes] | None) -> bool:
    """Whether a file of a repository stands against objects going: a working tree's index only if it names one.

    Git writes indexes anew where somebody only looks (`git status`).
    """
    if os.path.basename(path) != "index" or going is None:
        return True
    try:
        with open_regular_file(path) as stream:
            data = stream.read()
    except OSError:
        return True
    return any(each in data for each in going)
