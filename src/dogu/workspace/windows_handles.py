r"""Windows' calls on file handles, as `windows_files` uses them: open below a folder's handle, look, change, rename.

All of NT's names and numbers are here. A path starts at a handle or is absolute; a name that Win32 and NT would read
differently is refused before it is opened. Standard library only, and imported on Windows alone.
Source: NtCreateFile, NtSetInformationFile, [MS-FSCC] 2.4, GetFinalPathNameByHandleW.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import c_size_t, c_ulong, c_ushort, c_void_p, c_wchar_p

from dogu.workspace.windows_paths import from_final, name_problem

assert sys.platform == "win32"

import msvcrt  # noqa: E402  (what it names is Windows' own: the line above tells the type checker where it may look)

SYNCHRONIZE, DELETE, READ_CONTROL, WRITE_DAC = 0x100000, 0x10000, 0x20000, 0x40000
READ, WRITE = 0x120089, 0x120116
READ_ATTRIBUTES, WRITE_ATTRIBUTES, ADD_FILE = 0x80, 0x100, 0x2
OPEN, CREATE, OPEN_IF = 1, 2, 3
DIRECTORY_FILE, NOT_DIRECTORY, REPARSE = 0x1, 0x40, 0x200000
ALONE = 1 << 31
"""An option of `create`, not NT's: nobody else may write, or have it open for writing."""
READ_ONLY, HIDDEN, SYSTEM, DIRECTORY, ARCHIVE, NORMAL, REPARSE_POINT = 0x1, 0x2, 0x4, 0x10, 0x20, 0x80, 0x400
RENAME, LINK, RENAME_EX = 10, 11, 65
NO_SUCH_CALL = frozenset((0xC0000002, 0xC0000003, 0xC000000D, 0xC00000BB))
STREAMS, FOLDER_NEXT, FOLDER_FIRST = 7, 10, 11

_BASIC, _DISPOSITION, _DISPOSITION_EX, _TAG = 4, 13, 64, 9
_SYNCHRONOUS, _CASE_INSENSITIVE = 0x20, 0x40
_SHARE_WRITE, SHARE_ALL = 2, 7
_LONGEST_PATH = 1 << 15
_TICKS_BEFORE_1970 = 116_444_736_000_000_000  # of 100 ns, since 1601
_ERRNOS = {
    0xC00000BA: errno.EISDIR,
    0xC0000103: errno.ENOTDIR,
    0xC0000101: errno.ENOTEMPTY,
    0xC0000035: errno.EEXIST,
    0xC0000033: errno.ENOENT,
    0xC00000D4: errno.EXDEV,
    0xC000007F: errno.ENOSPC,
    0xC00000A2: errno.EROFS,
}

kernel = ctypes.WinDLL("kernel32", use_last_error=True)
nt = ctypes.WinDLL("ntdll")


class _Text(ctypes.Structure):
    _fields_ = (("length", c_ushort), ("room", c_ushort), ("text", c_wchar_p))


class _Object(ctypes.Structure):
    _fields_ = (
        ("length", c_ulong),
        ("root", c_void_p),
        ("name", ctypes.POINTER(_Text)),
        ("attributes", c_ulong),
        ("security", c_void_p),
        ("quality", c_void_p),
    )


class _Status(ctypes.Structure):
    _fields_ = (("status", c_void_p), ("information", c_size_t))


class Overlapped(ctypes.Structure):
    """Where in a file a call works."""

    _fields_ = (("internal", c_size_t), ("high", c_size_t), ("offset", ctypes.c_ulonglong), ("event", c_void_p))


