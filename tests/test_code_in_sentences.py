"""Code in the command line's output: bold on a terminal, in backticks elsewhere."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import copies
from tests.support.terminal import terminal
from tpustarter.text.terminal import format_code

BOLD, USUAL = "\x1b[1m", "\x1b[22m"
UNKNOWN = ("learn", "no/lesson")
LONG_NAME = "setup/no-such-lesson-of-this-name-which-is-a-long-one"


class Tty(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True, as a terminal does."""
        return True


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing of this terminal matter."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run `cd`, then `ls`", f"run {BOLD}cd{USUAL}, then {BOLD}ls{USUAL}"),
        ("do  `docker run\n      IMAGE` now", f"do  {BOLD}docker run\n      IMAGE{USUAL} now"),
        ("one ` alone", "one ` alone"),
        ("```\nfence\n```", "```\nfence\n```"),
        ("    | it's `that`\n  do  `ls`", f"    | it's `that`\n  do  {BOLD}ls{USUAL}"),
        ("    | one ` alone\n  do  `ls`", f"    | one ` alone\n  do  {BOLD}ls{USUAL}"),
        ("one ` alone\n\n  and `ls`", f"one ` alone\n\n  and {BOLD}ls{USUAL}"),
    ],
)
def test_code_is_bold_without_backticks(text: str, shown: str) -> None:
    """Code is bold, also over several lines; a program's own output stays unchanged."""
    assert shown == format_code(text, Tty())


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_bold_the_backticks_stay(env: dict[str, str], monkeypatch: Any) -> None:
    """Without bold the backticks stay, as they mark where a command begins and ends."""
    assert "run `cd` now" == format_code("run `cd` now", io.StringIO())
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    assert "run `cd` now" == format_code("run `cd` now", Tty())


@pytest.mark.parametrize("no_color", [None, "1"])
def test_an_error_on_a_terminal(no_color: str | None) -> None:
    """The one place that shows errors, as it is painted."""
    with terminal(*UNKNOWN, drive="drive_cli.py", NO_COLOR=no_color) as shown:
        shown.until(lambda text: "hint:" in text)
        written = re.sub(r"\s+", " ", shown.written.decode())

    assert ("`no/lesson`" in written) == bool(no_color)
    assert (f"{BOLD}no/lesson{USUAL}" in written) == (not no_color)


@pytest.mark.parametrize("columns", [60, 80])
def test_a_command_goes_on_behind_a_backslash(columns: int, tmp_path: Path) -> None:
    """A long command is continued with backslashes, between words, and a shell reads it whole."""
    (tmp_path / "train.py").write_text(
        "import jax\n\ndef step(weights, batch, key):\n    return 1\n"
    )
    words = ("rehearse", str(tmp_path / "train.py"))
    done = copies.run([sys.executable, "-m", "tpustarter", *words])
    with terminal(*words, drive="drive_cli.py", columns=columns, NO_COLOR="1") as shown:
        shown.end()
        lines = shown.written.decode().splitlines()
    command = next(line for line in done.stderr.splitlines() if line.startswith("  tpustarter"))
    begin = next(number for number, line in enumerate(lines) if line.startswith("  tpustarter"))

    assert len(command) > columns
    assert all(len(line) <= columns or len(line.split()) <= 2 for line in lines)
    assert shlex.split(command) == shlex.split("\n".join(lines[begin:]).replace("\\\n", ""))


@pytest.mark.parametrize(
    ("words", "columns", "term"),
    [
        (("learn", LONG_NAME), 40, "dumb"),
        (("learn", LONG_NAME), 80, "xterm-256color"),
        (("rehearse", "--tpu", "v5e-8"), 40, "xterm-256color"),
        (("check", "--level", "slow"), 80, "dumb"),
    ],
)
def test_no_word_of_an_error_is_broken(words: tuple[str, ...], columns: int, term: str) -> None:
    """An error breaks only between words in a terminal, with the same words as in a pipe."""
    done = copies.run([sys.executable, "-m", "tpustarter", *words])
    with terminal(*words, drive="drive_cli.py", columns=columns, TERM=term, NO_COLOR="1") as shown:
        shown.end()
        lines = shown.written.decode().splitlines()

    assert done.stderr.split() == " ".join(lines).split()
    assert any(len(line) > columns for line in done.stderr.splitlines())
    assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)


@pytest.mark.parametrize(
    ("words", "last", "no_color"),
    [
        (("setup", "jax"), "To run the steps that are left", None),
        (("setup", "jax"), "To run the steps that are left", "1"),
        (("learn", "--old", "pmap"), "source ", None),
        (("learn",), "finds a topic", None),
    ],
)
def test_command_output_on_terminal_has_bold_code(
    words: tuple[str, ...], last: str, no_color: str | None
) -> None:
    """A command's output on a terminal has bold code, even across lines."""
    with terminal(*words, drive="drive_cli.py", lines=100, NO_COLOR=no_color) as shown:
        shown.until(lambda text: last in text)
        assert 0 == shown.end()
        written = shown.written.decode()

    assert ("`" in written) == bool(no_color)
