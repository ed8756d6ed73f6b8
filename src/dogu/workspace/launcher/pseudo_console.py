"""A pseudo-console of a command's own: Windows' counterpart of `terminal`. Standard library only.

Made by the system's own calls: what packages start in one runs before it can be put into a job object.
"""

from __future__ import annotations

import _winapi
import ctypes
import msvcrt
import os
import queue
import sys
import threading
from collections.abc import Mapping
from ctypes import wintypes

assert sys.platform == "win32"

_PSEUDO_CONSOLE = 0x20016  # PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE
_CREATE_SUSPENDED, _CREATE_UNICODE_ENVIRONMENT, _EXTENDED_STARTUPINFO_PRESENT = 0x4, 0x400, 0x80000
_USE_STANDARD_HANDLES = 0x100
_MOST_WAITING = 1_000  # words typed, and not yet read by anybody


class _Size(ctypes.Structure):
    _fields_ = [("columns", ctypes.c_short), ("rows", ctypes.c_short)]


class _StartupInfo(ctypes.Structure):
    _fields_ = [
        ("cb", wintypes.DWORD),
        ("names", ctypes.c_void_p * 3),
        ("places", wintypes.DWORD * 7),
        ("flags", wintypes.DWORD),
        ("shown", wintypes.WORD),
        ("reserved_bytes", wintypes.WORD),
        ("reserved", ctypes.c_void_p),
        ("streams", wintypes.HANDLE * 3),
        ("attributes", ctypes.c_void_p),
    ]


class _ProcessInformation(ctypes.Structure):
    _fields_ = [
        ("process", wintypes.HANDLE),
        ("thread", wintypes.HANDLE),
        ("pid", wintypes.DWORD),
        ("thread_id", wintypes.DWORD),
    ]


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)


class PseudoConsole:
    """The supervisor's end: `output` is read until it is over, which it is once this is closed."""

    def __init__(self, rows: int, columns: int) -> None:
        keys, self._keys = _winapi.CreatePipe(None, 0)
        output, shown = _winapi.CreatePipe(None, 0)
        self.output = msvcrt.open_osfhandle(output, os.O_RDONLY)
        self._console: ctypes.c_void_p | None = ctypes.c_void_p()
        given = (_Size(columns, rows), wintypes.HANDLE(keys), wintypes.HANDLE(shown), 0)
        failed = _kernel.CreatePseudoConsole(*given, ctypes.byref(self._console))
        for handle in (keys, shown):
            _winapi.CloseHandle(handle)
        if failed:
            raise ctypes.WinError(failed & 0xFFFF)
        self._typed: queue.Queue[bytes] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._write, daemon=True).start()

    def start(
        self, program: str | None, line: str, environment: Mapping[str, str], directory: str
    ) -> tuple[int, int, int]:
        """Start a program in it, suspended; return its process, its thread and its number. Raises `OSError`."""
        size = ctypes.c_size_t()
        _kernel.InitializeProcThreadAttributeList(None, 1, 0, ctypes.byref(size))
        attributes = ctypes.create_string_buffer(size.value)
        _kernel.InitializeProcThreadAttributeList(attributes, 1, 0, ctypes.byref(size))
        _kernel.UpdateProcThreadAttribute(
            attributes, 0, ctypes.c_size_t(_PSEUDO_CONSOLE), self._console, ctypes.c_size_t(8), None, None
        )
        start = _StartupInfo(cb=ctypes.sizeof(_StartupInfo), attributes=ctypes.addressof(attributes))
        start.flags = _USE_STANDARD_HANDLES  # none are given: the console's, whatever this process has for its own
        block = "".join(f"{name}={environment[name]}\0" for name in sorted(environment, key=str.upper)) + "\0"
        made = _ProcessInformation()
        is_made = _kernel.CreateProcessW(
            program,
            ctypes.create_unicode_buffer(line),
            None,
            None,
            False,
            _CREATE_SUSPENDED | _CREATE_UNICODE_ENVIRONMENT | _EXTENDED_STARTUPINFO_PRESENT,
            ctypes.create_unicode_buffer(block),
            directory,
            ctypes.byref(start),
            ctypes.byref(made),
        )
        error = ctypes.get_last_error()
        _kernel.DeleteProcThreadAttributeList(attributes)
        if not is_made:
            raise ctypes.WinError(error)
        return int(made.process), int(made.thread), int(made.pid)

    def type(self, data: bytes) -> None:
        """Take keys; what nobody reads is bounded, and more of it is dropped."""
        if not self._typed.full():
            self._typed.put_nowait(data)

    def _write(self) -> None:
        descriptor = msvcrt.open_osfhandle(self._keys, os.O_WRONLY)
        try:
            while data := self._typed.get():
                os.write(descriptor, data)
        except OSError:  # nobody has it open any more
            pass

    def close(self) -> None:
        """Close it: what it shows is sent whole, and then its output is over."""
        console, self._console = self._console, None
        if console is not None:
            threading.Thread(target=_kernel.ClosePseudoConsole, args=(console,), daemon=True).start()
