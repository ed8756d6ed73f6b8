"""`dogu config`: the settings in force; trust this folder's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.app import Options, read_settings
from dogu.app.extending import set_trust
from dogu.app.options import check_root
from dogu.app.settings_command import SECRET_KEYS, as_written
from dogu.commands.running import tell
from dogu.language import plain, say
from dogu.settings.keys import KEYS
from dogu.settings.values import shown
from dogu.workspace.visible import visible_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.app.importing import Found

_NOTHING: tuple[object, ...] = (None, "", (), {})


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "trust", "untrust", "schema", "import"], default="show")
    parser.add_argument(
        "program", nargs="?", choices=["gemini", "claude", "codex"], help=say("import: whose settings to import")
    )
    parser.add_argument("--write", action="store_true", help=say("import: write it, instead of showing it only"))


def run(options: Options, space: Namespace) -> int:
    """Show the settings in force, or say whether this folder's own may allow more than yours."""
    if space.action == "show":
        return _show(options)
    if space.action == "schema":
        return _print_schema()
    if space.action == "import":
        return _import(options, space)
    return _set_trust(options, is_trusted=space.action == "trust")


def _show(options: Options) -> int:
    """Print the settings in force as settings.json takes them, and in comments where each was set; no secrets."""
    settings = read_settings(options)
    told = [say("This folder: {trust}", trust=settings.trust.words)]
    told += [
        say("{key} is set in {origin}", key=key, origin=origin) for key, origin in sorted(settings.origins.items())
    ]
    told += [say("{key} isn't shown: it may hold secrets", key=key) for key in SECRET_KEYS if settings.values.get(key)]
    told += [str(warning) for warning in settings.warnings]
    for line in told:
        print(visible_line(f"// {line}"))
    shown = {key.name: written for key in KEYS if (written := as_written(key, settings.values)) not in _NOTHING}
    print(msgspec.json.format(msgspec.json.encode(_nested(shown), enc_hook=plain)).decode())
    return 0


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put values by dotted keys into the objects that the keys name."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *groups, name = key.split(".")
        target = nested
        for group in groups:
            target = target.setdefault(group, {})
        target[name] = value
    return nested


def _print_schema() -> int:
    """Print the JSON Schema that an editor checks settings.json by."""
    from dogu.settings.schema import settings_schema

    print(msgspec.json.format(msgspec.json.encode(settings_schema())).decode())
    return 0


def _import(options: Options, space: Namespace) -> int:
    """Show what could be taken over from another program, or take it over."""
    from dogu.app.importing import take_over, what_there_is

    if space.program is None:
        tell([say("Whose settings? dogu config import gemini, or claude, or codex")])
        return 2
    found = what_there_is(space.program, options)
    if not found:
        print(say("Nothing from {program} was found here.", program=space.program))
    for each in found:
        _print_found(each)
        for written in take_over(each) if space.write else ():
            print(visible_line("  " + say("written: {written}", written=written)))
    if found and not space.write:
        print(say("Nothing was written. Add --write to import it; what is already set in dogu stays."))
    return 0


def _print_found(found: Found) -> None:
    print(visible_line(say("{source} -> {target}", source=found.source, target=found.target)))
    for file in found.read_in_place:
        print(visible_line("  " + say("read where it is: {file}", file=file)))
    for taken in found.taken:
        becomes = taken.file or f"{taken.key}: {shown(taken.value)}"
        print(visible_line(f"  {taken.kind:<8} {taken.theirs} -> {becomes}"))
    for left in found.left:
        mark = say("NOT IMPORTED, and it is a restriction") if left.restricts else say("not imported")
        print(visible_line(f"  {mark}: {left.theirs}: {say(left.why)}"))


def _set_trust(options: Options, *, is_trusted: bool) -> int:
    """Remember the user's answer for this folder."""
    check_root(options)
    set_trust(options, is_trusted=is_trusted)
    word = say("may now allow more than your own") if is_trusted else say("can only restrict")
    told = say("The settings of {absolute_root} {word}.", absolute_root=options.absolute_root, word=word)
    print(visible_line(told))
    return 0
