"""What a task begins with, as an archive that travels to the node that runs it: a repository, or a folder.

A repository is cloned once, where the fleet is driven, and a folder of that machine is found nowhere else. On the node
the archive lies in the attempt's own folder, as a fleet's does on one machine, so nothing else is different there.
"""

from __future__ import annotations

import io
import os
import tarfile

import msgspec

from dogu.fleet.folders import check_folder
from dogu.fleet.tasks import Task
from dogu.fleet.world import REPOS, store_of

_FOLDER = "given"


def stamp_of(task: Task, fleet: str) -> tuple[str, int]:
    """Say what is to be packed: where it lies in the fleet's machine, and which state of it; clones and fetches first.

    "" for the place: nothing. Raises `WorldError` for a repository that can't be had.
    """
    if task.repo:
        store = store_of(task, os.path.join(fleet, REPOS))
        fetched = os.path.join(store, "FETCH_HEAD")
        return store, os.stat(fetched).st_mtime_ns if os.path.exists(fetched) else 0
    return task.folder, 0


def pack(place: str, fleet: str) -> bytes:
    """Return the archive of a store, or of a folder without the fleet's own. Raises OSError, `WorldError`."""
    left_out = os.path.realpath(fleet)
    is_store = os.path.dirname(place) == os.path.join(fleet, REPOS)
    source = os.path.realpath(place)
    if not is_store:
        check_folder(place, fleet)

    def chosen(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = os.path.join(source, os.path.relpath(entry.name, name))
        return None if path == left_out else entry

    name = os.path.join(REPOS, os.path.basename(place)) if is_store else _FOLDER
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(source, name, filter=chosen)
    return packed.getvalue()


def unpack(parcel: bytes, task: Task, folder: str) -> Task:
    """Put it into an attempt's own folder; return the task as it begins there. Raises OSError."""
    with tarfile.open(fileobj=io.BytesIO(parcel)) as archive:
        archive.extractall(folder, filter="fully_trusted")  # the user's own, with their links, as `cp -a` has it
    return msgspec.structs.replace(task, folder=os.path.join(folder, _FOLDER)) if task.folder else task
