"""Names of places whose content runs later, and of files that hold secrets: pure functions of a path.

Matched in every folder, in any letter case, whether the place exists or not, and in the spellings that other file
systems take for the same name: NTFS' trailing dots, streams and short names, HFS+'s ignorable characters.
Source: git's verify_path (CVE-2014-9390, CVE-2019-1352).
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from unicodedata import normalize

from dogu.language import sentence, told

_RUNS_ON_OPEN = sentence("an editor may run what it says when the folder is opened")
_OTHER_AGENT = sentence("a coding agent takes its permissions and the programs it starts from there")
_STEERS = sentence("coding agents do as it says")
_INTERPRETER = sentence("an interpreter runs it when it starts")
_SHELL = sentence("a shell runs it when it starts")
_CI = sentence("a build server runs it")
_PACKAGES = sentence("a package manager takes programs and addresses from it")
_VERSION_CONTROL = sentence("version control runs hooks and programs named there")

# A row is one or more parts of a path, side by side, anywhere in it; a folder stands for all that is in it. `*` is any
# letters, `+` some.
_PROTECTED: dict[str, str] = {
    ".git": _VERSION_CONTROL,
    "*.git/hooks": _VERSION_CONTROL,
    "*.git/config": _VERSION_CONTROL,
    ".gitconfig": _VERSION_CONTROL,
    ".config/git": _VERSION_CONTROL,
    ".gitmodules": _VERSION_CONTROL,
    ".lfsconfig": _VERSION_CONTROL,
    ".hg": _VERSION_CONTROL,
    ".hgrc": _VERSION_CONTROL,
    ".jj": _VERSION_CONTROL,
    ".husky": _VERSION_CONTROL,
    ".githooks": _VERSION_CONTROL,
    ".pre-commit-config.yaml": _VERSION_CONTROL,
    "lefthook.*": _VERSION_CONTROL,
    ".lefthook.*": _VERSION_CONTROL,
    "lefthook-local.*": _VERSION_CONTROL,
    ".overcommit.yml": _VERSION_CONTROL,
    ".simple-git-hooks.*": _VERSION_CONTROL,
    "simple-git-hooks.*": _VERSION_CONTROL,
    "prek.toml": _VERSION_CONTROL,
    "hk.pkl": _VERSION_CONTROL,
    ".gemini": _OTHER_AGENT,
    ".dogu": _OTHER_AGENT,
    ".claude": _OTHER_AGENT,
    ".claude.json": _OTHER_AGENT,
    ".codex": _OTHER_AGENT,
    ".cursor": _OTHER_AGENT,
    ".windsurf": _OTHER_AGENT,
    ".continue": _OTHER_AGENT,
    ".qwen": _OTHER_AGENT,
    ".opencode": _OTHER_AGENT,
    ".mcp.json": _OTHER_AGENT,
    ".aider.conf.yml": _OTHER_AGENT,
    ".agents": _STEERS,
    "agents.md": _STEERS,
    "agents.override.md": _STEERS,
    "agent.md": _STEERS,
    "claude.md": _STEERS,
    "claude.local.md": _STEERS,
    "gemini.md": _STEERS,
    "qwen.md": _STEERS,
    "crush.md": _STEERS,
    "conventions.md": _STEERS,
    ".cursorrules": _STEERS,
    ".windsurfrules": _STEERS,
    ".clinerules": _STEERS,
    ".roorules*": _STEERS,
    ".goosehints": _STEERS,
    ".roo": _OTHER_AGENT,
    ".roomodes": _OTHER_AGENT,
    ".kiro": _OTHER_AGENT,
    ".kilocode": _OTHER_AGENT,
    ".cline": _OTHER_AGENT,
    ".amp": _OTHER_AGENT,
    ".factory": _OTHER_AGENT,
    ".junie": _OTHER_AGENT,
    ".augment": _OTHER_AGENT,
    ".trae": _OTHER_AGENT,
    ".goose": _OTHER_AGENT,
    ".openhands": _OTHER_AGENT,
    ".amazonq": _OTHER_AGENT,
    ".vibe": _OTHER_AGENT,
    ".kimi": _OTHER_AGENT,
    ".crush.json": _OTHER_AGENT,
    "crush.json": _OTHER_AGENT,
    ".crush": _OTHER_AGENT,
    "opencode.json": _OTHER_AGENT,
    "opencode.jsonc": _OTHER_AGENT,
    # Agents nobody has heard of yet keep their rules, programs and permissions under these names.
    ".+/rules": _STEERS,
    ".+/skills": _STEERS,
    ".+/workflows": _STEERS,
    ".+/prompts": _STEERS,
    ".+/agents": _OTHER_AGENT,
    ".+/commands": _OTHER_AGENT,
    ".+/hooks": _OTHER_AGENT,
    ".+/hooks.json": _OTHER_AGENT,
    ".+/mcp.json": _OTHER_AGENT,
    ".+/mcp_*.json": _OTHER_AGENT,
    ".+/permissions.json": _OTHER_AGENT,
    ".+/settings.json": _OTHER_AGENT,
    ".+/settings.local.json": _OTHER_AGENT,
    ".rules": _STEERS,
    ".*rules.md": _STEERS,
    "warp.md": _STEERS,
    "jules.md": _STEERS,
    "copilot-instructions.md": _STEERS,
    ".pi": _OTHER_AGENT,
    ".rovodev": _OTHER_AGENT,
    ".mcp": _OTHER_AGENT,
    "mcp.json": _OTHER_AGENT,
    ".sweagent": _OTHER_AGENT,
    ".vscode": _RUNS_ON_OPEN,
    "*.code-workspace": _RUNS_ON_OPEN,
    ".idea": _RUNS_ON_OPEN,
    ".run": _RUNS_ON_OPEN,
    ".zed": _RUNS_ON_OPEN,
    ".fleet": _RUNS_ON_OPEN,
    ".vs": _RUNS_ON_OPEN,
    ".idx": _RUNS_ON_OPEN,
    ".replit": _RUNS_ON_OPEN,
    ".gitpod*": _RUNS_ON_OPEN,
    ".helix": _RUNS_ON_OPEN,
    "*.sublime-project": _RUNS_ON_OPEN,
    ".devcontainer": _RUNS_ON_OPEN,
    ".devcontainer.json": _RUNS_ON_OPEN,
    ".vimrc": _RUNS_ON_OPEN,
    ".nvimrc": _RUNS_ON_OPEN,
    ".nvim.lua": _RUNS_ON_OPEN,
    ".exrc": _RUNS_ON_OPEN,
    ".lvimrc": _RUNS_ON_OPEN,
    ".nvim": _RUNS_ON_OPEN,
    ".emacs": _RUNS_ON_OPEN,
    ".emacs.d": _RUNS_ON_OPEN,
    ".dir-locals*.el": _RUNS_ON_OPEN,
    ".rprofile": _INTERPRETER,
    ".renviron": _INTERPRETER,
    ".ghci": _INTERPRETER,
    ".pdbrc": _INTERPRETER,
    ".pythonrc": _INTERPRETER,
    ".pythonstartup": _INTERPRETER,
    "sitecustomize.py": _INTERPRETER,
    "usercustomize.py": _INTERPRETER,
    ".irbrc": _INTERPRETER,
    ".pryrc": _INTERPRETER,
    ".iex.exs": _INTERPRETER,
    ".psqlrc": _INTERPRETER,
    ".sqliterc": _INTERPRETER,
    ".octaverc": _INTERPRETER,
    ".juliarc.jl": _INTERPRETER,
    ".gdbinit": sentence("a debugger runs it when it starts"),
    ".lldbinit": sentence("a debugger runs it when it starts"),
    ".bashrc": _SHELL,
    ".bash_profile": _SHELL,
    ".bash_login": _SHELL,
    ".bash_logout": _SHELL,
    ".bash_aliases": _SHELL,
    ".profile": _SHELL,
    ".zshrc": _SHELL,
    ".zshenv": _SHELL,
    ".zprofile": _SHELL,
    ".zlogin": _SHELL,
    ".zlogout": _SHELL,
    ".kshrc": _SHELL,
    ".cshrc": _SHELL,
    ".tcshrc": _SHELL,
    ".login": _SHELL,
    ".logout": _SHELL,
    ".inputrc": _SHELL,
    ".envrc": _SHELL,
    ".env.fish": _SHELL,
    "mise.toml": _SHELL,
    ".mise.toml": _SHELL,
    "mise.*.toml": _SHELL,
    ".mise": _SHELL,
    ".config/mise": _SHELL,
    ".config/mise.toml": _SHELL,
    ".autoenv": _SHELL,
    ".autoenv.zsh": _SHELL,
    ".tmux.conf": _SHELL,
    ".screenrc": _SHELL,
    ".xinitrc": _SHELL,
    ".xprofile": _SHELL,
    ".config/fish": _SHELL,
    ".config/autostart": sentence("the desktop starts it"),
    ".config/systemd": sentence("the system starts it"),
    ".ssh": sentence("ssh takes keys and the programs it starts from there"),
    ".gnupg": sentence("gpg takes keys and the programs it starts from there"),
    ".ripgreprc": sentence("rg runs the --pre program it names"),
    ".npmrc": _PACKAGES,
    ".yarnrc": _PACKAGES,
    ".yarnrc.yml": _PACKAGES,
    ".pnpmfile.cjs": _PACKAGES,
    ".pypirc": _PACKAGES,
    ".cargo/config": _PACKAGES,
    ".cargo/config.toml": _PACKAGES,
    ".bundle/config": _PACKAGES,
    ".yarn/releases": _PACKAGES,
    ".yarn/plugins": _PACKAGES,
    ".pnp.cjs": _PACKAGES,
    ".mvn": _PACKAGES,
    ".bazelrc": _PACKAGES,
    ".github": _CI,
    ".gitea": _CI,
    ".forgejo": _CI,
    ".travis.yml": _CI,
    "azure-pipelines*.yml": _CI,
    ".azure-pipelines": _CI,
    "jenkinsfile": _CI,
    ".woodpecker": _CI,
    ".woodpecker.yml": _CI,
    ".woodpecker.yaml": _CI,
    ".drone.yml": _CI,
    ".appveyor.yml": _CI,
    "appveyor.yml": _CI,
    "bitbucket-pipelines.yml": _CI,
    "cloudbuild.yaml": _CI,
    "buildspec.yml": _CI,
    ".cirrus.yml": _CI,
    ".semaphore": _CI,
    ".builds": _CI,
    ".build.yml": _CI,
    ".teamcity": _CI,
    ".tekton": _CI,
    ".gitlab": _CI,
    ".gitlab-ci.yml": _CI,
    ".circleci": _CI,
    ".buildkite": _CI,
}

_SECRET: dict[str, str] = {
    ".env": sentence("it may hold passwords and keys"),
    ".env.*": sentence("it may hold passwords and keys"),
    "*.env": sentence("it may hold passwords and keys"),
    "secrets.yml": sentence("it may hold passwords and keys"),
    "secrets.yaml": sentence("it may hold passwords and keys"),
    "secrets.json": sentence("it may hold passwords and keys"),
    "secrets.toml": sentence("it may hold passwords and keys"),
    "credentials.json": sentence("it may hold passwords and keys"),
    "*service-account*.json": sentence("it may hold passwords and keys"),
    "*service_account*.json": sentence("it may hold passwords and keys"),
    ".dockercfg": sentence("it may hold a registry's token"),
    "*.jks": sentence("it may be a private key"),
    "*.keystore": sentence("it may be a private key"),
    ".envrc": sentence("it may hold passwords and keys"),
    ".npmrc": sentence("it may hold a registry's token"),
    ".yarnrc.yml": sentence("it may hold a registry's token"),
    ".pypirc": sentence("it may hold a registry's token"),
    ".netrc": sentence("it holds passwords"),
    "_netrc": sentence("it holds passwords"),
    ".git-credentials": sentence("it holds passwords"),
    ".pgpass": sentence("it holds passwords"),
    ".htpasswd": sentence("it holds passwords"),
    ".my.cnf": sentence("it may hold passwords"),
    ".aws": sentence("it holds keys of a cloud account"),
    ".azure": sentence("it holds keys of a cloud account"),
    ".config/gcloud": sentence("it holds keys of a cloud account"),
    ".kube/config": sentence("it holds keys of a cluster"),
    ".docker/config.json": sentence("it may hold a registry's token"),
    ".cargo/credentials": sentence("it holds a registry's token"),
    ".cargo/credentials.toml": sentence("it holds a registry's token"),
    ".config/gh/hosts.yml": sentence("it holds a token"),
    ".vault-token": sentence("it holds a token"),
    ".ssh": sentence("it holds private keys"),
    ".gnupg": sentence("it holds private keys"),
    "id_rsa": sentence("it is a private key"),
    "id_dsa": sentence("it is a private key"),
    "id_ecdsa": sentence("it is a private key"),
    "id_ed25519": sentence("it is a private key"),
    "*.pem": sentence("it may be a private key"),
    "*.p12": sentence("it may be a private key"),
    "*.pfx": sentence("it may be a private key"),
    "*.kdbx": sentence("it holds passwords"),
}
# Patterns are compiled with their first use, none of which is on the way to the first prompt.
_NO_SECRET = r"\.env\.(example|sample|template|dist|defaults?|schema)|(example|sample|template|dist|defaults?)\.env"
# The key itself, not source code that speaks of one: a line of base64 follows, perhaps behind the old form's headers.
_PRIVATE_KEY = (
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----\s+(?:[\w-]+:[^\n]*\s+)*[A-Za-z0-9+/=]{24,}"
    rb"|PuTTY-User-Key-File-\d+:|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
)
LOOKED_AT_BYTES = 256 * 1024
_KEY_WITHIN = sentence("it holds a private key")
_SHORT_GIT = r"git~[0-9]+"
# Source: HFS+ leaves these out when it compares names.
_IGNORABLE = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"


def protected_reason(path: str) -> str | None:
    """Say why writing to `path` must be asked in every mode, or None."""
    found = _row(path, is_secret=False)
    return found and told("{name} decides what runs later: {reason}.", name=found[1], reason=_PROTECTED[found[0]])


def may_be_protected(pattern: str) -> bool:
    """Whether a pattern for one name, `.c?rgo`, may match one that a protected place has, or begins with."""
    return any(fnmatchcase(name, pattern.lower()) for name in _names())


@cache
def _names() -> frozenset[str]:
    return frozenset(row.partition("/")[0].replace("*", "x").replace("+", "x") for row in _PROTECTED)


def secret_reason(path: str) -> str | None:
    """Say why the content of `path` shouldn't be shown to a model without asking, or None."""
    found = _row(path, is_secret=True)
    if found is None or re.fullmatch(_NO_SECRET, _plain(path.rsplit("/", 1)[-1])):
        return None
    return told("{name} is for people only: {reason}.", name=found[1], reason=_SECRET[found[0]])


