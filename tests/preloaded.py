"""Python with libraries that are loaded once and used by many processes: importing the MCP SDK costs a second each.

`python preloaded.py SOCKET SCRIPT WORDS...` is as good as `python SCRIPT WORDS...`: it hands its streams, environment,
folder and words to a process that has the libraries loaded, which forks and runs the script; it ends as the script
does, and the script with it. It uses nothing but Python's own library, and starts in 20 ms with `-I -S`.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import sys

_LENGTH_BYTES = 4


def _run(path: str, words: list[str]) -> int:
    """Have the words run by the process that listens; return their exit status."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        wish = marshal.dumps((words, dict(os.environ), os.getcwd()))
        socket.send_fds(line, [len(wish).to_bytes(_LENGTH_BYTES, "big")], [0, 1, 2])
        line.sendall(wish)
        status = line.recv(1)
    return status[0] if status else 1


def _serve(path: str, modules: list[str]) -> None:
    """Load the modules, say so, and fork for each who connects, until standard input ends."""
    import gc
    import importlib
    import select

    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([0, listener], [], [])
            _reap()
            if 0 in ready:
                return
            line, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _become(line)
            line.close()


def _reap() -> None:
    """Take note of those that have ended: their CPU time counts as the tests' own."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(line: socket.socket) -> None:
    """Be the process that was wished for, and end; or when the one that wished it ends."""
    import runpy
    import threading
    import traceback

    length, streams, _, _ = socket.recv_fds(line, _LENGTH_BYTES, 3)
    wish = b""
    while len(wish) < int.from_bytes(length, "big"):
        wish += line.recv(1 << 20)
    words, environ, folder = marshal.loads(wish)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = words
    threading.Thread(target=lambda: (line.recv(1), os._exit(1)), daemon=True).start()
    status = 0
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (what Python itself does with it)
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    line.sendall(bytes([status & 255]))
    os._exit(status & 255)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _serve(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(_run(sys.argv[1], sys.argv[2:]))
