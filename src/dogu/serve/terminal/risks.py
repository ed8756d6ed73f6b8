"""What a command deletes, overwrites or sends, in words for the one who is asked.

This decides nothing: the policy does. It chooses how a question looks and which answer Enter gives, from the words of
the simple commands that the policy found, read by the policy's own table of options. What no row names looks like any
other command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

import msgspec

from dogu.language import sentence, told
from dogu.policy.commands.dangers import dangers_of, program_called
from dogu.policy.commands.effects import Hints
from dogu.policy.commands.reading import Reading
from dogu.policy.verdict import JudgedCommand
from dogu.workspace.shell_syntax import Command, NotBashError, UnprovenError, Word, parse

_MOST_NAMED = 4
_LONGEST_NAME = 60


class _Row(msgspec.Struct, frozen=True):
    """`said` of commands that begin with one of `first` (`git push`), with one of `options` if there are any.

    `what` says which words `{what}` is; where there are none, `bare` is said, if there is one. An option that ends with
    `*` stands for all that begin so, `-X=PUT|POST` for one with one of these values.
    """

    said: str
    first: str
    options: str = ""
    what: Callable[[Sequence[str]], list[str]] | None = None
    bare: str = ""


def _operands(words: Sequence[str]) -> list[str]:
    """The words that aren't options; those that only the shell or `find` will know are left out."""
    return [word for word in words if word[:1] not in ("-", "$", "") and word not in ("{}", "+", ";")]


def _joined(words: Sequence[str]) -> list[str]:
    return [" ".join(_operands(words))] if _operands(words) else []


def _first(words: Sequence[str]) -> list[str]:
    return _operands(words)[:1]


def _later(words: Sequence[str]) -> list[str]:
    return _operands(words)[1:]


_HOST = re.compile(r"(?:[a-z+]+://)?(?:[^/@\s]*@)?([\w.-]+\.[a-z]{2,}|localhost|\d+(?:\.\d+){3})(?:[:/]|$)")
_REMOTE = re.compile(r"(?:\w+://)?(?:[\w.-]+@)?([\w.-]{2,}):")


def _hosts(words: Sequence[str]) -> list[str]:
    return [match[1] for match in map(_HOST.match, words) if match]


def _remotes(words: Sequence[str]) -> list[str]:
    return [match[1] for match in map(_REMOTE.match, _operands(words)) if match]


def _sent_to(words: Sequence[str]) -> list[str]:
    """Where files are copied to, if that is another machine."""
    return [word for word in _operands(words)[-1:] if _REMOTE.match(word)]


def _everyone(words: Sequence[str]) -> list[str]:
    return ["-1"] if "-1" in words[1:] else []  # in front it is a signal


def _sized(words: Sequence[str]) -> list[str]:
    """The operands behind a size, which is an option's value."""
    return _operands([word for before, word in pairwise(["", *words]) if before not in ("-s", "--size", "-r", "-t")])


def _written(words: Sequence[str]) -> list[str]:
    return [word.removeprefix("of=") for word in words if word.startswith("of=")]


_OVER_NETWORK = sentence("Sends data over the network")
_REQUESTS = frozenset("curl wget http https xh".split())
_WRITES = "POST|PUT|PATCH|DELETE"
_SEND = (
    "-d --data* -F --form* -T --upload-file --json --post-* --body-*"
    f" -X={_WRITES} --request={_WRITES} --method={_WRITES}"
)
_PUBLISH = (
    "npm publish|yarn publish|pnpm publish|cargo publish|twine upload|uv publish|poetry publish|gem push|docker push"
    "|podman push|gh release create"
)
_POST = "gh gist create|gh pr create|gh pr merge|gh pr comment|gh issue create|gh issue comment|gh repo create|gh api"
_UNINSTALLS = "|".join(
    ("pip uninstall", "apt remove", "apt purge", "apt-get remove", "apt-get purge", "brew uninstall", "dnf remove")
)
_GH_DELETES = "|".join(
    f"gh {what} delete" for what in "release repo issue run secret variable gist label cache".split()
)
_GIT_DELETES = (
    "git reflog expire|git reflog delete|git gc|git prune|git worktree remove|git update-ref|git remote remove"
)
_INFRASTRUCTURE = "terraform apply|terraform destroy|tofu apply|tofu destroy|pulumi up|pulumi destroy|helm uninstall"
_CONTAINERS = "docker rm|docker rmi|docker system prune|docker volume rm|docker volume prune|podman rm|podman rmi"

