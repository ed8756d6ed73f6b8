"""One key from the person, answered at once; keys typed before the question was drawn don't answer it."""

from __future__ import annotations

import sys

import anyio


async def read_key(allowed: str) -> str:
    """Wait for one of the allowed keys (any letter case) and return it in lower case; Ctrl-C and Ctrl-D give ''."""
    from prompt_toolkit.input import create_input
    from prompt_toolkit.keys import Keys

    _forget_typed_ahead()
    source = create_input()
    pressed: list[str] = []
    arrived = anyio.Event()

    def read() -> None:
        pressed.extend(press.key for press in source.read_keys())
        arrived.set()

    with source.raw_mode(), source.attach(read):
        while True:
            await arrived.wait()
            arrived = anyio.Event()
            for key in pressed:
                if key in (Keys.ControlC, Keys.ControlD):
                    return ""
                if len(key) == 1 and key.lower() in allowed:
                    return key.lower()
            pressed.clear()
            if source.closed:
                return ""


def _forget_typed_ahead() -> None:
    import termios

    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        return  # no terminal: nothing was typed
