"""Places a sandboxed command shouldn't reach: secrets, and sockets that give the machine away."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

# Relative to a person's home folder; a folder stands for all that is in it.
_HOME_SECRETS = (
    ".ssh .gnupg .aws .azure .kube .oci .vault-token .netrc _netrc .git-credentials .pgpass .my.cnf .npmrc .pypirc "
    ".s3cfg .boto .databrickscfg .htpasswd .password-store .terraform.d/credentials.tfrc.json "
    ".config/gcloud .config/gh .config/hub .config/git/credentials .config/op .config/rclone .config/doctl "
    ".config/heroku .config/github-copilot .config/containers/auth.json .config/sops .config/age "
    ".docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials "
    ".composer/auth.json .config/composer/auth.json "
    ".local/share/keyrings .local/share/kwalletd .local/share/opencode/auth.json "
    ".gemini .dogu .claude/.credentials.json .claude.json .codex/auth.json .config/openai .config/anthropic "
    ".mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge "
    ".config/vivaldi .config/opera .config/Signal .config/Slack .config/discord snap/firefox snap/chromium "
    ".var/app/org.mozilla.firefox .var/app/com.google.Chrome .electrum .bitcoin .ethereum "
    ".bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history "
    ".rediscli_history .lesshst .viminfo .local/share/fish/fish_history"
)
_MACHINE_SECRETS = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/krb5.keytab "
    "/etc/ssl/private /etc/kubernetes /etc/rancher /var/lib/kubelet /run/secrets /var/run/secrets /var/lib/docker "
    "/var/lib/containerd /var/lib/sss /var/spool/cron /proc/kcore /proc/kmem /dev/mem /dev/kmem"
)
_SOCKETS = (
    "/run/docker.sock /var/run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock "
    "/run/k3s/containerd/containerd.sock /run/crio/crio.sock /run/buildkit/buildkitd.sock /run/snapd.socket "
    "/var/snap/lxd/common/lxd/unix.socket /var/lib/lxd/unix.socket /run/incus/unix.socket "
    "/run/libvirt/libvirt-sock /run/systemd/private /run/dbus/system_bus_socket /run/screen /tmp/.X11-unix"
)
_SOCKETS_THAT_ASK_OUTSIDE = (
    "/run/systemd/resolve/io.systemd.Resolve /run/nscd/socket /var/run/nscd/socket /run/avahi-daemon/socket "
    "/run/cups/cups.sock /run/tailscale/tailscaled.sock /run/postfix /var/spool/postfix/public"
)
_NAMED_BY = (
    "GNUPGHOME",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
)
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


def secrets(environment: Mapping[str, str]) -> list[str]:
    """Return the places that hold secrets, absolute and without symbolic links, those that exist."""
    home = environment.get("HOME") or os.path.expanduser("~")
    named: list[str] = [os.path.join(home, place) for place in _HOME_SECRETS.split()] + _MACHINE_SECRETS.split()
    named += [f"/etc/ssh/ssh_host_{kind}_key" for kind in ("rsa", "ecdsa", "ed25519", "dsa")]
    if os.path.realpath(home) != "/root" and os.geteuid() != 0:
        named.append("/root")
    named += [environment[name] for name in _NAMED_BY if environment.get(name)]
    return _existing(named)


def sockets(environment: Mapping[str, str], *, leads_out: bool = True) -> list[str]:
    """Return the sockets, and folders of sockets, that exist and let a command act outside its sandbox.

    Containers' and the system's services, the person's session (desktop, terminal multiplexer) and key agent; where the
    network isn't to lead out (`leads_out`), also what asks there in a command's name, for names and for print.
    """
    user = os.getuid()
    more = "" if leads_out else _SOCKETS_THAT_ASK_OUTSIDE
    named: list[str] = [*_SOCKETS.split(), *more.split(), f"/run/user/{user}", f"/tmp/tmux-{user}", f"/tmp/dbus-{user}"]
    named += [environment.get("XDG_RUNTIME_DIR", ""), environment.get("SSH_AUTH_SOCK", "")]
    named.append(environment.get("DOCKER_HOST", "").removeprefix("unix://"))
    return _existing(named)


def temporary_folders(environment: Mapping[str, str]) -> list[str]:
    """Return the folders for temporary files, those that exist."""
    return _existing([environment.get("TMPDIR", ""), *_TEMPORARY])


def cover(hidden: Iterable[str], top: str = "/") -> list[str]:
    """Return paths that together hold all below `top` but the `hidden` ones (absolute, real): as few as can be.

    Links aren't returned: what they lead to is reached, or hidden, at its own place.
    """
    hidden_paths = set(hidden)
    ancestors = {parent for path in hidden_paths for parent in _parents(path)}
    return [*_covered(top, hidden_paths, ancestors)]


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


def _parents(path: str) -> Iterable[str]:
    while path not in ("/", ""):
        path = os.path.dirname(path)
        yield path


def _existing(paths: Iterable[str]) -> list[str]:
    real = (os.path.realpath(path) for path in paths if path.startswith("/"))
    return [path for path in dict.fromkeys(real) if os.path.lexists(path) and path != "/"]
