"""The file tools' two documents (Japanese and Korean), sentence by sentence."""

from requirement_entry import Requirement


def _both(section: str) -> tuple[str, ...]:
    return (f"file tools (ja) {section}", f"file tools (ko) {section}")


def _ko(section: str) -> tuple[str, ...]:
    return (f"file tools (ko) {section}",)


_FILE_NAME = "The documents name TypeScript files; ours are named after the tool."

INTRODUCTION = {
    "fs.suite": Requirement(
        _both("introduction"),
        "A suite of tools lists, reads, writes, searches and changes local files and directories.",
    ),
    "fs.control": Requirement(
        _both("introduction"),
        "The person stays in control: what changes something is confirmed, what reads is not.",
        divergence="What reads secrets is confirmed too.",
    ),
    "fs.root.contained": Requirement(
        _both("introduction"),
        "Every file tool works inside the root directory only, which is the directory of the start.",
    ),
    "fs.root.paths": Requirement(
        _both("introduction"), "A path is absolute, or is resolved relative to the root directory."
    ),
    "fs.foundation": Requirement(
        _both("closing"), "The file tools together let the model understand and act on the local project."
    ),
}

LIST = {
    "fs.list.name": Requirement(
        _both("§1"), "The tool is named list_directory and shown as ReadFolder.", divergence=_FILE_NAME
    ),
    "fs.list.direct": Requirement(
        _both("§1"),
        "It lists the names of files and subdirectories directly in the directory.",
        divergence="The first 2,000 entries; how many there are beyond is told.",
    ),
    "fs.list.path": Requirement(
        _both("§1"),
        "path (string, required) is the absolute path of the directory.",
        divergence="A relative path is accepted too and means relative to the root, as the introduction says.",
    ),
    "fs.list.ignore": Requirement(
        _both("§1"), 'ignore (array of strings, optional) leaves out entries that match a glob, like ["*.log", ".git"].'
    ),
    "fs.list.git_ignore": Requirement(
        _both("§1"), "respect_git_ignore (boolean, optional, true by default) leaves out what .gitignore ignores."
    ),
    "fs.list.marks": Requirement(_both("§1"), "Each entry is marked when it is a directory."),
    "fs.list.order": Requirement(
        _both("§1"),
        "Directories come first, then entries in alphabetical order.",
        divergence="Whatever the locale, case and accents don't part names: Beta stands between alpha and c.",
    ),
    "fs.list.output": Requirement(
        _both("§1"),
        "llm_content is 'Directory listing for P:', then '[DIR] name' and 'name' lines.",
        divergence="What was left out is told below, as '(2 git-ignored)'; an empty directory is said to be empty.",
    ),
    "fs.list.confirm": Requirement(_both("§1"), "It never asks."),
}

READ = {
    "fs.read.name": Requirement(
        _both("§2"), "The tool is named read_file and shown as ReadFile.", divergence=_FILE_NAME
    ),
    "fs.read.text": Requirement(_both("§2"), "It reads a text file and returns its content."),
    "fs.read.images": Requirement(
        _both("§2"),
        "PNG, JPG, GIF, WEBP, SVG and BMP images are returned as data a model can read.",
        divergence="SVG is XML that a model reads better as text, and is returned as text.",
    ),
    "fs.read.audio": Requirement(
        _ko("§2"),
        "MP3, WAV, AIFF, AAC, OGG and FLAC audio files are returned as data a model can read.",
        divergence="The Japanese document doesn't name audio; the Korean one is followed.",
    ),
    "fs.read.pdf": Requirement(_both("§2"), "PDF files are returned as data a model can read."),
    "fs.read.slice": Requirement(
        _both("§2"), "With offset and limit only that range of lines of a text file is returned."
    ),
    "fs.read.path": Requirement(
        _both("§2"),
        "path (string, required) is the absolute path of the file.",
        divergence="A relative path is accepted too and means relative to the root; absolute_path is accepted as a name.",
    ),
    "fs.read.offset": Requirement(
        _both("§2"),
        "offset (number, optional) is the 0-based line to begin at and needs limit.",
        divergence="It is declared as an integer. offset without limit reads the default number of lines instead of failing.",
    ),
    "fs.read.limit": Requirement(
        _both("§2"),
        "limit (number, optional) is the greatest number of lines.",
        divergence="It is declared as an integer.",
    ),
    "fs.read.limit_default": Requirement(
        _both("§2"), "Without limit the whole file is read, up to a default number of lines (2,000)."
    ),
    "fs.read.truncation": Requirement(
        _both("§2"), "It is told when lines were left out, or lines were cut because they were too long."
    ),
    "fs.read.truncation_output": Requirement(
        _both("§2"),
        "A cut text begins with '[File content truncated: showing lines 1-100 of 500 total lines...]'.",
        divergence="That line and the text below it are as documented; how to read on stands under the text.",
    ),
    "fs.read.media_output": Requirement(
        _both("§2"),
        "Media go to the model as inlineData with mimeType and base64 data.",
        divergence="A tool returns raw bytes with their media type; base64 is made on the wire.",
    ),
    "fs.read.binary": Requirement(
        _both("§2"),
        "Another binary file is recognised and not shown: 'Cannot display content of binary file: P'.",
        divergence="The message is an error of the call, with one line of advice below it.",
    ),
    "fs.read.confirm": Requirement(
        _both("§2"),
        "It never asks.",
        divergence="Files that hold secrets (.env, private keys) are asked about, in every mode.",
    ),
}

