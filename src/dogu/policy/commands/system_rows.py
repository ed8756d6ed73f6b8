"""What the arguments of network, system, data and document programs run or overwrite: see `programs`."""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES


def _under(programs: str, subcommands: str, effect: Effect, reason: str) -> tuple[Row, ...]:
    """Make a row for each of the subcommands."""
    return tuple(Row(programs, "", effect, reason, each) for each in subcommands.split())


SYSTEM_ROWS: tuple[Row, ...] = (
    # network
    Row("scp sftp rcp ssh-copy-id", "", _N, "copies files to or from another machine"),
    Row("ssh-keygen", "-D -w -f", _R, "loads code, or writes a key"),
    Row("ssh-add", "-s -S -e", _R, "loads code"),
    Row(
        "rsync", "--delete --delete-after --delete-before --delete-excluded --remove-source-files", _W, "removes files"
    ),
    Row("aria2c", "--on-* --conf-path", _R, "runs a program", is_exact=True),
    Row("aria2c yt-dlp youtube-dl gallery-dl", "", _W, "writes what it fetches"),
    Row(
        "yt-dlp youtube-dl",
        "--exec --exec-before-download --downloader --external-downloader --config-locations --netrc-cmd "
        "--ffmpeg-location",
        _R,
        "runs a program",
    ),
    Row("lftp", "", _R, "its commands run programs"),
    Row(
        "nmap",
        "--script --script-args --datadir --servicedb -iL -oN -oX -oG -oA -oS --resume",
        _R,
        "runs scripts or writes files",
        is_exact=True,
    ),
    Row("tcpdump", "-z -Z", _R, "runs a program"),
    Row("tcpdump tshark dumpcap wireshark", "-w -X -o", _R, "writes a file or runs scripts"),
    Row("iptables ip6tables nft ufw firewall-cmd", "", _N, "changes what the network lets through"),
    Row("ip tc bridge", "-b -batch -force", _R, "takes its commands from a file", is_exact=True),
    *_under("ip", "netns vrf", _R, "runs a program in another network"),
    Row("iptables ip6tables", "--modprobe -M", _R, "names a program to run"),
    Row("mail mailx mutt", "-S -e", _R, "names a program to run"),
    Row("gh glab", "", _R, "names programs to run", "config set"),
    Row("mail mailx mutt sendmail lp lpr", "", _N, "sends what it reads"),
    Row("curl", "--ssl-sessions --dump-ca-embed", _W, "writes a file"),
    Row("wget", "--use-askpass -e --execute --config", _R, "sets options that can run programs"),
    Row("wget", "--hsts-file --rejected-log", _W, "writes a file"),
    # the machine
    Row("sudoedit visudo vipw", "", _R, "opens an editor"),
    Row(
        "chsh chfn passwd useradd userdel usermod groupadd adduser deluser insmod modprobe rmmod sysctl kexec reboot "
        "shutdown poweroff halt init telinit mkfs fdisk parted cryptsetup lvm update-rc.d update-alternatives "
        "hostnamectl timedatectl loginctl logrotate",
        "",
        _N,
        "changes the machine",
    ),
    *_under(
        "systemctl",
        "start stop restart reload enable disable mask unmask edit link daemon-reload daemon-reexec set-environment "
        "import-environment kill isolate reboot poweroff halt",
        _R,
        "starts or changes services",
    ),
    Row("service rc-service supervisorctl pm2 forever foreman honcho", "", _R, "starts programs"),
    Row("dbus-send busctl gdbus", "", _R, "asks other programs to act"),
    Row("zellij", "", _R, "runs programs"),
    Row("concurrently npm-run-all run-p run-s", "", _R, "runs commands given in its arguments"),
    Row(
        "hyperfine",
        "-p --prepare -s --setup -c --cleanup --conclude -S --shell --reference -L --parameter-list --export-csv "
        "--export-json --export-markdown --export-asciidoc --export-orgmode --output --input",
        _R,
        "runs commands given in its arguments",
    ),
    Row("wall write mesg", "", _N, "writes to other people's terminals"),
    Row("script", "", _W, "writes a file"),
    Row("strace ltrace", "-o --output", _R, "writes a file, or runs a program"),
    Row("valgrind", "--db-command --log-file --xml-file", _R, "runs a program or writes a file"),
    Row("time", "-o --output", _W, "writes a file"),
    Row("perf", "-o --output", _W, "writes a file"),
    *_under("perf", "script stat record trace", _R, "runs a program or a script"),
    Row("daemon daemonize uftrace systemd-nspawn schroot proot systemd-run", "", _R, "runs a program"),
    Row("gdb lldb", "", _R, "a debugger runs programs and commands"),
    Row("capsh", "--shell", _R, "names a shell to run"),
    Row("less more most", "+", _R, "runs a command at start"),
    Row("bat batcat delta", "--pager --config-file --config-dir", _R, "runs a program"),
    Row("fzf sk", "--preview --bind --history --with-shell --listen", _R, "runs a program or writes a file"),
    Row("split", "--filter", _R, "runs a program"),
    Row("gunzip bunzip2 unxz unzstd unlz4", "-f --force -o --output", _W, "overwrites files"),
    Row("tar bsdtar gtar", "-g --listed* --index-file", _W, "writes a file"),
    Row("link", "", _W, "writes where it is told"),
    Row(
        "code codium cursor windsurf subl zed idea pycharm webstorm atom",
        "",
        _R,
        "opens an editor, which runs extensions",
    ),
    # containers and machines
    *_under("podman", "unshare machine system", _R, "runs programs, or serves them"),
    *_under("buildah", "run bud build from config", _R, "runs a file's commands"),
    Row("skopeo", "", _N, "copies images"),
    *_under("helm", "install upgrade uninstall rollback plugin push", _R, "changes a cluster"),
    *_under("kubectl oc", "krew", _R, "installs plugins"),
    Row("kubectl kustomize", "--enable-exec --enable-alpha-plugins --enable-helm --helm-command", _R, "runs a program"),
    *_under(
        "terraform tofu terragrunt packer pulumi",
        "apply destroy import console up run-all build",
        _R,
        "changes machines",
    ),
    *(
        Row("terraform tofu", "", _R, "changes machines", f"state {each}")
        for each in ("rm", "mv", "push", "replace-provider")
    ),
    *(Row("terraform tofu", "", _N, "changes what it keeps", f"workspace {each}") for each in ("new", "delete")),
    Row(
        "terraform tofu terragrunt",
        "-chdir -plugin-dir -backend-config -out -state-out",
        _R,
        "works elsewhere, or writes a file",
        is_exact=True,
    ),
    *_under("terraform tofu", "force-unlock taint", _N, "changes what it keeps"),
    Row(
        "ansible ansible-playbook ansible-console ansible-pull ansible-galaxy ansible-vault salt salt-call puppet "
        "chef-client knife",
        "",
        _R,
        "runs commands on machines",
    ),
    *_under("vagrant", "ssh up provision plugin reload destroy", _R, "runs commands on a machine"),
    *_under("fly flyctl doctl heroku", "ssh console compute", _R, "runs commands on a machine"),
    *_under(
        "fly flyctl vercel netlify wrangler firebase supabase heroku",
        "deploy dev start secrets secret",
        _N,
        "publishes or serves",
    ),
    *_under("glab hub", "alias api", _R, "defines a command, or sends data"),
    # data
    Row("duckdb", "-c -s -init -cmd", _R, "its commands run programs and write files", is_exact=True),
    Row("psql", "-P --pset", _R, "names a program to run"),
    Row("mysql mariadb", "--plugin-dir --init-command --tee --pager", _R, "runs commands or loads code"),
    Row("mysqldump", "-T --tab -r --result-file", _W, "writes files"),
    Row("pg_dump pg_dumpall pg_restore", "-f --file", _W, "writes a file"),
    Row("mongosh mongo", "", _R, "runs code"),
    Row("redis-cli", "--eval --rdb --functions-rdb --pipe", _R, "runs code or writes a file"),
    *_under(
        "redis-cli", "eval config module debug script function flushall flushdb shutdown save", _R, "changes the server"
    ),
    Row("jq", "-L --library-path", _R, "takes code from elsewhere"),
    Row("yq", "--from-file", _R, "takes its program from a file"),
    # keys
    Row(
        "gpg gpg2",
        "--agent-program --pinentry-program --dirmngr-program --keyserver-options --exec-path --photo-viewer "
        "--options --homedir",
        _R,
        "runs a program",
    ),
    # documents and pictures
    Row("xsltproc xmllint", "-o --output --shell", _W, "writes a file"),
    Row(
        "identify",
        "msl:* mvg:* ephemeral:* text:* @* -write -script",
        _R,
        "reads a script, or writes a file",
        is_exact=True,
    ),
    Row("mogrify composite montage conjure gm", "", _W, "writes files"),
    Row("gs ghostscript gnuplot soffice libreoffice", "", _R, "its documents run programs"),
    Row("inkscape", "--shell --actions -o --export-filename", _R, "runs actions or writes a file"),
    Row(
        "pandoc",
        "-F --filter -L --lua-filter --pdf-engine -d --defaults -o --output --template --data-dir --extract-media "
        "--log",
        _R,
        "runs a program or writes a file",
    ),
    Row(
        "tex latex pdftex pdflatex xelatex lualatex",
        "-shell-escape --shell-escape -enable-write18 -output-directory --output-directory",
        _R,
        "runs programs",
        is_exact=True,
    ),
    Row("latexmk", "-e -r -latex -pdflatex", _R, "runs code", is_exact=True),
    Row("asciidoctor", "-r --require -I -T --template-dir -o --out-file", _R, "loads code or writes a file"),
    Row("dot neato fdp circo twopi", "-o -O", _W, "writes a file"),
    Row("plantuml", "", _W, "writes files"),
)
