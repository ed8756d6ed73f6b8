"""The ignore rules against git itself, on generated trees and on the corners of gitignore(5)."""

import os
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from dogu.workspace import fs
from dogu.workspace.ignore import FolderRules, Ignore
from dogu.workspace.ignore.lookup import hidden_from_models, why_ignored
from dogu.workspace.roots import Roots

NAMES = [
    "a",
    "b",
    "c",
    "ab",
    "foo",
    "bar",
    "foo.c",
    "a.o",
    "x.tar.gz",
    ".h",
    "é",
    "a b",
    "[a]",
    "!x",
    "#y",
    "a\\b",
    "-d",
    "A",
    "t ",
    "\udcff",
]
PIECES = ["*", "**", "?", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]", "[]a]", "\\a", "\\*", "[a", "\\", "***"]


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C",
    }


def git(top: Path, home: Path, *words: str, data: bytes = b"", accepted: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(["git", *words], cwd=top, env=environment(home), input=data, capture_output=True, check=False)
    assert done.returncode in accepted, done.stderr
    return done.stdout


def ignored_by_git(top: Path, home: Path, paths: list[str]) -> set[str]:
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    out = git(top, home, "check-ignore", "--no-index", "-z", "--stdin", data=data, accepted=(0, 1))
    return {os.fsdecode(path) for path in out.split(b"\0") if path}


def ignored_by_us(root: Path, environ: Mapping[str, str]) -> set[str]:
    """Walk the whole tree, ignored folders too, asking for each folder's entries at once."""
    ignore = Ignore(str(root), environ)
    found: set[str] = set()

    def visit(folder: str, rules: FolderRules) -> None:
        path = os.path.join(root, folder)
        entries = list(os.scandir(path))
        folders = [e.name for e in entries if e.is_dir(follow_symlinks=False) and e.name != ".git"]
        files = [e.name for e in entries if not e.is_dir(follow_symlinks=False)]
        left_out = {**rules.ignored(folders, are_folders=True), **rules.ignored(files, are_folders=False)}
        for name in [*folders, *files]:
            assert (rules.why_ignored(name, name in folders) != "") == (name in left_out)
        found.update(f"{folder}{name}" for name in left_out)
        for name in folders:
            descriptor = os.open(os.path.join(path, name), os.O_RDONLY)
            try:
                inner = rules.entered(name, "git" if name in left_out else "")
                visit(f"{folder}{name}/", ignore.rules_below(inner, descriptor, False, True))
            finally:
                os.close(descriptor)

    descriptor = fs.open(str(root), os.O_RDONLY)
    try:
        visit("", ignore.root_rules(descriptor))
    finally:
        os.close(descriptor)
    return found


def all_paths(top: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        found += [os.path.relpath(os.path.join(folder, name), top) for name in [*folders, *files]]
    return found


def random_glob(chance: random.Random) -> str:
    parts: list[str] = []
    for _ in range(chance.choice([1, 1, 1, 2, 2, 3])):
        part = "".join(
            chance.choice(PIECES) if chance.random() < 0.3 else chance.choice([*NAMES, "a", "b", "o", "."])
            for _ in range(chance.choice([1, 1, 2, 3]))
        )
        parts.append(chance.choice([part] * 10 + ["**", "*"]))
    glob = "/".join(parts)
    return (
        ("!" if chance.random() < 0.25 else "")
        + ("/" if chance.random() < 0.2 else "")
        + glob
        + ("/" if chance.random() < 0.2 else "")
        + chance.choice(["", "", "", "", " ", "\\ ", "\r", "\t"])
    )


def random_file(chance: random.Random) -> bytes:
    lines = [random_glob(chance) for _ in range(chance.randint(1, 7))]
    if chance.random() < 0.1:
        lines.append("# a comment")
    if chance.random() < 0.03:
        lines.append("*")
    data = os.fsencode("\n".join(lines)) + (b"\n" if chance.random() < 0.7 else b"")
    return (b"\xef\xbb\xbf" if chance.random() < 0.1 else b"") + data


def make_folders(top: Path, chance: random.Random) -> list[Path]:
    folders = [top]
    for _ in range(chance.randint(3, 14)):
        folder = chance.choice(folders) / chance.choice(NAMES)
        if not folder.exists() and len(folder.relative_to(top).parts) < 6:
            folder.mkdir()
            folders.append(folder)
    return folders


def make_tree(top: Path, home: Path, chance: random.Random) -> None:
    top.mkdir(parents=True)
    (home / ".config" / "git").mkdir(parents=True, exist_ok=True)
    git(top, home, "init", "-q")
    for folder in make_folders(top, chance):
        for name in chance.sample(NAMES, chance.randint(1, 8)):
            if not (folder / name).exists():
                (folder / name).write_bytes(b"")
        if folder == top or chance.random() < 0.3:
            (folder / ".gitignore").write_bytes(random_file(chance))
    for rare in (top / ".git" / "info" / "exclude", home / ".config" / "git" / "ignore"):
        if chance.random() < 0.3:
            rare.write_bytes(random_file(chance))


@pytest.mark.parametrize("seed", range(int(os.environ.get("DOGU_IGNORE_TREES", "25"))))
def test_rules_equal_git_check_ignore_on_generated_trees(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    top, home = tmp_path / "top", tmp_path / "home"
    make_tree(top, home, chance)
    paths = all_paths(top)
    expected = ignored_by_git(top, home, paths)
    assert sorted(ignored_by_us(top, environment(home))) == sorted(expected), (top / ".gitignore").read_bytes()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    top, home = tmp_path / "top", tmp_path / "home"
    top.mkdir()
    home.mkdir()
    git(top, home, "init", "-q")
    return top, home


def reason_of(root: Path, home: Path, path: str, is_folder: bool = False) -> str:
    descriptor = fs.open(str(root), os.O_RDONLY)
    try:
        return Ignore(str(root), environment(home)).why_ignored(descriptor, path, is_folder)
    finally:
        os.close(descriptor)


def test_rules_above_the_root_hold_up_to_the_top_of_the_repository(places: tuple[Path, Path]) -> None:
    top, home = places
    (top / "sub" / "deep").mkdir(parents=True)
    (top / ".gitignore").write_text("*.log\n/sub/deep/x\n")
    (top / "sub" / ".gitignore").write_text("/deep/y\n")
    (top.parent / ".gitignore").write_text("z\n")
    assert [reason_of(top / "sub" / "deep", home, name) for name in ["a.log", "x", "y", "z"]] == [
        "git",
        "git",
        "git",
        "",
    ]


def test_a_root_that_its_repository_ignores_is_not_ignored_itself(places: tuple[Path, Path]) -> None:
    top, home = places
    (top / "build").mkdir()
    (top / ".gitignore").write_text("build/\n*.o\n")
    assert reason_of(top / "build", home, "a.c") == ""
    assert reason_of(top / "build", home, "a.o") == "git"


def test_gitignore_holds_from_the_root_where_there_is_no_repository(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / ".gitignore").write_text("*.log\n")
    (tmp_path / ".gitignore").write_text("*.txt\n")
    assert reason_of(root, tmp_path, "a.log") == "git"
    assert reason_of(root, tmp_path, "a.txt") == ""


def test_geminiignore_hides_what_git_shows_and_cannot_show_what_git_hides(places: tuple[Path, Path]) -> None:
    top, home = places
    (top / ".gitignore").write_text("*.log\n")
    (top / ".geminiignore").write_text("/secret/\n!keep.log\n")
    assert reason_of(top, home, "secret/a/b.txt") == "gemini"
    assert reason_of(top, home, "secret", is_folder=True) == "gemini"
    assert reason_of(top, home, "keep.log") == "git"
    assert reason_of(top, home, "other") == ""


def test_geminiignore_holds_inside_a_repository_within_the_root(places: tuple[Path, Path]) -> None:
    top, home = places
    (top / ".geminiignore").write_text("/inner/secret\n")
    (top / ".gitignore").write_text("*.txt\n")
    (top / "inner").mkdir()
    git(top / "inner", home, "init", "-q")
    (top / "inner" / ".gitignore").write_text("*.o\n")
    assert reason_of(top, home, "inner/secret") == "gemini"
    assert reason_of(top, home, "inner/a.o") == "git"
    assert reason_of(top, home, "inner/a.txt") == ""


def test_a_linked_work_tree_and_a_submodule_use_the_exclude_file_of_their_repository(places: tuple[Path, Path]) -> None:
    top, home = places
    git(top, home, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "m")
    git(top, home, "worktree", "add", "-q", str(top.parent / "linked"))
    (top / ".git" / "info" / "exclude").write_text("*.secret\n")
    assert reason_of(top.parent / "linked", home, "a.secret") == "git"


def test_a_symbolic_link_named_gitignore_counts_for_nothing(places: tuple[Path, Path]) -> None:
    top, home = places
    (top / "real").write_text("*.c\n")
    (top / ".gitignore").symlink_to("real")
    assert reason_of(top, home, "a.c") == ""


def test_a_fifo_as_ignore_file_is_not_waited_for(places: tuple[Path, Path]) -> None:
    top, home = places
    os.mkfifo(top / ".gitignore")
    os.mkfifo(top / ".geminiignore")
    assert reason_of(top, home, "a.c") == ""


def test_a_folder_behind_a_symbolic_link_is_not_entered_for_rules(places: tuple[Path, Path]) -> None:
    top, home = places
    (top.parent / "out").mkdir()
    (top.parent / "out" / ".gitignore").write_text("*\n")
    (top / "link").symlink_to(top.parent / "out")
    assert reason_of(top, home, "link/a") == ""


@pytest.mark.parametrize("stars", [30, 1000])
@pytest.mark.timeout(20)
def test_a_pattern_made_to_blow_up_stays_cheap(places: tuple[Path, Path], stars: int) -> None:
    top, home = places
    (top / ".gitignore").write_text("*a" * stars + "b\n" + "**/a/" * stars + "b\n" + "*/" * 100 + "b\n")
    assert reason_of(top, home, "a" * 250) == ""
    assert reason_of(top, home, "/".join("a" * 400)) == ""


def test_a_hidden_file_stays_hidden_behind_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / ".geminiignore").write_text("secret\n")
    roots = Roots(str(tmp_path))
    assert [why_ignored(roots, name) for name in ["secret", "link", "."]] == ["gemini", "gemini", ""]


def test_what_git_ignores_too_is_hidden_from_models(tmp_path: Path):
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ["a/secret", "a/b/key", "a/b/open", "a/seen"]:
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("a/secret")
    roots = Roots(str(tmp_path))
    names = ["a/secret", "a/b/key", "a/b/open", "a/seen", "link", "gone", "."]
    assert [hidden_from_models(roots, name) for name in names] == [""] * 7
    (tmp_path / ".gitignore").write_text("secret\na/b/\nopen\n")
    assert [hidden_from_models(roots, name) for name in names] == [""] * 7
    (tmp_path / ".geminiignore").write_text("secret\nb/\n!b/open\n")
    assert [hidden_from_models(roots, name) for name in names] == ["gemini", "gemini", "gemini", "", "gemini", "", ""]
