"""Random commands beside bare twins: `DOGU_TWINS` (60) runs a rung, `DOGU_SEED` (14) chooses them.

A run is one to three random commands over a small random tree, done by dogu, in layers or watched, and by bash alone in
a copy: both must leave the same. Then all is undone and redone, call by call, and each tree on the way must be one that
was there before. Prints the commands of each run that went wrong, by its seed.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.day import environment, tree
from bench.measure import row

_RUNS, _SEED = int(os.environ.get("DOGU_TWINS", "60")), int(os.environ.get("DOGU_SEED", "14"))
_RUNGS = {"in layers": "", "watched": "sleep 0 &\n"}  # what goes on in the background has no layer
_FOLDERS = ("a", "b", "c", "a/x", "b/y", "c/z", "a/x/q")
_NAMES = ("f", "g", "h", "i", "-o", "ü", "a b")
_LINKS = ("../a", "g", "/etc/hostname", "a/x", ".", "nowhere", "../b/f")
_PYTHON = 'python3 -c "import ctypes, mmap, os\ntry:\n {}\nexcept (OSError, ValueError): pass"'
# P, O: files; D, E: folders, neither in the other; A, B: either; N: a number; L: what a link leads to.
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
    "mkfifo P",
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
    'for f in D/*; do mv "$f" "$f.m"; done',
)
_CALLS = (
    "os.setxattr('P', 'user.k', b'N')",
    "os.rename('A', 'B')",
    "ctypes.CDLL(None).renameat2(-100, 'A'.encode(), -100, 'B'.encode(), 2)",
    "f = open('P', 'r+b'); os.unlink('P'); f.write(b'N'); f.flush(); os.link(f'/proc/self/fd/{f.fileno()}', 'O')",
    "f = os.open('D', os.O_TMPFILE | os.O_RDWR); os.write(f, b'N'); os.link(f'/proc/self/fd/{f}', 'P')",
    "f = open('P', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'M'; m.flush()",
    "os.chdir('D'); open('f', 'a').write('N'); os.rename('f', '../g')",
    "f = open('P', 'ab'); os.rename('P', 'O'); f.write(b'N')",
    "d = os.open('D', os.O_RDONLY); os.rename('D', 'E'); f = os.open('h', os.O_CREAT | 1, dir_fd=d); os.write(f, b'N')",
)


def main() -> None:
    """Print how many runs went wrong; exits with 1 where one did."""
    wrong = 0
    for rung, before in _RUNGS.items():
        seeds = [seed for seed in range(_SEED, _SEED + _RUNS) if not _is_right(seed, before)]
        row(f"{_RUNS} runs {rung}", f"{len(seeds)} wrong {seeds or ''}", "0")
        wrong += len(seeds)
    sys.exit(bool(wrong))


def _is_right(seed: int, before: str) -> bool:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=os.environ.get("DOGU_DAY_FOLDER"), ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        root, twin = base / "work", base / "twin"
        _build(root, chance)
        subprocess.run(["cp", "-a", root, twin], check=True)
        commands = [before + _command(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        problem = _lived(base, root, twin, commands)
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False, capture_output=True)
    if problem:
        print(f"seed {seed}: {problem} of {commands}", flush=True)
    return not problem


def _lived(base: Path, root: Path, twin: Path, commands: list[str]) -> str:
    """Do, undo and redo it; say what went wrong."""
    trees = [tree(root)]
    for command in commands:
        _dogu(base, root, "call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": command}))
        subprocess.run(["bash", "-c", command], cwd=twin, env=environment(base), capture_output=True, check=False)
        trees.append(tree(root))
        if trees[-1] != tree(twin):
            return f"what it left is not what bash leaves ({_differing(tree(twin), trees[-1])})"
    at = len(commands)
    for what, goal, on in (("undo", 0, -1), ("redo", len(commands), 1)):
        for _ in commands:  # a call may have changed nothing that a tree shows
            if trees[at] == trees[goal]:
                break
            _dogu(base, root, what)
            now, ahead = tree(root), range(at, goal + on, on)
            at = next((number for number in ahead if trees[number] == now != trees[at]), at)
            if now != trees[at]:
                return f"the {what} is not whole ({_differing(trees[at + on], now)})"
        if trees[at] != trees[goal]:
            return f"not all could be brought back by {what}"
    return ""


def _dogu(base: Path, root: Path, *argv: str) -> None:
    dogu = [sys.executable, "-m", "dogu", *argv]
    subprocess.run(dogu, cwd=root, env=environment(base), stdin=subprocess.DEVNULL, capture_output=True, check=False)


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
                path.write_text(f"{number} {name} 1\n" * chance.choice((0, 1, 5, 3000)))
                path.chmod(0o640 if kind == 2 else 0o644)


def _command(chance: random.Random) -> str:
    return "\n".join(_line(chance) for _ in range(chance.choice((1, 2, 3, 5, 8, 13))))


def _line(chance: random.Random) -> str:
    is_shell = chance.random() < 0.8
    text = chance.choice(_SHELL) if is_shell else _PYTHON.format(chance.choice(_CALLS))
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
    return re.sub(r"\b[POABDENL]\b", lambda found: f"'{names[found[0]]}'" if is_shell else names[found[0]], text)


def _path(chance: random.Random) -> str:
    return f"./{chance.choice((*_FOLDERS, '.', '.'))}/{chance.choice(_NAMES)}"


if __name__ == "__main__":
    main()
