"""A machine that blocks until a test releases it."""

from __future__ import annotations

import threading

from tests.support.processes import HANG_S
from tpustarter.machine.machine import Machine


class Slow(Machine):
    """The machine at `root`, whose files can be read only after `allowed` is set."""

    allowed = threading.Event()

    def is_file(self, path: str) -> bool:
        """Wait first."""
        self.allowed.wait(HANG_S)
        return super().is_file(path)

    def list_names(self, folder: str) -> list[str]:
        """Wait first."""
        self.allowed.wait(HANG_S)
        return super().list_names(folder)
