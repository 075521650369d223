"""TPUs that Google's health monitoring marks as broken, against its REST service on loopback."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tests.support.fake_google import PROJECT, FakeGoogle, disabled, serving
from tpustarter.cloud.api import rest_client, unhealthy_tpus
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.api.unhealthy_tpus import UnhealthyTpu
from tpustarter.cloud.doctor.credential_check import make_anonymous_credentials

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
PATH = f"{rest_client.MONITORING}/v3/projects/{PROJECT}/timeSeries"


def series(cause: str, instance: str) -> dict[str, Any]:
    """Return a series of the metric, with the labels that Google documents."""
    metric = {
        "health_status": "UNHEALTHY",
        "unhealthy_category": cause,
        "machine_type": "tpu7x-standard-4t",
        "reservation_id": "7",
    }
    resource = {
        "project": "123456789012",
        "service": "compute.googleapis.com",
        "resource_type": "Instance",
        "location": "us-central1-c",
        "resource_id": instance,
    }
    return {
        "metric": {"type": unhealthy_tpus.METRIC, "labels": metric},
        "resource": {"type": "compute.googleapis.com/Instance", "labels": resource},
        "valueType": "INT64",
    }


def ask(answer: Any) -> list[UnhealthyTpu]:
    """Return the machines found in Google's response."""
    google = FakeGoogle()
    google.answers[PATH] = answer
    with serving(google) as address:
        client = RestClient(make_anonymous_credentials(), address=address)
        return unhealthy_tpus.fetch_unhealthy_tpus(client, PROJECT, NOW)


def test_every_documented_cause_is_explained() -> None:
    """Each has a meaning of its own, and an unknown one is called unknown."""
    causes = ("BAD_TPU_CHIP", "BAD_SC_CHIP", "NETWORKING_ISSUE", "BAD_NEW_PART")
    rows = [series(cause, str(number)) for number, cause in enumerate(causes)]

    found = ask({"timeSeries": rows})

    assert ["act", "act", "act", "unknown"] == [tpu.state.mark for tpu in found]
    assert 4 == len({tpu.state.meaning for tpu in found})
    assert ("us-central1-c", "0", "tpu7x-standard-4t", "BAD_TPU_CHIP") == (
        found[0].zone,
        found[0].instance,
        found[0].machine_type,
        found[0].cause,
    )


def test_question_is_for_broken_tpus_of_last_minutes() -> None:
    """A machine that works is not listed, and an old mark doesn't count."""
    asked: dict[str, Any] = {}

    def answer(query: dict[str, Any]) -> dict[str, Any]:
        asked.update(query)
        return {}

    assert [] == ask(answer)
    assert ["2026-11-30T11:50:00+00:00"] == asked["interval.startTime"]
    assert ["2026-11-30T12:00:00+00:00"] == asked["interval.endTime"]
    assert [unhealthy_tpus.FILTER] == asked["filter"]


def test_disabled_api_is_no_sign_of_health() -> None:
    """If the API is disabled, the health is unknown, not good."""
    with pytest.raises(UnansweredError) as error:
        ask(disabled(rest_client.MONITORING))

    assert "off" == error.value.reason
