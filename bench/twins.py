"""Random commands beside bare twins: `DOGU_TWINS` (60) runs a rung, `DOGU_SEED` (14) chooses them.

A run is one to three random commands over a small random tree, done by dogu, in layers (the machine's root's, and those
that another user gets) or watched, and by bash alone in a copy: both must leave the same. Then all is undone and
redone, call by call, and each tree on the way must be one that was there before. Prints the commands of each run that
went wrong, by its seed.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.day import environment, tree, without_git
from bench.measure import row

_RUNS, _SEED = int(os.environ.get("DOGU_TWINS", "60")), int(os.environ.get("DOGU_SEED", "14"))
_AS_USER = ("unshare", "-Ur")
_RUNGS = {  # what a command begins with, and what starts it
    "in layers": ("", ()),
    "in a user's layers": ("", _AS_USER),
    "watched": ("setsid true\n", ()),  # what may go on by itself has no layer
}
_FOLDERS = ("a", "b", "c", "a/x", "b/y", "c/z", "a/x/q")
_NAMES = ("f", "g", "h", "i", "F", "-o", "ü", "a b", "n\nl", "\udcff")
_LINKS = ("../a", "g", "/nowhere/else", "a/x", ".", "nowhere", "../b/f")
_PYTHON = 'python3 -c "import ctypes, mmap, os, shutil\ntry:\n {}\nexcept (OSError, ValueError): pass"'
_GIT = "git -c user.name=a -c user.email=b "
# P, O: files; D, E: folders, neither in the other; A, B: either; N: a number; L: what a link leads to; G: git.
_SHELL = (
    "echo N > P",
    "echo N >> P",
    "rm -f P",
    "rm -rf D",
    "mkdir -p D",
    "mv A B",
    "mv -T D E",
    "mv -f P O",
    "cp P O",
    "cp -a D E",
    "ln P O",
    "ln -f P O",
    "ln -f P O; echo N >> O",
    "cp P O; ln -f O P",
    "ln -s L P",
    "chmod 600 A",
    "chmod 444 P",
    "chmod -R g-r D",
    "chown -h 3:3 A",
    "touch P",
    "[ -d P ] || touch -d 2001-02-03 P",
    "sed -i s/1/2/ P",
    "sed -i.bak s/1/x/ P",
    "truncate -s 3 P",
    "truncate -s +5 P",
    "mkfifo P.p",
    "rmdir D",
    "tar cf n.tar a b; rm -rf a; tar xf n.tar; rm n.tar",
    "install P O",
    "find D -type f -delete",
    "cat P > O",
    "(cd D && echo N > f && mv f ../i)",
    "mv D n; mkdir -p D; mv n/* D/; rmdir n",
    "for k in 1 2 3 4 5; do echo $k > D/k$k; done",
    "rm -rf D; cp -a E D",
    "rm -rf D; mv E D",
    "rm -rf D; mkdir -p D; mv E D/",
    "mv D n; mv E D; mv n E",
    "mv D n; mv n D",
    "cp -a D n; rm -rf D; mv n D",
    "cp -al D E",
    "cp -r D E",
    "cp -lf P O",
    "cp --remove-destination P O",
    "cp -b P O",
    "mv -n A B",
    "mv -b P O",
    "mv --exchange A B",
    "ln -sf L P",
    "ln -srf P O",
    "ln -sfn L D",
    "mkdir -p D; install -m 755 P D/f",
    "mkdir -p -m 2755 P",
    "chmod 500 D",
    "chmod 000 D",
    "chmod u+s P",
    "chown -R 3:3 D",
    "touch -d 2001-02-03 D",
    "truncate -s 100K P",
    "truncate -s 0 P",
    "dd if=/dev/zero of=P bs=1 count=3 seek=1 conv=notrunc status=none",
    "echo N | dd of=P bs=1 seek=9000 conv=notrunc status=none",
    "echo N | dd of=P bs=1 seek=70000 status=none",
    "fallocate -p -o 0 -l 4096 P",
    "cp --sparse=always P O",
    "sort -o P P",
    "echo N | tee P O",
    "echo N >> P; ln -f P O; echo N >> P",
    "mkfifo P.p; ln P.p O.p",
    "rm -f P; mkdir -p P; echo N > P/f",
    "rm -rf D; echo N > D",
    "rm -rf D; ln -s L D",
    "[ -h D ] || { mv D n; ln -s n D; }",
    "tar cf n.tar D E; echo N > P; tar xf n.tar; rm n.tar",
    "tar cf n.tar D; rm -rf D; mkdir -p D; echo N > O; tar xf n.tar -U; rm n.tar",
    "tar cf n.tar D; tar xf n.tar -C E; rm n.tar",
    "(cd D && git init -q . && git add . && G commit -qm N)",
    "(cd D && git add . && G commit -qm N)",
    "(cd D && git checkout -qb b-N && git rm -rqf f)",
    "(cd D && echo N > g && G stash -q)",
    "(cd D && git gc -q --prune=now)",
    "(cd D && git checkout -q . && git clean -fdq)",
    "rm -rf D/.git",
    "git clone -q D E/n",
    "git clone -q --no-hardlinks D E/n",
    'for f in D/*; do ln -f "$f" E/; done',
    "find D -name f -exec chmod 700 {} +",
    "find . -name g -exec sed -i s/1/3/ {} +",
    'for f in D/*; do mv "$f" "$f.m"; done',
    # What build tools, editors and deployments do, and what several processes do at once, which must come to one end.
    "echo N > P.t; mv P.t P",
    "cp P P~; echo N >> P; mv P~ O",
    "ln P P.bak; echo N > P.t; mv P.t P",
    "ln -s D n; mv -T n O",
    "cp -al D n; echo N > n/f; mv --exchange D n; rm -rf n",
    "for k in 1 2 3 4 5 6 7 8 9; do mkdir -p D/m$k/l; echo N > D/m$k/l/f; ln -s ../l/f D/m$k/b; done",
    "exec 7>>P; mv P O; echo N >&7; exec 7>&-",
    "for k in 1 2 3 4; do (for j in 1 2 3; do echo N >> P; done) & done; wait",
    "for k in 1 2 3 4; do (echo N > P.$k; mv -f P.$k O) & done; wait",
    "for k in 1 2 3; do (mkdir -p D/j$k; mv D/j$k E/; rm -rf E/j$k) & done; wait",
    "(sleep 0.1; echo N >> P) & (cd D && echo N > f) & wait; sed -i s/1/4/ P",
    "find D -type f -print0 | xargs -0 -P3 -n1 sed -i s/1/5/",
    "find D -type f -print0 | xargs -0 -P4 -n1 chmod 640 & rm -f P & wait",
    "(ln -f P O & ln -f P O & wait); rm -f O",
    "(cd D && echo N > new; G stash -qu; git stash pop -q)",
)
_CALLS = (
    "os.setxattr('P', 'user.k', b'N')",
    "os.rename('A', 'B')",
    "ctypes.CDLL(None).renameat2(-100, os.fsencode('A'), -100, os.fsencode('B'), 2)",
    "f = open('P', 'r+b', 0); os.unlink('P'); f.write(b'N'); os.link(f'/proc/self/fd/{f.fileno()}', 'O', src_dir_fd=0)",
    "f = os.open('D', os.O_TMPFILE | os.O_RDWR); os.write(f, b'N'); os.link(f'/proc/self/fd/{f}', 'P', src_dir_fd=0)",
    "f = open('P', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'M'; m.flush()",
    "os.chdir('D'); open('f', 'a').write('N'); os.rename('f', '../g')",
    "f = open('P', 'ab'); os.rename('P', 'O'); f.write(b'N')",
    "os.link('P', 'O'); os.unlink('P')",
    "os.link('P', 'O'); os.rename('O', 'P'); os.chmod('P', 0o600)",
    "os.replace('P', 'O'); os.symlink('L', 'P')",
    "os.rename('P', 'P.t'); os.link('P.t', 'O'); os.rename('P.t', 'P'); os.truncate('O', N)",
    "os.setxattr('D', 'user.k', b'N'); os.removexattr('P', 'user.k')",
    "os.setxattr('P', os.fsdecode(b'user.\\xff'), b'N')",
    "x = 'renameat2'; c = ctypes.CDLL(None)[x]; [c(-100, b'D', -100, b'E', 2) for _ in range(3)]",
    "shutil.rmtree('D'); shutil.copytree('E', 'D', symlinks=True)",
    "d = os.open('D', os.O_RDONLY); os.rename('D', 'E'); f = os.open('h', os.O_CREAT | 1, dir_fd=d); os.write(f, b'N')",
)


def main() -> None:
    """Print how many runs went wrong; exits with 1 where one did."""
    wrong = 0
    for rung, (before, starter) in _RUNGS.items():
        seeds = [seed for seed in range(_SEED, _SEED + _RUNS) if not _is_right(seed, before, starter)]
        row(f"{_RUNS} runs {rung}", f"{len(seeds)} wrong {seeds or ''}", "0")
        wrong += len(seeds)
    sys.exit(bool(wrong))


def _is_right(seed: int, before: str, starter: Sequence[str]) -> bool:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=os.environ.get("DOGU_DAY_FOLDER"), ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        root, twin = base / "work", base / "twin"
        _build(root, chance)
        subprocess.run(["cp", "-a", root, twin], check=True)
        commands = [before + _command(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        problem = _lived(base, root, twin, commands, starter)
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False, capture_output=True)
    if problem:
        print(f"seed {seed}: {problem} of {commands}", flush=True)
    return not problem


def _lived(base: Path, root: Path, twin: Path, commands: list[str], starter: Sequence[str]) -> str:
    """Do, undo and redo it; say what went wrong."""
    trees = [tree(root)]
    dogu = partial(_run, base, root, *starter, sys.executable, "-m", "dogu")
    for command in commands:
        dogu("call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": command}))
        _run(base, twin, *starter, "bash", "-c", command)
        trees.append(tree(root))
        wanted, found = without_git(tree(twin)), without_git(trees[-1])
        if wanted != found:
            return f"what it left is not what bash leaves ({_differing(wanted, found)})"
    at = len(commands)
    for what, goal, on in (("undo", 0, -1), ("redo", len(commands), 1)):
        for _ in commands:  # a call may have changed nothing that a tree shows
            if trees[at] == trees[goal]:
                break
            dogu(what)
            now, ahead = tree(root), range(at, goal + on, on)
            at = next((number for number in ahead if trees[number] == now != trees[at]), at)
            if now != trees[at]:
                return f"the {what} is not whole ({_differing(trees[at + on], now)})"
        if trees[at] != trees[goal]:
            return f"not all could be brought back by {what}"
    return ""


def _run(base: Path, folder: Path, *argv: str) -> None:
    subprocess.run(argv, cwd=folder, env=environment(base), stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _differing(expected: dict[str, str], found: dict[str, str]) -> str:
    paths = sorted(path for path in {*expected, *found} if expected.get(path) != found.get(path))
    return "; ".join(f"{path!r}: {expected.get(path)} and now {found.get(path)}" for path in paths[:3])


def _build(root: Path, chance: random.Random) -> None:
    for number, folder in enumerate((".", *_FOLDERS)):
        (root / folder).mkdir(parents=True)
        for name in _NAMES:
            path, kind = root / folder / name, chance.randrange(24)
            others = sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink())
            if kind == 0:
                path.symlink_to(chance.choice(_LINKS))
            elif kind == 1 and others:
                path.hardlink_to(chance.choice(others))
            elif kind < 12:
                path.write_bytes(os.fsencode(f"{number} {name} 1\n") * chance.choice((0, 1, 5, 3000)))
                path.chmod(0o640 if kind == 2 else 0o644)


def _command(chance: random.Random) -> str:
    return "\n".join(_line(chance) for _ in range(chance.choice((1, 2, 3, 5, 8, 13))))


def _line(chance: random.Random) -> str:
    is_shell = chance.random() < 0.8
    text = chance.choice(_SHELL).replace("G ", _GIT) if is_shell else _PYTHON.format(chance.choice(_CALLS))
    one, other = chance.sample(_FOLDERS, 2)
    is_within = f"{other}/".startswith(f"{one}/") or f"{one}/".startswith(f"{other}/")
    names = {
        "P": _path(chance),
        "O": _path(chance),
        "D": f"./{one}",
        "E": "./new" if is_within else f"./{other}",
        "A": chance.choice((f"./{one}", _path(chance))),
        "B": chance.choice((f"./{other}", _path(chance))),
        "N": str(chance.randrange(1000)),
        "L": chance.choice(_LINKS),
    }
    return re.sub(r"\b[POABDENL]\b", lambda found: (_in_shell if is_shell else _in_python)(names[found[0]]), text)


def _in_shell(name: str) -> str:
    return f"'{name}'" if name.isprintable() else "$'" + name.replace("\n", "\\n").replace("\udcff", "\\xff") + "'"


def _in_python(name: str) -> str:
    return name.replace("\n", "\\n").replace("\udcff", "\\udcff")


def _path(chance: random.Random) -> str:
    return f"./{chance.choice((*_FOLDERS, '.', '.'))}/{chance.choice(_NAMES)}"


if __name__ == "__main__":
    main()
