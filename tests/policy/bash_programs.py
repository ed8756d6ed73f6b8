"""Shell programs by chance, and what shells run of them, among programs that only write down their names."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from policy.bash_tricks import COMPUTED, GRAMMAR, SECOND_ORDER, TEXTS

NAMES = ("aa", "bb", "git", "rm")
_WRAPPERS = ("env", "nice", "nohup", "timeout", "xargs", "find", "sh", "bash", "setsid", "stdbuf", "true", "cat")
_STUB = """#!/bin/sh
echo "${{0##*/}}" >> {log}
"""
_RUN = 'ulimit -t 2 -f 2000 2>&-; exec bash -c "$0"'
_OTHER_SHELLS = {"dash": "dash", "ash": "busybox", "zsh": "zsh", "mksh": "mksh", "yash": "yash"}  # name: program
_NOBODY = 65534


class Playground:
    """An empty folder and a PATH on which nothing harmful stands."""

    def __init__(self, bash: str) -> None:
        folder = Path(tempfile.mkdtemp(prefix="dogu-shells-"))
        folder.chmod(0o755)
        self._folder = folder
        self._user = _NOBODY if os.geteuid() == 0 else None  # never root: what runs was made by chance
        self._programs = folder / "programs"
        self._work = folder / "work"
        self._log = folder / "log"
        self._bash = bash
        self._programs.mkdir(parents=True)
        for name in NAMES:
            stub = self._programs / name
            stub.write_text(_STUB.format(log=self._log))
            stub.chmod(0o755)
        for name in _WRAPPERS:
            found = shutil.which(name)
            if found:
                (self._programs / name).symlink_to(found)
        self.shells = ["sh"]
        for name, program in _OTHER_SHELLS.items():
            found = shutil.which(program)
            if found:
                (self._programs / name).symlink_to(found)
                self.shells.append(name)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, text: str) -> tuple[set[str], str]:
        """Return the names of the stubs that ran, and what bash printed as errors."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir()
        self._log.write_text("")
        self._work.chmod(0o777)
        self._log.chmod(0o666)
        process = subprocess.Popen(
            [self._bash, "-c", _RUN, text],
            cwd=self._work,
            env={"PATH": str(self._programs), "FUNCNEST": "8", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            user=self._user,
        )
        errors = b""
        try:
            errors = process.communicate(timeout=2)[1]
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.communicate()
        return set(self._log.read_text().split()) & set(NAMES), errors.decode(errors="replace")


class Programs:
    """Makes programs: no loop without an end, no function that calls one."""

    def __init__(self, seed: int, shells: Sequence[str] = ("sh",)) -> None:
        self._random = random.Random(seed)
        self._shells = shells
        self._bodies = 0

    def program(self) -> str:
        """Return a program, sometimes with a character too many."""
        text = self._trick() if self._chance(0.4) else self._list(3)
        if self._chance(0.25):
            text = self._garbled(text)
        return text

    def _trick(self) -> str:
        """Return one of the ways to run what stands in data, alone or among other commands."""
        trick = self._random.choice(self._random.choice((SECOND_ORDER, COMPUTED, TEXTS, GRAMMAR, GRAMMAR)))
        name = self._name() if self._chance(0.5) else self._random.choice(NAMES)
        text = trick.format(name=name, inner=self._list(self._random.choice((0, 0, 1))))
        if self._chance(0.2):
            text = self._one_of("({}\n)", "{{ {}\n}}", "if :; then {}\nfi", "eval {}", "bash -c {}").format(
                text if self._chance(0.5) else self._quoted(text)
            )
        if self._chance(0.2):
            text = f"{self._list(1)}{self._one_of('; ', ' && ', ' | ', chr(10))}{text}"
        return text

    def program_for_another(self) -> str:
        """Return a program that another shell than bash will read."""
        text = self._list(self._random.choice((0, 1, 2)))
        for _ in range(self._random.choice((0, 1, 1, 2))):
            text = self._misunderstood(text)
        if self._chance(0.15):
            text = self._garbled(text)
        return f"{self._one_of(*self._shells)} -c {self._quoted(text)}"

    def _misunderstood(self, text: str) -> str:
        """Put in something that shells read differently."""
        at = self._random.choice([0, len(text), *(place for place, each in enumerate(text) if each in " ;|&\n")])
        name = self._random.choice(NAMES)
        extra = self._one_of(
            f"(({name}))", f"(( {name}", "))", "[[ a && ", " ]]", "$[ 1; ", " ]", "$'", "\\'", '$"', "{a,b}", "{1..2}", " 10>f ", "{v}>f ",
            " &>f ", " >&f ", "|& ", " <<<x ", "<(", f"={name} ", "=", "time -f x ", "time - ", "- ", "noglob ", "repeat 1 ", "function ",
            "select i in a; do ", ";& ", "a+=1 ", "a[1]=x ", "a.b=1 ", "1=x ", "a=(x) ", ">! f ", ">| f ", "! ! ", "~+ ", "$x[1] ", "${(e)x}",
            "${:-x}", '"${x:-"', '"}"', "${x:-{a}}", "${x/a/b}", "${ ", "; }", "} ", "{ ", " always { ", "env -u {a,b} ", "nice -n 1 ", "\\\n",
            "`echo \\`", "#", " #", "set -k; ", "set +B; ", "set -o posix; ", "command ", "exec ", "builtin ", "emulate sh -c ", "eval ",
            "coproc ", "foreach i (a) ", "if (true) ", "while (false) ", "()", "() ", "=(", "*(e:'x':)", "@(a|b)", "!(x)", "redirect ", "; ",
            "nice {-n,5} ", "$((", ") )", "$=x ", "$~x ", "<<E\n", "\nE\n", "<<-E\n", "&| ", "&! ", "a ", "env ", "env -S '", "$x:s/a/b/ ",
        )  # fmt: skip
        return text[:at] + extra + text[at:]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _one_of(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _list(self, depth: int) -> str:
        count = self._random.choice((1, 1, 1, 2, 2, 3))
        parts = [self._pipeline(depth)]
        for _ in range(count - 1):
            parts.append(
                self._one_of(" && ", " || ", "; ", "\n", " & ", "&&", ";", " \\\n&& ", "&&\n", " # x\n", "\n\n")
            )
            parts.append(self._pipeline(depth))
        return "".join(parts)

    def _pipeline(self, depth: int) -> str:
        commands = [self._command(depth) for _ in range(self._random.choice((1, 1, 1, 1, 2)))]
        start = self._one_of("", "", "", "", "! ", "time ", "time -p ", "! time ")
        return start + self._one_of(" | ", "|", " |& ", "|\n").join(commands)

    def _command(self, depth: int) -> str:
        if depth <= 0 or self._chance(0.5):
            return self._simple(depth)
        return self._random.choice(self._compounds())(depth - 1)

    def _compounds(self) -> list[Callable[[int], str]]:
        inner = self._list
        word = self._word
        return [
            lambda d: f"({inner(d)})",
            lambda d: f"( {inner(d)} )",
            lambda d: f"{{ {inner(d)}; }}" + self._one_of("", " >f", " 2>&1"),
            lambda d: f"{{ {inner(d)}\n}}",
            lambda d: f"if {inner(d)}; then {inner(d)}; fi",
            lambda d: f"if false; then {inner(d)}; elif {inner(d)}\nthen {inner(d)}; else {inner(d)}; fi",
            lambda d: f"for i in {word(d)} {word(d)}; do {inner(d)}; done",
            lambda d: f"for i in 1\ndo {inner(d)}\ndone",
            lambda d: f"for ((i=0;i<1;i++)); do {inner(d)}; done",
            lambda d: f"while :; do {inner(d)}; break; done",
            lambda d: f"while {inner(d)}; do break; done",
            lambda d: f"case {word(d)} in {word(d)}) {inner(d)};; (*) {inner(d)};; esac",
            lambda d: f"case a in a) {inner(d)} ;& b|c) {inner(d)}\nesac",
            self._function,
            lambda d: f"coproc {self._one_of('', 'N ')}{{ {inner(d)}; }}; wait",
            lambda d: f"coproc {self._simple(d)}\nwait",
            lambda d: f"[[ {word(d)} == {word(d)} ]]",
            lambda d: f"[[ -n {word(d)} && {word(d)} =~ {self._one_of('a', '(a|b)', 'a(b|c)*')} ]] && {inner(d)}",
            lambda d: f"(( {self._arithmetic(d)} ))",
            lambda d: f"(({inner(d)}))",
            lambda d: f"(({inner(d)}) )",
            lambda d: f"eval {self._quoted(inner(d))}",
            lambda d: f"trap {self._quoted(inner(d))} EXIT",
            lambda d: f"{self._one_of('bash', 'sh')} {self._one_of('', '-e ')}-c {self._quoted(inner(d))}",
            lambda d: f"bash <<'E'\n{inner(d)}\nE",
            lambda d: f"{self._name()} <<E\n{self._expansion(d)} x\nE",
            lambda d: f"cat <<-'E' | {self._simple(d)}\n\tx\n\tE",
            lambda d: f"cat <<A <<B\n{self._expansion(d)}\nA\n{self._one_of('x', self._expansion(d))}\nB",
            lambda d: f'cat <<"E F"; {self._simple(d)}\n{self._expansion(d)}\nE F',
            lambda d: f"cat <<E\\\n{self._one_of('X', '')}\nq\nE{self._one_of('X', '')}\n{self._simple(d)}",
            lambda d: f"cat <<E\nq\\\nE\n{self._simple(d)}\nE",
            lambda d: f"a=({word(d)} [1]={word(d)}) {self._simple(d)}",
            lambda d: f"a[{word(d)}]={word(d)} {self._simple(d)}",
            lambda d: f"a=(['$({inner(d)})']={word(d)}); {self._simple(d)}",
            lambda d: f"a['$({inner(d)})']=1 {self._simple(d)}",
            lambda d: f"[[ {self._one_of('<', '>')}({inner(d)}) == {word(d)} ]]",
            lambda d: f"[[ {word(d)} {self._one_of('<', '>', '=~', '!=', '-eq', '-nt')} {word(d)} || {word(d)} ]]",
        ]

    def _function(self, depth: int) -> str:
        if self._bodies:
            return self._simple(depth)
        self._bodies += 1
        name = f"f{self._random.randrange(100)}"
        body = (
            f"{name}() {{ {self._list(depth)}; }}"
            if self._chance(0.5)
            else f"function {name} {{ {self._list(depth)}\n}}"
        )
        self._bodies -= 1
        return f"{body}; {name}"

    def _simple(self, depth: int) -> str:
        words = [self._name() if self._chance(0.7) else self._wrapped(depth)]
        words += [self._word(depth) for _ in range(self._random.choice((0, 0, 1, 2)))]
        if self._chance(0.15):
            words.insert(
                0, self._one_of("A=1", f"A={self._word(depth)}", "A+=1", ">f", "2>&1", "<<<x", "{v}>f", "A='x y'")
            )
        if self._chance(0.15):
            place = self._random.randrange(len(words) + 1)
            words.insert(place, self._one_of(">f", "2>/dev/null", ">>f", f"<<<{self._word(depth)}", "&>f", "<f", ">|f"))
        return self._one_of(" ", " ", " ", "  ", "\t", " \\\n").join(words)

    def _wrapped(self, depth: int) -> str:
        start = self._one_of(
            "env", "env -i PATH=$PATH", "env A=1 -", "env -u A", "env A=1", "nice", "nice -n 5", "nice -5", "nohup", "timeout 1",
            "timeout -s KILL 1", "command", "command --", "command", "builtin command", "exec", "exec -a x",
            "exec -la x", "eval", "builtin eval", "xargs <<< x", "xargs -n1 <<<x", "xargs -rn 1 <<< x", "xargs -I{} <<<x", "setsid",
            "stdbuf -oL", "env env", "command env", "\\env", "env -S", "env --", "xargs -0 -- <<< x", "find . -maxdepth 0 -exec",
            "coproc", "if", "then", "time", "!", "{", "function", "do", "[", "test", "[[",
        )  # fmt: skip
        end = self._one_of(" {} +", " \\;", " ';'") if start.startswith("find") else ""
        return f"{start} {self._name()}{end}"

    def _name(self) -> str:
        name = self._random.choice(NAMES)
        if self._chance(0.6):
            return name
        first, rest = name[0], name[1:]
        octal = "".join(f"\\{ord(c):o}" for c in name)
        return self._one_of(
            f"'{name}'", f'"{name}"', f"\\{name}", f"{first}''{rest}", f'{first}""{rest}', f"$'{name}'", f"$'{octal}'",
            f"$'\\x{ord(first):x}'{rest}", f"$'\\u{ord(first):04x}{rest}'", f"{first}\\\n{rest}", f"{first}\\{rest}", f'$"{name}"',
            f"{{{name},x}}", f"{first}{{{rest},y}}", f"{first}$@{rest}", f"{first}$z{rest}", f"$z{name}", f"$(echo {name})",
            f"`echo {name}`", f"${{z:-{name}}}", f"{first}?", f"[{first}]{rest}", f"{first}*", f"{name}\\\n", f"${{z}}{name}",
            f"'{first}'\"{rest}\"", "$'\\c?'", f"$'{first}\\{rest}'", f"{{{first}..{first}}}{rest}", f"{{x,{name}}}", f"{{,}}{name}",
            f'"{first}"{rest}', f"{name[:-1]}\\\n{name[-1]}", f"$'{name}\\0zz'",
        )  # fmt: skip

    def _word(self, depth: int) -> str:
        if depth > 0 and self._chance(0.45):
            return self._expansion(depth - 1)
        return self._one_of(
            "x", "'a b'", '"a b"', "a\\ b", "-n", "1", "a\\;b", "'$(rm)'", "'`rm`'", "\\$x", '"\\$(rm)"', "#x", "a#b",
            "{a,b}", "*", "~", "=", "a=b", "''", '""', "$x", '"$x"', "${x}", "$((1+1))", "$'a\\'b'", "';'", "'#'", "--", "-", "[a]",
            "\\\n", "a\\\nb", "$", "$$", "${#x}", "'\\'", '"\\\\"', "'\n'", "x\\#", "!", "then", "done", "}", "]]", "in", "esac",
        )  # fmt: skip

    def _expansion(self, depth: int) -> str:
        inner = self._list(depth) if depth > 0 else self._simple(0)
        flat = inner if "`" not in inner and "\\" not in inner else self._name()
        flat = flat if "`" not in flat and "\\" not in flat else "rm"
        word = self._one_of("x", "'x'", "a b")
        return self._one_of(
            f"$({inner})", f'"$({inner})"', f"$( {inner} )", f"$({inner}\n)", f"`{flat}`", f'"`{flat}`"', f"a$({inner})b",
            f"${{x:-$({inner})}}", f'"${{x:-$({inner})}}"', f"${{x:-{word}$({inner})}}", f"${{x#$({inner})}}", f"${{x/$({inner})/}}",
            f"<({inner})", f">({inner})", f"$(( $({inner}) + 1 ))", f"$[ $({inner}) ]", f"${{x[$({inner})]}}", f"$(({inner}) )",
            f"${{x:$({inner})}}", f"$({inner} # )\n)", f"$(case a in a) {inner};; esac)", f"$\\\n({inner})", f"${{x:-`{flat}`}}",
            f"'$({inner})'".replace("'", "\\'"), f'"\'$({inner})\'"', f'"${{x:-"$({inner})"}}"', f"${{x:-'a' $({inner})}}",
            f"$(cat <<E\n$({inner})\nE\n)", f'"$(cat <<\'E\'\n{word}\nE\n)"', f"${{x:='$y'`{flat}`}}", f"$((x[$({inner})]))",
            f"${{@:-$({inner})}}", f"${{x+}}$({inner})", f'"a `{flat}` b"', f"${{x:-\\}}$({inner})}}", f"${{x:-\"}}\"$({inner})}}",
            f"$(echo ')' ; {inner})", f'$(echo ")"; {inner})', f"$(echo \\); {inner})", f"{{a,$({inner})}}", f"${{!x$({inner})}}",
            f"$(( '$({inner})' ))", f"${{x['$({inner})']}}", f"${{z:'$({inner})'}}", f"$[ '`{flat}`' ]", f"${{x:-'$({inner})'}}",
            f"${{x[@]:'$({inner})'}}", f"${{HOME/'$({inner})'/x}}", f"$((x['`{flat}`']))", f"${{#x['$({inner})']}}",
        )  # fmt: skip

    def _arithmetic(self, depth: int) -> str:
        return self._one_of(
            "1",
            "x+1",
            f"$({self._list(depth)}) + 1",
            f"a[$({self._simple(depth)})]",
            "(1)",
            "1 << 2",
            "x='1'",
            f"'$({self._simple(depth)})'",
        )

    def _quoted(self, text: str) -> str:
        if "'" not in text:
            return f"'{text}'"
        return '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'

    def _garbled(self, text: str) -> str:
        for _ in range(self._random.choice((1, 1, 2))):
            at = self._random.randrange(len(text) + 1)
            extra = self._one_of(
                "\\", "\n", "'", '"', "$", "`", "#", "(", ")", "{", "}", ";", "&", "|", "<", ">", " ", "\t", "\\\n", "$(", "<<E\n", "[", "]",
                "=", "!", "*", "$'", '$"', "${", "((", "))", "\r", "\u00a0", "[[", "]]", "&&", " # ", "esac", " in ", "done", "~", ",", "..",
            )  # fmt: skip
            text = text[:at] + text[at + 1 :] if self._chance(0.35) else text[:at] + extra + text[at:]
        return text


_LOOPS = re.compile(r"\bwhile\b|\buntil\b|\bfunction\b|\(\s*\)|\(\\\n\)")


def is_safe(text: str) -> bool:
    """Whether the program can't define a function or loop and fork in the background at once."""
    background = re.search(r"(?<![&>|<])&(?![&>|])|coproc|\|", text)
    return not (background and _LOOPS.search(text))
