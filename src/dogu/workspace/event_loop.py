"""What a program's event loop can wait for, a descriptor that is ready and signals; and its terminal's own input.

Windows' loop waits for neither pipes nor consoles nor signals: there a thread of its own reads, which nobody waits for
at the end, and signals come by Python's own handlers.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress

import anyio
from anyio import to_thread

if sys.platform == "win32":
    import ctypes
    import msvcrt

    _ECHO = 4
    HANG_UP = signal.SIGBREAK
    """What ends a program when its terminal goes."""

    async def read_ready(descriptor: int, most_bytes: int) -> bytes:
        """Read what there is as soon as there is something; nothing at the end. Raises OSError."""
        import asyncio

        loop, done = asyncio.get_running_loop(), anyio.Event()
        read: list[bytes | OSError] = []

        def work() -> None:
            try:
                read.append(os.read(descriptor, most_bytes))
            except OSError as error:
                read.append(error)
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:
                pass  # the loop has ended meanwhile

        threading.Thread(target=work, daemon=True).start()
        await done.wait()
        if isinstance(read[0], OSError):
            raise read[0]
        return read[0]

    async def write_ready(descriptor: int, data: memoryview) -> int:
        """Write as much as goes without keeping anybody waiting; return how much. Raises OSError."""
        return await to_thread.run_sync(os.write, descriptor, data, abandon_on_cancel=True)

    @contextmanager
    def without_echo(descriptor: int) -> Generator[None]:
        """Let the console not show what is typed."""
        kernel, handle = ctypes.WinDLL("kernel32"), ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        mode = ctypes.c_ulong()
        is_console = kernel.GetConsoleMode(handle, ctypes.byref(mode))
        if is_console:
            kernel.SetConsoleMode(handle, mode.value & ~_ECHO)
        try:
            yield
        finally:
            if is_console:
                kernel.SetConsoleMode(handle, mode.value)

    @contextmanager
    def keeping_typed(descriptor: int) -> Generator[bytes]:
        """Do nothing: a console keeps keys until they are read."""
        yield b""

    def hear_ctrl_c_after(_descriptor: int, _seconds: float) -> Callable[[], None]:
        """Do nothing: a console's Ctrl-C is heard until keys are read."""
        return lambda: None

    def forget_typed(descriptor: int) -> None:
        """Drop what was typed and not read yet."""
        if os.isatty(descriptor):
            ctypes.WinDLL("kernel32").FlushConsoleInputBuffer(ctypes.c_void_p(msvcrt.get_osfhandle(descriptor)))
else:
    import fcntl
    import termios

    from anyio import lowlevel

    HANG_UP = signal.SIGHUP
    """What ends a program when its terminal goes."""

    async def read_ready(descriptor: int, most_bytes: int) -> bytes:
        """Read what there is as soon as there is something; nothing at the end. Raises OSError."""
        try:
            await anyio.wait_readable(descriptor)
        except PermissionError:  # what never keeps a reader waiting, as a file or /dev/zero, can't be waited for
            await lowlevel.checkpoint()
        return os.read(descriptor, most_bytes)

    async def write_ready(descriptor: int, data: memoryview) -> int:
        """Write as much as goes without keeping anybody waiting; return how much. Raises OSError."""
        await anyio.wait_writable(descriptor)
        return os.write(descriptor, data)

    @contextmanager
    def without_echo(descriptor: int) -> Generator[None]:
        """Let the terminal not show what is typed."""
        before, silent = termios.tcgetattr(descriptor), termios.tcgetattr(descriptor)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, silent)
        try:
            yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    @contextmanager
    def keeping_typed(descriptor: int) -> Generator[bytes]:
        """Let keys that come while nobody reads wait as they are: unseen, an Enter as one, Ctrl-C and Ctrl-D, too.

        Give what had been typed before, as lines. In the end the terminal is as it was before.
        """
        try:
            before, keeping = termios.tcgetattr(descriptor), termios.tcgetattr(descriptor)
        except termios.error:  # no terminal
            yield b""
            return
        keeping[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
        keeping[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        keeping[6][termios.VMIN], keeping[6][termios.VTIME] = 1, 0
        termios.tcsetattr(descriptor, termios.TCSANOW, keeping)
        count = int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        try:
            yield os.read(descriptor, count) if count and before[3] & termios.ICANON else b""
        finally:
            with suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(descriptor, termios.TCSANOW, before)

    def hear_ctrl_c_after(descriptor: int, seconds: float) -> Callable[[], None]:
        """Let a Ctrl-C be a signal again after so long, whatever the program waits for; return what calls that off."""

        def hear() -> None:
            with suppress(termios.error):
                hearing = termios.tcgetattr(descriptor)
                hearing[3] |= termios.ISIG
                termios.tcsetattr(descriptor, termios.TCSANOW, hearing)

        timer = threading.Timer(seconds, hear)
        timer.daemon = True
        timer.start()

        def call_off() -> None:
            timer.cancel()
            timer.join()

        return call_off

    def forget_typed(descriptor: int) -> None:
        """Drop what was typed and not read yet."""
        with suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)


@contextmanager
def open_signal_receiver(*numbers: signal.Signals) -> Generator[AsyncIterator[signal.Signals]]:
    """Give the signals that come meanwhile; one that is given another handler within keeps that.

    At the end of one of asyncio's own, a signal ends the program, as the system has it, before anybody can say
    otherwise: here it is at once as it was before.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    sender, receiver = anyio.create_memory_object_stream[signal.Signals](16)

    def give(number: int) -> None:
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            sender.send_nowait(signal.Signals(number))

    def hear(number: int, _: object) -> None:
        loop.call_soon_threadsafe(give, number)

    if sys.platform != "win32":  # whoever hears one signal through the loop has it woken by all
        loop.add_signal_handler(signal.SIGURG, lambda: None)
    before = {number: signal.signal(number, hear) for number in numbers}
    try:
        with sender, receiver:
            yield receiver
    finally:
        for number, old in before.items():
            if signal.getsignal(number) is hear:
                signal.signal(number, signal.SIG_DFL if old is None else old)
