"""Asks the user which hosts a sandboxed command may reach, and keeps what they said for the folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from dogu.language import told
from dogu.policy.policy import Policy
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.workspace.private_file import changing_json, read_json

Elicit: TypeAlias = Callable[[Elicitation], Awaitable[Given | Declined | None]]

# The hosts that package managers fetch from, by manager: one choice instead of a question for each.
_MANAGERS: dict[str, tuple[str, ...]] = {
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "nodejs.org"),
    "pip": ("pypi.org", "files.pythonhosted.org"),
    "cargo": ("index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"),
    "go": ("proxy.golang.org", "sum.golang.org", "go.dev", "dl.google.com"),
    "Maven and Gradle": (
        "repo.maven.apache.org",
        "repo1.maven.org",
        "plugins.gradle.org",
        "services.gradle.org",
        "downloads.gradle.org",
        "dl.google.com",
        "maven.google.com",
    ),
    "RubyGems": ("rubygems.org", "index.rubygems.org"),
    "Composer": ("repo.packagist.org", "packagist.org"),
    "NuGet": ("api.nuget.org", "globalcdn.nuget.org"),
    "Hex": ("repo.hex.pm", "hex.pm", "builds.hex.pm"),
    "Debian and Ubuntu": (
        "deb.debian.org",
        "security.debian.org",
        "archive.ubuntu.com",
        "security.ubuntu.com",
        "ports.ubuntu.com",
    ),
    "conda": ("conda.anaconda.org", "repo.anaconda.com"),
    "Hackage": ("hackage.haskell.org",),
    "pub": ("pub.dev",),
    "CRAN": ("cran.r-project.org", "cloud.r-project.org"),
    "Julia": ("pkg.julialang.org",),
    "Deno": ("deno.land", "jsr.io"),
}
ALL_REGISTRIES = tuple(dict.fromkeys(host for hosts in _MANAGERS.values() for host in hosts))
_ONCE, _ALWAYS, _REGISTRIES, _NO = "once", "always", "registries", "no"
_LONGEST_COMMAND_CHARS = 80


class RememberedHosts:
    """The hosts that may be reached from one root, in a file that the user can read: `{"/root": ["example.com"]}`."""

    def __init__(self, path: str, root: str) -> None:
        self._path = path
        self._root = root
        self._known: set[str] | None = None

    def holds(self, host: str) -> bool:
        """Whether the user said so before."""
        if self._known is None:
            self._known = set(read_json(self._path, dict[str, list[str]]).get(self._root, ()))
        return host in self._known

    def add(self, hosts: Sequence[str]) -> None:
        """Keep them. Raises `OSError`; they hold for this session then."""
        self._known = (self._known or set()) | set(hosts)
        with changing_json(self._path, dict[str, list[str]], indent=2) as everything:
            everything[self._root] = sorted({*everything.get(self._root, ()), *hosts})


class HostQuestions:
    """Answers for hosts that aren't listed: as the user said before, as the mode says, else as they say now."""

    def __init__(self, policy: Policy, elicit: Elicit, remembered: RememberedHosts) -> None:
        self._policy = policy
        self._ask_user = elicit
        self._remembered = remembered

    async def __call__(self, command: str, host: str, port: int, private: Sequence[str]) -> bool:
        """Whether the command may reach the host; where nobody can be asked it may not.

        An address of a private network isn't covered by what was said of the name, nor by a mode.
        """
        keeps = self._policy.offers_always
        is_known = self._policy.mode is ApprovalMode.YOLO or (keeps and self._remembered.holds(host))
        if is_known and not private:
            return True
        answer = await self._ask_user(_question(command, host, port, private, offers_always=keeps))
        if not isinstance(answer, Given):
            return False
        chosen = answer.values.get("answer")
        if chosen in (_ALWAYS, _REGISTRIES) and keeps and not private:
            self._keep(ALL_REGISTRIES if chosen == _REGISTRIES else [host])
        return chosen in (_ONCE, _ALWAYS, _REGISTRIES)

    def _keep(self, hosts: Sequence[str]) -> None:
        try:
            self._remembered.add(hosts)
        except OSError:  # a home that can't be written: it holds for this session
            pass


def _question(command: str, host: str, port: int, private: Sequence[str], *, offers_always: bool) -> Elicitation:
    shown = " ".join(command.split())
    shown = shown if len(shown) <= _LONGEST_COMMAND_CHARS else f"{shown[:_LONGEST_COMMAND_CHARS]}…"
    place = host if port in (80, 443) else f"{host}:{port}"
    registry = registry_of(host)
    about = [told("the registry of {manager}", manager=registry)] if registry else []
    about += [told("an address of a private network: {addresses}", addresses=", ".join(private))] if private else []
    choices = [{"const": _ONCE, "title": told("yes, for this command")}]
    if offers_always and not private:
        choices.append({"const": _ALWAYS, "title": told("yes, always in this folder")})
    if registry and offers_always and not private:
        choices.append({"const": _REGISTRIES, "title": told("yes, and the registries of all package managers")})
    choices.append({"const": _NO, "title": told("no")})
    title = told("A command in the sandbox wants to reach {host}", host=place)
    message = "\n".join([shown, *about])
    field = {"type": "string", "title": told("Allow it?"), "oneOf": choices, "default": _NO}
    return Elicitation(title, message, {"answer": field}, ("answer",), is_question=True)


def registry_of(host: str) -> str:
    """Return the package manager that fetches from a host; "" for any other host."""
    return next((name for name, hosts in _MANAGERS.items() if host in hosts), "")
