"""`python -m bench [NAME ...]`: print what things cost; ratios are measured side by side in one run."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import bench

_PARTS = ("__main__", "codex", "edit_cases", "fleet_programs", "measure", "trees")  # of those that measure


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all."""
    found = [module.name for module in pkgutil.iter_modules(bench.__path__)]
    known = [name for name in found if name not in _PARTS]
    for name in names or known:
        if name not in known:
            sys.exit(f"There is no benchmark {name!r}: {', '.join(known)}")
        print(f"== {name}", flush=True)
        # A process each: a child's peak memory counts its parent's at the time it was started.
        subprocess.run([sys.executable, "-c", f"from bench.{name} import main; main()"], check=True)


main(sys.argv[1:])
