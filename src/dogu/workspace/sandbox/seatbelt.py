"""Seatbelt: the profile that macOS's sandbox-exec puts into force before it becomes the command. Text only.

Written by the documentation and by what others' profiles hold; not tried on a Mac. Everything is denied but what stands
here. Paths are handed over as parameters, so that no path can end a string and go on as a rule.
Source: sandbox-exec(1), sandbox(7); the profiles that Chromium ships.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

PROGRAM = "/usr/bin/sandbox-exec"

_ALWAYS = """(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow file-read*)
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow user-preference-read)
(allow mach-lookup
  (global-name "com.apple.cfprefsd.agent")
  (global-name "com.apple.cfprefsd.daemon")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.PowerManagement.control"))
"""
_WITH_NETWORK = """(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.ocspd"))
"""


def is_there() -> bool:
    """Whether the system has the program."""
    return os.access(PROGRAM, os.X_OK)


def arguments(
    writable: Sequence[str], hidden: Sequence[str], sockets: Sequence[str], read_only: Sequence[str], *, network: bool
) -> list[str]:
    """Return the words to put before a command; paths are absolute, real ones. A later rule wins over an earlier."""
    rules = [_ALWAYS, _WITH_NETWORK if network else ""]
    parameters: list[str] = []

    def add(effect: str, name: str, paths: Sequence[str]) -> None:
        for number, path in enumerate(paths):
            parameters.extend(["-D", f"{name}_{number}={path}"])
            rules.append(f'({effect} (subpath (param "{name}_{number}")))\n')

    add("allow file-write*", "WRITABLE", writable)
    add("deny file-read* file-write*", "HIDDEN", [path for path in hidden if path not in writable])
    within = [path for path in writable if any(path.startswith(folder.rstrip("/") + "/") for folder in hidden)]
    add("allow file-read* file-write*", "WITHIN", within)
    add("deny file-write*", "FIXED", read_only)
    add("deny network-outbound file-write*", "SOCKET", sockets)
    return [PROGRAM, "-p", "".join(rules), *parameters, "--"]
