"""The right part of every heading: the machine or the process that holds its device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpustarter.running.device_holder import DeviceHolder


@dataclass(frozen=True)
class MachineLabelText:
    """The label of a machine, or of a process on its device, which can be shortened."""

    name: str = ""
    """The shortest form, such as `TPU v5e` or `no TPU`."""
    detail: str = ""
    """A detail shown after the name if it fits, such as `8 virtual CPU devices`."""
    parts: tuple[str, ...] = ()
    """Further details, such as `8 chips`."""
    is_tpu: bool = False
    """True for a TPU or a process that holds one."""

    def texts(self) -> list[str]:
        """Return the label and its shorter forms for narrow screens, the longest first."""
        whole = f"{self.name}: {self.detail}" if self.detail else self.name
        parts = [whole, *self.parts]
        fewer = [", ".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
        return [", ".join(parts), ", ".join([self.name, *self.parts]), *fewer, self.name]

    def add_holder(self, holder: DeviceHolder) -> MachineLabelText:
        """Return this label with a process added, or only the process if it holds a TPU or GPU."""
        if holder.accelerator is None:
            if self.name:
                return replace(self, parts=(*self.parts, str(holder)))
            return MachineLabelText(str(holder))
        return MachineLabelText(
            holder.accelerator,
            holder.name,
            (f"pid {holder.pid}",),
            is_tpu=holder.accelerator == "TPU",
        )
