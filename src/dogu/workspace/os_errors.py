"""From the system's errors to what the model should hear."""

from __future__ import annotations

import errno

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence
from dogu.workspace.system import few_files_may_be_open, no_file_may_grow

_MESSAGES: dict[int, tuple[ErrorKind, str]] = {
    errno.ENOENT: (ErrorKind.NOT_FOUND, "File not found: {path}. Check the name with glob or list_directory."),
    errno.ENOTDIR: (ErrorKind.WRONG_FILE_TYPE, "Not a directory: {path}, or a part of that path, is a file."),
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
    errno.EFBIG: (ErrorKind.IO_ERROR, "{path} would be larger than a limit allows (ulimit -f)."),
    errno.ENXIO: (ErrorKind.WRONG_FILE_TYPE, "Not a regular file: {path} is a device, FIFO or socket."),
}
_LONGEST_SHOWN = 300
_LIMITS = {
    errno.ENOMEM: sentence("There isn't enough memory: the machine's, or a limit's (ulimit -v)."),
    errno.EMFILE: sentence("Too many files are open: the limit is too low (ulimit -n; 256 are enough)."),
    errno.ENFILE: sentence("Too many files are open on this machine."),
    errno.EFBIG: sentence("A file would be larger than a limit allows (ulimit -f)."),
    errno.ENOSPC: sentence("No space is left on the disk: free some, then try again."),
    errno.EDQUOT: sentence("Your disk quota is used up: free some space, then try again."),
    errno.EAGAIN: sentence("No more processes or threads may be started: the machine's limit, or yours (ulimit -u)."),
}
_NO_FOLDER = sentence("No temporary folder can be written to: set TMPDIR to one.")
_NOT_MAPPED = ("failed to map segment", "cannot allocate memory")


def limit_words(error: BaseException) -> str:
    """Return what to say of an error that comes from a limit of the machine, and is no defect; '' for any other."""
    if isinstance(error, MemoryError):
        return _LIMITS[errno.ENOMEM]
    if isinstance(error, SystemError) and "without exception set" in str(error):  # C code that went without memory
        return _LIMITS[errno.ENOMEM]
    if isinstance(error, ImportError) and any(words in str(error).lower() for words in _NOT_MAPPED):
        return _LIMITS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return _LIMITS[errno.EAGAIN]
    if isinstance(error, OSError):
        if str(error.strerror).startswith("No usable temporary directory"):
            limit = errno.EFBIG if no_file_may_grow() else errno.EMFILE if few_files_may_be_open() else 0
            return _LIMITS.get(limit, _NO_FOLDER)
        return _LIMITS.get(error.errno or 0, "")
    return ""


def explain(error: OSError, path: str) -> ToolError:
    """Make the `ToolError` for a failed system call on `path`; to be raised from the original."""
    shown = path if len(path) <= _LONGEST_SHOWN else path[:_LONGEST_SHOWN] + "..."
    kind, message = _MESSAGES.get(error.errno or 0, (ErrorKind.IO_ERROR, "{reason}: {path}."))
    return ToolError(kind, message.format(path=shown, reason=error.strerror or str(error)))
