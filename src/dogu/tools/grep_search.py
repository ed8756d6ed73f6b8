"""grep_search: lines that match a regular expression (seeds: file tools §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import anyio.from_thread
import anyio.to_thread
import msgspec

from dogu.contract import CallContext, JsonObject, Kind, Tool, ToolResult, joined, sentence, told
from dogu.workspace.names import shown_name
from dogu.workspace.search import ContentSearch

if TYPE_CHECKING:
    from dogu.workspace.search.query import FileMatches, SearchQuery, SearchResult

DEFAULT_MAX_MATCHES = 500
MOST_CONTEXT_LINES = 50
MOST_MATCHES = 20_000
_TAKEN_ONLY = frozenset(("max_matches_per_file", "exclude_pattern"))
"""Parameters of other generations, which aren't published."""


class GrepSearchArgs(msgspec.Struct, kw_only=True):
    """What grep_search takes."""

    pattern: Annotated[
        str, msgspec.Meta(description='Regular expression to search for, such as "function\\s+myFunction".')
    ]
    path: Annotated[
        str | None,
        msgspec.Meta(
            description="Directory or file to search: absolute, or relative to the project root (the default)."
        ),
    ] = None
    include: Annotated[
        str | None,
        msgspec.Meta(description='Glob of the files to search, such as "*.js" or "src/**/*.{ts,tsx}". Default: all.'),
    ] = None
    case_sensitive: Annotated[bool, msgspec.Meta(description="Whether case matters. Default: false.")] = False
    fixed_strings: Annotated[
        bool, msgspec.Meta(description="Take the pattern as plain text, not as a regular expression. Default: false.")
    ] = False
    context_lines: Annotated[
        int, msgspec.Meta(ge=0, le=MOST_CONTEXT_LINES, description="Lines to show around each match. Default: 0.")
    ] = 0
    names_only: Annotated[
        bool, msgspec.Meta(description="Return only the paths of files with matches. Default: false.")
    ] = False
    max_matches: Annotated[
        int, msgspec.Meta(ge=1, le=MOST_MATCHES, description="How many matches to return at most. Default: 500.")
    ] = DEFAULT_MAX_MATCHES
    respect_git_ignore: Annotated[
        bool, msgspec.Meta(description="Whether to leave out what .gitignore ignores. Default: true.")
    ] = True
    max_matches_per_file: Annotated[int, msgspec.Meta(ge=0)] = 0
    exclude_pattern: str | None = None


class GrepSearch(Tool[GrepSearchArgs]):
    """Search the contents of files for a regular expression and return the matching lines with their numbers.

    The dialect is that of Rust's regex crate (as in ripgrep): no look-around, no backreferences. Case doesn't matter
    unless `case_sensitive`. Hidden files are searched; binary files, .git and node_modules are not. Matches are listed
    by file, paths relative to the directory searched; at most `max_matches` are returned, with the full count.
    """

    name = "grep_search"
    display_name = "SearchText"
    kind = Kind.SEARCH
    aliases = {
        "dir_path": "path",
        "directory": "path",
        "include_pattern": "include",
        "total_max_matches": "max_matches",
    }

    def __init__(self, search: ContentSearch) -> None:
        self._search = search

    def publish(self, schema: JsonObject) -> JsonObject:
        """Leave out what other generations send."""
        properties = {name: value for name, value in schema["properties"].items() if name not in _TAKEN_ONLY}
        return {**schema, "properties": properties}

    def get_description(self, args: GrepSearchArgs) -> str:
        """The pattern, the filter, and where."""
        pattern, files, folder = args.pattern, args.include, args.path
        if files and folder:
            return told("'{pattern}' in {files} within {folder}", pattern=pattern, files=files, folder=folder)
        if folder:
            return told("'{pattern}' within {folder}", pattern=pattern, folder=folder)
        return told("'{pattern}' in {files}", pattern=pattern, files=files) if files else f"'{pattern}'"

    async def execute(self, args: GrepSearchArgs, context: CallContext) -> ToolResult:
        """Search in a thread that ends, with its program, when the call is cancelled."""
        from dogu.workspace.search.query import SearchQuery

        query = SearchQuery(
            pattern=args.pattern,
            path=args.path or ".",
            include=args.include,
            case_sensitive=args.case_sensitive,
            fixed_strings=args.fixed_strings,
            context_lines=args.context_lines,
            names_only=args.names_only and not args.exclude_pattern,
            max_matches=MOST_MATCHES if args.max_matches_per_file or args.exclude_pattern else args.max_matches,
            respect_git_ignore=args.respect_git_ignore,
        )
        result = await anyio.to_thread.run_sync(self._search.search, query, _is_wanted)
        if args.exclude_pattern and result.files:
            pattern = msgspec.structs.replace(query, pattern=args.exclude_pattern, fixed_strings=False, context_lines=0)
            _leave_out(result, await anyio.to_thread.run_sync(self._search.search, pattern, _is_wanted), query)
        query = msgspec.structs.replace(query, names_only=args.names_only)
        if args.names_only and args.exclude_pattern:
            result.files = [msgspec.structs.replace(file, lines=[]) for file in result.files[: args.max_matches]]
        elif args.max_matches_per_file or args.exclude_pattern:
            _cut(result, args.max_matches_per_file or args.max_matches, args.max_matches)
        return _told(query, result)


