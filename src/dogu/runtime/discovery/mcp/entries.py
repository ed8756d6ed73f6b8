"""What the settings say of MCP servers: raw entries into checked ones, with a sentence for each that isn't right."""

from __future__ import annotations

import os
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, cast

import msgspec

from dogu.contract.tool_names import may_mean_tool, means_tool
from dogu.language import joined, sentence, told

_CALL_TIMEOUT_S = 600.0


class OAuthEntry(msgspec.Struct, frozen=True):
    """How one logs in, where the server doesn't say it all itself. Empty: registered and chosen when needed.

    With a `grant` (`client_credentials`, `jwt_bearer`) dogu logs in by itself, at the `issuer` alone: by the secret,
    the private key, or the assertion in a file, which an identity provider may be asked to exchange first. A token may
    be bound to a key whose possession each request proves (RFC 9449).
    """

    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""
    is_enabled: bool = True
    grant: str = ""
    issuer: str = ""
    private_key_file: str = ""
    signing_algorithm: str = "ES256"
    assertion_file: str = ""
    idp_token_endpoint: str = ""
    idp_client_id: str = ""
    proves_possession: bool = False


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
    allowed_tools: tuple[str, ...] = ()
    places: Mapping[str, str] = {}

    def why_not(self, tool: str) -> str:
        """Say why the entry keeps this tool of the server out; '' where it lets it in."""
        if any(self._excludes(name, tool) for name in self.exclude_tools):
            return told("excluded by {source}", source=self._written("excludeTools"))
        if self.include_tools is not None and not any(self._includes(name, tool) for name in self.include_tools):
            return told("not among {source}", source=self._written("includeTools"))
        return ""

    def allows(self, tool: str) -> bool:
        """Whether calls of this tool need no approval."""
        return self.trust or any(self._includes(name, tool) for name in self.allowed_tools)

    def unmatched(self, tools: Sequence[str]) -> Iterator[str]:
        """Say which names of its lists are none of the tools that the server has."""
        for name in self.exclude_tools:
            if not any(self._excludes(name, tool) for tool in tools):
                yield self._told_of(name, "excludeTools", told("so it excludes nothing"), tools)
        for key, names in (("includeTools", self.include_tools or ()), ("alwaysAllow", self.allowed_tools)):
            for name in names:
                if not any(self._includes(name, tool) for tool in tools):
                    yield self._told_of(name, key, told("so it lets nothing in"), tools)

    def _excludes(self, name: str, tool: str) -> bool:
        """Whether a name excludes the tool, in any spelling; `name(...)` counts as `name`."""
        return _bare(name) == tool or may_mean_tool(_bare(name), f"{self.alias}__{tool}")

    def _includes(self, name: str, tool: str) -> bool:
        return _bare(name) in (tool, "*") or means_tool(_bare(name), f"{self.alias}__{tool}")

    def _written(self, key: str) -> str:
        name = f"mcpServers.{self.alias}.{key}"
        return f"{name} ({self.places[key]})" if key in self.places else name

    def _told_of(self, name: str, key: str, effect: str, tools: Sequence[str]) -> str:
        near = get_close_matches(name, tools, n=1, cutoff=0.6)
        hint = told(" Did you mean {near!r}?", near=near[0]) if near else ""
        return told(
            "The entry {entry!r} of {source} matches no tool, {effect}.{hint}",
            entry=name,
            source=self._written(key),
            effect=effect,
            hint=hint,
        )


