"""A check run's progress on stderr: one line that is rewritten, or occasional lines."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from tpustarter.checking.machine_check import HostStateChanged
from tpustarter.checking.output import results_text
from tpustarter.checking.run.runner import CheckEnded, CheckStarted, CheckWaiting
from tpustarter.checking.run_progress import RunProgress
from tpustarter.text import bars
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from types import TracebackType

    from tpustarter.checking.machine_check import Event, MachineCheck

WAIT_LINE_S = 30
"""Seconds between two lines about a slow check, if no line can be rewritten."""

_MOST = 100
"""Longest progress line in columns. A narrower window breaks it into two rows, rarely more."""


def can_rewrite_line(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can rewrite a line, which excludes `TERM=dumb`."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class CheckProgress:
    """A run's progress line, which is cleared however the run ends."""

    def __init__(self, selfcheck: MachineCheck, stream: TextIO | None = None) -> None:
        self._selfcheck = selfcheck
        self._stream = stream or sys.stderr
        self.rewrites = can_rewrite_line(self._stream)
        """True if there is a single line, rewritten at each event."""
        self._shown = 0
        """Columns of the line on the screen; 0 if there is none."""
        self._progress = RunProgress(selfcheck.checks)

    def __enter__(self) -> CheckProgress:  # noqa: PYI034  Python 3.10 has no Self
        self._draw("starting Python")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def follow(self, event: Event) -> None:
        """Update the progress with an event of the run, and rewrite the line."""
        self._progress.follow(event)
        if isinstance(event, HostStateChanged):
            self._follow_host(event)
        elif isinstance(event, CheckEnded):
            self._draw("")
        elif isinstance(event, CheckStarted | CheckWaiting):
            seconds, said = (
                (event.seconds, event.progress) if isinstance(event, CheckWaiting) else (0, "")
            )
            platform, name = self._progress.platform, event.check.id
            activity, usual = results_text.format_waiting_check(
                name, seconds, platform=platform, progress=said
            )
            if self.rewrites:
                self._draw(activity, usual)
            elif isinstance(event, CheckWaiting) and int(seconds) % WAIT_LINE_S == 0:
                self._write(", ".join(filter(None, (activity, usual))) + "\n")

    def _follow_host(self, seen: HostStateChanged) -> None:
        """Show a host's new state; for a missing host, print a permanent line."""
        from tpustarter.slices.host_states import describe_host

        name = f"host {seen.host}" + (f" ({seen.name})" if seen.name else "")
        text = escape_text(f"{name} {describe_host(seen)}")
        if seen.state == "missing":
            self.clear()
            self._write(f"{text}\n")
        self._draw("" if seen.state == "missing" else text)

    def _draw(self, activity: str, usual: str = "") -> None:
        if not self.rewrites:
            return
        if self._selfcheck.run.stopped_by is not None:
            activity = f"stopping {activity}".rstrip()
        room = min(self._width() - 1, _MOST)
        line = self._line(f"{activity}, {usual}" if usual else activity, room)
        if bars.count_columns(line) > room:
            line = bars.shorten_to_columns(self._line(activity, room), room)
        self._write(self._erasing() + line)
        self._shown = bars.count_columns(line)

    def _line(self, activity: str, room: int) -> str:
        line = self._progress.numbers()
        if room >= 40:
            bar = bars.draw_bar(self._progress.share, room // 5, self._stream.encoding or "ascii")
            line = f"{bar}  {line}"
        return f"{line}  {activity}".rstrip()

    def clear(self) -> None:
        """Clear the line, so that something else can be written."""
        if self._shown:
            self._write(self._erasing())
            self._shown = 0

    def _erasing(self) -> str:
        """Return the codes that clear the line, including rows above if the window wrapped it."""
        rows_above = max(self._shown - 1, 0) // self._width()
        return f"\r\x1b[{rows_above}A\x1b[J" if rows_above else "\r\x1b[K"

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
