"""A day of sixty commands: each must leave what it leaves in a plain copy; then all are undone and redone one by one,
and after each step the tree must be what it was.

`DOGU_DAY` (1) scales it: the number of packages, and the size of what a build leaves. Compared by means that know
nothing of the journal: bytes, modes, owners, extended attributes, links, holes; with the copy, but for what git keeps,
where times are.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import row

_GIT = "git -c user.name=a -c user.email=b -c gc.auto=0"
_SCALE = float(os.environ.get("DOGU_DAY", "1"))
_PACKAGES, _BUILD_MB = int(200 * _SCALE), int(64 * _SCALE)
_PYTHON = "python3 -c"

_COMMANDS = (
    "mkdir -p src/app docs; for i in $(seq 60); do echo line $i > src/app/$i.txt; done; echo '# Doc' > docs/index.md",
    f"git init -q . && git add -A && {_GIT} commit -qm 1",
    "sed -i s/line/row/ src/app/1*.txt",
    f"{_GIT} commit -qam 2",
    "git checkout -qb feature",
    "mv src/app src/lib",
    f"git add -A && {_GIT} commit -qm moved",
    "chmod 600 docs/index.md; chmod -R g-w src; chmod u+s src/lib/1.txt",
    "ln -s ../docs/index.md src/doc; ln docs/index.md docs/again.md",
    "echo more >> docs/again.md",
    f"for p in $(seq {_PACKAGES}); do mkdir -p node_modules/p$p/lib; for f in 1 2 3 4 5; do echo module $p $f > "
    "node_modules/p$p/lib/$f.js; done; echo '{}' > node_modules/p$p/package.json; done",
    "mkdir node_modules/.bin; for p in 1 2 3; do ln -s ../p$p/lib/1.js node_modules/.bin/p$p; done",
    "rm -rf node_modules/p1*",
    "sed -i s/module/mod/ node_modules/p2*/lib/*.js",
    f"mkdir build && seq 100000000 | head -c {_BUILD_MB}M > build/out.bin && truncate -s 3G build/image",
    "printf x | dd of=build/image bs=1 seek=1000000000 conv=notrunc status=none",
    "cp build/out.bin build/copy.bin; cp -a node_modules/p3 vendored",
    "mv build/out.bin build/final.bin; rm build/copy.bin",
    "head -c 4096 /dev/zero >> build/final.bin",
    "git stash -q 2>/dev/null; git status --short | wc -l",
    "git checkout -q - && git checkout -q feature",
    f"echo a > conflict; git add conflict; {_GIT} commit -qm c; {_GIT} rebase -q HEAD~1; git log --oneline | wc -l",
    "git gc -q --prune=now",
    "git tag v1; git branch old; git branch -D old",
    "git worktree add -q wt -b side; echo w > wt/file",
    f"cd wt && git add -A && {_GIT} commit -qm side",
    "git worktree remove --force wt",
    "mkfifo pipe; mkdir -p empty/in/side; touch .hidden 'a b' $'new\\nline'",
    "rm pipe; mkfifo -m 600 pipe2; rmdir empty/in/side",
    f'{_PYTHON} \'import os; os.setxattr("docs/index.md", "user.note", b"n" * 300)\'',
    f'{_PYTHON} \'import os; os.removexattr("docs/index.md", "user.note")\'',
    "mv docs text; mv text/index.md .; ln -s . loop",
    "rm -rf src/lib; mkdir src/lib; echo only > src/lib/only",
    "rm index.md; mkdir index.md; echo in > index.md/in",
    "rm -rf index.md; echo file again > index.md",
    "echo 1 > n; mkdir -p A; touch A/a; mv A B; mv B A",
    "touch -d 2001-01-01 n; touch -d 1999-09-09 A; echo t > touched",
    "tar cf all.tar --mtime=@0 src text; mkdir t; tar xf all.tar -C t",
    "tar xf all.tar; rm all.tar",
    "find node_modules -name '2.js' -delete",
    "find . -path ./.git -prune -o -type f -name '3.js' -exec chmod 755 {} +",
    "cp -r node_modules/p4 node_modules/p9999; mv node_modules/p5 node_modules/p5x",
    "rm -rf vendored t",
    f'{_PYTHON} \'import sqlite3; c = sqlite3.connect("db"); c.execute("create table t (a)"); '
    'c.executemany("insert into t values (?)", [(i,) for i in range(5000)]); c.commit()\'',
    f'{_PYTHON} \'import sqlite3; c = sqlite3.connect("db"); c.execute("pragma journal_mode=wal"); '
    'c.execute("delete from t where a % 2"); c.commit()\'',
    "mv db db.old; cp db.old db",
    f'{_PYTHON} \'import os; os.makedirs("x" * 250); open("x" * 250 + "/" + "y" * 255, "w").write("long")\'',
    "chmod 000 n; mkdir closed; echo c > closed/c; chmod 500 closed",
    "chmod 755 closed; rm -rf closed; chmod 644 n",
    f"git add -A -- src text index.md; {_GIT} commit -qm later",
    f"{_GIT} commit -q --amend -m amended",
    "git reset -q --hard HEAD~1",
    "git reflog expire --expire=now --all; git gc -q --prune=now",
    "git rm -q --cached conflict; git mv src source",
    "for i in $(seq 300); do echo $i; done > log; split -l 7 log part.",
    "cat part.* > joined; rm part.*; cmp log joined",
    "gzip -n log; gunzip -k log.gz; mv joined log2",
    "rm -rf .git",
    "git init -q . && git add -A -- text && git -c user.name=a -c user.email=b commit -qm anew",
    "rm -rf node_modules build",
)


def main() -> None:
    """Print what was found; exits with 1 where a step was not taken back or done again whole."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DOGU_DAY_FOLDER")) as base:
        root = Path(base) / "work"
        root.mkdir()
        wrong = _lived(Path(base), root)
    row(f"a day of {len(_COMMANDS)} commands undone and redone", f"{wrong} steps wrong", "0")
    sys.exit(bool(wrong))


