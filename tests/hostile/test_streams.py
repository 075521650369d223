"""Full, closed and half-read streams: the exit code stays, and no traceback is ever seen.

A row of `COMMANDS` is what is asked for and the code it ends with; each is run on every kind of
broken stream.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.support.processes import HANG_S

COMMANDS = {
    "passes": ("check host.space", 0),
    "json": ("check host.space --json", 0),
    "ndjson": ("check host.space --ndjson", 0),
    "nothing": ("check 'nonexist.*'", 2),
    "no-tpu": ("check host.space --require tpu", 69),
    "skipped": ("check host.chips", 5),
    "usage": ("check --nope", 2),
    "no-command": ("nope", 2),
    "version": ("--version", 0),
    "completion": ("completion -- check --level q", 0),
    "help": ("--help", 0),
    "help-of-check": ("check --help", 0),
    "learn": ("learn", 0),
    "watch": ("watch --port 1", 69),
    "lesson": ("learn jax/precision", 0),
    "setup": ("setup jax --dry-run", 0),
    "rehearse": ("rehearse --list", 0),
    "overview": ("", 0),
    "explain": ("explain /dev/null", 5),
    "report": ("report --no-ask --json", 0),
}
SILENT = ("usage", "no-command", "nothing", "watch")
"""Those that write nothing to stdout."""
OUTPUT, PIPE = 74, 141


def run(arguments: str, streams: str) -> tuple[str, str, int]:
    """Run the program as a shell does; returns stdout, stderr and its exit code."""
    script = f"'{sys.executable}' -m tpustarter {arguments} {streams}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "itself broke" not in done.stderr
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize("name", COMMANDS)
def test_full_stdout_has_message_and_own_code(name: str) -> None:
    """If stdout is full, commands that write to it end with a message and a code of its own."""
    arguments, code = COMMANDS[name]
    _, stderr, ended = run(arguments, "> /dev/full")

    if name in SILENT:
        assert code == ended
    else:
        assert OUTPUT == ended
        assert "error: cannot write to stdout: No space left on device" in stderr


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("streams", ["2> /dev/full", "2>&-", "<&-", "<&- 2>&-"])
def test_state_of_other_streams_changes_no_code(name: str, streams: str) -> None:
    """The state of other streams changes neither the exit code nor the data on stdout."""
    arguments, code = COMMANDS[name]
    stdout, _, ended = run(arguments, streams)

    assert code == ended
    if name == "json":
        assert code == json.loads(stdout)["exit_code"]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-"])
def test_closed_stdout_counts_as_full(name: str, streams: str) -> None:
    """Output is lost then, as with any other program."""
    arguments, code = COMMANDS[name]

    assert (code if name in SILENT else OUTPUT) == run(arguments, streams)[2]


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - set(SILENT)))
def test_a_reader_that_leaves_early_gives_one_code(name: str) -> None:
    """`tpustarter ... | true` ends like every program that the closed pipe ends."""
    _, stderr, ended = run(COMMANDS[name][0], "| sleep 0")

    assert ended in (PIPE, COMMANDS[name][1])  # all of it may have fitted the pipe in time
    assert "Exception ignored" not in stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_pythoninspect_changes_no_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would open a prompt after the last word, and end with 1."""
    monkeypatch.setenv("PYTHONINSPECT", "1")
    arguments, code = COMMANDS[name]

    assert code == run(arguments, "")[2]


@pytest.mark.parametrize("command", ["check", "learn", "rehearse", "setup"])
def test_json_is_printed_without_stderr(command: str) -> None:
    """An error is one document on stdout, and its text does not follow it there."""
    stdout, _, ended = run(f"{command} --nope --json", "2>&-")

    assert (2, 2) == (json.loads(stdout)["exit_code"], ended)


HALF = (
    "from tpustarter.core import content\nfrom tpustarter.core.problem import Problem\n"
    "def half(*_):\n    print('half a line', end='')\n    raise Problem('broken')\n"
    "content.read_lessons = half\n"
)
"""Breaks `learn` in the middle of a line."""


@pytest.mark.parametrize("one_terminal", [True, False])
def test_error_begins_a_line(one_terminal: bool) -> None:
    """An error begins a new line on a terminal that both streams share; stdout stays unchanged."""
    terminals = [pty.openpty() for _ in range(2)]
    (_, stdout), (_, stderr) = terminals[0], terminals[0 if one_terminal else 1]
    program = f"import sys\n{HALF}sys.argv = ['tpustarter', 'learn']\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}from tpustarter.__main__ import main\nmain()"],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        timeout=HANG_S,
        check=False,
    )
    texts = [os.read(ours, 65536) for ours, _ in terminals[: 1 if one_terminal else 2]]
    for descriptor in (one for pair in terminals for one in pair):
        os.close(descriptor)

    assert 78 == done.returncode
    if one_terminal:
        assert [b"half a line\r\nerror: broken\r\n"] == texts
    else:
        assert [b"half a line", b"error: broken\r\n"] == texts
