"""Brings paths from what they hold now to another state: an undo's, a redo's, or what a command left in its layer.

What was noted of it before (`journal.log`) says what was to be done, so that it can be finished after a kill: the names
of temporary files come from there as well. Nothing that changed since it was looked at is replaced or removed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.kept import Kept, take_source
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import (
    MISSING,
    Seen,
    State,
    make_device,
    put_attributes,
    see,
    times_of,
)
from dogu.workspace import fs
from dogu.workspace.atomic_write import AtomicWriter, OldFile
from dogu.workspace.held import git_folder
from dogu.workspace.openat import LastFolder, Place, is_there
from dogu.workspace.os_errors import explain
from dogu.workspace.syscalls import Syscalls, sync_file_system
from dogu.workspace.system import IS_WINDOWS

FORCE, UNSURE = "force", "unsure"
_MOST_AT_ONCE = 10_000
_FEW = 8  # so many files are synced one by one
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class UndoRefusal(msgspec.Struct, frozen=True):
    """A path that wasn't brought back, and why; `is_final`: trying again would not help.

    `needs` says what the user would have to say for it: `force`, for what somebody changed since; `unsure`, for what
    may be somebody else's. Empty: nothing helps. `by_system`: the system refused it.
    """

    path: str
    reason: str
    is_final: bool = False
    needs: str = ""
    by_system: bool = False


class Step(msgspec.Struct, frozen=True):
    """One path and what it shall hold. `now` is what was seen there; `source` a new entry that is to be moved there.

    `number` is its place in the record, by which its temporary file is called. `is_in_place`: the file's other names
    shall show it too. `has_marks`: `source` carries a layer's own attributes. `peers` may name what is there too.
    `sets_time`: the time it was written changes as well, where only its attributes do.
    """

    number: int
    path: str
    now: Seen
    target: State
    source: str = ""
    is_in_place: bool = False
    has_marks: bool = False
    peers: tuple[bytes, ...] = ()
    sets_time: bool = False


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
        self._paths: set[str] = set()
        self._sources = LastFolder()
        self._folder = -1
        self._folder_path: str = ""

    def apply(self, steps: Sequence[Step]) -> tuple[list[tuple[str, str]], list[UndoRefusal]]:
        """Do what can be done; return each path with what was done to it, and those left as they are.

        What goes does so first, the deepest first; then folders are made, then what lies in them; their own modes last.
        """
        self._paths = {step.path for step in steps}
        steps, emptied = _apart(sorted(steps, key=lambda step: step.path))
        self._open_up(steps)
        gone = {step.path for step in reversed(steps) if _goes_first(step) and self._tried(step, self._take_away)}
        for step in steps:
            if step.target.kind == "folder" and step.now.state.kind != "folder" and not step.source:
                self._tried(step, self._make_folder)
        files = [step for each in steps if _is_put(each) and (step := _without_old(each, gone)) is not None]
        files.sort(key=lambda step: not step.is_in_place)  # others may be further names of those
        first = sum(step.is_in_place for step in files)
        for start, end in [(0, first), *_pieces(first, len(files))]:
            self._put(files[start:end])
        for step in reversed(steps):
            if step.target.kind == "folder" and not step.source and step.path not in self._refused:
                self._tried(step, self._settle_folder)
        for step in reversed(emptied):
            self._tried(step, self._take_away)
        if self._durable:
            self._sync(steps)
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
                else:
                    self._kept.take_back(step.target, place.parent, self._name_of(step.number))
                    fs.unlink(self._name_of(step.number), dir_fd=place.parent)
        self._let_go()

    def _tried(self, step: Step, act: Callable[[Place, Step], object]) -> bool:
        try:
            with self._place(step.path, create=step.target.kind != "missing") as place:
                act(place, step)
        except _OthersInsideError as error:
            self._refused[step.path] = UndoRefusal(step.path, error.message, is_final=True)
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
                raise ToolError(ErrorKind.STALE, told("a folder above it has become a symbolic link"))
        yield Place(self._folder, name, path)

    def _let_go(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
        self._folder = -1
        self._sources.close()

    def _open_up(self, steps: Sequence[Step]) -> None:
        """Let the owner into the folders that go, to take away what is in them."""
        for step in steps:
            mode = step.now.state.mode | 0o700
            if (step.now.state.kind, step.target.kind) == ("folder", "missing") and mode != step.now.state.mode:
                with suppress(ToolError, OSError), self._place(step.path) as place:
                    fs.chmod(place.name, mode, dir_fd=place.parent)

    def _take_away(self, place: Place, step: Step) -> None:
        if step.now.state.kind == "folder":
            _remove_folder(place, step.now.state.mode)
        else:
            # Under another name first: what somebody put there since we looked is seen, and goes back.
            name = self._name_of(step.number)
            self._move(place, place.name, name)
            if not step.now.is_still(fs.stat(name, dir_fd=place.parent, follow_symlinks=False)):
                self._move(place, name, place.name)
                raise _changed_now()
            fs.unlink(name, dir_fd=place.parent)
        if step.target.kind == "missing":
            self._done.append((step.path, told("removed")))

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
        is_changed = put_attributes(place, step.target, has_marks=False)
        is_new = step.now.state.kind != "folder"
        if (step.sets_time or is_new) and step.target.mtime_ns >= 0:
            times = (step.target.mtime_ns, step.target.mtime_ns)
            os.utime(place.name, ns=times, dir_fd=place.parent, follow_symlinks=False)
            is_changed = True
        if is_changed and not is_new:
            self._done.append((step.path, told("restored")))

    def _put(self, steps: Sequence[Step]) -> None:
        """Make all new ones beside the old ones, have them on the disk, and only then let them change places."""
        ready = [step for step in steps if self._tried(step, self._prepare)]
        if self._durable:
            self._sync(ready, {step.path: self._name_of(step.number) for step in ready})
        for step in ready:
            self._tried(step, self._swap)

    def _prepare(self, place: Place, step: Step) -> None:
        if _keeps_content(step) or self._is_overwritten(step):
            return
        name = self._name_of(step.number)
        with suppress(FileNotFoundError):
            fs.unlink(name, dir_fd=place.parent)
        if step.source:
            self._prepare_source(place, step)
            return
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
            with suppress(ToolError, OSError):
                # Not the folder that is kept open: it is the one that the new name is made in.
                other = self._reach.place(peer)
                try:
                    found = self._prepared.get(peer, other.name)
                    if see(other.parent, found, step.target).state.has_same_content(step.target):
                        fs.link(found, name, src_dir_fd=other.parent, dst_dir_fd=place.parent, follow_symlinks=False)
                        return True
                finally:
                    os.close(other.parent)
        return False

    def _fill(self, step: Step, place: Place, name: str) -> None:
        # What comes back whole needn't be built again; by the time of what git keeps it is known who has written it.
        has_time = step.now.state.kind == "missing" or bool(git_folder(step.path))
        times = times_of(step.target) if has_time or step.target.is_known_by_time else None
        if self._kept.give_back(step.target, step.path, place.parent, name):
            if times is None:
                fs.utime(name, dir_fd=place.parent, follow_symlinks=False)
        else:
            descriptor = fs.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600, dir_fd=place.parent)
            try:
                self._kept.write_to(step.target, descriptor)
                if times is not None:
                    fs.utime(descriptor, ns=times)
            except BaseException:
                fs.unlink(name, dir_fd=place.parent)
                raise
            finally:
                os.close(descriptor)
        put_attributes(Place(place.parent, name, place.path), step.target, has_marks=False)

    def _swap(self, place: Place, step: Step) -> None:
        name = self._name_of(step.number)
        what = told("brought back") if step.now.state.kind == "missing" else told("restored")
        if _keeps_content(step):
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
        self._done.append((step.path, what))

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
            if not step.now.is_still(fs.stat(name, dir_fd=folder, follow_symlinks=False)):
                self._system.exchange(folder, name, place.name, place.parent)
                raise _changed_now()
            fs.unlink(name, dir_fd=folder)
        return True

    def _name_new(self, place: Place, name: str) -> None:
        try:
            self._move(place, name, place.name)
        except FileExistsError:
            fs.unlink(name, dir_fd=place.parent)
            raise _changed_now() from None

    def _exchange(self, place: Place, step: Step, name: str) -> None:
        try:
            self._system.exchange(place.parent, name, place.name)
        except OSError as error:
            if error.errno not in _CANNOT:
                fs.unlink(name, dir_fd=place.parent)
                raise _changed_now() from error
            self._check_still(place, step)
            fs.rename(name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
            return
        if not step.now.is_still(fs.stat(name, dir_fd=place.parent, follow_symlinks=False)):
            self._system.exchange(place.parent, name, place.name)
            fs.unlink(name, dir_fd=place.parent)
            raise _changed_now()
        fs.unlink(name, dir_fd=place.parent)

    def _is_overwritten(self, step: Step) -> bool:
        """Whether the file is to be written to and not replaced, for its other names and those who write it."""
        if step.path not in self._overwritten:
            self._overwritten[step.path] = _must_stay(step)
        return self._overwritten[step.path]

    def _overwrite(self, place: Place, step: Step) -> None:
        """Write into the file, because its other names are to show it too."""
        if step.source:
            folder, name = self._sources.of(step.source)
            with open(fs.open(name, _OPEN, dir_fd=folder), "rb") as file:
                data = file.read()
        else:
            data = self._kept.read(step.target)
        if data is None:
            raise ToolError(ErrorKind.NOT_FOUND, told("what it held before wasn't kept"))

        def refuse_changed(old: OldFile | None) -> None:
            # Another of its names may have brought it there already.
            if old is None or old.digest not in (step.now.state.digest, step.target.digest):
                raise _changed_now()

        self._writer.write(place, data, refuse_changed)
        put_attributes(place, step.target, has_marks=False)

    def _check_still(self, place: Place, step: Step) -> None:
        if not step.now.is_still(fs.stat(place.name, dir_fd=place.parent, follow_symlinks=False)):
            raise _changed_now()

    def _move(self, place: Place, old: str, new: str) -> None:
        try:
            self._system.rename_to_new(place.parent, old, new)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            fs.link(old, new, src_dir_fd=place.parent, dst_dir_fd=place.parent, follow_symlinks=False)
            fs.unlink(old, dir_fd=place.parent)

    def _sync(self, steps: Sequence[Step], names: Mapping[str, str] | None = None) -> None:
        """Have it on the disk: a few files one by one, many by one call for the file system."""
        if IS_WINDOWS or len(steps) <= _FEW:
            for step in steps:
                with suppress(ToolError, OSError), self._place(step.path) as place:
                    _sync_name(place.parent, names.get(step.path, "") if names else ".")
            return
        devices: set[int] = set()
        for path in {os.path.dirname(step.path): step.path for step in steps}.values():
            with suppress(ToolError, OSError), self._place(path) as place:
                device = os.fstat(place.parent).st_dev
                if device not in devices:
                    devices.add(device)
                    sync_file_system(place.parent)


def _apart(steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Take out what goes because it is moved elsewhere by another step; the second value are the folders it leaves."""
    sources = {step.source for step in steps if step.source}
    if not sources:
        return list(steps), []
    left: set[str] = set()
    for source in sources:
        while (source := os.path.dirname(source)) not in left and source != "/":
            left.add(source)
    going = [step for step in steps if step.target.kind == "missing"]
    emptied = [step for step in going if step.path in left and step.now.state.kind == "folder"]
    moved = {step.path for step in (*emptied, *(step for step in going if step.path in sources))}
    return [step for step in steps if step.path not in moved], emptied