kernel.ReadFile.argtypes = (c_void_p, c_void_p, c_ulong, c_void_p, c_void_p)
kernel.WriteFile.argtypes = (c_void_p, c_void_p, c_ulong, c_void_p, c_void_p)
kernel.ReOpenFile.argtypes = (c_void_p, c_ulong, c_ulong, c_ulong)
kernel.ReOpenFile.restype = c_void_p
kernel.GetFinalPathNameByHandleW.argtypes = (c_void_p, c_void_p, c_ulong, c_ulong)
kernel.GetFileInformationByHandleEx.argtypes = (c_void_p, ctypes.c_int, c_void_p, c_ulong)
kernel.LockFileEx.argtypes = (c_void_p, c_ulong, c_ulong, c_ulong, c_ulong, c_void_p)
kernel.UnlockFileEx.argtypes = (c_void_p, c_ulong, c_ulong, c_ulong, c_void_p)
kernel.CloseHandle.argtypes = (c_void_p,)
kernel.FlushFileBuffers.argtypes = (c_void_p,)
kernel.DeviceIoControl.argtypes = (c_void_p, c_ulong, c_void_p, c_ulong, c_void_p, c_ulong, c_void_p, c_void_p)
kernel.GetVolumeInformationByHandleW.argtypes = (c_void_p, c_void_p, c_ulong, *(c_void_p,) * 4, c_ulong)
nt.NtSetInformationFile.argtypes = (c_void_p, c_void_p, c_void_p, c_ulong, ctypes.c_int)
nt.NtQuerySecurityObject.argtypes = (c_void_p, c_ulong, c_void_p, c_ulong, c_void_p)
nt.NtSetSecurityObject.argtypes = (c_void_p, c_ulong, c_void_p)


def create(path: str, folder: int | None, access: int, disposition: int, options: int, mode: int = 0o666) -> int:
    """Return a handle of `path`, below the open `folder` or absolute. `options` are NT's, and `ALONE`; OSError."""
    name, root = _name(path, folder)
    text = _Text(len(name) * 2, len(name) * 2 + 2, name)
    which = _Object(ctypes.sizeof(_Object), root, ctypes.pointer(text), _CASE_INSENSITIVE, None, None)
    handle = c_void_p()
    status = nt.NtCreateFile(
        ctypes.byref(handle),
        access | SYNCHRONIZE,
        ctypes.byref(which),
        ctypes.byref(_Status()),
        None,
        NORMAL if mode & 0o200 else READ_ONLY,
        SHARE_ALL & ~_SHARE_WRITE if options & ALONE else SHARE_ALL,
        disposition,
        options & ~ALONE | _SYNCHRONOUS,
        None,
        0,
    )
    check(status, path)
    return handle.value or 0


@contextmanager
def opened(path: str, folder: int | None, access: int, options: int) -> Generator[int]:
    """Give a handle of what is there, and close it."""
    handle = create(path, folder, access, OPEN, options)
    try:
        yield handle
    finally:
        kernel.CloseHandle(handle)


def descriptor_of(handle: int, flags: int = 0) -> int:
    """Return a descriptor that owns the handle, and that no child has; `flags` may hold O_APPEND."""
    try:
        return msvcrt.open_osfhandle(handle, flags & os.O_APPEND | os.O_NOINHERIT)
    except OSError:
        kernel.CloseHandle(handle)
        raise


def handle_of(descriptor: int) -> int:
    """Return the handle of a descriptor. Raises OSError (EBADF)."""
    return msvcrt.get_osfhandle(descriptor)


def attributes_of(handle: int) -> tuple[int, int]:
    """Return the attributes, and the tag of a reparse point or 0."""
    room = (c_ulong * 2)()
    if not kernel.GetFileInformationByHandleEx(handle, _TAG, room, ctypes.sizeof(room)):
        return _basic_attributes(handle), 0  # a file system that knows no tags
    return room[0], room[1]


def set_attributes(handle: int, which: int, wanted: int) -> None:
    """Let those of the attributes `which` be as in `wanted`. Raises OSError."""
    now = _basic_attributes(handle)
    then = (now & ~which | wanted & which) & ~NORMAL
    if then != now & ~NORMAL:
        # Times that are zero stay as they are.
        check(set_information(handle, _BASIC, struct.pack("<4qLL", 0, 0, 0, 0, then & 0xFFFF or NORMAL, 0)), "")


