"""Which commands have a layer, and who keeps what is in it.

Above: `settling`, which asks. Below: `make` and `changes`; whoever keeps changes is the `CommandChanges`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from glob import escape as glob_escape
from glob import glob
from itertools import dropwhile

from dogu.workspace.held import head_of, held, untold
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.launcher.notices import can_tell
from dogu.workspace.layer.changes import changes_in
from dogu.workspace.layer.ending import Ending
from dogu.workspace.layer.make import Layer, Layers, clear_dead, make, shared_place
from dogu.workspace.layer.merging import Merged
from dogu.workspace.process.jobs import Jobs
from dogu.workspace.sandbox.watch import runs_later
from dogu.workspace.sandbox.work import repositories
from dogu.workspace.staged import CommandChanges, CommitReport, Later, StagedChange, Watching

# What goes on after its command has ended must see others' changes, and they its: `&` that nobody waits for, daemons.
_LEFT_BEHIND = re.compile(r"""(?<![&<>|\\])&(?=[\s)'"`;}]|$)|\s--(?:daemon(?:ize)?|detach(?:ed)?|background)\b""")
_AWAITED = re.compile(r"(?:^|[;&\n(]|\bdo\b)[ \t]*wait\b(?!-)")
# What waits for long does so for others, whom it must see and who must see it: files that come, logs that are followed.
_WAITS = re.compile(
    r"\bsleep\W{1,3}(?:float\W{1,3})?(?:inf|[2-9]\d(?!\d)|\d{3,}|\d+[mhd])|\buntil\b|\bfor\s*\(\(\s*;"
    r"|\bwhile\b(?!\s+(?:IFS=\S*\s+)?read\b)|\btail\s[^|;&]*(?:-[0-9a-zA-Z]*[fF]|--follow)"
    r"|--(?:watch|reload|serve)\b(?!=(?:false|no|0))|\b(?:http\.server|runserver|serve_forever)\b"
    r"|\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:dev|start|serve|watch)\b"
)
# Programs that do either, where they are run, not where a file or a package is called so.
_STAYS = frozenset(
    "nohup setsid disown daemonize start-stop-daemon tmux screen pg_ctl coproc docker docker-compose podman gradle "
    "gradlew bazel bazelisk sbt watchman watch inotifywait fswatch entr flock nodemon wait-on uvicorn gunicorn vite "
    "webpack-dev-server live-server".split()
)
_STARTS_ANOTHER = frozenset(
    "sudo exec env time nice command timeout xargs stdbuf npx bunx uvx uv poetry pdm pipenv hatch pnpm npm yarn bun "
    "run dlx x python python3 do then else".split()
)
_BETWEEN_RUNS = re.compile(r"""[;&|\n()'"`{}]+|\s-exec(?:dir)?\s""")
_NOT_A_PROGRAM = re.compile(r"-\S*|\w+=\S*|[\d.]+[smh]?")
_BETWEEN_PARTS = re.compile(r"[;&|\n()]+")
_BETWEEN_WORDS = re.compile(r"""[\s'"<>=`]+""")
_ONLY_NAMES = re.compile(
    r"\s*(?:rm|mv|ls|stat|find|test|\[|chmod|chown|chgrp|touch|unlink|mkdir|rmdir|mkfifo)\s[^<>]*$"
)  # opens nothing
_RENAMES = re.compile(
    r"\bgit\b[^|;&\n]*\s(?:mv|worktree\s+move|submodule)\b|\brename\w*\b"
)  # refused where none are told


class CommandLayers:
    """Makes the layers of a session's commands in `folder`, its own. `changes` keeps what is kept; `jobs` are those of
    the background. `ending` is what becomes of changes; `can` is False once it is known that no layer can be made.
    """

    def __init__(
        self, changes: CommandChanges, folder: str, jobs: Jobs, ending: Ending = Ending.KEEP, *, can: bool = True
    ) -> None:
        self.ending = ending
        self.can = can
        self._changes = changes
        self._folder = folder
        self._jobs = jobs
        self._lingering: list[Layers] = []
        self._without: dict[str, str] = {}
        self._has_cleared = False

    @property
    def state_folder(self) -> str:
        """The folder of dogu's own that the session's lies in; "" where it isn't one of several."""
        sessions = os.path.dirname(os.path.dirname(self._folder))
        return os.path.dirname(sessions) if os.path.basename(sessions) == "sessions" else ""

    def make_for(self, command: str, roots: Sequence[str], *, is_kept: bool) -> Layers | None:
        """Make a command's layers; None where it can't have any, or wouldn't do in one what it does without.

        What isn't kept at once needn't be seen by processes that live on: those are ended. Blocks.
        """
        if not self.can or (is_kept and (self._must_be_seen(command, roots) or self._has_jobs())):
            return None
        self._clear_up(roots)
        return make([*roots, *repositories(roots)], self._folder)

    def go_without(self, command: str, why: str) -> None:
        """Make no layers for this command any more: it doesn't do in them what it does without."""
        self._without[command] = why

    def goes_without(self, command: str) -> str:
        """Return why no layers are made for this command any more; "" where they are."""
        return self._without.get(command, "")

    def _must_be_seen(self, command: str, roots: Sequence[str]) -> bool:
        if self.goes_without(command) or _is_left_behind(command) or _WAITS.search(command) or _stays(command):
            return True
        if _opens_pipe(command, roots) or (not holds_renames() and _links_and_compares(command)):
            return True
        return _RENAMES.search(command) is not None and not (holds_renames() or can_tell())

    def give_up(self, layers: Layers) -> None:
        """Take note that the kernel makes no layers here."""
        self.can = False
        layers.remove()

    def later(self, pgid: int) -> Later | None:
        """Return what tells of what a command left running will have written."""
        job = self._jobs.job(pgid)
        return job.written if job is not None else None

    def watched(self, *, is_told: bool) -> AbstractContextManager[Watching]:
        """Find out what a command without layers changes; see `CommandChanges.watched`."""
        return self._changes.watched(is_told=is_told)

    def keep(self, layers: Layers, changes: Sequence[StagedChange], force: Collection[str] = ()) -> CommitReport:
        """Put the changes into the workspace; what others changed meanwhile is a conflict, but for paths in `force`."""
        done: list[str] = []
        conflicts: list[tuple[str, str]] = []
        notes: list[str] = []
        final: set[str] = set()
        for layer in layers.all:
            own = [each for each in changes if _is_of(each, layer)]
            if own:
                beside = "" if layer.folder.startswith(f"{self._folder}/") else os.path.dirname(layer.folder)
                report = self._changes.commit(own, layer.began_ns, force=force, beside=beside)
                done += report.done
                conflicts += report.conflicts
                notes += report.notes
                final |= report.final
        return CommitReport(tuple(done), tuple(conflicts), tuple(notes), frozenset(final))

    def held(self, layers: Layers, changes: Sequence[StagedChange]) -> bool:
        """Whether another program holds what is changed, or may: neither saw anything of the other's locks. Blocks."""
        sources = {change.path: change.source for change in changes if not change.comes_along}
        roots = [layer.root for layer in layers.all]

        def head(path: str) -> bytes | None:
            return head_of(path) or head_of(sources.get(path, path))

        return bool(untold(sources, head) or held(sources, roots, head))

    def keep_merged(self, layers: Layers, merged: Sequence[Merged]) -> set[str]:
        """Put texts that hold somebody else's change too in place, where that is still as it was merged.

        Returns the paths that hold them. Raises OSError.
        """
        done: set[str] = set()
        for one in merged:
            layer = next(layer for layer in layers.all if _is_of(one.change, layer))
            beside = "" if layer.folder.startswith(f"{self._folder}/") else os.path.dirname(layer.folder)
            own = _replaced(one.change.source, one.text.encode())
            if one.change.path in self._changes.commit([one.change], one.since_ns, beside=beside).done:
                done.add(one.change.path)
            else:
                _replaced(one.change.source, own)
        return done

    def set_aside(
        self, changes: Sequence[StagedChange], paths: Collection[str], merged: Mapping[str, str] | None = None
    ) -> str:
        """Move the command's versions of paths to where they can be read; "" where there are none. Raises OSError.

        `merged` are texts that hold somebody else's change too, by path.
        """
        aside = os.path.join(self._folder, f"versions-{os.urandom(4).hex()}")
        for change in changes:
            if change.path in paths and change.source and not os.path.isdir(change.source):
                place = os.path.join(aside, change.path.lstrip("/"))
                os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
                shutil.move(change.source, place)
                if merged and change.path in merged:
                    with open(f"{place}.merged", "wb") as file:
                        file.write(merged[change.path].encode())
        return aside if os.path.isdir(aside) else ""

    def linger(self, layers: Layers) -> None:
        """Leave the layers to processes that live on in them; what they still write is kept when they have ended."""
        self._lingering.append(layers)

    async def end_job(self, pgid: int) -> None:
        """End what a command left running."""
        job = self._jobs.job(pgid)
        if job is not None:
            await job.stop()

    def close(self, *, are_lived_in: bool = False) -> None:
        """Keep what processes that lived on have written late, after they have been ended; or leave it to them."""
        if are_lived_in:
            for layers in self._lingering:
                layers.hold()
        else:
            self._keep_late()

    def _keep_late(self) -> None:
        """Keep what was written after its command, but what runs later: nobody is there to ask."""
        while self._lingering:
            layers = self._lingering.pop()
            is_kept = False
            try:
                changes = changes_in(layers)
                foreign, _ = runs_later(changes, [layer.root for layer in layers.all])
                wanted = [change for change in changes if change not in foreign]
                report = self.keep(layers, wanted)
                self.set_aside(wanted, dict(report.conflicts))
                is_kept = True
            finally:
                if not is_kept:
                    layers.put_aside()
                layers.remove()

    def _has_jobs(self) -> bool:
        return any(job.pids for job in self._jobs.jobs)

    def _clear_up(self, roots: Sequence[str]) -> None:
        """Remove what is left of layers that nobody lives in any more."""
        if self._lingering and not self._has_jobs():
            self._keep_late()
        others = [] if self._has_cleared else glob(os.path.join(_sessions(self._folder), "*", "layers"))
        for folder in {self._folder, *others, *map(shared_place, roots)}:
            clear_dead(folder)
        self._has_cleared = True


def _is_left_behind(command: str) -> bool:
    """Whether something is put into the background that the command doesn't wait for at its end."""
    ends = [awaited.end() for awaited in _AWAITED.finditer(command)]
    return _LEFT_BEHIND.search(command, ends[-1] if ends else 0) is not None


def _stays(command: str) -> bool:
    """Whether a program is run that goes on, or waits for others."""
    for part in _BETWEEN_RUNS.split(command):
        words = (os.path.basename(word) for word in part.split())
        run = [*dropwhile(lambda word: word in _STARTS_ANOTHER or _NOT_A_PROGRAM.fullmatch(word), words)][:2]
        if run[1:] == ["watch"] or (run[:1] and run[0] in _STAYS and run != ["vite", "build"]):
            return True
    return False


def _links_and_compares(command: str) -> bool:
    """Whether git clones what is here: it links files and refuses links that aren't the file it saw by their number,
    which a layer keeps only where the kernel can note it."""
    for part in _BETWEEN_PARTS.split(command):
        words = {os.path.basename(word) for word in part.split()}
        if "git" in words and words & {"clone", "submodule"} and "://" not in part and "@" not in part:
            return True
    return False


def _opens_pipe(command: str, roots: Sequence[str]) -> bool:
    """Whether a FIFO is named to be opened: in a layer it is another one, and nobody is at its other end."""
    parts = (part for part in _BETWEEN_PARTS.split(command) if not _ONLY_NAMES.match(part))
    words = {word for part in parts for word in _BETWEEN_WORDS.split(part) if word}
    return any(_is_fifo(os.path.join(root, word)) for root in roots for word in words)


def _is_fifo(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _replaced(path: str, data: bytes) -> bytes:
    """Write a file's new content into it, whatever its mode; return what it held."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode | 0o600)
    try:
        with open(path, "r+b") as file:
            old = file.read()
            file.seek(0)
            file.truncate()
            file.write(data)
    finally:
        os.chmod(path, mode)
    return old


def _sessions(folder: str) -> str:
    """Where the sessions lie whose layers may be dead ones: those of killed processes stay behind."""
    return glob_escape(os.path.dirname(os.path.dirname(folder)))


def _is_of(change: StagedChange, layer: Layer) -> bool:
    if change.source:
        return change.source.startswith(f"{layer.folder}/")
    return change.path.startswith(f"{layer.root.rstrip('/')}/")
