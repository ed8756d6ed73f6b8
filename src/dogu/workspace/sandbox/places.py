"""What a sandboxed command sees of the machine: an allow list, secrets left out of it, and sockets that lead out.

A list of what to hide is never finished, so that the home is shown by what tools need: toolchains, caches, and files of
settings that hold no secret by their content. A user adds to it by a setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from dogu.workspace.small_file import open_regular_file

# Relative to the home folder; a folder stands for all that is in it.
_HOME_TOOLS = (
    # what a user installs for themselves
    ".local/bin .local/lib .local/include .local/opt .local/pipx .local/share/pipx .local/share/man .local/share/fonts "
    ".fonts .terminfo .nix-profile .nix-defexpr .local/state/nix .linuxbrew bin "
    # versions of languages, and what belongs to them
    ".pyenv .rbenv .nodenv .jenv .rvm .nvm .fnm .local/share/fnm .volta .asdf .local/share/mise .local/share/rtx "
    ".local/share/uv/python .local/share/uv/tools "
    ".local/share/virtualenv .local/share/virtualenvs .virtualenvs .local/share/pnpm .local/share/gem "
    "miniconda3 anaconda3 mambaforge miniforge3 micromamba .conda/envs .conda/pkgs .rye .pixi .hatch "
    ".rustup .cargo/bin .cargo/env .cargo/registry .cargo/git "
    "go/bin go/pkg go/src sdk .sdkman .jbang .ghcup .cabal .stack .opam .elan "
    ".juliaup .julia .deno .bun .dotnet .nuget/packages .m2/repository .m2/wrapper .gradle/caches .gradle/wrapper "
    ".gradle/jdks .gradle/native .ivy2/cache .ivy2/local .ivy2/jars .sbt/boot .sbt/launchers "
    ".coursier .gem/ruby .bundle/cache .composer/vendor .config/composer/vendor "
    ".pub-cache .dart-tool flutter Android/Sdk .android/sdk .hex .mix .kiex perl5 R .Rlibs .local/share/R texmf "
    ".vcpkg .conan2/p .platformio .espressif .arduino15 .emscripten_cache .wasmtime .wasmer/bin .foundry/bin "
    ".npm .npm-global .npm-packages .node_modules "
    ".yarn/berry/cache .yarn/bin .config/yarn/global .pnpm-store .krew/bin .terraform.d/plugins "
    # caches, each by its name: browsers and accounts keep theirs in the same folder
    + " ".join(
        f".cache/{name}"
        for name in (
            "pip uv go-build yarn pnpm node node-gyp corepack ms-playwright puppeteer Cypress pypoetry pre-commit "
            "bazel bazelisk ccache sccache zig deno electron electron-builder typescript huggingface/hub torch "
            "coursier composer JNA fontconfig virtualenv rattler nix pixi golangci-lint turbo bun hatch prek "
            "black ruff mypy"
        ).split()
    )
)
# Files that a tool reads at its start; shown when nothing in them looks like a secret.
_HOME_SETTINGS = (
    ".gitconfig .config/git/config .config/git/ignore .config/git/attributes .gitignore .gitignore_global "
    ".gitattributes .editorconfig .npmrc .yarnrc .yarnrc.yml .config/pnpm/rc .config/pip/pip.conf .pip/pip.conf "
    ".pydistutils.cfg .config/uv/uv.toml .config/pypoetry/config.toml .config/mise/config.toml .tool-versions "
    ".condarc .mambarc .gemrc .irbrc .bundle/config .cargo/config .cargo/config.toml .config/go/env .m2/settings.xml "
    ".gradle/gradle.properties .gradle/init.gradle .mavenrc .sbtopts .config/flake8 .config/pycodestyle "
    ".config/ruff/ruff.toml .config/black .config/fontconfig/fonts.conf .config/nix/nix.conf .prettierrc .eslintrc "
    ".stylua.toml .rustfmt.toml .config/rustfmt/rustfmt.toml .clang-format .inputrc .profile .bash_profile .bashrc "
    ".bash_aliases .zshenv .zprofile .zshrc .Rprofile .Renviron .latexmkrc .perltidyrc .ackrc .ripgreprc .fdignore "
    ".config/fish/config.fish"
)
# Outside the homes: programs, libraries, settings, and what the package managers say is installed.
_SYSTEM = (
    "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /gnu /snap /sys /run/current-system /run/wrappers "
    "/var/lib/dpkg /var/lib/rpm /var/lib/pacman /var/lib/apt /var/lib/alternatives /var/lib/gems /var/lib/ghc "
    "/var/lib/texmf /var/lib/snapd/desktop /var/lib/flatpak /var/lib/python /var/cache/fontconfig /var/cache/man "
    "/home/linuxbrew"
)
# Variables that say where a toolchain is; a folder of $PATH stands for its neighbours (lib, share) too.
_TOOLCHAINS = (
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR NVM_BIN VOLTA_HOME COREPACK_HOME PNPM_HOME BUN_INSTALL DENO_INSTALL "
    "RUSTUP_HOME GOROOT GOPATH GOMODCACHE JAVA_HOME JDK_HOME JRE_HOME M2_HOME MAVEN_HOME GRADLE_HOME KOTLIN_HOME "
    "SCALA_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME DOTNET_ROOT NUGET_PACKAGES GEM_HOME GEM_PATH "
    "RBENV_ROOT BUNDLE_PATH FLUTTER_ROOT PUB_CACHE OPAMROOT STACK_ROOT MIX_HOME HEX_HOME JULIA_DEPOT_PATH R_HOME "
    "R_LIBS_USER PLAYWRIGHT_BROWSERS_PATH EMSDK ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR CUDA_HOME CUDA_PATH ROCM_PATH "
    "POETRY_HOME PIPX_HOME SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "GIT_SSL_CAINFO PIP_CERT NIX_SSL_CERT_FILE PYTHONPATH NODE_PATH"
)
_TELLING = (*_TOOLCHAINS.split(), "PATH")
_TELLS_A_SECRET = re.compile(
    rb"(?i)pass(?:word|wd|phrase)?\s*[=:>\"' ]|secret|token|api[_-]?key|access[_-]?key|private[_ -]?key|credential|"
    rb"_auth|authorization|bearer |oauth|cookie|://[^/\s:@]+:[^/\s@]+@|-----BEGIN"
)
_MOST_SETTINGS_BYTES = 256 * 1024
_HOMES = 64  # one, as a rule; each of a fleet's tasks has its own

# What stays hidden wherever a root or a toolchain would show it. A folder stands for all that is in it.
_HOME_SECRETS = (
    ".ssh .gnupg .aws .azure .kube .oci .vault-token .netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .env "
    ".s3cfg .boto .databrickscfg .htpasswd .password-store .terraform.d/credentials.tfrc.json .terraformrc .wgetrc "
    ".config/gcloud .config/gh .config/hub .config/git/credentials .config/op .config/rclone .config/doctl "
    ".config/heroku .config/github-copilot .config/containers/auth.json .config/sops .config/age .config/stripe "
    ".config/goose .config/Code .config/Cursor .config/VSCodium .local/share/com.vercel.cli .fly .cloudflared "
    ".docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .nuget/NuGet "
    ".composer/auth.json .config/composer/auth.json .cache/huggingface/token .huggingface "
    ".local/share/keyrings .local/share/kwalletd .local/share/opencode/auth.json .local/share/atuin "
    ".gemini .dogu .claude .claude.json .codex .qwen .cursor .continue .config/openai .config/anthropic "
    ".mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge "
    ".config/vivaldi .config/opera .config/Signal .config/Slack .config/discord snap/firefox snap/chromium "
    ".var/app/org.mozilla.firefox .var/app/com.google.Chrome .electrum .bitcoin .ethereum "
    ".bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history "
    ".rediscli_history .lesshst .viminfo .local/share/fish/fish_history"
)
_MACHINE_SECRETS = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/krb5.keytab "
    "/etc/ssl/private /etc/kubernetes /etc/rancher /etc/NetworkManager/system-connections /etc/wireguard "
    "/var/lib/kubelet /run/secrets /var/run/secrets /var/lib/docker "
    "/var/lib/containerd /var/lib/sss /var/spool/cron /proc/kcore /proc/kmem /dev/mem /dev/kmem"
)
_NAMED_BY = (
    "GNUPGHOME",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NETRC",
)


def settings(environment: Mapping[str, str]) -> dict[str, bool]:
    """Return the files of the home that tools read at their start, absolute: whether each seems to hold a secret."""
    found = {path: _content(path) for path in _there(home(environment), _HOME_SETTINGS)}
    return {path: bool(_TELLS_A_SECRET.search(content)) for path, content in found.items() if content is not None}


def readable(environment: Mapping[str, str], known: Mapping[str, bool], more: Iterable[str] = ()) -> list[str]:
    """Return the places outside the roots that a command may read, absolute and existing, as they are spelled.

    The system's folders, toolchains and caches of the home, its settings without secrets (`known`, by `settings`), what
    $PATH and variables name, and `more` of the user's own.
    """
    here = home(environment)
    named = [*_SYSTEM.split(), *_there(here, _HOME_TOOLS)]
    named += _toolchains(here, tuple(environment.get(name, "") for name in _TELLING))
    named += (path for path, is_secret in known.items() if not is_secret)
    resolver = os.path.realpath("/etc/resolv.conf")
    named += [resolver] if resolver.startswith("/run/") else []
    found = dict.fromkeys((*named, *more))
    spelled, real = os.path.abspath(here), os.path.realpath(here)
    if spelled != real:  # the home's link is shown as one, and nothing lies in it
        found = dict.fromkeys(f"{real}{path[len(spelled) :]}" if is_in(path, [spelled]) else path for path in found)
    return _outermost(path for path in found if path.startswith("/") and os.path.exists(path))


def secrets(environment: Mapping[str, str], known: Mapping[str, bool]) -> list[str]:
    """Return the places that hold secrets, absolute and without symbolic links, those that exist."""
    here = home(environment)
    named: list[str] = [*_in_home(here, _HOME_SECRETS), *_MACHINE_SECRETS.split()]
    named += [f"/etc/ssh/ssh_host_{kind}_key" for kind in ("rsa", "ecdsa", "ed25519", "dsa")]
    named += (path for path, is_secret in known.items() if is_secret)
    if os.path.realpath(here) != "/root" and os.geteuid() != 0:
        named.append("/root")
    named += [environment[name] for name in _NAMED_BY if environment.get(name)]
    return [path for path in _existing(named) if os.access(path, os.R_OK)]


def sockets(shown: Sequence[str], roots: Sequence[str]) -> list[str]:
    """Return the local sockets that somebody listens at in the `shown` places outside the roots: each a way out."""
    return [path for path in listening(shown) if not is_in(path, roots)]


def listening(folders: Sequence[str]) -> list[str]:
    """Return the local sockets in folders that somebody listens at, sorted."""
    try:
        with open("/proc/net/unix", "rb") as file:
            rows = file.read().split(b"\n")
    except OSError:
        return []
    named = {os.fsdecode(row.split(b" ", 7)[-1].strip()) for row in rows if b" /" in row}
    real = {os.path.realpath(path) for path in named}
    return sorted(path for path in real if is_in(path, folders) and os.path.exists(path))


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of the folders or lies below one."""
    return f"{path}/".startswith(tuple([f"{folder.rstrip('/')}/" for folder in folders]))


