"""A workspace whose tools are called as a model would, every question approved and kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dogu
from dogu.contract import text_of
from processes import shared_fork_server


@dataclass
class Documented:
    """`root` is the workspace; `questions` are what a user was asked."""

    root: Path
    runtime: dogu.Runtime
    questions: list[dogu.Question] = field(default_factory=list[dogu.Question])

    async def call(self, tool: str, **args: Any) -> dogu.ToolResult:
        return (await self.runtime.call(tool, args)).result

    async def text(self, tool: str, **args: Any) -> str:
        """Return what the model reads of a call that succeeds."""
        result = await self.call(tool, **args)
        assert result.error is None, result.error
        return text_of(result.llm_content)

    async def lines(self, tool: str, **args: Any) -> list[str]:
        return (await self.text(tool, **args)).splitlines()

    async def error(self, tool: str, **args: Any) -> tuple[str, str]:
        """Return kind and message of a call that fails."""
        result = await self.call(tool, **args)
        assert result.error is not None, result.llm_content
        assert text_of(result.llm_content) == result.error.message
        return result.error.kind.value, result.error.message

    def path(self, name: str) -> str:
        return str(self.root / name)

    def write(self, name: str, content: str | bytes = "") -> str:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(file)

    def content(self, file: str) -> str:
        with open(file, encoding="utf-8", newline="") as stream:
            return stream.read()

    def make_repository(self) -> None:
        """Make what git takes for a repository, also where git isn't."""
        for folder in ("objects", "refs"):
            (self.root / ".git" / folder).mkdir(parents=True)
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


@asynccontextmanager
async def open_documented(
    folder: Path, settings: str = "", files: Mapping[str, str] | None = None
) -> AsyncGenerator[Documented]:
    """Open the tools over a new workspace in `folder` that holds `files`, with the user's settings given as JSON."""
    root, home = folder / "root", folder / "home"
    root.mkdir()
    for name, content in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
        (root / name).chmod(0o755)
    (home / ".gemini").mkdir(parents=True)
    if settings:
        (home / ".gemini" / "settings.json").write_text(settings)
    questions: list[dogu.Question] = []

    async def approve(question: dogu.Question) -> dogu.Approved:
        questions.append(question)
        return dogu.Approved()

    async with dogu.open_runtime(
        dogu.Options(root=str(root), home=str(home), fork_server=shared_fork_server()), confirm=approve
    ) as runtime:
        yield Documented(root, runtime, questions)