_ROWS = (
    _Row(
        sentence("Deletes {what}"),
        f"rm|rmdir|unlink|shred|srm|trash|del|rd|rimraf|git rm|{_GH_DELETES}|aws s3 rm|aws s3 rb|gsutil rm|dropdb",
        "",
        _operands,
        sentence("Deletes files"),
    ),
    _Row(sentence("Deletes {what}"), "kubectl delete", "", _later, sentence("Deletes resources")),
    _Row(sentence("Deletes {what}"), _CONTAINERS, "", _operands, sentence("Deletes containers, images or volumes")),
    _Row(
        sentence("Deletes containers, images or volumes"),
        "docker compose down|docker-compose down|podman compose down",
        "-v --volumes --rmi*",
    ),
    _Row(sentence("Deletes your scheduled commands"), "crontab", "-r"),
    _Row(sentence("Deletes what it finds in {what}"), "find", "-delete", _first, sentence("Deletes what it finds")),
    _Row(sentence("Deletes what isn't in the source"), "rsync", "--delete* --remove-source-files"),
    _Row(sentence("Deletes what isn't in the source"), "aws s3 sync|gsutil rsync", "--delete -d"),
    _Row(
        sentence("Sends files to {what}"), "rsync|aws s3 cp|aws s3 mv|aws s3 sync|gsutil cp|rclone copy", "", _sent_to
    ),
    _Row(sentence("Overwrites {what}"), "truncate|mkfs|mkswap|wipefs", what=_sized),
    _Row(sentence("Overwrites {what}"), "git branch|git tag", "-f --force -M -C", _first),
    _Row(
        sentence("Replaces your scheduled commands"),
        "crontab",
        what=lambda words: [word for word in words if word[:1] != "-" or word == "-"][:1],
    ),
    _Row(sentence("Runs commands later"), "at|batch"),
    _Row(sentence("Overwrites {what}"), "dd", what=_written),
    _Row(
        sentence("Overwrites what others see, with a forced push to {what}"),
        "git push",
        "-f --force* --mirror +*",
        _joined,
        sentence("Overwrites what others see, with a forced push"),
    ),
    _Row(sentence("Deletes from the server: {what}"), "git push", "-d --delete --prune :*", _later),
    _Row(sentence("Sends commits to {what}"), "git push", "", _joined, sentence("Sends commits to the server")),
    _Row(sentence("Throws away uncommitted changes"), "git reset", "--hard --merge --keep"),
    _Row(sentence("Throws away uncommitted changes"), "git checkout|git switch", "-f --force --discard-changes . --"),
    _Row(sentence("Throws away uncommitted changes"), "git restore"),
    _Row(sentence("Deletes files that git doesn't track"), "git clean", "-f* -d* -x* --force"),
    _Row(sentence("Deletes {what} from the repository"), "git branch|git tag", "-D -d --delete", _operands),
    _Row(sentence("Deletes stashed changes"), "git stash drop|git stash clear"),
    _Row(sentence("Deletes what the repository keeps to go back to"), _GIT_DELETES, "-d --prune* -f --force --all"),
    _Row(sentence("Rewrites the last commit"), "git commit", "--amend"),
    _Row(sentence("Rewrites the repository's history"), "git filter-branch|git filter-repo"),
    _Row(
        sentence("Sends data to {what}"),
        "curl|wget|http|https|xh",
        _SEND,
        _hosts,
        _OVER_NETWORK,
    ),
    _Row(
        sentence("Copies files to or from {what}"),
        "scp|sftp",
        "",
        _remotes,
        sentence("Copies files to or from another machine"),
    ),
    _Row(sentence("Runs commands on {what}"), "ssh", what=_first),
    _Row(sentence("Sends data to {what}"), "nc|ncat|netcat|telnet|socat", what=_first),
    _Row(sentence("Sends data to {what}"), "mail|mailx|mutt|sendmail|swaks", "", _operands),
    _Row(sentence("Sends files to {what}"), "rclone sync|rclone move|rclone copyto|rclone moveto", "", _later),
    _Row(sentence("Publishes {what}"), _PUBLISH, "", _operands, sentence("Publishes the package")),
    _Row(sentence("Writes to GitHub"), _POST),
    _Row(sentence("Changes infrastructure"), f"{_INFRASTRUCTURE}|helm upgrade|kubectl apply"),
    _Row(sentence("Runs as root"), "sudo|doas|su|pkexec"),
    _Row(sentence("Ends all of your processes"), "kill", what=_everyone),
    _Row(sentence("Ends processes: {what}"), "kill|pkill|killall|taskkill", what=_operands),
    _Row(sentence("Changes permissions of all in {what}"), "chmod|chown|chgrp", "-R* --recursive", _later),
    _Row(sentence("Removes packages: {what}"), _UNINSTALLS, "", _operands, sentence("Removes packages")),
    _Row(sentence("Stops services: {what}"), "systemctl stop|systemctl disable|systemctl mask", what=_operands),
    _Row(sentence("Stops or restarts the machine"), "shutdown|reboot|halt|poweroff"),
)