def resolved(paths: Iterable[str]) -> dict[str, str]:
    """Return for each absolute path what it really is, as `os.path.realpath` does; no folder is asked twice."""
    known = {"/": "/"}
    found: dict[str, str] = {}
    for path in paths:
        if path.startswith("//") or os.path.normpath(path) != path:
            found[path] = os.path.realpath(path)
            continue
        missing: list[str] = []
        above = path
        while above not in known:
            missing.append(above)
            above = os.path.dirname(above)
        for each in reversed(missing):
            place = os.path.join(known[above], os.path.basename(each))
            known[each] = os.path.realpath(place) if os.path.islink(place) else place
            above = each
        found[path] = known[path]
    return found


def cover(hidden: Iterable[str], top: str = "/") -> list[str]:
    """Return paths that together hold all below `top` but the `hidden` ones (absolute, real): as few as can be.

    Links aren't returned: what they lead to is reached, or hidden, at its own place.
    """
    hidden_paths = set(hidden)
    ancestors = {parent for path in hidden_paths for parent in parents(path)}
    return [*_covered(top, hidden_paths, ancestors)]


@lru_cache(_HOMES)
def _toolchains(home: str, told: tuple[str, ...]) -> tuple[str, ...]:
    """Return the places that variables name: `told` is what each of `_TELLING` says."""
    *roots, programs = told
    named = (os.path.normpath(path) for value in roots for path in value.split(":") if path.startswith("/"))
    found = [path for path in named if not is_in(home, [path])]
    for folder in programs.split(":"):
        path = os.path.normpath(folder)
        if not path.startswith("/") or is_in(home, [path]):
            continue
        prefix = os.path.dirname(path)
        is_of_a_toolchain = os.path.basename(path) in ("bin", "sbin") and not is_in(home, [prefix]) and prefix != "/"
        found.append(prefix if is_of_a_toolchain and os.path.basename(prefix) != ".local" else path)
    return tuple(dict.fromkeys(found))


