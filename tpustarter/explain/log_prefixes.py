"""Separation of the workers' lines in a job's combined output, by the prefix of each line."""

from __future__ import annotations

import functools
import re
from array import array
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.explain import log_reader
from tpustarter.explain.log_scanner import FailureScanner, IncrementalLogScanner, LogScan

FILE = Path(__file__).with_name("log_prefixes.yml")
MOST_WORKERS = 256
"""Most workers whose lines are separated; further workers are ignored."""
CHOSEN_IN = 32 << 20
"""Bytes at the beginning of a log in which a prefix format is detected."""


class LogPrefix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A format of the prefix that a launcher puts before each of a worker's lines."""

    id: Text
    label: str
    marks: Texts
    pattern: Text
    source: Text

    @property
    def lines(self) -> re.Pattern[bytes]:
        """The pattern for one whole line from a worker."""
        return re.compile(rb"^" + self.pattern.encode() + rb"(?P<rest>[^\n]*\n)", re.MULTILINE)


@functools.cache
def read_prefixes(file: Path = FILE) -> tuple[LogPrefix, ...]:
    """Read the formats; raise Problem if a row is invalid."""
    return yaml_rows.read_rows(file, LogPrefix)


class WorkerLogSplitter:
    """A splitter that scans each worker's lines in one combined log separately."""

    def __init__(self, scanner: FailureScanner) -> None:
        self._scanner = scanner
        self._prefix: LogPrefix | None = None
        self._lines: re.Pattern[bytes] = re.compile(b"")
        self._rest = b"\n"
        """The unfinished last line, after a line feed."""
        self._number = 0
        """Number of lines before the rest."""
        self._size = 0
        self._scanners: dict[str, IncrementalLogScanner] = {}
        self.places: dict[str, array[int]] = {}
        """The line numbers of each worker's lines in the combined log, counted from 1."""

    def take(self, chunk: bytes) -> None:
        """Split the next bytes of the log into lines, and scan each with its worker's scanner."""
        data = self._rest + chunk
        end = data.rfind(b"\n")
        data, self._rest = data[: end + 1], data[end:]
        if self._prefix is None and self._size < CHOSEN_IN:
            self._choose(data)
        self._size += len(chunk)
        if self._prefix is not None:
            self._split(log_reader.remove_escapes(data[1:]), self._prefix.label)
        self._number += data.count(b"\n") - 1

    def end(self) -> dict[str, LogScan]:
        """Return each worker's scan by name; empty if there are fewer than two workers."""
        self.take(b"\n")
        if len(self._scanners) < 2:
            return {}
        return {name: one.finish() for name, one in self._scanners.items()}

    def _choose(self, data: bytes) -> None:
        for one in read_prefixes():
            if any(mark.replace(r"\n", "\n").encode() in data for mark in one.marks):
                lines = one.lines
                if lines.search(log_reader.remove_escapes(data)):
                    self._prefix, self._lines = one, lines
                    return

    def _split(self, data: bytes, label: str) -> None:
        counted, number = 0, self._number + 1
        lines: dict[str, list[bytes]] = {}
        for match in self._lines.finditer(data):
            number += data.count(b"\n", counted, match.start())
            counted = match.start()
            name = f"{label} {match['worker'].decode('utf-8', 'replace')}".strip()
            if name not in self.places:
                if len(self.places) >= MOST_WORKERS:
                    continue
                self.places[name] = array("Q")
                self._scanners[name] = self._scanner.start_scan()
            self.places[name].append(number)
            lines.setdefault(name, []).append(match["rest"])
        for name, own in lines.items():
            self._scanners[name].feed(b"".join(own))
