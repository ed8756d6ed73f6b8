"""A network of a launcher's own: nothing in it but a loopback device, and one listener that this program answers.

Commands inside reach one another, as a server and its tests must, and the listener; nothing else, whatever they speak.
The listener was made inside, so it is a door in the wall: connections come out at the program that holds it.
Standard library only: runs in the launcher. Source: network_namespaces(7), user_namespaces(7), netdevice(7).
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from functools import cache

from dogu.workspace.launcher.libc import libc

PROXY_PORT = 3128  # of the empty network; no port of this machine
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x41
_TRIAL = "import sys; sys.path.append({!r}); from dogu.workspace.launcher.network import enter; enter()"


def enter() -> socket.socket:
    """Leave the network for an empty one, for good, and return the listener. Raises `OSError` where that can't be.

    Without root's rights it takes a user namespace, in which only this user's own number exists.
    """
    if libc().unshare(_NEW_NETWORK) != 0:
        user, group = os.geteuid(), os.getegid()
        if libc().unshare(_NEW_USER | _NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    loopback_up()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", PROXY_PORT))
    listener.listen(128)
    return listener


def loopback_up() -> None:
    """Let an empty network have its loopback device."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))


def works() -> bool:
    """Try it out in a process of its own, about 25 ms, until it has worked: kernels and containers may forbid it."""
    try:
        _try_out()
    except OSError:
        return False
    return True


@cache  # which keeps no failure
def _try_out() -> None:
    """Raise OSError where it doesn't work."""
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    argv = [sys.executable, "-I", "-S", "-c", _TRIAL.format(source)]
    pid = os.posix_spawn(sys.executable, argv, {}, file_actions=nothing)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError("unshare")


def proxy_variables(through_loopback_too: bool) -> dict[str, str]:
    """Return the variables that send programs to the listener; `through_loopback_too` for this machine's own hosts."""
    proxy = f"http://127.0.0.1:{PROXY_PORT}"
    direct = "" if through_loopback_too else "localhost,127.0.0.1,::1"
    names = {f"{scheme}_PROXY": proxy for scheme in ("HTTP", "HTTPS", "ALL")} | {"NO_PROXY": direct}
    lower = {name.lower(): value for name, value in names.items()}
    return names | lower | {"NODE_USE_ENV_PROXY": "1"}


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
