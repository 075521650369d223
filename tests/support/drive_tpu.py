"""Runs the command line for `tpustarter tpu run` and `ssh-config`.

With `TPUSTARTER_TEST_LATE=N`, a time limit is reached as soon as only N workers run.
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
    """Set the clock of a run forward as soon as only so many workers run."""
    from tpustarter.cloud.jobs import remote_command

    events, late_s = remote_command.RemoteCommand.events, 0.0

    def counted(run: remote_command.RemoteCommand) -> Iterator[remote_command.Event]:
        nonlocal late_s
        running = len(run._commands)
        for event in events(run):
            running -= isinstance(event, remote_command.WorkerEnded)
            late_s = 10_000.0 if running <= count else 0.0
            yield event

    remote_command.RemoteCommand.events = counted  # type: ignore[assignment,method-assign]
    remote_command.time = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s)  # type: ignore[assignment]


if __name__ == "__main__":
    from tpustarter import __main__

    if count := os.environ.get("TPUSTARTER_TEST_LATE"):
        reach_limits(int(count))

    __main__.main()
