"""Split output into lines from the pieces in which it arrives."""

from __future__ import annotations

LINE_BYTES = 16 * 1024
"""Maximum bytes per line; a longer line is split."""


class LineSplitter:
    """Splits output into lines; a carriage return also ends a line, for progress bars."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._pending = b""

    def feed(self, data: bytes) -> list[str]:
        """Add output, and return the lines that are now complete."""
        *whole, self._pending = (self._pending + data).split(b"\n")
        lines = [part for line in whole for part in self._parts(line)]
        *bars, rest = self._pending.split(b"\r")
        if bars and rest:  # a final carriage return may be half of a line end
            lines += [part for part in bars if part]
            self._pending = rest
        while len(self._pending) > self._limit:
            lines.append(self._pending[: self._limit])
            self._pending = self._pending[self._limit :]
        return [line.decode("utf-8", "replace") for line in lines]

    def take_rest(self) -> list[str]:
        """Return the text after the last line end."""
        pending, self._pending = self._pending, b""
        return [part.decode("utf-8", "replace") for part in self._parts(pending) if part]

    def _parts(self, line: bytes) -> list[bytes]:
        """Return the texts that a line shows in succession; an empty line gives one empty text."""
        parts = [part for part in line.split(b"\r") if part] or [b""]
        size = self._limit
        return [part[i : i + size] for part in parts for i in range(0, len(part) or 1, size)]
