"""What a path holds, as the journal keeps it; and looking at one: its content's digest, mode, owner, attributes."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import msgspec

from dogu.workspace import fs
from dogu.workspace.digest import digest_of, digest_of_blocks
from dogu.workspace.git_index import digest_of_index
from dogu.workspace.openat import Place
from dogu.workspace.system import IS_LINUX, own_groups, own_ids
from dogu.workspace.xattrs import KEPT_XATTRS, LAYERS_XATTRS, as_named, read_xattrs

StateKind = Literal["missing", "file", "link", "folder", "fifo", "device", "other"]
UNKNOWN_MODE = -1
UNKNOWN_OWNER = (-1, -1)
_OTHERS = 65534  # what a user namespace shows of a user or group that it hasn't
NOT_KEPT = -1
KEPT_APART = -2
LARGEST_READ_BYTES = 1 << 30
LARGEST_READ_ON_COMMIT_BYTES = 4 << 20  # larger ones are known by their stamps
_STAMP = "stamp:"
_BLOCK_BYTES = 1 << 20
_BLOCK = 512  # what `st_blocks` counts
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class State(msgspec.Struct, frozen=True, array_like=True):
    """What a path holds: `mode` are permission bits, `digest` tells a file's content, `target` a link's or a device's.

    `where` is the content's place in the log, `NOT_KEPT` or `KEPT_APART`, which is a file of its own. A mode of -1, an
    owner of (-1, -1), attributes of None and a time of -1 are such as nobody has looked at. `links` counts a file's
    names (hard links); `peers` are those others that were known then. `says` is the digest of what git's index says,
    which git writes anew where somebody only looks.
    """

    kind: StateKind = "missing"
    mode: int = 0
    size: int = 0
    digest: str = ""
    target: bytes = b""
    where: int = NOT_KEPT
    owner: tuple[int, int] = UNKNOWN_OWNER
    xattrs: tuple[tuple[str, bytes], ...] | None = None
    mtime_ns: int = -1
    peers: tuple[bytes, ...] = ()
    links: int = 1
    is_sparse: bool = False
    says: str = ""

    def is_same_as(self, other: State) -> bool:
        """Whether both say the same of the path, wherever the content is kept and whenever it was written."""
        return self.has_same_content(other) and self.has_same_attributes(other)

    def says_the_same_as(self, other: State) -> bool:
        """Whether both are the same to whoever reads them: what git only remembers of its files may differ."""
        return self.is_same_as(other) or (
            self.says != "" and self.says == other.says and self.has_same_attributes(other)
        )

    def has_same_content(self, other: State) -> bool:
        """Whether both say the same of what it is and holds; a file known by its stamp is compared by size and time."""
        if (self.kind, self.target) != (other.kind, other.target):
            return False
        if self.digest == other.digest:
            return True
        is_known_by_time = is_stamp(self.digest) or is_stamp(other.digest)
        return is_known_by_time and (self.size, time_of(self)) == (other.size, time_of(other))

    def completed_by(self, now: State) -> State:
        """Return this state with what nobody has looked at taken from what is there now, where that is of its kind."""
        if self.kind != now.kind:
            return self
        return msgspec.structs.replace(
            self,
            mode=now.mode if self.mode == UNKNOWN_MODE else self.mode,
            owner=now.owner if is_owner(self.owner, now.owner) else self.owner,
            xattrs=now.xattrs if self.xattrs is None else self.xattrs,
        )

    def differs_in_time(self, other: State) -> bool:
        """Whether both hold the same file or folder, written at different times, as far as both know when."""
        times = (self.mtime_ns, other.mtime_ns)
        return (
            self.kind in ("file", "folder")
            and self.has_same_content(other)
            and -1 not in times
            and times[0] != times[1]
        )

    @property
    def is_known_by_time(self) -> bool:
        """Whether a file may be known by its size and time, here or in another record: so large ones are."""
        return is_stamp(self.digest) or self.size > LARGEST_READ_ON_COMMIT_BYTES

    def has_same_attributes(self, other: State) -> bool:
        """Whether mode, owner and extended attributes are the same, as far as both know them; a link has an owner."""
        if self.kind == "missing":
            return True
        modes = (self.mode, other.mode)
        if not is_owner(self.owner, other.owner):
            return False
        return self.kind == "link" or (
            (UNKNOWN_MODE in modes or self.mode == other.mode)
            and (self.xattrs is None or other.xattrs is None or self.xattrs == other.xattrs)
        )


def can_be_given(owner: tuple[int, int]) -> bool:
    """Whether what we make can have this owner: only the superuser gives what is his to others."""
    user, _ = own_ids()
    return user == 0 or owner == UNKNOWN_OWNER or (user == owner[0] and owner[1] in own_groups())


def is_owner(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether both may be the same: in a user namespace, all that aren't its own user and group look alike."""
    if UNKNOWN_OWNER in (one, other) or one == other:
        return True
    own = own_ids()
    if _OTHERS not in (*one, *other) or own[0] == 0:
        return False
    return [a == c for a, c in zip(one, own, strict=True)] == [b == c for b, c in zip(other, own, strict=True)]


