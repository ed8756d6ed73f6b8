"""The names of what keys can be changed for, and how the settings write a key."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from dogu.language import say, sentence


class KeyAction(msgspec.Struct, frozen=True):
    """Something a key does, by the name that the settings have for it; `keys` as they are written there."""

    name: str
    keys: str
    words: str


KEY_ACTIONS = (
    KeyAction("showKeys", "?", sentence("show the keys, in an empty box")),
    KeyAction("nextMode", "Shift-Tab", sentence("next approval mode")),
    KeyAction("editLast", "", sentence("edit the last prompt (also Esc Esc)")),
    KeyAction("background", "Ctrl-B", sentence("move the running command to the background")),
    KeyAction("showPlan", "Ctrl-T", sentence("show or hide the plan")),
    KeyAction("openLast", "Ctrl-O", sentence("show the last folded result in full")),
    KeyAction("openEditor", "Ctrl-X", sentence("edit the prompt in your editor (also Ctrl-G)")),
    KeyAction("pasteImage", "Ctrl-V", sentence("attach the picture on the clipboard")),
    KeyAction("newLine", "Ctrl-J", sentence("a new line")),
    KeyAction("suspend", "Ctrl-Z", sentence("suspend dogu; fg brings it back")),
)
"""What keys can be changed for."""

_KEY = re.compile(r"(?:(ctrl|alt|shift)[-+])?([a-z]+\d{0,2}|[^\s])", re.IGNORECASE)
_MOVING = "left|right|up|down|home|end|insert|delete|pageup|pagedown"
_NAME = re.compile(rf"(?:[cs]-)?(?:{_MOVING})|s-tab|f(?:[1-9]|1\d|2[0-4])|c-[a-z\d@\\\]^_]")
_FIXED = frozenset(("c-c", "c-d", "c-m", "c-i", "escape"))  # they cancel, leave, send and complete, whatever is set


def key_sequence(written: str) -> tuple[str, ...]:
    """Read a key as the settings write it (`Ctrl-B`, `Alt-p`, `Shift-Tab`, `F5`, `?`).

    Raises ValueError where there is none, or it is one that can't be given away.
    """
    match = _KEY.fullmatch(written.strip())
    if match is None:
        raise ValueError(written)
    modifier, key = (match[1] or "").lower(), match[2]
    name = key.lower() if len(key) > 1 or modifier else key
    names = {"ctrl": (f"c-{name}",), "shift": (f"s-{name}",), "alt": ("escape", name), "": (name,)}[modifier]
    if any(each in _FIXED or (len(each) > 1 and each != "escape" and not _NAME.fullmatch(each)) for each in names[-1:]):
        raise ValueError(written)
    return names


def keys_problems(chosen: Mapping[str, object]) -> list[str]:
    """Say what is wrong with keys by action, a sentence each."""
    known = [action.name for action in KEY_ACTIONS]
    problems: list[str] = []
    for name, written in chosen.items():
        if name not in known:
            problems.append(say("There is no action {name}. Actions: {names}.", name=name, names=", ".join(known)))
            continue
        try:
            if written:
                key_sequence(str(written))
        except ValueError:
            problems.append(
                say("{key} can't be the key of {name}: write one such as Ctrl-B, Alt-p or F5.", key=written, name=name)
            )
    return problems


def keys_of(action: KeyAction, chosen: Mapping[str, str]) -> str:
    """Return the key that an action has: the settings' own, where it can be read, else the usual one."""
    written = chosen.get(action.name, action.keys)
    try:
        key_sequence(written)
    except ValueError:
        return action.keys if written else ""
    return written


def key_rows(chosen: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the keys and what they do, for the user."""
    own = {action.name: keys_of(action, chosen) for action in KEY_ACTIONS}
    words = {action.name: say(action.words) for action in KEY_ACTIONS}
    rows = [
        ("Enter", say("send; during a turn, queue")),
        (f"{own.pop('newLine')} · Alt-Enter · \\ Enter", words["newLine"]),
        ("Esc", say("close what is open, else cancel what runs")),
        ("Esc Esc", say("edit the last prompt, or clear the input")),
        ("↑", say("the last queued message, else earlier input")),
        ("Ctrl-R", say("search earlier input; again: further back; Enter takes it, Esc doesn't")),
        ("Tab", say("complete a /command or an @file")),
        *((own[action.name], words[action.name]) for action in KEY_ACTIONS if own.get(action.name)),
        ("Ctrl-C", say("cancel what runs, else clear the input; twice leaves")),
        ("Ctrl-D", say("leave")),
        ("!command", say("run it yourself; with !! the model sees it, too")),
    ]
    return [row for row in rows if row[0]]


def plain_key_rows() -> list[tuple[str, str]]:
    """Return the same for a terminal that nothing is drawn on: it edits its line itself."""
    return [
        ("Enter", say("send; during a turn, queue")),
        ("Ctrl-C", say("cancel what runs")),
        ("Ctrl-D", say("leave")),
        ("!command", say("run it yourself; with !! the model sees it, too")),
    ]
