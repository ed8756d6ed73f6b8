"""Places whose content runs later: writing there is asked in every mode."""

from __future__ import annotations

_FOLDERS = frozenset((".git", ".gemini", ".dogu", ".vscode", ".idea", ".cursor", ".claude", ".codex", ".devcontainer"))
_FILES = frozenset((".npmrc", ".ripgreprc", ".bashrc", ".profile", ".bash_profile", ".zshrc", ".zshenv"))


def protected_reason(path: str) -> str | None:
    """Say why writing to `path` must be asked whatever the mode, or None."""
    parts = [part.casefold().rstrip(" .") for part in path.split("/")]
    for part in parts:
        if part in _FOLDERS:
            return f"{part} holds settings or code that other programs run"
    if parts[-1] in _FILES:
        return f"{parts[-1]} is read and run by other programs"
    return None
