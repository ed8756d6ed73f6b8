"""From the system's errors to what the model should hear."""

from __future__ import annotations

import errno

from dogu.contract.errors import ErrorKind, ToolError

_MESSAGES: dict[int, tuple[ErrorKind, str]] = {
    errno.ENOENT: (ErrorKind.NOT_FOUND, "File not found: {path}. Check the name with glob or list_directory."),
    errno.ENOTDIR: (ErrorKind.WRONG_FILE_TYPE, "Not a directory: a part of {path} is a file, not a folder."),
    errno.EISDIR: (ErrorKind.WRONG_FILE_TYPE, "Path is a directory, not a file: {path}. Name a file in it."),
    errno.EEXIST: (ErrorKind.ALREADY_EXISTS, "File already exists: {path}."),
    errno.ELOOP: (ErrorKind.IO_ERROR, "Too many levels of symbolic links: {path}. Name the file itself."),
    errno.ENAMETOOLONG: (ErrorKind.INVALID_ARGUMENTS, "Name too long: {path}. Use a shorter path."),
    errno.EACCES: (
        ErrorKind.PERMISSION_DENIED,
        "Permission denied: {path}. Its mode or its folder's forbids it.",
    ),
    errno.EPERM: (ErrorKind.PERMISSION_DENIED, "Operation not permitted: {path}. Its owner or attributes forbid it."),
    errno.EROFS: (ErrorKind.PERMISSION_DENIED, "Read-only file system: {path} can't be written."),
    errno.ENOSPC: (ErrorKind.IO_ERROR, "No space left on the device of {path}. Free some space, then try again."),
    errno.EDQUOT: (ErrorKind.IO_ERROR, "Disk quota exceeded on the device of {path}. Free some space, then try again."),
    errno.ENXIO: (ErrorKind.WRONG_FILE_TYPE, "Not a regular file: {path} is a device, FIFO or socket."),
}
_LONGEST_SHOWN = 300


def explain(error: OSError, path: str) -> ToolError:
    """Make the `ToolError` for a failed system call on `path`; to be raised from the original."""
    shown = path if len(path) <= _LONGEST_SHOWN else path[:_LONGEST_SHOWN] + "..."
    kind, message = _MESSAGES.get(error.errno or 0, (ErrorKind.IO_ERROR, "{reason}: {path}."))
    return ToolError(kind, message.format(path=shown, reason=error.strerror or str(error)))
