"""What git's arguments run or overwrite: see `programs`."""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES

GIT_ROWS: tuple[Row, ...] = (
    # git: options before the subcommand
    Row("git", "--config-env", _R, "sets configuration, which can name programs to run", is_exact=True),
    Row("git", "--exec-path", _R, "names where git's own programs are taken from", is_exact=True),
    Row(
        "git",
        "--git-dir --work-tree --namespace",
        _R,
        "uses another repository, whose configuration can run programs",
        is_exact=True,
    ),
    # what git does: its subcommands
    Row("git", "-O --open-files-in-pager", _R, "runs a program on the files found", "grep"),
    Row("git", "--ext-diff --textconv", _R, "runs configured programs"),
    Row("git", "--output", _W, "writes a file"),
    Row("git", "-o --output-directory --output", _W, "writes files", "format-patch"),
    Row("git", "-o --output", _W, "writes a file or runs a program", "archive"),
    Row("git", "--exec", _R, "runs a program", "archive"),
    Row("git", "", _R, "runs a configured tool", "difftool"),
    Row("git", "", _R, "runs a configured tool", "mergetool"),
    Row("git", "-x --exec -i --interactive --edit-todo", _R, "runs a program", "rebase"),
    Row("git", "", _R, "runs a command at each step", "bisect run"),
    Row("git", "", _R, "runs a command in each submodule", "submodule foreach"),
    Row("git", "", _R, "clones what a file names", "submodule add"),
    Row("git", "", _R, "runs a command in each repository", "for-each-repo"),
    Row("git", "", _R, "runs commands on the whole history", "filter-branch"),
    Row("git", "", _R, "runs a hook", "hook"),
    Row("git", "", _R, "installs a scheduled job", "maintenance start"),
    Row("git", "", _R, "installs a scheduled job", "maintenance register"),
    Row("git", "", _N, "serves the repository", "daemon"),
    Row("git", "", _N, "serves the repository", "instaweb"),
    Row("git", "", _R, "runs helpers", "credential"),
    Row("git", "", _N, "sends mail", "send-email"),
    Row("git", "", _R, "runs a remote helper", "remote-ext"),
    Row("git", "", _R, "runs a remote helper", "remote-fd"),
    Row("git", "", _R, "opens a program", "gui"),
    Row("git", "", _R, "opens a program", "citool"),
    Row("git", "", _R, "opens a program", "web--browse"),
    Row("git", "--upload-pack -u", _R, "runs a program on the other side, which may be this one", "clone"),
    Row("git", "--template -c --config", _R, "installs hooks or configuration", "clone"),
    Row("git", "--template", _R, "installs hooks", "init"),
    Row("git", "--upload-pack", _R, "runs a program", "fetch"),
    Row("git", "--upload-pack", _R, "runs a program", "pull"),
    Row("git", "--upload-pack --exec", _R, "runs a program", "fetch-pack"),
    Row("git", "--upload-pack --exec", _R, "runs a program", "ls-remote"),
    Row("git", "--receive-pack --exec", _R, "runs a program", "push"),
    Row("git", "--receive-pack --exec", _R, "runs a program", "send-pack"),
    Row(
        "git",
        "-e --edit --add --replace-all --unset --unset-all --rename-section --remove-section",
        _R,
        "changes settings that can name programs",
        "config",
    ),
    Row("git", "--command", _R, "runs a program", "column"),
    Row("git", "", _W, "writes a file", "bundle create"),
    Row("git", "-s --strategy", _R, "runs the program of a strategy", "merge"),
    Row("git", "-s --strategy", _R, "runs the program of a strategy", "pull"),
    Row("git", "-s --strategy", _R, "runs the program of a strategy", "rebase"),
    Row("git", "--strategy", _R, "runs the program of a strategy", "cherry-pick"),
    Row("git", "--strategy", _R, "runs the program of a strategy", "revert"),
    Row("git", "--filters --textconv", _R, "runs configured programs", "cat-file"),
    Row("git", "", _R, "opens an editor", "config edit"),
    Row("git", "", _R, "opens an editor", "notes edit"),
)
