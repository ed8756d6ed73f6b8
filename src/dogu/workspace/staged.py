"""What a command changed in its layer, not yet in the workspace; and what puts it there, keeping what was there before.

Plain data and a protocol: the layer (`sandbox`) makes them, the journal is the `CommandChanges`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec


class StagedChange(msgspec.Struct, frozen=True):
    """One path (absolute, real) that a command changed; `source` is the new entry's path in the layer, empty: it goes.

    A file, a link, a FIFO is moved from `source`, or copied where that lies on another file system; a folder is made
    with `source`'s attributes, its entries are changes of their own. One that goes takes all below it along.

    `moved_from` is the folder that the command renamed to `path`: what lies in it moves along, before anything else.
    `was_there`: the command's version was made of one that lay there, so that nothing there now is somebody's doing.
    `in_place`: the file has other names and was written to: so are those. `parts`: it was replaced by another one, and
    those names stay what they are, also where it holds the same. `has_marks`: `source` has attributes of the layer's
    own. `whole`: nothing lay there, and all below `source` is new and without marks, so that one move takes it there;
    each entry in it is a change that `comes_along`. `within` is the identity (`openat.identity_of`) of the folder that
    the command saw it in, and `origin` that of the folder which this was made of; b"" where nobody knows. `mode` is a
    folder's that keeps its owner out, who was let in to look (-1: it has the one that `source` has). `is_folder`:
    `source` is one.
    """

    path: str
    source: str = ""
    moved_from: str = ""
    was_there: bool = False
    in_place: bool = False
    parts: bool = False
    has_marks: bool = False
    whole: bool = False
    comes_along: bool = False
    within: bytes = b""
    origin: bytes = b""
    mode: int = -1
    is_folder: bool = False


Stamp = tuple[int, int, int] | tuple[()]
"""What a path held: mtime and ctime in ns, inode; of a folder only the inode, the times are 0. () is nothing."""


class Share(NamedTuple):
    """What a command can have done to the content of a file that was there: it never cut away the first `kept_bytes`,
    wrote nothing but behind the end, or may have stretched it, which makes zeros."""

    kept_bytes: int
    only_appends: bool
    stretches: bool


class Written(msgspec.Struct, frozen=True):
    """What the kernel says that a command without a layer wrote.

    By path (absolute, real) what it held before the first time, the inode that the last time leaves there (0: nothing,
    -1: a new one, -2: somebody else's), and until when (ns) a change of it is the command's; its moves of folders, and
    of files that it had not written; and by inode until when it had files open, and its `shares` in what is in those
    that it opened (0: in any). `is_whole`: what paths were until then could all be noted.
    """

    paths: Mapping[str, tuple[Stamp, int, int]]
    moves: tuple[tuple[str, str], ...] = ()
    open_ns: Mapping[int, int] = {}
    shares: Mapping[int, Share] = {}
    is_whole: bool = True


Later = Callable[[], tuple[Written, bool]]
"""Says what a job wrote since it was asked last, and whether it may yet write more. Blocks for milliseconds."""


class Watching(Protocol):
    """Takes what is known of a command whose changes are looked for.

    `keeps` is a folder for what files hold that go, and of how many bytes: those of which the look before has none.
    """

    @property
    def keeps(self) -> tuple[str, int] | None:
        """The folder and the bytes; None where the look has all."""
        ...

    @property
    def before(self) -> str:
        """The folder in which a command's supervisor notes what it changes; "" where the roots are looked at."""
        ...

    def __call__(self, written: Written | None, later: Later | None = None) -> None:
        """Take what it wrote; `later` tells what it left running will have written by then."""
        ...


class CommitReport(msgspec.Struct, frozen=True):
    """What became of staged changes: the paths `done`; `conflicts` pair a path left as it is with why.

    `final` are conflicts in which the user has no say: another program holds the file, or the system refuses.
    `notes` say what could not be kept for undo.
    """

    done: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    final: frozenset[str] = frozenset()


class CommandChanges(Protocol):
    """Takes what a command changed into the workspace and keeps what was there, so that it can be undone."""

    def commit(
        self, changes: Sequence[StagedChange], began_ns: int, *, force: Collection[str] = (), beside: str = ""
    ) -> CommitReport:
        """Put the changes where they belong, each only if what lies there hasn't been touched since `began_ns`.

        That is a ctime of the same file system, taken right before the command began. Paths in `force` are put there
        whatever lies there by now, unless another program holds it. `beside` is a folder on the same mount, for what is
        kept. Blocks; within the call whose changes they are. Killed in the middle, the rest is done when dogu starts
        next. Raises OSError.
        """
        ...

    def watched(self, *, is_told: bool = False) -> AbstractContextManager[Watching]:
        """Find out what a command without a layer changes: by what `is_told` of it, so that nothing is looked at first;
        or look at the roots before and after, so that its changes are only guessed, but for what is known to be written
        by it. Either is to be told before the end. What it left running writes later is this call's too, and found
        whenever something is undone or run."""
        ...
