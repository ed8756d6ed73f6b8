"""What becomes of what a command did in its layers: kept, kept in part, or discarded, as the user says.

Above: the shell tool.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

import anyio
import msgspec
from anyio import to_thread

from dogu.contract.confirmation import Answer, Confirmation
from dogu.contract.display import FileDiff, PatchDiff, markdown_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.diff import unified_diff
from dogu.workspace.held import companions, head_of
from dogu.workspace.layer.changes import changes_in
from dogu.workspace.layer.command import CommandLayers
from dogu.workspace.layer.ending import Ending, Settled
from dogu.workspace.layer.linked import may_have_parted
from dogu.workspace.layer.make import Layers
from dogu.workspace.layer.merging import Bases, Merged
from dogu.workspace.layer.shown import Shown, shown
from dogu.workspace.sandbox.places import parents
from dogu.workspace.sandbox.watch import runs_later
from dogu.workspace.staged import CommitReport, StagedChange
from dogu.workspace.truncation import middle_left_out

_MOST_NAMED = 20
_LONGEST_CHARS = 30_000

_Result = TypeVar("_Result")
_Values = TypeVarTuple("_Values")
Ask = Callable[[Confirmation], Awaitable[Answer | None]]


class _SetAsideError(ToolError):
    """What a command did could not be put in place."""


class Settling:
    """Settles what one command did in its `layers`, over `roots` of which the first is the primary one."""

    def __init__(self, commands: CommandLayers, layers: Layers, roots: Sequence[str], ask: Ask) -> None:
        self.bases = Bases(layers)
        self._commands = commands
        self._layers = layers
        self._roots = roots
        self._ask = ask
        self._read: Sequence[StagedChange] | None = None

    async def changes_held(self, pids: Sequence[int] = ()) -> bool:
        """Whether the command changed what another program holds; `pids` of its own are still running, and stay."""
        return await self._is_true(lambda changes: self._commands.held(self._layers, changes), pids)

    async def parts_names(self, pids: Sequence[int] = ()) -> bool:
        """Whether it isn't known if the command wrote to a file of several names, or took one of them from it."""
        return await self._is_true(may_have_parted, pids)

    async def _is_true(self, of: Callable[[Sequence[StagedChange]], bool], pids: Sequence[int]) -> bool:
        if pids:
            return False  # seen when it is put in place
        try:
            return await _in_thread(lambda: of(self._changes()))
        except OSError:
            return False  # met again when it is put in place: what it did is set aside then

    def _changes(self) -> Sequence[StagedChange]:
        if self._read is None:
            self._read = changes_in(self._layers)
        return self._read

    async def settle(self, ending: Ending, pgid: int = 0, pids: Sequence[int] = ()) -> Settled:
        """Keep what is to be kept, and remove the layers. `pids` of the group `pgid` are still running in them.

        What can't be put in place, for whatever reason, is set aside whole, and it is said where.
        """
        try:
            return await self._settled_or_aside(ending, pgid, pids)
        except _SetAsideError as error:
            return Settled((error.message,), conflict=error.message)

    async def _settled_or_aside(self, ending: Ending, pgid: int, pids: Sequence[int]) -> Settled:
        lives_on = bool(pids) and ending is Ending.KEEP
        is_over = False
        try:
            if pids and not lives_on:
                await self._commands.end_job(pgid)
            with _stopped(pids if lives_on else ()):
                settled = await self._settled(ending)
            is_over = True
            return settled
        except Exception as error:
            if ending is Ending.DISCARD:
                raise
            is_over = True
            raise self._set_aside_whole(error) from error
        finally:
            with anyio.CancelScope(shield=True):
                if not is_over and ending is Ending.KEEP:  # cancelled
                    self._layers.put_aside()
                if lives_on and is_over:
                    self._commands.linger(self._layers)
                else:
                    await to_thread.run_sync(self._layers.remove)

    def _set_aside_whole(self, error: Exception) -> _SetAsideError:
        aside = self._layers.put_aside()
        reason = error.message if isinstance(error, ToolError) else f"{error}"
        message = told(
            "What the command changed couldn't all be put in place ({kind}: {reason}). What wasn't is in {folder}.",
            kind=type(error).__name__,
            reason=reason,
            folder=", ".join(aside),
        )
        return _SetAsideError(ErrorKind.IO_ERROR, message)

    async def _settled(self, ending: Ending) -> Settled:
        changes = await _in_thread(self._changes)
        if not changes:
            return Settled()
        seen = await _in_thread(shown, changes, self._roots[0])
        if ending is Ending.DISCARD:
            told_in_full, _ = middle_left_out(markdown_of(seen.display), _LONGEST_CHARS)
            return Settled((_dry(seen, changes, self._roots[0]),), seen.summary, told_in_full)
        if ending is Ending.ASK:
            return await self._asked(changes, seen)
        return await self._kept(changes, seen)

    async def _asked(self, changes: Sequence[StagedChange], seen: Shown) -> Settled:
        answer = await self._ask(self._question(told("Keep what it changed?"), changes, seen))
        if answer is None:
            message = told("Nothing was kept: nobody could be asked whether to keep what it changed.")
            return Settled((message,), seen.summary)
        if not answer.is_yes:
            remark = told("The user saw what it changed and discarded it: nothing was kept.")
            said = told("They said: {reason}", reason=answer.reason) if answer.reason else ""
            return Settled(tuple(filter(None, (remark, said))), seen.summary)
        if answer.edited is None:
            return await self._kept(changes, seen, is_approved=True)
        chosen = _chosen(changes, self._named(answer.edited, changes))
        left_out = sum(change not in chosen for change in changes)
        seen = await _in_thread(shown, chosen, self._roots[0])
        settled = await self._kept(chosen, seen, is_approved=True)
        remark = told(
            "The user kept only a part: {paths}.",
            paths=_listed([each.path for each in chosen], self._roots[0]) or told("nothing"),
        )
        return msgspec.structs.replace(settled, remarks=(*settled.remarks, remark) if left_out else settled.remarks)

    async def _kept(self, changes: Sequence[StagedChange], seen: Shown, *, is_approved: bool = False) -> Settled:
        foreign, later = runs_later(changes, self._roots)
        put_back: tuple[str, ...] = ()
        if foreign and not is_approved:
            title = told("The command changed what runs later. Keep that too?")
            answer = await self._ask(self._question(title, foreign, shown(foreign, self._roots[0])))
            if answer is None or not answer.is_yes:
                changes = _chosen(changes, {each.path for each in changes}.difference(each.path for each in foreign))
                seen = await _in_thread(shown, changes, self._roots[0])
                put_back, foreign = tuple(each.path for each in foreign), []
        report = await self._commit(changes)
        in_the_way = await self._conflicting(changes, report) if report.conflicts else []
        changed = tuple(sorted(each.path for each in (*foreign, *later)))
        conflict = in_the_way[0] if in_the_way else ""
        remarks = (*report.notes, *in_the_way)
        return Settled(remarks, seen.summary, put_back=put_back, runs_later=changed, conflict=conflict)

    async def _commit(self, changes: Sequence[StagedChange], force: Collection[str] = ()) -> CommitReport:
        return await _in_thread(self._commands.keep, self._layers, changes, force)

    async def _conflicting(self, changes: Sequence[StagedChange], report: CommitReport) -> list[str]:
        """Ask whose version counts of what wasn't put in place; without an answer it is what is there."""
        conflicts = dict(report.conflicts)
        final = {path: why for path, why in conflicts.items() if path in report.final}
        ours = [change for change in changes if change.path in conflicts and change.path not in final]
        merged = await self._put_together(ours)
        conflicts = {path: why for path, why in conflicts.items() if path not in merged}
        ours = [change for change in ours if change.path in conflicts]
        if ours:
            title = told("This was left as it is. Put the command's version in its place?")
            why = dict.fromkeys(conflicts[change.path] for change in ours)
            question = self._question(title, ours, await _in_thread(shown, ours, self._roots[0]), tuple(why))
            answer = await self._ask(question)
            if answer is not None and answer.is_yes:
                again = await self._commit(ours, {change.path for change in ours})
                conflicts = {**dict(again.conflicts), **final}
        if not conflicts:
            return []
        both = await _in_thread(self._merged, [change for change in ours if change.path in conflicts])
        aside = await _in_thread(
            self._commands.set_aside, changes, conflicts, {one.change.path: one.text for one in both}
        )
        remarks = self._left(conflicts)
        if aside:
            remarks.append(told("The command's own version is in {folder}.", folder=aside))
        if both:
            paths = _listed([one.change.path for one in both], self._roots[0])
            remarks.append(told("Both changes go together, as *.merged there shows: {paths}.", paths=paths))
        return remarks

    async def _put_together(self, changes: Sequence[StagedChange]) -> set[str]:
        """Offer texts that hold both changes, where these go together; return the paths that hold them now."""
        merged = await _in_thread(self._merged, changes)
        if not merged:
            return set()
        title = told("Somebody else changed this too while the command ran. Put both changes together?")
        diffs = [self._diff(one) for one in merged]
        answer = await self._ask(Confirmation(title, PatchDiff(tuple(diffs)), is_of_changes=True))
        if answer is None or not answer.is_yes:
            return set()
        return await _in_thread(self._commands.keep_merged, self._layers, merged)

    def _merged(self, changes: Sequence[StagedChange]) -> list[Merged]:
        found = (
            self.bases.merged(change)
            for change in changes
            if os.path.isfile(change.path) and os.path.isfile(change.source)
        )
        return [each for each in found if each is not None]

    def _diff(self, merged: Merged) -> FileDiff:
        path = os.path.relpath(merged.change.path, self._roots[0])
        return FileDiff(path, merged.theirs, merged.text, unified_diff(merged.theirs, merged.text, path))

    def _left(self, conflicts: Mapping[str, str]) -> list[str]:
        """Say which paths were left as they are, and why; also those that moved with a folder, of which the layer has
        no change."""
        paths: dict[str, list[str]] = {}
        for path, why in sorted(conflicts.items()):
            paths.setdefault(why, []).append(path)
        return [
            told("Not changed: {paths} ({why}).", paths=_listed(left, self._roots[0]), why=why)
            for why, left in paths.items()
        ]

    def _question(
        self, title: str, changes: Sequence[StagedChange], seen: Shown, why: tuple[str, ...] = ()
    ) -> Confirmation:
        def revise(text: str) -> Confirmation:
            chosen = _chosen(changes, self._named(text, changes))
            return self._question(title, chosen, shown(chosen, self._roots[0]), why)

        paths = (os.path.relpath(change.path, self._roots[0]) for change in changes)
        return Confirmation(
            title,
            seen.display,
            editable_text="".join(f"{path}\n" for path in paths),
            revise=revise,
            reasons=(*why, seen.summary),
            is_of_changes=True,
        )

    def _named(self, text: str, changes: Sequence[StagedChange]) -> set[str]:
        """Return the paths that the user names, a line each, and those that are one thing with these."""
        named = {os.path.normpath(os.path.join(self._roots[0], line)) for line in text.splitlines() if line}
        sources = {change.path: change.source or change.path for change in changes}
        return named | companions(sources, named, lambda path: head_of(sources.get(path, path)))


