"""The `/` commands about what the model knows and what it costs: memory, compact, stats."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import reduce

from anyio import to_thread

from dogu.agent.budget import usd
from dogu.agent.events import sum_usage
from dogu.agent.session_housekeeping import SessionHousekeeping
from dogu.agent.slash import Said, Send, SlashCommand
from dogu.contract import ToolError
from dogu.language import say
from dogu.models.events import Usage
from dogu.workspace.memory_file import MemoryFile

_INIT = """Write the context file {file} of this repository: what an agent that works here must know, and can't see \
at a glance. {present}

Look first: README and other pages for contributors, the files that say how it is built (package manifests, Makefile, \
CI), the folders, a few files of the source and of the tests. Then write, in Markdown, in at most 60 lines:

- what the project is, in two sentences
- the commands to build it, run it, check it and test it, the one for a single test among them, as they stand in files \
you have read: never a guessed one
- how it is laid out: the folders that matter, and what each is for
- conventions that its files keep to and a newcomer would break
- what else those pages insist on

Leave out what goes for every project. Write it with one call, to the absolute path {path}, and end with one \
sentence."""
_REVIEW = """Review what changed in this repository and isn't committed yet (git status, git diff, git diff --cached, \
files that git doesn't track); where nothing is, the last commit. Read around the changes as far as it takes. Change \
nothing.

Tell what is wrong, the worst first: defects, cases that aren't handled, what breaks for those who use it, tests that \
are missing. For each: the file and line, what happens and when, and what would mend it. Leave out taste. Where \
nothing is wrong, say so."""
_MEMORY = ("show", "list", "add", "refresh")


def context_commands(
    housekeeping: SessionHousekeeping,
    memory: Callable[[], MemoryFile],
    refresh: Callable[[], None],
    aside: Callable[[str], AbstractContextManager[None]],
) -> list[SlashCommand]:
    """Make them; `refresh` reads the context files anew, for the model too. What is remembered is recorded `aside`."""
    commands = _ContextCommands(housekeeping, memory, refresh, aside)
    return [
        SlashCommand(
            "memory",
            say("show what GEMINI.md and AGENTS.md tell the model; or remember something"),
            commands.memory,
            "[show | list | add TEXT | refresh]",
            lambda start: [word for word in _MEMORY if word.startswith(start)],
        ),
        SlashCommand(
            "compact",
            say("summarize the older part of the conversation to free up context"),
            commands.compact,
            "[WHAT TO KEEP]",
        ),
        SlashCommand("stats", say("show tokens, costs, calls and how full the context is"), commands.stats),
    ]


def init_command(model: Callable[[], str], root: str, names: Sequence[str]) -> SlashCommand:
    """Make `/init`, which has the model write the folder's context file: a change like any other, shown and asked.

    `names` are those of context files; `model` says which model answers.
    """

    async def init(rest: str) -> Said | Send:
        if model() == "offline":
            return Said(say("/init needs a model that reads this folder; /connect connects one."), is_failure=True)
        file, is_there = await to_thread.run_sync(_context_file, root, names)
        present = (
            "It is there already: read it, keep what is right, mend the rest." if is_there else "It isn't there yet."
        )
        told = _INIT.format(file=file, path=os.path.join(root, file), present=present)
        return Send(f"{told}\n\nThe user adds: {rest}" if rest else told)

    words = say("have the model write an AGENTS.md for this folder")
    return SlashCommand("init", words, init, "[WHAT MATTERS]")


def review_command(model: Callable[[], str]) -> SlashCommand:
    """Make `/review`, which has the model look at what isn't committed; `model` says which one answers."""

    async def review(rest: str) -> Said | Send:
        if model() == "offline":
            return Said(say("/review needs a model that reads this folder; /connect connects one."), is_failure=True)
        return Send(f"{_REVIEW}\n\nThe user adds: {rest}" if rest else _REVIEW)

    words = say("have the model review uncommitted changes")
    return SlashCommand("review", words, review, "[WHAT MATTERS]")


def _context_file(root: str, names: Sequence[str]) -> tuple[str, bool]:
    """Return the name of the folder's context file, or of the one to be, and whether it is there."""
    plain = [name for name in names if name and os.sep not in name] or ["AGENTS.md"]
    there = next((name for name in plain if os.path.lexists(os.path.join(root, name))), "")
    return there or ("AGENTS.md" if "AGENTS.md" in plain else plain[0]), bool(there)


