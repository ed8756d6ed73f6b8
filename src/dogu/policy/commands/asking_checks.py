"""Checks of programs that ask other machines: that they only ask, and send nothing that a file or a command holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.outgoing import goes_to_this_machine
from dogu.policy.commands.patterns import is_a, pattern
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.values import check_value
from dogu.workspace.shell_syntax import Part, PartKind, Word

_HOST = re.compile(r"https://(?:[^/@]*@)?([\w.-]+)(?=[:/?#]|$)")
_PROOF = re.compile(r"(?i)(?:-H|--header=)?(?:authorization|[\w-]*(?:token|key)):")
_NOBODYS = frozenset("token api access auth secret password key bearer jwt".split())
_KNOWN_AS = {
    "gh": "github",
    "gl": "gitlab",
    "hf": "huggingface",
    "npm": "npmjs",
    "cf": "cloudflare",
    "do": "digitalocean",
}
_SECRETS = re.compile(r"(?i)(?:^|,)secrets?(?:[./,]|$)")


def _kube(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What secrets hold; their names and ages are no secret."""
    if reading.subcommand != "get":
        return
    is_of_file = any(name in ("-f", "--filename", "-k", "--kustomize") for name, _, _ in reading.taken)
    for name, at, value in reading.taken:
        is_name = name in ("-o", "--output") and value is not None and value.value in ("name", "wide")
        if name not in ("-o", "--output", "--template") or is_name:
            continue
        if is_of_file or any(
            words[index].value is None or _SECRETS.search(words[index].text) for index in reading.operands
        ):
            yield Danger(at, Effect.REACHES, told("reaches or changes what isn't the project's"))


