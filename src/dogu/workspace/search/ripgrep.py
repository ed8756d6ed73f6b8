"""Search by ripgrep: one pass that counts matched lines in every file, then the lines of the files to be shown.

The first pass runs in a folder's handle; what it names is opened again without following links and handed to the
second as descriptors, so no content of a file outside of the folder is ever shown. Counting first keeps common words
cheap (no line is printed but those shown), the full count exact and the order deterministic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.ignore import DEFAULT_EXCLUDED
from dogu.workspace.search.program import Outcome, Program
from dogu.workspace.search.query import Counted, MatchedLine, SearchLimits, SearchQuery
from dogu.workspace.search.source import Source, cut_around
from dogu.workspace.system import IS_WINDOWS

BASE_FLAGS = ("--no-config", "--color=never", "--hidden", "--crlf", "--null", "--with-filename", "--no-ignore-dot")
"""What every run of ripgrep is given."""

_LONGEST_ARGUMENT_BYTES = 128 * 1024  # MAX_ARG_STRLEN: the system takes none that is longer
_SHOWN = ("--no-heading", "--line-number", "--column", "--byte-offset", "--no-context-separator", "--text")
_PREVIEW_BYTES = 16_384
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_LINE = re.compile(rb"(?:/proc/self/fd/(\d+)|<stdin>)\0(?:(\d+):(\d+):(\d+):|(\d+)-\d+-)([^\n]*)\n")
_BATCH = 1 if IS_WINDOWS else 128  # one is handed over there, as standard input
_LARGEST_OUTPUT_BYTES = 256 << 20
# Text that isn't ASCII in files that aren't UTF-8: a pattern is widened to the bytes of other encodings.
_CODECS = ("cp932", "euc_jp", "iso2022_jp", "cp949", "gb18030", "big5", "cp1252")
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_PARTS = re.compile(
    r"(?P<escape>\\.)|(?P<run>[^\x00-\x7f]+)(?P<quantifier>[*+?{]?)|(?P<open>\[)|(?P<close>\])", re.DOTALL
)
_SHORTEST_JIS_BYTES = 4  # anything shorter is common in plain ASCII text


class _Output(msgspec.Struct):
    pieces: list[bytes] = msgspec.field(default_factory=list[bytes])
    size: int = 0

    def take(self, data: bytes) -> bool:
        self.pieces.append(data)
        self.size += len(data)
        return self.size < _LARGEST_OUTPUT_BYTES

    def joined(self) -> bytes:
        return b"".join(self.pieces)


class Ripgrep(msgspec.Struct, frozen=True):
    """The engine: `program` is the path of `rg`."""

    program: str
    name = "ripgrep"

    def count(self, query: SearchQuery, folder: int, ignoring: Sequence[str], limits: SearchLimits) -> Counted:
        """Count matched lines of every file below a folder's handle; `ignoring`: ripgrep's flags for what to leave out.

        Paths are relative to the folder. Raises `ToolError` (BAD_PATTERN).
        """
        include = [f"--glob={query.include}"] if query.include else []
        excluded = [f"--glob=!{name}" for name in sorted(DEFAULT_EXCLUDED)]
        words = ["--count", *ignoring, *include, *excluded]
        words += ["--path-separator=/"] if IS_WINDOWS else []
        output, outcome = _Output(), Outcome(exit_code=2)
        for pattern in _nominating(query):
            output = _Output()
            outcome = self._program([*words, *pattern, "--", "."], query, folder).run(output.take, limits)
            if outcome.exit_code != 2 or output.size:
                break
        self._check(query, outcome)
        found = {os.fsdecode(path.removeprefix(b"./")): int(count) for path, count in _COUNT.findall(output.joined())}
        return Counted(found, outcome.exit_code is not None, outcome.denied)

    def count_sources(self, query: SearchQuery, sources: Sequence[Source], limits: SearchLimits) -> Counted:
        """Count matched lines of open files, on Windows of one. Raises `ToolError` (BAD_PATTERN)."""
        words = ["--count", "--text", *_pattern(query), "--", *map(_name, sources)]
        output = _Output()
        outcome = self._program(words, query, None, sources).run(output.take, limits)
        self._check(query, outcome)
        counts = {os.fsdecode(name): int(count) for name, count in _COUNT.findall(output.joined())}
        found = {source.path: counts[_told(source)] for source in sources if _told(source) in counts}
        return Counted(found, outcome.exit_code is not None)

    def lines(self, query: SearchQuery, sources: Sequence[Source], limits: SearchLimits) -> list[list[MatchedLine]]:
        """Return the matched lines of each of the sources, with context, at most `max_matches` a file."""
        found: list[list[MatchedLine]] = []
        for start in range(0, len(sources), _BATCH):
            found += self._lines(query, sources[start : start + _BATCH], limits)
        return found

    def _lines(self, query: SearchQuery, sources: Sequence[Source], limits: SearchLimits) -> list[list[MatchedLine]]:
        shown = [f"--max-columns={_PREVIEW_BYTES}", "--max-columns-preview", f"--max-count={query.max_matches}"]
        context = [f"--context={query.context_lines}"] if query.context_lines else []
        words = [*_SHOWN, *shown, *context, *_pattern(query), "--", *map(_name, sources)]
        output = _Output()
        self._program(words, query, None, sources).run(output.take, limits)
        found: dict[int, list[MatchedLine]] = {source.descriptor: [] for source in sources}
        by_descriptor = {source.descriptor: source for source in sources}
        for match in _LINE.finditer(output.joined()):
            source = by_descriptor[int(match[1])] if match[1] else sources[0]
            found[source.descriptor].append(_line_of(match, source))
        return list(found.values())

    def _program(
        self, words: Sequence[str], query: SearchQuery, folder: int | None, sources: Sequence[Source] = ()
    ) -> Program:
        case = "--case-sensitive" if query.case_sensitive else "--ignore-case"
        lines = ["--multiline"] if query.spans_lines else []
        if any(len(os.fsencode(word)) >= _LONGEST_ARGUMENT_BYTES for word in words):
            raise ToolError(ErrorKind.BAD_PATTERN, "Search pattern too long for ripgrep. Search for a part of it.")
        environ = {name: value for name, value in os.environ.items() if name != "RIPGREP_CONFIG_PATH"}
        descriptors = [source.descriptor for source in sources]
        return Program([self.program, *BASE_FLAGS, case, *lines, *words], folder, descriptors, environ)

    def _check(self, query: SearchQuery, outcome: Outcome) -> None:
        """Raise what ripgrep says of the pattern or glob, if that is why it failed; an unreadable file is none."""
        if outcome.exit_code != 2:
            return
        output = _Output()
        include = [f"--glob={query.include}"] if query.include else []
        words = [*include, *_pattern(query), "--", os.devnull]
        trial = self._program(words, query, None).run(output.take, SearchLimits(deadline=float("inf")))
        if trial.exit_code == 2:
            reason = trial.errors.decode("utf-8", "replace").removeprefix("rg: ").rstrip()
            raise ToolError(
                ErrorKind.BAD_PATTERN,
                f"Bad search pattern {query.pattern!r}: {reason}\n"
                "Correct it (the dialect is that of Rust's regex crate: no look-around, no backreferences), or search "
                "for plain text with `fixed_strings`.",
            )


def _pattern(query: SearchQuery) -> list[str]:
    return [*(["--fixed-strings"] if query.fixed_strings else []), f"--regexp={query.pattern}"]


def _nominating(query: SearchQuery) -> list[list[str]]:
    """Return ways to spell the pattern for the first pass, the widest first; a later one if that doesn't compile."""
    if query.pattern.isascii():
        return [_pattern(query)]
    wide = widened(escaped(query.pattern) if query.fixed_strings else query.pattern)
    return [[f"--regexp={wide}"], _pattern(query)]


