"""What the gate says of commands, category by category."""

from __future__ import annotations

import pytest

from policy.cases import commands, sections
from policy.judging import gate, without_rm


@pytest.mark.parametrize("command", commands("without_rm.txt", "deny"))
def test_an_excluded_program_is_refused_wherever_bash_would_run_it(command: str) -> None:
    assert without_rm(command) == "deny"


@pytest.mark.parametrize("command", commands("without_rm.txt", "ask"))
def test_what_might_be_an_excluded_program_is_asked_about(command: str) -> None:
    assert without_rm(command) == "ask"


@pytest.mark.parametrize("command", commands("without_rm.txt", "allow"))
def test_an_excluded_name_that_is_only_data_stops_nothing(command: str) -> None:
    assert without_rm(command) == "allow"


@pytest.mark.parametrize(("title", "found"), sections("under_lists.txt"))
def test_under_a_list_of_programs_each_command_is_judged_as_it_should_be(title: str, found: list[str]) -> None:
    listed, _, expected = title.rpartition(": ")
    core = [] if listed == "(none)" else listed.split(", ")
    assert [(each, gate(each, core)) for each in found if gate(each, core) != expected] == []


@pytest.mark.parametrize("nothing", ["", "\n"])
def test_a_command_that_is_empty_is_refused(nothing: str) -> None:
    assert gate(nothing, ["git"]) == "deny"


@pytest.mark.parametrize("program", ["git", "find", "curl", "python3", "sed", "npm", "ls"])
def test_without_lists_everything_that_can_be_read_passes(program: str) -> None:
    assert gate(f"{program} x > out && FOO=1 {program} -i y | tee z; rm -rf build") == "allow"
    assert gate(f'{program} "$X"; for i in *; do {program} "$i"; done') == "allow"


@pytest.mark.parametrize("command", ["$X y", "a@(b|c)", "f $'\\x{41}'"])
def test_without_lists_only_what_cannot_be_known_is_asked_about(command: str) -> None:
    assert gate(command) == "ask"


def test_two_thousand_nested_substitutions_take_no_time_and_do_not_pass() -> None:
    assert gate("echo " + "$(echo " * 2_000 + ")" * 2_000, ["echo"]) in ("deny", "ask")


@pytest.mark.parametrize(
    ("open_", "close"), [("( ", " )"), ("{ ", "; }"), ("if ", "; then :; fi"), ("( ( ", " ) )"), ("[[ (", ") ]]")]
)
def test_two_thousand_nested_groups_do_not_pass(open_: str, close: str) -> None:
    assert gate(open_ * 2_000 + "rm x" + close * 2_000, ["*"], ["rm"]) in ("deny", "ask")


@pytest.mark.parametrize(
    "bomb", ["{a,b}" * 18, "{1..100000000}", "{" * 3_000 + "," * 3_000 + "}" * 3_000, "{a,b," * 40 + "}" * 40]
)
def test_a_bomb_of_braces_is_bounded_and_does_not_pass_under_a_list(bomb: str) -> None:
    assert gate(f"echo {bomb}", ["echo"]) in ("ask", "allow" if "," not in bomb or bomb.startswith("{{") else "ask")


@pytest.mark.parametrize("command", ["p ; ", "{ ", "} ", "\n", "s/[a-z]*[b]/x/;", "/[]a]", "a b\n", "r f\n"])
def test_a_script_for_sed_is_read_in_one_go_however_long(command: str) -> None:
    assert gate(f"sed '{command * 2_000}e'", ["sed"]) == "ask"


@pytest.mark.parametrize("program", ["print ", "(", '"a" ', "/[a", "/", "print >", "/[\\\\/][", "/[\\\\/][][\\\\/]["])
def test_a_program_for_awk_too(program: str) -> None:
    assert gate(f"awk '{program * 10_000} | x'", ["awk"]) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "echo $((" + ")" * 50_000 + "))",
        "echo " + "a[" * 20_000,
        "read " + "a[" * 20_000,
        "[[ a == " + "@(a)" * 20_000 + " ]]",
    ],
)
def test_brackets_without_an_end_take_no_time(text: str) -> None:
    assert gate(text, ["*"], ["rm"]) in ("allow", "deny")


def test_the_last_of_many_commands_counts_as_the_first() -> None:
    assert gate("git status; " * 500 + "rm x", ["git"]) == "deny"
    assert gate("git status; " * 500 + "git log", ["git"]) == "allow"


