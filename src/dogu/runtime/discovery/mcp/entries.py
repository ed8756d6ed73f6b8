"""What the settings say of MCP servers: raw entries into checked ones, with a sentence for each that isn't right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from dogu.language import told

_CALL_TIMEOUT_S = 600.0


class OAuthEntry(msgspec.Struct, frozen=True):
    """How one logs in, where the server doesn't say it all itself. Empty: registered and chosen when needed."""

    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""
    is_enabled: bool = True


class ServerEntry(msgspec.Struct, frozen=True):
    """One server. Exactly one of `command`, `url` and `http_url` is set; `timeout_s` is the limit of one call.

    `url` is streamable HTTP or, where the server doesn't speak it, SSE. `trust`: its calls need no approval. `protocol`
    names the only one to speak, '' when the two agree by themselves.
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
    protocol: str = ""
    oauth: OAuthEntry = OAuthEntry()

    def takes(self, tool: str) -> bool:
        """Whether the entry lets this tool of the server in; `name(...)` counts as `name`."""
        included = self.include_tools is None or tool in [_bare(name) for name in self.include_tools]
        return included and tool not in [_bare(name) for name in self.exclude_tools]


class _RawOAuth(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    enabled: bool = True
    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""


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
    disabled: bool = False
    protocol: str = ""
    oauth: _RawOAuth = _RawOAuth()


class EntryError(ValueError):
    """What is wrong with an entry; `key` is the one it is about, '' for the entry as a whole."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


Where = Callable[[str, str], str]
"""Says where an alias's key was written, as `file:line`; '' when that isn't known."""

_KEYS = frozenset(field.encode_name for field in msgspec.structs.fields(_Raw))
_TRANSPORTS = {
    "": "",
    "stdio": "command",
    "sse": "url",
    "http": "url",
    "streamable-http": "url",
    "streamableHttp": "url",
}
_RESTRICTING = re.compile("includ|exclud|allow|deny|denied|block|forbid|restrict|disable|only|filter", re.IGNORECASE)


def _nowhere(_alias: str, _key: str) -> str:
    return ""


def read_entries(
    servers: Mapping[str, Mapping[str, Any]],
    server_command: str = "",
    allowed: Sequence[str] | None = None,
    excluded: Sequence[str] = (),
    where: Where = _nowhere,
) -> tuple[list[ServerEntry], list[str]]:
    """Return the servers to start, in the order they were written, and what is wrong with the others.

    `server_command` is one more server, named `mcp`. `allowed` None: every one. A key that isn't known is told; one
    that looks like a restriction costs its server, because nothing may be let in that was meant to stay out.
    """
    entries: list[ServerEntry] = []
    problems: list[str] = []
    rows = dict(servers)
    if server_command:
        rows.setdefault("mcp", _split(server_command))
    for alias, row in rows.items():
        if (allowed is not None and alias not in allowed) or alias in excluded:
            continue
        for key, message in _unknown_keys(row):
            problems.append(
                _told(told("MCP server {alias}: {what}.", alias=repr(alias), what=message), where(alias, key))
            )
        try:
            entry = _entry(alias, row)
            if entry is None:
                continue
            if any(entry.alias == other.alias for other in entries):
                raise EntryError(
                    "",
                    told(
                        "another server is called {alias} already, as far as tools' names go", alias=repr(entry.alias)
                    ),
                )
            entries.append(entry)
        except EntryError as error:
            left_out = told("MCP server {alias} was left out: {problem}.", alias=repr(alias), problem=str(error))
            problems.append(_told(left_out, where(alias, error.key)))
    return entries, problems


def _told(sentence: str, place: str) -> str:
    return f"{place}: {sentence}" if place else sentence


