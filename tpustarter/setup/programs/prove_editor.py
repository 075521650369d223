"""Proves `tpustarter setup editor`: a session outlives its terminal, and zsh and mosh work.

    python -IB prove_editor.py HOME

The user's own sessions and files are not touched: sockets and copies are in a folder of their own,
and every process that is started is ended. Only the standard library is needed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Generator
from pathlib import Path

WAIT_S = 10.0
"""Longest wait for a program that should respond at once."""
ENVIRONMENT = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


@contextlib.contextmanager
def open_terminal(words: list[str], env: dict[str, str]) -> Generator[int]:
    """Run a program in a separate terminal; yield the terminal's other end, then hang up."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, env)  # noqa: S606 -- nothing of it goes through a shell
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # sends SIGHUP, as a dropped connection does
        deadline = time.monotonic() + WAIT_S
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)


def run(*words: str, env: dict[str, str] | None = None) -> str:
    """Return a program's output; exit if it fails or writes to stderr."""
    ended = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        env=env or ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    if ended.returncode or ended.stderr.strip():
        said = (ended.stderr or ended.stdout).strip()
        sys.exit(f"`{words[0]}` ended with exit code {ended.returncode}: {said}")
    return ended.stdout.strip()


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until a condition is true; exit the program after `WAIT_S` seconds."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {WAIT_S:.0f} s")
        time.sleep(0.05)


def prove_tmux(home: Path, work: Path) -> None:
    """Hang up on a session of a separate tmux server that has the user's configuration."""
    tmux = ["tmux", "-S", str(work / "tmux"), "-f", str(home / ".tmux.conf")]
    run(*tmux, "new-session", "-d", "-s", "train", "sleep", "60")
    try:
        run(*tmux, "source-file", str(home / ".tmux.conf"))
        lines = run(*tmux, "show-options", "-gv", "history-limit")
        with open_terminal([*tmux, "attach-session", "-t", "train"], ENVIRONMENT):
            wait_until("tmux shows the session", lambda: run(*tmux, "list-clients") != "")
        wait_until("tmux notices the hang-up", lambda: run(*tmux, "list-clients") == "")
        name = run(*tmux, "list-sessions", "-F", "#{session_name}")
    finally:
        run(*tmux, "kill-server")
    print(f"tmux: the session `{name}` outlived its terminal, and keeps {lines} lines", flush=True)


def prove_zsh(home: Path, work: Path) -> None:
    """Start interactive zsh with a copy of the configuration, as it writes files next to it."""
    shutil.copy(home / ".zshrc", work)
    env = {**ENVIRONMENT, "HOME": str(home), "ZDOTDIR": str(work)}
    lines = run("zsh", "-i", "-c", "print $SAVEHIST; whence compdef >/dev/null", env=env)
    print(f"zsh: starts without a complaint, and keeps {lines} lines of history", flush=True)


def prove_mosh() -> None:
    """Connect to a mosh server on this machine, and read the output of a program on it."""
    env = {**ENVIRONMENT, "MOSH_SERVER_NETWORK_TMOUT": "20", "MOSH_SERVER_SIGNAL_TMOUT": "20"}
    words = ["mosh-server", "new", "-i", "127.0.0.1", "--", "sh", "-c", "echo arrived; sleep 20"]
    said = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        env=env,
        stdin=subprocess.DEVNULL,
    )
    match = re.search(r"MOSH CONNECT (\d+) (\S+)", said.stdout)
    if not match:
        sys.exit(f"`mosh-server` gave no port: {said.stderr.strip()[-400:]}")
    words = ["mosh-client", "127.0.0.1", match[1]]
    screen = b""
    with open_terminal(words, {**env, "MOSH_KEY": match[2]}) as descriptor:
        deadline = time.monotonic() + WAIT_S
        while b"arrived" not in screen:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([descriptor], [], [], left)[0]:
                sys.exit("mosh: nothing came over UDP")
            screen += os.read(descriptor, 65536)
        os.write(descriptor, b"\x1e.")  # Ctrl-^ and a full stop: the client ends the server as well
        with contextlib.suppress(OSError):
            while os.read(descriptor, 65536):
                pass
    print(f"mosh: a terminal over UDP port {match[1]} on this machine shows its output", flush=True)


def main(home: str) -> None:
    """Check that tmux, zsh and mosh work; exit with a message if one does not."""
    with tempfile.TemporaryDirectory(prefix="tpustarter-") as work:
        prove_tmux(Path(home), Path(work))
        prove_zsh(Path(home), Path(work))
    prove_mosh()


if __name__ == "__main__":
    main(sys.argv[1])
