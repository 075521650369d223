"""Names of libtpu's metrics: the rows of `metrics.yml`."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.yaml_rows import Text

FILE = Path(__file__).with_name("metrics.yml")


class MetricName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric, with the name under which libtpu offers it."""

    id: Text
    """The field of a reading that it fills."""
    source: Text
    service: str = ""
    """Its name in the runtime metrics service; empty if the service doesn't offer it."""
    sdk: tuple[str, ...] = ()
    """Its names in `libtpu.sdk.tpumonitoring`, the first that has values counts."""


@functools.cache
def read_metric_names() -> tuple[MetricName, ...]:
    """Return the metrics that a reading consists of.

    Raises:
        Problem: The file cannot be read, or a row does not fit.
    """
    return yaml_rows.read_rows(FILE, MetricName)
