"""Hostile terminals: input that is no key, false capabilities, and a terminal that is gone.

Each row is run in a terminal of its own. The app goes on, or ends with the code that stands here;
no traceback is seen, and the terminal is as it was.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.drive_broken_tui import BREAKS, LIMITS
from tests.support.listening import until_it_listens
from tests.support.processes import HANG_S, until
from tests.support.terminal import Terminal, terminal
from tpustarter.core import locations

JUNK = {
    "latin-1": b"\xe9",
    "half-a-letter": b"\xc3",
    "every-high-byte": bytes(range(128, 256)) * 4,
    "nul": b"\0" * 100,
    "old-mouse": b"\x1b[M !!",
    "old-mouse-far-right": b"\x1b[M \xff\xe9",
    "old-mouse-that-is-a-letter": b"\x1b[M \xc3\xa9",
    "old-mouse-q": b"\x1b[Mqqq",
    "mouse-outside": b"\x1b[<0;500;500M\x1b[<0;500;500m",
    "mouse-before-the-first": b"\x1b[<0;0;0M\x1b[<0;0;0m",
    "mouse-huge": b"\x1b[<99999999999;9999999999;9M",
    "mouse-urxvt": b"\x1b[32;5;5M",
    "key-huge": b"\x1b[99999999999999999999;1u",
    "key-text-huge": b"\x1b[97;1;999999999999u",
    "key-surrogate": b"\x1b[55296;1u",
    "key-endless": b"\x1b[" + b"9" * 100_000 + b"u",
    "cursor-huge": b"\x1b[" + b"9" * 40 + b";1R",
    "size-huge": b"\x1b[48;999999;999999;1;1t",
    "size-zero": b"\x1b[48;0;0;0;0t\x1b[<0;500;500M",
    "size-no-number": b"\x1b[48;1:2;3:x;4;5t",
    "paste-of-binary": b"\x1b[200~" + bytes(range(256)) * 20 + b"\x1b[201~",
    "paste-of-much": b"\x1b[200~" + b"qrc?" * 50_000 + b"\x1b[201~",
    "paste-that-ends-only": b"\x1b[201~",
    "answer-attributes": b"\x1b[?62;1;2;4c",
    "answer-colour": b"\x1b]11;rgb:ffff/cccc/cccc\x07",
    "answer-colour-st": b"\x1b]11;rgb:ffff/cccc/cccc\x1b\\",
    "answer-version": b"\x1bP>|qrc?(388)\x1b\\",
    "answer-without-end": b"\x1b]11;qrc?",
    "unknown-sequence": b"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15z",
}
"""What no key sends. `q` would leave, `?` help, `r` and `c` open screens: none of them may."""

ENVIRONMENTS: dict[str, tuple[dict[str, str | None], bool]] = {
    "dumb": ({"TERM": "dumb"}, False),
    "empty": ({"TERM": ""}, False),
    "unset": ({"TERM": None}, False),
    "unknown": ({"TERM": "unknown"}, False),
    "nonsense": ({"TERM": "\x1b[31m../../etc"}, True),
    "vt100": ({"TERM": "vt100"}, True),
    "wide": ({"COLUMNS": "99999999", "LINES": "99999999"}, True),
    "no-numbers": ({"COLUMNS": "x", "LINES": "-1"}, True),
    "posix": ({"LC_ALL": "C", "LANG": "C"}, True),
    "ascii": ({"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "LC_ALL": "POSIX"}, True),
}
"""Variables, and whether there is a full screen with them."""

SIZES = [(0, 0), (1, 1), (2, 1), (1, 500), (500, 1), (10_000, 3), (65_535, 65_535)]
TRIES = 3
LONGEST_S = 1.5
"""Until about when the first screen is there."""
MOMENTS: dict[str, Callable[[Terminal], bool]] = {
    "listens": lambda _: True,
    "taken": lambda tty: b"\x1b[?1049h" in tty.written,
    "drawn": lambda tty: tty.is_drawn,
}
"""Of a start, in their order."""


def assert_ended(tty: Terminal, code: int) -> None:
    """Wait for the end, and check the exit code and what is left."""
    assert code == tty.end(), tty.text
    assert b"Traceback" not in tty.written
    assert tty.is_restored


@pytest.mark.parametrize("group", range(4))
def test_invalid_key_sequence_is_ignored(group: int) -> None:
    """The first screen stays, keys still work, and leaving it is a success.

    A paste of many lines is taken for an error that is to be explained, whatever it holds.
    """
    with terminal() as tty:
        tty.until(lambda text: "Path: " in text)
        for name in list(JUNK)[group::4]:
            tty.press(JUNK[name])
            tty.until_acted()  # a pause ended what never ends
            assert "q quit" in tty.text, name
            assert tty.process.poll() is None, name
            if name == "paste-of-binary":
                tty.until(lambda text: "What your error means" in text)
                tty.press("\x1b")
                tty.until(lambda text: "Path: " in text)
            assert "Path: " in tty.text, name
        tty.press("?")
        tty.until(lambda text: "The line that is marked" in text and "q quit" not in text)
        tty.press("\x1b")
        tty.until(lambda text: "q quit" in text)
        tty.press("q")

        assert_ended(tty, 0)


def test_unterminated_paste_leaves_keys_working() -> None:
    """Ctrl-C leaves, also where a terminal began pasted text and forgot to end it."""
    with terminal() as tty:
        tty.until(lambda text: "Path: " in text)
        tty.press(b"\x1b[200~qqq")
        tty.until_acted()
        tty.press("\x03")
        tty.until(lambda text: "Quit tpustarter?" in text)
        tty.press("\x03")

        assert_ended(tty, 130)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_any_terminal_environment_starts_without_traceback(name: str) -> None:
    """Any terminal starts with the full screen or the plain overview, and no traceback."""
    variables, has_screen = ENVIRONMENTS[name]
    with terminal(**variables) as tty:  # type: ignore[arg-type]
        if has_screen:
            tty.until_drawn()
            tty.press("q")

        assert_ended(tty, 0)
        assert has_screen == (b"\x1b[?1049h" in tty.written)
        assert has_screen or b"tpustarter check" in tty.written


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_command_descriptions_are_aligned(columns: int) -> None:
    """Beside the commands, or below each where there is no room."""
    with terminal(TERM="dumb", columns=columns) as tty:
        assert_ended(tty, 0)
        lines = tty.written.decode().splitlines()

    [at] = {
        line.index(said)
        for line in lines
        for said in ("prove what works", "your path through", "compile for a", "every command")
        if said in line
    }
    assert at == 6 if columns == 40 else at > 30
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_window_of_any_size_works(columns: int, lines: int) -> None:
    """A window of any size is drawn with bounded output, and keys work in it."""
    with terminal(columns=columns, lines=lines) as tty:
        tty.until_drawn()
        assert len(tty.written) < 5_000_000
        tty.press("q")

        assert_ended(tty, 0)


@pytest.mark.parametrize("seed", range(3))
def test_window_resized_during_start_works(seed: int) -> None:
    """Sizes come at any moment, before there is a screen too."""
    chance = random.Random(seed)
    with terminal() as tty:
        sizes_left = 20
        while sizes_left:
            tty.resize(chance.choice([1, 40, 80, 300, 65_535]), chance.choice([1, 5, 24, 65_535]))
            tty.read_unseen(chance.uniform(0, 0.05))
            assert tty.process.poll() is None, tty.text
            sizes_left -= tty.is_drawn
        tty.resize(60, 20)
        tty.press(b"\0")  # no key: once it was read, the last size was, too
        tty.until_acted(is_seen=False)
        tty.resize(80, 24)  # another size, so that all of it is painted anew
        tty.until(lambda text: "Path: " in text)
        tty.press("q")

        assert_ended(tty, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_during_start_ends_app(number: signal.Signals) -> None:
    """A signal during the start ends the app with a code and restores the terminal."""
    code = 130 if number == signal.SIGINT else 143
    seed = int(os.environ.get("TPUSTARTER_SEED") or random.randrange(10**6))
    print(f"TPUSTARTER_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(TRIES):
        with terminal() as tty:
            until_it_listens(tty.process)
            moment = time.monotonic() + chance.uniform(0.0, LONGEST_S)
            while time.monotonic() < moment:  # of the signal: at each the same holds
                tty.read(0.005)
            tty.process.send_signal(number)

            assert_ended(tty, code)


def test_signal_after_terminal_setup_restores_terminal() -> None:
    """The first bytes of the app are seen, and then comes the signal."""
    with terminal() as tty:
        while b"\x1b[?1049h" not in tty.written:
            tty.read(0.005)
        tty.process.send_signal(signal.SIGTERM)

        assert_ended(tty, 143)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("heard", [True, False], ids=["heard", "ignored"])
def test_lost_terminal_ends_app(moment: str, heard: bool) -> None:
    """The app leaves, also where the hang-up is ignored as under nohup; nothing is left behind."""
    with terminal(TPUSTARTER_TEST="" if heard else "ignore-hang-up") as tty:
        until_it_listens(tty.process)
        until(lambda: (tty.read(0), MOMENTS[moment](tty))[1], moment)
        tty.close()

        assert 143 == tty.process.wait(HANG_S)
    assert not list(locations.make_state_folder().glob("bug-*"))


def test_terminal_lost_before_start_ends_app() -> None:
    """A terminal lost before the start ends the app, even where the hang-up signal is ignored."""
    with terminal(TPUSTARTER_TEST="start-without-terminal") as tty:
        while b"ready\r\n" not in tty.written:  # the whole line: the driver's own write must end
            tty.read(0.1)
        tty.close()

        assert 143 == tty.process.wait(HANG_S)


def test_blocked_terminal_delays_no_signal() -> None:
    """A signal ends the app while its output is blocked, and the terminal takes lines again."""
    with terminal(columns=300, lines=100, TPUSTARTER_TEST="give-up-soon") as tty:
        tty.until_drawn()

        def is_full() -> bool:
            tty.resize(299, 99)  # each draws a whole screen, and nobody reads
            tty.resize(300, 100)
            return tty.is_full

        until(is_full, "a terminal that is full")
        tty.process.send_signal(signal.SIGTERM)

        assert 143 == tty.process.wait(HANG_S)
        assert tty.takes_lines


@pytest.mark.parametrize("name", BREAKS)
def test_error_outside_handlers_is_bug(name: str, tmp_path: Path) -> None:
    """An input thread, a worker, a driver: exit 70, a report, and the terminal as it was."""
    with terminal(name, drive="drive_broken_tui.py") as tty:
        if name in ("input-thread", "action", "worker", "driver-ends"):
            tty.until_drawn()
            tty.press("?" if name == "action" else "q")

        assert_ended(tty, 70)
        assert b"error: tpustarter itself broke: " in tty.written
    assert 1 == len(list(locations.make_state_folder().glob("bug-*.md")))


@pytest.mark.parametrize("name", LIMITS)
def test_machine_without_threads_is_named(name: str) -> None:
    """The app cannot read keys or draw without one: exit 71, and the terminal as it was."""
    with terminal(name, drive="drive_broken_tui.py") as tty:
        assert_ended(tty, 71)
        assert b"allows no more processes and threads" in tty.written
    assert not list(locations.make_state_folder().glob("bug-*.md"))