class _RawOAuth(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    enabled: bool = True
    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""
    grant: str = ""
    issuer: str = ""
    private_key_file: str = ""
    signing_algorithm: str = "ES256"
    assertion_file: str = ""
    idp_token_endpoint: str = ""
    idp_client_id: str = ""
    dpop: bool = False


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
    enabled: bool = True
    always_allow: list[str] = []


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
_GRANTS = {"": "", "authorization_code": "", "client_credentials": "client_credentials", "jwt_bearer": "jwt_bearer"}
_SAFE_ADDRESS = r"https://[^/\s]|http://(localhost|127\.0\.0\.1|\[::1\])[:/]"
_ALGORITHMS = ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
# Other programs' spellings of those keys.
_SPELLINGS = {
    "enabledTools": "includeTools",
    "allowedTools": "includeTools",
    "disabledTools": "excludeTools",
    "deniedTools": "excludeTools",
    "autoApprove": "alwaysAllow",
    "httpHeaders": "headers",
    "serverUrl": "url",
    "transport": "type",
    "transportType": "type",
}
# Keys that restrict nothing, and mean nothing here: labels, times to start, and ways to log in of other programs.
_HARMLESS = frozenset(
    "$schema //  _comment comment name title description displayName icon iconUrl version gallery extension metadata "
    "note notes author homepage repository tags category inputs dev startupTimeout startupTimeoutSec "
    "startupTimeoutMs initTimeout connectTimeout toolTimeoutSec authProviderType targetAudience targetServiceAccount "
    "scopes oauthResource bearerTokenEnvVar envHttpHeaders envVars envFile headersHelper watchPaths debug logLevel "
    "isActive isBuiltIn autoStart autostart required tcp registryUrl provider providerUrl logoUrl longRunning".split()
)


def read_entries(
    servers: Mapping[str, Mapping[str, Any]],
    server_command: str = "",
    allowed: Sequence[str] | None = None,
    excluded: Sequence[str] = (),
    where: Where = lambda _alias, _key: "",
) -> tuple[list[ServerEntry], list[str]]:
    """Return the servers to start, in the order they were written, and what is wrong with the others.

    `server_command` is one more server, named `mcp`. `allowed` None: every one. A key that isn't known costs its server
    unless it is known to be harmless, because nothing may be let in that was meant to stay out.
    """
    entries: list[ServerEntry] = []
    problems: list[str] = []
    rows = dict(servers)
    if server_command:
        rows.setdefault("mcp", _split(server_command))
    for alias, row in rows.items():
        if _is_kept_out(alias, allowed, excluded):
            continue
        try:
            entry = _entry(alias, row, where)
            if entry is None:
                continue
            if any(entry.alias == other.alias for other in entries):
                raise EntryError(
                    "",
                    told("another server already has the name {alias} in tools' names", alias=repr(entry.alias)),
                )
            entries.append(entry)
        except EntryError as error:
            left_out = told("MCP server {alias} was left out: {problem}.", alias=repr(alias), problem=str(error))
            problems.append(_told(left_out, where(alias, error.key)))
    return entries, problems


def kept_out(
    aliases: Iterable[str], allowed: Sequence[str] | None, excluded: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], list[tuple[str, str]]]:
    """Return which lists keep a server out, by the name it would have in tools' names, and the entries that name none.

    Lists and entries are given by key: `mcp.allowed`, `mcp.excluded`.
    """
    names = [*aliases]
    out: dict[str, tuple[str, ...]] = {}
    for alias in names:
        lists = {"mcp.excluded": _is_kept_out(alias, None, excluded), "mcp.allowed": _is_kept_out(alias, allowed, ())}
        if any(lists.values()):
            out[valid_alias(alias)] = tuple(key for key, is_out in lists.items() if is_out)
    known = {name.casefold() for name in names}
    written = [("mcp.allowed", entry) for entry in allowed or ()] + [("mcp.excluded", entry) for entry in excluded]
    return out, [(key, entry) for key, entry in written if entry.strip().casefold() not in known]


def _is_kept_out(alias: str, allowed: Sequence[str] | None, excluded: Sequence[str]) -> bool:
    """Whether the lists keep a server out; letter case means nothing in them, as in Gemini CLI."""
    name = alias.casefold()
    return (allowed is not None and name not in {each.strip().casefold() for each in allowed}) or name in {
        each.strip().casefold() for each in excluded
    }


def _told(sentence: str, place: str) -> str:
    return f"{place}: {sentence}" if place else sentence


def _spelled(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry with its keys as they are spelled here. Raises `EntryError` for one that may restrict.

    What isn't known to be harmless may keep something out, and nothing may be let in that was meant to stay out.
    """
    found: dict[str, Any] = {}
    for key, value in row.items():
        first, *rest = key.split("_") if not key.startswith("_") else (key,)
        camel = first + "".join(word[:1].upper() + word[1:] for word in rest)
        name = _SPELLINGS.get(camel, camel)
        if name in _HARMLESS:
            continue
        if name not in _KEYS:
            near = get_close_matches(name, [*_KEYS, *_SPELLINGS], n=1, cutoff=0.7)
            hint = told(": did you mean {near!r}?", near=near[0]) if near else ""
            message = told("the key {key!r} isn't known and may restrict it{hint}", key=key, hint=hint)
            raise EntryError(key, message)
        found[name] = _both(name, found[name], value, key) if name in found else value
    return found


def _both(name: str, first: Any, second: Any, key: str) -> Any:
    """Join what two spellings of one key say. Raises `EntryError` where only one of them can be meant."""
    if first == second:
        return first
    if name in ("excludeTools", "alwaysAllow") and isinstance(first, list) and isinstance(second, list):
        return [*cast("list[Any]", first), *cast("list[Any]", second)]
    if name == "includeTools" and isinstance(first, list) and isinstance(second, list):
        return [each for each in cast("list[Any]", first) if each in second]
    raise EntryError(key, told("{key!r} contradicts another spelling of {name!r}", key=key, name=name))


def valid_alias(alias: str) -> str:
    """Return the alias as it stands before `__` in tools' names, so that the first `__` ends it.

    One in letters that models don't accept gets a number of its own; '' if it has no letter or digit.
    """
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", alias)).rstrip("_")[:30].rstrip("_")
    if not plain and any(char.isalnum() for char in alias):
        return f"server_{zlib.crc32(alias.encode(errors='replace')):08x}"
    return f"_{plain}" if plain[:1].isdigit() or plain[:1] == "-" else plain


def _is_dogu_itself(raw: _Raw) -> bool:
    """Whether it would serve this very workspace: others' settings, which are read here too, name dogu as a server."""
    words = [raw.command, *raw.args]
    names = [os.path.basename(word).removesuffix(".exe") for word in words]
    serves = any(name in ("dogu", "dogu-agent") and then == "mcp" for name, then in pairwise(names))
    return serves and not raw.cwd and not any(word.startswith("--root") for word in words)


def _entry(alias: str, row: Mapping[str, Any], where: Where) -> ServerEntry | None:
    """Make the entry; None for one that is switched off. Raises `EntryError`."""
    raw = _converted(_spelled(row))
    if raw.disabled or not raw.enabled:
        return None
    lists = {_SPELLINGS.get(key, key): where(alias, key) for key in row}
    _check_way(raw)
    _check_values(alias, raw)
    if _is_dogu_itself(raw):
        raise EntryError("", told("it is dogu itself, in this folder"))
    _check_oauth(raw.oauth)
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
            _GRANTS[raw.oauth.grant],
            raw.oauth.issuer,
            raw.oauth.private_key_file,
            raw.oauth.signing_algorithm,
            raw.oauth.assertion_file,
            raw.oauth.idp_token_endpoint,
            raw.oauth.idp_client_id,
            raw.oauth.dpop,
        ),
        allowed_tools=tuple(raw.always_allow),
        places={key: place.partition(": ")[0] for key, place in lists.items() if key.endswith("Tools") and place},
    )


