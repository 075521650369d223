"""Run a command as if the user had run it directly, and read its output.

If an output is a terminal, the command gets a terminal of the same size; otherwise it gets a pipe.
So it buffers and colours as it would by itself. Its stdin is the user's own. It stays in the
terminal's foreground group, which is how Ctrl-C and Ctrl-Z reach it; signals that another process
sends to this one are passed on to the command.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import selectors
import signal
import subprocess
import termios
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

READ = 1 << 16
IDLE_S = 1.0
"""Seconds to wait for output of the command's background children before reading stops."""
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_HANDED_ON = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class _Output:
    """The pipe or terminal for one or both of the command's outputs."""

    read_fd: int
    """The descriptor that this program reads."""
    write_fd: int
    """The descriptor that the command writes to."""
    target_fd: int
    """The descriptor to which output is passed on: 1 or 2."""
    is_terminal: bool


def _to_nobody(*_: object) -> None:
    pass


def run_command(
    command: Sequence[str],
    env: Mapping[str, str],
    on_output: Callable[[bytes], None],
    on_signal: Callable[[int], object] = _to_nobody,
    on_write_error: Callable[[int, OSError], object] = _to_nobody,
) -> int:
    """Run a command and return its exit code, which is 128 + N if signal N ended it.

    Args:
        command: The program and its arguments.
        env: Its environment variables.
        on_output: Called with the output of both descriptors, in the order in which it is read.
        on_signal: Called with each signal passed on to the command.
        on_write_error: Called with the descriptor, 1 or 2, and the error if output cannot be
            passed on, for example because of a full disk, but not if the reader has gone.

    Raises:
        OSError: The command cannot be started.
    """
    outputs = _outputs()
    writes_to = {one.target_fd: one.write_fd for one in outputs}
    stdout = writes_to.get(1, outputs[0].write_fd)
    stderr = writes_to.get(2, stdout)
    try:
        with contextlib.ExitStack() as stack:
            for one in outputs:
                stack.callback(os.close, one.write_fd)
            # Descriptors opened by the shell stay open; this program's own are not inheritable.
            process = subprocess.Popen(
                list(command), env=dict(env), stdout=stdout, stderr=stderr, close_fds=False
            )
    except OSError:
        for one in outputs:
            os.close(one.read_fd)
        raise
    with _handing_on(process, outputs, on_signal):
        _pass_on(process, outputs, on_output, on_write_error)
        code = process.wait()
    return code if code >= 0 else 128 - code


def _outputs() -> list[_Output]:
    first = _output(1)
    if os.isatty(1) and os.isatty(2):
        return [first]
    with contextlib.suppress(OSError):
        if os.path.sameopenfile(1, 2) and _access(1) == _access(2):
            return [first]
    return [first, _output(2)]


def _access(fd: int) -> int:
    # The access mode distinguishes stdout and stderr if both were closed and only stderr is
    # writable.
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE


def _output(target_fd: int) -> _Output:
    if not os.isatty(target_fd):
        read_fd, write_fd = os.pipe()
        return _Output(read_fd, write_fd, target_fd, is_terminal=False)
    read_fd, write_fd = os.openpty()
    with contextlib.suppress(termios.error):
        settings = termios.tcgetattr(target_fd)
        settings[1] &= ~termios.OPOST  # the user's own terminal does that
        termios.tcsetattr(write_fd, termios.TCSANOW, settings)
    _same_size(read_fd, target_fd)
    return _Output(read_fd, write_fd, target_fd, is_terminal=True)


def _same_size(read_fd: int, terminal: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(read_fd, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def _handing_on(
    process: subprocess.Popen[bytes], outputs: Sequence[_Output], on_signal: Callable[[int], object]
) -> Generator[None]:
    def hand_on(number: int, _: FrameType | None) -> None:
        if number in _FROM_TERMINAL and _in_foreground():
            return  # the terminal has sent it to the command too
        on_signal(number)
        with contextlib.suppress(OSError):
            process.send_signal(number)

    def resize(_number: int, _: FrameType | None) -> None:
        for one in outputs:
            if one.is_terminal:
                _same_size(one.read_fd, one.target_fd)

    handlers: dict[int, Callable[[int, FrameType | None], None]] = {
        number: hand_on
        for number in _HANDED_ON
        if signal.getsignal(number) is not signal.SIG_IGN  # ignored under nohup, or in background
    }
    handlers[signal.SIGWINCH] = resize
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def save_terminal_settings() -> Callable[[], None]:
    """Return a function that restores the terminal's settings after a command has changed them.

    A program that dies while it reads single keys leaves a terminal that does not echo typed text,
    and on which lines begin where the last one ended.
    """
    before: list[int | list[bytes | int]] | None = None
    with contextlib.suppress(OSError, termios.error):
        before = termios.tcgetattr(0)

    def bring_back() -> None:
        with contextlib.suppress(OSError, termios.error):
            # Changing it from the background would stop this process.
            if before and before != termios.tcgetattr(0) and _in_foreground():
                termios.tcsetattr(0, termios.TCSADRAIN, before)

    return bring_back


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _pass_on(
    process: subprocess.Popen[bytes],
    outputs: Sequence[_Output],
    on_output: Callable[[bytes], None],
    on_write_error: Callable[[int, OSError], object],
) -> None:
    # A background program left by the command may keep the outputs open forever.
    with selectors.DefaultSelector() as selector:
        for one in outputs:
            selector.register(one.read_fd, selectors.EVENT_READ, one.target_fd)
        while selector.get_map():
            ready = selector.select(IDLE_S)
            if not ready and process.poll() is not None:
                break
            for key, _ in ready:
                data = _read(key.fd)
                error = _write(key.data, data)
                if error and error.errno not in (errno.EPIPE, errno.EIO):
                    on_write_error(key.data, error)
                if not data or error:
                    selector.unregister(key.fd)
                    os.close(key.fd)  # the command gets a closed pipe, as it would by itself
                if data:
                    on_output(data)
        for fd in [key.fd for key in selector.get_map().values()]:
            os.close(fd)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ)
    except OSError:  # a terminal whose other end is closed
        return b""


def _write(fd: int, data: bytes) -> OSError | None:
    view = memoryview(data)
    try:
        while view:
            view = view[_written(fd, view) :]
    except OSError as error:
        return error
    return None


def _written(fd: int, view: memoryview) -> int:
    try:
        return os.write(fd, view)
    except BlockingIOError:  # another process has made the terminal non-blocking
        _wait_for_room(fd)
        return 0


def _wait_for_room(fd: int) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_WRITE)
        selector.select()
