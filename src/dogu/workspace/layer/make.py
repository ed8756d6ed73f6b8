"""The folders of a layer: where they may lie, made before a command and removed after it.

They lie on the root's own mount, so that what is kept is moved and no byte of it copied.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.openat import identity_of
from dogu.workspace.sandbox import places
from dogu.workspace.sandbox.work import mounts_below
from dogu.workspace.system import own_ids

_PREFIX = "layer-"
_LOCK = "lock"
COMMITTING = "committing"  # made by whoever keeps what is in a layer, until that is done
_ROOM_BYTES = 1 << 30  # less free, and a copied file could fill the disk
_HANDLE = fs.O_PATH | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC


class Layer(msgspec.Struct, frozen=True):
    """One root's layer; `began_ns` is the file system's own time from right before the command.

    `identity` is the root's; see `openat.identity_of`.
    """

    root: str
    folder: str
    began_ns: int
    lock: int
    identity: bytes = b""

    @property
    def upper(self) -> str:
        """Where the kernel puts what is written."""
        return os.path.join(self.folder, "upper")

    @property
    def work(self) -> str:
        """The kernel's own folder."""
        return os.path.join(self.folder, "work")

    def put_aside(self) -> str:
        """Keep the layer with all that is still in it, where nobody clears it away; return where that is."""
        if self._is_being_kept():  # what wasn't finished of it is finished by whoever starts next
            return self.upper
        aside = aside_of(self.folder)
        try:
            os.rename(self.folder, aside)
        except OSError:
            self.hold()
            return self.upper
        remove_folder(os.path.join(aside, "work"))
        return os.path.join(aside, "upper")

    def hold(self) -> None:
        """Have the layer left where it is for good."""
        with suppress(OSError), open(os.path.join(self.folder, COMMITTING), "wb"):
            pass

    def _is_being_kept(self) -> bool:
        return os.path.exists(os.path.join(self.folder, COMMITTING))

    def remove(self) -> None:
        """Remove the layer, with all that is still in it; not while it is being kept, which another may finish."""
        if not self._is_being_kept():
            remove_folder(self.folder)
        os.close(self.lock)


class Layers(msgspec.Struct, frozen=True):
    """The layers of one command, a root each."""

    all: tuple[Layer, ...]

    @property
    def order(self) -> list[tuple[bytes, bytes]]:
        """What `launcher.layers` takes."""
        return [(os.fsencode(layer.root), os.fsencode(layer.folder)) for layer in self.all]

    @property
    def began_ns(self) -> int:
        """What was there before the command was last changed no later than this."""
        return min(layer.began_ns for layer in self.all)

    def hold(self) -> None:
        """Leave the layers where they are for good: somebody goes on living in them."""
        for layer in self.all:
            layer.hold()

    def put_aside(self) -> list[str]:
        """Keep what is still in the layers where it can be read; return the folders. They may be removed then."""
        return [layer.put_aside() for layer in self.all if os.path.isdir(layer.upper) and os.listdir(layer.upper)]

    def remove(self) -> None:
        """Remove the layers: what was not kept never happened."""
        for layer in self.all:
            layer.remove()


def make(roots: Sequence[str], beside: str) -> Layers | None:
    """Make empty layers for roots (absolute, real); None where a layer can't be or would be seen by the command.

    `beside` is a folder of the session's own, the first choice for them. That the kernel mounts them is found out when
    the command starts.
    """
    outermost = [root for root in roots if not any(places.is_in(root, [other]) for other in roots if other != root)]
    if not outermost or mounts_below(outermost) or places.listening(outermost) or any(map(_is_anothers, outermost)):
        return None
    made: list[Layer] = []
    beside = os.path.realpath(beside)
    try:
        for root in outermost:
            place = _place(root, beside)
            if place is None:
                raise OSError(root)
            made.append(_make(root, place))
    except OSError:
        Layers(tuple(made)).remove()
        return None
    return Layers(tuple(made))


