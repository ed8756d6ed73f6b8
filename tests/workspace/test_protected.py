import pytest

from dogu.workspace.protected import protected_reason, secret_reason


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", "sub/.git/config", ".Git/hooks/x", ".GIT/config", ".git", "a/.gemini/settings.json",
        ".dogu/settings.json", ".vscode/tasks.json", ".VSCODE/settings.json", ".bashrc", "home/.zshrc", ".npmrc",
        ".github/workflows/x.yml", ".devcontainer/devcontainer.json", "bare.git/hooks/update", ".git /config",
        ".git./config", "git~1/config", ".git::$INDEX_ALLOCATION/config", ".gi\u200dt/config", ".git\u200b/config",
        "\uff0egit/config", "x\\.git\\config", ".gitmodules", ".config/git/config", ".ripgreprc", ".claude/settings.json",
        ".agent/rules/x.md", ".newagent/commands/deploy.md", "sub/.newagent/mcp.json", ".other/hooks.json", "WARP.md",
        ".idx/dev.nix", ".gitpod.yml", ".vs/tasks.vs.json", "a.sublime-project", ".dir-locals-2.el", ".mvn/jvm.config",
        ".bazelrc", "prek.toml", ".simple-git-hooks.json", ".pi/x", ".cursorrules", ".foorules.md",
    ],
)  # fmt: skip
def test_what_runs_later_is_protected_in_any_spelling(path: str):
    assert protected_reason(path)
    assert protected_reason(f"/deep/er/{path}")


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        ".gitattributes",
        "src/main.py",
        "git/config",
        "config",
        "hooks/x",
        "...",
        "a.git.txt",
        ".env",
        "./rules/x.md",
        "../commands/x.py",
        "src/rules/x.md",
        "agents/settings.json",
        ".storybook/main.ts",
        ".prettierrc",
    ],
)
def test_an_ordinary_file_is_not_protected(path: str):
    assert protected_reason(path) is None


@pytest.mark.parametrize(
    "path", [".env", "sub/.ENV", ".env.local", ".aws/credentials", "id_rsa", "certs/key.pem", ".npmrc", ".netrc"]
)
def test_a_file_of_secrets_is_known(path: str):
    assert secret_reason(path)


@pytest.mark.parametrize("path", [".env.example", ".envy", "env", "src/aws.py", "id_rsa.pub"])
def test_an_ordinary_file_holds_no_secret(path: str):
    assert secret_reason(path) is None