MISSING = State()
NEW_FOLDER = State("folder", UNKNOWN_MODE)


class Seen(NamedTuple):
    """A path as it is now; `status` is None where nothing is."""

    state: State
    status: os.stat_result | None = None
    data: bytes | None = None

    @property
    def room_bytes(self) -> int:
        """How much of the disk its content takes, which is less than its size where it has holes."""
        blocks: int | None = getattr(self.status, "st_blocks", None)  # Windows counts none
        return self.state.size if blocks is None else min(self.state.size, blocks * _BLOCK)

    def is_still(self, status: os.stat_result) -> bool:
        """Whether this status is of the very thing that was seen, and nobody has written to it since."""
        if self.status is None:
            return False
        return _identity(self.status) == _identity(status)


def see(
    folder: int, name: str, like: State = MISSING, keep_bytes: int = -1, most_read: int = LARGEST_READ_BYTES
) -> Seen:
    """Look at a name in an open folder. Raises OSError.

    A file of more than `most_read` bytes, or `like` one known by its stamp, isn't read. The content of one of at most
    `keep_bytes` comes along.
    """
    try:
        status = fs.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return Seen(MISSING)
    mode = status.st_mode
    known = State(
        "other",
        stat.S_IMODE(mode),
        0,
        owner=(status.st_uid, status.st_gid),
        xattrs=() if stat.S_ISLNK(mode) else read_xattrs(folder, name),
        mtime_ns=status.st_mtime_ns,
    )
    if stat.S_ISREG(mode):
        if status.st_size > most_read or is_stamp(like.digest):
            return Seen(_known_by_stamp(known, status), status)
        return _see_file(folder, name, status, known, keep_bytes)
    if stat.S_ISLNK(mode):
        target = os.fsencode(fs.readlink(name, dir_fd=folder))
        return Seen(msgspec.structs.replace(known, kind="link", mode=0, target=target), status)
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        target = b"%c:%d" % (b"c" if stat.S_ISCHR(mode) else b"b", getattr(status, "st_rdev", 0))
        return Seen(msgspec.structs.replace(known, kind="device", target=target), status)
    kind = "folder" if stat.S_ISDIR(mode) else "fifo" if stat.S_ISFIFO(mode) else "other"
    return Seen(msgspec.structs.replace(known, kind=kind), status)


def state_in_log(status: os.stat_result, digest: str, mode: int, xattrs: tuple[tuple[str, bytes], ...] | None) -> State:
    """Return a file's state as it is noted with its content."""
    owner = (status.st_uid, status.st_gid)
    known = State("file", mode, status.st_size, digest, where=0, owner=owner, xattrs=xattrs)
    is_sparse = fs.is_sparse(status)
    return msgspec.structs.replace(known, mtime_ns=status.st_mtime_ns, links=status.st_nlink, is_sparse=is_sparse)


def digest_by_stamp(inode: int, size: int, mtime_ns: int) -> str:
    """Return what stands for the digest of a file that isn't read, for its size or because there are too many.

    Archives give many files of one size the same time: by what is kept under it, they are told apart by `inode`.
    """
    return f"{_STAMP}{inode}:{size}:{mtime_ns}"


def is_stamp(digest: str) -> bool:
    """Whether the digest stands for a file that wasn't read."""
    return digest.startswith(_STAMP)


def write_xattrs(descriptor: int, wanted: tuple[tuple[str, bytes], ...] | None, *, has_marks: bool = False) -> None:
    """Give an open file these attributes and no others of those that are kept, nor those of a layer. Raises OSError."""
    if not IS_LINUX or (wanted is None and not has_marks):
        return
    try:
        present = set(fs.listxattr(descriptor))
    except OSError:
        return
    values = {as_named(name): value for name, value in wanted or ()}
    marks = LAYERS_XATTRS if has_marks else ()
    ours = marks if wanted is None else (*KEPT_XATTRS, *marks)
    gone = [name for name in present - values.keys() if name.startswith(ours)]
    gone = [name for name in gone if has_marks or not name.startswith(LAYERS_XATTRS)]
    if not gone and not values:
        return
    with _open_to_its_owner(descriptor):
        for name in gone:
            fs.removexattr(descriptor, name)
        for name, value in values.items():
            if name not in present or fs.getxattr(descriptor, name) != value:
                fs.setxattr(descriptor, name, value)


