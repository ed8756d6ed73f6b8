"""The shell tool's document (Simplified Chinese), sentence by sentence."""

from requirement_entry import Requirement


def _zh(section: str) -> tuple[str, ...]:
    return (f"shell tool (zh-CN) {section}",)


_RESULT, _NOTES, _LIMITS = "use", "important notes", "command restrictions"

RUNNING = {
    "shell.purpose": Requirement(
        _zh("description"), "run_shell_command works with the system, runs scripts and does what a command line does."
    ),
    "shell.runs_command": Requirement(_zh("description"), "It runs the shell command that it is given."),
    "shell.windows": Requirement(
        _zh("description"),
        "On Windows the command is run by cmd.exe /c.",
        divergence="With /d /e:on /v:off /s, so that the user's registry changes nothing; tried under Wine alone.",
    ),
    "shell.bash": Requirement(_zh("description"), "On other platforms the command is run by bash -c."),
    "shell.command": Requirement(_zh("parameters"), "command (string, required) is the exact shell command."),
    "shell.description": Requirement(
        _zh("parameters"), "description (string, optional) says briefly what it is for and is shown to the person."
    ),
    "shell.directory": Requirement(
        _zh("parameters"),
        "directory (string, optional) is where it runs, relative to the project's root.",
        divergence="An absolute path inside the workspace is accepted too.",
    ),
    "shell.directory.default": Requirement(_zh("parameters"), "Without directory it runs in the project's root."),
    "shell.subprocess": Requirement(_zh(_RESULT), "The command runs as a child process."),
    "shell.background": Requirement(_zh(_RESULT), "It can start background processes with &."),
    "shell.result.command": Requirement(_zh(_RESULT), "The result's Command is the command that was run."),
    "shell.result.directory": Requirement(_zh(_RESULT), "The result's Directory is where it was run."),
    "shell.result.stdout": Requirement(_zh(_RESULT), "The result's Stdout is what standard output got."),
    "shell.result.stderr": Requirement(_zh(_RESULT), "The result's Stderr is what standard error got."),
    "shell.result.error": Requirement(
        _zh(_RESULT),
        "The result's Error is any error that the child process reported.",
        divergence="Also what dogu did: a time-out, what the sandbox stopped.",
    ),
    "shell.result.exit_code": Requirement(_zh(_RESULT), "The result's Exit Code is the command's."),
    "shell.result.signal": Requirement(_zh(_RESULT), "The result's Signal is the signal that ended it, if one did."),
    "shell.result.background_pids": Requirement(
        _zh(_RESULT), "The result's Background PIDs are those of the background processes it started."
    ),
    "shell.call": Requirement(_zh(_RESULT), "It is called with command, description and directory."),
    "shell.example.list": Requirement(_zh("examples"), 'command="ls -la" lists the files of the current directory.'),
    "shell.example.script": Requirement(
        _zh("examples"), 'command="./my_script.sh", directory="scripts" runs a script in that directory.'
    ),
    "shell.example.background": Requirement(
        _zh("examples"),
        'command="npm run dev &" starts a server in the background.',
        divergence="As above: `dogu call` and `dogu -p` end it with themselves, and say so.",
    ),
    "shell.note.caution": Requirement(
        _zh(_NOTES),
        "Commands, above all those built from a user's input, are run with care: a person sees them first.",
        divergence="What only reads, by a grammar of known programs, isn't asked about.",
    ),
    "shell.note.interactive": Requirement(
        _zh(_NOTES),
        "Commands that wait for a person's input are to be avoided, and flags like npm init -y used.",
        divergence="They can't hang the tool either: standard input is closed and there is no terminal, but for `pty`.",
    ),
    "shell.note.errors": Requirement(_zh(_NOTES), "Stderr, Error and Exit Code tell whether the command succeeded."),
    "shell.note.background": Requirement(
        _zh(_NOTES),
        "With & the tool returns at once and the process goes on; Background PIDs holds its id.",
        divergence="The process lives until the session ends, unless it is kept; what became of it is told.",
    ),
    "shell.env.gemini_cli": Requirement(
        _zh("environment variables"),
        "GEMINI_CLI=1 is in the environment of the command, so that scripts can tell.",
        divergence="And DOGU=1; variables that hold dogu's own keys are left out.",
    ),
}

LIMITS = {
    "shell.limit.settings": Requirement(
        _zh(_LIMITS), "coreTools and excludeTools in the settings limit which commands may run."
    ),
    "shell.limit.core": Requirement(
        _zh(_LIMITS), 'run_shell_command(<command>) in coreTools limits commands: with "(git)" only git runs.'
    ),
    "shell.limit.core.wildcard": Requirement(
        _zh(_LIMITS), "run_shell_command in coreTools is a wildcard: any command runs that isn't blocked."
    ),
    "shell.limit.exclude": Requirement(
        _zh(_LIMITS), 'run_shell_command(<command>) in excludeTools blocks commands: "(rm)" blocks rm.'
    ),
    "shell.limit.chains": Requirement(
        _zh(_LIMITS),
        "A command chained by &&, || or ; is split; one part that isn't allowed blocks the whole.",
        divergence="Also pipes, &, new lines, subshells, substitutions, and what env, xargs, bash -c and their kin run.",
    ),
    "shell.limit.prefix": Requirement(
        _zh(_LIMITS),
        "A rule is a prefix: git allows git status and git log.",
        divergence="A prefix of words, not of characters: git doesn't allow gitevil.",
    ),
    "shell.limit.deny_first": Requirement(_zh(_LIMITS), "excludeTools is looked at first and wins over coreTools."),
    "shell.limit.example.allow_two": Requirement(
        _zh("restriction examples"), "Core git and npm: git status and npm install run, ls -l is blocked."
    ),
    "shell.limit.example.block_rm": Requirement(
        _zh("restriction examples"),
        "Core the wildcard, exclude rm: rm -rf / is blocked, git status and npm install run.",
    ),
    "shell.limit.example.deny_first": Requirement(
        _zh("restriction examples"),
        "Core git, exclude git push: git push origin main is blocked, git status runs.",
    ),
    "shell.limit.example.block_all": Requirement(
        _zh("restriction examples"),
        "Exclude the wildcard: ls -l and any other command are blocked.",
        divergence="The tool isn't there then; a call of it is refused with the list's file and line.",
    ),
    "shell.limit.exclude_is_no_boundary": Requirement(
        _zh("security of excludeTools"),
        "Commands in excludeTools are matched as text and easily got around: no security mechanism, and said to be none.",
        divergence="Commands are judged by bash's grammar, which closes the easy ways; interpreters keep it no boundary.",
    ),
    "shell.limit.core_is_advised": Requirement(
        _zh("security of excludeTools"), "coreTools is the way to choose which commands may run."
    ),
}

SHELL_TOOL = {**RUNNING, **LIMITS}
