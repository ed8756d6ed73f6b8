"""What a command has run elsewhere: on another machine, in a container. As a table of where its words stand.

A list of allowed programs asks about such commands by themselves (`programs`); an excluded program stays excluded
there too, as far as it can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dogu.policy.commands.wrapper_table import Wrapper, wrapper
from dogu.workspace.shell_syntax import Word


@dataclass(frozen=True)
class Elsewhere:
    """`words` that run as they are, or, with `is_text`, joined and read by a shell there."""

    words: list[Word]
    is_text: bool = False


@dataclass(frozen=True)
class Place:
    """How a program is told what to run elsewhere.

    `under` are its subcommands, a line each, none for the program itself; `how` their options and operands before the
    command; `entry` an option that names the program, of which the command's words are arguments; `is_marked` says that
    a `--` stands before the command, if anywhere.
    """

    under: tuple[str, ...]
    how: Wrapper
    is_text: bool = False
    entry: str = ""
    is_marked: bool = False


_SSH = wrapper(" ".join(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWwBP"), skip=1)
_RUN_VALUES = (
    "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --cap-add --cap-drop --cgroup-parent --cgroupns "
    "--cidfile --cpu-shares --cpus --cpuset-cpus --device --dns --dns-search --domainname --env --env-file --expose "
    "--gpus --group-add --health-cmd --health-interval --hostname --ip --ipc --isolation --label --label-file --link "
    "--log-driver --log-opt --mac-address --memory --mount --name --network --net --pid --platform --publish --pull "
    "--restart --runtime --security-opt --shm-size --stop-signal --storage-opt --sysctl --tmpfs --ulimit --user "
    "--userns --uts --volume --volume-driver --volumes-from --workdir --detach-keys --entrypoint --authfile --arch "
    "--os --pod --secret --index"
)
_RUN = wrapper(_RUN_VALUES, skip=1)
_CONTAINERS = Place(
    ("run", "exec", "create", "container run", "container exec", "container create", "compose run", "compose exec"),
    _RUN,
    entry="--entrypoint",
)
_PODS = Place(
    ("exec", "run", "debug"),
    wrapper(
        "-n --namespace -c --container -f --filename --context --cluster --kubeconfig --user --image --env --labels -l "
        "--overrides --port --restart --pod-running-timeout --target --profile --copy-to -s --server",
        skip=1,
    ),
    is_marked=True,
)

PLACES: dict[str, Place] = {
    **dict.fromkeys(("ssh", "rsh", "slogin", "autossh"), Place((), _SSH, is_text=True)),
    "mosh": Place((), wrapper("--ssh --server --client --predict -p --port", skip=1)),
    **dict.fromkeys(("docker", "podman", "podman-remote", "nerdctl", "finch", "buildah"), _CONTAINERS),
    **dict.fromkeys(("docker-compose", "podman-compose"), Place(("run", "exec"), _RUN, entry="--entrypoint")),
    **dict.fromkeys(("kubectl", "oc", "microk8s.kubectl"), _PODS),
    **dict.fromkeys(("lxc", "incus"), Place(("exec",), wrapper("--cwd --env --group --user --mode --project", skip=1))),
    "adb": Place(("shell",), wrapper("-e -T -t -x -n"), is_text=True),
    **dict.fromkeys(
        ("apptainer", "singularity"),
        Place(("exec",), wrapper("-B --bind --pwd --env --env-file -H --home -W --workdir -S --scratch", skip=1)),
    ),
    "multipass": Place(("exec",), wrapper("-d --working-directory", skip=1)),
    "heroku": Place(("run", "run:detached"), wrapper("-a --app -s --size -r --remote --type -e --env"), is_text=True),
}


def find_place(name: str, words: Sequence[Word]) -> tuple[Place, int] | None:
    """Return how the command is told what to run elsewhere, and where the words for that begin; or None."""
    place = PLACES.get(name)
    if place is None:
        return None
    if not place.under:
        return place, 1
    operands = [at for at, word in enumerate(words) if at and not (word.value or "").startswith("-")]
    # An option's value may stand before the subcommand: it is looked for among the first few operands.
    for number, at in enumerate(operands[:4]):
        second = words[operands[number + 1]].text if number + 1 < len(operands) else ""
        for subcommand in place.under:
            if f"{words[at].text} {second}".startswith(subcommand + " ") and " " in subcommand:
                return place, operands[number + 1] + 1
            if words[at].text == subcommand:
                return place, at + 1
    return None
