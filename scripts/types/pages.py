"""Checks the Python of the README and the pages as an outsider's strict type checker would: `make types`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Write each block to a file that is named by its page and line, and run pyright over them."""
    with tempfile.TemporaryDirectory() as folder:
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            text = page.read_text(encoding="utf-8")
            for block in _BLOCK.finditer(text):
                line = text.count("\n", 0, block.start(1)) + 1
                program = "\n" * (line - 1) + block[1]  # so that what is told stands on the page's own line
                Path(folder, f"{page.stem}_{line}.py").write_text(program, encoding="utf-8")
        settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "venvPath": str(ROOT), "venv": ".venv"}
        Path(folder, "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
        checker = Path(sys.executable).parent / "pyright"
        return subprocess.run([checker, "-p", folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
