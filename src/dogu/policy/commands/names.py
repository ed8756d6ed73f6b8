"""Names that mean something: variables that change what runs, git's subcommands."""

from __future__ import annotations

RISKY_VARIABLES = frozenset(
    "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV SHELLOPTS BASHOPTS "
    "PS0 PS4 PROMPT_COMMAND IFS CDPATH OLDPWD HOME SHELL EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE LESS "
    "PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT NODE_OPTIONS NODE_PATH PERL5LIB PERL5OPT "
    "PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH LUA_PATH LUA_CPATH LUA_INIT "
    "PHP_INI_SCAN_DIR PHPRC CC CXX CPP LD AR AS FC CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS MAKEFILES GNUMAKEFLAGS MFLAGS "
    "RUSTC RUSTC_WRAPPER RUSTFLAGS RUSTDOC GOFLAGS GOENV GOROOT GOPATH SUDO_ASKPASS SSH_ASKPASS SSH_AUTH_SOCK "
    "TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS XDG_CONFIG_HOME XDG_DATA_HOME TERMINFO TERMCAP HISTFILE "
    "GCONV_PATH LOCPATH NLSPATH MALLOC_TRACE RES_OPTIONS HOSTALIASES OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES "
    "TMPDIR DOCKER_HOST DOCKER_CONFIG KUBECONFIG AWS_CONFIG_FILE HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy "
    "https_proxy all_proxy CURL_HOME WGETRC NETRC EXECIGNORE FCEDIT TIMEFORMAT BASH_LOADABLES_PATH".split()
)
RISKY_PREFIXES = (
    "GIT_",
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "npm_config_",
    "NPM_CONFIG_",
    "PIP_",
    "UV_",
    "CARGO_",
    "RUSTUP_",
)

GIT_COMMANDS = frozenset(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap "
    "check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree "
    "config count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep "
    "help init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mv name-rev notes pull push "
    "range-diff read-tree rebase reflog remote repack replace request-pull reset restore rev-list rev-parse revert rm "
    "shortlog show show-branch show-ref sparse-checkout stash status submodule switch symbolic-ref tag "
    "update-index update-ref update-server-info prune prune-packed pack-refs hash-object mktag mktree patch-id "
    "stripspace show-index verify-pack fmt-merge-msg get-tar-commit-id rerere "
    "multi-pack-index maintenance var verify-commit verify-tag version whatchanged worktree write-tree".split()
)
GIT_VALUE_OPTIONS = frozenset(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source".split()
)

VALUES_BEFORE_SUBCOMMAND: dict[str, frozenset[str]] = {
    "git": GIT_VALUE_OPTIONS,
    "redis-cli": frozenset("-h -p -s -a -n -u -i -r -d -t --user --pass --cacert --cert --key --sni".split()),
    "hatch": frozenset("-e --env -p --project --data-dir --cache-dir --config".split()),
    "npm": frozenset("-w --workspace --loglevel".split()),
    "pnpm": frozenset("-F --filter -C --dir".split()),
    "helm": frozenset("-n --namespace --kube-context --kubeconfig".split()),
    "gh": frozenset("-R --repo".split()),
    "poetry": frozenset("-C -P --directory --project".split()),
    "systemctl": frozenset("-H -M -t -p --host --machine --type --property".split()),
}
"""Options that take the next word as their value and stand before the subcommand."""
IGNORE_CASE = frozenset(("redis-cli",))
"""Programs that know their subcommands in any letter case."""

PRINT_NO_OPTION = (
    "git merge-base",
    "git rev-parse HEAD",
    "git rev-parse --short HEAD",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --show-toplevel",
    "git branch --show-current",
    "git symbolic-ref --short HEAD",
    "git describe",
    "git hash-object",
    "date +%F",
    "date +%s",
    "date +%Y-%m-%d",
    "date +%Y%m%d",
    "nproc",
    "pwd",
    "whoami",
    "uname",
    "mktemp",
)
"""Commands whose output begins with no hyphen: a hash, a branch or tag (git allows none such), a number, a path."""

WITH_SUBCOMMANDS = frozenset(
    "git npm pnpm yarn bun cargo go pip pip3 uv poetry docker podman kubectl helm gh glab make just dotnet gradle mvn "
    "terraform systemctl apt brew conda rustup deno bundle rails mix composer".split()
)
"""Programs whose first operand says what they do."""