def home(environment: Mapping[str, str]) -> str:
    """Return the user's home, as it is spelled."""
    return environment.get("HOME") or os.path.expanduser("~")


@lru_cache(_HOMES)  # joining some hundred names costs more than looking for them
def _in_home(home: str, names: str) -> tuple[str, ...]:
    return tuple(os.path.join(home, name) for name in names.split())


def _there(home: str, names: str) -> list[str]:
    """Return where names lie in a home that lists the first part of each: to ask for each costs more than all else.

    For what may be shown, never for what is hidden: a file system may hold what it doesn't list.
    """
    try:
        listed = {name.lower() for name in os.listdir(home)}
    except OSError:
        return [*_in_home(home, names)]
    return [path for path, first in _firsts(home, names) if first in listed]


@lru_cache(_HOMES)
def _firsts(home: str, names: str) -> tuple[tuple[str, str], ...]:
    """Return where names lie in a home, each with the first part of its way there, in small letters."""
    return tuple((os.path.join(home, name), name.partition("/")[0].lower()) for name in names.split())


def _content(path: str) -> bytes | None:
    """A file's content, without its comments; None for what is no file of a user's settings."""
    try:
        with open_regular_file(path) as file:
            content = file.read(_MOST_SETTINGS_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= _MOST_SETTINGS_BYTES else b"-----BEGIN"


def _outermost(paths: Iterable[str]) -> list[str]:
    """Leave out what lies in another of the paths."""
    found: list[str] = []
    for path in sorted(paths):
        if not found or not is_in(path, found[-1:]):
            found.append(path)
    return found


def _covered(path: str, hidden: set[str], ancestors: set[str]) -> Iterable[str]:
    if path in hidden:
        return
    if path not in ancestors:
        yield path
        return
    try:
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for child in inside:
        yield from _covered(child, hidden, ancestors)


def parents(path: str) -> Iterable[str]:
    """Give the folders that an absolute path lies in, the nearest first, down to `/`."""
    while path not in ("/", ""):
        path = os.path.dirname(path)
        yield path


def _existing(paths: Iterable[str]) -> list[str]:
    # Looked for first: most of them aren't there, and to resolve a path costs a look at each folder on the way.
    real = resolved(path for path in paths if path.startswith("/") and os.path.exists(path))
    return [path for path in dict.fromkeys(real.values()) if path != "/"]