@contextmanager
def _open_to_its_owner(descriptor: int) -> Generator[None]:
    """Let the owner read and write, whose mode may forbid it: else they may not do so with attributes either."""
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    opened = mode | stat.S_IRUSR | stat.S_IWUSR
    if opened != mode:
        fs.fchmod(descriptor, opened)
    try:
        yield
    finally:
        if opened != mode:
            fs.fchmod(descriptor, mode)


def make_device(target: State, place: Place, name: str) -> None:
    """Make the device that a state tells of. Raises OSError."""
    kind, _, number = target.target.partition(b":")
    fs.mknod(name, (stat.S_IFCHR if kind == b"c" else stat.S_IFBLK) | 0o600, int(number), dir_fd=place.parent)


def put_attributes(place: Place, wanted: State, *, has_marks: bool) -> bool:
    """Give a name its owner, attributes and mode, in this order: a change of owner takes bits of the mode away.

    Returns whether anything was changed. Raises OSError.
    """
    status = fs.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
    changed = False
    if not is_owner(wanted.owner, (status.st_uid, status.st_gid)):
        fs.chown(place.name, *wanted.owner, dir_fd=place.parent, follow_symlinks=False)
        changed = True
    if has_marks and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        _take_marks_off(place)
    if stat.S_ISLNK(status.st_mode) or wanted.mode == UNKNOWN_MODE:
        return changed
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        fs.chmod(place.name, wanted.mode, dir_fd=place.parent)
        return changed
    xattrs = read_xattrs(place.parent, place.name)
    differs = stat.S_IMODE(status.st_mode) != wanted.mode or (wanted.xattrs is not None and xattrs != wanted.xattrs)
    if not (differs or changed or has_marks):
        return False
    try:
        descriptor = fs.open_own(place.name, _OPEN, dir_fd=place.parent)
    except PermissionError:
        # A folder its owner may not read: nothing but its name is left to go by.
        fs.chmod(place.name, wanted.mode, dir_fd=place.parent)
        return True
    try:
        write_xattrs(descriptor, wanted.xattrs, has_marks=has_marks)
        fs.fchmod(descriptor, wanted.mode)
    finally:
        os.close(descriptor)
    return differs or changed


def _take_marks_off(place: Place) -> None:
    """Take a layer's own attributes off what can't be opened for it: a link, a FIFO, a device."""
    path = f"/proc/self/fd/{place.parent}/{place.name}"
    for name in fs.listxattr(path, follow_symlinks=False):
        if name.startswith(LAYERS_XATTRS):
            fs.removexattr(path, name, follow_symlinks=False)


def _known_by_stamp(known: State, status: os.stat_result) -> State:
    is_sparse = fs.is_sparse(status)
    return msgspec.structs.replace(
        known,
        kind="file",
        size=status.st_size,
        links=status.st_nlink,
        is_sparse=is_sparse,
        digest=digest_by_stamp(status.st_ino, status.st_size, status.st_mtime_ns),
    )


def _see_file(folder: int, name: str, status: os.stat_result, known: State, keep_bytes: int) -> Seen:
    known = _known_by_stamp(known, status)
    descriptor = fs.open_own(name, _OPEN, dir_fd=folder)
    try:
        most_at_once = max(keep_bytes, LARGEST_READ_ON_COMMIT_BYTES if name == "index" else _BLOCK_BYTES)
        if status.st_size <= most_at_once:
            data = os.read(descriptor, status.st_size + 1)
            if len(data) == status.st_size:
                state = msgspec.structs.replace(known, digest=digest_of(data), says=digest_of_index(data))
                return Seen(state, status, data if status.st_size <= keep_bytes else None)
            os.lseek(descriptor, 0, os.SEEK_SET)
        blocks = iter(lambda: os.read(descriptor, _BLOCK_BYTES), b"")
        return Seen(msgspec.structs.replace(known, digest=digest_of_blocks(blocks)), status)
    finally:
        os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


def time_of(state: State) -> int:
    """Return when a file was written, in nanoseconds; -1 when that isn't known."""
    return int(state.digest.rpartition(":")[2]) if is_stamp(state.digest) else state.mtime_ns


def times_of(state: State) -> tuple[int, int] | None:
    """Return the times to give a file that it holds this again; None where they aren't known."""
    time_ns = time_of(state)
    return (time_ns, time_ns) if time_ns >= 0 else None
