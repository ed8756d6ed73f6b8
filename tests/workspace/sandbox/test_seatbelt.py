"""The profile for macOS, as text: no Mac was at hand, so nothing here runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dogu.workspace.sandbox import ladder, seatbelt
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step

WRITABLE, HIDDEN = ["/Users/a/project", "/private/tmp"], ["/Users/a/.ssh", "/Users/a"]


def profile_of(*, network: bool = True) -> tuple[str, dict[str, str]]:
    words = seatbelt.arguments(WRITABLE, HIDDEN, ["/run/docker.sock"], ["/Users/a/project/.git"], network=network)
    assert words[:2] == ["/usr/bin/sandbox-exec", "-p"]
    assert words[-1] == "--"
    pairs = words[3:-1]
    assert pairs[::2] == ["-D"] * (len(pairs) // 2)
    return words[2], dict(pair.split("=", 1) for pair in pairs[1::2])


def test_everything_is_denied_but_what_is_named() -> None:
    profile, _ = profile_of()
    assert profile.startswith("(version 1)\n(deny default)\n")
    assert profile.count("(") == profile.count(")")
    assert "(allow default)" not in profile


def test_paths_are_parameters_and_every_parameter_is_used() -> None:
    profile, parameters = profile_of()
    assert set(re.findall(r'\(param "(\w+)"\)', profile)) == set(parameters)
    assert not any(path in profile for path in parameters.values())
    assert parameters["WRITABLE_0"] == "/Users/a/project"


def test_later_rules_hide_secrets_and_fix_what_runs_later() -> None:
    profile, parameters = profile_of()
    order = ["WRITABLE_1", "HIDDEN_1", "WITHIN_0", "FIXED_0", "SOCKET_0"]
    places = [profile.index(f'"{name}"') for name in order]
    assert places == sorted(places)
    assert '(deny file-read* file-write* (subpath (param "HIDDEN_0")))' in profile
    assert '(deny file-write* (subpath (param "FIXED_0")))' in profile
    assert '(deny network-outbound file-write* (subpath (param "SOCKET_0")))' in profile
    assert parameters["WITHIN_0"] == "/Users/a/project"  # a root inside of what is hidden is shown again


def test_the_network_goes_by_setting() -> None:
    assert "(allow network*)" in profile_of(network=True)[0]
    assert "network*" not in profile_of(network=False)[0]


def test_macos_takes_it_as_its_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "sandbox-exec"
    monkeypatch.setattr(ladder, "IS_MAC", True)
    monkeypatch.setattr(ladder, "IS_LINUX", False)
    monkeypatch.setattr(seatbelt, "PROGRAM", str(program))
    assert Sandbox.detect().step is Step.NONE
    program.touch(mode=0o755)
    sandbox = Sandbox.detect(SandboxSettings(hosts=("example.com",)))
    assert sandbox.step is Step.SEATBELT
    order = sandbox.confine([str(tmp_path)], {"HOME": str(tmp_path)}).order or {}
    assert order["prefix"][0] == str(program)
    assert "network*" not in order["prefix"][2]
    assert "never tried on a Mac" in " ".join(sandbox.limits)
    assert "can't be enforced" in " ".join(sandbox.limits)
    assert "untested" in sandbox.describe()
    assert sandbox.reach.endswith("Network: none.")
    assert Sandbox.detect(best=Step.NONE).step is Step.NONE