def _unknown_keys(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the keys that aren't known, with what to say of them."""
    for key in row:
        if key in _KEYS or _RESTRICTING.search(key):
            continue
        near = get_close_matches(key, _KEYS, n=1, cutoff=0.7)
        if near:
            yield (
                key,
                told("the key {key} isn't known and has no effect: {near} may be meant", key=repr(key), near=near[0]),
            )
        else:
            yield key, told("the key {key} isn't known and has no effect", key=repr(key))


def valid_alias(alias: str) -> str:
    """Return the alias as it stands before `__` in tools' names, so that the first `__` ends it; '' if none is left."""
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", alias)).rstrip("_")[:30].rstrip("_")
    return f"_{plain}" if plain[:1].isdigit() or plain[:1] == "-" else plain


def _entry(alias: str, row: Mapping[str, Any]) -> ServerEntry | None:
    """Make the entry; None for one that is switched off. Raises `EntryError`."""
    for key in row:
        if key not in _KEYS and _RESTRICTING.search(key):
            raise EntryError(key, told("{key} looks like a restriction, and is none that dogu knows", key=repr(key)))
    raw = _converted(row)
    if raw.disabled:
        return None
    _check_way(raw)
    _check_values(alias, raw)
    is_http = raw.type in ("http", "streamable-http", "streamableHttp")
    return ServerEntry(
        alias=valid_alias(alias),
        command=raw.command,
        args=tuple(raw.args),
        env={name: _text(value) for name, value in raw.env.items()},
        cwd=raw.cwd,
        url="" if is_http else raw.url,
        http_url=raw.http_url or (raw.url if is_http else ""),
        headers=raw.headers,
        timeout_s=_CALL_TIMEOUT_S if raw.timeout is None else raw.timeout / 1000,
        trust=raw.trust,
        include_tools=None if raw.include_tools is None else tuple(raw.include_tools),
        exclude_tools=tuple(raw.exclude_tools),
        protocol=raw.protocol,
        oauth=OAuthEntry(
            raw.oauth.client_id,
            raw.oauth.client_secret,
            raw.oauth.client_metadata_url,
            raw.oauth.scopes,
            raw.oauth.redirect_uri,
            raw.oauth.enabled,
        ),
    )


def _converted(row: Mapping[str, Any]) -> _Raw:
    try:
        return msgspec.convert(dict(row), _Raw)
    except msgspec.ValidationError as error:
        found = re.search(r"\$\.([A-Za-z]+)", str(error))
        raise EntryError(found[1] if found else "", str(error).replace("`$.", "`")) from error


def _check_way(raw: _Raw) -> None:
    """Check that the entry says one way to the server, and one that there is."""
    if raw.type not in _TRANSPORTS:
        known = ", ".join(name for name in _TRANSPORTS if name)
        raise EntryError("type", told("there is no transport {type}: {known}", type=repr(raw.type), known=known))
    ways = [name for name, value in (("command", raw.command), ("url", raw.url), ("httpUrl", raw.http_url)) if value]
    if not ways:
        raise EntryError("", told("an entry has one of command, url and httpUrl, and it has none"))
    if len(ways) > 1:
        both = " and ".join(ways)
        raise EntryError(ways[1], told("an entry has one of command, url and httpUrl, and it has {both}", both=both))
    if raw.type and (_TRANSPORTS[raw.type] == "command") != (ways[0] == "command"):
        raise EntryError("type", told("the transport {type} doesn't go with {way}", type=repr(raw.type), way=ways[0]))


def _check_values(alias: str, raw: _Raw) -> None:
    if not valid_alias(alias):
        raise EntryError("", told("its name has no letter or digit that a tool's name could begin with"))
    if raw.timeout is not None and not 0 < raw.timeout <= 86_400_000:
        raise EntryError(
            "timeout", told("timeout takes milliseconds, up to a day, not {given}", given=f"{raw.timeout:g}")
        )
    for key, texts in {
        "command": [raw.command],
        "cwd": [raw.cwd],
        "args": raw.args,
        "env": [*raw.env, *map(_text, raw.env.values())],
    }.items():
        if any("\0" in text for text in texts):
            raise EntryError(key, told("it holds a NUL character"))
    address = raw.url or raw.http_url
    if address and not re.match(r"https?://[^/\s]", address):
        key = "url" if raw.url else "httpUrl"
        raise EntryError(key, told("{address} is no http or https address", address=repr(address)))
    if raw.protocol and not re.fullmatch(r"\d{4}-\d\d-\d\d", raw.protocol):
        raise EntryError(
            "protocol", told("protocol takes a version such as 2025-11-25, not {given}", given=repr(raw.protocol))
        )


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
