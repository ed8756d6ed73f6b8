"""What a command without a layer wrote, as the kernel tells it: each call that changes names, opens a file for writing
or sets attributes waits until the supervisor has noted the path, and how it was until then.

Only what is noted is the command's for sure. What isn't told (calls of another machine's kind, rings, other programs
that it had do the work) or can't be resolved stays unknown: nothing here guesses. Standard library only.
Source: seccomp_unotify(2), openat2(2); numbers from asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from dogu.workspace.launcher.before import Before, Going
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.notices import (
    OPENED_AGAIN,
    Notice,
    Notices,
    bound_to,
    how_opened,
    leads_to,
    opened_again,
    path_of,
    tell,
    through_links,
)
from dogu.workspace.launcher.others import ALL, Others
from dogu.workspace.launcher.seccomp import telling

_OPENAT2 = 437
_NO_OTHER_FILE_SYSTEM, _NO_MAGIC, _BENEATH, _IN_ROOT = 1, 2, 8, 16
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NO_FOLLOW = 0x100  # AT_SYMLINK_NOFOLLOW
_NO_REPLACE, _EXCHANGE = 1, 2
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_PLACE = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
_MOST_PATHS, _MOST_PATHS_BEFORE = 100_000, 500_000
_MOST_AWAITED = 100
_PACKET_BYTES = 60_000
_MOST_OPEN = 2000
GONE, NEW, FOREIGN = 0, -1, -2  # instead of an inode: nothing, one that isn't known yet, somebody else's since
_OWN_NS = 2_000_000_000  # what changes a file longer after the call isn't taken for the command's

_Item = TypeVar("_Item", tuple[bytes, "Stamp", int, int], tuple[bytes, bytes])
Stamp = tuple[int, int, int] | tuple[()]
"""What a path held: mtime and ctime in ns, inode; of a folder only the inode counts, the times are 0. () is nothing."""


class _Call(NamedTuple):
    """What a call does, and the places of its arguments: a descriptor, a path (`notices.path_of`), flags.

    `how` is the place of an open's own flags, `cuts` of the length that a file is cut or stretched to.
    """

    does: str
    folder: int | None = None
    path: int | None = None
    follows: bool = False
    flags: int | None = None
    how: int | None = None
    cuts: int | None = None


_OPEN, _OPENAT = _Call("open", None, 0, follows=True, how=1), _Call("open", 0, 1, follows=True, how=2)
_BIND = _Call("make")
_OPEN_ANYHOW, _CREATE = _Call("open", 0, 1, follows=True), _Call("open", None, 0, follows=True)
_CUT, _CUT_OPEN, _FALLOCATE = (
    _Call("change", None, 0, True, cuts=1),
    _Call("change", 0, cuts=1),
    _Call("change", 0, flags=1, cuts=2),
)
_MAKE, _MAKEAT = _Call("make", None, 0), _Call("make", 0, 1)
_SET_LINK = _Call("change", None, 0)
_REMOVE, _REMOVEAT = _Call("remove", None, 0), _Call("remove", 0, 1)
_RENAME, _RENAMEAT = _Call("rename", None, 0), _Call("rename", 0, 1, flags=4)
_SET, _SETAT = _Call("change", None, 0, follows=True), _Call("change", 0, 1, follows=True, flags=3)
_SETAT2, _SETAT4 = (_Call("change", 0, 1, follows=True, flags=place) for place in (2, 4))
_SET_OPEN = _Call("change", 0)  # also by a descriptor that can only read: that of a folder
_CALLS: dict[str, dict[int, _Call]] = {
    "x86_64": {
        **{2: _OPEN, 85: _CREATE, 257: _OPENAT, 437: _OPEN_ANYHOW},  # open, creat, openat, openat2
        **{76: _CUT, 77: _CUT_OPEN, 285: _FALLOCATE},  # truncate, ftruncate
        **{82: _RENAME, 264: _Call("rename", 0, 1), 316: _RENAMEAT},
        **{87: _REMOVE, 84: _REMOVE, 263: _REMOVEAT},
        **{83: _MAKE, 258: _MAKEAT, 133: _MAKE, 259: _MAKEAT},  # mkdir, mknod
        **{86: _Call("link", None, 0), 265: _Call("link", 0, 1), 88: _Call("make", None, 1)},
        266: _Call("make", 1, 2),  # symlinkat
        **{90: _SET, 268: _Call("change", 0, 1, follows=True), 452: _SETAT},  # chmod
        **{92: _SET, 94: _SET_LINK, 260: _SETAT4},  # chown
        **{132: _SET, 235: _SET, 261: _Call("change", 0, 1, follows=True), 280: _SETAT},  # utimes
        **{188: _SET, 189: _SET_LINK, 197: _SET, 198: _SET_LINK},  # xattrs
        **{49: _BIND, 463: _SETAT2, 466: _SETAT2},  # bind, setxattrat, removexattrat
        **{91: _SET_OPEN, 93: _SET_OPEN, 190: _SET_OPEN, 199: _SET_OPEN},  # fchmod, fchown, fsetxattr, fremovexattr
    },
    "aarch64": {
        **{
            56: _OPENAT,
            437: _OPEN_ANYHOW,
            45: _CUT,
            46: _CUT_OPEN,
            47: _FALLOCATE,
            38: _Call("rename", 0, 1),
            276: _RENAMEAT,
            35: _REMOVEAT,
        },
        **{34: _MAKEAT, 33: _MAKEAT, 37: _Call("link", 0, 1), 36: _Call("make", 1, 2)},
        **{53: _Call("change", 0, 1, follows=True), 452: _SETAT, 54: _SETAT4, 88: _SETAT},
        **{5: _SET, 6: _SET_LINK, 14: _SET, 15: _SET_LINK},
        **{200: _BIND, 463: _SETAT2, 466: _SETAT2},
        **{52: _SET_OPEN, 55: _SET_OPEN, 7: _SET_OPEN, 16: _SET_OPEN},
    },
}
# Told only if an argument has any of these bits: opens that write, times that are set by a path.
_FLAGGED = {
    "x86_64": ((2, 1, _WRITES), (257, 2, _WRITES), (280, 1, 0xFFFFFFFF)),
    "aarch64": ((56, 2, _WRITES), (88, 1, 0xFFFFFFFF)),
}


def tell_writes(to: socket.socket) -> bool:
    """Have them told; see `notices.tell`. The last step before exec: what this process opens to write itself waits."""
    machine = os.uname().machine
    flagged = _FLAGGED[machine]
    others = _CALLS[machine].keys() - {number for number, _, _ in flagged}
    return tell(to, telling(machine, sorted(others), flagged))


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
        self._calls = _CALLS[os.uname().machine]
        self._roots = [(root.rstrip(b"/"), os.open(root, _PLACE | os.O_DIRECTORY)) for root in roots]
        self._noted: dict[bytes, tuple[Stamp, int, int]] = {}
        self._until_ns: dict[int, int] = {}  # by inode; 0: somebody else's
        self._others = Others(lambda inode: self._until_ns.get(inode, 0))
        self._moves: list[tuple[bytes, bytes]] = []
        self._made: list[bytes] = []
        self._moving: dict[int, tuple[bytes, bytes, int]] = {}  # by the process that was about to
        self._is_over = False

    def decide(self, notice: Notice) -> None:
        """Note what the call is about to change."""
        if self._is_over or len(self._noted) >= self._most:
            self._before.is_whole = False
            return
        self._note_made()
        self._note_failed(notice.pid)
        try:
            self._decide(notice)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # it can write to what is too deep to have a path
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

    def _named(self, notice: Notice, call: _Call) -> bytes:
        """Return the path that a call names; b"" of what isn't written to, or is no path."""
        if call is _BIND:
            return bound_to(notice)
        named = path_of(notice, call.folder, call.path)
        if call is _OPEN_ANYHOW:
            flags, resolve = how_opened(notice)
            if not flags & _WRITES:
                return b""
            if resolve & _IN_ROOT and named.startswith(b"/"):
                return path_of(notice, call.folder, None) + named
        return named

    def _decide_on_path(self, notice: Notice, call: _Call, named: bytes, flags: int) -> None:
        follows = (call.follows and not flags & _NO_FOLLOW) or (call.does == "change" and named.endswith(b"/"))
        if named.startswith(OPENED_AGAIN):
            named = opened_again(named, notice.pid)
            if named.startswith(b"/proc/"):
                self._others.opens_unseen()
        path = self._found(named, notice.pid, follows=follows)
        stamp = _stamp(path)
        if call.does == "remove":
            if self.still_waits(notice) and not _is_full(path, stamp):  # git tries each folder
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

    def _note_share(self, stamp: Stamp, call: _Call, words: tuple[int, ...], flags: int) -> None:
        """Note of a file that is there how much of it the call leaves, and what may be put there after it."""
        if not stamp:
            return
        if call.cuts is not None:
            only_stretches = call is _FALLOCATE and not flags & ~_KEEP_SIZE
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
        self._is_over = True
        self._noted, self._moves, self._made, self._until_ns = {}, [], [], {}
        self._others.close()
        self._before.close()

    def _note_made(self) -> None:
        """Find out which inodes were made, of what is there yet."""
        made, self._made = self._made[-_MOST_AWAITED:], []
        for path in made:
            before, now, until_ns = self._noted.get(path, ((), GONE, 0))
            if now != NEW:
                continue
            with suppress(OSError):
                stamp = _stamp(path)
                if not stamp:
                    self._made.append(path)
                    continue
                self._noted[path] = before, stamp[2], until_ns
                self._until_ns[stamp[2]] = until_ns
                self._before.made(stamp[2])
                if stamp[1] and not self._others.has_made(path, stamp[2]):
                    self._until_ns[stamp[2]] = 0

    def _note_failed(self, pid: int) -> None:
        """Find out which renames have failed, now that a process makes its next call, or is gone."""
        for mover, (path, target, inode) in [*self._moving.items()]:
            with suppress(OSError):
                is_there = _stamp(path)[2:] == (inode,)
                if is_there and mover != pid and os.path.exists(b"/proc/%d" % mover):
                    continue
                if is_there:
                    self._before.has_failed(path, target, inode)
                    self._moves = [move for move in self._moves if move != (path, target)]
            del self._moving[mover]

    def take(self) -> Iterator[dict[str, Any]]:
        """Return all that was noted since the last time, in parts that fit a packet.

        `paths` with what they held first, the inode that they should have now and until when (ns) a change of it is the
        command's; `moves` of folders, and of files that it hadn't written; and until when the command had files `open`,
        by inode, which may have been noted before; and the `shares` of `Others`, by inode.
        """
        self._note_made()
        self._note_failed(0)
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

    def _decide_on_two(self, notice: Notice, call: _Call, named: bytes, flags: int) -> None:
        """Note a rename or a link, but for those that can't be: `mv FILE FOLDER` first tries if FOLDER is free.

        Where one of the two lies elsewhere, it is noted of a file; what was in a folder then, nobody has seen.
        """
        second = path_of(notice, *((None, 1) if call.folder is None else (2, 3)))
        path, target = (self._beneath(each, notice.pid) for each in (named, second))
        stamp, there = _stamp(path) if path else (), _stamp(target) if target else ()
        is_free_only = call.does == "link" or flags & _NO_REPLACE
        is_taken = there and (is_free_only or (not flags & _EXCHANGE and _is_full(target, there)))
        if call.does == "rename" and stamp and not flags & _EXCHANGE:  # a folder over a file or into itself
            is_unlike = bool(there) and bool(stamp[1]) != bool(there[1])
            is_taken = is_taken or is_unlike or (not stamp[1] and target.startswith(path + b"/"))
        is_folder_leaving = bool(stamp) and not stamp[1] and not target
        if is_folder_leaving:
            self._before.leaves(path)
        if (path and not stamp and call.does != "link") or is_taken or is_folder_leaving:
            return
        if not self.still_waits(notice):
            return
        if target:
            self._note_target(target, there, stamp, goes=not flags & _EXCHANGE and there[2:] != stamp[2:])
        if stamp and call.does == "link":
            self._note(path, stamp, stamp[2])
        elif call.does == "rename":
            self._note_rename((path, stamp), (target, there), notice.pid, is_exchange=bool(flags & _EXCHANGE))

    def _note_target(self, target: bytes, there: Stamp, stamp: Stamp, *, goes: bool) -> None:
        """Note what a rename or a link puts in a place, and what lies `there` until then."""
        self._note(target, there, stamp[2] if stamp else NEW)
        if goes:
            self._keep(target, there, goes=True)
        if not stamp:
            self._made.append(target)

    def _note_rename(
        self, one: tuple[bytes, Stamp], other: tuple[bytes, Stamp], pid: int, *, is_exchange: bool
    ) -> None:
        (path, stamp), (target, there) = one, other
        is_own = bool(stamp) and bool(self._until_ns.get(stamp[2]))
        if stamp:
            self._note_moved(path, target, stamp, there if is_exchange else (), is_own=is_own)
        if stamp and not target:
            self._keep(path, stamp, goes=True)
        aside, is_folder = path, not stamp or not stamp[1] or bool(there and not there[1])
        if is_exchange and stamp and there:
            aside = target + b"\0"  # a name that none can have
            self._before.moved(path, aside, stamp[2], is_folder=is_folder)
            self._before.moved(target, path, there[2], is_folder=is_folder)
        self._before.moved(aside, target, stamp[2] if stamp else 0, is_folder=is_folder)
        if stamp and target and not is_exchange:
            self._moving[pid] = path, target, stamp[2]

    def _note(self, path: bytes, stamp: Stamp, now: int) -> None:
        self._before.note(path)
        until_ns = time.time_ns() + _OWN_NS
        before, then, own_ns = self._noted.get(path, (stamp, stamp[2] if stamp else GONE, until_ns))
        if stamp:
            known_ns = self._until_ns.get(stamp[2], own_ns)
            is_late = not known_ns or (stamp[1] > known_ns and stamp[1] > self._others.closed_ns(stamp[2]))
            self._until_ns[stamp[2]] = 0 if is_late else until_ns
        has_failed = stamp[2:] == before[2:] and (then == GONE or not stamp)  # the call that was to remove or link it
        is_other = then not in (NEW, stamp[2] if stamp else GONE) and not has_failed
        self._noted[path] = (before, FOREIGN if is_other else now, until_ns)

    def _note_moved(self, path: bytes, target: bytes, stamp: Stamp, there: Stamp, *, is_own: bool) -> None:
        """Note a move: of a folder, and of a file that the command hasn't written to, whose doing that is depends."""
        self._note(path, stamp, there[2] if there else GONE)
        if stamp and stamp[1] and not self._others.touches(path, stamp[2]):
            self._until_ns[stamp[2]] = 0
        if stamp and not (stamp[1] and is_own):
            self._moves.append((path, target))
        if there and not there[1]:
            self._moves.append((target, path))

    def _found(self, path: bytes, pid: int, *, follows: bool) -> bytes:
        """Resolve a path; where nobody has looked beforehand, also one that leads into a root by links outside."""
        try:
            return self._resolved(path, follows=follows)
        except OSError as error:
            if error.errno != errno.EXDEV or not self._before.is_noting:
                raise
        return self._resolved(through_links(path, pid, follows=follows), follows=follows)

    def _beneath(self, path: bytes, pid: int) -> bytes:
        """Return as below, of a link the place where it lies, and b"" for what isn't beneath a root."""
        try:
            return self._found(path, pid, follows=False)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return b""

    def _resolved(self, path: bytes, *, follows: bool) -> bytes:
        """Return the path with no link in it. Raises OSError for one that isn't beneath a root, on its file system:
        another could be one that the command itself serves, and would have to wait for."""
        above, _, name = path.rstrip(b"/").rpartition(b"/")
        if name in (b"", b".", b".."):
            return self._opened(path)
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


def _stamp(path: bytes) -> Stamp:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return (0, 0, status.st_ino)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


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