_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema)|delete\s+from|truncate\s+table|flushall|flushdb|dropdatabase)\b",
    re.IGNORECASE,
)
_DATABASES = frozenset(
    ("psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb", "clickhouse-client", "redis-cli", "mongo", "mongosh")
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish", "python", "python3", "node", "perl", "ruby"))
_FETCHERS = frozenset(("curl", "wget", "fetch", "base64", "base32", "xxd", "openssl", "gunzip", "zcat"))
_UNDOES = frozenset("delete destroy drop erase flush nuke purge remove reset rm terminate truncate wipe".split())
"""What an operand of a program that no row names says of itself: `az group delete`, `rails db:drop`."""
_CODE = re.compile(r"\brmtree\b|\bos\.(?:remove|unlink|rmdir)|\bunlink|\brmS?y?n?c?\(|\brm_rf?\b|rmSync|FileUtils\.rm")
_TRIES = ("git clean", "git rm", "git push")  # with -n
_REPLACES = (">", ">|", "&>", ">&")
_DEEPEST = 4
_HOLD_NOTHING = frozenset(f"/dev/{name}" for name in "null zero full stdin stdout stderr tty fd".split())


class _Seen(msgspec.Struct, frozen=True):
    """A command as its program reads it: the options with their values, and the operands."""

    options: list[tuple[str, str]]
    operands: list[str]
    is_read: bool = False
    is_plain: bool = False
    """Whether the table knows all of it to do no harm."""


def risks_of(commands: Iterable[JudgedCommand], text: str = "", directory: str = "") -> list[str]:
    """Return a sentence for each thing that the commands delete, overwrite or send.

    `text` is what a shell will read, run in `directory`: what is there already is looked at.
    """
    found: list[str] = []
    last = ""
    for command in commands:
        words = [word.lstrip("\\") for word in command.words]
        name = _name(words[0]) if words else ""
        if name in _SHELLS and (_reads_input(words, last) or _reads_fetched(words)):
            found.append(told("Runs what it downloads"))
        if name.startswith("$"):
            found.append(told("Runs what {what} stands for", what=_listed([name])))
        last = last if name in _RUNNERS else name
        found += _of_words([name, *words[1:]], directory)
    found += _of_redirects(text, directory)
    return list(dict.fromkeys(found))


def _name(program: str) -> str:
    name = os.path.basename(program)
    return "mkfs" if name.startswith("mkfs.") else name


def _reads_input(words: Sequence[str], last: str) -> bool:
    """Whether a shell runs what is piped into it by a program that fetches, or that unpacks it."""
    is_file = len(words) > 1 and not words[1].startswith("-") and "-s" not in words
    return last in _FETCHERS and not is_file and not any(word.startswith(("-c", "-e")) for word in words[1:])


def _reads_fetched(words: Sequence[str]) -> bool:
    return any(word.startswith(("<(", "$(", "`")) and any(each in word for each in _FETCHERS) for word in words[1:])


def _of_redirects(text: str, directory: str, depth: int = 0) -> Iterator[str]:
    """Say which files redirections overwrite, also those of what a shell is given to read."""
    for command in _commands_of(text) if text and depth < _DEEPEST else ():
        targets = [each.target.value or "" for each in command.redirects if each.operator in _REPLACES]
        if there := [target for target in targets if _is_file(target, directory)]:
            yield told("Overwrites {what}", what=_listed(there))
        words = [word.value or "" for word in command.words]
        for at, word in enumerate(words[:-1]):
            if re.fullmatch("-[a-z]*c", word) and any(os.path.basename(each) in _SHELLS for each in words[:at]):
                yield from _of_redirects(words[at + 1], directory, depth + 1)


def _commands_of(text: str) -> list[Command]:
    try:
        return list(parse(text).commands)
    except (NotBashError, UnprovenError, RecursionError):
        return []


def _of_words(words: Sequence[str], directory: str = "", depth: int = 0) -> Iterator[str]:
    plain = _without_leading_options(words)
    if depth > _DEEPEST or _asks_for_help(words):
        return
    seen = _seen(words)
    if _only_tries(plain, seen):
        return
    for rows in _rows_of(plain[0]).values():
        # Of the rows of one command the first that fits: a forced push isn't told a second time as a push.
        yield from next(filter(None, (_told_by(row, plain, seen) for row in rows)), ())
    yield from _of_texts(words, seen)
    if there := [each for each in _replaced(plain, seen, directory) if _is_there(each, directory)]:
        yield (
            told("Throws away uncommitted changes")
            if plain[0] == "git"
            else told("Overwrites {what}", what=_listed(there))
        )
    yield from _of_inner(words, seen, directory, depth)


def _of_texts(words: Sequence[str], seen: _Seen) -> Iterator[str]:
    """Say what the words say of themselves: SQL, code, what another command prints, a subcommand's name."""
    if words[0] in _DATABASES and any(map(_SQL.search, words[1:])):
        yield told("Deletes rows or tables of a database")
    if words[0] in _REQUESTS and any("$(" in word or "`" in word for word in words[1:]):
        yield told("Sends data to {what}", what=_listed(_hosts(words[1:]) or [told("a server")]))
    if words[0] in _SHELLS and any(map(_CODE.search, words[1:])):
        yield told("Deletes files")
    if words[0] not in _programs() and (undone := _undone(words, seen)):
        yield told("Deletes or resets: {what}", what=_listed(undone))


def _undone(words: Sequence[str], seen: _Seen) -> list[str]:
    """The operands that name what deletes, of a program that isn't known to do no harm with them."""
    block = program_called(words[0])
    takes_files = block is not None and (block.is_harmless or (seen.is_plain and not block.has_subcommands))
    if takes_files and words[0] not in _SHELLS:
        return []
    return [word for word in seen.operands[:3] if _UNDOES & {*re.split(r"[\W_]", word.lower())}]


def _of_inner(words: Sequence[str], seen: _Seen, directory: str, depth: int) -> Iterator[str]:
    """What a command runs besides itself: `xargs rm`, `find -exec sh -c 'rm {}'`, `npx rimraf`, `ssh HOST rm`."""
    if words[0] == "ssh":
        for command in _commands_of(" ".join(seen.operands[1:])):
            yield from _of_words([word.text for word in command.words] or [""], "", depth + 1)
        return
    for at in range(1, len(words)):
        is_run = words[0] in _RUNNERS or words[at - 1] in _RUNS or " ".join(words[:2]) in _CONTAINED
        if words[at] in _programs() and is_run:
            yield from _of_words(words[at:], directory, depth + 1)
            return
        if words[at] in _SHELLS and is_run and "-c" in words[at:-1]:
            for command in _commands_of(words[words.index("-c", at) + 1]):
                yield from _of_words([word.text for word in command.words] or [""], directory, depth + 1)
            return


def _only_tries(words: Sequence[str], seen: _Seen) -> bool:
    names = {name for name, _ in seen.options}
    return "--dry-run" in names or ((" ".join(words[:2]) in _TRIES or words[0] == "rsync") and bool("-n" in names))


def _asks_for_help(words: Sequence[str]) -> bool:
    before = words[: list(words).index("--")] if "--" in words else words
    return (
        words[0] in _programs()
        and words[0] not in _RUNNERS
        and any(word in ("--help", "--version") for word in before[1:2])
    )


def _seen(words: Sequence[str]) -> _Seen:
    """Read the words by the policy's table where it knows what the options of this command take, else as they look."""
    block = program_called(words[0])
    if block is not None and block.effect is None and not block.is_harmless:
        hints, read = Hints(lambda _: True, lambda _: False), [Word.literal(word) for word in words]
        reading = Reading(block, read, hints)
        list(reading.dangers())
        grammar = block.subcommand(reading.subcommand) if reading.subcommand else block.grammar
        if grammar is not None and grammar.effect is None:
            taken = [(name, value.text if value is not None else "") for name, _, value in reading.taken]
            return _Seen(
                taken,
                [words[at] for at in reading.operands],
                is_read=True,
                is_plain=not any(dangers_of(words[0], read, hints)),
            )
    options = [(word.partition("=")[0], word.partition("=")[2]) for word in words[1:] if word.startswith("-")]
    return _Seen(options, _operands(words[1:]))


def _replaced(words: Sequence[str], seen: _Seen, directory: str) -> list[str]:
    """The files that a command puts something else in place of, if they are there."""
    names = {name for name, _ in seen.options}
    values = [value for name, value in seen.options if name in ("-o", "--output", "-O", "--output-document")]
    values += [] if seen.is_read else [after for name, after in pairwise(words) if name in ("-o", "--output")]
    match words[0]:
        case "mv" | "cp" | "install" | "ln":
            spares = names & {"-n", "--no-clobber", "-b", "--backup", "-i", "--interactive"}
            is_meant = not spares and (words[0] != "ln" or names & {"-f", "--force"})
            into = [value for name, value in seen.options if name in ("-t", "--target-directory")]
            *sources, target = [*seen.operands, *into] or [""]
            is_folder = os.path.isdir(os.path.join(directory, target)) if directory else False
            found = [os.path.join(target, os.path.basename(each)) for each in sources] if is_folder else [target]
            return found if is_meant and sources else []
        case "tee":
            return [] if names & {"-a", "--append"} else seen.operands
        case "git" if words[1:2] == ["checkout"]:
            return [] if names & {"-b", "-B", "--orphan"} else list(words[2:])
        case _:
            block = program_called(words[0])
            is_build = block is not None and block.check == "compiler"  # what it made it makes anew
            return [] if is_build else values


def _is_there(path: str, directory: str) -> bool:
    """Whether a file is there, or a device that holds something."""
    return _is_file(path, directory) or (path.startswith("/dev/") and path not in _HOLD_NOTHING)


def _is_file(path: str, directory: str) -> bool:
    return bool(path and directory) and os.path.isfile(os.path.join(directory, path))


def _told_by(row: _Row, words: Sequence[str], seen: _Seen) -> tuple[str, ...]:
    """Return the row's sentence, if it fits these words."""
    firsts = [each.split() for each in row.first.split("|")]
    first = next((each for each in firsts if list(words[: len(each)]) == each), list[str]())
    rest = words[len(first) :]
    options = row.options.split()
    if not first or (options and not any(_has_option(rest, seen, option) for option in options)):
        return ()
    # Operands as the program reads them, where what its options take is known; those in front are its subcommand.
    given = seen.operands if len(first) == 1 and seen.operands and row.what in (_operands, _first, _later) else rest
    what = row.what(given) if row.what else []
    if what:
        return (told(row.said, what=_listed(what)),)
    return (row.said,) if row.what is None else (row.bare,) if row.bare else ()


@cache
def _rows_of(program: str) -> Mapping[str, list[_Row]]:
    """Return the rows of a program by their commands."""
    found: dict[str, list[_Row]] = {}
    for row in _ROWS:
        if any(each.split()[0] == program for each in row.first.split("|")):
            found.setdefault(row.first, []).append(row)
    return found


@cache
def _programs() -> frozenset[str]:
    return frozenset(each.split()[0] for row in _ROWS for each in row.first.split("|"))


_RUNNERS = frozenset(
    "xargs env nohup nice time timeout sudo doas command busybox npx bunx pnpm yarn parallel watch exec setsid".split()
)
_RUNS = frozenset(("-exec", "-execdir", "-ok"))
_CONTAINED = frozenset(f"{what} {runs}" for what in ("docker", "podman", "kubectl", "oc") for runs in ("exec", "run"))


def _without_leading_options(words: Sequence[str]) -> list[str]:
    """Leave out options between a program and its subcommand: `git -C x push` is a push."""
    program, rest = words[0], list(words[1:])
    if program in ("git", "docker", "podman", "kubectl", "gh", "terraform", "tofu", "aws", "helm"):
        while rest and rest[0].startswith("-"):
            takes_value = rest[0] in ("-C", "-c", "--git-dir", "--work-tree", "-n", "--namespace", "--context", "-R")
            takes_value = takes_value or rest[0] in ("--profile", "--region", "-H", "--host", "--config")
            rest = rest[2 if takes_value else 1 :]
    return [program, *rest]


def _has_option(words: Sequence[str], seen: _Seen, option: str) -> bool:
    name, equals, values = option.partition("=")
    if equals:
        return any(taken == name and value.upper() in values.split("|") for taken, value in seen.options)
    looked_at = [word for word in words if not (seen.is_read and word.startswith("-"))]
    return any(_is_option(word, name) for word in [*looked_at, *(taken for taken, _ in seen.options)])


def _is_option(word: str, option: str) -> bool:
    if option.endswith("*"):
        return word.startswith(option[:-1])
    if re.fullmatch("-[A-Za-z]", option) and re.fullmatch(r"-[A-Za-z]+", word):
        return option[1] in word  # `-rf` holds `-f`
    return word == option


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    shown = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names[:_MOST_NAMED]]
    return (*shown, f"+{len(names) - _MOST_NAMED}") if len(names) > _MOST_NAMED else tuple(shown)
