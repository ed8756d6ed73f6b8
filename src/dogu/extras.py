"""What to type for a part of dogu that isn't installed, as this dogu came to be here."""

from __future__ import annotations

import json
import os
import shlex
import sys
from importlib import util

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from typing import Any

_DISTRIBUTION = "dogu-agent"


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the Python that runs: from the checkout, the file or the repository
    that dogu was installed from, else from the index."""
    source = _source()
    what = f"{_DISTRIBUTION}[{extra}]" + (f" @ {source}" if source else "")
    if util.find_spec("pip") is None:  # as in what uv makes
        return f"uv pip install --python {shlex.quote(sys.executable)} {shlex.quote(what)}"
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(what)}"


def _source() -> str:
    """Return the address that dogu was installed from; '' for the index."""
    from importlib import metadata
    from pathlib import Path

    try:
        written = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # it runs where its sources lie
        checkout = Path(__file__).resolve().parents[2]
        return checkout.as_uri() if os.path.isfile(checkout / "pyproject.toml") else ""
    facts: dict[str, Any] = json.loads(written) if written else {}
    address, repository = facts.get("url", ""), facts.get("vcs_info")
    if not repository:
        return address
    return f"{repository.get('vcs', 'git')}+{address}@{repository.get('commit_id', 'HEAD')}"