def set_times(handle: int, read: int, written: int) -> None:
    """Set when it was read and written last, in nanoseconds since 1970. Raises OSError."""
    ticks = [at // 100 + _TICKS_BEFORE_1970 for at in (read, written)]
    check(set_information(handle, _BASIC, struct.pack("<4qLL", 0, *ticks, 0, 0, 0)), "")


def set_information(handle: int, kind: int, data: bytes) -> int:
    """Call NtSetInformationFile and return its status."""
    status: int = nt.NtSetInformationFile(handle, ctypes.byref(_Status()), data, len(data), kind)
    return status & 0xFFFFFFFF


def name_anew(handle: int, kind: int, flags: int, path: str, folder: int | None) -> int:
    """Give an open file the name `path` below the open `folder`: `RENAME`, `RENAME_EX` or `LINK`; return the status."""
    name, root = _name(path, folder)
    encoded = name.encode("utf-16-le", "surrogatepass")
    return set_information(handle, kind, struct.pack("<L4xQL", flags, root or 0, len(encoded)) + encoded + bytes(8))


def dispose(handle: int, path: str) -> None:
    """Remove the name that a handle was opened by: at once, where the file system can. Raises OSError."""
    status = set_information(handle, _DISPOSITION_EX, struct.pack("<L", 0x1 | 0x2 | 0x10))
    if status in NO_SUCH_CALL:
        set_attributes(handle, READ_ONLY, 0)
        status = set_information(handle, _DISPOSITION, b"\1")
    check(status, path)


def control(handle: int, code: int, most_bytes: int) -> bytes:
    """Call DeviceIoControl without input and return what it answers. Raises OSError."""
    room = ctypes.create_string_buffer(most_bytes)
    done = c_ulong()
    if not kernel.DeviceIoControl(handle, code, None, 0, room, len(room), ctypes.byref(done), None):
        raise last_error()
    return room.raw[: done.value]


def final_path(handle: int) -> str:
    """Return the path of an open file as the system knows it, with `/`; "" where that is below no letter or share."""
    room = ctypes.create_unicode_buffer(_LONGEST_PATH)
    if not kernel.GetFinalPathNameByHandleW(handle, room, len(room), 0):
        return ""
    return from_final(room.value)


def check(status: int, path: str) -> None:
    """Raise the OSError that a status of NT's means."""
    status &= 0xFFFFFFFF
    if not status & 0x80000000:
        return
    if number := _ERRNOS.get(status):
        raise OSError(number, os.strerror(number), path)
    raise _error(nt.RtlNtStatusToDosError(status), path)


def last_error() -> OSError:
    """Return what the last call of Win32 failed with."""
    return _error(ctypes.get_last_error(), "")


def _error(code: int, path: str) -> OSError:
    return OSError(None, ctypes.FormatError(code).strip(), path or None, code)


def _basic_attributes(handle: int) -> int:
    room = ctypes.create_string_buffer(40)
    if not kernel.GetFileInformationByHandleEx(handle, 0, room, len(room)):
        raise last_error()
    return struct.unpack_from("<32xL", room.raw)[0]


def _name(path: str, folder: int | None) -> tuple[str, int | None]:
    """Return the name for NT, and the handle that it starts at. Raises OSError (EINVAL) for what is no name."""
    if folder is None:
        full = os.path.abspath(path)
        if full.startswith(("\\\\?\\", "\\\\.\\")):
            return "\\??\\" + full[4:], None
        return ("\\??\\UNC" + full[1:] if full.startswith("\\\\") else "\\??\\" + full), None
    names = [name for name in path.replace("\\", "/").split("/") if name not in ("", ".")]
    for name in names:
        if problem := name_problem(name):
            raise OSError(errno.EINVAL, problem, path)
    return "\\".join(names), handle_of(folder)
