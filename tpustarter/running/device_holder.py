"""The process of this program that runs on devices, and the accelerator that it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceHolder:
    """A process of this program that runs on devices."""

    name: str
    """Its activity: `lesson jax/precision` or `tpustarter check`."""
    pid: int
    accelerator: str | None = None
    """`TPU` or `GPU` if it keeps other processes from using it; None on CPU devices."""

    @property
    def identity(self) -> str:
        """Return a phrase that identifies the process: its activity and pid."""
        return f"{self.name}, pid {self.pid}"

    def __str__(self) -> str:
        if self.accelerator is None:
            return f"code: pid {self.pid}"
        return f"{self.accelerator}: {self.identity}"
