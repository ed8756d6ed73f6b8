"""The client's buffers as an `Editor`: `fs/read_text_file` and `fs/write_text_file`, from worker threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import anyio

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.serve.acp.peer import ConnectionLostError, Peer, RpcError

_PATIENCE_S = 20.0


class ClientEditor:
    """The editor at the other end, for one session; `session_id` is set before the first call.

    `roots` are the folders as the client named them: it is asked about files by their names below those.
    """

    def __init__(self, peer: Peer, roots: Sequence[str], *, writes: bool) -> None:
        self.writes = writes
        self.session_id = ""
        self._peer = peer
        self._roots = [(os.path.realpath(root), root) for root in roots]

    def text(self, path: str) -> str | None:
        """Return the client's text; None when it says that it can't read the file."""
        return anyio.from_thread.run(self._text, path)

    def write(self, path: str, text: str) -> None:
        """Have the client take the text. Raises `ToolError`; not to be cancelled, but bounded."""
        anyio.from_thread.run(self._write, path, text)

    async def _text(self, path: str) -> str | None:
        params = {"sessionId": self.session_id, "path": self._named(path)}
        try:
            with anyio.fail_after(_PATIENCE_S):
                result = await self._peer.request("fs/read_text_file", params)
        except (RpcError, ConnectionLostError):
            return None
        except TimeoutError as error:
            raise _silent(path) from error
        content = cast("dict[str, Any]", result).get("content") if isinstance(result, dict) else None
        return content if isinstance(content, str) else None

    async def _write(self, path: str, text: str) -> None:
        params = {"sessionId": self.session_id, "path": self._named(path), "content": text}
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(_PATIENCE_S):
                await self._peer.request("fs/write_text_file", params)
        except RpcError as error:
            message = told(
                "The user's editor refused to write {path}: {message} Nothing was written.",
                path=path,
                message=error.message,
            )
            raise ToolError(ErrorKind.IO_ERROR, message) from error
        except ConnectionLostError as error:
            raise ToolError(
                ErrorKind.IO_ERROR, told("The user's editor is gone; {path} was not written.", path=path)
            ) from error
        except TimeoutError as error:
            raise _silent(path) from error

    def _named(self, path: str) -> str:
        for real, named in self._roots:
            if path.startswith(f"{real}/"):
                return named.rstrip("/") + path[len(real) :]
        return path


def _silent(path: str) -> ToolError:
    message = told(
        "The user's editor did not answer about {path} within {limit_s:g} s. Try again.", path=path, limit_s=_PATIENCE_S
    )
    return ToolError(ErrorKind.TIMED_OUT, message)
