"""The supervisor, which starts the child and ends it as soon as there is no reason left to run.

It has no threads and nothing that can block. It only waits for its child and its own stdin, which
closes when the program that started it dies in any way. The child has its own process group; on
Linux, processes that it leaves behind are reparented to the supervisor and ended too.

A command that changes the machine differs in two ways. Processes that it leaves running survive if
it succeeds, because a daemon such as a file system's belongs to the machine. And if sudo makes it
root, this process may not signal it, so it gets a terminal of its own, which the kernel hangs up.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from tpustarter.probe.rehearse import host_memory_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.probe.events import ChildEndedEvent, ChildStartedEvent, MemoryExcess

TERM_GRACE_S = 5.0
"""Seconds between asking a process to end and killing it."""
KILL_WAIT_S = 7.0
"""Seconds to wait for the kernel to release a killed process. Including the grace period, and the
time until the program that started the run notices, this stays below the documented 15 seconds.
"""

SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

STAYS = "stays"
"""Argument in place of a user to drop to, for a command that changes the machine."""

FED = "<"
"""Suffix of the first descriptor that makes it the command's stdin."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main(arguments: list[str]) -> int:
    """Run `supervise CONTROL EVENTS DROP [WORD...]`.

    The arguments are two descriptors; `UID:GID` to drop to, `stays` for a command that changes the
    machine, or `-`; and a command to run instead of the probe's child. If the first descriptor ends
    in `<`, it is that command's stdin, which is otherwise empty.
    """
    control, events, drop = int(arguments[1].rstrip(FED)), int(arguments[2]), arguments[3]
    wakeup = _watch_signals()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    terminal = os.openpty() if drop == STAYS and os.geteuid() != 0 else ()
    stdin = control if arguments[1].endswith(FED) else None
    child = _start_child(control, events, drop, arguments[4:], terminal, stdin=stdin)
    os.close(control)
    _send_event(events, {"event": "started", "pid": child})
    status, excess = _wait(child, wakeup, terminal[:1])
    if terminal and status != 0:
        os.close(terminal[0])  # the kernel hangs up on every process that has it open
    if excess:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # there is no memory for a gentle end
    stopped, deadline = status is None, time.monotonic() + KILL_WAIT_S
    if stopped:
        deadline += TERM_GRACE_S
        status = _end(child, status)
    # The remaining processes get the rest of the time, but are checked at least once.
    left_behind = [] if drop == STAYS and status == 0 else _end_rest(child, deadline)
    code, number = _outcome(status)
    ended: ChildEndedEvent = {
        "event": "ended",
        "code": code,
        "signal": number,
        "stopped": stopped,
        "left": left_behind,
    }
    if excess:
        ended["memory"] = excess
    _send_event(events, ended)
    return 0


def _start_child(
    control: int,
    events: int,
    drop: str,
    command: list[str],
    terminal: tuple[int, ...],
    *,
    stdin: int | None,
) -> int:
    parent = os.getpid()
    # A TERM between fork and exec must end the child, instead of reaching this process's handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        with contextlib.suppress(OSError):
            if not terminal:
                os.setpgid(child, child)  # both processes do it, so their order does not matter
        return child
    try:
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if terminal:
            _take(terminal[1])
        else:
            os.setpgid(0, 0)
        _drop_to(drop)
        # The supervisor has one thread, so this fires when its process dies, not before.
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        _no_core_files()
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        for descriptor in (control, events):
            os.set_inheritable(descriptor, not command)
        if drop == STAYS:
            os.closerange(3, 1 << 16)  # a daemon would keep the lease forever
        options = ["-u", "-X", "faulthandler"]
        own = [sys.executable, *options, sys.argv[0], "child", str(control), str(events)]
        words = command or own
        os.execv(words[0], words)  # noqa: S606
    except BaseException as error:  # noqa: BLE001  a forked child must never return
        os.write(2, f"cannot start {(command or [sys.executable])[0]}: {error}\n".encode())
    os._exit(127)


def _drop_to(drop: str) -> None:
    # Nothing owned by root may be left in /tmp, so root drops to the user who called sudo.
    if drop in ("-", STAYS):
        return
    user, group = (int(part) for part in drop.split(":"))
    import pwd  # missing on some platforms, and only needed here

    entry = pwd.getpwuid(user)
    os.initgroups(entry.pw_name, group)
    os.setgid(group)
    os.setuid(user)
    os.environ.update(HOME=entry.pw_dir, USER=entry.pw_name, LOGNAME=entry.pw_name)


def _take(terminal: int) -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def _no_core_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _watch_signals() -> int:
    # Signals become bytes in a pipe, so that one `select` waits for everything.
    readable, writable = os.pipe()
    for descriptor in (readable, writable):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, _wake)
    return readable


def _wake(number: int, frame: object) -> None:
    """Do nothing: the byte in the wake-up pipe is what counts."""


def _wait(
    child: int, wakeup: int, terminal: tuple[int, ...]
) -> tuple[int | None, MemoryExcess | None]:
    # A status of None means that there is no reason to wait longer. Output on a terminal is read
    # and discarded, because its writers would otherwise block forever.
    limit = host_memory_watch.read_limit_bytes()
    while True:
        tick_s = None if limit is None else host_memory_watch.TICK_S
        ready, _, _ = select.select([0, wakeup, *terminal], [], [], tick_s)
        for descriptor in {*terminal} & {*ready}:
            os.read(descriptor, 4096)
        if limit is not None and (excess := host_memory_watch.measure_memory_excess(child, limit)):
            return None, excess
        if 0 in ready:
            return None, None  # "stop" and a closed pipe mean the same
        numbers = os.read(wakeup, 512) if wakeup in ready else b""
        status = _reap(child)
        if status is not None:
            return status, None
        if any(number != signal.SIGCHLD for number in numbers):
            return None, None


def _reap(child: int) -> int | None:
    # All ended processes are reaped, not only `child`.
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, child_status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                status = child_status
    return status


def _end(child: int, status: int | None) -> int | None:
    for number, patience_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, KILL_WAIT_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, number)
            os.killpg(child, signal.SIGCONT)  # a stopped process could not handle the signal
        deadline = time.monotonic() + patience_s
        while status is None and time.monotonic() < deadline:
            status = _reap(child)
            time.sleep(0.01)
        if status is not None:
            break
    return status


def _end_rest(child: int, deadline: float) -> list[int]:
    # Returns the processes that the kernel did not release.
    while True:
        _reap(child)
        rest = _children()
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:
            if not rest:
                return []
        except PermissionError:  # macOS: only zombies are left in the group; or it is root's
            if not rest:
                return []
        for pid in rest:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return rest or [child]
        time.sleep(0.01)


def _children() -> list[int]:
    # Linux only; empty elsewhere.
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:  # noqa: PTH123
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _outcome(status: int | None) -> tuple[int | None, int | None]:
    # The exit code, and the signal.
    if status is None:
        return None, None
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def _send_event(events: int, event: ChildStartedEvent | ChildEndedEvent) -> None:
    # A leading newline keeps the event on its own line, even if the child left a partial one.
    import json  # slow to import, so done while the child starts

    with contextlib.suppress(OSError):  # the reader may be gone
        os.write(events, b"\n" + json.dumps(event).encode() + b"\n")


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
