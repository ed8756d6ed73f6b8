r"""How Windows reads a path, as plain text: drives, UNC, `\\?\`, devices, reserved names, streams, what links hold.

What may be is said, and the rest refused: a path is a drive or a share and names below it; a name is one that Win32 and
NT read alike, so that what was judged is what is opened. Knows no file; `windows_files` opens. Standard library only.
Source: "Naming Files, Paths, and Namespaces", [MS-FSCC] 2.1.2 (reparse points), RtlIsDosDeviceName_U.
"""

from __future__ import annotations

import re
import struct

_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*]')
_DEVICE = re.compile(
    "(?:con|prn|aux|nul|conin[$]|conout[$]|clock[$]|(?:com|lpt)[0-9\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}"
    "\N{SUPERSCRIPT THREE}])[ ]*(?:[.:].*)?",
    re.IGNORECASE | re.DOTALL,
)
_DRIVE = re.compile(r"[A-Za-z]:/")
_SHARE = re.compile(r'//(?![?.]/)[^/\x00-\x1f<>:"|?*]+/[^/\x00-\x1f<>:"|?*]+')
_VERBATIM = re.compile(r"(?://[?]/|/[?][?]/)(?=[A-Za-z]:/|UNC/)", re.IGNORECASE)
_NOT_A_PATH = re.compile(r"//[?.]|/[?][?]/")
_LONGEST_NAME = 255
_SYMLINK, _MOUNT_POINT = 0xA000000C, 0xA0000003
_NAME_SURROGATE = 0x20000000
_REPARSE_POINT = 0x400


def name_problem(name: str) -> str:
    """Say why a file or folder can't have this name; "" for one that it can have. `.` and `..` are no names."""
    if not name:
        return "it is empty"
    if ":" in name:
        return "a colon names a stream of a file, or a drive"
    if found := _FORBIDDEN.search(name):
        return f"it holds {found[0]!r}, which no name may"
    if name.endswith((".", " ")):
        return "it ends with a dot or a blank, which Windows drops"
    if _DEVICE.fullmatch(name):
        return "it is a device's"
    if len(name.encode("utf-16-le", "surrogatepass")) // 2 > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} characters"
    return ""


def absolute(path: str, base: str) -> str:
    """Return the absolute path that `path` means in the folder `base`: with `/`, without `.`, `..` gone up by name.

    `base` is such a path. Windows goes up by name itself: `link\\..` is where the link lies. Raises ValueError with why
    it is none that may be: a device, a volume by number, a drive's current folder, a name that none can have.
    """
    spelled = path.replace("\\", "/")
    if _VERBATIM.match(spelled):
        spelled = re.sub("^UNC/", "//", _VERBATIM.sub("", spelled), flags=re.IGNORECASE)
    if _NOT_A_PATH.match(spelled):
        raise ValueError("it names a device or a volume, not a file below a drive's letter or a share")
    if spelled[1:2] == ":" and not _DRIVE.match(spelled):
        if len(spelled) > 2 or not spelled[0].isalpha():
            raise ValueError("it starts at a drive's current folder; begin with the drive and a slash")
        spelled += "/"
    if not _DRIVE.match(spelled) and not _SHARE.match(spelled):
        if spelled.startswith("//"):
            raise ValueError("it names a server without a share")
        spelled = f"{top_of(base)}/{spelled}" if spelled.startswith("/") else f"{base}/{spelled}"
    top = top_of(spelled)
    return f"{top}/{'/'.join(_names(spelled[len(top) :]))}"


def top_of(path: str) -> str:
    """Return the drive (`C:`) or the share (`//server/share`) that an absolute path begins with."""
    share = _SHARE.match(path)
    return share[0] if share else path[:2]


def parts_below(root: str, path: str) -> list[str] | None:
    """Return the names that lead from `root` to `path`, both absolute, case ignored; None when it lies elsewhere."""
    above, below = _split(root), _split(path)
    if len(below) < len(above) or any(map(_differ, above, below)):
        return None
    return below[len(above) :]


def from_final(path: str) -> str:
    r"""Return a path of the system's own (`\\?\C:\x`, `\??\UNC\server\share`) as ours; "" for what is no such path."""
    spelled = path.replace("\\", "/")
    plain = re.sub("^UNC/", "//", _VERBATIM.sub("", spelled), flags=re.IGNORECASE)
    return plain if _DRIVE.match(plain) or _SHARE.match(plain) else ""


def is_link(attributes: int, tag: int) -> bool:
    """Whether these attributes are those of something that stands for another name.

    Other reparse points (a file that lies in a cloud, a deduplicated one) are the file itself. No tag is no knowledge.
    """
    return bool(attributes & _REPARSE_POINT) and (tag == 0 or bool(tag & _NAME_SURROGATE))


def link_target(data: bytes) -> str:
    """Return where a reparse point leads, as FSCTL_GET_REPARSE_POINT tells it: with `/`, absolute or relative.

    Raises ValueError for what is neither a symbolic link nor a junction of a drive's folder.
    """
    if len(data) < 20:
        raise ValueError("a cut reparse point")
    tag, _, _, start, length = struct.unpack_from("<LHHHH", data)
    if tag not in (_SYMLINK, _MOUNT_POINT):
        raise ValueError(f"a reparse point of an unknown kind, {tag:#x}")
    names = 20 if tag == _SYMLINK else 16
    is_relative = tag == _SYMLINK and bool(struct.unpack_from("<L", data, 16)[0] & 1)
    name = data[names + start : names + start + length].decode("utf-16-le", "surrogatepass")
    target = name.replace("\\", "/") if is_relative else from_final(name)
    if not target:
        raise ValueError(f"a link to {name}, which is below no drive's letter and no share")
    return target


def _names(rest: str) -> list[str]:
    done: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            del done[-1:]
        elif name not in ("", "."):
            if problem := name_problem(name):
                raise ValueError(f"no file can be called {name!r}: {problem}")
            done.append(name)
    return done


def _split(path: str) -> list[str]:
    top = top_of(path)
    return [top, *(name for name in path[len(top) :].split("/") if name)]


def _differ(one: str, other: str) -> bool:
    # As NTFS: a character at a time by its upper case, where that is one character.
    return one != other and [_upper(letter) for letter in one] != [_upper(letter) for letter in other]


def _upper(letter: str) -> str:
    upper = letter.upper()
    return upper if len(upper) == 1 else letter