_TAKES = {
    "str": sentence("takes a text, not {value}"),
    "bool": sentence("takes true or false, not {value}"),
    "array": sentence('takes a list of texts, like ["a", "b"], not {value}'),
    "object": sentence("takes an object, not {value}"),
}


def _converted(row: Mapping[str, Any]) -> _Raw:
    try:
        return msgspec.convert(dict(row), _Raw)
    except msgspec.ValidationError as error:
        found = re.fullmatch(r"Expected `(\w+).*` - at `\$\.([A-Za-z]+)`", str(error))
        if found is None or found[1] not in _TAKES or found[2] not in row:
            place = re.search(r"\$\.([A-Za-z]+)", str(error))
            raise EntryError(place[1] if place else "", str(error).replace("`$.", "`")) from error
        why = told(_TAKES[found[1]], value=repr(row[found[2]])[:60])
        raise EntryError(found[2], told("{source}: {message}", source=found[2], message=why)) from error


def _check_way(raw: _Raw) -> None:
    """Check that the entry says one way to the server, and one that there is."""
    if raw.type not in _TRANSPORTS:
        known = ", ".join(name for name in _TRANSPORTS if name)
        raise EntryError("type", told("there is no transport {type} (only {known})", type=repr(raw.type), known=known))
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
        raise EntryError(key, told("{address} isn't an http or https address", address=repr(address)))
    if raw.protocol and not re.fullmatch(r"\d{4}-\d\d-\d\d", raw.protocol):
        raise EntryError(
            "protocol", told("protocol takes a version such as 2025-11-25, not {given}", given=repr(raw.protocol))
        )


def _check_oauth(raw: _RawOAuth) -> None:
    """Check that a login without a user has all that it needs, and goes to one place that was named."""
    grants, algorithms = ", ".join(filter(None, _GRANTS)), ", ".join(_ALGORITHMS)
    is_by_itself = bool(_GRANTS.get(raw.grant))
    is_by_client = raw.grant == "client_credentials"
    checks = [
        (raw.grant in _GRANTS, told("there is no grant {grant} (only {known})", grant=repr(raw.grant), known=grants)),
        (raw.signing_algorithm in _ALGORITHMS, told("signingAlgorithm takes one of {known}", known=algorithms)),
        *(
            (not address or re.match(_SAFE_ADDRESS, address), told("{name} takes an https address", name=name))
            for name, address in (("issuer", raw.issuer), ("idpTokenEndpoint", raw.idp_token_endpoint))
        ),
        # Without an issuer the server itself would choose who gets the secret.
        (
            not is_by_itself or (raw.client_id and raw.issuer),
            told("{grant} needs clientId and issuer", grant=raw.grant),
        ),
        (
            not is_by_client or bool(raw.client_secret) != bool(raw.private_key_file),
            told("{grant} needs one of clientSecret and privateKeyFile", grant=raw.grant),
        ),
        (raw.grant != "jwt_bearer" or raw.assertion_file, told("{grant} needs assertionFile", grant=raw.grant)),
        (
            not raw.idp_token_endpoint or (raw.client_secret and raw.idp_client_id),
            told("idpTokenEndpoint needs clientSecret and idpClientId"),
        ),
    ]
    for holds, message in checks:
        if not holds:
            raise EntryError("oauth", joined(": ", ("oauth", message)))


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
