"""The settings in groups: what every component is given, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.settings.extensions import ExtensionSettings, FromFile, extension_settings
from dogu.settings.merging import Merging
from dogu.settings.problems import Origin, SettingsWarning
from dogu.settings.trust import Trust

if TYPE_CHECKING:
    from dogu.settings.gemini_extensions import Extension


class ToolSettings(msgspec.Struct, frozen=True):
    """Which tools exist and may run. `core` None: no restriction; empty: nothing is allowed. `asked` are always asked.

    Entries are a tool's name or `run_shell_command(WORDS)`, in the tools' own names. `approval_mode` is one of `plan`,
    `default`, `auto_edit`, `yolo`. Commands are empty when not set. `edit_format` is one of `auto`, `replace`, `patch`,
    `lines`. `policies` name files and folders of rules, by the settings file that does, `admin_policies` those above
    them. "Always" is an answer unless it `always_is_disabled`, and outlives the session if it `always_is_kept`.
    `places` says where each entry of the lists is written, as `exclude.ENTRY`.
    """

    core: tuple[str, ...] | None
    exclude: tuple[str, ...]
    allowed: tuple[str, ...]
    approval_mode: str
    yolo_is_disabled: bool
    discovery_command: str
    call_command: str
    writable_protected_paths: tuple[str, ...]
    edit_format: str
    places: Mapping[str, Origin] = {}
    asked: tuple[str, ...] = ()
    policies: tuple[FromFile, ...] = ()
    admin_policies: tuple[FromFile, ...] = ()
    always_is_disabled: bool = False
    always_is_kept: bool = True


class ShellSettings(msgspec.Struct, frozen=True):
    """Time limits of commands, None for none; `environment` names the variables that commands get beside the usual.

    `keeps_jobs`: whether background jobs live on after the session; None leaves it to the door. Commands don't get the
    variables that are `withheld`. `program` is the shell that reads commands on Windows; `auto` is cmd.exe.
    """

    timeout_s: float | None
    inactivity_timeout_s: float | None
    environment: tuple[str, ...]
    keeps_jobs: bool | None
    withheld: tuple[str, ...] = ()
    program: str = "auto"


class SandboxSettings(msgspec.Struct, frozen=True):
    """`mode`: `on` (refuse to run without one), `auto` (where the machine can) or `off`."""

    mode: str
    network_is_allowed: bool
    allowed_hosts: tuple[str, ...] | None
    allowed_paths: tuple[str, ...]
    readable_paths: tuple[str, ...]


class SearchSettings(msgspec.Struct, frozen=True):
    """Bounds of `grep_search`."""

    max_matches: int
    timeout_s: float


class WebSettings(msgspec.Struct, frozen=True):
    """Who reads pages (`auto`, `own`) and who searches (`auto`, `gemini`, `searxng`, `brave`); empty texts are not set.

    `api_key` is Brave's. `allowed_hosts` may be private; with `trusts_proxy` a proxy is used without a question.
    """

    fetch: str
    search: str
    searxng_url: str
    api_key: str
    allowed_hosts: tuple[str, ...]
    timeout_s: float
    trusts_proxy: bool


class ModelSettings(msgspec.Struct, frozen=True):
    """Which model, and how much of it; empty texts are not set, None is no limit, or not known.

    `effort` is how much it thinks. `headers` and `body` join every request, `timeout_s` bounds the wait for each next
    byte, `tries` how often a request is sent, `retry_for_s` how long one that fails is sent again. `profiles` are other
    models by a name of their user's. `enforced_auth` is the only way to log in that may be, as Gemini CLI names it.
    `prices` are US dollars for a million tokens (`input`, `cached`, `output`) by model, above the built-in ones.
    """

    name: str
    provider: str
    base_url: str
    api_key: str
    max_session_turns: int | None
    edit_repair: bool
    compression_threshold: float = 0.7
    context_window_tokens: int | None = None
    prices: Mapping[str, Mapping[str, float]] = {}
    max_cost_usd: float | None = None
    effort: str = ""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}
    proxy: str = ""
    timeout_s: float | None = None
    tries: int | None = None
    retry_for_s: float = 600.0
    profiles: Mapping[str, Mapping[str, Any]] = {}
    enforced_auth: tuple[str, ...] = ()


class ContextSettings(msgspec.Struct, frozen=True):
    """What is read beside the prompt; `file_names` in the order of preference.

    `ignore_files` hide from models what they name, in the syntax of `.gitignore`; the first of them wins.
    """

    file_names: tuple[str, ...]
    include_directories: tuple[str, ...]
    respect_git_ignore: bool
    ignore_files: tuple[str, ...] = ()


class McpSettings(msgspec.Struct, frozen=True):
    """MCP servers as they were written, by alias; `allowed` None: all of them.

    `places` says where an entry (`alias`) and each of its keys (`alias.key`) is written.
    """

    server_command: str
    servers: Mapping[str, Mapping[str, Any]]
    allowed: tuple[str, ...] | None
    excluded: tuple[str, ...]
    places: Mapping[str, Origin] = {}


class UiSettings(msgspec.Struct, frozen=True):
    """`language` is empty for the locale's, `editor` for `$VISUAL` or `$EDITOR`.

    `theme` is `auto`, `dark` or `light`; `screen_reader`: nothing moves and plain words. `ambiguous_is_wide`:
    characters whose width East Asian fonts differ on take two cells. `keys` are keys by action, `status_line` what it
    shows, in order; `notify` is how a turn that ended or asks calls the user: `auto`, `bell` or `off`. `mouse`: choices
    take clicks.
    """

    language: str
    editor: str
    theme: str = "auto"
    screen_reader: bool = False
    ambiguous_is_wide: bool = False
    keys: Mapping[str, str] = {}
    status_line: tuple[str, ...] = ()
    notify: str = "auto"
    mouse: bool = True


class SessionSettings(msgspec.Struct, frozen=True):
    """How long old sessions are kept: days since they were last written, megabytes of all of them; 0 for no limit.

    What they keep for undo may take so large a share of the free disk, and at most so many bytes.
    """

    keep_days: float
    keep_mb: float
    undo_share: float = 0.1
    undo_bytes: int = 20_000_000_000


class Settings(msgspec.Struct, frozen=True):
    """Everything that was set. `origins` says where, by key, for what isn't built in; `values` are all, by key.

    `added` are the extensions of Gemini CLI that are switched on here, the user's first.
    """

    tools: ToolSettings
    shell: ShellSettings
    sandbox: SandboxSettings
    search: SearchSettings
    web: WebSettings
    model: ModelSettings
    context: ContextSettings
    mcp: McpSettings
    sessions: SessionSettings
    ui: UiSettings
    extensions: ExtensionSettings
    trust: Trust
    warnings: tuple[SettingsWarning, ...]
    origins: Mapping[str, Origin]
    values: Mapping[str, Any] = {}
    added: tuple[Extension, ...] = ()


def settings_of(merging: Merging, trust: Trust) -> Settings:
    """Hand every value to the group it belongs to."""
    value = merging.values
    return Settings(
        tools=_tool_settings(value, _places(merging, "tools.")),
        shell=ShellSettings(
            timeout_s=value["tools.shell.timeout"],
            inactivity_timeout_s=value["tools.shell.inactivityTimeout"],
            environment=value["tools.shell.environment"],
            keeps_jobs=value["tools.shell.keepJobs"],
            program=value["tools.shell.program"],
            withheld=value["security.environmentVariableRedaction.blocked"],
        ),
        sandbox=SandboxSettings(
            mode="on" if value["security.toolSandboxing"] else value["tools.sandbox"],
            network_is_allowed=value["tools.sandboxNetworkAccess"],
            allowed_hosts=value["tools.sandboxAllowedHosts"],
            allowed_paths=value["tools.sandboxAllowedPaths"],
            readable_paths=value["tools.sandboxReadablePaths"],
        ),
        search=SearchSettings(value["tools.search.maxMatches"], value["tools.search.timeout"]),
        web=_web_settings(value),
        model=_model_settings(value),
        context=ContextSettings(
            file_names=value["context.fileName"],
            include_directories=value["context.includeDirectories"],
            respect_git_ignore=value["context.fileFiltering.respectGitIgnore"],
            ignore_files=value["context.fileFiltering.customIgnoreFilePaths"],
        ),
        mcp=McpSettings(
            server_command=value["mcp.serverCommand"],
            servers=value["mcpServers"],
            allowed=value["mcp.allowed"] if value["admin.mcp.enabled"] else (),
            excluded=value["mcp.excluded"],
            places=_places(merging, "mcpServers."),
        ),
        sessions=SessionSettings(value["sessions.keepDays"], value["sessions.keepMegabytes"], *value["journal.keep"]),
        ui=UiSettings(
            language=value["ui.language"],
            editor=value["general.preferredEditor"],
            theme=value["ui.theme"],
            screen_reader=value["ui.screenReader"],
            ambiguous_is_wide=value["ui.ambiguousWidth"] == "wide",
            keys=value["ui.keys"],
            status_line=value["ui.statusLine"],
            notify=value["ui.notify"],
            mouse=value["ui.mouse"],
        ),
        extensions=extension_settings(value),
        trust=trust,
        warnings=tuple(merging.warnings),
        origins=merging.origins,
        values=value,
    )


def _places(merging: Merging, prefix: str) -> dict[str, Origin]:
    return {name[len(prefix) :]: place for name, place in merging.places.items() if name.startswith(prefix)}


def _tool_settings(value: Mapping[str, Any], places: Mapping[str, Origin]) -> ToolSettings:
    switched_off = (("experimental.enableAgents", "run_subagent"), ("useWriteTodos", "write_todos"))
    is_secure = value["admin.secureModeEnabled"]
    return ToolSettings(
        core=value["tools.core"],
        exclude=(*value["tools.exclude"], *(tool for key, tool in switched_off if not value[key])),
        allowed=value["tools.allowed"],
        approval_mode=value["tools.approvalMode"],
        yolo_is_disabled=value["security.disableYoloMode"] or is_secure,
        discovery_command=value["tools.discoveryCommand"],
        call_command=value["tools.callCommand"],
        writable_protected_paths=value["tools.writableProtectedPaths"],
        edit_format=value["tools.edit.format"],
        places=places,
        asked=value["tools.confirmationRequired"],
        policies=value["policyPaths"],
        admin_policies=value["adminPolicyPaths"],
        always_is_disabled=value["security.disableAlwaysAllow"] or is_secure,
        always_is_kept=value["security.enablePermanentToolApproval"],
    )


def _web_settings(value: Mapping[str, Any]) -> WebSettings:
    return WebSettings(
        fetch=value["web.fetch"],
        search=value["web.search"],
        searxng_url=value["web.searxngUrl"],
        api_key=value["web.braveKey"],
        allowed_hosts=value["web.allowedHosts"],
        timeout_s=value["web.timeout"],
        trusts_proxy=value["web.trustProxy"],
    )


def _model_settings(value: Mapping[str, Any]) -> ModelSettings:
    return ModelSettings(
        name=value["model.name"],
        provider=value["model.provider"],
        base_url=value["model.baseUrl"],
        api_key=value["model.apiKey"],
        max_session_turns=value["model.maxSessionTurns"],
        edit_repair=value["model.editRepair"] and not value["tools.disableLLMCorrection"],
        compression_threshold=value["model.compressionThreshold"],
        context_window_tokens=value["model.contextWindow"],
        prices=value["model.prices"],
        max_cost_usd=value["model.maxCost"],
        effort=value["model.effort"],
        temperature=value["model.temperature"],
        top_p=value["model.topP"],
        seed=value["model.seed"],
        max_output_tokens=value["model.maxOutputTokens"],
        headers=value["model.headers"],
        body=value["model.body"],
        proxy=value["model.proxy"],
        timeout_s=value["model.timeout"],
        tries=value["model.tries"],
        retry_for_s=value["model.retryFor"],
        profiles=value["model.profiles"],
        enforced_auth=value["security.auth.enforcedType"],
    )
