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

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.kept import Kept, take_source
from dogu.runtime.journal.reach import JournalReach, behind_link
from dogu.runtime.journal.states import State, make_device, put_attributes, see, times_of
from dogu.runtime.journal.steps import Step, UndoRefusal, apart, left_for_folders
from dogu.workspace import fs
from dogu.workspace.atomic_write import AtomicWriter, OldFile
from dogu.workspace.held import git_folder
from dogu.workspace.openat import LastFolder, Place, is_there
from dogu.workspace.os_errors import explain
from dogu.workspace.syscalls import Syscalls, sync_names

_MOST_AT_ONCE = 10_000
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
_CANNOT_LINK = (*_CANNOT, errno.ENOENT, errno.EXDEV, errno.EMLINK, errno.EPERM)
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
        self._moved: set[str] = set()
        self._prepared: dict[str, str] = {}
        self._overwritten: dict[str, bool] = {}
        self._touched: set[int] = set()
        self._paths: set[str] = set()
        self._parted: set[str] = set()
        self._sources = LastFolder()
        self._folder = -1
        self._folder_path: str = ""

    def apply(self, steps: Sequence[Step]) -> tuple[list[tuple[str, str]], list[UndoRefusal]]:
        """Do what can be done; return each path with what was done to it, and those left as they are.

        What goes does so first, the deepest first; then folders are made, then what lies in them; their own modes last.
        """
        self._paths = {step.path for step in steps}
        leaving = left_for_folders(steps)
        steps, emptied, replaced = apart(sorted(steps, key=lambda step: step.path))
        going = [step for step in reversed(steps) if step.goes_first and step.path not in leaving]
        gone = {step.path for step in going if self._tried(step, self._take_away)}
        files = [step for each in steps if each.is_put and (step := each.without_old(gone)) is not None]
        folders = [step for step in steps if step.target.kind == "folder" and not step.source]
        within = {step.path for step in folders if any(f"{step.path}/".startswith(f"{path}/") for path in leaving)}
        self._make_folders([step for step in folders if step.path not in within])
        for step in (*files, *replaced):
            if step.source in leaving:
                self._tried(step, self._prepare)
        self._make_folders([step for step in folders if step.path in within])
        # Others may be further names of those, or are such until then.
        written = {step.now.status.st_ino for step in files if step.keeps_names and step.now.status}
        self._parted = {step.path for step in files if step.is_parted and step.now.status and not step.keeps_names}
        files.sort(key=lambda step: (not (step.keeps_names or _is_of(step, written)), bool(step.target.peers)))
        first = sum(step.keeps_names or _is_of(step, written) for step in files)
        for start, end in [(0, first), *_pieces(first, len(files))]:
            self._put(files[start:end])
        for step in reversed(steps):
            if step.target.kind == "folder" and not step.source and step.path not in self._refused:
                self._tried(step, self._settle_folder)
        for step in reversed(emptied):
            self._tried(step, self._take_away)
        gone = {step.path for step in replaced if self._tried(step, self._take_away)}
        self._put([step for each in replaced if (step := each.without_old(gone)) is not None])
        if self._durable:
            sync_names({step.path: "." for step in (*steps, *replaced)}, self._place)
        self._let_go()
        return self._done, [*self._refused.values()]

    def forget_temporary(self, steps: Sequence[Step]) -> None:
        """Remove the temporary files that a killed process left of these steps; what was moved there goes back."""
        for step in steps:
            with suppress(ToolError, OSError), self._place(step.path) as place:
                is_done = step.now.state.is_same_as(step.target)
                if step.source and not is_done and not is_there(step.source):
                    fs.rename(self._name_of(step.number), step.source, src_dir_fd=place.parent)
                elif step.target.kind == "missing" and step.now.status is None:
                    self._move(place, self._name_of(step.number), place.name)
                elif self._kept.take_back(step.target, place.parent, self._name_of(step.number)):
                    fs.unlink(self._name_of(step.number), dir_fd=place.parent)
        self._let_go()

    def _withdraw(self, step: Step) -> None:
        """Take away what was made ready for a step that failed; what had been moved there goes back to where it lay."""
        name = self._name_of(step.number)
        with suppress(ToolError, OSError), self._place(step.path) as place:
            if step.source and not is_there(step.source):
                self._moved.discard(step.source)
                folder, own = self._sources.of(step.source)
                self._system.rename_to_new(place.parent, name, own, folder)
            elif see(place.parent, name, step.target).state.has_same_content(step.target) and self._kept.take_back(
                step.target, place.parent, name
            ):
                fs.unlink(name, dir_fd=place.parent)

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
            self._move(place, place.name, name)
            try:
                self._remove_old(place.parent, name, step)
            except (ToolError, OSError):
                self._move(place, name, place.name)
                raise
        if step.target.kind == "missing":
            self._done.append((step.path, told("removed")))

    def _make_folders(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.now.state.kind != "folder" and step.path not in self._refused:
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
            self._prepare_source(place, step)
            return
        name = self._name_of(step.number)
        with suppress(FileNotFoundError):
            fs.unlink(name, dir_fd=place.parent)
        match step.target.kind:
            case "link":
                fs.symlink(os.fsdecode(step.target.target), name, dir_fd=place.parent)
            case "fifo":
                fs.mkfifo(name, 0o600, dir_fd=place.parent)
            case "device":
                make_device(step.target, place, name)
            case _:
                if not self._linked_to_peer(step, place, name):
                    self._fill(step, place, name)
                self._prepared[step.path] = name
                return
        put_attributes(Place(place.parent, name, place.path), step.target, has_marks=False)

    def _prepare_source(self, place: Place, step: Step) -> None:
        if step.source in self._moved:
            return
        if step.source in self._paths:  # of one that is taken itself: all are taken away before any is put there
            take_source(
                step.source,
                step.target,
                Place(place.parent, self._name_of(step.number), place.path),
                has_marks=step.has_marks,
            )
            self._moved.add(step.source)
        elif step.has_marks:
            folder, name = self._sources.of(step.source)
            put_attributes(Place(folder, name, step.source), step.target, has_marks=True)

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
        put_attributes(Place(place.parent, name, place.path), step.target, has_marks=False)

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
        elif not (step.source and step.source not in self._moved and self._moved_in(place, step)):
            if step.now.status is None or step.path in self._moved:
                self._name_new(place, name)
            else:
                self._exchange(place, step, name)
        self._prepared.pop(step.path, None)
        self._parted.discard(step.path)
        self._done.append((step.path, step.outcome))

    def _moved_in(self, place: Place, step: Step) -> bool:
        """Let the new entry change places with what is there, from where it lies; False: it now lies beside it."""
        folder, name = self._sources.of(step.source)
        is_new = step.now.status is None or step.path in self._moved
        move = self._system.rename_to_new if is_new else self._system.exchange
        try:
            move(folder, name, place.name, place.parent)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOENT):
                raise _changed_now() from error
            if error.errno not in (*_CANNOT, errno.EXDEV):
                raise
            take_source(
                step.source,
                step.target,
                Place(place.parent, self._name_of(step.number), place.path),
                has_marks=step.has_marks,
            )
            return False
        if not is_new:
            self._end_exchange(folder, name, place, step)
        return True

    def _name_new(self, place: Place, name: str) -> None:
        try:
            self._move(place, name, place.name)
        except FileExistsError:
            raise _changed_now() from None

    def _exchange(self, place: Place, step: Step, name: str) -> None:
        try:
            self._system.exchange(place.parent, name, place.name)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise _changed_now() from error
            if error.errno not in _CANNOT:
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

    def _move(self, place: Place, old: str, new: str) -> None:
        try:
            self._system.rename_to_new(place.parent, old, new)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            fs.link(old, new, src_dir_fd=place.parent, dst_dir_fd=place.parent, follow_symlinks=False)
            fs.unlink(old, dir_fd=place.parent)


def _is_of(step: Step, inodes: Collection[int]) -> bool:
    """Whether a file that is to be one by itself is one of these yet."""
    return step.is_parted and step.now.status is not None and step.now.status.st_ino in inodes


def _pieces(start: int, end: int) -> list[tuple[int, int]]:
    return [(at, min(at + _MOST_AT_ONCE, end)) for at in range(start, end, _MOST_AT_ONCE)]


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
