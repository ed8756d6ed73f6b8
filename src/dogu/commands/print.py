"""`dogu -p`: one answer, without a person."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dogu.app import Options, open_agent, read_settings
from dogu.commands.running import run_async, tell
from dogu.language import say

if TYPE_CHECKING:
    from argparse import Namespace

    from dogu.app import Opened


def run(options: Options, space: Namespace) -> int:
    """Answer one prompt without a person; piped input joins the prompt."""
    from dogu.agent.slash import Said, Send
    from dogu.app.model_choice import open_model
    from dogu.serve.print import OutputFormat, print_answer

    prompt = _prompt(space)
    if not prompt.strip():
        if space.print is None and not space.question and not sys.stdin.isatty() and space.output_format == "text":
            from dogu.commands import tour

            return tour.run(options, space)
        tell([say("The prompt is empty: dogu -p 'question', or pipe it in.")])
        return 42
    model = open_model(read_settings(options).model)
    if model.name == "offline" and options.model != "offline":
        tell([_no_model()])
        return 41

    async def answer() -> int:
        async with open_agent(options, model=model) as opened:
            tell(opened.runtime.notes)
            told = len(opened.runtime.notes)
            if (command := _slash_command(opened, prompt)) is None:
                content = await opened.read_prompt(prompt)
            else:
                match await opened.slash.run(command):
                    case Said(text=text):
                        print(text)
                        return 0
                    case Send(content=content):
                        pass
            output_format = OutputFormat(space.output_format)
            status = await print_answer(opened.agent, content, output_format, opened.session_id)
            tell(opened.runtime.notes[told:])
            return status

    return run_async(answer)


def _slash_command(opened: Opened, prompt: str) -> str | None:
    """What stands after the slash when the prompt is a `/` command; a path is none."""
    is_command = prompt.startswith("/") and opened.slash.get(prompt[1:].partition(" ")[0]) is not None
    return prompt[1:].strip() if is_command else None


def _no_model() -> str:
    return say(
        "No model is connected. Set GEMINI_API_KEY, or name a local model in ~/.dogu/settings.json "
        "(\"model\"), or try the one that works without a network: dogu --model offline -p 'list files'"
    )


def _prompt(space: Namespace) -> str:
    parts = [space.print] if space.print is not None else [" ".join(space.question)]
    if not sys.stdin.isatty():
        parts.append(sys.stdin.buffer.read().decode("utf-8", "replace"))
    return "\n\n".join(part for part in parts if part.strip())
