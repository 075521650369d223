"""A TPU that is looked at repeatedly: readings, their history, and libtpu's SDK beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tpustarter.machine import host
from tpustarter.watch.metric_names import read_metric_names
from tpustarter.watch.metrics_client import list_ports
from tpustarter.watch.reading import TpuReading, read_tpu
from tpustarter.watch.sdk_metrics import SdkFollower, find_sdk_python
from tpustarter.watch.watch_history import WatchHistory
from tpustarter.watch.watch_text import NO_SDK

SDK_WAIT_S = 10.0
"""Longest wait for the SDK of a single look: it takes 1 to 3 seconds to start."""


class TpuWatch:
    """A repeated reading of one TPU. `close` ends the processes that it started."""

    def __init__(
        self,
        machine: host.Machine,
        folder: Path,
        ports: Sequence[int] = (),
        python: str | None = None,
        pause_s: float = 2.0,
    ) -> None:
        """Choose the ports and the Python.

        Args:
            machine: The machine, and the user's environment.
            folder: The current folder, whose `.venv` may have libtpu.
            ports: Ports to ask; none for those of the environment.
            python: The Python whose libtpu is asked; None for the first that has one.
            pause_s: Seconds between two rounds of the SDK.

        Raises:
            Problem: `python` is not a Python.
        """
        self.history = WatchHistory()
        self._machine = machine
        self._ports = tuple(ports) or list_ports(machine.env)
        self._pause_s = pause_s
        self._follower: SdkFollower | None = None
        found = find_sdk_python(python, machine.env, folder)
        self.python = found.path if found else None
        """The Python whose libtpu is asked."""

    @property
    def problem(self) -> str | None:
        """The reason why the SDK gives nothing."""
        if self.python is None:
            return NO_SDK
        if self._follower is None or self._follower.values:
            return None
        return f"libtpu's SDK in `{self.python}` {self._follower.ended or 'has no numbers so far'}"

    def look(self) -> TpuReading:
        """Return a reading, with what the SDK has said so far."""
        reading = read_tpu(
            self._machine, self._ports, self._follower.values if self._follower else {}
        )
        if not reading.missing and self.python and self._follower is None:
            env = self._machine.env
            names = read_metric_names()
            self._follower = SdkFollower(self.python, names, env, self._pause_s)
            self._follower.start()
        self.history.add(reading)
        return reading

    def look_whole(self) -> TpuReading:
        """Return a reading with the SDK's first round, for which it waits a bounded time."""
        reading = self.look()
        if self._follower is None:
            return reading
        self._follower.wait(SDK_WAIT_S)
        return self.look()

    def close(self, *, waits: bool = True) -> None:
        """End the SDK's process, and wait for its end."""
        if self._follower:
            self._follower.stop(waits=waits)
