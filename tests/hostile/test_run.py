"""`tpustarter run` when streams, signals or the terminal fail around its command.

What the command does, says and ends with is what counts; the explanation comes where it can.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import HANG_S
from tests.support.terminal import Terminal, terminal
from tpustarter.core import locations

HELD = "RuntimeError: ABORTED: The TPU is already in use by process with pid 4242."
PAUSE = "sleep 0.3"
"""Long enough for a lost output to be closed before the command writes to the other one."""
FAILS = (
    f"{sys.executable} -m tpustarter run -- sh -c 'echo \"{HELD}\"; {PAUSE}; echo e >&2; exit 9'"
)
CAUSE = "holds the TPU"


def shell(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell."""
    return subprocess.run(
        ["/bin/bash", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        env={**os.environ, **env},
    )


@pytest.mark.parametrize(
    "streams", ["2> /dev/full", ">&-", "2>&-", "<&-", "<&- >&- 2>&-", "2>&1 | cat >&2"]
)
def test_any_streams_keep_exit_code_of_command(streams: str) -> None:
    """Without a traceback; stderr has the explanation where there is one."""
    done = shell(f"{FAILS} {streams}; exit ${{PIPESTATUS[0]}}")

    assert 9 == done.returncode
    assert "Traceback" not in done.stderr
    assert (CAUSE in done.stderr) == ("2> /dev/full" not in streams and "2>&-" not in streams)


@pytest.mark.parametrize(
    ("command", "streams", "code"),
    [
        ("echo lost", "> /dev/full", 74),
        ("yes", "> /dev/full", 74),
        ("echo lost", ">&-", 74),
        ("sh -c 'echo lost; exit 9'", "> /dev/full", 9),
        ("true", "> /dev/full", 0),
        ("true", ">&-", 0),
        ("sh -c 'echo lost >&2'", "2> /dev/full", 0),
    ],
)
def test_output_that_is_lost_has_a_code(command: str, streams: str, code: int) -> None:
    """Lost output has an exit code, whether the command met the closed pipe or had ended."""
    done = shell(f"{sys.executable} -m tpustarter run -- {command} {streams}")

    assert code == done.returncode
    assert ("error: " in done.stderr) == (code == 74 or "9" in command)


@pytest.mark.parametrize(
    "env",
    [
        {"TERM": "dumb"},
        {"LC_ALL": "xx_XX.bad", "PYTHONIOENCODING": "ascii:strict"},
        {"HOME": "/nonexistent", "TPUSTARTER_HOME": "/dev/null"},
    ],
)
def test_failure_is_explained_in_any_environment(env: dict[str, str]) -> None:
    """A state folder that is no folder only keeps this machine from being looked at."""
    done = shell(FAILS, **env)

    assert 9 == done.returncode
    assert CAUSE in done.stderr
    assert "Traceback" not in done.stderr


def start(code: str) -> subprocess.Popen[bytes]:
    """Start a Python command that prints when it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tpustarter", "run", "--", sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    assert b"ready\n" == process.stdout.readline()
    return process


def test_command_that_ignores_signal_continues() -> None:
    """A command that ignores a signal continues, and leaves no process once it ends."""
    process = start(
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
        "print('ready', flush=True)\n"
        "while True: signal.sigtimedwait([], 0.1)"
    )
    assert process.stdout
    process.terminate()
    assert b"no\n" == process.stdout.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=HANG_S)

    assert 7 == process.returncode


def test_background_grandchild_does_not_delay_explanation() -> None:
    """A grandchild holds both outputs open."""
    process = start(
        "import subprocess, sys\n"
        "print('ready', flush=True)\n"
        "left = subprocess.Popen(['sleep', '300'])\n"
        f"print(left.pid, {HELD!r}, flush=True)\n"
        "sys.exit(9)"
    )
    assert process.stdout
    left = process.stdout.readline()  # it may be in the buffer, where `communicate` looks not
    _, stderr = process.communicate(timeout=HANG_S)
    os.kill(int(left.split()[0]), signal.SIGKILL)

    assert 9 == process.returncode
    assert CAUSE in stderr.decode()


def on_terminal(code: str, **options: object) -> Terminal:
    """Return a context in which a command runs on a terminal of its own."""
    words = ("run", "--", sys.executable, "-c", code)
    return terminal(*words, drive="drive_cli.py", **options)  # type: ignore[return-value]


@pytest.mark.parametrize("columns", [1, 80])
def test_raw_terminal_is_restored_after_command(columns: int) -> None:
    """A terminal that the command left in raw mode is restored before the explanation."""
    code = f"import tty; tty.setraw(0); print({HELD!r}); raise SystemExit(9)"
    with on_terminal(code, columns=columns) as tty:
        assert 9 == tty.end()
        assert CAUSE.encode() in tty.written
        assert tty.takes_lines


def test_a_new_size_reaches_the_command() -> None:
    """While it runs."""
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print('new', *os.get_terminal_size(1)))\n"
        "print('ready', flush=True)\n"
        "while os.get_terminal_size(1).columns != 93: signal.sigtimedwait([], 0.1)\n"
        "raise SystemExit(0)"
    )
    with on_terminal(code) as tty:
        tty.until(lambda text: "ready" in text)
        tty.resize(93, 31)
        assert 0 == tty.end()


def test_a_terminal_that_goes_away_ends_both() -> None:
    """A terminal that is closed ends both the command and this program."""
    code = "import time; print('ready', flush=True); time.sleep(600)  # until it is ended"
    with on_terminal(code) as tty:
        tty.until(lambda text: "ready" in text)
        tty.close()
        assert tty.process.wait(HANG_S) in (129, 143)
    assert not list(locations.make_state_folder().glob("bug-*"))


LOGS = {
    "binary": bytes(range(256)) * 4_000,
    "nul": b"\0" * 100_000,
    "not-utf-8": b"\xff\xfe\xc3\x28\xed\xa0\x80" * 1_000,
    "escapes": b"\x1b]0;title\x07\x1b[2J\x1b[?1049h\x1b[31m\x9b" * 1_000,
    "one-line": b"a" * 20_000_000,
    "carriage-returns": b"step 1\r" * 100_000,
    "markup": b"[b]bold[/b] {x} %s \\x1b[0m\n" * 100,
}


@pytest.mark.parametrize("name", LOGS)
def test_failure_is_found_in_any_log(name: str, tmp_path: Path) -> None:
    """Before it and after it, with nothing of it that a terminal would obey."""
    log = tmp_path / "train.log"
    log.write_bytes(b"step\n" + LOGS[name] + b"\n" + HELD.encode() + b" libtpu\n" + LOGS[name])
    done = subprocess.run(
        [sys.executable, "-m", "tpustarter", "explain", "--no-look", log],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert CAUSE.encode() in done.stdout
    assert b"\x1b" not in done.stdout
    assert b"\0" not in done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_wait_for_a_log(number: int, code: int, tmp_path: Path) -> None:
    """A pipe that nobody writes into any more is open for ever."""
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "tpustarter", "explain", fifo],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with fifo.open("wb", buffering=0) as writer:  # once it is opened for reading
        writer.write(b"step 1\n")
        while process.returncode is None:
            # Python hears none that comes between its last look and the read; one presses again.
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                stdout, stderr = process.communicate(timeout=HANG_S / 10)

    assert (code, b"") == (process.returncode, stdout)
    assert b"Traceback" not in stderr
