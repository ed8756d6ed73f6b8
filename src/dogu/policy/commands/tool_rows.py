"""What the arguments of builders, languages and package managers run or overwrite: see `programs`."""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES


def _under(programs: str, subcommands: str, effect: Effect, reason: str) -> tuple[Row, ...]:
    """Make a row for each of the subcommands."""
    return tuple(Row(programs, "", effect, reason, each) for each in subcommands.split())


TOOL_ROWS: tuple[Row, ...] = (
    # builders
    Row("cmake", "-P -C --toolchain --open", _R, "runs a script or opens a program", is_exact=True),
    Row("cmake", "-E --install", _R, "runs a command or writes files", is_exact=True),
    Row("ctest", "-S -SP --script --build-and-test --build-makeprogram", _R, "runs a script", is_exact=True),
    Row("ninja", "-f -t", _R, "takes its rules from elsewhere, or runs a tool"),
    Row("meson", "--native-file --cross-file", _R, "names compilers to run"),
    *_under("meson", "devenv install", _R, "runs a command or installs files"),
    Row(
        "bazel bazelisk",
        "--bazelrc --output_user_root --output_base --run_under --server_javabase --host_jvm_args "
        "--override_repository",
        _R,
        "changes what runs, or where it is kept",
    ),
    Row("just", "--shell --shell-arg -f --justfile -c --command -d --working-directory --choose", _R, "runs a command"),
    Row("task", "-t --taskfile -d --dir", _R, "takes its tasks from elsewhere"),
    Row("scons", "-f --file -C --directory --site-dir", _R, "takes its rules from elsewhere"),
    Row("ant", "-f -file -buildfile -lib -listener -logger -propertyfile", _R, "loads code", is_exact=True),
    Row(
        "rake",
        "-f --rakefile -e --execute --execute-print --execute-continue -r --require -I --libdir -R --rakelibdir",
        _R,
        "loads code",
    ),
    Row(
        "mvn mvnw",
        "-f --file -s --settings -gs --global-settings -t --toolchains -l --log-file -Dmaven.ext.class.path "
        "-Dexec.executable exec:* org.* com.* io.*",
        _R,
        "runs a plugin, or takes its settings from elsewhere",
        is_exact=True,
    ),
    *_under("mvn mvnw gradle gradlew", "deploy publish", _N, "publishes"),
    Row(
        "gradle gradlew",
        "-I --init-script -b --build-file -p --project-dir -g --gradle-user-home -c --settings-file --include-build "
        "--project-cache-dir -Dorg.gradle.jvmargs -Dorg.gradle.java.home",
        _R,
        "takes its rules from elsewhere",
        is_exact=True,
    ),
    # languages
    Row(
        "java javac javadoc jar",
        "-javaagent* -agentpath* -agentlib* -XX:OnError* -XX:OnOutOfMemoryError* -XX:Flags* -XX:VMOptionsFile* -J* @* "
        "-processor -processorpath --processor-path -Xplugin*",
        _R,
        "loads code or runs a program",
        is_exact=True,
    ),
    Row("rustc rustdoc", "-Clinker* linker=* -Clink-arg* link-arg* --runtool -Z* -o --out-dir", _R, "runs a program"),
    *_under("rustup", "toolchain override self default", _N, "changes which compiler runs"),
    Row("ghc ghci runghc", "-e -pgm* -F -fplugin*", _R, "runs code or a program", is_exact=True),
    Row("ocaml", "-e -init -open", _R, "runs code", is_exact=True),
    Row("tsx ts-node", "-e --eval -p --print -r --require --import --loader -C --compiler", _R, "runs or loads code"),
    Row("ts-node-dev nodemon", "-r --require -x --exec", _R, "runs a program"),
    Row("esbuild", "--plugin --outfile --outdir --servedir", _W, "writes files"),
    Row("ipython jupyter", "-c -m -i --ext --config", _R, "runs code"),
    *_under("jupyter", "notebook lab server console nbconvert", _R, "runs code"),
    Row("clojure clj", "-M -X -T -e -i -Sdeps -J*", _R, "runs code", is_exact=True),
    Row("irb pry", "", _R, "runs code that is typed"),
    Row("m4", "", _R, "its macros run programs"),
    Row("dc", "-e --expression", _R, "its programs run others"),
    Row("mix", "-e --eval -r --require", _R, "runs code"),
    Row("swift", "-e -load-plugin-library -load-plugin-executable", _R, "runs or loads code", is_exact=True),
    *_under("dotnet", "exec tool script fsi msbuild", _R, "runs a program"),
    *_under("dotnet", "nuget", _N, "publishes or changes settings"),
    Row("coverage", "--rcfile", _R, "runs a module, or loads plugins"),
    Row("mypy", "--config-file --python-executable --install-types --custom-typeshed-dir", _R, "runs or loads code"),
    Row("mypy", "--junit-xml --html-report --xml-report --txt-report --cache-dir", _W, "writes files"),
    Row("flake8", "--config --append-config --output-file --tee", _R, "loads code or writes a file"),
    Row("pylint", "--load-plugins --init-hook --rcfile --output", _R, "loads code"),
    Row("sphinx-build", "-c -D -C", _R, "takes its configuration, which is code, from elsewhere"),
    Row(
        "gcc g++ cc c++ clang clang++ cpp as",
        "-Xclang -MF -save-temps* -dumpdir -dumpbase @*",
        _R,
        "loads code or writes files",
        is_exact=True,
    ),
    Row("cpp as", "-wrapper -B -fplugin* -specs* -o", _R, "runs a program, loads code or writes a file", is_exact=True),
    Row(
        "clang-tidy clang-check",
        "-load --load -fix --fix -fix-errors --config-file",
        _R,
        "loads code or rewrites files",
        is_exact=True,
    ),
    Row("nm objdump ar ranlib size", "--plugin", _R, "loads code"),
    Row("objcopy strip mkfifo mknod rename mmv", "", _W, "writes files"),
    Row("ctags", "-f -o --options --optlib-dir --_xformat", _W, "writes a file"),
    Row(
        "go",
        "-coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -test.outputdir",
        _W,
        "writes a file",
        is_exact=True,
    ),
    # formatters that rewrite when told to
    Row("clang-format yapf autopep8 gofmt goimports shfmt", "-i --in-place -w --write --inplace", _W, "rewrites files"),
    Row("rubocop", "-a -A --autocorrect --autocorrect-all --auto-correct -r --require", _W, "rewrites files"),
    Row(
        "stylelint biome oxlint",
        "--fix --write --apply --custom-formatter --config",
        _W,
        "rewrites files or loads code",
    ),
    Row("exiftool", "= -if -execute -config", _W, "rewrites files or runs code"),
    # packages
    Row(
        "npm",
        "--git --shell --browser --viewer --node-gyp --editor --init-module --cache",
        _R,
        "names a program to run",
    ),
    Row("pnpm", "--dir -C", _R, "works in another folder"),
    *_under("yarn", "plugin node", _R, "loads or runs code"),
    Row(
        "deno",
        "--cwd -c --config --import-map --preload http* npm:* jsr:*",
        _R,
        "takes code or settings from elsewhere",
    ),
    *_under("uv", "tool python self", _R, "installs or runs programs"),
    Row("uv", "--directory --project --script", _R, "works in another project"),
    *_under("poetry", "config self publish shell", _R, "changes settings, publishes, or starts a shell"),
    Row("poetry", "-C --directory -P --project", _R, "works in another project"),
    *_under("pipenv hatch pdm rye", "shell publish config", _R, "starts a shell or changes settings"),
    *_under("gem", "exec push", _R, "runs or publishes code"),
    *_under("bundle bundler", "config open console plugin", _R, "changes settings, or runs code"),
    *_under("luarocks nuget", "install push", _R, "installs or publishes code"),
    Row("composer", "-d --working-dir", _R, "works in another project"),
    *_under("composer", "global config", _R, "changes settings, or installs programs"),
    *_under("twine", "upload register", _N, "publishes"),
    *_under("nix", "develop shell run build eval profile repl", _R, "runs what a file says"),
    *_under("guix", "shell environment install build repl", _R, "runs what a file says"),
    *_under("direnv", "allow exec edit", _R, "runs what a file says"),
    *_under(
        "apt apt-get aptitude dnf yum apk zypper brew port snap flatpak conda mamba micromamba pkg",
        "install remove purge upgrade dist-upgrade full-upgrade autoremove add del build-dep source download reinstall "
        "uninstall tap edit run override changelog localinstall",
        _R,
        "installs or runs programs",
    ),
    Row("apt apt-get aptitude", "-o --option -c --config-file", _R, "sets configuration that can name programs"),
    Row("pacman", "-S -U -R -D --sync --upgrade --remove --hookdir --config", _R, "installs programs"),
    Row(
        "dpkg dpkg-deb",
        "-i --install -r --remove -P --purge --unpack --configure -x -X --extract -e -R -b --build --pre-invoke "
        "--post-invoke --root --admindir",
        _R,
        "installs programs or writes files",
    ),
    Row(
        "rpm",
        "-i -U -F -e --install --upgrade --erase --eval -E --pipe --import -D --define --root",
        _R,
        "installs or runs programs",
    ),
    Row("rpmbuild flatpak-builder snapcraft", "", _R, "runs what a file says"),
)
