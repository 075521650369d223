"""Completion in real shells: the tab key in bash and zsh, and fish's engine."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

from tests.support.processes import until

PROMPT = "ready>"
SCRIPTS = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": ".config/fish/completions/tpustarter.fish",
}
"""Files into which the help of `completion` writes the script of each shell."""
PRESSED = {
    "check --level st": "check --level static",
    "check --level=st": "check --level=static",
    "check jax.every_d": "check jax.every_device",
    "rehearse step.py:f --tpu v5e-8,v6e-2": "rehearse step.py:f --tpu v5e-8,v6e-256",
    "learn jax/every": "learn jax/every-device",
    "learn --exercise jax/low-r": "learn --exercise jax/low-rank-linear",
    "setup torcht": "setup torchtpu",
    "tpu ssh": "tpu ssh-config",
    "tpu create bert --type tpu7x-8 --dry": "tpu create bert --type tpu7x-8 --dry-run",
    "explain my-lo": "explain my-log.txt",
}
"""The typed text, and the text after one press of the tab key."""


@pytest.fixture
def shell_home(tmp_path: Path) -> Path:
    """Return a home folder in which every shell has its script, and a log to complete."""
    for shell, name in SCRIPTS.items():
        script = tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "tpustarter", "completion", shell]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        script.write_text(f"PS1='{PROMPT}'\n{text}" if shell != "fish" else text)
    (tmp_path / "my-log.txt").touch()
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a shell whose PATH has the program and the system's."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def find_shell(name: str) -> str:
    """Return the path of a shell, or skip the test."""
    found = shutil.which(name)
    if not found:
        pytest.skip(f"There is no {name} on this machine; its Debian package is {name}.")
    return found


class Shell:
    """A shell on its own terminal, and the screen that it has drawn."""

    def __init__(self, *words: str, home: Path) -> None:
        self.screen = pyte.Screen(120, 24)
        self._stream = pyte.ByteStream(self.screen)
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=home,
            env=environment(home),
            start_new_session=True,
        )
        os.close(slave)

    def wait_for(self, holds: Callable[[str], bool]) -> None:
        """Read the shell's output until a condition holds for the line of its cursor."""

        def read() -> bool:
            if select.select([self.master], [], [], 0)[0]:
                self._stream.feed(os.read(self.master, 65536))
            return holds(self.screen.display[self.screen.cursor.y].rstrip())

        until(read, lambda: self.screen.display)

    def type(self, text: str) -> None:
        """Send some keys."""
        os.write(self.master, text.encode())


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest, shell_home: Path) -> Iterator[Shell]:
    """Return a shell that waits at its prompt."""
    one = Shell(find_shell(request.param), "-i", home=shell_home)
    try:
        one.wait_for(lambda line: line == PROMPT)
        yield one
    finally:
        one.process.kill()
        one.process.wait()
        os.close(one.master)


def test_tab_completes_commands_ids_and_files(shell: Shell) -> None:
    """The tab key completes a word with a single continuation: commands, ids and files."""
    for typed, completed in PRESSED.items():
        shell.type(f"tpustarter {typed}\t")
        shell.wait_for(lambda line, whole=completed: line == f"{PROMPT}tpustarter {whole}")
        shell.type("\x15")  # Ctrl-U
        shell.wait_for(lambda line: line == PROMPT)


def ask_fish(home: Path, typed: str) -> list[str]:
    """Return fish's completions of a command line, without their descriptions."""
    words = [find_shell("fish"), "-c", f'complete -C "tpustarter {typed}"']
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=home, env=environment(home)
    )
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def test_fish_completes_commands_ids_and_files(shell_home: Path) -> None:
    """The same as in the other shells, and nothing else."""
    assert PRESSED == {
        typed: f"{typed.rpartition(' ')[0]} {' '.join(ask_fish(shell_home, typed))}"
        for typed in PRESSED
    }
