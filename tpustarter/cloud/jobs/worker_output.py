"""Files with the unmodified output of workers."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from tpustarter.core import locations
from tpustarter.running.process import CappedLog

HEAD_BYTES = 64 * 1024 * 1024
"""Bytes of a worker's output that are kept in full; of the rest, only the end is."""
MOST_RUNS = 20
"""Number of runs whose output is kept at any age."""
UNTOUCHED_S = 7 * 24 * 3600.0
"""Seconds without a change after which the output of any earlier run is removed."""


class WorkerLog(CappedLog):
    """A file with the beginning and the end of a worker's output, unmodified."""

    size: int
    _recent: bytearray

    def write(self, data: bytes) -> None:
        """Append output; a full disk must not end the run."""
        room = HEAD_BYTES - self.size
        if room > 0:
            with contextlib.suppress(OSError):
                self._file.write(data[:room])
        self.size += len(data)
        self._recent += data
        del self._recent[: -64 * 1024]

    @property
    def omitted_bytes(self) -> int:
        """Return the number of bytes that are not in the file."""
        return max(0, self.size - HEAD_BYTES - len(self._recent))

    def close(self) -> None:
        """Append the number of omitted bytes and the end of the output, and close the file."""
        with contextlib.suppress(OSError):
            if self.omitted_bytes:
                self._file.write(f"\n[{self.omitted_bytes} bytes left out]\n".encode())
            if self.size > HEAD_BYTES:
                self._file.write(self._recent[-(self.size - HEAD_BYTES) :])
        self._file.close()


def make_output_folder(name: str) -> Path:
    """Create a private folder for the output of one run, and remove old ones."""
    place = locations.make_folder(locations.make_state_folder() / "tpu-runs")
    with locations.convert_write_errors(place):
        prefix = time.strftime("%Y%m%d-%H%M%S-") + f"{name[:40]}-"
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    locations.chown_to_caller(folder)
    others = sorted((path for path in place.iterdir() if path != folder), reverse=True)
    for old in others[max(0, MOST_RUNS - 1) :]:
        if time.time() - _last_change(old) > UNTOUCHED_S:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _last_change(folder: Path) -> float:
    """Return the time of the last change in a folder, or the current time if it is unreadable."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:
        return time.time()