def _lived(base: Path, root: Path) -> int:
    trees = [tree(root)]
    took = {"done": 0.0, "undone": 0.0, "redone": 0.0}
    wrong = 0
    bare = base / "bare"
    bare.mkdir()
    for number, command in enumerate(_COMMANDS):
        argv = ["call", "--approval-mode", "yolo", "run_shell_command", json.dumps({"command": command})]
        took["done"] += _dogu(base, root, argv)
        trees.append(tree(root))
        subprocess.run(["bash", "-c", command], cwd=bare, env=environment(base), capture_output=True, check=False)
        wrong += _compared("commit", number, without_git(tree(bare)), without_git(trees[-1]))
    changed = [number for number in range(len(_COMMANDS)) if trees[number] != trees[number + 1]]
    for what, numbers, at in (("undo", changed[::-1], 0), ("redo", changed, 1)):
        for number in numbers:
            took[f"{what}ne"] += _dogu(base, root, [what, "--unsure"])
            wrong += _compared(what, number, trees[number + at], tree(root))
    row("  done, undone, redone", ", ".join(f"{name} {time_s:.1f} s" for name, time_s in took.items()), "")
    return wrong


def _compared(what: str, number: int, expected: dict[str, str], found: dict[str, str]) -> bool:
    differing = sorted(path for path in {*expected, *found} if expected.get(path) != found.get(path))
    for path in differing[:2]:
        print(f"{what} of {_COMMANDS[number]!r}: {path!r}: {expected.get(path)} and now {found.get(path)}", flush=True)
    return bool(differing)


def _dogu(base: Path, root: Path, argv: list[str]) -> float:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "dogu", *argv],
        cwd=root,
        env=environment(base),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode and argv[0] != "call":
        print(argv, done.returncode, (done.stdout + done.stderr).decode()[-300:], flush=True)
    return time.monotonic() - started


def environment(base: Path) -> dict[str, str]:
    """The environment of a dogu that keeps all it has in a folder."""
    (base / "home").mkdir(exist_ok=True)
    return {**os.environ, "HOME": str(base / "home"), "DOGU_HOME": str(base / "state")}


def without_git(found: dict[str, str]) -> dict[str, str]:
    """Leave out what git keeps, where times are."""
    return {path: held for path, held in found.items() if ".git" not in path.split("/")}


def tree(root: Path) -> dict[str, str]:
    """What lies below a folder, by path, by means that know nothing of the journal; and which names are one file."""
    found: dict[str, str] = {}
    names: dict[int, list[str]] = {}
    for folder, folders, files in os.walk(root):
        for name in (".", *folders, *files) if folder == str(root) else (*folders, *files):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except PermissionError:  # its folder is closed to its owner
                continue
            held = ""
            if stat.S_ISLNK(status.st_mode):
                held = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                held = f"{status.st_size} {_digest(path, status)}"
            if not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1 and ".git" not in path.split("/"):
                names.setdefault(status.st_ino, []).append(os.path.relpath(path, root))
            names_of = [] if stat.S_ISLNK(status.st_mode) else sorted(os.listxattr(path))
            xattrs = {each: os.getxattr(path, each) for each in names_of}
            mode = 0 if stat.S_ISLNK(status.st_mode) else status.st_mode
            found[os.path.relpath(path, root)] = f"{mode:o} {status.st_uid}:{status.st_gid} {xattrs} {held}"
    found["(links)"] = str(sorted(sorted(paths) for paths in names.values() if len(paths) > 1))
    return found


def _digest(path: str, status: os.stat_result) -> str:
    """The digest of what is in it; of one full of holes by its ends and its room, which is what such a one is about."""
    if status.st_size > 1 << 30:
        with open(path, "rb") as file:
            file.seek(1_000_000_000)
            return f"{file.read(4096).hex()[:8]} {status.st_blocks < 10_000}"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


if __name__ == "__main__":
    main()
