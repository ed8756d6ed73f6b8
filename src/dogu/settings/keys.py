"""Every key dogu knows: its spellings, what it takes, how files add up, and what a folder not trusted may set."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from dogu.language import LANGUAGES
from dogu.settings import values as takes


class Combine(Enum):
    """How the values of several files become one."""

    REPLACE = "the highest wins"
    ADD = "they add up"
    INTERSECT = "only what all of them hold"
    BY_NAME = "they add up by name, the highest wins"
    BY_FILE = "each file's own, lowest first"


class KeyReach(Enum):
    """What a project's settings may do with a key before its folder is trusted."""

    ALWAYS = "set it"
    STRICTER = "make it stricter"
    WAITS = "nothing"


class Key(msgspec.Struct, frozen=True):
    """One key: `name` is its path in the nested spelling, `also` its other spellings.

    `is_stricter(new, present)` says whether `new` allows no more than `present`. A key that `restricts` stops the start
    when its spelling or its value isn't understood.
    """

    name: str
    convert: Callable[[Any], Any]
    default: Any
    also: tuple[str, ...] = ()
    combine: Combine = Combine.REPLACE
    reach: KeyReach = KeyReach.WAITS
    is_stricter: Callable[[Any, Any], bool] | None = None
    restricts: bool = False


def _lower(new: Any, present: Any) -> bool:
    return new is not None and (present is None or new <= present)


def _stricter_mode(new: Any, present: Any) -> bool:
    return takes.APPROVAL_MODES.index(new) <= takes.APPROVAL_MODES.index(present)


def _stricter_sandbox(new: Any, present: Any) -> bool:
    return takes.SANDBOX_MODES.index(new) <= takes.SANDBOX_MODES.index(present)


def _true(new: Any, _present: Any) -> bool:
    return new is True


def _false(new: Any, _present: Any) -> bool:
    return new is False


def _denies(name: str, *also: str, convert: Callable[[Any], Any]) -> Key:
    return Key(name, convert, (), also, Combine.ADD, KeyReach.ALWAYS, restricts=True)


def _confines(name: str, *also: str, convert: Callable[[Any], Any]) -> Key:
    return Key(name, convert, None, also, Combine.INTERSECT, KeyReach.ALWAYS, restricts=True)


def _guards(
    name: str, convert: Callable[[Any], Any], default: Any, stricter: Callable[[Any, Any], bool], *also: str
) -> Key:
    return Key(name, convert, default, also, Combine.REPLACE, KeyReach.STRICTER, stricter, restricts=True)


def _limits(name: str, convert: Callable[[Any], Any], default: Any, *also: str) -> Key:
    return Key(name, convert, default, also, Combine.REPLACE, KeyReach.STRICTER, _lower)


def _widens(name: str, *also: str) -> Key:
    return Key(name, takes.texts, (), also, Combine.ADD)


