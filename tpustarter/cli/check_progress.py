"""How a check run is followed on stderr: one line that is rewritten, or a line now and then."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from tpustarter.checking import bars

if TYPE_CHECKING:
    from types import TracebackType

    from tpustarter.checking.results import Result
    from tpustarter.checking.selfcheck import Event, SelfCheck

WAIT_LINE_S = 30
"""Seconds between two lines about a check that takes long, where no line can be rewritten."""

_MOST = 100
"""Columns of the line at most: one that a narrower window breaks then takes two rows, seldom more.
"""
_TROUBLE = ("fail", "error", "warn")


def can_rewrite(stream: TextIO) -> bool:
    """Return whether a line can be rewritten: on a terminal that is not a dumb one."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Progress:
    """Follows one run; whatever ends the run, no line of it is left behind."""

    def __init__(self, selfcheck: SelfCheck, stream: TextIO | None = None) -> None:
        self._selfcheck = selfcheck
        self._stream = stream or sys.stderr
        self.rewrites = can_rewrite(self._stream)
        """Whether one line says how far the run is, and is written anew each time."""
        self._shown = 0
        """Columns of the line that stands there; 0 for none."""
        self._ended: dict[str, int] = {}
        self._total = len(selfcheck.checks)

    def __enter__(self) -> Progress:  # noqa: PYI034  Python 3.10 has no Self
        """Say what happens before the first check."""
        self._draw("starting Python")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away, also when the run breaks."""
        self.clear()

    def begin(self) -> None:
        """Take the line away for what is printed now, and count what will be run."""
        self.clear()
        left_out = self._selfcheck.run.target.get("left_out", ())
        self._total = sum(check.framework not in left_out for check in self._selfcheck.checks)

    def follow(self, event: Event) -> None:
        """Show how far the run is."""
        from tpustarter.checking import text
        from tpustarter.checking.runner import Ended, Started, Waiting

        if isinstance(event, Ended):
            self._count(event.result)
            self._draw("")
        elif isinstance(event, Started | Waiting):
            seconds, said = (
                (event.seconds, event.progress) if isinstance(event, Waiting) else (0, "")
            )
            platform = str(self._selfcheck.run.target.get("platform"))
            line = text.waiting(event.check.id, seconds, platform=platform, progress=said)
            if self.rewrites:
                self._draw(line)
            elif isinstance(event, Waiting) and int(seconds) % WAIT_LINE_S == 0:
                self._write(f"{line}\n")

    def _count(self, result: Result) -> None:
        self._ended[result.status] = self._ended.get(result.status, 0) + 1

    def _draw(self, activity: str) -> None:
        """Write the line anew."""
        if not self.rewrites:
            return
        if self._selfcheck.run.stopped_by is not None:
            activity = f"stopping {activity}".rstrip()
        room = min(self._width() - 1, _MOST)
        while bars.columns(self._line(activity, room)) > room and "," in activity:
            activity = activity.rpartition(",")[0]  # how long that usually takes, for example
        line = bars.shortened(self._line(activity, room), room)
        self._write(self._erasing() + line)
        self._shown = bars.columns(line)

    def _line(self, activity: str, room: int) -> str:
        done = sum(self._ended.values())
        parts = [f"{done} of {self._total}"]
        parts += [f"{self._ended[status]} {status}" for status in _TROUBLE if status in self._ended]
        line = ", ".join(parts)
        if room >= 40:
            share = done / self._total if self._total else 0.0
            line = f"{bars.bar(share, room // 5, self._stream.encoding or 'ascii')}  {line}"
        return f"{line}  {activity}".rstrip()

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._shown:
            self._write(self._erasing())
            self._shown = 0

    def _erasing(self) -> str:
        """Return what takes the line away, and the row above where the window broke it in two."""
        rows_above = max(self._shown - 1, 0) // self._width()
        return f"\r\x1b[{rows_above}A\x1b[J" if rows_above else "\r\x1b[K"

    def _width(self) -> int:
        """Return the columns of the terminal as it is now."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