WRITE = {
    "fs.write.name": Requirement(
        _both("§3"), "The tool is named write_file and shown as WriteFile.", divergence=_FILE_NAME
    ),
    "fs.write.content": Requirement(_both("§3"), "It writes the given content to the file."),
    "fs.write.overwrite": Requirement(_both("§3"), "An existing file is overwritten."),
    "fs.write.create": Requirement(
        _both("§3"),
        "A file that doesn't exist is created, with the parents it needs.",
        divergence="A text with a placeholder where code should be ('// rest of code ...') is refused, and so is one that the file's encoding can't hold.",
    ),
    "fs.write.file_path": Requirement(
        _both("§3"),
        "file_path (string, required) is the absolute path of the file.",
        divergence="A relative path is accepted too and means relative to the root.",
    ),
    "fs.write.output": Requirement(
        _both("§3"), "It says 'Successfully overwrote file: P' or 'Successfully created and wrote to new file: P'."
    ),
    "fs.write.confirm": Requirement(_both("§3"), "It shows a diff and asks for approval before it writes."),
}

GLOB = {
    "fs.glob.name": Requirement(_both("§4"), "The tool is named glob and shown as FindFiles.", divergence=_FILE_NAME),
    "fs.glob.match": Requirement(
        _both("§4"), "It finds the files in the directory that match a pattern like src/**/*.ts or *.md."
    ),
    "fs.glob.pattern": Requirement(_both("§4"), "pattern (string, required) is the glob."),
    "fs.glob.path": Requirement(
        _both("§4"),
        "path (string, optional) is the absolute path of the directory to search; without it, the root.",
        divergence="A relative path is accepted too and means relative to the root.",
    ),
    "fs.glob.ignore": Requirement(
        _ko("§4"),
        "ignore (array of strings, optional) leaves out what matches a glob.",
        divergence="The Japanese document doesn't name it; the Korean one is followed.",
    ),
    "fs.glob.case": Requirement(_both("§4"), "case_sensitive (boolean, optional) is false by default."),
    "fs.glob.git_ignore": Requirement(
        _both("§4"), "respect_git_ignore (boolean, optional, true by default) leaves out what .gitignore ignores."
    ),
    "fs.glob.order": Requirement(_both("§4"), "It returns absolute paths, the most recently changed first."),
    "fs.glob.nuisance": Requirement(_both("§4"), "Directories like node_modules and .git are left out by default."),
    "fs.glob.output": Requirement(
        _both("§4"),
        "It says 'Found 5 file(s) matching \"*.ts\" within src, sorted by modification time (newest first):' and the paths.",
        divergence="The documents' example shows relative paths, their sentences absolute ones: they are absolute. It "
        "also lists src/subdir/file2.ts for *.ts, where * stays within a folder, as in shells, in git and in upstream's "
        "own matcher: else no pattern could ask for one folder alone. **/*.ts lists it, and the declaration says so.",
    ),
    "fs.glob.confirm": Requirement(_both("§4"), "It never asks."),
}

