"""Runs `tpustarter tpu run` and `ssh-config`, whether or not the group knows them yet.

With `TPUSTARTER_TEST_LATE=N` a time limit is reached once only N workers run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[2]))


def reach_limits(count: int) -> None:
    """Set the clock of a run forward once only so many workers run."""
    from tpustarter.cloud import remote

    events, late_s = remote.Remote.events, 0.0

    def counted(run: remote.Remote) -> Iterator[remote.Event]:
        nonlocal late_s
        running = len(run._jobs)
        for event in events(run):
            running -= isinstance(event, remote.Ended)
            late_s = 10_000.0 if running <= count else 0.0
            yield event

    remote.Remote.events = counted  # type: ignore[assignment,method-assign]
    remote.time = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s)  # type: ignore[assignment]


if __name__ == "__main__":
    from tpustarter import __main__
    from tpustarter.cli import tpu

    if count := os.environ.get("TPUSTARTER_TEST_LATE"):
        reach_limits(int(count))

    tpu.VERBS.update({"run": "tpu_run", "ssh-config": "tpu_ssh_config"})
    __main__.main()
