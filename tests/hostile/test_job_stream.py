"""A job that writes a thousand lines a second for a minute, over connections that break."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.cloud.test_job_edges import Site, pytestmark, site
from tests.support.fake_workers import end_calls
from tests.support.processes import HANG_S, until

__all__ = ["pytestmark", "site"]
PROGRAM = """
import time
began = time.monotonic()
for number in range(60_000):
    print(f"line {number} of this worker", flush=number % 10 == 9)
    ahead = number / 1000 - (time.monotonic() - began)
    if number % 10 == 9 and ahead > 0:
        time.sleep(ahead)  # the rate of the lines; nothing is judged by it
"""
BREAKS = (500_000, 1_000_000)
"""Sizes of the first worker's log, in bytes, at which the connections of both break."""


def break_connections(homes: Path) -> None:
    """End the calls of both workers as their logs grow."""
    for size in BREAKS:
        until(lambda size=size: log_size(homes) > size, "a log that grows")
        for number in range(2):
            end_calls(homes, number)


def log_size(homes: Path) -> int:
    """Return the size of the first worker's log."""
    return sum(log.stat().st_size for log in homes.glob("w0/tpustarter-jobs/*/w0/log"))


def test_thousand_lines_a_second_are_complete(site: Site) -> None:
    """A thousand lines a second from two workers arrive complete, once and in order."""
    (site.folder / "lines.py").write_text(PROGRAM)
    breaking = threading.Thread(target=break_connections, args=(site.homes,), daemon=True)
    breaking.start()
    done = site.run("job", "bert", "--follow", "--", "python3", "lines.py")

    breaking.join(HANG_S)

    assert 0 == done.returncode, done.stderr
    assert "connected again" in done.stderr
    expected = [f"line {number} of this worker" for number in range(60_000)]
    for worker in ("w0", "w1"):
        lines = done.stdout.splitlines()
        assert expected == [line[5:] for line in lines if line.startswith(f"{worker} | ")]
        (here,) = Path(site.env["TPUSTARTER_HOME"]).glob(f"tpu-jobs/*/{worker}.log")
        (there,) = site.homes.glob(f"{worker}/tpustarter-jobs/*/{worker}/log")
        assert there.read_bytes() == here.read_bytes()