class _ContextCommands:
    def __init__(
        self,
        housekeeping: SessionHousekeeping,
        memory: Callable[[], MemoryFile],
        refresh: Callable[[], None],
        aside: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._housekeeping = housekeeping
        self._aside = aside
        self._memory = memory
        self._refresh = refresh

    async def memory(self, rest: str) -> Said:
        word, _, text = rest.partition(" ")
        match word:
            case "show" if not text:
                return Said(self._shown())
            case "" | "list" if not text:
                return Said("\n".join(self._listed()))
            case "add" if text.strip():
                return Said(await to_thread.run_sync(self._added, text))
            case "refresh" if not text:
                await to_thread.run_sync(self._refresh)
                return Said("\n".join([say("Reloaded."), *self._listed()]))
            case _:
                return Said("/memory [show | list | add TEXT | refresh]", is_failure=True)

    async def compact(self, rest: str) -> Said:
        return Said((await self._housekeeping.compact(rest)).note)

    async def stats(self, _rest: str) -> Said:
        return Said("\n".join([*self._spent(), *self._called(), self._filled()]))

    def _shown(self) -> str:
        context = self._housekeeping.context
        files = [*context.files, *context.told.values()]
        return "\n\n".join(f"--- {file.path} ---\n{file.text}" for file in files) or self._listed()[0]

    def _listed(self) -> list[str]:
        context = self._housekeeping.context
        lines: list[str] = []
        for file in context.files:
            lines.append(say("{path}: {count} characters", path=file.path, count=f"{len(file.text):,}"))
            lines += [say("  imports {path}", path=path) for path in file.imported]
        for file in context.told.values():
            lines.append(say("{path}: loaded when its folder was first used", path=file.path))
        lines = lines or [say("No GEMINI.md or AGENTS.md was found.")]
        return [*lines, *map(say, context.problems)]

    def _added(self, text: str) -> str:
        memory = self._memory()
        try:
            change = memory.plan(text)
            with self._aside(f"/memory add {change.fact}"):
                done = memory.write(change)
        except ToolError as error:
            return error.message
        self._refresh()
        return say("Remembered in {file}: {fact}", file=memory.shown, fact=done.fact)

    def _spent(self) -> list[str]:
        budget = self._housekeeping.meter.budget
        lines: list[str] = []
        if budget is None:
            return lines
        for model, spent in budget.by_model.items():
            cost = say("cost not known") if spent.cost_usd is None else usd(spent.cost_usd)
            line = say(
                "{model}: {requests} requests, {tokens}; {cost}",
                model=model,
                requests=spent.requests,
                tokens=_tokens(spent.usage),
                cost=cost,
            )
            lines.append(line)
        if budget.has_earlier:
            run = budget.run
            used = reduce(sum_usage, (spent.usage for spent in run.by_model.values()), Usage())
            cost = say("cost not known") if run.unpriced else usd(run.cost_usd)
            lines.append(say("Since resuming: {tokens}; {cost}", tokens=_tokens(used), cost=cost))
        if budget.max_cost_usd is not None:
            lines.append(say("Cost limit: {most}", most=usd(budget.max_cost_usd)))
        return lines or [say("No requests to the model yet.")]

    def _called(self) -> list[str]:
        rows = self._housekeeping.call_counts.by_tool.items()
        return [
            say(
                "{tool}: {calls}× ({failed} failed, {declined} declined), {seconds} s",
                tool=name,
                calls=row.calls,
                failed=row.failed,
                declined=row.declined,
                seconds=f"{row.took_s:.1f}",
            )
            for name, row in sorted(rows, key=lambda item: -item[1].calls)
        ]

    def _filled(self) -> str:
        compaction = self._housekeeping.compaction
        used, window = compaction.fill.tokens, compaction.limits.window_tokens
        if window is None:
            return say(
                "Context: about {used} tokens. The model's limit isn't known; /settings model.contextWindow sets it.",
                used=f"{used:,}",
            )
        return say(
            "Context: about {used} of {window} tokens ({share}); summarized at {limit}.",
            used=f"{used:,}",
            window=f"{window:,}",
            share=f"{used / window:.0%}",
            limit=f"{compaction.limits.threshold:.0%}",
        )


def _tokens(usage: Usage) -> str:
    return say(
        "{prompt} tokens in ({cached} cached), {output} out, {thoughts} thinking",
        prompt=f"{usage.prompt:,}",
        cached=f"{usage.cached:,}",
        output=f"{usage.output:,}",
        thoughts=f"{usage.thoughts:,}",
    )
