"""A command under the supervisor: its output line by line, and an end within bounded time.

The supervisor ensures that the command ends with this program, however that ends.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.problem import Problem, find_limit_problem
from tpustarter.core.redact import KEY_BEGIN, KEY_END, Redactor, drop_incomplete_word
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent, signal_name
from tpustarter.text.terminal import escape_text

LIMIT_S = 3600.0
"""Timeout of a command: libtpu takes minutes on a slow connection, a hang takes forever."""
POLL_S = 0.1
QUIET_S = 60.0
"""Seconds without output after which a line reports that the command is still running."""
LINE_CHARACTERS = 2000
MAX_LINE_BYTES = 4096
"""Maximum bytes read per line; the rest is left out, because redacting it would take forever."""
TAIL_LINES = 12
MAX_FRESH_LINES = 20_000

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]"
)
_LOGIN = re.compile(r"(?<=://)[^/\s]+(?=@)")
"""User and password in the URL of a package index."""

_NO_VENV = (
    "Debian and Ubuntu keep venv in a package of its own: `sudo apt install {python}-venv`, "
    "or get uv: `curl -LsSf https://astral.sh/uv/install.sh | sh`"
)
_NO_NETWORK = "the package index was not reached: `python3 -m pip download --no-deps jax` shows why"
_NO_DOWNLOAD = (
    "uv fetches Python from github.com: `curl -sSI https://github.com` shows whether that is "
    "reached; a Python 3.12 or newer from elsewhere on PATH does as well"
)
_HINTS = {
    r"python-build-standalone": _NO_DOWNLOAD,
    r"no space left on device|disk quota exceeded":
        "the disk is full: `df -h {folder}` shows it; free 2 GB, then run this again",
    r"ensurepip is not available|no module named '?(venv|ensurepip)": _NO_VENV,
    r"cannot connect to proxy|tunnel (error|connection)":
        "the proxy was not reached: `env | grep -i _proxy` shows which one is set",
    r"no module named '?pip": "`{folder}/bin/python -m ensurepip` puts pip into it",
    r"name resolution|service not known|could not resolve|dns error|unreachable": _NO_NETWORK,
    r"connection (refused|reset)|failed to (fetch|download)|newconnectionerror|timed? ?out":
        _NO_NETWORK,
    r"error sending request|retrying \(|ssl: ?certificate|invalid peer certificate": _NO_NETWORK,
    r"no matching distribution|no solution found|no download found":
        "the index has no version for this Python and machine: `uname -m` names the machine",
    r"permission denied|read-only file system":
        "`ls -ld {folder}` shows who owns it; name another place with `--folder PATH`",
    r"SIGKILL": "often because memory ran out, which `free -h` shows; then run this again",
}  # fmt: skip
"""Hints by a pattern for the last lines of a failed command; the first match wins."""


def find_output_hint(tail: str, folder: str, python: str) -> str:
    """Return the hint for a command's last lines, or "" if no pattern matches."""
    fitting = (text for pattern, text in _HINTS.items() if re.search(pattern, tail, re.IGNORECASE))
    return next(fitting, "").format(folder=folder, python=python)


