"""What a command without a layer wrote, as the kernel tells it: each call that changes names, opens a file for writing
or sets attributes waits until the supervisor has noted the path, and how it was until then.

Only what is noted is the command's for sure. What isn't told (calls of another machine's kind, rings, other programs
that it had do the work) or can't be resolved stays unknown: nothing here guesses. Standard library only.
Source: seccomp_unotify(2), openat2(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from dogu.workspace.launcher.before import Before, Going, Move
from dogu.workspace.launcher.let_go import LetGo
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.notices import (
    EXCHANGE,
    FOLLOW,
    NO_REPLACE,
    OPENED_AGAIN,
    Notice,
    Notices,
    UnreadableError,
    bound_to,
    how_opened,
    leads_to,
    opened_again,
    path_in_root,
    path_of,
    through_links,
)
from dogu.workspace.launcher.others import ALL, Others
from dogu.workspace.launcher.told_calls import BIND, CALLS, FALLOCATE, OPEN_ANYHOW, WRITES, Call

_OPENAT2 = 437
_NO_OTHER_FILE_SYSTEM, _NO_MAGIC, _BENEATH, _IN_ROOT = 1, 2, 8, 16
_NO_FOLLOW = 0x100  # AT_SYMLINK_NOFOLLOW
_REMOVE_FOLDER = 0x200  # AT_REMOVEDIR
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_PLACE = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
_MOST_PATHS, _MOST_PATHS_BEFORE = 100_000, 500_000
_MOST_AWAITED = 100
_PACKET_BYTES = 60_000
_MOST_OPEN = 2000
_OURS = (errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)
GONE, NEW, FOREIGN = 0, -1, -2  # instead of an inode: nothing, one that isn't known yet, somebody else's since
_OWN_NS = 2_000_000_000  # what changes a file longer after the call isn't taken for the command's

_Item = TypeVar("_Item", tuple[bytes, "Stamp", int, int], tuple[bytes, bytes])
_Noted = tuple["Stamp", int, int]
Stamp = tuple[int, int, int] | tuple[()]
"""What a path held: mtime and ctime in ns, inode; of a folder only the inode counts, the times are 0. () is nothing."""


class _Lies(NamedTuple):
    """A path without links, b"" for one that isn't beneath a root, and what lies there."""

    path: bytes
    stamp: Stamp

    @property
    def inode(self) -> int:
        return self.stamp[2] if self.stamp else 0

    @property
    def is_folder(self) -> bool:
        return bool(self.stamp) and not self.stamp[1]


