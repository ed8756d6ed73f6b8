"""The environment a command gets: a list of what is let in, never a list of what is kept out.

This program's own keys, and whatever else is in its environment, stay with it unless named here or by a setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dogu.workspace.system import IS_WINDOWS

_WORDS = (
    # the user and the machine
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP HOSTNAME COLUMNS LINES DISPLAY WAYLAND_DISPLAY "
    "XAUTHORITY DBUS_SESSION_BUS_ADDRESS MANPATH INFOPATH EDITOR VISUAL WSL_DISTRO_NAME WSL_INTEROP "
    # a key agent signs without giving keys away; the sandbox may mask its socket
    "SSH_AUTH_SOCK GPG_TTY GNUPGHOME "
    # the network's way out
    "HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy ftp_proxy all_proxy no_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO PIP_CERT "
    # languages and their tools: where they are, not who one is to them
    "VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_PYTHON_EXE CONDA_SHLVL PYTHONPATH PYTHONUTF8 "
    "PYTHONIOENCODING PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYENV_ROOT PYENV_SHELL PYENV_VERSION "
    "PIP_INDEX_URL PIP_CACHE_DIR PIP_CONFIG_FILE UV_INDEX_URL UV_CACHE_DIR UV_PYTHON POETRY_HOME PIPX_HOME "
    "NODE_PATH NODE_OPTIONS NODE_ENV NVM_DIR NVM_BIN NVM_INC FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME COREPACK_HOME "
    "PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL YARN_CACHE_FOLDER npm_config_prefix npm_config_cache "
    "npm_config_registry npm_config_userconfig PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN "
    "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE RUST_LOG "
    "GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOPROXY GONOSUMDB GOPRIVATE GOSUMDB GO111MODULE GOOS GOARCH "
    "CGO_ENABLED JAVA_HOME JDK_HOME JRE_HOME JAVA_OPTS M2_HOME MAVEN_HOME MAVEN_OPTS GRADLE_HOME GRADLE_USER_HOME "
    "GRADLE_OPTS KOTLIN_HOME SCALA_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME "
    "DOTNET_ROOT DOTNET_CLI_HOME NUGET_PACKAGES GEM_HOME GEM_PATH RBENV_ROOT RBENV_VERSION BUNDLE_PATH RUBYLIB RUBYOPT "
    "PERL5LIB PERL_LOCAL_LIB_ROOT PHP_INI_SCAN_DIR COMPOSER_HOME FLUTTER_ROOT PUB_CACHE OPAMROOT OPAMSWITCH "
    "OCAMLPATH GHCUP_INSTALL_BASE_PREFIX STACK_ROOT CABAL_DIR ELIXIR_ERL_OPTIONS MIX_HOME HEX_HOME ERL_AFLAGS "
    "JULIA_DEPOT_PATH R_HOME R_LIBS R_LIBS_USER LUA_PATH LUA_CPATH ZIG_GLOBAL_CACHE_DIR EMSDK "
    "ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR RTX_DATA_DIR DIRENV_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR "
    "HOMEBREW_REPOSITORY NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE NIX_REMOTE IN_NIX_SHELL GUIX_PROFILE "
    # compilers and libraries
    "CC CXX CPP LD AR AS NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS MAKEFLAGS PKG_CONFIG PKG_CONFIG_PATH "
    "CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "DYLD_FALLBACK_LIBRARY_PATH SDKROOT MACOSX_DEPLOYMENT_TARGET CMAKE_PREFIX_PATH CMAKE_GENERATOR CMAKE_BUILD_TYPE "
    "CMAKE_TOOLCHAIN_FILE ACLOCAL_PATH CCACHE_DIR SCCACHE_DIR CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES ROCM_PATH "
    "OMP_NUM_THREADS MKL_NUM_THREADS SOURCE_DATE_EPOCH CI DOCKER_HOST DOCKER_CONTEXT KUBECONFIG "
    # systemd's and the desktop's places
    "INVOCATION_ID"
)
_NAMES = frozenset(_WORDS.split())
# Windows: where and what it is, who the user is, where programs keep what is theirs. In capitals, as they compare.
_WINDOWS = frozenset(
    "SYSTEMROOT WINDIR SYSTEMDRIVE COMSPEC PATHEXT OS NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE "
    "PROCESSOR_IDENTIFIER PROCESSOR_LEVEL PROCESSOR_REVISION USERNAME USERDOMAIN USERPROFILE HOMEDRIVE HOMEPATH "
    "COMPUTERNAME APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC PROGRAMFILES PROGRAMFILES(X86) "
    "PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432 PSMODULEPATH ONEDRIVE MSYSTEM "
    "CHOCOLATEYINSTALL SCOOP VSINSTALLDIR VCINSTALLDIR WINDOWSSDKDIR INCLUDE LIB LIBPATH VCPKG_ROOT NVM_HOME "
    "NVM_SYMLINK".split()
)
_STARTS = ("LC_", "XDG_")
_SECRET = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|AUTH|PRIVATE|SECRET|SIGNING|ENCRYPTION)_?KEY|KEY_?ID|SECRETS?|TOKENS?|PASS|PASSWD|"
    r"PASSWORD|PASSPHRASE|CREDENTIALS?|COOKIES?)(?:_|$)",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"://[^/@\s]{0,2000}:[^/@\s]{1,2000}@")
OWN_KEYS = frozenset(
    {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "OPENAI_API_KEY", "DOGU_API_KEY"}
)
_SET = {
    "GEMINI_CLI": "1",
    "DOGU": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",  # else `git status` writes .git/index anew: a change to keep and to undo, of no use
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def command_environment(
    parent: Mapping[str, str], extra_names: Iterable[str] = (), withheld: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment for a command, made from `parent` (usually `os.environ`).

    `extra_names` lets more in: a name, or the beginning of names as `MYAPP_*`. A name that tells of a secret, or a
    URL that holds a password (a proxy's excepted), passes only when its name is spelled out in full there; this
    program's own keys (`OWN_KEYS`) never do, nor what is `withheld`, in any letter case.
    """
    hidden = {name.casefold() for name in withheld}
    parent = {name: value for name, value in parent.items() if name.casefold() not in hidden} if hidden else parent
    extra = tuple(extra_names)
    exact = {name for name in extra if not name.endswith("*")}
    starts = (*_STARTS, *(name[:-1] for name in extra if name.endswith("*") and name != "*"))
    environment = {name: value for name, value in parent.items() if _is_let_in(name, value, exact, starts)}
    if IS_WINDOWS:  # cmd.exe would take a program of the present folder for one of the PATH's
        return {**environment, **_SET, "NoDefaultCurrentDirectoryInExePath": "1"}
    environment.setdefault("PATH", _DEFAULT_PATH)
    return environment | _SET


def tells_a_secret(words: str) -> bool:
    """Whether a name or a label (`apiKey`, `API key`, `access-token`) says that what it names is secret."""
    return bool(_SECRET.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", words)))


def secret_values(parent: Mapping[str, str]) -> list[str]:
    """Return the values that tell secrets, by their names; where a secret lies (a path) is none."""
    named = [value for name, value in parent.items() if name in OWN_KEYS or _SECRET.search(name)]
    return [value for value in named if not value.startswith(("/", "~", "."))]


def _is_let_in(name: str, value: str, exact: set[str], starts: tuple[str, ...]) -> bool:
    if name in OWN_KEYS:
        return False
    if name in exact:
        return True
    if _SECRET.search(name) or (_PASSWORD_IN_URL.search(value) and not name.lower().endswith("_proxy")):
        return False
    return name in _NAMES or name.startswith(starts) or (IS_WINDOWS and name.upper() in _WINDOWS)