def _asks(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What another machine is asked holds nothing that a command prints, but for a name, a number or the like.

    Nor does it hold a secret of the environment, unless that goes where its name says: `$GITHUB_TOKEN` to github.com.
    """
    hosts = [match[1].lower() for word in words if (match := _HOST.match(word.prefix))]
    for index, word in enumerate(words[1:], 1):
        parts = word.expansions() if reading.hints.holds_output(word) else ()
        gives = [part for part in parts if reading.hints.holds_output(Word((part,), word.raw))]
        is_proof = _PROOF.match(word.prefix) is not None
        if not all(_is_at_home(part, hosts) or (is_proof and _is_nobodys(part)) for part in gives):
            yield Danger(index, Effect.REACHES, told("it sends what a command prints"))


def _is_nobodys(part: Part) -> bool:
    """Whether a variable is a secret that bears no server's name: `$TOKEN`."""
    is_secret = part.kind is PartKind.VARIABLE and is_a("secret_variable", part.text)
    return is_secret and part.text.lower().partition("_")[0] in _NOBODYS


def _is_at_home(part: Part, hosts: Sequence[str]) -> bool:
    """Whether a variable bears the name of every server that is asked."""
    if part.kind is not PartKind.VARIABLE or not is_a("secret_variable", part.text):
        return False
    begins = part.text.lower().partition("_")[0]
    home = _KNOWN_AS.get(begins, begins)
    return bool(hosts) and all(
        re.fullmatch(rf"(?:.*\.)?{re.escape(home)}\.(?:com|org|net|io|ai|dev|co)", each) for each in hosts
    )


def _curl(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What curl sends, more than a question, and not to this machine itself."""
    addresses = [words[at] for at in reading.operands] + [
        value for name, _, value in reading.taken if name == "--url" and value
    ]
    if addresses and all(map(goes_to_this_machine, addresses)) and not _reads_files(reading):
        return
    yield from _asks(words, reading)
    asks_only = any(name in ("-G", "--get") for name, _, _ in reading.taken)
    for name, at, value in reading.taken:
        text = value.value if value is not None else None
        is_method = name in ("-X", "--request") and text not in ("GET", "HEAD", "OPTIONS")
        is_data = name == "-d" or name.startswith("--data") or name == "--json"
        if is_method or (is_data and not (asks_only and text is not None and "@" not in text)):
            yield Danger(at, Effect.REACHES, told("sends data"))


def _reads_files(reading: Reading) -> bool:
    return any((name == "-d" or name.startswith(("--data", "--json"))) and value is not None and "@" in value.text
               for name, _, value in reading.taken)  # fmt: skip


def _wget(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """wget writes a file, unless told otherwise: under the name that its address ends in."""
    yield from _asks(words, reading)
    harmless = {"--spider", "--version", "--help", "-V", "-h", "-O", "--output-document"}
    if harmless & {name for name, _, _ in reading.taken}:
        return
    for at in reading.operands:
        name = (words[at].value or "").partition("://")[2].rpartition("/")[2]
        if check_value("fetched", Word.literal(name), reading.hints.around) is not None:
            yield Danger(at, Effect.WRITES, told("writes what it fetches to a file"))


def _gh(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What is sent: no command's output, and what `gh api` is given as fields."""
    yield from _asks(words, reading)
    if reading.subcommand == "browse" and not {"-n", "--no-browser"} & {name for name, _, _ in reading.taken}:
        yield Danger(1, Effect.RUNS, told("runs a program or code that no rule names"))
    if reading.subcommand != "api":
        return
    fields = [
        value.text if value else "@"
        for name, _, value in reading.taken
        if name in ("-f", "-F", "--field", "--raw-field")
    ]
    queries = [field for field in fields if field.startswith("query=")]
    is_read = bool(queries) and not any("mutation" in field or "@" in field for field in fields)
    if "graphql" in [words[at].text for at in reading.operands] and is_read:
        return
    for name, at, value in reading.taken:
        is_method = name in ("-X", "--method") and (value is None or (value.value or "").upper() != "GET")
        if is_method or (name in ("-f", "-F", "--field", "--raw-field")):
            yield Danger(at, Effect.REACHES, told("sends data"))


def _cloud(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What isn't plainly a look at what is there, and values that are a file's text or another machine's."""
    yield from _asks(words, reading)
    for index, word in enumerate(words[1:], 1):
        is_text_of = re.match(r"(?:-[^=]*=)?(?=(?:fileb?|https?)://)", word.prefix)
        if is_text_of is not None and not is_a("loopback", word.text[is_text_of.end() :]):
            yield Danger(index, Effect.REACHES, told("sends data"))
    program = words[0].text.rpartition("/")[2]
    operands = [words[at].text for at in reading.operands]
    hands_out = operands[:2] == ["auth", "describe"] or any(
        pattern("cloud_secret").search(text) for text in operands[:5]
    )
    begins = 1 if program == "aws" and len(operands) > 1 else 0  # a service may be called as a look is: `aws logs`
    look = next((at for at in range(begins, min(5, len(operands))) if is_a("cloud_look", operands[at])), None)
    before = operands[:look] if look is not None or operands[-1:] not in (["apps"], ["ps"]) else operands[:-1]
    names_things = program == "aws" and len(before) == 1
    is_look = look is not None or len(before) < len(operands)
    is_look &= names_things or all(is_a("cloud_group", f"{program} {text}") for text in before)
    # What a look of this one says may go to a file that is named behind it.
    writes = names_things and len(operands) > 2 and operands[-1] != "help"
    writes &= operands[:1] != ["s3"] and operands[:2] not in (["logs", "tail"], ["configure", "get"])
    writes &= operands[1:2] != ["wait"]
    # What is done stands behind the names of things: a rule that ends before it doesn't name it.
    does = (at for at, text in enumerate(operands) if at >= begins and not is_a("cloud_group", f"{program} {text}"))
    place = reading.operands[-1 if writes else next(does, -1)] if operands else 1
    if operands and (hands_out or not is_look or writes):
        yield Danger(place, Effect.RUNS, told("changes or runs something in the cloud"))


CHECKS: dict[str, Callable[[Sequence[Word], Reading], Iterator[Danger]]] = {
    "asks": _asks,
    "curl": _curl,
    "wget": _wget,
    "gh": _gh,
    "kube": _kube,
    "cloud": _cloud,
}
