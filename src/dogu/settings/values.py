"""What a key takes: from a JSON value to the value dogu works with, or a sentence that says what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from dogu.language import told
from dogu.settings.tools import EntryError, tool_entry

EFFORTS = ("none", "low", "medium", "high")
APPROVAL_MODES = ("plan", "default", "auto_edit", "yolo")  # from strict to wide
SANDBOX_MODES = ("on", "auto", "off")  # from strict to wide
THEMES = ("auto", "dark", "light")
WIDTHS = ("narrow", "wide")
OTHER_SANDBOXES = ("docker", "podman", "sandbox-exec", "runsc", "lxc", "windows-native", "bwrap", "landlock")
_LONGEST_SHOWN = 60
# Patterns are compiled with their first use: few settings hold hosts.
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = rf"(?ai)(?:\*\.)?(?:{_LABEL}\.)*{_LABEL}(?::(?P<port>[0-9]{{1,5}}))?"
_BRACKETED = r"\[(?P<address>[^\]/]+)\](?::(?!0+$)[0-9]{1,4})?"


_MOST_MB = 1e15
_MOST_OF_A_SHARE_BYTES = 20_000_000_000
_UNITS = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}


class ValueProblem(ValueError):  # noqa: N818  (it becomes a SettingsError once the file and line are known)
    """A value that a key doesn't take; the text says what it takes."""


class Takes(msgspec.Struct, frozen=True):
    """Takes what its JSON Schema says."""

    convert: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __call__(self, value: Any) -> Any:
        """Convert a value. Raises `ValueProblem`."""
        return self.convert(value)


def text(value: Any) -> str:
    """Take a text."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueProblem(told("takes a text, not {value}", value=shown(value)))


def texts(value: Any) -> tuple[str, ...]:
    """Take a list of texts."""
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        if all(isinstance(item, str) for item in items):
            return tuple(text(item) for item in items)
    raise ValueProblem(told('takes a list of texts, like ["a", "b"], not {value}', value=shown(value)))


def texts_or_any(value: Any) -> tuple[str, ...] | None:
    """Take a list of texts; an empty one restricts nothing."""
    return texts(value) or None


def text_or_texts(value: Any) -> tuple[str, ...]:
    """Take a text or a list of texts."""
    return (text(value),) if isinstance(value, str) else texts(value)


def tools(value: Any) -> tuple[str, ...]:
    """Take a list of tools' names and `run_shell_command(COMMAND)`."""
    try:
        return tuple(tool_entry(entry) for entry in texts(value))
    except EntryError as error:
        raise ValueProblem(str(error)) from error


def flag(value: Any) -> bool:
    """Take true or false."""
    if isinstance(value, bool):
        return value
    raise ValueProblem(told("takes true or false, not {value}", value=shown(value)))