class LineLog(CappedLog):
    """A log of complete lines, redacted and without escape sequences; keeps the last ones."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        super().__init__(path)
        locations.chown_to_caller(path)
        self._redact = redact
        self._pending = b""
        self._in_key = False
        """True inside a private key, whose lines have no recognisable shape."""
        self.fresh: deque[str] = deque(maxlen=MAX_FRESH_LINES)
        """Lines not taken yet; a flood drops the oldest of them, but not from the file."""
        self.last: deque[str] = deque(maxlen=TAIL_LINES)

    def write(self, data: bytes) -> None:
        """Add output; an unfinished line waits for its rest."""
        *lines, pending = (self._pending + data).split(b"\n")
        self._pending = _cut(pending)
        for line in lines:
            self._add(_cut(line))

    def finish(self) -> None:
        """Add the unfinished last line."""
        pending, self._pending = self._pending, b""
        if pending:
            self._add(pending)

    def note(self, text: str) -> None:
        """Write a line from this program instead of the command."""
        super().write(f"{self._redact.redact_text(escape_text(text))}\n".encode())

    def _add(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        if len(line) >= MAX_LINE_BYTES:
            text = drop_incomplete_word(text)
        was_in_key = self._in_key
        begins = was_in_key or bool(KEY_BEGIN.search(text))
        self._in_key = begins and not KEY_END.search(text)
        text = "[key]" if was_in_key else self.clean(text)
        super().write(f"{text}\n".encode())
        if text:
            self.fresh.append(text)
            self.last.append(text)

    def clean(self, text: str) -> str:
        """Return a line as a terminal would show it, as redacted plain text."""
        parts = [part for part in _ESCAPE.sub("", text).split("\r") if part.strip()]
        line = _LOGIN.sub("[login]", parts[-1].expandtabs().rstrip() if parts else "")
        return escape_text(self._redact.redact_text(line)[:LINE_CHARACTERS])


def _cut(line: bytes) -> bytes:
    # A carriage return makes the text after it overwrite the line, so a long line is cut to that.
    if len(line) <= MAX_LINE_BYTES:
        return line
    return line.rstrip(b"\r").rpartition(b"\r")[2][:MAX_LINE_BYTES]


@dataclass(frozen=True)
class CommandOutcome:
    """The end of a command: its exit code, and a description."""

    code: int | None
    """Its exit code; None if a signal, a stop or the timeout ended it."""
    what: str
    """A description such as `ended with exit code 1`."""


class SupervisedCommand:
    """A command that is run once; `stop` ends it from any thread."""

    def __init__(
        self,
        words: Sequence[str],
        log: LineLog,
        *,
        archive: Path,
        env: Mapping[str, str],
        keep: int | None = None,
        as_root: bool = False,
    ) -> None:
        """Start the command.

        Args:
            words: An absolute path and its arguments.
            log: Receives the output.
            archive: The probe archive, whose supervisor runs the command.
            env: Its whole environment.
            keep: A descriptor kept open while any of the command's processes lives; with `as_root`,
                only while the command itself lives.
            as_root: True if it changes the machine. It keeps this program's root rights, and
                background processes that it leaves survive if it succeeds.

        Raises:
            Problem: This program's own Python cannot be started.
        """
        self._log = log
        self._stopped = False
        self.outcome = CommandOutcome(None, "did not end")
        log.last.clear()
        log.note(f"$ {shlex.join(words)}")
        try:
            self._probe = Probe(
                Path(sys.executable),
                archive,
                log,
                env=env,
                drop=None if as_root else locations.find_sudo_caller(),
                lease=keep,
                command=words,
                stays=as_root,
            )
        except OSError as error:
            problem = Problem(f"cannot start `{sys.executable}`: {error.strerror or error}")
            raise find_limit_problem(error) or problem from error

    def stop(self) -> None:
        """End the command: TERM, 5 s, KILL; safe in any thread and signal handler."""
        self._stopped = True
        self._probe.interrupt()

    def lines(self) -> Generator[str, None, None]:
        """Yield the output line by line, and set `outcome` at the end."""
        output_at = notice_at = time.monotonic()
        deadline = output_at + LIMIT_S
        gone = None
        try:
            while gone is None:
                event = self._probe.read(POLL_S)
                now = time.monotonic()
                if self._log.fresh:
                    output_at = notice_at = now
                elif now - notice_at > QUIET_S:
                    notice_at = now
                    yield f"... still running, {now - output_at:.0f} s without output"
                yield from self._fresh()
                if self._stopped or time.monotonic() > deadline:
                    gone = self._probe.end()
                elif event and event["event"] == "gone":
                    gone = event
            self._log.finish()
            yield from self._fresh()
            self.outcome = self._outcome(gone, late=time.monotonic() > deadline)
        finally:
            self._probe.end()
            self._probe.close()

    def _fresh(self) -> Generator[str, None, None]:
        while self._log.fresh:
            yield self._log.fresh.popleft()

    def _outcome(self, gone: ProbeGoneEvent, *, late: bool) -> CommandOutcome:
        if self._stopped:
            still = "".join(f", and process {pid} still works" for pid in gone["left"])
            return CommandOutcome(None, f"stopped before it was done{still}")
        if late:
            return CommandOutcome(None, f"was ended after {LIMIT_S:.0f} s")
        if gone["signal"]:
            return CommandOutcome(None, f"was ended by {signal_name(gone['signal'])}")
        if gone["code"] is None:
            return CommandOutcome(None, "was ended from outside")
        return CommandOutcome(gone["code"], f"ended with exit code {gone['code']}")
