"""Which screen a terminal gets, and what is loaded once it has been drawn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

import msgspec

from dogu.agent.slash import SlashCommands
from dogu.serve.terminal.cells import use_wide_ambiguous
from dogu.serve.terminal.completion import FileIndex, FolderHistory, InputCompleter
from dogu.serve.terminal.draw import lexer_of
from dogu.serve.terminal.screen import Screen
from dogu.serve.terminal.style import Style, theme_of
from dogu.workspace.system import IS_WINDOWS


class ScreenOptions(msgspec.Struct, frozen=True):
    """How the terminal is to be used. `theme` is `auto`, `dark` or `light`; `root` and `state_folder` are absolute."""

    theme: str
    is_plain: bool
    ambiguous_is_wide: bool
    state_folder: str
    root: str
    keys: Mapping[str, str] = {}
    notify: str = "auto"
    mouse: bool = True


class OpenedScreen(msgspec.Struct, frozen=True):
    """A screen, what it needs of the session, and what to call in a thread after the first paint."""

    screen: Screen
    use_commands: Callable[[SlashCommands], None]
    warm_up: tuple[Callable[[], None], ...] = ()


def draws(look: ScreenOptions) -> bool:
    """Whether the terminal can be drawn on, and the user can see it."""
    return not (look.is_plain or IS_WINDOWS or os.environ.get("TERM", "") in ("", "dumb"))


def open_screen(look: ScreenOptions) -> OpenedScreen:
    """Make a drawn screen where that is possible, else a plain one."""
    chosen = "" if look.theme == "auto" else look.theme
    style = Style.of(sys.stdout, theme=chosen)
    if not draws(look):
        from dogu.serve.terminal.plain_screen import PlainScreen

        return OpenedScreen(PlainScreen(style), lambda _commands: None)

    from dogu.serve.terminal.live_screen import LiveScreen, ScreenWays

    if look.ambiguous_is_wide:
        use_wide_ambiguous()
    index = FileIndex(look.root)
    completer = InputCompleter(index)
    asks = style.has_color and not chosen and not theme_of(os.environ)
    history = FolderHistory(look.state_folder, look.root)
    ways = ScreenWays(look.keys, look.notify, has_mouse=look.mouse)
    screen = LiveScreen(style, history, completer, ways, finds_theme=asks)
    return OpenedScreen(screen, completer.use, (_load_drawing, index.look_again))


def load_client() -> None:
    """Load what talks to servers, so that the first prompt doesn't wait for it."""
    import_module("dogu.models.transport")


def _load_drawing() -> None:
    """Load what draws Markdown and code, so that the first answer doesn't wait for it."""
    from dogu.serve.terminal.markdown import markdown_lines

    markdown_lines("`x`\n\n```sh\nx\n```", 40, Style(has_color=False))
    lexer_of("x.sh")
