"""One look at a TPU: what each device does, who holds the chips, or why that can't be known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import mean

from tpustarter.machine import host
from tpustarter.watch.metric_names import read_metric_names
from tpustarter.watch.metrics_client import PortMetrics, read_port
from tpustarter.watch.missing_metrics import MissingMetrics, explain_missing_metrics
from tpustarter.watch.sdk_metrics import SdkValues

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SCORE = re.compile(r"(\d+)-(\d+)")
_LINK = re.compile(r"([\w.-]+): *(\d+)")
WORST = 10
"""Upper end of the scales of links and of throttling."""


@dataclass(frozen=True)
class DeviceReading:
    """The numbers of a device; None for those that this libtpu doesn't offer."""

    device: int
    """The id that libtpu gives it. A chip of v2, v3 and TPU7x is two devices."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    duty_cycle_percent: float | None = None
    """Share of the last sample in which the TensorCore was executing."""
    matrix_unit_percent: float | None = None
    """TensorCore utilization: share of the peak that the work reached."""
    memory_bandwidth_percent: float | None = None
    idle_s: float | None = None
    throttle_score: int | None = None
    """0 for full speed, 1 to 10 for a clock slower by 10 to 100 %."""

    @property
    def memory_percent(self) -> float | None:
        """Share of the memory that is used."""
        if self.memory_used_bytes is None or not self.memory_total_bytes:
            return None
        return 100 * self.memory_used_bytes / self.memory_total_bytes


@dataclass(frozen=True)
class LinkReading:
    """A link between chips: 0 is healthy, and 10 is not usable."""

    name: str
    problem: int


@dataclass(frozen=True)
class TpuReading:
    """One look at a TPU."""

    at: datetime
    chips: int
    """Chips on PCI."""
    generation: str | None
    devices: tuple[DeviceReading, ...]
    """Ordered by id; empty if there are no metrics."""
    links: tuple[LinkReading, ...]
    processes: tuple[host.TpuProcess, ...]
    """Processes that have a chip's node open, as far as this user can see them."""
    ports: tuple[int, ...]
    missing: MissingMetrics | None = None
    """The reason for the absence of metrics; None if there are some."""


def read_tpu(machine: host.Machine, ports: Sequence[int], sdk: SdkValues) -> TpuReading:
    """Ask libtpu what the TPU does, in bounded time, without opening a device node.

    Args:
        machine: The machine, whose chips and processes are listed.
        ports: Ports of the metrics services on this host.
        sdk: What libtpu's SDK says, if it was asked.
    """
    answers = [read_port(port, read_metric_names()) for port in ports]
    chips = host.list_chips(machine)
    processes = tuple(host.list_tpu_processes(machine))
    devices = _devices(_merged(answers), sdk)
    return TpuReading(
        at=datetime.now(timezone.utc),
        chips=len(chips),
        generation=chips[0].generation if chips else None,
        devices=devices,
        links=_links(sdk.get("link_problem", ())) if devices else (),
        processes=processes,
        ports=tuple(ports),
        missing=None
        if devices
        else explain_missing_metrics(machine, answers, len(chips), processes),
    )


def _merged(answers: Sequence[PortMetrics]) -> dict[str, dict[int, float]]:
    # By default each service answers for the whole host, so that the first one that does counts.
    merged = dict[str, dict[int, float]]()
    for answer in answers:
        for name, values in answer.values.items():
            known = merged.setdefault(name, {})
            known.update((device, value) for device, value in values.items() if device not in known)
    return merged


def _devices(
    service: Mapping[str, Mapping[int, float]], sdk: SdkValues
) -> tuple[DeviceReading, ...]:
    used, total = service.get("memory_used_bytes", {}), service.get("memory_total_bytes", {})
    duty = service.get("duty_cycle_percent", {})
    ids = sorted({*used, *total} or {*duty})
    duties = _spread([duty[device] for device in sorted(duty)], len(ids))
    scores = [
        int(match[2]) for text in sdk.get("throttle_score", ()) if (match := _SCORE.match(text))
    ]
    units = [
        float(match[0])
        for text in sdk.get("matrix_unit_percent", ())
        if (match := _NUMBER.match(text))
    ]
    throttled, utilised = _spread(scores, len(ids)), _spread(units, len(ids))
    bandwidth = service.get("memory_bandwidth_percent", {})
    return tuple(
        DeviceReading(
            device=device,
            memory_used_bytes=_whole(used.get(device)),
            memory_total_bytes=_whole(total.get(device)),
            duty_cycle_percent=duties[place],
            matrix_unit_percent=utilised[place],
            memory_bandwidth_percent=bandwidth.get(device),
            idle_s=service.get("idle_s", {}).get(device),
            throttle_score=_whole(throttled[place]),
        )
        for place, device in enumerate(ids)
    )


def _spread(values: Sequence[float], count: int) -> list[float | None]:
    """Return a value for each device, from as many values in the same order, or more or fewer.

    A chip's value counts for each of its devices, and those of a device's cores are averaged. If
    the numbers don't divide, nothing is known.
    """
    if values and count % len(values) == 0:
        return [value for value in values for _ in range(count // len(values))]
    if count and values and len(values) % count == 0:
        share = len(values) // count
        return [mean(values[place * share : (place + 1) * share]) for place in range(count)]
    return [None] * count


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _links(texts: Sequence[str]) -> tuple[LinkReading, ...]:
    matches = filter(None, map(_LINK.fullmatch, texts))
    return tuple(LinkReading(match[1], min(int(match[2]), WORST)) for match in matches)
