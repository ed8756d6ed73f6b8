"""Programs that run the program named in their arguments, as data: how to find that one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wrapper:
    """How a program is told what to run.

    `values` are options that take the next word as value, `skip` counts operands before the command, `assigns` takes
    `NAME=value` operands first, `shell` are options whose value is a text for a shell, `joins` means that all operands
    together are one, `inert` are options with which nothing is run, `adds` means that unknown arguments are appended,
    `each` that every operand is a text for a shell, `splits` are options whose value becomes words of the command.
    """

    values: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    shell: frozenset[str] = frozenset()
    joins: bool = False
    inert: frozenset[str] = frozenset()
    adds: bool = False
    each: bool = False
    splits: frozenset[str] = frozenset()


def wrapper(values: str = "", *, shell: str = "", inert: str = "", splits: str = "", **more: bool | int) -> Wrapper:
    """Make a row; lists of options are separated by blanks."""
    options = {"shell": shell, "inert": inert, "splits": splits}
    sets = {name: frozenset(text.split()) for name, text in options.items()}
    return Wrapper(frozenset(values.split()), **sets, **more)  # pyright: ignore[reportArgumentType]  (flags and one count)


_ARCHITECTURES = "x86_64 i386 i486 i586 i686 linux32 linux64 uname26 aarch64 armv7l ppc64le s390x"

WRAPPERS: dict[str, Wrapper] = {
    "env": wrapper("-u --unset -C --chdir -a --argv0", splits="-S --split-string", assigns=True),
    "command": wrapper(inert="-v -V -pv -pV"),
    "builtin": wrapper(),
    "exec": wrapper("-a"),
    "nohup": wrapper(),
    "nice": wrapper("-n --adjustment"),
    "ionice": wrapper("-c --class -n --classdata", inert="-p --pid -P --pgid -u --uid"),
    "chrt": wrapper("-T -P -D --sched-runtime --sched-period --sched-deadline", skip=1, inert="-p --pid -m --max"),
    "taskset": wrapper(skip=1, inert="-p --pid"),
    "numactl": wrapper(
        "-i --interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred -P --preferred-many -w",
        inert="-H --hardware -s --show",
    ),
    "prlimit": wrapper("-p --pid"),
    "choom": wrapper("-n --adjust -p --pid"),
    "cpulimit": wrapper("-l --limit -p --pid -e --exe -P --path -c --cpu"),
    "timeout": wrapper("-s --signal -k --kill-after", skip=1),
    "stdbuf": wrapper("-i --input -o --output -e --error"),
    "setsid": wrapper(),
    "setarch": wrapper(),
    "sudo": wrapper(
        "-a -c -u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --close-from --role "
        "--type --command-timeout --other-user --auth-type --login-class",
        assigns=True,
        inert="-l --list -v --validate -K -V",
    ),
    "doas": wrapper("-u -C -a", assigns=True),
    "pkexec": wrapper("--user"),
    "chroot": wrapper("--groups --userspec", skip=1),
    "unshare": wrapper(
        "-S --setuid -G --setgid -R --root -w --wd --propagation --setgroups -l --load-interp --map-user --map-group "
        "--map-users --map-groups --monotonic --boottime"
    ),
    "nsenter": wrapper("-t --target -S --setuid -G --setgid -W --wdns"),
    "setpriv": wrapper(
        "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set --securebits "
        "--pdeathsig --selinux-label --apparmor-profile --seccomp-filter --landlock-access --landlock-rule"
    ),
    "capsh": wrapper(each=True),
    "flock": wrapper("-w --wait --timeout -E --conflict-exit-code", skip=1, shell="-c --command"),
    "script": wrapper(
        "-E --echo -I --log-in -O --log-out -B --log-io -T --log-timing -m --logging-format -o --output-limit",
        skip=1,
        shell="-c --command",
    ),
    "watch": wrapper("-n --interval -q --equexit -s --shotsdir", joins=True),
    "flatpak-spawn": wrapper(),
    "time": wrapper("-f --format -o --output"),
    "strace": wrapper(
        "-e -o -s -a -P -u -E -b -p -I -O -S -U -X --abbrev --argv0 --attach --columns --detach-on --env --fault "
        "--inject --interruptible --kvm --output --raw --read --signal --signals --status --string-limit "
        "--summary-sort-by --summary-columns --summary-syscall-overhead --trace --trace-path --user --verbose --write "
        "--const-print-style",
        inert="-V --version",
    ),
    "ltrace": wrapper(
        "-e -o --output -s -a --align -u -p -n --indent -A -D --debug -F --config -l --library -w --where -x"
    ),
    "valgrind": wrapper(),
    "memusage": wrapper("-n --progname -p --png -d --data -b --buffer -x --x-size -y --y-size"),
    "sotruss": wrapper("-F --from -T --to -o --output"),
    "sprof": wrapper(),
    "msgfilter": wrapper("-i --input -D --directory -o --output-file"),
    "msgexec": wrapper("-i --input -D --directory"),
    "catchsegv": wrapper(),
    "xvfb-run": wrapper(
        "-e --error-file -f --auth-file -n --server-num -p --xauth-protocol -s --server-args -w --wait"
    ),
    "dbus-run-session": wrapper("--config-file --dbus-daemon"),
    "dbus-launch": wrapper(),
    "hyperfine": wrapper(
        "-w --warmup -m --min-runs -M --max-runs -r --runs -i -n --command-name -D --parameter-step-size -P "
        "--parameter-scan --style --sort --time-unit -u --export-json --export-markdown --output --input "
        "-p --prepare -s --setup -c --cleanup --conclude -S --shell --reference -L --parameter-list",
        each=True,
    ),
    **dict.fromkeys(("nyc", "c8"), wrapper("-r --reporter -x --exclude -n --include -e --require --temp-dir --cwd")),
    "entr": wrapper(),
    "watchexec": wrapper("-w -e -f -i -s -d --watch --exts --filter --ignore"),
    "nodemon": wrapper("-w -e -i --watch --ext --ignore", shell="-x --exec"),
    "lldb": wrapper("-o -s -p -n"),
    "torify": wrapper(),
    "tsocks": wrapper(),
    "nocache": wrapper("-n"),
    "trickle": wrapper("-d -u -w -t -l -n -P -L"),
    "schedtool": wrapper("-a -n -p"),
    **dict.fromkeys(("envdir", "s6-envdir"), wrapper(skip=1)),
    "envuidgid": wrapper(skip=1),
    "s6-setuidgid": wrapper(skip=1),
    "with-contenv": wrapper(),
    "run-this-one": wrapper(),
    "daemonize": wrapper("-c -e -o -p -l -u -E"),
    "daemon": wrapper("-n -u -p -o -l"),
    "cgexec": wrapper("-g"),
    "aa-exec": wrapper("-p --profile -n --namespace"),
    "ssh-agent": wrapper("-a -E -t -P", inert="-k"),
    "dtruss": wrapper(),
    "ktrace": wrapper("-f -t"),
    "truss": wrapper("-o -s -p"),
    "heaptrack": wrapper("-o --output -p --pid -a --analyze"),
    "ccache": wrapper("-F -M -o"),
    "scan-build": wrapper("-o --use-cc --use-c++ --use-analyzer --html-title -enable-checker -disable-checker"),
    "bear": wrapper("-o --output"),
    "cross-env": wrapper(assigns=True),
    "cross-env-shell": wrapper(joins=True, assigns=True),
    "sem": wrapper("-j --jobs --id --semaphore-name --st --semaphore-timeout", joins=True),
    "uftrace": wrapper(),
    "systemd-run": wrapper(
        "-p -u -M -H -E --machine --host --property --unit --slice --uid --gid --description --service-type --nice "
        "--setenv "
        "--working-directory --path-property --socket-property --on-active --on-boot --on-startup --on-unit-active "
        "--on-unit-inactive --on-calendar --timer-property --background --job-mode"
    ),
    "systemd-inhibit": wrapper("--what --who --why --mode"),
    "firejail": wrapper(),
    "proot": wrapper("-r --rootfs -b --bind -m --mount -w --cwd --pwd -q --qemu -k -R -S -i"),
    "fakeroot": wrapper("-l --lib -s -i -b --fd-base --faked"),
    "faketime": wrapper("-p --pid", skip=1),
    "eatmydata": wrapper(),
    "rlwrap": wrapper("-f -b -H -C -D -l -P -q -s -S -t -w -g -O -M -z"),
    "unbuffer": wrapper(),
    "caffeinate": wrapper("-t -w"),
    "torsocks": wrapper("-a --address -P --port -u --user -p --pass"),
    "proxychains": wrapper("-f"),
    "proxychains4": wrapper("-f"),
    "busybox": wrapper(inert="--list --list-full --help"),
    "toybox": wrapper(),
    "concurrently": wrapper("-n --names -c --prefix-colors -p --prefix -s --success -m --max-processes", each=True),
    "zrun": wrapper(),
    "lckdo": wrapper("-W", skip=1),
    "ifne": wrapper(),
    "chronic": wrapper(),
    "pee": wrapper(each=True),
    "mispipe": wrapper(each=True),
    "xargs": wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars -R -J --process-slot-var",
        adds=True,
    ),
    "run-one": wrapper(),
    "runcon": wrapper(skip=1),
    "systemd-cat": wrapper("-t --identifier -p --priority --stderr-priority --level-prefix"),
    "systemd-socket-activate": wrapper("-l --listen -E --setenv --fdname"),
    "run0": wrapper("-u --user -g --group -D --chdir --setenv --property --unit --slice --nice --background --machine"),
    "uclampset": wrapper("-m -M", inert="-p --pid -s --system"),
    "pipesz": wrapper("-s --set -f --file -n --fd"),
    "enosys": wrapper("-s --syscall -i --ioctl"),
    "coresched": wrapper("-s --source -d --dest -t --dest-type"),
    "debconf": wrapper("-o --owner -f --frontend -p --priority"),
    "env-cmd": wrapper("-f --file -r --rc-file -e --environments"),
    "summon": wrapper("-p --provider -e --environment -f -D"),
    "start-server-and-test": wrapper(each=True),
    **dict.fromkeys(("lima", "orb", "wsl", "gow", "wgo"), wrapper()),
    **dict.fromkeys(("sccache", "distcc", "icecc", "compiledb", "checkinstall", "fakechroot", "latrace"), wrapper()),
    **dict.fromkeys(("intercept-build", "tsp", "empty", "recordio"), wrapper()),
    "kcov": wrapper(skip=1),
    "softlimit": wrapper("-a -c -d -f -l -m -o -p -r -s -t"),
    "chpst": wrapper("-u -U -b -e -n -l -L -m -d -o -p -f -c -t"),
    "setuidgid": wrapper(skip=1),
    "su-exec": wrapper(skip=1),
    "gosu": wrapper(skip=1),
    "sg": wrapper(skip=1, shell="-c", joins=True),
    "dumb-init": wrapper("-r --rewrite"),
    "sshpass": wrapper("-f -d -p -P"),
    "systemd-nspawn": wrapper("-D --directory -i --image -M --machine -u --user --bind --bind-ro --setenv -E"),
    "schroot": wrapper("-c --chroot -u --user -d --directory -s --shell -n --session-name -o --option"),
    "tini": wrapper("-p -e"),
    **{name: wrapper() for name in _ARCHITECTURES.split()},
}

RUNNERS: dict[str, tuple[str, Wrapper]] = {
    "poetry": ("run", wrapper()),
    "pipenv": ("run", wrapper()),
    "uv": (
        "run",
        wrapper(
            "--with --python -p --extra --group --env-file --project --directory --package --with-editable "
            "--with-requirements --no-extra --no-group --only-group --index --default-index -i --index-url "
            "--extra-index-url -f --find-links --cache-dir --config-file --link-mode -C --config-setting "
            "--refresh-package -P --upgrade-package --resolution --prerelease --exclude-newer --color "
            "--index-strategy --keyring-provider",
        ),
    ),
    "hatch": ("run", wrapper()),
    "pixi": ("run exec", wrapper("-e --environment --manifest-path -s --spec -c --channel -p --platform")),
    "terragrunt": ("exec", wrapper()),
    "lerna": ("exec", wrapper("--scope --ignore --concurrency --since")),
    "pdm": ("run", wrapper("-p --project")),
    "rye": ("run", wrapper()),
    "conda": ("run", wrapper("-n --name -p --prefix --cwd")),
    "mamba": ("run", wrapper("-n --name -p --prefix --cwd")),
    "micromamba": ("run", wrapper("-n --name -p --prefix --cwd")),
    "bundle": ("exec", wrapper()),
    "rbenv": ("exec", wrapper()),
    "pyenv": ("exec", wrapper()),
    "asdf": ("exec", wrapper()),
    "mise": ("exec x", wrapper("-j --jobs -C --cd", shell="-c --command")),
    "direnv": ("exec", wrapper(skip=1)),
    "op": ("run", wrapper("--env-file")),
    "doppler": ("run", wrapper("-p -c --project --config", shell="--command")),
    "aws-vault": ("exec", wrapper(skip=1)),
    "chamber": ("exec", wrapper(skip=1)),
    "dotenv": ("run", wrapper("-f --file")),
    "dotenvx": ("run", wrapper("-f")),
    "perf": ("stat record trace", wrapper("-e -o -F -p -C -r -c -t -u -m -D -G -j -x")),
    "rr": ("record", wrapper("-o")),
    "rustup": ("run", wrapper(skip=1)),
    "stack": ("exec", wrapper()),
    "cabal": ("exec", wrapper()),
    "opam": ("exec", wrapper("--switch")),
    "composer": ("exec", wrapper()),
    "nvm": ("exec", wrapper(skip=1)),
    "jenv": ("exec", wrapper()),
    "zellij": ("run", wrapper()),
    "foreman": ("run", wrapper("-e -f")),
    "distrobox": ("enter", wrapper("-n --name -e --exec -a --additional-flags", skip=1)),
    "toolbox": ("run", wrapper("-c --container")),
    "npm": ("exec x", wrapper("-p --package -w --workspace", shell="-c --call")),
    "pnpm": ("exec dlx", wrapper("-C --filter -F", shell="-c")),
    "yarn": ("exec dlx run", wrapper("--cwd")),
    "bun": ("x", wrapper()),
    "volta": ("run", wrapper("--node --npm --pnpm --yarn")),
    "teller": ("run", wrapper("-c --config")),
    "devbox": ("run", wrapper("-c --config -e --env")),
    "dagger": ("run", wrapper()),
}
"""Programs that run another one under a subcommand: what they run is looked for among the excluded, and is the
project's own otherwise."""
