"""Windows' job objects and pseudo-consoles, and calls that Python hasn't, for supervisors. Standard library only."""

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

_MOST_PIDS = 4096
_BASIC_ACCOUNTING, _BASIC_PROCESS_ID_LIST, _EXTENDED_LIMIT = 1, 3, 9
_LIMIT_ACTIVE_PROCESS, _LIMIT_JOB_MEMORY, _LIMIT_KILL_ON_JOB_CLOSE = 0x8, 0x200, 0x2000
_CTRL_BREAK = 1
_QUERY_LIMITED_INFORMATION = 0x1000
_SHARE_ALL, _OPEN_EXISTING, _GENERIC_READ_WRITE = 7, 3, 0xC0000000

_PSEUDO_CONSOLE = 0x20016  # PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE
_CREATE_SUSPENDED, _CREATE_UNICODE_ENVIRONMENT, _EXTENDED_STARTUPINFO_PRESENT = 0x4, 0x400, 0x80000
_USE_STANDARD_HANDLES = 0x100
_MOST_WAITING = 1_000  # words typed, and not yet read by anybody

_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
for _name in ("CreateJobObjectW", "OpenProcess", "CreateFileW"):
    getattr(_kernel, _name).restype = wintypes.HANDLE


class _BasicLimits(ctypes.Structure):
    _fields_ = [
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    ]


class _ExtendedLimits(ctypes.Structure):
    _fields_ = [
        ("Basic", _BasicLimits),
        ("IoCounters", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]


class _Accounting(ctypes.Structure):
    _fields_ = [
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", wintypes.DWORD),
        ("TotalProcesses", wintypes.DWORD),
        ("ActiveProcesses", wintypes.DWORD),
        ("TotalTerminatedProcesses", wintypes.DWORD),
    ]


class _ProcessIds(ctypes.Structure):
    _fields_ = [
        ("NumberOfAssignedProcesses", wintypes.DWORD),
        ("NumberOfProcessIdsInList", wintypes.DWORD),
        ("ProcessIdList", ctypes.c_size_t * _MOST_PIDS),
    ]


class JobObject:
    """All processes of one command. What they start is in it too, and none can break away."""

    def __init__(self, max_processes: int, max_memory_bytes: int | None) -> None:
        self._handle = wintypes.HANDLE(_kernel.CreateJobObjectW(None, None))
        if not self._handle:
            raise ctypes.WinError(ctypes.get_last_error())
        limits = _ExtendedLimits()
        limits.Basic.LimitFlags = _LIMIT_KILL_ON_JOB_CLOSE
        if max_processes:
            limits.Basic.LimitFlags |= _LIMIT_ACTIVE_PROCESS
            limits.Basic.ActiveProcessLimit = max_processes
        if max_memory_bytes:
            limits.Basic.LimitFlags |= _LIMIT_JOB_MEMORY
            limits.JobMemoryLimit = max_memory_bytes
        size = ctypes.sizeof(limits)
        if not _kernel.SetInformationJobObject(self._handle, _EXTENDED_LIMIT, ctypes.byref(limits), size):
            raise ctypes.WinError(ctypes.get_last_error())

    def take(self, process: int) -> None:
        """Put a process into it. Raises `OSError`."""
        if not _kernel.AssignProcessToJobObject(self._handle, wintypes.HANDLE(process)):
            raise ctypes.WinError(ctypes.get_last_error())

    def pids(self) -> list[int]:
        """The processes that live, without the consoles that the system starts for them."""
        found = _ProcessIds()
        size = ctypes.sizeof(found)
        _kernel.QueryInformationJobObject(self._handle, _BASIC_PROCESS_ID_LIST, ctypes.byref(found), size, None)
        return [pid for pid in found.ProcessIdList[: found.NumberOfProcessIdsInList] if not _is_console(pid)]

    def count(self) -> int:
        """How many processes live, consoles too."""
        found = _Accounting()
        size = ctypes.sizeof(found)
        _kernel.QueryInformationJobObject(self._handle, _BASIC_ACCOUNTING, ctypes.byref(found), size, None)
        return found.ActiveProcesses

    def end(self) -> None:
        """End every process of it at once."""
        _kernel.TerminateJobObject(self._handle, 1)


def _is_console(pid: int) -> bool:
    handle = wintypes.HANDLE(_kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid))
    if not handle:
        return False
    name = ctypes.create_unicode_buffer(1024)
    size = wintypes.DWORD(len(name))
    is_told = _kernel.QueryFullProcessImageNameW(handle, 0, name, ctypes.byref(size))
    _kernel.CloseHandle(handle)
    return bool(is_told) and name.value.lower().endswith("\\conhost.exe")


def resume(thread: int) -> None:
    """Let a process begin that was made suspended."""
    _kernel.ResumeThread(wintypes.HANDLE(thread))


def press_break(group: int) -> bool:
    """Press Ctrl-Break in a process group of this console; False where that can't be."""
    return bool(_kernel.GenerateConsoleCtrlEvent(_CTRL_BREAK, group))


def console_code_page() -> int:
    """The encoding in which programs print to this console."""
    return _kernel.GetConsoleOutputCP() or _kernel.GetOEMCP()


def open_shared(path: str) -> int:
    """Open a file that goes with its last handle, and so wants to be shared in every way."""
    handle = _kernel.CreateFileW(path, _GENERIC_READ_WRITE, _SHARE_ALL, None, _OPEN_EXISTING, 0, None)
    if handle in (None, wintypes.HANDLE(-1).value):
        raise ctypes.WinError(ctypes.get_last_error())
    return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY)


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


class PseudoConsole:
    """A command's own console: `output` is read until it is over, which it is once this is closed.

    Made by the system's own calls: what packages start in one runs before it can be put into a job object.
    """

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