class Writes(Notices):
    """Notes what is written beneath `roots` (absolute, real paths), and lets the kernel do it.

    `keeps` are a folder for what files hold that go by that, and of how many bytes. Where nobody has looked at the
    roots beforehand, what paths were is noted in the folder `before`.
    """

    def __init__(
        self, roots: Sequence[bytes], keeps: tuple[bytes, int] | None = None, before: bytes | None = None
    ) -> None:
        super().__init__()
        self._before = Before(before)
        self._going = Going(*keeps) if keeps is not None else None
        self._most = _MOST_PATHS if before is None else _MOST_PATHS_BEFORE
        self._calls = CALLS[os.uname().machine]
        self._roots = [(root.rstrip(b"/"), os.open(root, _PLACE | os.O_DIRECTORY)) for root in roots]
        self._noted: dict[bytes, _Noted] = {}
        self._until_ns: dict[int, int] = {}  # by inode; 0: somebody else's
        self._others = Others(lambda inode: self._until_ns.get(inode, 0))
        self._moves: list[tuple[bytes, bytes]] = []
        self._made: list[bytes] = []
        self._let_go = LetGo()
        self._is_over = False

    def decide(self, notice: Notice) -> None:
        """Note what the call is about to change."""
        if self._is_over or len(self._noted) >= self._most:
            self._before.is_whole = False
            return
        self._note_made()
        self._let_go.settle(notice.pid)
        try:
            self._decide(notice)
        except OSError as error:
            if isinstance(error, UnreadableError) or error.errno in _OURS:  # the kernel may do the call all the same
                self._before.is_whole = False
            raise

    def _decide(self, notice: Notice) -> None:
        call = self._calls[notice.number]
        flags = 0 if call.flags is None else notice.words[call.flags]
        named = self._named(notice, call)
        if not named:
            return
        if call.does in ("rename", "link"):
            self._decide_on_two(notice, call, named, flags)
        else:
            self._decide_on_path(notice, call, named, flags)

    def _named(self, notice: Notice, call: Call) -> bytes:
        """Return the path that a call names; b"" of what isn't written to, or is no path."""
        if call is BIND:
            return bound_to(notice)
        named = path_of(notice, call.folder, call.path)
        if call is OPEN_ANYHOW:
            flags, resolve = how_opened(notice)
            if not flags & WRITES:
                return b""
            if resolve & _IN_ROOT:
                return path_in_root(notice, 0, 1)
        return named

    def _decide_on_path(self, notice: Notice, call: Call, named: bytes, flags: int) -> None:
        follows = (call.follows and not flags & _NO_FOLLOW) or (call.does == "change" and named.endswith(b"/"))
        if named.startswith(OPENED_AGAIN):
            named = opened_again(named, notice.pid)
            if named.startswith(b"/proc/"):
                self._others.opens_unseen()
        path = self._found(named, notice.pid, follows=follows)
        stamp = _stamp(path)
        if call.does in ("unlink", "rmdir"):
            takes_folder = call.does == "rmdir" or bool(flags & _REMOVE_FOLDER)
            if self.still_waits(notice) and _can_go(path, stamp, takes_folder=takes_folder):
                self._note(path, stamp, GONE)
                self._keep(path, stamp, goes=True)
        elif (call.does != "make" if stamp else call.does != "change") and self.still_waits(notice):
            self._decide_on_one(path, stamp, is_open=call.does == "open")
            if call.cuts is not None:
                self._keep(path, stamp, goes=False)
            self._note_share(stamp, call, notice.words, flags)

    def _keep(self, path: bytes, stamp: Stamp, *, goes: bool) -> None:
        if stamp and stamp[1]:
            self._before.keep(path, stamp[2], goes=goes)
            if self._going is not None:
                self._going.keep(path, stamp[2], goes=goes)

    def _decide_on_one(self, path: bytes, stamp: Stamp, *, is_open: bool) -> None:
        self._note(path, stamp, stamp[2] if stamp else NEW)
        if is_open:
            self._keep(path, stamp, goes=False)
        if not stamp:
            self._made.append(path)
        elif stamp[1]:
            opens = self._others.opens if is_open else self._others.touches
            if not opens(path, stamp[2]):
                self._until_ns[stamp[2]] = 0

    def _note_share(self, stamp: Stamp, call: Call, words: tuple[int, ...], flags: int) -> None:
        """Note of a file that is there how much of it the call leaves, and what may be put there after it."""
        if not stamp:
            return
        if call.cuts is not None:
            only_stretches = call is FALLOCATE and not flags & ~_KEEP_SIZE
            kept_bytes = ALL if only_stretches else words[call.cuts]
            self._others.writes(stamp[2], kept_bytes, only_appends=True, stretches=True)
        elif call.does == "open":
            how = os.O_TRUNC if call.how is None else words[call.how]
            self._others.writes(stamp[2], 0 if how & os.O_TRUNC else ALL, only_appends=bool(how & os.O_APPEND))

    def answer(self) -> bool:
        """As above; then find out what was made last, before anybody puts something else in its place."""
        lives = super().answer()
        self._note_made()
        self._others.forget_old(time.time_ns())
        return lives

    def hear(self) -> None:
        """Find out soon which files were made, and who has closed one: that is when it was written last."""
        self._note_made()
        self._others.hear()

    def stop(self) -> None:
        """Note nothing any more: nobody is left to be told."""
        self._let_go.settle(0)
        self._is_over = True
        self._noted, self._moves, self._made, self._until_ns = {}, [], [], {}
        self._others.close()
        self._before.close()

    def _note_made(self) -> None:
        """Find out which inodes were made, of what is there yet."""
        made, self._made = Counter(self._made[-_MOST_AWAITED:]), []
        for path, calls in made.items():
            before, now, until_ns = self._noted.get(path, ((), GONE, 0))
            if now != NEW:
                continue
            with suppress(OSError):
                stamp = _stamp(path)
                if not stamp:
                    self._made += [path] * calls
                    continue
                self._noted[path] = before, stamp[2], until_ns
                self._until_ns[stamp[2]] = until_ns
                self._before.made(stamp[2])
                if stamp[1] and not self._others.has_made(path, stamp[2], calls):
                    self._until_ns[stamp[2]] = 0

    def take(self) -> Iterator[dict[str, Any]]:
        """Return all that was noted since the last time, in parts that fit a packet.

        `paths` with what they held first, the inode that they should have now and until when (ns) a change of it is the
        command's; `moves` of folders, and of files that it hadn't written; and until when the command had files `open`,
        by inode, which may have been noted before; and the `shares` of `Others`, by inode.
        """
        self._note_made()
        self._let_go.settle(0)
        over_ns = time.time_ns()
        shares = self._others.shares
        foreign, open_ns = self._others.found()
        foreign |= {inode for inode, until_ns in self._until_ns.items() if not until_ns}
        noted = [
            (
                path,
                before,
                FOREIGN if {now, *before[2:]} & foreign else now,
                min(max(until_ns, open_ns.get(now, 0)), over_ns),
            )
            for path, (before, now, until_ns) in self._noted.items()
        ]
        for paths in _parts(noted):
            yield {"paths": paths}
        for moves in _parts(self._moves):
            yield {"moves": moves}
        rest = iter(shares.items())
        while some := list(islice(rest, _MOST_OPEN)):
            yield {"shares": some}
        yield {"open": [(inode, until_ns) for inode, until_ns in open_ns.items() if inode not in foreign][:_MOST_OPEN]}
        yield {"is_whole": self._before.is_whole}
        self._before.begin_anew()
        self._noted, self._moves = {}, []
        self._until_ns = {inode: over_ns + _OWN_NS for inode, until_ns in open_ns.items() if until_ns >= over_ns}

    def _decide_on_two(self, notice: Notice, call: Call, named: bytes, flags: int) -> None:
        """Note a rename or a link, but for those that can't be: `mv FILE FOLDER` first tries if FOLDER is free."""
        second = path_of(notice, *((None, 1) if call.folder is None else (2, 3)))
        one = _lies_at(self._beneath(named, notice.pid, follows=call.does == "link" and bool(flags & FOLLOW)))
        other = _lies_at(self._beneath(second, notice.pid))
        if call.does == "link":
            if not other.stamp and self.still_waits(notice):
                self._note_target(one, other, goes=False)
                if one.stamp:
                    self._note(one.path, one.stamp, one.inode)
                if other.path:
                    self._let_go.add(notice.pid, other.path, 0, partial(self._take_back, (), (), (other,)))
        elif one.stamp or not one.path:
            self._decide_on_rename(notice, one, other, flags)

    def _decide_on_rename(self, notice: Notice, one: _Lies, other: _Lies, flags: int) -> None:
        """Note a rename. One that comes from elsewhere is noted as a file: nobody has seen what was in a folder."""
        is_exchange = bool(flags & EXCHANGE)
        if is_exchange and not other.path:
            one, other = other, one
        if not (other.stamp if is_exchange else _can_take(one, other, flags)):
            return
        leaving = one if not other.path else other if is_exchange and not one.path else None
        if leaving is not None and leaving.is_folder:
            self._before.leaves(leaving.path)
        if (leaving is one and one.is_folder) or not self.still_waits(notice):
            return
        known_moves = len(self._moves)
        is_own = bool(one.stamp) and bool(self._until_ns.get(one.inode))
        if other.path:
            self._note_target(one, other, goes=leaving is other or not (is_exchange or one.inode == other.inode))
        if one.stamp:
            self._note_moved(one, other, is_exchange=is_exchange, is_own=is_own)
        moved = _moves_of(one, other, is_exchange=is_exchange)
        self._before.moved(moved, is_folder=one.is_folder or other.is_folder or not one.stamp)
        first = one if one.path else other
        if first.path:
            failed = partial(self._take_back, moved, self._moves[known_moves:], (one, other))
            self._let_go.add(notice.pid, first.path, first.inode, failed)

    def _take_back(
        self, moved: tuple[Move, ...], moves: Sequence[tuple[bytes, bytes]], places: Sequence[_Lies]
    ) -> None:
        """Take back what was noted of a rename or a link that has failed: all lies where it lay."""
        if moved:
            self._before.has_failed(moved)
        for move in moves:
            if move in self._moves:
                del self._moves[-1 - self._moves[::-1].index(move)]
        for path, stamp in places:
            before, then, until_ns = self._noted.get(path, ((), FOREIGN, 0))
            if then != FOREIGN:
                self._noted[path] = before, stamp[2] if stamp else GONE, until_ns

    def _note_target(self, one: _Lies, other: _Lies, *, goes: bool) -> None:
        """Note what a rename or a link puts in a place, and what lies there until then."""
        self._note(other.path, other.stamp, one.inode if one.stamp else NEW)
        if goes:
            self._keep(other.path, other.stamp, goes=True)
        if not one.stamp:
            self._made.append(other.path)

    def _note(self, path: bytes, stamp: Stamp, now: int) -> None:
        if stamp and path in self._made:  # made a moment ago, and may be open yet
            self._note_made()
        self._before.note(path)
        until_ns = time.time_ns() + _OWN_NS
        before, then, own_ns = self._noted.get(path, (stamp, stamp[2] if stamp else GONE, until_ns))
        if stamp:
            known_ns = self._until_ns.get(stamp[2], own_ns)
            is_late = not known_ns or (stamp[1] > known_ns and stamp[1] > self._others.closed_ns(stamp[2]))
            self._until_ns[stamp[2]] = 0 if is_late else until_ns
        has_failed = stamp[2:] == before[2:] and (then == GONE or not stamp)  # the call that was to remove or link it
        is_other = then not in (NEW, stamp[2] if stamp else GONE) and not (has_failed or self._is_moved(path))
        self._noted[path] = (before, FOREIGN if is_other else now, until_ns)

    def _is_moved(self, path: bytes) -> bool:
        """Whether a folder was moved that the path lay in, or lies in since: something else lies there now."""
        return any(path.startswith(folder + b"/") for move in self._moves for folder in move)

    def _note_moved(self, one: _Lies, other: _Lies, *, is_exchange: bool, is_own: bool) -> None:
        """Note a move: of a folder, and of a file that the command hasn't written to, whose doing that is depends."""
        self._note(one.path, one.stamp, other.inode if is_exchange else GONE)
        if not one.is_folder and not self._others.touches(one.path, one.inode):
            self._until_ns[one.inode] = 0
        if not other.path:
            self._keep(one.path, one.stamp, goes=True)
        if one.is_folder or not is_own:
            self._moves.append((one.path, other.path))
        if is_exchange and other.is_folder:
            self._moves.append((other.path, one.path))

    def _found(self, path: bytes, pid: int, *, follows: bool) -> bytes:
        """Resolve a path; where nobody has looked beforehand, also one that leads into a root by links outside."""
        try:
            return self._resolved(path, follows=follows)
        except OSError as error:
            if error.errno != errno.EXDEV or not self._before.is_noting:
                raise
        return self._resolved(through_links(path, pid, follows=follows), follows=follows)

    def _beneath(self, path: bytes, pid: int, *, follows: bool = False) -> bytes:
        """Return as below, of a link the place where it lies, and b"" for what isn't beneath a root."""
        try:
            return self._found(path, pid, follows=follows)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return b""

    def _resolved(self, path: bytes, *, follows: bool) -> bytes:
        """Return the path with no link in it. Raises OSError for one that isn't beneath a root, on its file system:
        another could be one that the command itself serves, and would have to wait for."""
        path = path.rstrip(b"/")
        above, _, name = path.rpartition(b"/")
        if name in (b"", b".", b"..") or any(path == root for root, _ in self._roots):
            return self._opened(path or b"/")
        place = self._opened(above) + b"/" + name
        if not follows:
            return place
        try:
            return self._opened(place)
        except FileNotFoundError:
            return leads_to(place)
        except OSError as error:
            if error.errno == errno.EXDEV and self._before.is_noting:  # an absolute link: see `_found`
                raise
            return place

    def _opened(self, path: bytes) -> bytes:
        for root, place in self._roots:
            if path == root:
                return path
            if path.startswith(root + b"/"):
                how = struct.pack("=QQQ", _PLACE, 0, _NO_OTHER_FILE_SYSTEM | _NO_MAGIC | _BENEATH)
                opened = libc().syscall(_OPENAT2, place, path[len(root) + 1 :], how, len(how))
                if opened < 0:
                    raise OSError(ctypes.get_errno(), "beneath")
                try:
                    return os.readlink(b"/proc/self/fd/%d" % opened)
                finally:
                    os.close(opened)
        raise OSError(errno.EXDEV, "beneath")