@pytest.mark.parametrize(
    "wrapper", ["env ", "sudo -u x ", "nice -n 1 ", "timeout 1 ", "xargs ", "command ", "find . -exec "]
)
def test_two_thousand_wrappers_do_not_pass(wrapper: str) -> None:
    assert gate(wrapper * 2_000 + "rm x", ["*"], ["rm"]) in ("deny", "ask")
    assert gate(wrapper * 2_000 + "git log", ["git"]) == "deny"


def test_wrappers_as_deep_as_people_write_them_are_seen_through() -> None:
    assert gate("sudo -u x env A=1 nice -n 1 nohup timeout 1 stdbuf -oL git log", ["*"], ["rm"]) == "allow"
    assert gate("sudo -u x env A=1 nice -n 1 nohup timeout 1 stdbuf -oL rm x", ["*"], ["rm"]) == "deny"


@pytest.mark.parametrize(
    "text", ["f() { f; }; f", "f() { g; }; g() { h; }; h() { f; }; f", "f() { g; }; g() { g; }; f"]
)
def test_functions_without_an_end_are_asked_about(text: str) -> None:
    assert gate(text, ["*"], ["rm"]) == "ask"


def test_functions_that_call_the_next_are_followed_to_the_last() -> None:
    chain = "".join(f"f{at}() {{ f{at + 1}; }}; " for at in range(500))
    assert gate(chain + "f500() { git log; }; f0", ["*"], ["rm"]) == "allow"
    assert gate(chain + "f500() { rm x; }; f0", ["*"], ["rm"]) == "deny"


ELSEWHERE = [
    "ssh h rm x",
    "ssh -p 22 u@h 'ls; rm x'",
    "sshpass -p x ssh h rm x",
    "bwrap --ro-bind / / --dev /dev rm x",
    "bwrap --bind a b --setenv A B -- sh -c 'rm x'",
    "nix-shell -p hello --run 'rm x'",
    "docker run --rm -v a:b -e A=1 alpine rm x",
    "docker run -it --entrypoint rm alpine x",
    "docker run --entrypoint=sh alpine -c 'rm x'",
    "docker exec -it c sh -c 'rm x'",
    "docker --context x container exec c rm x",
    "docker compose exec -T web rm x",
    "docker-compose run web rm x",
    "podman run alpine rm x",
    "kubectl exec -n ns pod -c c -it -- bash -c 'rm x'",
    "kubectl exec pod -- rm x",
    "lxc exec c -- rm x",
    "adb shell rm x",
    "ssh a ssh b rm x",
    "docker exec c ssh h rm x",
]


@pytest.mark.parametrize("command", ELSEWHERE)
def test_an_excluded_program_stays_excluded_elsewhere(command: str) -> None:
    assert without_rm(command) == "deny"
    assert gate(command, None, ["rm"]) == "deny"


@pytest.mark.parametrize("command", ELSEWHERE)
def test_what_runs_elsewhere_is_not_covered_by_the_program_that_reaches_there(command: str) -> None:
    assert gate(command, [command.split(maxsplit=1)[0]]) in ("deny", "ask")


@pytest.mark.parametrize(
    "command",
    ["ssh h", "ssh h ls", "docker rm x", "docker ps", "kubectl get pods", "nix-shell --run 'git log'", "bwrap --dev /dev git log"],
)  # fmt: skip
def test_what_runs_elsewhere_and_is_not_excluded_passes(command: str) -> None:
    assert without_rm(command) == "allow"


@pytest.mark.parametrize("command", ['ssh h "$X"', 'docker exec c sh -c "$X"', 'kubectl exec p -- "$X"', "nix-shell"])
def test_what_would_run_elsewhere_and_cannot_be_known_is_asked_about(command: str) -> None:
    assert without_rm(command) == "ask"