async def _in_thread(act: Callable[[*_Values], _Result], *values: *_Values) -> _Result:
    """Do it, even if the call is being cancelled: the command has run, and its work isn't to be lost."""
    with anyio.CancelScope(shield=True):
        return await to_thread.run_sync(act, *values)
    raise AssertionError  # nobody cancels the scope


def _chosen(changes: Sequence[StagedChange], paths: Collection[str]) -> list[StagedChange]:
    """Return the changes of these paths, and of the folders that they need; what is left out parts a folder."""
    needed = set(paths)
    for change in changes:
        if change.path in paths:
            above = os.path.dirname(change.path)
            while above not in needed and above != "/":
                needed.add(above)
                above = os.path.dirname(above)
    left_out = [change.path for change in changes if change.path not in needed]
    parted = {above for path in left_out for above in parents(path)}
    return [
        msgspec.structs.replace(change, whole=change.whole and change.path not in parted)
        for change in changes
        if change.path in needed
    ]


def _dry(seen: Shown, changes: Sequence[StagedChange], root: str) -> str:
    return told(
        "A dry run: nothing of it was kept. It would have changed: {summary} ({paths}).",
        summary=seen.summary,
        paths=_listed([change.path for change in changes], root),
    )


def _listed(paths: Sequence[str], root: str) -> str:
    shown_paths = ", ".join(os.path.relpath(path, root) for path in paths[:_MOST_NAMED])
    more = len(paths) - _MOST_NAMED
    return told("{shown} and {more} more", shown=shown_paths, more=more) if more > 0 else shown_paths


@contextmanager
def _stopped(pids: Sequence[int]) -> Generator[None]:
    """Have processes stand still: what they are writing isn't moved from under their hands."""
    for pid in pids:
        _signal(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass
