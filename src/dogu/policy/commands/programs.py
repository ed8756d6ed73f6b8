"""What arguments of well-known programs run or overwrite, as data: a row each, with its reason.

A bare prefix rule such as `run_shell_command(git)` does not cover these: they need a rule of their own, or a question.
The list can't be complete, and needn't be: it is what keeps a prefix from meaning "anything at all".
"""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row
from dogu.policy.commands.git_rows import GIT_ROWS
from dogu.policy.commands.language_rows import LANGUAGE_ROWS
from dogu.policy.commands.script_rows import SCRIPT_ROWS
from dogu.policy.commands.service_rows import SERVICE_ROWS
from dogu.policy.commands.system_rows import SYSTEM_ROWS
from dogu.policy.commands.tool_rows import TOOL_ROWS

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES

_GH_EXTENSION = ("install", "upgrade", "exec", "create", "remove")
_PRE_COMMIT = ("try-repo", "install", "autoupdate", "init-templatedir", "hook-impl", "hazmat", "uninstall")

ROWS: tuple[Row, ...] = (
    *GIT_ROWS,
    *TOOL_ROWS,
    *SYSTEM_ROWS,
    *LANGUAGE_ROWS,
    *SCRIPT_ROWS,
    *SERVICE_ROWS,
    # finding and searching
    Row("find", "-delete", _W, "removes files", is_exact=True),
    Row("find", "-fprint -fprint0 -fprintf -fls", _W, "writes a file", is_exact=True),
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
    Row("nc ncat netcat socat", "", _R, "runs programs on the connections it opens"),
    Row("telnet ftp tftp", "", _N, "opens connections, and can run programs on them"),
    # interpreters
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
    # builders, packages, containers
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
    Row("npm", "", _N, "runs a program of a package", "exec"),  # what it is called is looked for among the excluded
    Row("npm bun", "", _N, "runs a program of a package", "x"),
    Row("pnpm yarn", "", _N, "runs a program of a package", "dlx"),
    Row("bun", "", _R, "runs a program of a package", "exec"),
    Row("npm pnpm yarn", "", _R, "changes settings", "config set"),
    Row("npm pnpm yarn", "", _N, "publishes", "publish"),
    Row("pipx", "", _R, "fetches and runs a program"),
    Row("npx", "-p --package -c --call", _R, "fetches and runs a program"),
    Row("uvx", "--from --with --with-editable --with-requirements --python -p", _R, "fetches and runs a program"),
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
    Row("lxc incus apptainer singularity multipass", "", _R, "runs a program in a container", "exec"),
    Row("docker-compose podman-compose", "", _R, "runs a program in a container", "exec"),
    Row("docker-compose podman-compose", "", _R, "runs a program in a container", "run"),
    Row("adb", "", _R, "runs a program on a device", "shell"),
    Row("heroku", "", _R, "runs a program on another machine", "run"),
    Row("mosh", "", _N, "opens connections, and can run programs on them"),
    Row("kubectl", "", _R, "runs a program in a container", "exec"),
    Row("kubectl", "", _R, "runs a container", "run"),
    Row("kubectl", "", _R, "runs a program", "debug"),
    Row("kubectl", "--kubeconfig -s --server --token --as", _N, "uses another identity or cluster"),
    Row("kubectl helm terraform ansible ansible-playbook", "--exec --post-renderer --chdir", _R, "runs a program"),
    *(Row("gh", "", _R, "runs an extension or an alias", f"extension {each}") for each in _GH_EXTENSION),
    *(Row("gh", "", _R, "defines a command", f"alias {each}") for each in ("set", "import", "delete")),
    Row("gh", "", _R, "runs an extension or an alias", "ext"),
    # the shell's own
    Row("alias", "=", _R, "gives a name another meaning"),
    Row("hash", "-p", _R, "gives a name another program"),
    Row("enable", "-f", _R, "loads code"),
    Row("complete bind compgen", "-C -F -x -W", _R, "runs a command later"),
    Row("history", "-s -w -a -r -p", _W, "changes the history"),
    Row("fc", "", _R, "runs commands of the history"),
    Row("source .", "", _R, "runs a script whose content isn't known"),
    Row("mapfile readarray", "-C", _R, "runs a callback"),
    Row("set", "-k", _R, "takes assignments from anywhere in a command"),
    Row("bun", "-e --eval -p --print", _R, "runs code given in its arguments"),
    Row("docker podman", "-c", _N, "talks to another machine", is_exact=True),
    Row("shopt", "-s -o", _R, "changes how the shell works"),
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
        "-wrapper -B -fplugin -specs -Xlinker -plugin",
        _R,
        "runs a program, loads code or writes a file",
    ),
    Row("gcc g++ cc c++ clang clang++ ld", "-o", _W, "writes a file"),
    Row("pytest py.test", "-c --rootdir --basetemp --override-ini -o --confcutdir", _R, "loads code or writes files"),
    Row("tox", "-c --conf -x --override --workdir --root", _R, "takes its tasks from elsewhere"),
    *(Row("tox", "", _R, "runs a program", each) for each in ("exec", "e", "devenv", "quickstart")),
    Row("nox", "-f --noxfile", _R, "takes its tasks from elsewhere"),
    Row("pre-commit", "-c --config", _R, "takes its rules from elsewhere"),
    *(Row("pre-commit", "", _R, "runs what a file says", each) for each in _PRE_COMMIT),
    Row(
        "eslint prettier tsc webpack rollup vite jest mocha",
        "-c --config --resolve-plugins-relative-to --rulesdir -r --require --plugin --parser --globalSetup --project",
        _R,
        "loads code or writes files",
    ),
    Row("eslint prettier rollup", "-o --output-file --write --fix", _W, "rewrites files"),
    Row("ffmpeg convert magick", "", _W, "writes files"),
    # network: what curl and wget write is looked at with its value (programs_checks)
    Row(
        "curl",
        "-K --config -T --upload-file --output-dir -O --remote-name --remote-name-all -J --remote-header-name "
        "--libcurl --etag-save --hsts --alt-svc --netrc-file --engine -F --form --proxy -x --preproxy --unix-socket "
        "--abstract-unix-socket --doh-url --cert -E --key",
        _W,
        "writes or uploads files, or goes another way",
    ),
    Row(
        "wget",
        "-i --input-file --use-askpass --post-file --body-file -e --execute --config -r --recursive -m --mirror -x "
        "--force-directories --save-cookies --warc-file -p --page-requisites -a --append-output -o --output-file -P "
        "--directory-prefix",
        _W,
        "writes files, or takes commands",
    ),
    Row("ssh", "-I", _R, "loads code"),
    Row("sftp", "-b -D", _R, "takes commands from a file, or runs a program"),
    Row(
        "openssl",
        "-engine --engine -provider --provider -out -config -provider-path -writerand",
        _R,
        "loads code or writes a file",
        is_exact=True,
    ),
    Row("openssl", "", _N, "opens connections", "s_client"),
    Row("openssl", "", _N, "opens connections", "s_server"),
    Row("openssl", "", _R, "loads code", "engine"),
    Row("psql", "-f --file -o --output -L --log-file", _R, "runs commands"),
    Row("mysql psql", "--tee --pager --init-command", _W, "writes files or runs programs"),
    Row(
        "make gmake",
        "-f --file --makefile -C --directory -I --include-dir --eval -E -e --environment-overrides",
        _R,
        "takes its recipes from elsewhere",
    ),
    Row(
        "go",
        "-exec -toolexec -vettool -overlay -modfile -gccgoflags -compiler -C --exec --toolexec --vettool "
        "--overlay --modfile --compiler",
        _R,
        "runs a program or writes elsewhere",
        is_exact=True,
    ),
    Row("go", "", _R, "fetches and builds a program", "install"),
    Row("go", "-o -outputdir", _W, "writes a file", is_exact=True),
    Row("go", "", _N, "opens a program", "bug"),
    Row("go", "-w", _R, "changes settings that can name programs", "env"),
    Row("go", "", _N, "changes settings", "work"),
    Row("cargo", "", _N, "publishes", "publish"),
    Row("cargo", "", _R, "passes options to the compiler", "rustc"),
    Row("cargo", "", _N, "changes settings", "login"),
    Row("cargo", "+", _R, "uses another toolchain"),
    Row("npm pnpm yarn", "", _R, "runs a program in a package", "explore"),
    Row("npm pnpm yarn", "", _R, "opens an editor", "edit"),
    Row("npm pnpm yarn", "", _R, "changes settings", "set"),
    Row("npm pnpm yarn", "", _R, "changes settings", "config edit"),
    Row("npm pnpm yarn", "", _R, "changes settings", "config delete"),
    Row("npm pnpm yarn", "", _R, "changes what scripts run", "pkg set"),
    Row("npm pnpm yarn", "", _R, "changes what scripts run", "set-script"),
    Row("npm pnpm yarn", "", _R, "fetches and runs a program", "create"),
    Row("npm pnpm yarn", "", _N, "changes what is published", "unpublish"),
    Row("bun deno", "", _R, "fetches and runs code", "create"),
    Row("bun deno", "", _R, "runs code that is typed", "repl"),
    Row("deno", "", _R, "runs code given in its arguments", "eval"),
    Row("deno", "", _R, "installs a program", "install"),
    Row("deno", "-A --allow-all --allow-run --allow-ffi", _R, "may run programs"),
    Row("pip pip3", "", _N, "changes settings", "config set"),
    Row("pip pip3", "", _R, "opens an editor", "config edit"),
    Row("pip pip3", "", _N, "changes settings", "config unset"),
    Row("kubectl", "--exec-command", _R, "runs a program"),
    Row("tree", "-R", _W, "writes a file in each folder"),
    Row("rsync", "-M", _R, "passes options on"),
    Row(
        "pytest py.test",
        "--junitxml --junit-xml --pdbcls --log-file --html --report-log --resultlog",
        _W,
        "writes a file or loads code",
    ),
    Row("gpg gpg2", "--import --delete-keys --edit-key --gen-key", _W, "changes keys"),
    Row("export", "-f", _R, "hands a function to programs"),
    Row("declare typeset local", "-n", _R, "makes a name stand for another"),
    Row("unset", "-f", _R, "removes a function"),
)

LOOKS_ONLY = {
    "unzip": "-l -v -t -Z -h",
    "zip": "-sf -h",
    "7z": "l t i",
    "7za": "l t i",
    "ar": "t tv p",
    "cpio": "-t -it",
    "crontab": "-l",
    "at": "-l -q",
    "umask": "-S -p",
    "ulimit": "-a -n -c -s",
    "ffmpeg": "-version -formats -codecs -encoders -decoders -filters -h",
    "convert": "-version",
    "magick": "-version",
    "ansible-playbook": "--syntax-check --list-tasks --list-hosts --list-tags",
    "tmux": "ls list-sessions -V list-windows list-panes",
    "screen": "-ls -list -v",
    "ssh-keygen": "-l -lf -lvf -F -B",
    "twine": "check",
    "nft": "list",
    "iptables": "-L -S -nL",
    "update-alternatives": "--list --display --query",
    "mount": "-l",
    "swapon": "-s --show",
    "sysctl": "-a -n",
    "passwd": "-S",
    "openssl": "version ciphers",
    "locate": "-c",
}
"""Words behind a program that make it show something and do no more."""

NO_ABBREVIATIONS = frozenset(
    "cargo rustup go rg docker podman kubectl helm gh uv ruff pytest py.test fd fdfind bat batcat delta deno hyperfine "
    "eslint jest vitest mocha prettier tsc node nodejs terraform tofu meson bazel just task hatch poetry biome "
    "golangci-lint".split()
)
"""Programs that take a long option only when it is written out."""

VALUE_LETTERS = {
    "sort": "ktSTo",
    "curl": "AbCdDeEFhHKmoPQrtTuUwxXyYz",
    "wget": "oaePOtTUQlABDIXRwi",
    "ssh": "bcDEeFIiJLlmOopQRSWw",
    "scp": "cFiJloPSXD",
    "sftp": "BbcDFiJloPRSsX",
    "rsync": "efTBM",
    "tree": "LPIoTH",
    "rg": "efgtTABCmjMEr",
    "less": "bhjkoOpPtTxyz",
    "man": "CRLmMSsePpErTZH",
    "pip": "rtci",
    "make": "CfIjlOoWE",
    "pytest": "kmpcnorW",
    "gcc": "oBIlLDUx",
    "dot": "TKGNElLs",
    "tcpdump": "BcCEFGijmMQrsTVwWyzZ",
}
"""Letters of short options that take a value: in a cluster of options, what follows such a letter is no option."""