def secret_content_reason(content: bytes) -> str | None:
    """Say why a file of this content, as far as it is looked at, is for people only, or None."""
    if b"KEY" in content and re.search(_PRIVATE_KEY, content):
        return told("The file is for people only: {reason}.", reason=_KEY_WITHIN)
    return None


def _row(path: str, *, is_secret: bool) -> tuple[str, str] | None:
    """Return the row that a path is of, and what to call the place."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    plain = f"{_plain_folder(folder)}/{_plain(name)}"
    if not _any_row(is_secret).search(plain):
        return None
    pattern = next(pattern for pattern in (_SECRET if is_secret else _PROTECTED) if _any_of((pattern,)).search(plain))
    match = _any_of((pattern,)).search(plain) if "+" in pattern else None
    called = match[0].strip("/") if match else pattern.removeprefix("*")
    written = "/".join(path.split("/")[-1 - called.count("/") :])
    return pattern, written if written.lower() == called else called


# Nearly every path is of no row, and a search asks about each that matched.
@cache
def _any_row(is_secret: bool) -> re.Pattern[str]:
    return _any_of(tuple(_SECRET if is_secret else _PROTECTED))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\+", "[^/.][^/]*") for pattern in patterns)
    return re.compile(rf"(?:^|/)(?:{names})(?:/|$)")


# A search asks for every file that matched: its folder is the same one again and again.
@lru_cache(1024)
def _plain_folder(path: str) -> str:
    return "/".join(_plain(part) for part in path.split("/") if part)


def _plain(part: str) -> str:
    folded = part.lower() if part.isascii() else _folded(part)
    plain = folded.split(":")[0].rstrip(" .") or folded
    return ".git" if "~" in plain and re.fullmatch(_SHORT_GIT, plain) else plain


def _folded(part: str) -> str:
    return normalize("NFKC", re.sub(_IGNORABLE, "", part)).casefold()
