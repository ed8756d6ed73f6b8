"""The sizes and habits of docs/ARCHITECTURE.md that no linter checks; prints what fails and where."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FILE_LINES, FILE_LINES_AT_MOST = 300, 400
FUNCTION_LINES_P95, FUNCTION_LINES = 35, 60
PUBLIC_METHODS = 20
PARAMETERS = 6
TOOL_IMPORTS = 5
BROAD_EXCEPTS = {
    "runtime/executor.py": "Executor.run",
    "serve/defects.py": "contained",
    "cli.py": "main",
    "workspace/layer/settling.py": "Settling._settled_or_aside",  # whatever fails, a command's work isn't lost
}

SEAM = (
    "workspace/event_loop.py",
    "workspace/fs.py",
    "workspace/windows_files.py",
    "workspace/windows_handles.py",
    "workspace/system.py",
    "workspace/syscalls.py",
    "workspace/openat.py",
    "workspace/launcher/",
    "workspace/process/",
    "cli.py",
)
"""Who may ask which system it is: the seam over systems, and who tells it to nobody but a reader (`--version`)."""

_BAD_CLASS_NAME = re.compile(r"^_?Base[A-Z]|(Manager|Service|Helper|Utils?)$")
_IGNORE = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore)(?P<rest>.*)")
_RULE_AND_REASON = re.compile(r"^(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|\[[\w, -]+\])\s+\(.{8,}\)")
_SIZE_RULE = re.compile(r"\b(C901|PLR09\d\d|E501)\b")
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Report:
    """What was found: failures stop the build, warnings are told."""

    failures: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    function_lines: list[int] = field(default_factory=list[int])
    files: int = 0


def check_file(path: Path, name: str, report: Report) -> None:
    """Check one file; `name` is its path inside the package, with slashes."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path))
    tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    report.files += 1
    _check_length(path, tree, tokens, report)
    report.failures += [f"{path}:{line}: {problem}" for line, problem in _comment_problems(tokens)]
    for scope, node in _scoped(tree, ""):
        report.failures += [f"{path}:{line}: {problem}" for line, problem in _node_problems(name, scope, node)]
        if isinstance(node, Function):
            report.function_lines.append(_lines(node))
    if not name.startswith(SEAM):
        report.failures += [
            f"{path}:{line}: asks which system it is; that is dogu.workspace.system's" for line in _asks_system(tree)
        ]
    if name.startswith("app/"):
        report.failures += [f"{path}:{line}: {problem}" for line, problem in _foreign_assignments(tree)]
    if name.startswith("tools/"):
        package = path.parents[name.count("/")]
        ours = sorted(_own_modules(tree, package))
        if len(ours) > TOOL_IMPORTS:
            report.failures.append(
                f"{path}:1: a tool imports {len(ours)} modules of ours ({', '.join(ours)}), at most {TOOL_IMPORTS}"
            )


def _asks_system(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Attribute(value=ast.Name(id="sys"), attr="platform")
                | ast.Attribute(value=ast.Name(id="os"), attr="name")
            ):
                yield node.lineno
            case _:
                pass