def number(least: float, most: float, *, whole: bool = False) -> Takes:
    """Take a number within both bounds."""

    def convert(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and least <= value <= most and (not whole or value == int(value)):
            return int(value) if whole else float(value)
        kind = told("a whole number") if whole else told("a number")
        raise ValueProblem(
            told(
                "takes {kind} from {least:,.15g} to {most:,.15g}, not {value}",
                kind=kind,
                least=least,
                most=most,
                value=shown(value),
            )
        )

    return Takes(convert, {"type": "integer" if whole else "number", "minimum": least, "maximum": most})


def room(value: Any) -> tuple[float, int]:
    """Take a share of the free disk (`"10%"`, of which at most 20 GB) or an amount (`"5 GB"`; a number is megabytes).

    Return the share, and the most bytes.
    """
    words = (
        value.strip().upper()
        if isinstance(value, str)
        else f"{value:f}"
        if _is_number(value) and value <= _MOST_MB
        else ""
    )
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *(%|[KMGT]?B)?", words)
    if match is None or (match[2] == "%" and float(match[1]) > 100):
        raise ValueProblem(
            told("takes a share such as 10%, or an amount such as 5 GB, not {value}", value=shown(value))
        )
    if match[2] == "%":
        return float(match[1]) / 100, _MOST_OF_A_SHARE_BYTES
    return 1.0, int(float(match[1]) * _UNITS[match[2] or "MB"])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def one_of(*choices: str, also: Mapping[str, str] | None = None) -> Takes:
    """Take one of the choices, in any letter case, with `-`, `_` or nothing between words; `also` maps other names."""
    spelled = {_plain(choice): choice for choice in choices} | dict(also or {})

    def convert(value: Any) -> str:
        if isinstance(value, str) and _plain(value) in spelled:
            return spelled[_plain(value)]
        raise ValueProblem(told("takes one of {choices}, not {value}", choices=", ".join(choices), value=shown(value)))

    return Takes(convert, {"enum": list(choices)})


def theme(value: Any) -> str:
    """Take `auto`, `dark` or `light`; the name of another program's theme says at most which of them it is."""
    name = text(value).casefold()
    return name if name in THEMES else "light" if "light" in name else "auto"


def sandbox(value: Any) -> str:
    """Take true, false, "auto", "on", "off"; another program's choice of a sandbox means that one is wanted."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value in OTHER_SANDBOXES:
        return "on"
    return one_of(*SANDBOX_MODES)(value)


def hosts(value: Any) -> tuple[str, ...]:
    """Take a list of hosts: names (`*.` for those below), addresses, networks, a port behind."""
    entries = texts(value)
    for entry in entries:
        match = re.fullmatch(_HOST, entry)
        if not (match and int(match["port"] or 1) in range(1, 65_536)) and not _is_network(entry):
            wanted = told('hosts like "example.com", "*.example.com", "example.com:443", "10.0.0.0/8"')
            raise ValueProblem(told("takes {wanted}, not {entry}", wanted=wanted, entry=shown(entry)))
    return entries


def _is_network(entry: str) -> bool:
    from ipaddress import ip_network

    match = re.fullmatch(_BRACKETED, entry)
    try:
        ip_network(match["address"] if match else entry)
    except ValueError:
        return False
    return True


def table(value: Any) -> Mapping[str, Any]:
    """Take an object of objects."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        for name, entry in entries.items():
            if not isinstance(entry, dict):
                raise ValueProblem(
                    told("takes an object for each name; {name!r} has {entry}", name=name, entry=shown(entry))
                )
        return entries
    raise ValueProblem(told("takes an object with one entry per server, not {value}", value=shown(value)))


def json_object(value: Any) -> Mapping[str, Any]:
    """Take an object, as it is."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueProblem(told("takes an object, not {value}", value=shown(value)))


_HEADER = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_OF_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})


def prices(value: Any) -> Mapping[str, Mapping[str, float]]:
    """Take prices by model: an object with `input` and `output`, and `cached` if it differs from `input`."""
    amount = number(0, 1e6)
    taken: dict[str, dict[str, float]] = {}
    for model, entry in table(value).items():
        if not {"input", "output"} <= entry.keys() <= {"input", "output", "cached"}:
            example = '{"input": 1.25, "cached": 0.1, "output": 10}'
            raise ValueProblem(told("takes {example} for each model, not {entry}", example=example, entry=shown(entry)))
        taken[model] = {"cached": entry["input"], **entry}
        taken[model] = {name: amount(dollars) for name, dollars in taken[model].items()}
    return taken


def headers(value: Any) -> Mapping[str, str]:
    """Take an object of texts without line breaks, as headers are; but for those that frame a request."""
    taken = json_object(value)
    for name, text_ in taken.items():
        if not isinstance(text_, str) or not f"{name}{text_}".isprintable() or not text_.isascii():
            raise ValueProblem(told("takes an object of texts of one line, not {value}", value=shown(value)))
        if not re.fullmatch(_HEADER, name) or name.lower() in _OF_FRAMING:
            raise ValueProblem(told("takes names of headers that may be set, not {name}", name=shown(name)))
    return taken


TURNS = number(-1, 1e9, whole=True)
TIME = number(0, 1e7)


def turns(value: Any) -> int | None:
    """Take a number of turns; 0 and -1 mean no limit, as None does here."""
    count = int(TURNS(value))
    return count if count > 0 else None


def time_limit(value: Any) -> float | None:
    """Take seconds; 0 means no limit, as None does here."""
    return TIME(value) or None


def shown(value: Any) -> str:
    """Return the value as it stands in a settings file, cut to a line."""
    try:
        written = msgspec.json.encode(value).decode(errors="replace")
    except (TypeError, UnicodeEncodeError):  # an override by the program itself, or a lone surrogate
        written = ascii(value)
    return written if len(written) <= _LONGEST_SHOWN else written[:_LONGEST_SHOWN] + "..."


def _plain(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "")
