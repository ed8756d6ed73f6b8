"""What the settings say of MCP servers: raw entries into checked ones, with a sentence for each that isn't right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_CALL_TIMEOUT_S = 600.0


class ServerEntry(msgspec.Struct, frozen=True):
    """One server. Exactly one of `command`, `url` and `http_url` is set; `timeout_s` is the limit of one call.

    `url` is streamable HTTP or, where the server doesn't speak it, SSE. `trust`: its calls need no approval.
    """

    alias: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""
    url: str = ""
    http_url: str = ""
    headers: Mapping[str, str] = {}
    timeout_s: float = _CALL_TIMEOUT_S
    trust: bool = False
    include_tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()

    def takes(self, tool: str) -> bool:
        """Whether the entry lets this tool of the server in; `name(...)` counts as `name`."""
        included = self.include_tools is None or tool in [_bare(name) for name in self.include_tools]
        return included and tool not in [_bare(name) for name in self.exclude_tools]


class _Raw(msgspec.Struct, rename="camel", kw_only=True):
    command: str = ""
    args: list[str] = []
    env: dict[str, str | int | float | bool] = {}
    cwd: str = ""
    url: str = ""
    http_url: str = ""
    headers: dict[str, str] = {}
    timeout: float | None = None
    trust: bool = False
    include_tools: list[str] | None = None
    exclude_tools: list[str] = []
    description: str = ""
    type: str = ""


def read_entries(
    servers: Mapping[str, Mapping[str, Any]],
    server_command: str = "",
    allowed: Sequence[str] | None = None,
    excluded: Sequence[str] = (),
) -> tuple[list[ServerEntry], list[str]]:
    """Return the servers to start, in the order they were written, and what was wrong with the others.

    `server_command` is one more server, named `mcp`. `allowed` None: every one.
    """
    entries: list[ServerEntry] = []
    problems: list[str] = []
    rows = dict(servers)
    if server_command:
        rows.setdefault("mcp", _split(server_command))
    for alias, row in rows.items():
        if (allowed is not None and alias not in allowed) or alias in excluded:
            continue
        try:
            entry = _entry(alias, row)
            if any(entry.alias == other.alias for other in entries):
                raise ValueError(f"another server is called {entry.alias!r} already, as far as tools' names go")
            entries.append(entry)
        except ValueError as error:
            problems.append(f"MCP server {alias!r} was left out: {error}.")
    return entries, problems


def valid_alias(alias: str) -> str:
    """Return the alias as it stands before `__` in tools' names, so that the first `__` ends it; '' if none is left."""
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", alias)).rstrip("_")[:30].rstrip("_")
    return f"_{plain}" if plain[:1].isdigit() or plain[:1] == "-" else plain


def _entry(alias: str, row: Mapping[str, Any]) -> ServerEntry:
    try:
        raw = msgspec.convert(dict(row), _Raw)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$.", "`")) from error
    ways = [name for name, value in (("command", raw.command), ("url", raw.url), ("httpUrl", raw.http_url)) if value]
    if len(ways) != 1:
        said = f"it has {' and '.join(ways)}" if ways else "it has none"
        raise ValueError(f"an entry has one of command, url and httpUrl, and {said}")
    _refuse_bad_values(alias, raw)
    return ServerEntry(
        alias=valid_alias(alias),
        command=raw.command,
        args=tuple(raw.args),
        env={name: _text(value) for name, value in raw.env.items()},
        cwd=raw.cwd,
        url=raw.url,
        http_url=raw.http_url,
        headers=raw.headers,
        timeout_s=_CALL_TIMEOUT_S if raw.timeout is None else raw.timeout / 1000,
        trust=raw.trust,
        include_tools=None if raw.include_tools is None else tuple(raw.include_tools),
        exclude_tools=tuple(raw.exclude_tools),
    )


def _refuse_bad_values(alias: str, raw: _Raw) -> None:
    if not valid_alias(alias):
        raise ValueError("its name has no letter or digit that a tool's name could begin with")
    if raw.timeout is not None and not 0 < raw.timeout <= 86_400_000:
        raise ValueError(f"timeout takes milliseconds, up to a day, not {raw.timeout:g}")
    if any("\0" in text for text in (raw.command, raw.cwd, *raw.args, *raw.env, *map(_text, raw.env.values()))):
        raise ValueError("it holds a NUL character")
    address = raw.url or raw.http_url
    if address and not re.match(r"https?://[^/\s]", address):
        raise ValueError(f"{address!r} is no http or https address")


def _split(command: str) -> Mapping[str, Any]:
    try:
        words = shlex.split(command)
    except ValueError:
        return {"command": command}
    return {"command": words[0], "args": words[1:]} if words else {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bare(name: str) -> str:
    return name.partition("(")[0].strip()
