"""What `dogu -p` is given beside its prompt: pictures, the shape of the answer, a conversation by pipe."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dogu.contract.content import Blob, Content, Part, Text
from dogu.language import say
from dogu.workspace.event_loop import read_ready
from dogu.workspace.text.media import HEAD_BYTES, sniff

if TYPE_CHECKING:
    from dogu.serve.final_answer import FinalAnswer

_LARGEST_PICTURE_BYTES = 20 * 1024 * 1024
_LARGEST_SCHEMA_BYTES = 1024 * 1024
LARGEST_INPUT_BYTES = 64 * 1024 * 1024  # of a prompt, or of a line: no model takes more
_PIECE_BYTES = 64 * 1024
_LINE_EXAMPLE = '{"type": "user", "message": {"role": "user", "content": ...}}'
_SOURCE_EXAMPLE = '"source": {"type": "base64", "media_type": "image/png", "data": ...}'
_BOM = b"\xef\xbb\xbf"

SHAPE_WORDS = """\
The final answer is wanted in a fixed shape, when the task is done and checked: as one call of `final_answer` where you
have that tool, else as JSON with nothing around it. Whoever started this run reads nothing else."""


class InputError(Exception):
    """What was given can't be taken; the message is for the user."""


class Input:
    """Reads an open file as its bytes come; a pipe that stays silent holds nobody up who is cancelled meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = b""
        self._has_begun = False

    async def rest(self, most_bytes: int | None = None) -> bytes:
        """Return all that comes until the end, or one byte more than `most_bytes`. Raises `OSError`."""
        pieces = [self._waiting]
        size = len(self._waiting)
        while (most_bytes is None or size <= most_bytes) and (piece := await self._piece()):
            pieces.append(piece)
            size += len(piece)
        self._waiting = b""
        return b"".join(pieces)

    async def line(self) -> bytes:
        """Return the next line with its end; b"" at the end. Raises `OSError` and `InputError`."""
        pieces = [self._waiting]
        size = len(self._waiting)
        while b"\n" not in pieces[-1] and (piece := await self._piece()):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_INPUT_BYTES:
                raise too_large("stdin", LARGEST_INPUT_BYTES)
        line, end, self._waiting = b"".join(pieces).partition(b"\n")
        return line + end

    async def _piece(self) -> bytes:
        """Wait for bytes and return them, without the mark of UTF-8 at the beginning of all."""
        while True:
            try:
                data = await read_ready(self._descriptor, _PIECE_BYTES)
            except BlockingIOError:
                continue
            is_first, self._has_begun = not self._has_begun, True
            if not is_first or not data.startswith(_BOM):
                return data
            return data.removeprefix(_BOM) or await self._piece()


class Asked(msgspec.Struct, frozen=True):
    """What the run is to answer: one prompt, and those that are `piped` after it, a line each."""

    prompt: str
    pictures: tuple[Blob, ...] = ()
    shape: FinalAnswer | None = None
    piped: Input | None = None

    async def prompts(self) -> AsyncGenerator[Content | InputError]:
        """Give each prompt when it is wanted; a line that is none is an error in its place."""
        if self.prompt.strip():
            yield [Text(self.prompt), *self.pictures] if self.pictures else self.prompt
        while self.piped is not None:
            try:
                line = await self.piped.line()
            except OSError as error:
                yield unreadable_input(error)
                return
            except InputError as error:
                yield error
                return
            if not line:
                return
            if line.strip():
                try:
                    yield _prompt_of(line)
                except InputError as error:
                    yield error


def unreadable_input(error: OSError) -> InputError:
    """Say that standard input can't be read."""
    return InputError(say("Standard input can't be read: {reason}.", reason=error.strerror or error))


def too_large(what: str, most_bytes: int) -> InputError:
    """Say that more was given than is taken."""
    return InputError(say("{path} is larger than {most} MB.", path=what, most=most_bytes // (1024 * 1024)))


async def pictures_of(paths: Iterable[str]) -> tuple[Blob, ...]:
    """Read the pictures (or PDFs). Raises `InputError`."""
    pictures: list[Blob] = []
    for path in paths:
        data = await _read(path, _LARGEST_PICTURE_BYTES)
        media_type = sniff(data[:HEAD_BYTES], os.path.basename(path))
        if media_type is None or not media_type.startswith(("image/", "application/pdf")):
            raise InputError(say("{path} isn't a picture.", path=path))
        pictures.append(Blob(media_type, data))
    return tuple(pictures)


async def shape_of(path: str | None) -> FinalAnswer | None:
    """Read the JSON schema of the answer, and make the tool that takes it. Raises `InputError`."""
    if not path:
        return None
    import jsonschema_rs

    from dogu.serve.final_answer import FinalAnswer

    try:
        schema = json.loads(await _read(path, _LARGEST_SCHEMA_BYTES))
        jsonschema_rs.validator_for(schema)
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        why = " ".join(str(error).split())[:300]
        raise InputError(say("{path} isn't a JSON schema: {reason}", path=path, reason=why)) from error
    if not isinstance(schema, dict):
        raise InputError(say("{path} isn't a JSON schema: {reason}", path=path, reason=say("it must be an object")))
    return FinalAnswer(cast("dict[str, Any]", schema))


async def _read(path: str, most_bytes: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            data = await Input(descriptor).rest(most_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(data) > most_bytes:
        raise too_large(path, most_bytes)
    return data


class _Source(msgspec.Struct):
    media_type: str
    data: str


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    source: _Source | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part]
    role: str = "user"


class _Line(msgspec.Struct):
    """Claude Code's `{"type": "user", "message": {...}}`, or the `message` that the stream itself has."""

    type: str = "user"
    message: _Message | None = None
    content: str | list[_Part] = ""
    role: str = "user"


def _prompt_of(line: bytes) -> Content:
    try:
        row = msgspec.convert(json.loads(line), _Line)  # json takes half characters, as programs cut them
        said = row.message or _Message(row.content, row.role)
        if row.type not in ("user", "message") or said.role != "user" or not said.content:
            raise InputError(say("Each line has the form {example}.", example=_LINE_EXAMPLE))
        return said.content if isinstance(said.content, str) else [_part_of(part) for part in said.content]
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InputError(say("A line of the input isn't a prompt: {reason}", reason=error)) from error


def _part_of(part: _Part) -> Part:
    if part.type == "text":
        return Text(part.text)
    if part.type in ("image", "document"):
        if part.source is None:
            raise InputError(say("A picture in a prompt has the form {example}.", example=_SOURCE_EXAMPLE))
        return Blob(part.source.media_type, base64.b64decode(part.source.data, validate=True))
    raise InputError(say("A part of a prompt is text or image, not {value}.", value=part.type))
