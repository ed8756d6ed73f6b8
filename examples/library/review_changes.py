"""An agent of one's own in forty lines: a tool, a confirmation, streamed events.

python review_changes.py "list files" --model offline
"""

import argparse
import subprocess

import anyio

import dogu


def staged_diff() -> str:
    """Return the change that is staged in git."""
    return subprocess.run(["git", "diff", "--staged"], capture_output=True, text=True, check=False).stdout or "(none)"


async def confirm(question: dogu.Question) -> dogu.Approved | dogu.Declined:
    """Look at edits, and decline everything else."""
    if isinstance(question.confirmation.display, dogu.FileDiff):
        print(question.confirmation.display.unified)
        return dogu.Approved()
    return dogu.Declined("This program only edits files.")


async def main(prompt: str, model: str | None) -> None:
    tools = [dogu.function_tool(staged_diff, kind=dogu.Kind.READ)]
    async with dogu.open_agent(dogu.Options(model=model), confirm=confirm, tools=tools) as opened:
        async with opened.agent.stream(prompt) as events:
            async for event in events:
                match event:
                    case dogu.TextDelta(text=text):
                        print(text, end="", flush=True)
                    case dogu.CallStarted(description=description):
                        print(f"\n[{description}]")
                    case _:
                        pass
        print()


parser = argparse.ArgumentParser()
parser.add_argument("prompt")
parser.add_argument("--model")
arguments = parser.parse_args()
anyio.run(main, arguments.prompt, arguments.model)
