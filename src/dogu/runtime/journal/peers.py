"""Files of several names (hard links): which names they have, and which they are to have when a step is done."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.reach import JournalReach, look_at
from dogu.runtime.journal.states import Seen, State
from dogu.runtime.journal.steps import Step
from dogu.workspace.linked import names_of_linked


def without_foreign_names(steps: Sequence[Step], reach: JournalReach) -> list[Step]:
    """Mark the files of several names that are one with others than they shall be one with: those aren't written to."""
    names = names_by_file(steps, reach)
    leaving = {os.fsencode(step.path) for step in steps if step.target.links < 2 or step.is_parted}
    leaving |= {os.fsencode(step.path) for step in steps if step.target.kind != "file"}
    put = {os.fsencode(step.path): step.keeps_names for step in steps if not step.keeps_content}

    def is_another(step: Step) -> bool:
        wanted = {os.fsencode(step.path), *step.target.peers}
        if len(wanted) < 2 or not step.keeps_names:
            return False
        if {*peers_now(step, names, reach)} - wanted - leaving:
            return True
        # They become one with a name that stays as it is, else with the first of those that are written to.
        first = min(sorted(wanted), key=lambda path: 0 if path not in put else 1 if put[path] else 2)
        return not _is_one(first, step.now.status)

    return [msgspec.structs.replace(step, is_another=True) if is_another(step) else step for step in steps]


def names_by_file(steps: Sequence[Step], reach: JournalReach) -> dict[tuple[int, int], list[str]]:
    """Return the names of the files that have several, where the folders aren't too large to look for all of them."""
    found: dict[tuple[int, int], list[str]] = {}
    links: dict[tuple[int, int], int] = {}
    for step in steps:
        status = step.now.status
        if status is not None and status.st_nlink > 1 and step.now.state.kind != "folder":
            found.setdefault((status.st_dev, status.st_ino), []).append(step.path)
            links[(status.st_dev, status.st_ino)] = status.st_nlink
    others = names_of_linked(reach.folders) if any(len(found[file]) < count for file, count in links.items()) else {}
    for file, names in found.items():
        names += [path for path in others.get(file[1], ()) if path not in names]
    return found


def is_parted(before: State, after: State, seen: Seen, reach: JournalReach) -> bool:
    """Whether a file that holds what it held before is another one than its names of then, or one with those of now."""
    status = seen.status
    if status is None or not seen.state.has_same_content(before):
        return False
    if any(not _is_one(peer, status) for peer in before.peers):
        return True
    if before.links < 2 <= min(after.links, status.st_nlink):  # its other names weren't all known
        return True
    is_known = before.links < 2 or before.peers
    added = {*after.peers} - {*before.peers} if is_known and status.st_nlink > 1 else ()
    return any(_still_peers(added, status, before, reach))


def peers_now(step: Step, names: Mapping[tuple[int, int], Sequence[str]], reach: JournalReach) -> tuple[bytes, ...]:
    """Return the other names of the file that a step finds, among these paths and those that were known."""
    status = step.now.status
    if status is None or status.st_nlink < 2:
        return ()
    found = dict.fromkeys(os.fsencode(path) for path in names.get((status.st_dev, status.st_ino), ()))
    found |= dict.fromkeys(_still_peers(step.peers, status, step.target, reach))
    return tuple(peer for peer in found if peer != os.fsencode(step.path))


def with_lost_names(done: Sequence[tuple[str, str]], steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Say of each file that came back with fewer names than it had: the others lie where nobody looks for them."""
    came = [step for step in steps if step.target.links > 1 and not step.keeps_content]
    lone = {step.path for step in came if _links_now(step.path) < step.target.links}
    why = told("brought back as a file of its own: others of its names (hard links) lie elsewhere")
    return [(path, why if path in lone else words) for path, words in done]


def _links_now(path: str) -> int:
    try:
        return os.lstat(path).st_nlink
    except OSError:
        return 0


def has_a_peer(wanted: State, reach: JournalReach) -> bool:
    """Whether a file that is to come back is there yet by another of its names."""
    for peer in wanted.peers:
        with suppress(ToolError):
            if look_at(reach, os.fsdecode(peer), wanted).state.has_same_content(wanted):
                return True
    return False


def _is_one(path: bytes, status: os.stat_result | None) -> bool:
    """Whether the name is this file's, or nobody's."""
    try:
        return status is not None and os.path.samestat(os.lstat(path), status)
    except OSError:
        return True


def _still_peers(peers: Iterable[bytes], status: os.stat_result, like: State, reach: JournalReach) -> Generator[bytes]:
    """Give those of the names that are the same file yet."""
    for peer in peers:
        with suppress(ToolError):
            other = look_at(reach, os.fsdecode(peer), like).status
            if other is not None and os.path.samestat(other, status):
                yield peer


def peers_of(path: str, status: os.stat_result, roots: Sequence[str]) -> tuple[bytes, ...]:
    """Return the other names of a file, where the tree isn't too large to look for them."""
    if status.st_nlink < 2:
        return ()
    return tuple(os.fsencode(each) for each in names_of_linked(roots).get(status.st_ino, ()) if each != path)
