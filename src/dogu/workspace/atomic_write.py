"""Replace a file's content so that, killed at any instant, it is the old or the new one, and on the disk."""

from __future__ import annotations

import os
import secrets
import stat

from dogu.workspace.beneath import Place


def replace_file(place: Place, data: bytes) -> None:
    """Write `data` to `place` through a temporary file beside it. Raises OSError; then nothing has changed."""
    name = f".dogu-{secrets.token_hex(8)}.tmp"
    try:
        mode: int | None = stat.S_IMODE(os.stat(place.name, dir_fd=place.parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        mode = None
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=place.parent
    )
    try:
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
    except BaseException:
        os.unlink(name, dir_fd=place.parent)
        raise
