"""A machine that is looked at once a test allows it."""

from __future__ import annotations

import threading

from tests.support.processes import HANG_S
from tpustarter.machine.machine import Machine


class Slow(Machine):
    """Answers as the machine at `root` would, and not before `allowed` is set."""

    allowed = threading.Event()

    def is_file(self, path: str) -> bool:
        """Wait first."""
        self.allowed.wait(HANG_S)
        return super().is_file(path)

    def list_names(self, folder: str) -> list[str]:
        """Wait first."""
        self.allowed.wait(HANG_S)
        return super().list_names(folder)
