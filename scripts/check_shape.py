"""The shape of the house: how finely it is cut and how its modules hang together; fails where it gets worse.

Run by `make sizes`, after `check_sizes.py`, which looks at one file at a time. A figure of `AT_MOST` is what was
reached: it is lowered when the code improves, and never raised. What grows with what dogu can do (files, lines,
imports) is told, and held as a share.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from check_sizes import Function, code_lines

AT_MOST = {
    "definitions per 1,000 lines of code": 62.0,
    "modules with one importer, %": 29.9,
    "imports in functions per 1,000 lines of code": 3.8,
    "of our own modules": 2.8,
    "repeated in one file": 0.8,
    "cycles of files": 0,
    "cycles of folders": 0,
}


@dataclass
class Module:
    """What one file counts for."""

    is_folder: bool
    lines: int
    code_lines: int
    comments: int
    definitions: int
    imported: set[str] = field(default_factory=set[str])
    """The modules it imports, wherever in the file; for types only too."""
    late: list[set[str]] = field(default_factory=list[set[str]])
    """The modules that each import inside a function names."""


def read(package: Path) -> dict[str, Module]:
    """Read every module of a package, by its dotted name."""
    paths: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        paths[name.removesuffix(".__init__")] = path
    return {name: _module(name, path, {*paths}) for name, path in paths.items()}


def _module(name: str, path: Path, known: set[str]) -> Module:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path))
    tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    module = Module(
        is_folder=path.name == "__init__.py",
        lines=source.count("\n"),
        code_lines=code_lines(tree, tokens),
        comments=sum(token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip() for token in tokens),
        definitions=sum(isinstance(node, Function | ast.ClassDef) for node in tree.body),
    )
    here = name if module.is_folder else name.rpartition(".")[0]
    for node, is_late in _imports(tree, is_late=False):
        named = _named(node, here, known)
        module.imported |= named & known - {name}
        module.late += [named] if is_late else []
    return module


def _imports(node: ast.AST, *, is_late: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, is_late
        else:
            yield from _imports(child, is_late=is_late or isinstance(child, Function))


def _named(node: ast.Import | ast.ImportFrom, here: str, known: set[str]) -> set[str]:
    """Return the modules that a statement names; `from a import b` is `a.b` where that is a module, else `a`."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    above = here.split(".")[: len(here.split(".")) - node.level + 1] if node.level else []
    start = ".".join([*above, *filter(None, [node.module])])
    return {f"{start}.{alias.name}" if f"{start}.{alias.name}" in known else start for alias in node.names}


def figures(modules: Mapping[str, Module]) -> dict[str, float]:
    """Return every figure by its name."""
    code = sum(module.code_lines for module in modules.values())
    importers = Counter(name for module in modules.values() for name in module.imported)
    files = [name for name, module in modules.items() if not module.is_folder]
    late = [named for module in modules.values() for named in module.late]
    repeated = sum(sum(map(len, m.late)) - len(set[str]().union(*m.late)) for m in modules.values())
    edges = {name: module.imported for name, module in modules.items()}
    return {
        "files": len(modules),
        "lines": sum(module.lines for module in modules.values()),
        "lines of code": code,
        "definitions per 1,000 lines of code": sum(m.definitions for m in modules.values()) / code * 1000,
        "comments per 100 lines of code": sum(module.comments for module in modules.values()) / code * 100,
        "modules with one importer, %": sum(importers[name] == 1 for name in files) / max(len(files), 1) * 100,
        "imports in functions": len(late),
        "of them of our own modules": sum(not named.isdisjoint(modules) for named in late),
        "of them repeated in one file": repeated,
        "imports in functions per 1,000 lines of code": len(late) / code * 1000,
        "of our own modules": sum(not named.isdisjoint(modules) for named in late) / code * 1000,
        "repeated in one file": repeated / code * 1000,
        "cycles of files": len(cycles(edges)),
        "cycles of folders": len(cycles(_within_layers(edges))),
    }


def _within_layers(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Join each module to the file or folder of its layer that it is in: `dogu.workspace.web.url` to its folder."""
    joined: defaultdict[str, set[str]] = defaultdict(set)
    for name, others in edges.items():
        unit = ".".join(name.split(".")[:3])
        joined[unit] |= {".".join(other.split(".")[:3]) for other in others} - {unit}
    return {unit: {o for o in others if o.count(".") == unit.count(".") == 2} for unit, others in joined.items()}


def cycles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups whose members all reach one another."""
    reached = {name: _reached(name, edges) for name in edges}
    found: list[set[str]] = []
    for name, others in reached.items():
        if name in others and not any(name in cycle for cycle in found):
            found.append({other for other in others if name in reached.get(other, ())})
    return found


def _reached(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [*edges[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges.get(name, ())
    return reached


def main(package: Path) -> int:
    """Print the figures, and 1 when one is worse than it was."""
    modules = read(package)
    found = figures(modules)
    for name, figure in found.items():
        most = f" (at most {AT_MOST[name]:,})" if name in AT_MOST else ""
        print(f"{name}: {figure:,.1f}{most}".replace(".0 ", " ").removesuffix(".0"))
    edges = {name: module.imported for name, module in modules.items()}
    for cycle in (*cycles(edges), *cycles(_within_layers(edges))):
        print("cycle:", ", ".join(sorted(cycle)))
    worse = [name for name, most in AT_MOST.items() if round(found[name], 1) > most]
    for name in worse:
        print(f"worse than it was: {name}, {found[name]:,.1f} and not {AT_MOST[name]:,}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("src/dogu")))
