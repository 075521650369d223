"""A command runs as if nothing stood between it and the user: streams, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import HANG_S
from tests.support.terminal import terminal

DRIVE = "drive_passthrough.py"
PATH = Path(__file__).parents[1] / "support" / DRIVE
REPORT = (
    "import json, os, sys; print(json.dumps([os.isatty(n) for n in range(3)]));"
    "print(*(os.get_terminal_size(1) if os.isatty(1) else ()), file=sys.stderr)"
)


def run(*command: str, stdin: bytes = b"", expected: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run a command through the passthrough, in pipes; `seen` has what it observed."""
    done = subprocess.run(
        [sys.executable, str(PATH), *command], input=stdin, capture_output=True, check=False
    )
    assert expected == done.returncode, done
    return done


def python(code: str) -> tuple[str, ...]:
    """Return the command that runs some Python."""
    return (sys.executable, "-c", code)


def test_streams_stay_apart_and_untouched() -> None:
    """Both streams stay separate, and keep every byte."""
    code = (
        "import sys; data = sys.stdin.buffer.read();"
        "sys.stdout.buffer.write(data); sys.stderr.buffer.write(data[::-1])"
    )
    data = bytes(range(256)) * 1_000
    done = run(*python(code), stdin=data)

    assert (data, data[::-1]) == (done.stdout, done.stderr)
    assert [False] * 3 == json.loads(run(*python(REPORT)).stdout)


@pytest.mark.parametrize("code", [0, 1, 5, 77, 255])
def test_the_exit_code_is_the_commands(code: int) -> None:
    """Whatever it means."""
    run(*python(f"raise SystemExit({code})"), expected=code)


def test_signal_ends_command_with_shell_code() -> None:
    """128 and its number."""
    run("sh", "-c", "kill -9 $$", expected=137)
    run("sh", "-c", "kill -SEGV $$", expected=139)


def test_missing_command_raises() -> None:
    """A missing command raises FileNotFoundError and leaves no file open."""
    done = run("no-such-command", expected=1)
    assert b"FileNotFoundError" in done.stderr


def test_command_has_environment_and_signals_of_user() -> None:
    """Python ignores SIGPIPE; a command must not."""
    direct = subprocess.run(["sh", "-c", "trap"], capture_output=True, check=True).stdout
    assert direct == run("sh", "-c", "trap").stdout
    run("sh", "-c", "kill -PIPE $$; exit 3", expected=141)


def test_a_reader_that_goes_away_ends_the_command() -> None:
    """`tpustarter run -- yes | head -1` ends."""
    with subprocess.Popen(
        [sys.executable, str(PATH), "yes"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        process.stdout.read(2)
        process.stdout.close()
        assert 141 == process.wait(HANG_S)


COUNTS = """
import os, signal, sys
number, got, done = int(sys.argv[1]), [], []
signal.signal(number, lambda *_: got.append(1))
signal.signal(signal.SIGUSR2, lambda *_: done.append(1))
woken, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
print("ready", flush=True)
while not done:
    os.read(woken, 1)
    if got:
        print("got", len(got), flush=True)
sys.exit(40 + len(got))
"""
"""Counts how often it gets one signal until it gets SIGUSR2, and ends with 40 and that number."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_handed_on_once(number: signal.Signals) -> None:
    """A signal is forwarded once, and the command decides what it does."""
    with subprocess.Popen(
        [sys.executable, str(PATH), *python(COUNTS), str(int(number))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(number)
        assert b"got 1\n" == process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        process.communicate(timeout=HANG_S)

    assert 41 == process.returncode


def test_background_process_does_not_delay_end() -> None:
    """A server that a script leaves running keeps the outputs open."""
    done = run("sh", "-c", "sleep 600 & echo $!")
    os.kill(int(done.stdout), signal.SIGTERM)  # raises where it was waited for


def test_command_on_terminal_follows_its_size() -> None:
    """A command on a terminal gets its size, and is notified when it changes."""
    with terminal(*python(REPORT), drive=DRIVE, columns=93, lines=31) as tty:
        tty.until(lambda text: "[true, true, true]" in text and "93 31" in text)
        assert 0 == tty.end()


def test_ctrl_c_reaches_command_once() -> None:
    """The terminal sends it to the command itself."""
    command = (*python(COUNTS), str(int(signal.SIGINT)))
    with terminal(*command, drive=DRIVE) as tty:
        tty.until(lambda text: "ready" in text)
        tty.press("\x03")
        tty.until(lambda text: "got 1" in text)
        tty.process.send_signal(signal.SIGUSR2)
        assert 41 == tty.end()


def test_line_endings_are_unchanged() -> None:
    """The terminal turns a line break into two characters, once."""
    with terminal("printf", "one\\ntwo\\n", drive=DRIVE) as tty:
        tty.until(lambda text: "two" in text)
        tty.end()
        assert b"one\r\ntwo\r\n" in tty.written
        assert b"\r\r" not in tty.written