def why_none(roots: Sequence[str], beside: str) -> str:
    """Say why these roots can have no layers, "" where they can; see `make`. Tries a mount. Raises OSError."""
    if mounts_below(roots):
        return told("another file system is mounted inside")
    if places.listening(roots):
        return told("a program listens on a socket inside")
    if any(map(_is_anothers, roots)):
        return told("it belongs to another user or group")
    layers = make(roots, beside)
    if layers is None:
        return told("neither the sessions' folder nor the one beside the root can hold them (same mount, 1 GB free)")
    try:
        code = "import json, os, sys; from dogu.workspace.launcher.layers import enter\n"
        code += "enter([tuple(map(os.fsencode, each)) for each in json.loads(sys.argv[1])], os.open('/', os.O_PATH))"
        order = json.dumps([(layer.root, layer.folder) for layer in layers.all])
        tried = subprocess.run([sys.executable, "-P", "-c", code, order], capture_output=True, check=False)
    finally:
        layers.remove()
    last = tried.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return told("the kernel mounts none here ({error})", error=last) if tried.returncode else ""


def aside_of(folder: str) -> str:
    """Return what a layer's folder is called once it is put aside."""
    above, name = os.path.split(folder)
    return os.path.join(above, f"versions-{name.removeprefix(_PREFIX)}")


def clear_dead(folder: str) -> None:
    """Remove layers in `folder` whose process is gone, but not what was being kept."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith(_PREFIX) and not os.path.exists(os.path.join(path, COMMITTING)):
                lock = _locked(path)
                if lock is not None:
                    remove_folder(path)
                    os.close(lock)


def _place(root: str, beside: str) -> str | None:
    """Return a folder on the root's mount: the session's, else one next to the root."""
    os.makedirs(beside, mode=0o700, exist_ok=True)
    mount = _mount_of(root)
    for place, is_shared in ((beside, False), (os.path.dirname(root), True)):
        if _mount_of(place) != mount or not os.access(place, os.W_OK):
            continue
        if is_shared:
            place = shared_place(root)
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
            if os.lstat(place).st_uid != os.getuid() or os.path.islink(place):
                continue
        free = os.statvfs(place)
        return place if free.f_bavail * free.f_frsize >= _ROOM_BYTES else None
    return None


def _is_anothers(root: str) -> bool:
    """Whether a layer would show the root as nobody's, and could have nothing made in it: the superuser's wouldn't."""
    status = os.stat(root)
    return os.geteuid() != 0 and (status.st_uid, status.st_gid) != own_ids()


def shared_place(root: str) -> str:
    """Return the folder next to a root for its layers, where the session's own lies on another mount."""
    return os.path.join(os.path.dirname(root), f".dogu-layers-{os.getuid()}")


def _make(root: str, place: str) -> Layer:
    folder = os.path.join(place, f"{_PREFIX}{os.urandom(8).hex()}")
    os.mkdir(folder, 0o700)
    lock = _locked(folder)
    try:
        upper = os.path.join(folder, "upper")
        os.mkdir(upper)
        os.mkdir(os.path.join(folder, "work"))
        status = os.stat(root)
        if os.geteuid() == 0:
            os.chown(upper, status.st_uid, status.st_gid)
        shutil.copystat(root, upper)
        if lock is None:
            raise OSError(folder)
        handle = fs.open(root, _HANDLE)
        try:
            identity = identity_of(handle)
        finally:
            os.close(handle)
        return Layer(root, folder, os.stat(os.path.join(folder, _LOCK)).st_ctime_ns, lock, identity)
    except OSError:
        remove_folder(folder)
        if lock is not None:
            os.close(lock)
        raise


def _locked(folder: str) -> int | None:
    """Lock a layer for as long as this process lives; None where somebody else does."""
    try:
        lock = fs.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | fs.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fs.flock(lock, fs.LOCK_EX | fs.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def remove_folder(folder: str) -> None:
    """Remove a folder with all in it, whatever its modes: the kernel's own can't even be listed."""
    seen: list[str] = []
    for above, folders, _files in fs.walked(folder):
        seen.append(above)
        for name in folders:
            with suppress(OSError):
                os.chmod(os.path.join(above, name), 0o700)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # deeper than Python goes
        for above in reversed(seen):
            shutil.rmtree(above, ignore_errors=True)


def _mount_of(path: str) -> str:
    """Return the kernel's number of the mount that a folder lies in; files can be moved within one only."""
    handle = fs.open(path, _HANDLE)
    try:
        with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as facts:
            return next((line.split()[1] for line in facts if line.startswith("mnt_id:")), "")
    finally:
        os.close(handle)
