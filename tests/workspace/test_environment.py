from dogu.workspace.environment import OWN_KEYS, command_environment


def test_what_programs_need_passes() -> None:
    parent = {"PATH": "/bin", "HOME": "/home/a", "LC_ALL": "ja_JP.UTF-8", "GOPATH": "/go", "XDG_RUNTIME_DIR": "/run/1"}
    assert parent.items() <= command_environment(parent).items()


def test_secrets_and_unknown_names_stay_out() -> None:
    secrets = [
        *OWN_KEYS, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "PGPASSWORD",
        "CARGO_REGISTRY_TOKEN", "ANTHROPIC_API_KEY", "XDG_SECRET_TOKEN", "LC_PASSWORD", "MY_VARIABLE", "BASH_ENV",
        "LD_PRELOAD", "PROMPT_COMMAND",
    ]  # fmt: skip
    environment = command_environment(dict.fromkeys(secrets, "leak"))
    assert "leak" not in environment.values()


def test_the_documented_variables_are_set_and_pagers_are_off() -> None:
    environment = command_environment({"PAGER": "less", "TERM": "xterm-256color"})
    assert environment["GEMINI_CLI"] == "1"
    assert environment["DOGU"] == "1"
    assert environment["PAGER"] == environment["GIT_PAGER"] == "cat"
    assert environment["GIT_OPTIONAL_LOCKS"] == "0"
    assert environment["TERM"] == "dumb"
    assert not [name for name in environment if name.startswith("GIT_CONFIG")]


def test_a_setting_lets_more_names_in() -> None:
    parent = {"MYAPP_MODE": "x", "MYAPP_TOKEN": "t", "OTHER": "o", "DEPLOY_TOKEN": "d", "GEMINI_API_KEY": "k"}
    environment = command_environment(parent, (name for name in ["MYAPP_*", "DEPLOY_TOKEN", "GEMINI_API_KEY", "*"]))
    assert environment.keys() & parent.keys() == {"MYAPP_MODE", "DEPLOY_TOKEN"}


def test_a_url_with_a_password_stays_out_unless_it_is_a_proxy() -> None:
    parent = {"PIP_INDEX_URL": "https://me:pw@index/simple", "https_proxy": "http://me:pw@proxy:3128"}
    environment = command_environment(parent)
    assert "PIP_INDEX_URL" not in environment
    assert "https_proxy" in environment


def test_there_is_always_a_path() -> None:
    assert "/usr/bin" in command_environment({})["PATH"]
