"""`dogu config`: the settings in force, and whether this folder's own may allow more than the user's."""

from __future__ import annotations

import msgspec

from dogu.app.options import Options, read_settings
from dogu.language import say
from dogu.settings import Trust, record_trust
from dogu.workspace.visible import visible_line

_HIDDEN = ("api_key", "headers", "body", "proxy", "profiles")  # keys may stand in all of them


def show_settings(options: Options) -> int:
    """Print each setting with its value, then where what isn't built in was set; keys are never shown."""
    settings = read_settings(options)
    for group in ("tools", "shell", "sandbox", "search", "web", "model", "context", "mcp", "sessions", "ui"):
        for name, value in msgspec.structs.asdict(getattr(settings, group)).items():
            shown = "(set)" if name in _HIDDEN and value else value
            print(visible_line(f"{group}.{name} = {shown!r}"))
    print(say("folder: {trust}", trust=settings.trust.words))
    for key, origin in sorted(settings.origins.items()):
        print(visible_line(say("{key} is set in {origin}", key=key, origin=origin)))
    for warning in settings.warnings:
        print(visible_line(str(warning)))
    return 0


def set_trust(options: Options, *, is_trusted: bool) -> int:
    """Remember the user's answer for this folder."""
    record_trust(options.absolute_root, options.home, Trust.TRUSTED if is_trusted else Trust.DISTRUSTED)
    word = say("may now allow more than your own") if is_trusted else say("can only restrict")
    told = say("The settings of {absolute_root} {word}.", absolute_root=options.absolute_root, word=word)
    print(visible_line(told))
    return 0
