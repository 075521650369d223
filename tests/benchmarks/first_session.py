"""A newcomer's first session on a real terminal, played by script: keys pressed and seconds taken.

    python tests/benchmarks/first_session.py

First run, path, lesson, run, a failed block, undo, pass, checks, set-up plan, quit, resume; then
the same journey in plain commands. Everything real: the lessons and checks that ship, and the
Python this runs in. Prints a table; a step that does not appear within 60 s ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.terminal import Terminal

KEY_PAUSE_S = 0.05
"""Between two keys, as a quick typist."""


class Session:
    """Presses keys, waits for what they should bring, and counts."""

    def __init__(self, home: str) -> None:
        self.terminal = Terminal(TPUSTARTER_HOME=home)
        self.keys = 0
        self._began = time.monotonic()

    def step(self, name: str, keys: list[str], shows: Callable[[str], object]) -> None:
        """Press keys, wait until the screen shows what it should, print one row."""
        for key in keys:
            self.terminal.press(key)
            self.keys += 1
            self.terminal.read(KEY_PAUSE_S)
        self.terminal.until(shows)
        seconds = time.monotonic() - self._began
        print(f"{name:<44} {len(keys):>4} keys   after {seconds:>5.1f} s")

    def quit(self) -> None:
        """Press q and wait for the end."""
        self.terminal.press("q")
        self.keys += 1
        code = self.terminal.end()
        print(f"{'quit':<44} {1:>4} keys   exit {code}")


def app(home: str) -> None:
    """Play the journey in the app."""
    session = Session(home)
    session.step("home: this machine and the next step", [], lambda s: "Next" in s and "Path" in s)
    session.step("open the first lesson", ["\r"], lambda s: "Which Python is this" in s)
    session.step("run its first block", ["r"], lambda s: "pass" in s)
    session.step("open the editor", ["e"], lambda s: "Esc done" in s)
    session.step("break the block", [*"1 / 0\r"], lambda s: "1 / 0" in s)
    session.step("run the edited block: it fails", ["\x12"], lambda s: "ZeroDivision" in s)
    session.step("take the edit back", ["u"], lambda s: "undo edit" not in s)
    session.step("run it again: it passes", ["r"], lambda s: "pass" in s)
    session.step("back to home", ["\x1b"], lambda s: "This machine" in s)
    session.step("run every check", ["c"], lambda s: "claims hold on" in s)
    session.step("back to home", ["\x1b"], lambda s: "Last check" in s)
    session.step("see the set-up plan", ["s"], lambda s: "run these" in s.lower() or "y run" in s)
    session.step("back to home", ["\x1b"], lambda s: "This machine" in s)
    session.quit()
    resumed = Session(home)
    resumed.step("start again: where one was", [], lambda s: "claims hold on" in s)
    resumed.quit()
    print(f"{'in all':<44} {session.keys + resumed.keys:>4} keys")


def plain(home: str) -> None:
    """Play the same journey in plain commands."""
    lesson = "setup/python-and-environments"
    commands = [
        [],
        ["learn"],
        ["learn", lesson],
        ["learn", lesson, "--run"],
        ["check"],
        ["setup", "jax"],
        ["learn"],
    ]
    env = {**os.environ, "TPUSTARTER_HOME": home, "NO_COLOR": "1"}
    began = time.monotonic()
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "tpustarter", *words], env=env, capture_output=True, check=False
        )
        line = " ".join(["tpustarter", *words])
        seconds = time.monotonic() - began
        print(f"{line:<44} exit {done.returncode:>2}   after {seconds:>5.1f} s")


if __name__ == "__main__":
    for name in ("JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        app(folder)
    with tempfile.TemporaryDirectory() as folder:
        print()
        plain(folder)
