"""The filter's program, run in a small machine of our own: both processors, every number."""

import errno
import struct

import pytest

from dogu.workspace.launcher import seccomp
from dogu.workspace.launcher.seccomp import AF_INET, AF_NETLINK, AF_UNIX, program

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
NUMBERS = {
    "x86_64": {"read": 0, "execve": 59, "socket": 41, "clone": 56, "clone3": 435, "ioctl": 16, "unshare": 272, "prlimit": 302},
    "aarch64": {"read": 63, "execve": 221, "socket": 198, "clone": 220, "clone3": 435, "ioctl": 29, "unshare": 97, "prlimit": 261},
}  # fmt: skip


def answer(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run the program on one system call and return what the kernel would do."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(arguments + (0,) * 6)[:6])
    lines = list(struct.iter_unpack("=HBBI", code))
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, value = lines[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x06:
            return value
        else:
            is_true = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[
                operation
            ]
            at += if_true if is_true else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_refused_calls_fail_and_all_others_pass(machine: str) -> None:
    code, arch = program(machine, (AF_UNIX,)), ARCH[machine]
    column = 0 if machine == "x86_64" else 1
    refused = {numbers[column] for numbers in seccomp._REFUSED.values()} - {None}
    special = {NUMBERS[machine][name] for name in ("clone3", "socket")}
    for number in range(600):
        if number not in special:
            assert answer(code, arch, number) == (EPERM if number in refused else ALLOW), number


def test_flags_and_families_decide_where_a_number_does_not(machine: str) -> None:
    code, arch, number = program(machine, (AF_UNIX, AF_NETLINK)), ARCH[machine], NUMBERS[machine]
    assert answer(code, arch, number["clone"], 0x1200011) == ALLOW
    assert answer(code, arch, number["clone"], 0x10000000 | 17) == EPERM
    assert answer(code, arch, number["clone3"]) == ENOSYS
    assert answer(code, arch, number["unshare"], 0x400) == ALLOW
    assert answer(code, arch, number["unshare"], 0x20000) == EPERM
    assert answer(code, arch, number["socket"], AF_UNIX) == answer(code, arch, number["socket"], AF_NETLINK) == ALLOW
    assert answer(code, arch, number["socket"], AF_INET) == answer(code, arch, number["socket"], 17) == EPERM
    assert answer(code, arch, number["prlimit"], 0) == ALLOW
    assert answer(code, arch, number["prlimit"], 4321) == EPERM
    assert answer(code, arch, number["ioctl"], 0, 0x5401) == ALLOW
    assert answer(code, arch, number["ioctl"], 0, 0x5412) == EPERM
    assert answer(code, arch, number["ioctl"], 0, 0xFFFFFFFF00005412) == EPERM


def test_another_machines_calls_fail(machine: str) -> None:
    code = program(machine, (AF_UNIX,))
    assert answer(code, 0x40000003, NUMBERS[machine]["read"]) == ENOSYS
    if machine == "x86_64":
        assert answer(code, ARCH[machine], 0x40000000) == ENOSYS
    assert not seccomp.is_known("riscv64")