SEARCH = {
    "fs.search.name": Requirement(
        _both("§5"),
        "The tool is named search_file_content (ja) or grep_search (ko) and shown as SearchText.",
        divergence="The documents disagree: grep_search is published, search_file_content accepted. " + _FILE_NAME,
    ),
    "fs.search.match": Requirement(
        _both("§5"), "It searches the content of the files in a directory for a regular expression."
    ),
    "fs.search.pattern": Requirement(
        _both("§5"),
        "pattern (string, required) is the regular expression, like 'function\\s+myFunction'.",
        divergence="One dialect everywhere, ripgrep's, instead of the one of whichever engine runs.",
    ),
    "fs.search.path": Requirement(
        _both("§5"),
        "path (string, optional) is the absolute path of the directory; without it, the working directory.",
        divergence="A relative path and a single file are accepted too.",
    ),
    "fs.search.include": Requirement(
        _both("§5"), "include (string, optional) is a glob that filters the files, like '*.js' or 'src/**/*.{ts,tsx}'."
    ),
    "fs.search.ignores": Requirement(
        _both("§5"), "Without include most files are searched, those commonly ignored left out."
    ),
    "fs.search.engine": Requirement(
        _both("§5"),
        "git grep is used in a repository for speed, else the system's grep, else a search of its own.",
        divergence="The bundled ripgrep comes first because it is faster; then git grep, grep, and a linear-time engine.",
    ),
    "fs.search.lines": Requirement(
        _both("§5"),
        "It returns the matching lines with the file's path, relative to the directory, and the line number.",
        divergence="The first 500 matches, with the full count; max_matches changes that.",
    ),
    "fs.search.output": Requirement(
        _both("§5"),
        "'Found 3 matches for pattern \"p\" in path \".\" (filter: \"*.ts\"):', then '---', 'File: src/a.ts', 'L15: text' groups.",
        divergence="'match(es)' in the Japanese document, 'matches' in the Korean one, which is followed.",
    ),
    "fs.search.confirm": Requirement(_both("§5"), "It never asks."),
}

_EDITS = "It may be left out or empty where `edits`, several edits at once, stands in its place."

REPLACE = {
    "fs.replace.name": Requirement(_both("§6"), "The tool is named replace and shown as Edit.", divergence=_FILE_NAME),
    "fs.replace.text": Requirement(_both("§6"), "It replaces text in a file, one occurrence by default."),
    "fs.replace.many": Requirement(
        _both("§6"),
        "expected_replacements (number, optional, 1 by default) replaces that many occurrences.",
        divergence="It is declared as an integer.",
    ),
    "fs.replace.file_path": Requirement(_both("§6"), "file_path (string, required) is the absolute path of the file."),
    "fs.replace.old_string": Requirement(
        _both("§6"), "old_string (string, required) is the exact literal text to replace.", divergence=_EDITS
    ),
    "fs.replace.unique": Requirement(
        _both("§6"),
        "old_string must name one place: the model is told to give three lines of context, white space exact.",
    ),
    "fs.replace.new_string": Requirement(
        _both("§6"),
        "new_string (string, required) is the exact literal text that takes its place.",
        divergence=_EDITS,
    ),
    "fs.replace.create": Requirement(
        _both("§6"), "An empty old_string and a file that doesn't exist create it with new_string as its content."
    ),
    "fs.replace.exact": Requirement(
        _both("§6"),
        "The file is read, exactly one occurrence of old_string is sought, and it is replaced by new_string.",
    ),
    "fs.replace.correction": Requirement(
        _both("§6"),
        "Several stages of correction make an edit succeed when old_string isn't quite exact.",
    ),
    "fs.replace.correction.model": Requirement(
        _both("§6"),
        "When old_string isn't found or found more than once, the model may be asked to refine old_string and new_string.",
        divergence="One request, and only its exact match is taken: repetition was measured to end in wrong edits.",
    ),
    "fs.replace.correction.segment": Requirement(
        _both("§6"),
        "The correction looks for the one segment that the model meant to change.",
        divergence="An answer of the model that makes another change than the one asked for, or makes it elsewhere, is refused.",
    ),
    "fs.replace.fail.path": Requirement(
        _both("§6"), "It fails when file_path isn't absolute or is outside of the root directory."
    ),
    "fs.replace.fail.missing": Requirement(
        _both("§6"), "It fails when old_string isn't empty and the file doesn't exist."
    ),
    "fs.replace.fail.exists": Requirement(_both("§6"), "It fails when old_string is empty and the file exists."),
    "fs.replace.fail.not_found": Requirement(_both("§6"), "It fails when old_string can't be found in the file."),
    "fs.replace.fail.ambiguous": Requirement(
        _both("§6"), "It fails when old_string is found several times and no single place can be made out."
    ),
    "fs.replace.output.modified": Requirement(_both("§6"), "It says 'Successfully modified file: P (1 replacements).'"),
    "fs.replace.output.created": Requirement(_both("§6"), "It says 'Created new file: P with provided content.'"),
    "fs.replace.output.failed": Requirement(
        _both("§6"),
        "A failure says why: 'Failed to edit, 0 occurrences found...', 'Failed to edit, expected 1 occurrences but found 2...'.",
    ),
    "fs.replace.confirm": Requirement(
        _both("§6"), "It shows a diff of the proposed change and asks for approval before it writes."
    ),
}

FILE_TOOLS = {**INTRODUCTION, **LIST, **READ, **WRITE, **GLOB, **SEARCH, **REPLACE}
