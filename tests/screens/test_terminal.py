"""The program on a real terminal: restored at every exit, and silent when idle."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal import terminal
from tests.support.tutor import HANGS, HELLO, is_alive, write_checks, write_lessons
from tpustarter.text.terminal import LossyStream
from tpustarter.tui.terminal.driver import ScreenStream


def test_installed_program_works_and_is_silent_when_idle() -> None:
    """The installed program runs a lesson, and writes no byte while idle."""
    with terminal() as tty:
        tty.until(lambda text: "Path: " in text and "virtual CPU devices" in text)
        tty.press("\r")
        tty.until(lambda text: "r run" in text and "Esc back" in text)
        tty.press("r")
        tty.until(lambda text: re.search(r"\bpass  \d", text))
        tty.press("\x1b")
        tty.until(lambda text: "This machine" in text and "process:" not in text)
        while tty.read(1.0):
            pass
        before = len(tty.written)
        assert b"" == tty.read(3.0)
        assert before == len(tty.written)
        tty.press("q")

        assert 0 == tty.end()
        assert tty.is_restored


def test_next_start_restores_terminal_after_kill() -> None:
    """After `kill -9` the next start finds and restores the terminal."""
    with terminal(is_raw=True) as tty:
        assert not tty.takes_lines
        tty.until(lambda text: "Path: " in text and "virtual CPU devices" in text)
        tty.press("q")

        assert 0 == tty.end()
        assert tty.is_restored


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("ctrl-c three times", 130),
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 143),
        ("hang up", 143),
    ],
)
def test_any_exit_ends_block_and_restores_terminal(
    how: str | signal.Signals, code: int, tmp_path: Path
) -> None:
    """Any exit ends the hanging block, keeps the progress and restores the terminal."""
    lessons = write_lessons(tmp_path / "lessons", hangs=HANGS, hello=HELLO)
    checks = write_checks(tmp_path / "checks")
    with terminal(str(lessons), str(checks)) as tty:
        tty.until(lambda text: "> Hangs" in text)
        tty.press("\r")
        tty.until(lambda text: "not run yet" in text)
        tty.press("r")
        printed = tty.until(lambda text: re.search(r"the block is process \d+\.", text))
        pid = int(re.findall(r"the block is process (\d+)\.", printed)[-1])
        assert is_alive(pid)
        if how == "ctrl-c three times":  # the first stops the block, the second asks
            tty.press("\x03")
            tty.until(lambda text: "STOPPED" in text)
            tty.press("\x03")
            tty.until(lambda text: "Quit tpustarter?" in text)
            tty.press("\x03")
        elif how == "hang up":
            tty.close()
        else:
            tty.process.send_signal(how)

        assert code == tty.end()
        assert not is_alive(pid)
        assert how == "hang up" or tty.is_restored


def test_lesson_is_first_painted_at_bookmark(tmp_path: Path) -> None:
    """A lesson with a bookmark never shows its beginning before it scrolls."""
    lines = "\n\n".join(f"Line {number}." for number in range(60))
    text = f"# Long\n\nPrologue.\n\n{lines}\n{HELLO.partition('word).')[2]}\n{lines}\n"
    lessons = write_lessons(tmp_path / "lessons", long=text)
    checks = write_checks(tmp_path / "checks")
    for begins in (True, False):
        with terminal(str(lessons), str(checks)) as tty:
            tty.until(lambda text: "> Long" in text)
            tty.press("\r")
            tty.until(
                lambda text, begins=begins: "Prologue" in text if begins else "Line 5" in text
            )
            assert begins == (b"Prologue" in tty.written)
            assert b"start/long" not in tty.written  # it has a title
            tty.press("\x1b[F")
            tty.until(lambda text: "Line 59." in text)
            tty.press("\x1b")
            tty.until(lambda text: "This machine" in text)
            tty.press("q")
            assert 0 == tty.end()


def test_no_color_leaves_only_words(tmp_path: Path) -> None:
    """With NO_COLOR no colour is sent, and every word is there."""
    lessons = write_lessons(tmp_path / "lessons")
    checks = write_checks(tmp_path / "checks")
    with terminal(str(lessons), str(checks), NO_COLOR="1") as tty:
        tty.until(lambda text: "> Hello" in text)
        tty.press("c")
        tty.until(lambda text: "FAIL" in text and "PASS" in text)
        colours = set(re.findall(rb"\x1b\[[0-9;]*m", tty.written))
        codes = {int(one) for found in colours for one in re.findall(rb"\d+", found)}
        assert not codes & {*range(30, 39), *range(40, 49), *range(90, 108)}
        tty.press("q")

        assert 0 == tty.end()


def test_missing_terminal_gets_plain_overview() -> None:
    """A pipe, `TERM=dumb` and CI get plain text instead of the app."""
    plain = subprocess.run(
        [sys.executable, "-m", "tpustarter"], capture_output=True, text=True, check=True
    )
    assert "This machine" in plain.stdout
    assert "\x1b" not in plain.stdout
    for variable in ({"TERM": "dumb"}, {"CI": "true"}):
        with terminal(**variable) as tty:  # type: ignore[arg-type]
            assert 0 == tty.end()
            assert b"\x1b[?1049h" not in tty.written
            assert b"tpustarter check" in tty.written


def test_screen_stream_writes_text_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream for screens writes backticks unchanged; messages on a terminal get bold text."""

    class Tty(LossyStream):
        def isatty(self) -> bool:
            return True

    raw = io.BytesIO()
    stream = Tty(raw, "utf-8")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream.write("`a`")
    stream.flush()
    assert raw.getvalue() == b"\x1b[1ma\x1b[22m"
    ScreenStream().write("`b`")
    ScreenStream().flush()

    assert raw.getvalue().endswith(b"`b`")