def _name(source: Source) -> str:
    return "-" if IS_WINDOWS else f"/proc/self/fd/{source.descriptor}"


def _told(source: Source) -> str:
    return "<stdin>" if IS_WINDOWS else _name(source)


def _line_of(match: re.Match[bytes], source: Source) -> MatchedLine:
    data = match[6].removesuffix(b"\r")
    if match[5]:
        return MatchedLine(int(match[5]), cut_around(source.text_of(data[:_PREVIEW_BYTES]), 0), is_match=False)
    number, column, offset = int(match[2]), int(match[3]), int(match[4])
    if len(data) < _PREVIEW_BYTES:
        return MatchedLine(number, cut_around(source.text_of(data), len(data[: column - 1].decode("utf-8", "ignore"))))
    before, after = source.around(offset + column - 1)
    return MatchedLine(number, cut_around(source.text_of(before + after), len(before.decode("utf-8", "ignore"))))


# One of each family of bytes; UTF-16 with a BOM is ripgrep's own work.
def escaped(text: str) -> str:
    """Return plain text as a regular expression in Rust's dialect."""
    return _META.sub(r"\\\g<0>", text).replace("\n", "\\n")


def widened(pattern: str) -> str:
    """Return a regular expression that also finds the pattern's non-ASCII parts as other encodings spell them."""
    pieces: list[str] = []
    done = 0
    level = 0
    for match in _PARTS.finditer(pattern):
        if match["open"]:
            level += 1
        elif match["close"]:
            level = max(0, level - 1)
        elif match["run"] and level == 0:
            pieces += [pattern[done : match.start()], _either(match["run"], bool(match["quantifier"]))]
            done = match.end("run")
    return "".join([*pieces, pattern[done:]])


def _either(run: str, is_quantified: bool) -> str:
    # A quantifier is for the last character alone.
    parts = [run[:-1], run[-1]] if is_quantified else [run]
    return "".join(f"(?:{'|'.join([part, *_spellings(part)])})" for part in parts if part)


def _spellings(text: str) -> list[str]:
    spelled: dict[bytes, None] = {}
    for codec in _CODECS:
        for variant in dict.fromkeys((text, text.lower(), text.upper())):
            data = _encoded(variant, codec)
            if data:
                spelled[data] = None
    return ["(?-u:" + "".join(f"\\x{byte:02x}" for byte in data) + ")" for data in spelled]


def _encoded(text: str, codec: str) -> bytes:
    try:
        data = text.encode(codec)
    except UnicodeEncodeError:
        return b""
    if codec == "iso2022_jp":
        data = re.sub(rb"\x1b[$(][@BJ]", b"", data)
        return data if len(data) >= _SHORTEST_JIS_BYTES else b""
    return data
