"""What the arguments of JavaScript's tools, test runners and linters run or overwrite: see `programs`."""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES


def _under(programs: str, subcommands: str, effect: Effect, reason: str) -> tuple[Row, ...]:
    """Make a row for each of the subcommands."""
    return tuple(Row(programs, "", effect, reason, each) for each in subcommands.split())


SCRIPT_ROWS: tuple[Row, ...] = (
    # node, deno, bun
    Row(
        "node nodejs",
        "--cpu-prof-dir --heap-prof-dir --report-directory --trace-event-file-pattern --tls-keylog --icu-data-dir",
        _W,
        "writes a file",
    ),
    *_under("deno", "compile upgrade publish jupyter", _R, "installs or runs programs"),
    Row("deno", "--allow-write --eval -P --permission-set -", _R, "may run programs", is_exact=True),
    *_under("bun", "init upgrade publish link patch", _R, "fetches and runs code"),
    Row(
        "bun",
        "--preload -r --require --import --cwd --config -c -g --global --outfile --outdir --compile -",
        _R,
        "changes what runs, or where",
        is_exact=True,
    ),
    # package managers
    *_under(
        "npm",
        "access adduser deprecate dist-tag hook login logout owner profile star team token unstar",
        _N,
        "changes what is published",
    ),
    Row("npm", "-C --registry --pack-destination --script-sh", _R, "changes what runs, or where", is_exact=True),
    Row("npm", "", _R, "changes settings", "config fix"),
    Row("npm", "", _R, "changes settings", "c set"),
    Row("npm", "", _R, "changes what scripts run", "pkg delete"),
    Row("npm", "", _R, "changes what scripts run", "pkg fix"),
    Row("yarn", "--cwd --modules-folder --use-yarnrc --filename", _R, "changes what runs, or where"),
    *_under("yarn", "global policies login logout tag owner npm", _N, "changes what is published"),
    Row("yarn", "", _R, "changes settings", "config unset"),
    *_under("pnpm", "deploy env self-update setup", _R, "installs or runs programs"),
    *_under("lerna", "exec publish", _R, "runs programs"),
    Row("turbo nx", "--cwd", _R, "works in another project"),
    Row("turbo", "", _R, "runs code", "gen"),
    # builders and test runners
    Row("jest vitest mocha ava playwright cypress", "--config -c --config-file -C", _R, "loads code"),
    Row(
        "jest",
        "--reporters --testRunner --runner --setupFiles --setupFilesAfterEnv --transform --env --testEnvironment "
        "--rootDir --globalTeardown --resolver --testSequencer",
        _R,
        "loads code",
        is_exact=True,
    ),
    Row("jest vitest", "--outputFile --coverageDirectory --cacheDirectory", _W, "writes files", is_exact=True),
    Row("vitest", "--root --reporter --globalSetup --environment --dir", _R, "loads code", is_exact=True),
    Row("mocha", "--reporter -R --ui -u --import --loader -O --reporter-option", _R, "loads code", is_exact=True),
    *_under("playwright", "install codegen open show-trace", _R, "installs or runs programs"),
    Row("cypress", "", _R, "opens a program", "open"),
    Row("tsc", "--outDir --outFile --declarationDir --tsBuildInfoFile", _W, "writes files"),
    Row("babel swc", "-o --out-file -d --out-dir --plugins --presets --config-file", _R, "loads code or writes a file"),
    Row("rollup webpack vite", "--file --dir --outDir --output-path -p", _R, "loads code or writes a file"),
    # linters and formatters
    Row(
        "eslint",
        "-f --format --init --cache-location --cache-file --ignore-path --no-eslintrc",
        _R,
        "loads code or writes files",
        is_exact=True,
    ),
    Row("prettier", "-w --plugin-search-dir", _R, "loads code or writes files", is_exact=True),
    Row("stylelint", "--custom-syntax -o --output-file", _R, "loads code or writes files"),
    Row("biome", "--config-path", _R, "takes its rules from elsewhere"),
    Row("standard xo rome", "--fix --write", _W, "rewrites files"),
    Row("ruff", "--config -o --output-file", _W, "takes its rules from elsewhere"),
    Row(
        "black isort bandit yapf",
        "--config --settings-path --settings-file --sp --ini -c -o",
        _W,
        "takes its rules from elsewhere",
    ),
    Row("mypy", "--shadow-file", _R, "loads code"),
    Row("pyright", "-p --project --pythonpath -v --venvpath", _R, "names a program to run"),
    Row("golangci-lint", "-c --config --fix", _R, "takes its rules from elsewhere"),
    *_under("golangci-lint", "custom fmt", _W, "rewrites files"),
    Row("rspec", "-r --require -I -o --out -O --options", _R, "loads code or writes a file"),
    Row(
        "phpunit",
        "--bootstrap -c --configuration --log-junit --coverage-html --prepend",
        _R,
        "loads code or writes files",
    ),
    Row("phpstan psalm", "-c --configuration -a --autoload-file", _R, "loads code"),
)
