"""TPUs that Google's health monitoring marks as broken, read from Cloud Monitoring.

Its metric names a machine by the id of its Compute Engine instance, and tells nothing of the TPUs
that work. Sources: docs.cloud.google.com/tpu/docs/troubleshooting/tpu-health and
docs.cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list (read 2026-11).
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.resource_states import StateMeaning, find_state
from tpustarter.cloud.api.rest_client import RestClient

METRIC = "compute.googleapis.com/instance/tpu/infra_health"
FILTER = f'metric.type = "{METRIC}" AND metric.labels.health_status = "UNHEALTHY"'
WINDOW = timedelta(minutes=10)
"""Age up to which a mark counts; Cloud Monitoring shows a value some minutes late."""


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _TimeSeries(msgspec.Struct):
    metric: _Labels = msgspec.field(default_factory=_Labels)
    resource: _Labels = msgspec.field(default_factory=_Labels)


class UnhealthyTpu(msgspec.Struct, frozen=True, order=True):
    """A machine whose TPU is marked as broken."""

    zone: str
    instance: str
    """The id of its Compute Engine instance."""
    machine_type: str
    cause: str
    """Such as `BAD_TPU_CHIP`."""

    @property
    def state(self) -> StateMeaning:
        """The meaning of the cause, and the user's next action."""
        return find_state("infra_health", self.cause)


def fetch_unhealthy_tpus(google: RestClient, project: str, now: datetime) -> list[UnhealthyTpu]:
    """Return a project's machines that were marked lately; raises UnansweredError."""
    query = {
        "filter": FILTER,
        "interval.startTime": (now - WINDOW).isoformat(),
        "interval.endTime": now.isoformat(),
        "view": "HEADERS",
    }
    path = f"v3/projects/{project}/timeSeries"
    rows = google.pages(rest_client.MONITORING, path, "timeSeries", _TimeSeries, **query)
    return sorted(map(_convert, rows))


def _convert(row: _TimeSeries) -> UnhealthyTpu:
    place, labels = row.resource.labels, row.metric.labels
    return UnhealthyTpu(
        zone=place.get("location") or place.get("zone", ""),
        instance=place.get("resource_id") or place.get("instance_id", ""),
        machine_type=labels.get("machine_type", ""),
        cause=labels.get("unhealthy_category", ""),
    )
