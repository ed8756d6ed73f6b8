"""Windows' job objects, and the few other calls that Python hasn't, for supervisors. Standard library only."""

from __future__ import annotations

import ctypes
import msvcrt
import os
import sys
from ctypes import wintypes

assert sys.platform == "win32"

_MOST_PIDS = 4096
_BASIC_ACCOUNTING, _BASIC_PROCESS_ID_LIST, _EXTENDED_LIMIT = 1, 3, 9
_LIMIT_ACTIVE_PROCESS, _LIMIT_JOB_MEMORY, _LIMIT_KILL_ON_JOB_CLOSE = 0x8, 0x200, 0x2000
_CTRL_BREAK = 1
_QUERY_LIMITED_INFORMATION = 0x1000
_SHARE_ALL, _OPEN_EXISTING, _GENERIC_READ_WRITE = 7, 3, 0xC0000000

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
