"""Reasons for the absence of metrics: the rows of `missing.yml`, and the choice among them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.problem import ExitCode
from tpustarter.core.yaml_rows import Text
from tpustarter.machine import host
from tpustarter.machine.containers import detect_container
from tpustarter.watch.metrics_client import PORT, PortMetrics

FILE = Path(__file__).with_name("missing.yml")


class MissingReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reason why there are no metrics."""

    id: Text
    text: Text
    """A clause with `{port}` and `{holder}` in place of both."""
    hint: Text
    source: Text
    lesson: Text
    exit_code: int = int(ExitCode.INCONCLUSIVE)


@dataclass(frozen=True)
class MissingMetrics:
    """The reason why this machine has no metrics, and a hint on what to do."""

    id: str
    text: str
    hint: str
    lesson: str
    exit_code: int


@functools.cache
def read_reasons() -> dict[str, MissingReason]:
    """Return the reasons for missing metrics, keyed by id.

    Raises:
        Problem: The file cannot be read, or a row does not fit.
    """
    return {reason.id: reason for reason in yaml_rows.read_rows(FILE, MissingReason)}


def explain_missing_metrics(
    machine: host.Machine,
    answers: Sequence[PortMetrics],
    chips: int,
    processes: Sequence[host.TpuProcess],
) -> MissingMetrics:
    """Return why none of the ports returned metrics, and a hint on what to do."""
    reason = read_reasons()[_choose(machine, answers, chips, processes)]
    wrong = next((answer for answer in answers if answer.failure != "closed"), None)
    first = wrong or (answers[0] if answers else PortMetrics(PORT, "closed"))
    holder = f"pid {processes[0].pid} ({processes[0].command})" if processes else "a process"
    fill = {"port": first.port, "holder": holder}
    return MissingMetrics(
        reason.id,
        reason.text.format(**fill),
        reason.hint.format(**fill),
        reason.lesson,
        reason.exit_code,
    )


def _choose(
    machine: host.Machine,
    answers: Sequence[PortMetrics],
    chips: int,
    processes: Sequence[host.TpuProcess],
) -> str:
    for answer in answers:
        if answer.failure not in (None, "closed"):
            return answer.failure or "no-metrics"
    container = detect_container(machine)
    if container and container.host_network is False and not processes:
        return "container"
    if not chips and not host.list_device_nodes(machine):
        return "no-tpu"
    if processes or host.read_libtpu_lock(machine).state == "live":
        return "old-libtpu"
    return "not-visible" if host.can_read_every_process(machine) is False else "nothing-runs"
