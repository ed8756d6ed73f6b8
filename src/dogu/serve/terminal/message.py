"""The text being written: long pastes and pictures stand in it as short marks, and are put in full when it is sent."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from enum import Enum
from urllib.parse import unquote

import anyio

from dogu.agent.slash import Said
from dogu.contract import Blob
from dogu.language import say
from dogu.serve.terminal.cells import hanging
from dogu.serve.terminal.screen import Message, Screen, TypedAhead
from dogu.workspace.text.media import sniff
from dogu.workspace.visible import make_visible, strip_escapes

_MOST_LINES, _MOST_CHARS = 10, 1_500
_MOST_IMAGE_BYTES = 20 * 1024 * 1024


def sent_lines(text: str, columns: int) -> list[str]:
    """Return a message as it stands on the screen once it was sent: behind the prompt's mark, a long one cut."""
    lines = make_visible(text).split("\n")
    shown = [*lines[:10], say("… {count} more lines", count=len(lines) - 10)] if len(lines) > 12 else lines
    marked = [f"{'  ' if number else '› '}{line}" for number, line in enumerate(shown)]
    return hanging("\n".join(marked), columns - 1).split("\n")


class Draft:
    """What the marks in the input stand for."""

    def __init__(self) -> None:
        self._pastes: dict[str, str] = {}
        self._blobs: dict[str, Blob] = {}
        self._pasted = self._pictured = 0

    def paste(self, text: str) -> str:
        """Return what to put into the input for a pasted text: itself, or a mark."""
        text = strip_escapes(text.replace("\r\n", "\n").replace("\r", "\n"))
        image = _image_at(text)
        if image is not None:
            return self.picture(image)
        lines = text.removesuffix("\n").count("\n") + 1
        if lines <= _MOST_LINES and len(text) <= _MOST_CHARS:
            return text
        self._pasted += 1
        said = say("Pasted text #{number}: {lines} lines", number=self._pasted, lines=lines)
        if lines == 1:
            said = say("Pasted text #{number}: {count} characters", number=self._pasted, count=len(text))
        mark = f"[{said}]"
        self._pastes[mark] = text
        return mark

    def picture(self, blob: Blob) -> str:
        """Attach a picture; return its mark."""
        self._pictured += 1
        # What ends a mark, or can't be seen, mustn't stand in one.
        name = "".join(
            "_" if character in "[]\n\t" or not character.isprintable() else character for character in blob.name
        )
        mark = "[" + say("Image #{number}: {name}", number=self._pictured, name=name or "?") + "]"
        self._blobs[mark] = blob
        return mark

    def outside_marks(self, text: str, at: int, came_from: int) -> int:
        """Return where a cursor stands that was to stand within a mark: a mark is passed as a whole."""
        for start, end in self._marks(text):
            if start < at < end:
                return end if came_from <= start else start
        return at

    def without_parts(self, before: str, after: str, at: int) -> tuple[str, int]:
        """Return the text and the cursor in it, after something was deleted there: no part of a mark is left.

        What is left of a mark would be sent as it reads, and what the mark stands for would be lost.
        """
        start, end = at, at + len(before) - len(after)
        if end <= start or before[:start] + before[end:] != after:
            return after, at
        first, last = start, end
        for begun, ended in self._marks(before):
            if begun < end and start < ended:
                first, last = min(first, begun), max(last, ended)
        return (after, at) if (first, last) == (start, end) else (before[:first] + before[last:], first)

    def _marks(self, text: str) -> list[tuple[int, int]]:
        known = (*self._pastes, *self._blobs)
        return [found.span() for mark in known for found in re.finditer(re.escape(mark), text)]

    def message(self, text: str) -> Message:
        """Return what is sent for the input's text."""
        blobs = tuple(blob for mark, blob in self._blobs.items() if mark in text)
        for mark, pasted in self._pastes.items():
            text = text.replace(mark, pasted)
        return Message(text.strip(), blobs)

    def draft_of(self, message: Message) -> str:
        """Return the input's text for a message that is taken back."""
        text = message.text
        for mark, pasted in self._pastes.items():
            if pasted.strip():
                text = text.replace(pasted.strip(), mark)
        gone = [blob for mark, blob in self._blobs.items() if mark in text]
        marks = [self.picture(blob) for blob in message.blobs if blob not in gone]
        return " ".join([text, *marks])


def _image_at(text: str) -> Blob | None:
    """Return the picture whose path was pasted or dropped; None for any other text."""
    path = _path_in(text.strip())
    if path is None or not os.path.isfile(path):
        return None

    try:
        if os.path.getsize(path) > _MOST_IMAGE_BYTES:
            return None
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    media_type = sniff(data[:4096], path) or ""
    return Blob(media_type, data, os.path.basename(path)) if media_type.startswith("image/") else None


def _path_in(text: str) -> str | None:
    if not text or "\n" in text or len(text) > 4096:
        return None
    if text.startswith("file://"):
        return unquote(text.removeprefix("file://"))
    if text[0] in "/~'\"." or "\\" in text or os.path.splitext(text)[1]:
        try:
            words = shlex.split(text)
        except ValueError:
            return None
        return os.path.expanduser(words[0]) if len(words) == 1 else os.path.expanduser(text)
    return None


def typed_early(typed: bytes) -> TypedAhead:
    """Return what was typed before there was a box: the lines that were ended count as sent."""
    text = strip_escapes(typed.decode("utf-8", "replace").replace("\r", "\n"))
    *lines, rest = "".join(character for character in text if character == "\n" or character.isprintable()).split("\n")
    return TypedAhead(tuple(Message(line.strip()) for line in lines if line.strip()), Message(rest))


class _Copied(Enum):
    """Whether a text is on the clipboard; a terminal that was asked never says."""

    YES = "yes"
    ASKED = "asked"
    NO = "no"


async def _copy_text(text: str, screen: Screen) -> _Copied:
    """Put a text on the clipboard, by a program where there is one, else by the terminal (OSC 52)."""
    for command in (["wl-copy"], ["xclip", "-selection", "clipboard"], ["pbcopy"]):
        if shutil.which(command[0]) is not None:
            with anyio.move_on_after(3):
                done = await anyio.run_process(
                    command, input=text.encode(), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                if done.returncode == 0:
                    return _Copied.YES
    return _Copied.ASKED if screen.copy(text) else _Copied.NO


async def copy_answer(text: str, screen: Screen) -> Said:
    """Put the model's last answer on the clipboard, and say what came of it."""
    if not text:
        return Said(say("There is no answer to copy yet."), is_failure=True)
    match await _copy_text(text, screen):
        case _Copied.YES:
            return Said(say("Copied the last answer."))
        case _Copied.ASKED:
            return Said(say("Sent the last answer to the terminal's clipboard (OSC 52); some terminals ignore it."))
        case _Copied.NO:
            told = say("It can't be copied here: neither wl-copy, xclip nor pbcopy is installed.")
            return Said(told, is_failure=True)


async def clipboard_image() -> Blob | None:
    """Return the picture on the clipboard, where `wl-paste` or `xclip` is there to ask."""
    for command in (
        ["wl-paste", "--no-newline", "--type", "image/png"],
        ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ):
        if shutil.which(command[0]) is None:
            continue
        with anyio.move_on_after(3):
            done = await anyio.run_process(command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode == 0 and done.stdout.startswith(b"\x89PNG"):
                return Blob("image/png", done.stdout, "clipboard.png")
    return None