def _foreign_assignments(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find what is assigned to another object's attribute: the root of composition puts together by constructors."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Attribute) and ast.unparse(each.value) != "self":
                    yield each.lineno, f"{ast.unparse(each)} is assigned: give it to the constructor"


def code_lines(tree: ast.Module, tokens: Sequence[tokenize.TokenInfo]) -> int:
    """Count the lines that hold code: no blank ones, no comments, no docstrings."""
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokens:
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines -= _docstring_lines(node)
    return len(lines)


def _docstring_lines(node: ast.Module | ast.ClassDef | Function) -> set[int]:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return set()


def _check_length(path: Path, tree: ast.Module, tokens: Sequence[tokenize.TokenInfo], report: Report) -> None:
    lines = code_lines(tree, tokens)
    if lines > FILE_LINES_AT_MOST:
        report.failures.append(f"{path}:1: {lines} lines of code, at most {FILE_LINES_AT_MOST}: split it by idea")
    elif lines > FILE_LINES:
        report.warnings.append(f"{path}:1: {lines} lines of code, more than {FILE_LINES}")


def _comment_problems(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        if _UNFINISHED.search(token.string):
            yield token.start[0], f"unfinished: {token.string}"
        found = _IGNORE.search(token.string)
        if found is None:
            continue
        if _SIZE_RULE.search(found["rest"]):
            yield token.start[0], f"a size rule is not to be ignored: {token.string}"
        if not _RULE_AND_REASON.match(found["rest"].strip()):
            yield token.start[0], f"an ignore names its rule and, in parentheses, its reason: {token.string}"


def _scoped(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    """Give every node with the dotted name of the class and function it stands in."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{scope}.{child.name}".lstrip(".")
        yield scope, child
        yield from _scoped(child, inner)


def _node_problems(file: str, scope: str, node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _function_problems(node, is_method=scope.rpartition(".")[2].lstrip("_")[:1].isupper())
        case ast.ClassDef():
            yield from _class_problems(node)
        case ast.ExceptHandler():
            if _is_broad(node.type) and not _raises_again(node) and BROAD_EXCEPTS.get(file) != scope:
                yield node.lineno, "a broad except: name the exception (only four places may not)"
        case ast.Call(func=ast.Attribute(attr="create_task" | "ensure_future" as name)):
            yield node.lineno, f"{name}: every task has a parent, use an anyio task group"
        case ast.Call(func=ast.Attribute(attr="suppress") | ast.Name(id="suppress")) if any(map(_is_broad, node.args)):
            yield node.lineno, "a broad suppress: name the exception"
        case _:
            pass


def _function_problems(node: Function, *, is_method: bool) -> Iterator[tuple[int, str]]:
    lines = _lines(node)
    if lines > FUNCTION_LINES:
        yield node.lineno, f"{node.name} has {lines} lines, at most {FUNCTION_LINES}"
    given = node.args
    count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
    is_static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
    count -= is_method and not is_static
    if count > PARAMETERS:
        yield node.lineno, f"{node.name} takes {count} parameters, at most {PARAMETERS}"


def _class_problems(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    public = [item for item in node.body if isinstance(item, Function) and not item.name.startswith("_")]
    if len(public) > PUBLIC_METHODS:
        yield node.lineno, f"{node.name} has {len(public)} public methods, at most {PUBLIC_METHODS}"
    if _BAD_CLASS_NAME.search(node.name):
        yield node.lineno, f"{node.name}: a name that says nothing (Manager, Service, Helper, Utils, Base...)"


def _lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))


def _raises_again(node: ast.ExceptHandler) -> bool:
    """Whether it only cleans up: its last statement raises the same exception."""
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _own_modules(tree: ast.Module, package: Path) -> set[str]:
    """Return the modules of ours that the file imports; a folder that others import from counts as one."""
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dogu":
            folder = package.joinpath(*(node.module or "").split(".")[1:])
            for name in node.names:
                is_module = (folder / f"{name.name}.py").exists() or (folder / name.name).is_dir()
                modules.add(f"{node.module}.{name.name}" if is_module else f"{node.module}")
        elif isinstance(node, ast.Import):
            modules.update(name.name for name in node.names if name.name.split(".")[0] == "dogu")
    return modules


def main(package: Path) -> int:
    """Check every file of the package; 1 when something fails."""
    report = Report()
    for path in sorted(package.rglob("*.py")):
        check_file(path, path.relative_to(package).as_posix(), report)
    lengths = sorted(report.function_lines)
    p95 = lengths[int(len(lengths) * 0.95)] if lengths else 0
    if p95 > FUNCTION_LINES_P95:
        report.failures.append(f"{package}: 95 % of the functions have up to {p95} lines, at most {FUNCTION_LINES_P95}")
    for line in (*(f"warning: {text}" for text in report.warnings), *report.failures):
        print(line)
    print(f"sizes: {report.files} files, {len(lengths)} functions, p95 {p95} lines; {len(report.failures)} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("src/dogu")))