def _is_wanted() -> bool:
    anyio.from_thread.check_cancelled()
    return True


def _leave_out(result: SearchResult, excluded: SearchResult, query: SearchQuery) -> None:
    """Leave out the matches in lines that another search found, too, and context that belongs to none of the others."""
    gone = {(file.path, line.number) for file in excluded.files for line in file.lines}
    for file in result.files:
        matches = {line.number for line in file.lines if line.is_match}
        kept = {number for number in matches if (file.path, number) not in gone}
        near = {number + step for number in kept for step in range(-query.context_lines, query.context_lines + 1)}
        file.lines = [line._replace(is_match=line.number in kept) for line in file.lines if line.number in near]
        result.total -= len(matches) - len(kept)
    result.file_count -= sum(not file.lines for file in result.files)
    result.files = [file for file in result.files if file.lines]
    result.is_complete = result.is_complete and excluded.is_complete
    if max(result.total, excluded.total) > MOST_MATCHES:
        result.notes.append(f"exclude_pattern was applied to the first {MOST_MATCHES} matches only")


def _cut(result: SearchResult, per_file: int, in_all: int) -> None:
    """Leave so many matches of each file, with the context before them; the full count stays, and is told."""
    for file in result.files:
        most = min(per_file, in_all)
        ends = [index + 1 for index, line in enumerate(file.lines) if line.is_match]
        if len(ends) > most:
            file.lines = file.lines[: ends[most - 1]] if most else []
        in_all -= min(most, len(ends))
    result.files = [file for file in result.files if file.lines]


def _told(query: SearchQuery, result: SearchResult) -> ToolResult:
    where = f'pattern "{query.pattern}" in path "{query.path}"'
    where += f' (filter: "{query.include}")' if query.include else ""
    notes = _notes(query, result)
    if not result.files:
        return ToolResult("\n".join([f"No matches found for {where}.", *notes]), told("No matches found"))
    found = _found(query, result)
    blocks = [_block(file) for file in result.files]
    text = "\n".join([f"{found} for {where}:", "---", *blocks, *notes])
    return ToolResult(text, joined(" ", [found, *notes]))


def _block(file: FileMatches) -> str:
    encoding = f" ({file.encoding})" if file.encoding else ""
    lines = [f"L{line.number}{':' if line.is_match else '-'} {line.text}" for line in file.lines]
    return "\n".join([f"File: {shown_name(file.path)}{encoding}", *lines, "---"])


def _found(query: SearchQuery, result: SearchResult) -> str:
    files, matches = result.file_count, result.total
    if not query.names_only:
        return told("Found {count} matches", count=matches)
    return told("Found {files} files with {matches} matches", files=files, matches=matches)


def _notes(query: SearchQuery, result: SearchResult) -> list[str]:
    notes: list[str] = []
    if query.names_only:
        if result.file_count > len(result.files):
            notes.append(
                told(
                    "(showing the first {shown} of {count} files; {narrow})",
                    shown=len(result.files),
                    count=result.file_count,
                    narrow=_NARROW,
                )
            )
    else:
        shown = sum(line.is_match for file in result.files for line in file.lines)
        if result.total > shown > 0:
            notes.append(
                told(
                    "(showing the first {shown} of {count} matches; {narrow})",
                    shown=shown,
                    count=result.total,
                    narrow=_NARROW,
                )
            )
    if not result.is_complete:
        notes.append(told("(the time limit was reached: these are partial results; search a smaller path)"))
    return [*notes, *(told("({note})", note=note) for note in result.notes)]


_NARROW = sentence("narrow the pattern, path or include, or raise max_matches")