def _pieces(start: int, end: int) -> list[tuple[int, int]]:
    return [(at, min(at + _MOST_AT_ONCE, end)) for at in range(start, end, _MOST_AT_ONCE)]


def _goes_first(step: Step) -> bool:
    """What is to go, and what stands where something of another kind shall be and can't change places with it."""
    now, target = step.now.state.kind, step.target.kind
    return now != "missing" and (target == "missing" or (now != target and "folder" in (now, target)))


def _is_put(step: Step) -> bool:
    return bool(step.source) or step.target.kind not in ("missing", "folder", "other")


def _without_old(step: Step, gone: set[str]) -> Step | None:
    if not _goes_first(step):
        return step
    return msgspec.structs.replace(step, now=Seen(MISSING)) if step.path in gone else None


def _keeps_content(step: Step) -> bool:
    """Whether only attributes are to change."""
    return not step.source and step.now.status is not None and step.now.state.has_same_content(step.target)


def _must_stay(step: Step) -> bool:
    """Whether the file is to be written to and not replaced, for the sake of its other names and those who write it."""
    status = step.now.status
    if status is None or step.now.state.kind != "file" or step.target.kind != "file":
        return False
    if step.source:
        return step.is_in_place
    return (status.st_nlink > 1 and step.target.links > 1) or fs.is_open_for_writing(step.path)


def _changed_now() -> ToolError:
    return ToolError(ErrorKind.STALE, told("somebody changed it in this very moment"))


def _remove_folder(place: Place, mode: int) -> None:
    try:
        fs.rmdir(place.name, dir_fd=place.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if mode & 0o700 != 0o700:
            fs.chmod(place.name, mode, dir_fd=place.parent)
        raise _OthersInsideError(ErrorKind.IO_ERROR, told("the folder stays, for it holds other files")) from error


def _sync_name(folder: int, name: str) -> None:
    if name:
        with suppress(OSError):
            descriptor = fs.open(name, _OPEN, dir_fd=folder)
            try:
                fs.fsync(descriptor)
            finally:
                os.close(descriptor)