def _lies_at(path: bytes) -> _Lies:
    return _Lies(path, _stamp(path) if path else ())


def _can_take(one: _Lies, other: _Lies, flags: int) -> bool:
    """Whether a rename can put one in the place of the other: no folder over a file, over a full one or into itself."""
    if not other.stamp:
        return not (one.is_folder and other.path.startswith(one.path + b"/"))
    if flags & NO_REPLACE or _is_full(other.path, other.stamp):
        return False
    return not one.stamp or one.is_folder == other.is_folder


def _moves_of(one: _Lies, other: _Lies, *, is_exchange: bool) -> tuple[Move, ...]:
    if not is_exchange:
        return ((one.path, other.path, one.inode),)
    if not one.path:
        return (other.path, b"", other.inode), (b"", other.path, 0)
    aside = other.path + b"\0"  # a name that none can have
    moved_aside, moved_back = (one.path, aside, one.inode), (aside, other.path, one.inode)
    return moved_aside, (other.path, one.path, other.inode), moved_back


def _stamp(path: bytes) -> Stamp:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return (0, 0, status.st_ino)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _can_go(path: bytes, stamp: Stamp, *, takes_folder: bool) -> bool:
    """Whether a call that takes folders away, or all but folders, can: git tries each folder that may be empty."""
    is_folder = bool(stamp) and not stamp[1]
    return is_folder == takes_folder and not _is_full(path, stamp)


def _is_full(path: bytes, stamp: Stamp) -> bool:
    """Whether this is a folder that can't be removed."""
    if not stamp or stamp[1]:
        return False
    with os.scandir(path) as entries:
        return next(entries, None) is not None


def _parts(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    part: list[_Item] = []
    size = 0
    for item in items:
        part.append(item)
        size += 80 + 2 * len(item[0])
        if size > _PACKET_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
