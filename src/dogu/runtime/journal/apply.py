"""Brings paths from what they hold now to another state: an undo's, a redo's, or what a command left in its layer.

What was noted of it before (`journal.log`) says what was to be done, so that it can be finished after a kill: the names
of temporary files come from there as well. Nothing that changed since it was looked at is replaced or removed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.aside import aside_of, folders_replaced, going_late, left_to_do, take_aside
from dogu.runtime.journal.kept import Kept, take_source
from dogu.runtime.journal.reach import JournalReach, behind_link
from dogu.runtime.journal.states import State, make_device, put_attributes, see, times_of
from dogu.runtime.journal.steps import Step, UndoRefusal, in_batches
from dogu.workspace import fs
from dogu.workspace.atomic_write import AtomicWriter, OldFile
from dogu.workspace.held import git_folder
from dogu.workspace.openat import LastFolder, Place, is_there
from dogu.workspace.os_errors import explain
from dogu.workspace.syscalls import CANNOT, Syscalls, move, sync_names

_CANNOT_LINK = (*CANNOT, errno.ENOENT, errno.EXDEV, errno.EMLINK, errno.EPERM)
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class _OthersInsideError(ToolError):
    """A folder that we made holds what others put there."""


class Applier:
    """Applies steps; `name_of` gives the temporary name of the step with a number."""

    def __init__(
        self, reach: JournalReach, kept: Kept, writer: AtomicWriter, name_of: Callable[[int], str], *, durable: bool
    ) -> None:
        self._reach = reach
        self._kept = kept
        self._writer = writer
        self._name_of = name_of
        self._durable = durable
        self._system = Syscalls()
        self._done: list[tuple[str, str]] = []
        self._refused: dict[str, UndoRefusal] = {}
        self._aside: dict[str, str] = {}
        self._prepared: dict[str, str] = {}
        self._overwritten: dict[str, bool] = {}
        self._touched: set[int] = set()
        self._parted: set[str] = set()
        self._sources = LastFolder()
        self._folder = -1
        self._folder_path: str = ""

    def apply(self, steps: Sequence[Step]) -> tuple[list[tuple[str, str]], list[UndoRefusal]]:
        """Do what can be done; return each path with what was done to it, and those left as they are.

        What moves elsewhere is taken aside first, wherever it shall lie: folders are empty then, and places free. Then
        what goes does so, the deepest first; then folders are made, then what lies in them; their own modes last.
        """
        steps = self._take_aside(sorted(steps, key=lambda step: step.path))
        late = going_late(steps)
        going = [step for step in reversed(steps) if step.goes_first]
        gone = {step.path for step in going if step.path not in late and self._tried(step, self._take_away)}
        files = [step for each in steps if each.is_put and (step := each.without_old(gone)) is not None]
        self._make_folders(steps)
        self._parted = {step.path for step in files if step.is_parted and step.now.status and not step.keeps_names}
        for batch in in_batches(files):
            self._put(batch)
        for step in going:
            if step.path in late:
                self._tried(step, self._take_away)
        for step in reversed(steps):
            if step.target.kind == "folder" and not step.source and step.path not in self._refused:
                self._tried(step, self._settle_folder)
        if self._durable:
            sync_names({step.path: "." for step in steps}, self._place)
        self._let_go()
        return self._done, [*self._refused.values()]

    def resumed(self, step: Step, replaced: Collection[str]) -> Step:
        """Remove the temporary file that a killed process left of a step, or move back what it had moved there.

        What it had taken aside, also out of folders that are `replaced`, is what the step moves from then.
        """
        aside = aside_of(step, self._name_of(step.number), replaced)
        if step.source and is_there(aside):
            folder, name = self._sources.of(aside)
            state = see(folder, name, step.target).state
            if not step.now.state.is_same_as(step.target) or state.has_same_content(step.target):
                return msgspec.structs.replace(step, source=aside)
            with suppress(OSError):
                self._kept.take_back(state, folder, name)  # what was in its place, with which it had changed places
            return step
        with suppress(ToolError, OSError), self._place(step.path) as place:
            name = self._name_of(step.number)
            if step.source and not step.now.state.is_same_as(step.target) and not is_there(step.source):
                fs.rename(name, step.source, src_dir_fd=place.parent)
            elif step.target.kind == "missing" and step.now.status is None:
                move(self._system, place.parent, name, place.name)
            else:
                self._kept.take_back(step.target, place.parent, name)
        self._let_go()
        return step

    def _withdraw(self, step: Step) -> None:
        """Take away what was made ready for a step that failed; what had been moved goes back to where it lay."""
        name = self._name_of(step.number)
        with suppress(ToolError, OSError):
            if step.source in self._aside:
                self._put_back(step, self._aside.pop(step.source))
                return
            with self._place(step.path) as place:
                if step.source and not is_there(step.source):
                    folder, own = self._sources.of(step.source)
                    self._system.rename_to_new(place.parent, name, own, folder)
                elif see(place.parent, name, step.target).state.has_same_content(step.target):
                    self._kept.take_back(step.target, place.parent, name)

    def _put_back(self, step: Step, aside: str) -> None:
        """Move what was taken aside to where it lay; it is kept where something else lies there by now."""
        folder, name = self._sources.of(aside)
        try:
            with self._place(step.source) as place:
                move(self._system, folder, name, place.name, place.parent)
        except (ToolError, OSError):
            self._kept.take_back(step.target, folder, name)

    def _take_aside(self, steps: Sequence[Step]) -> list[Step]:
        """Take aside what other steps move elsewhere; return what is to be done then, but for what has no room now."""
        origins = {step.path: step for step in steps}
        moving = sorted((step for step in steps if step.source in origins), key=lambda step: step.source)
        replaced = folders_replaced((step.path, step.now.state, step.target) for step in steps)
        staying: list[str] = []
        for step in moving:
            self._aside[step.source] = aside_of(step, self._name_of(step.number), replaced)
            if not self._tried(origins[step.source], self._move_aside):
                del self._aside[step.source]
                self._refused[step.path] = msgspec.structs.replace(self._refused[step.source], path=step.path)
                staying.append(step.source)
        while staying:
            path = staying.pop()
            for step in moving:
                if step.path == path and step.source in self._aside:
                    self._withdraw(step)
                    why = told("it stays: it can't be put where the command moved it")
                    self._refused[step.source] = UndoRefusal(step.source, why)
                    staying.append(step.source)
        return left_to_do(steps, self._aside, self._refused)

    def _move_aside(self, place: Place, origin: Step) -> None:
        try:
            take_aside(place, self._aside[origin.path], self._reach, lambda status: self._check_is(origin, status))
        except FileNotFoundError:
            raise _changed_now() from None

    def _tried(self, step: Step, act: Callable[[Place, Step], object]) -> bool:
        try:
            with self._place(step.path, create=step.target.kind != "missing") as place:
                act(place, step)
        except _OthersInsideError as error:
            is_left = any(
                path.startswith(f"{step.path}/") and not each.is_final for path, each in self._refused.items()
            )
            self._refused[step.path] = UndoRefusal(step.path, error.message, is_final=not is_left)
        except ToolError as error:
            if error.kind is ErrorKind.NOT_FOUND and step.target.kind == "missing":
                return True
            self._refused[step.path] = UndoRefusal(step.path, error.message)
        except OSError as error:
            self._refused[step.path] = UndoRefusal(step.path, explain(error, step.path).message, by_system=True)
        else:
            return True
        return False

    @contextmanager
    def _place(self, path: str, *, create: bool = False) -> Generator[Place]:
        folder, name = os.path.split(path)
        if self._folder < 0 or folder != self._folder_path:
            self._let_go()
            place = self._reach.place(path, create=create)
            # One folder stays open: what is sorted by path lies side by side.
            self._folder, self._folder_path = place.parent, folder
            if place.path != path:
                self._let_go()
                raise behind_link()
            self._reach.let_in(folder, os.fstat(place.parent))
        yield Place(self._folder, name, path)

    def _let_go(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
        self._folder = -1
        self._sources.close()

    def _take_away(self, place: Place, step: Step) -> None:
        if step.now.state.kind == "folder":
            _remove_folder(place)
        else:
            # Under another name first: what somebody put there since we looked is seen, and goes back.
            name = self._name_of(step.number)
            move(self._system, place.parent, place.name, name)
            try:
                self._remove_old(place.parent, name, step)
            except (ToolError, OSError):
                move(self._system, place.parent, name, place.name)
                raise
        if step.target.kind == "missing":
            self._done.append((step.path, told("removed")))

    def _make_folders(self, steps: Sequence[Step]) -> None:
        for step in steps:
            is_new = step.target.kind == "folder" and not step.source and step.now.state.kind != "folder"
            if is_new and step.path not in self._refused:
                self._tried(step, self._make_folder)

    def _make_folder(self, place: Place, step: Step) -> None:
        try:
            fs.mkdir(place.name, 0o700, dir_fd=place.parent)
        except FileExistsError:
            if not stat.S_ISDIR(fs.stat(place.name, dir_fd=place.parent, follow_symlinks=False).st_mode):
                raise _changed_now() from None
            return
        self._done.append((step.path, told("brought back")))

    def _settle_folder(self, place: Place, step: Step) -> None:
        status = fs.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            raise _changed_now()
        self._reach.let_in(step.path, status)
        is_changed = put_attributes(place, step.target, has_marks=False)
        self._reach.settled(step.path)
        is_new = step.now.state.kind != "folder"
        if (step.sets_time or is_new) and step.target.mtime_ns >= 0:
            times = (step.target.mtime_ns, step.target.mtime_ns)
            os.utime(place.name, ns=times, dir_fd=place.parent, follow_symlinks=False)
            is_changed = True
        if is_changed and not is_new:
            self._done.append((step.path, told("restored")))

    def _put(self, steps: Sequence[Step]) -> None:
        """Make all new ones beside the old ones, have them on the disk, and only then let them change places."""
        ready: list[Step] = []
        for step in steps:
            if self._tried(step, self._prepare):
                ready.append(step)
            else:
                self._withdraw(step)
        if self._durable:
            sync_names({step.path: self._name_of(step.number) for step in ready}, self._place)
        for step in ready:
            if not self._tried(step, self._swap):
                self._withdraw(step)

    def _prepare(self, place: Place, step: Step) -> None:
        if step.keeps_content or self._is_overwritten(step):
            return
        if step.source:
            self._prepare_source(step)
            return
        name = self._name_of(step.number)
        with suppress(FileNotFoundError):
            fs.unlink(name, dir_fd=place.parent)
        self._prepared[step.path] = name
        if self._linked_to_peer(step, place, name):
            return
        match step.target.kind:
            case "link":
                fs.symlink(os.fsdecode(step.target.target), name, dir_fd=place.parent)
            case "fifo":
                fs.mkfifo(name, 0o600, dir_fd=place.parent)
            case "device":
                make_device(step.target, place, name)
            case _:
                self._fill(step, place, name)
        put_attributes(Place(place.parent, name, place.path), step.target, has_marks=False)

    def _prepare_source(self, step: Step) -> None:
        if step.has_marks or (step.source in self._aside and step.target.xattrs is not None):
            folder, name = self._source_of(step)
            put_attributes(Place(folder, name, step.source), step.target, has_marks=step.has_marks)

    def _source_of(self, step: Step) -> tuple[int, str]:
        return self._sources.of(self._aside.get(step.source, step.source))

    def _linked_to_peer(self, step: Step, place: Place, name: str) -> bool:
        """Give the file its other name back, where a file of that name still holds the same."""
        for peer in map(os.fsdecode, step.target.peers):
            if peer in self._parted and peer not in self._prepared:
                continue
            try:
                # Not the folder that is kept open: it is the one that the new name is made in.
                other = self._reach.place(peer)
            except ToolError:
                continue
            try:
                found = self._prepared.get(peer, other.name)
                if see(other.parent, found, step.target).state.has_same_content(step.target):
                    fs.link(found, name, src_dir_fd=other.parent, dst_dir_fd=place.parent, follow_symlinks=False)
                    return True
            except OSError as error:
                if error.errno not in _CANNOT_LINK:
                    raise
            finally:
                os.close(other.parent)
        return False

    def _fill(self, step: Step, place: Place, name: str) -> None:
        # What comes back whole needn't be built again; by the time of what git keeps it is known who has written it.
        has_time = step.now.state.kind == "missing" or bool(git_folder(step.path))
        times = times_of(step.target) if has_time or step.sets_time or step.target.is_known_by_time else None
        if self._kept.give_back(step.target, step.path, place.parent, name):
            if times is None:
                fs.utime(name, dir_fd=place.parent, follow_symlinks=False)
        else:
            descriptor = fs.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600, dir_fd=place.parent)
            try:
                self._fill_from(step, place, descriptor)
                if times is not None:
                    fs.utime(descriptor, ns=times)
            except BaseException:
                fs.unlink(name, dir_fd=place.parent)
                raise
            finally:
                os.close(descriptor)

    def _fill_from(self, step: Step, place: Place, descriptor: int) -> None:
        if not step.is_parted:
            self._kept.write_to(step.target, descriptor)
            return
        source = fs.open_own(place.name, _OPEN, dir_fd=place.parent)
        try:
            fs.copy_content(source, descriptor)
        finally:
            os.close(source)

    def _swap(self, place: Place, step: Step) -> None:
        name = self._name_of(step.number)
        if step.keeps_content:
            self._check_still(place, step)
            put_attributes(place, step.target, has_marks=False)
            if step.sets_time:
                times = (step.target.mtime_ns, step.target.mtime_ns)
                fs.utime(place.name, ns=times, dir_fd=place.parent, follow_symlinks=False)
        elif self._is_overwritten(step):
            self._overwrite(place, step)
        elif not (step.source and self._moved_in(place, step)):
            if step.now.status is None:
                self._name_new(place, name)
            else:
                self._exchange(place, step, name)
        self._prepared.pop(step.path, None)
        self._parted.discard(step.path)
        self._done.append((step.path, step.outcome))

    def _moved_in(self, place: Place, step: Step) -> bool:
        """Let the new entry change places with what is there, from where it lies; False: it now lies beside it."""
        folder, name = self._source_of(step)
        is_new = step.now.status is None
        put = self._system.rename_to_new if is_new else self._system.exchange
        try:
            put(folder, name, place.name, place.parent)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOENT):
                raise _changed_now() from error
            if error.errno not in (*CANNOT, errno.EXDEV):
                raise
            source = self._aside.get(step.source, step.source)
            beside = Place(place.parent, self._name_of(step.number), place.path)
            take_source(source, step.target, beside, has_marks=step.has_marks)
            return False
        if not is_new:
            self._end_exchange(folder, name, place, step)
        return True

    def _name_new(self, place: Place, name: str) -> None:
        try:
            move(self._system, place.parent, name, place.name)
        except FileExistsError:
            raise _changed_now() from None

    def _exchange(self, place: Place, step: Step, name: str) -> None:
        try:
            self._system.exchange(place.parent, name, place.name)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise _changed_now() from error
            if error.errno not in CANNOT:
                raise
            self._check_still(place, step)
            fs.rename(name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
            return
        self._end_exchange(place.parent, name, place, step)

    def _end_exchange(self, folder: int, name: str, place: Place, step: Step) -> None:
        """Remove what now lies at `name` in `folder`, if it is what was seen; if it isn't or can't be, it goes back."""
        try:
            self._remove_old(folder, name, step)
        except (ToolError, OSError):
            self._system.exchange(folder, name, place.name, place.parent)
            raise

    def _remove_old(self, folder: int, name: str, step: Step) -> None:
        self._check_is(step, fs.stat(name, dir_fd=folder, follow_symlinks=False))
        fs.unlink(name, dir_fd=folder)

    def _is_overwritten(self, step: Step) -> bool:
        """Whether the file is to be written to and not replaced, for its other names and those who write it."""
        if step.path not in self._overwritten:
            self._overwritten[step.path] = step.must_stay()
        return self._overwritten[step.path]

    def _overwrite(self, place: Place, step: Step) -> None:
        """Write into the file, because its other names are to show it too."""
        data = self._to_write(place, step)
        if data is None:
            raise ToolError(ErrorKind.NOT_FOUND, told("what it held before wasn't kept"))

        def refuse_changed(old: OldFile | None) -> None:
            if old is None:
                raise _changed_now()
            found = State("file", size=old.status.st_size, digest=old.digest, mtime_ns=old.status.st_mtime_ns)
            # Another of its names may have brought it there already.
            if not (found.has_same_content(step.now.state) or found.has_same_content(step.target)):
                raise _changed_now()

        with ExitStack() as opened:
            with suppress(PermissionError):  # else its mode isn't what keeps anybody out
                opened.enter_context(fs.opened_up(place.name, stat.S_IRUSR | stat.S_IWUSR, dir_fd=place.parent))
            self._writer.write(place, data, refuse_changed)
        if step.now.status is not None:
            self._touched.add(step.now.status.st_ino)
        put_attributes(place, step.target, has_marks=False)
        times = times_of(step.target)
        if times is not None and (step.source or step.sets_time or step.target.is_known_by_time):
            fs.utime(place.name, ns=times, dir_fd=place.parent, follow_symlinks=False)

    def _to_write(self, place: Place, step: Step) -> bytes | None:
        """Return what the file shall hold: where only its names or attributes change, what it holds."""
        if not step.source and not step.now.state.has_same_content(step.target):
            return self._kept.read(step.target)
        folder, name = self._sources.of(step.source) if step.source else (place.parent, place.name)
        with open(fs.open_own(name, _OPEN, dir_fd=folder), "rb") as file:
            return file.read()

    def _check_still(self, place: Place, step: Step) -> None:
        self._check_is(step, fs.stat(place.name, dir_fd=place.parent, follow_symlinks=False))

    def _check_is(self, step: Step, status: os.stat_result) -> None:
        seen = step.now.status
        is_touched = seen is not None and os.path.samestat(seen, status) and status.st_ino in self._touched
        if not (step.now.is_still(status) or is_touched):
            raise _changed_now()
        if status.st_nlink > 1:
            self._touched.add(status.st_ino)  # by what follows: its other names are steps of their own


def _changed_now() -> ToolError:
    return ToolError(ErrorKind.STALE, told("somebody changed it just now"))


def _remove_folder(place: Place) -> None:
    try:
        fs.rmdir(place.name, dir_fd=place.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise _OthersInsideError(ErrorKind.IO_ERROR, told("the folder stays: it holds other files")) from error
