"""Starts the program: its three standard streams as it needs them, and words for whatever fails."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys

from dogu.version import __version__

TYPE_CHECKING = False  # typing's own costs 8 ms, a third of `dogu --version`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer


# In English: where these are said, no catalog can be read.
_IN_ARCHIVE = "dogu can't run from an archive (a zipapp): install it, as with `pipx install .`\n"
_NO_MEMORY = "There isn't enough memory.\n"
_NO_FILES = "Too many files are open: the limit is too low (ulimit -n; 256 are enough).\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    _open_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    gc.disable()  # `run_async` looks for garbage once the program has started: what that makes is there to stay
    try:
        try:
            return _main(words, is_last=argv is None)
        finally:
            sys.stdout.flush()  # not by the interpreter's end, which has no words for what goes wrong
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _give_up_output()
        return 141  # as a shell tells of SIGPIPE
    except Exception as error:  # the last line of defence: a defect is told, not dumped
        if isinstance(error, OSError) and _is_of_output(error):
            return _tell_output_lost(error)
        if os.environ.get("DOGU_DEBUG"):
            raise
        return _tell_defect(error, is_last=argv is None)
    finally:
        if argv is None:  # the process ends: nobody is to look through its objects once more, which takes 40 ms
            gc.freeze()
        gc.enable()


def _say_no_more(_: object) -> None:
    """Leave out what objects complain of that were half made when the program failed, such as an event loop."""


def _main(words: list[str], *, is_last: bool) -> int:
    if words in (["--version"], ["-V"]):
        print(f"dogu {__version__}")
        return 0
    if sorted(words) in (["--json", "--version"], ["--json", "-V"]):
        return _print_version_as_json()
    _prepare_streams()
    if not os.path.exists(__file__):  # what it starts are programs and tables beside this file
        sys.stderr.write(_IN_ARCHIVE)
        raise SystemExit(54)  # what `zipapp -m` writes passes over a status that is returned
    return _run(words, is_last=is_last)


def _tell_output_lost(error: OSError) -> int:
    from dogu.language import say

    _give_up_output()
    message = say("Standard output can't be written: {reason}.", reason=error.strerror)
    sys.stderr.write(f"{message}\n")
    return 74


def _tell_defect(error: Exception, *, is_last: bool = False) -> int:
    if is_last:
        sys.unraisablehook = _say_no_more
    try:
        from dogu.serve.defects import failure_of

        failure = failure_of(error)
    except (ImportError, OSError, MemoryError, SystemError) as refused:  # what is refused may be this
        if isinstance(error, OSError) and error.errno == errno.EMFILE:
            sys.stderr.write(_NO_FILES)
            return 54
        if _lacks_memory(error) or _lacks_memory(refused):
            if is_last:  # what the interpreter does at its end may want more than there is
                os.write(2, _NO_MEMORY.encode())
                os._exit(54)
            sys.stderr.write(_NO_MEMORY)
            return 54
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 70
    sys.stderr.write(f"{failure.words}\n")
    return failure.code


def _lacks_memory(error: Exception) -> bool:
    """Whether it is for want of memory; where there is too little for an exception, C code ends with none set."""
    is_told = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return is_told or isinstance(error, (MemoryError, SystemError)) or "failed to map segment" in str(error)


def _print_version_as_json() -> int:
    import json
    import platform

    version = {
        "name": "dogu",
        "distribution": "dogu-agent",
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
    }
    print(json.dumps(version))
    return 0


def _run(words: list[str], *, is_last: bool) -> int:
    from dogu.commands.signals import end_with, hold, release

    hold()
    try:
        from dogu.commands.command_line import run

        status = run(words)
        if is_last:
            end_with(status)
        return status
    finally:
        release()


def _open_closed_streams() -> None:
    """Open what the shell has closed, before a file of ours takes its place: there is no input, and errors go nowhere.

    A pipe that another program has made to keep no writer waiting does again. Standard output that is closed can't be
    written, which is told when something should be: what was asked for would be lost.
    """
    set_blocking = getattr(os, "set_blocking", None)  # Windows' Python 3.11 has none
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
        if descriptor and set_blocking:  # Python's streams lose what such a pipe has no room for
            set_blocking(descriptor, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (as long as the program)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (as above)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (as above)


def _prepare_streams() -> None:
    """Let any name or text be printed: what the stream can't hold is escaped, not fatal.

    What standard error can't take is lost, and the program's status stays what it was to be.
    """
    if sys.stderr is sys.__stderr__ and sys.stderr.encoding:
        written = io.BufferedWriter(_Unfailing(2), 1)
        sys.stderr = io.TextIOWrapper(written, sys.stderr.encoding, line_buffering=True, write_through=True)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  (text streams have it; a test's may not)


def _give_up_output() -> None:
    """The reader went away: stop writing, and let the interpreter's last flush find nobody."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())


def _is_of_output(error: OSError) -> bool:
    """Whether it is standard output that failed: then it fails again."""
    if error.filename is not None:
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except (OSError, ValueError):
        return True
    return False


class _Unfailing(io.FileIO):
    """A descriptor that takes all it is given."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Buffer, /) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes


if __name__ == "__main__":
    sys.exit(main())