KEYS: tuple[Key, ...] = (
    _confines("tools.core", "coreTools", convert=takes.tools),
    _denies("tools.exclude", "excludeTools", convert=takes.tools),
    Key("tools.allowed", takes.tools, (), ("allowedTools",), Combine.ADD),
    _denies("tools.confirmationRequired", convert=takes.tools),
    Key("policyPaths", takes.texts, (), (), Combine.BY_FILE, KeyReach.ALWAYS, restricts=True),
    Key("adminPolicyPaths", takes.texts, (), (), Combine.BY_FILE, KeyReach.ALWAYS, restricts=True),
    _guards(
        "tools.approvalMode",
        takes.one_of(*takes.APPROVAL_MODES),
        "default",
        _stricter_mode,
        "approvalMode",
        "general.defaultApprovalMode",
    ),
    Key("tools.discoveryCommand", takes.text, "", ("toolDiscoveryCommand",)),
    Key("tools.callCommand", takes.text, "", ("toolCallCommand",)),
    _guards("tools.sandbox", takes.sandbox, "auto", _stricter_sandbox, "sandbox"),
    _guards("tools.sandboxNetworkAccess", takes.flag, True, _false, "network"),
    _confines("tools.sandboxAllowedHosts", convert=takes.hosts),
    _widens("tools.sandboxAllowedPaths"),
    _widens("tools.sandboxReadablePaths"),
    _widens("tools.writableProtectedPaths"),
    _limits("tools.shell.timeout", takes.time_limit, None),
    _limits("tools.shell.inactivityTimeout", takes.time_limit, 300.0),
    _widens(
        "tools.shell.environment",
        "security.environmentVariableRedaction.allowed",
        "security.allowedEnvironmentVariables",
    ),
    Key("tools.shell.program", takes.one_of("auto", "cmd", "powershell", "bash"), "auto"),
    Key("tools.shell.keepJobs", takes.flag, None),
    _denies(
        "security.environmentVariableRedaction.blocked", "security.blockedEnvironmentVariables", convert=takes.texts
    ),
    Key(
        "tools.search.maxMatches",
        takes.number(1, 1e6, whole=True),
        500,
        ("maxMatches",),
        reach=KeyReach.ALWAYS,
    ),
    _limits("tools.search.timeout", takes.number(0.1, 1e5), 30.0),
    Key("tools.edit.format", takes.one_of("auto", "replace", "patch", "lines"), "auto", reach=KeyReach.ALWAYS),
    Key("web.fetch", takes.one_of("auto", "own"), "auto"),
    Key("web.search", takes.one_of("auto", "gemini", "searxng", "brave"), "auto"),
    Key("web.searxngUrl", takes.text, ""),
    Key("web.braveKey", takes.text, ""),
    _widens("web.allowedHosts"),
    _limits("web.timeout", takes.number(0.1, 600), 30.0),
    _guards("web.trustProxy", takes.flag, False, _false),
    _guards("security.disableYoloMode", takes.flag, False, _true, "disableYoloMode"),
    _guards("security.disableAlwaysAllow", takes.flag, False, _true, "disableAlwaysAllow"),
    _guards("security.enablePermanentToolApproval", takes.flag, True, _false),
    _guards("security.toolSandboxing", takes.flag, False, _true),
    _denies("security.auth.enforcedType", "enforcedAuthType", convert=takes.text_or_texts),
    _guards("admin.secureModeEnabled", takes.flag, False, _true),
    _guards("admin.extensions.enabled", takes.flag, True, _false),
    _denies("extensions.disabled", convert=takes.texts),
    _guards("security.blockGitExtensions", takes.flag, False, _true),
    _confines("security.allowedExtensions", convert=takes.texts_or_any),
    _guards("admin.mcp.enabled", takes.flag, True, _false),
    _guards("admin.skills.enabled", takes.flag, True, _false),
    _guards("experimental.enableAgents", takes.flag, True, _false),
    _guards("useWriteTodos", takes.flag, True, _false, "ui.useWriteTodos"),
    Key("mcp.serverCommand", takes.text, "", ("mcpServerCommand",)),
    _confines("mcp.allowed", "allowMCPServers", convert=takes.texts),
    _denies("mcp.excluded", "excludeMCPServers", convert=takes.texts),
    Key("mcpServers", takes.table, {}, (), Combine.BY_NAME),
    Key("model.name", takes.text, "", ("model",)),
    Key("model.provider", takes.text, ""),
    Key("model.baseUrl", takes.text, ""),
    Key("model.apiKey", takes.text, ""),
    Key("model.profiles", takes.table, {}, (), Combine.BY_NAME),
    Key("model.effort", takes.one_of(*takes.EFFORTS), ""),
    Key("model.temperature", takes.number(0, 2), None),
    Key("model.topP", takes.number(0, 1), None),
    Key("model.seed", takes.number(0, 2**31 - 1, whole=True), None),
    Key("model.maxOutputTokens", takes.number(1, 1e7, whole=True), None),
    Key("model.headers", takes.headers, {}),
    Key("model.body", takes.json_object, {}),
    Key("model.proxy", takes.text, ""),
    Key("model.timeout", takes.number(1, 1e5), None),
    Key("model.tries", takes.number(1, 99, whole=True), None),
    Key("model.retryFor", takes.number(0, 1e6), 600.0),
    _limits("model.maxSessionTurns", takes.turns, None, "maxSessionTurns"),
    Key("model.editRepair", takes.flag, True),
    _guards("tools.disableLLMCorrection", takes.flag, False, _true),
    Key(
        "model.compressionThreshold",
        takes.number(0.05, 1),
        0.7,
        ("chatCompression.contextPercentageThreshold", "model.chatCompression.contextPercentageThreshold"),
    ),
    Key("model.contextWindow", takes.number(1_000, 1e9, whole=True), None),
    Key("model.prices", takes.prices, {}, (), Combine.BY_NAME),
    _limits("model.maxCost", takes.number(0, 1e6), None),
    Key("context.fileName", takes.text_or_texts, ("GEMINI.md", "AGENTS.md"), ("contextFileName",)),
    _widens("context.includeDirectories", "includeDirectories"),
    Key(
        "context.fileFiltering.respectGitIgnore",
        takes.flag,
        True,
        ("fileFiltering.respectGitIgnore",),
        reach=KeyReach.STRICTER,
        is_stricter=_true,
    ),
    _denies("context.fileFiltering.customIgnoreFilePaths", convert=takes.texts),
    Key("hooks", takes.json_object, (), (), Combine.BY_FILE),
    Key("hooksConfig.enabled", takes.flag, True),
    _widens("hooksConfig.disabled"),
    Key("skills.enabled", takes.flag, True, reach=KeyReach.STRICTER, is_stricter=_false),
    Key("skills.disabled", takes.texts, (), (), Combine.ADD, KeyReach.ALWAYS),
    Key("telemetry.enabled", takes.flag, False, reach=KeyReach.STRICTER, is_stricter=_false),
    Key("telemetry.otlpEndpoint", takes.text, ""),
    Key("telemetry.outfile", takes.text, ""),
    Key("telemetry.logPrompts", takes.flag, False, reach=KeyReach.STRICTER, is_stricter=_false),
    Key("sessions.keepDays", takes.number(0, 1e5), 180.0),
    Key("sessions.keepMegabytes", takes.number(0, 1e9), 10_000.0),
    Key("journal.keep", takes.room, (0.1, 20_000_000_000)),
    Key("general.preferredEditor", takes.text, "", ("preferredEditor", "editor")),
    Key(
        "ui.language",
        takes.one_of(*LANGUAGES),
        "",
        ("lang", "language", "ui.lang"),
        reach=KeyReach.ALWAYS,
    ),
    Key("ui.theme", takes.theme, "auto", ("theme",), reach=KeyReach.ALWAYS),
    Key("ui.screenReader", takes.flag, False, ("ui.accessibility.screenReader",), reach=KeyReach.ALWAYS),
    Key("ui.keys", takes.headers, {}),
    Key("ui.statusLine", takes.texts, ()),
    Key("ui.notify", takes.one_of("auto", "bell", "off"), "auto", reach=KeyReach.ALWAYS),
    Key("ui.mouse", takes.flag, True, reach=KeyReach.ALWAYS),
    Key("ui.ambiguousWidth", takes.one_of(*takes.WIDTHS), "narrow", reach=KeyReach.ALWAYS),
)