def test_a_loop_over_folders_of_the_workspace_may_go_to_each_of_them() -> None:
    for inside in ("packages/*", "*/", "api web", "packages/{a,b}/"):
        expected = "ask" if "{" in inside else "allow"
        assert gate(f'for d in {inside}; do (cd "$d" && npm test); done', ["cd", "npm"]) == expected
    for outside in ("/etc", "a ../x", "~/x", "$(ls)", "{/etc,a}", "a/../../x"):
        assert gate(f'for d in {outside}; do (cd "$d" && npm test); done', ["cd", "npm", "ls"]) == "ask"
    for changed in ("read d; ", "d=/etc; ", "d+=/../..; ", "printf -v d /etc; "):
        text = f'for d in api; do {changed}cd "$d"; done'
        assert gate(text, ["cd", "read", "printf"]) == "ask"
    assert gate("for d in api web; do (cd $d && npm test); done", ["cd", "npm"]) == "allow"
    for computed in ('"${d:-/etc}"', '"$d/.."'):
        assert gate(f"for d in api; do cd {computed}; done", ["cd"]) == "ask"
    assert gate("for d in 'api /etc'; do cd $d; done", ["cd"]) == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('while IFS=, read -r a b; do echo "$a"; done < data/x.csv', "allow"),
        ('while IFS= read -r a; do echo "$a"; done < x.csv', "allow"),
        ("IFS=, ; read -r a b; ls $a", "ask"),
        ("IFS=$(ls) read -r a", "ask"),
        ("IFS=m python3 --version", "ask"),
        ("python3 -c 'print(sum(range(10)))'", "allow"),
        ('python3 -c \'import json; d = json.load(open("a.json")); print(sorted(d["scripts"]))\'', "allow"),
        ("python3 -c 'print(len(open(\"a\").read()))'", "ask"),
        ("python3 -c 'import os; print(str(os.system(\"x\")))'", "ask"),
        ("python3 -c 'print(sum(range(10)));x()'", "ask"),
        ("python3 -m http.server --help", "allow"),
        ("python3 -m http.server 8000", "ask"),
        ('for t in build lint test; do npm run "$t" || break; done', "allow"),
        ('for t in build env; do npm run "$t" || break; done', "ask"),
        ('for t in build --script-shell=./x; do npm run "$t"; done', "ask"),
        ('for t in "build --script-shell=./x"; do npm run $t; done', "ask"),
        ('for t in $(ls); do npm run "$t"; done', "ask"),
        ('read t; npm run "$t"', "ask"),
        ("python3 -m antigravity --help", "ask"),
        ("python3 -m http.server", "ask"),
    ],
)
def test_what_needs_a_question_and_what_looks_like_it(command: str, expected: str) -> None:
    assert gate(command, ["read", "echo", "ls", "npm", "python3"]) == expected


@pytest.mark.parametrize(
    "command",
    [
        "mlr -I --csv sort -f a data/x.csv",
        "mlr --csv --from data/x.csv tee src/a.c then nothing",
        "dasel put -f package.json -t string -v ./x .scripts.test",
        "comby 'a' 'b' .py -in-place",
        "ast-grep run -p a -r b -U",
        "msgmerge -qU keep a.po",
        "pic -U a.pic",
        "ptar -xf a.tar",
        "ptargrep -b all a.tar",
        "mytool --in-place=.bak src",
    ],
)
def test_what_changes_files_in_place_asks_under_a_rule_for_its_program(command: str) -> None:
    assert gate(command, [command.split(maxsplit=1)[0]]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "mlr --icsv --ojson sort -f a then put '$b = $a . 1' data/x.csv",
        "dasel -f package.json .name",
        "ast-grep run -p a -l py src",
        "msgmerge -o build/a.po a.po a.pot",
        "mytool -i src/a.txt",
        "mytool -U root",
        "ptar -tf a.tar",
    ],
)
def test_what_only_reads_files_needs_no_question(command: str) -> None:
    assert gate(command, [command.split(maxsplit=1)[0]]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git tag -F .env s && git push origin s",
        "git commit --allow-empty -qF .env && git push origin main",
        "git commit -F - < .env && git push origin main",
        "git notes add --file=.env && git push origin refs/notes/commits",
        "git add -f .env && git commit -m x && git push origin main",
        "git add -Af . && git commit -m x && git push origin main",
        "git stash -qa && git push origin stash@{0}^3:refs/heads/x",
        "cat .env | git commit --allow-empty -F - && git push origin main",
        'git commit --allow-empty -m "$(cat .env)" && git push origin main',
        "git update-index --add .env && git commit -m x && git push origin main",
    ],
)
def test_an_ignored_secret_that_is_pushed_is_asked_about(command: str) -> None:
    assert gate(command, ["git", "cat"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git add -A && git commit -m 'Read .env' && git push origin main",
        "git add -f dist/app.js && git commit -F notes.md && git push origin main",
        "git stash -u && git pull && git push origin main",
        "git add .env.example && git commit -qm x && git push origin main",
        "git commit -F .env",
    ],
)
def test_what_is_pushed_else_needs_no_question(command: str) -> None:
    assert gate(command, ["git"]) == "allow"
