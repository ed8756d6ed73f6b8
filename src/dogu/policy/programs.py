"""What arguments of well-known programs run or overwrite, as data: a row each, with its reason.

A bare prefix rule such as `run_shell_command(git)` does not cover these: they need a rule of their own, or a question.
The list can't be complete, and needn't be: it is what keeps a prefix from meaning "anything at all".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What an argument makes of its program."""

    RUNS = "runs"  # another program, or code
    WRITES = "writes"  # a file of its choice
    REACHES = "reaches"  # the network, other processes, settings


@dataclass(frozen=True)
class Row:
    """`programs` and `options` are separated by blanks; `under` is the subcommand, '' for any.

    Without options the program (or subcommand) is one by itself. A long option matches its abbreviations and
    `--name=value`; a short one matches attached values and, unless `is_exact`, clusters.
    """

    programs: str
    options: str
    effect: Effect
    reason: str
    under: str = ""
    is_exact: bool = False


_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES

ROWS: tuple[Row, ...] = (
    # git: options before the subcommand
    Row("git", "-c --config-env", _R, "sets configuration, which can name programs to run", is_exact=True),
    Row("git", "--exec-path", _R, "names where git's own programs are taken from"),
    Row(
        "git", "--git-dir --work-tree --namespace", _R, "uses another repository, whose configuration can run programs"
    ),
    # what git does: its subcommands
    Row("git", "-O --open-files-in-pager", _R, "runs a program on the files found", "grep"),
    Row("git", "--ext-diff --textconv", _R, "runs configured programs"),
    Row("git", "--output", _W, "writes a file"),
    Row("git", "-o --output-directory --output", _W, "writes files", "format-patch"),
    Row("git", "-o --output --exec", _W, "writes a file or runs a program", "archive"),
    Row("git", "", _R, "runs a configured tool", "difftool"),
    Row("git", "", _R, "runs a configured tool", "mergetool"),
    Row("git", "-x --exec -i --interactive --edit-todo", _R, "runs a program", "rebase"),
    Row("git", "", _R, "runs a command at each step", "bisect run"),
    Row("git", "", _R, "runs a command in each submodule", "submodule foreach"),
    Row("git", "", _R, "clones what a file names", "submodule add"),
    Row("git", "", _R, "runs a command in each repository", "for-each-repo"),
    Row("git", "", _R, "runs commands on the whole history", "filter-branch"),
    Row("git", "", _R, "runs a hook", "hook"),
    Row("git", "", _R, "installs a scheduled job", "maintenance"),
    Row("git", "", _N, "serves the repository", "daemon"),
    Row("git", "", _N, "serves the repository", "instaweb"),
    Row("git", "", _R, "runs helpers", "credential"),
    Row("git", "", _N, "sends mail", "send-email"),
    Row("git", "", _R, "runs a remote helper", "remote-ext"),
    Row("git", "", _R, "runs a remote helper", "remote-fd"),
    Row("git", "", _R, "opens a program", "gui"),
    Row("git", "", _R, "opens a program", "citool"),
    Row("git", "", _R, "opens a program", "web--browse"),
    Row("git", "--upload-pack -u", _R, "runs a program on the other side, which may be this one", "clone"),
    Row("git", "--template -c --config", _R, "installs hooks or configuration", "clone"),
    Row("git", "--template", _R, "installs hooks", "init"),
    Row("git", "--upload-pack", _R, "runs a program", "fetch"),
    Row("git", "--upload-pack", _R, "runs a program", "pull"),
    Row("git", "--upload-pack", _R, "runs a program", "fetch-pack"),
    Row("git", "--upload-pack --exec", _R, "runs a program", "ls-remote"),
    Row("git", "--receive-pack --exec", _R, "runs a program", "push"),
    Row("git", "--receive-pack --exec", _R, "runs a program", "send-pack"),
    Row(
        "git",
        "-e --edit --add --replace-all --unset --unset-all --rename-section --remove-section",
        _R,
        "changes settings that can name programs",
        "config",
    ),
    Row("git", "--command", _R, "runs a program", "column"),
    Row("git", "", _W, "writes a file", "bundle create"),
    Row("git", "-s --strategy", _R, "runs the program of a strategy", "merge"),
    # finding and searching
    Row("find", "-delete", _W, "removes files", is_exact=True),
    Row("find", "-fprint -fprint0 -fprintf -fls", _W, "writes a file", is_exact=True),
    Row("find", "-exec -execdir -ok -okdir", _R, "runs a program", is_exact=True),
    Row("fd fdfind", "-x --exec -X --exec-batch", _R, "runs a program"),
    Row("rg", "--pre --hostname-bin", _R, "runs a program for each file"),
    Row("ag", "--pager", _R, "runs a program"),
    Row("ack", "--pager", _R, "runs a program"),
    Row("tree", "-o", _W, "writes a file"),
    Row("locate updatedb", "", _N, "reads or rebuilds an index of the whole machine"),
    # text
    Row("sort", "-o --output", _W, "writes a file"),
    Row("sort", "--compress-program", _R, "runs a program"),
    Row("sed gsed", "-i --in-place", _W, "rewrites files"),
    Row("sed gsed", "-f --file", _R, "takes its commands from a file"),
    Row(
        "awk gawk mawk nawk original-awk",
        "-f --file -i --include -l --load -E --exec -D -p -d -o",
        _R,
        "takes code from a file, or writes one",
    ),
    Row("tee", "", _W, "writes files"),
    Row("sponge", "", _W, "writes a file"),
    Row("split csplit", "", _W, "writes files"),
    Row("truncate shred fallocate", "", _W, "changes files"),
    Row("dd", "", _W, "writes a file or device"),
    Row("patch ed ex", "", _W, "rewrites files"),
    Row("iconv", "-o --output", _W, "writes a file"),
    Row("xxd", "-r", _W, "writes a file"),
    Row("jq", "-f --from-file", _R, "takes its program from a file"),
    Row("yq", "-i --inplace", _W, "rewrites files"),
    Row("perl ruby", "-i", _W, "rewrites files"),
    Row("diff", "--output", _W, "writes a file"),
    Row("pr", "--output", _W, "writes a file"),
    Row("base64 base32", "-o --output", _W, "writes a file"),
    Row("date", "-s --set", _N, "sets the clock"),
    Row("hostname", "-F -b", _N, "sets the name of the machine"),
    Row("less more most", "-k --lesskey-src --lesskey-file -o -O --log-file", _W, "writes a file or takes commands"),
    Row("less", "+", _R, "runs a command at start"),
    Row("man", "-P --pager -H --html -C --config-file --preprocessor -p", _R, "runs a program"),
    Row(
        "vi vim vim.tiny vim.basic nvim view ex rvim emacs nano pico",
        "",
        _R,
        "an editor runs commands and writes files",
    ),
    # archives
    Row(
        "tar bsdtar gtar",
        "--to-command --checkpoint-action -I --use-compress-program --rsh-command -F --info-script "
        "--new-volume-script --rmt-command",
        _R,
        "runs a program",
    ),
    Row("tar bsdtar gtar", "-x --extract --get -P --absolute-names --overwrite --remove-files", _W, "writes files"),
    Row("zip", "-T --test -TT --unzip-command -m --move", _R, "runs a program or removes files"),
    Row("unzip 7z 7za 7zr unrar cpio pax ar", "", _W, "writes files"),
    Row("gzip bzip2 xz zstd lz4", "-f --force -o --output", _W, "overwrites files"),
    # copying, moving, removing
    Row("cp mv install ln link rsync", "-t --target-directory", _W, "writes where it is told"),
    Row(
        "rsync",
        "-e --rsh --rsync-path --remote-option --daemon --write-batch --log-file --partial-dir",
        _R,
        "runs a program",
    ),
    Row("chmod", "", _N, "changes modes"),
    Row("chown chgrp setfacl setfattr chattr", "", _N, "changes owners and rights"),
    Row("rm unlink", "--no-preserve-root", _W, "removes everything"),
    Row("kill pkill killall skill", "", _N, "ends other processes"),
    Row("mount umount losetup swapon swapoff", "", _N, "changes the machine's file systems"),
    # network
    Row("ssh sftp scp slogin autossh", "-o -F -E -S -W -D -L -R -J -w", _R, "sets options that can run programs"),
    Row(
        "curl",
        "-o --output -O --remote-name -K --config -T --upload-file --output-dir -D --dump-header -c --cookie-jar "
        "--trace --trace-ascii --libcurl -J --remote-header-name --stderr -w --etag-save --hsts --alt-svc --netrc-file "
        "--engine -F --form --create-file-mode",
        _W,
        "writes or uploads files",
    ),
    Row("curl", "-d --data --data-binary --data-raw --data-urlencode --json -X --request", _N, "sends data"),
    Row(
        "wget",
        "-O --output-document -o --output-file -a --append-output -P --directory-prefix -i --input-file "
        "--use-askpass --post-file --body-file -e --execute --config -N -r -m -x --save-cookies --warc-file",
        _W,
        "writes files, or takes commands",
    ),
    Row("nc ncat netcat socat telnet ftp tftp", "", _N, "opens connections, and can run programs on them"),
    Row(
        "openssl",
        "-engine -provider -out -engine_impl -config -provider-path",
        _R,
        "loads code or writes a file",
        is_exact=True,
    ),
    # interpreters
    Row("python python2 python3 pypy pypy3", "-c -m -i", _R, "runs code given in its arguments, or a module"),
    Row(
        "node nodejs deno bun",
        "-e --eval -p --print -r --require --import --loader --experimental-loader -i",
        _R,
        "runs code given in its arguments",
    ),
    Row("perl", "-e -E -M -m -I -d -x -n -p", _R, "runs code given in its arguments"),
    Row("ruby", "-e -r -I -x -n -p", _R, "runs code given in its arguments"),
    Row("php", "-r -B -R -F -E -d -S -a", _R, "runs code given in its arguments"),
    Row("lua luajit", "-e -l -i", _R, "runs code given in its arguments"),
    Row(
        "Rscript R julia elixir iex erl ghci scala groovy jshell",
        "-e --eval -E -i --shell",
        _R,
        "runs code given in its arguments",
    ),
    Row(
        "osascript powershell pwsh cmd cmd.exe fish csh tcsh nu xonsh elvish wish tclsh expect",
        "",
        _R,
        "runs code that isn't judged",
    ),
    Row("bc dc", "-f --file", _R, "takes its commands from a file"),
    Row("sqlite3", "-cmd -init .shell .system .output .once", _R, "runs commands", is_exact=True),
    Row("psql mysql", "-c --command -f --file -o --output -e --execute -L --log-file", _R, "runs commands"),
    # builders, packages, containers
    Row("make gmake", "-f --file --makefile -C --directory -I --eval -E", _R, "takes its recipes from elsewhere"),
    Row("go", "-exec -toolexec -vettool -overlay -modfile -o", _R, "runs a program or writes elsewhere", is_exact=True),
    Row("go", "", _R, "runs what a comment says", "generate"),
    Row("go", "", _R, "fetches and runs a program", "run"),
    Row("cargo", "--config --manifest-path -Z --target-dir -C", _R, "sets configuration that can run programs"),
    Row("cargo", "", _R, "installs a program", "install"),
    Row(
        "npm pnpm yarn",
        "--script-shell --prefix --globalconfig --userconfig -g --global --node-options",
        _R,
        "changes what runs, or where",
    ),
    Row("npm pnpm yarn bun", "", _R, "runs a program of a package", "exec"),
    Row("npm pnpm yarn bun", "", _R, "runs a program of a package", "x"),
    Row("pnpm yarn", "", _R, "runs a program of a package", "dlx"),
    Row("npm pnpm yarn", "", _R, "changes settings", "config set"),
    Row("npm pnpm yarn", "", _N, "publishes", "publish"),
    Row("npx bunx pipx uvx", "", _R, "fetches and runs a program"),
    Row(
        "pip pip3 uv",
        "--config-settings --global-option --install-option --target -t --prefix --root --index-url -i "
        "--extra-index-url --trusted-host --python",
        _R,
        "runs or writes what it is told",
    ),
    Row("gem", "", _R, "installs code", "install"),
    Row("docker podman nerdctl", "", _R, "runs a program in a container", "run"),
    Row("docker podman nerdctl", "", _R, "runs a program in a container", "exec"),
    Row("docker podman nerdctl", "", _R, "runs a file's commands", "build"),
    Row("docker podman nerdctl", "", _W, "writes files", "cp"),
    Row("docker podman nerdctl", "-H --host --config --context", _N, "talks to another machine"),
    Row("kubectl", "", _R, "runs a program in a container", "exec"),
    Row("kubectl", "", _R, "runs a container", "run"),
    Row("kubectl", "", _R, "runs a program", "debug"),
    Row("kubectl", "--kubeconfig -s --server --token --as", _N, "uses another identity or cluster"),
    Row("kubectl helm terraform ansible ansible-playbook", "--exec --post-renderer --chdir", _R, "runs a program"),
    Row("gh", "", _R, "runs an extension or an alias", "extension"),
    Row("gh", "", _R, "defines a command", "alias"),
    # the shell's own
    Row("alias", "=", _R, "gives a name another meaning"),
    Row("hash", "-p", _R, "gives a name another program"),
    Row("enable", "-f", _R, "loads code"),
    Row("complete bind compgen", "-C -F -x", _R, "runs a command later"),
    Row("history", "-s -w -a -r -p", _W, "changes the history"),
    Row("fc", "", _R, "runs commands of the history"),
    Row("source .", "", _R, "runs a script whose content isn't known"),
    Row("mapfile readarray", "-C", _R, "runs a callback"),
    Row("set", "-o", _R, "changes how the shell works"),
    Row("shopt", "-s", _R, "changes how the shell works"),
    Row("ulimit umask", "", _N, "changes limits"),
    # watching, waiting, the rest
    Row("entr watchexec nodemon inotifywait", "", _R, "runs a program when files change"),
    Row("at batch crontab", "", _R, "runs commands later"),
    Row("run-parts", "", _R, "runs every program of a folder"),
    Row("start-stop-daemon", "", _R, "starts a program"),
    Row("tmux screen dtach", "", _R, "runs programs"),
    Row("xdg-open open gio", "", _R, "opens a program"),
    Row("logger wall write", "-f", _N, "sends a file's text"),
    Row("gpg gpg2", "-o --output --homedir --options --photo-viewer --exec-path --pinentry-mode", _W, "writes files"),
    Row(
        "gcc g++ cc c++ clang clang++ ld",
        "-wrapper -B -fplugin -o -specs -Xlinker -plugin",
        _R,
        "runs a program, loads code or writes a file",
    ),
    Row(
        "pytest py.test", "-p -c --rootdir --basetemp --override-ini -o --confcutdir", _R, "loads code or writes files"
    ),
    Row("tox nox pre-commit", "", _R, "runs what a file says"),
    Row(
        "eslint prettier tsc webpack rollup vite jest mocha",
        "-c --config --resolve-plugins-relative-to --rulesdir "
        "-r --require -o --output-file --write --fix --plugin --parser --globalSetup --project",
        _R,
        "loads code or writes files",
    ),
    Row("ffmpeg convert magick", "", _W, "writes files"),
)

RISKY_VARIABLES = frozenset(
    "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV SHELLOPTS BASHOPTS "
    "PS0 PS4 PROMPT_COMMAND IFS CDPATH HOME SHELL EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE LESS "
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
    "update-index update-ref var verify-commit verify-tag version whatchanged worktree write-tree".split()
)
GIT_VALUE_OPTIONS = frozenset(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source".split()
)
