"""Quota: the tightest limit of zone and region, both tiers, both kinds of v5e, zeros left out."""

from __future__ import annotations

from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

from tests.support.fake_google import PROJECT, ZONE, FakeGoogle, metric, serving
from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.doctor import chip_quota
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer


def examine(tpu: str | None, *metrics: dict[str, Any], zone: str = ZONE) -> ProjectAnswer:
    """Return the finding on the quota of a type."""
    project = project_and_zone.Project(PROJECT, "--project")
    subject = DoctorTarget(project, zone, tpu_request.parse_type(tpu) if tpu else None)
    with serving(FakeGoogle().breaks("consumerQuota", {"metrics": list(metrics)})) as address:
        return chip_quota.examine_quota(
            subject, RestClient(AnonymousCredentials(), address=address)
        )


@pytest.mark.parametrize(
    ("tpu", "metrics", "verdict", "found"),
    [
        ("v6e-8", [metric("tpu-v6e", 8), metric("tpu-v6e-preemptible", 8)], "ok",
         "fits on demand and as spot: on-demand 8 in the zone, unlimited in the region"),
        ("v6e-8", [metric("tpu-v6e", None), metric("tpu-v6e-preemptible", 64)], "ok",
         "fits as spot but not on demand"),
        ("v6e-8", [metric("tpu-v6e", 64, us_east1_d=None)], "fail",
         "on-demand 0 in the zone, unlimited in the region; spot not listed"),
        ("v6e-8", [metric("tpu-v6e", 64, region=4)], "fail", "64 in the zone, 4 in the region"),
        ("v6e-8", [metric("tpu-v6e", -1)], "ok", "unlimited in the zone"),
        ("v6e-8", [metric("tpu-v6e-reserved", 64), metric("tpu-v6e", 4)], "fail", "on-demand 4"),
        ("v5e-8", [metric("tpu-v5s-litepod", 16), metric("tpu-v5s-litepod-serving", 4)], "warn",
         "two quotas for it: on-demand training 16 in the zone, unlimited in the region, serving"),
        ("v5e-16", [metric("tpu-v5s-litepod", 16), metric("tpu-v5s-litepod-serving", 4)], "ok",
         "on-demand 16"),
        ("v5e-4", [metric("tpu-v5s-litepod", 4), metric("tpu-v5s-litepod-serving", 4)], "ok", ""),
        ("v5p-8", [metric("tpu-v5p", 4)], "warn", "counts chips or TensorCores"),
        ("v5p-8", [metric("tpu-v5p", 8)], "ok", ""),
        ("v4-8", [metric("tpu-v4s-preemptible-pod", 32)], "ok", "as spot but not on demand"),
        ("v2-8", [metric("tpu-v2", 8), metric("tpu-v2-pod", None)], "ok", ""),
        ("v2-32", [metric("tpu-v2", 64), metric("tpu-v2-pod", None)], "fail", "on-demand 0"),
    ],
)  # fmt: skip
def test_type_is_judged_by_tightest_quota(
    tpu: str, metrics: list[dict[str, Any]], verdict: str, found: str
) -> None:
    """The verdict follows the tightest limit, and the limits are shown."""
    seen = examine(tpu, *metrics)

    assert verdict == seen.verdict, seen.found
    assert found in seen.found


def test_zone_outside_quota_is_not_unlimited() -> None:
    """The regional limit alone says nothing where the zonal one does not hold."""
    seen = examine("v6e-8", metric("tpu-v6e", 8), zone="us-east1-c")

    assert "unknown" == seen.verdict
    assert "no quota of v6e for us-east1-c" in seen.found
    assert "gcloud alpha services quota list" in (seen.fix or "")


def test_request_limit_is_not_chip_limit() -> None:
    """Requests in a minute have the same kind of name."""
    rate = metric("tpu-v6e", 8)
    rate["consumerQuotaLimits"].append(
        {"unit": "1/min/{project}", "quotaBuckets": [{"effectiveLimit": "2"}]}
    )

    assert "ok" == examine("v6e-8", rate).verdict


def test_without_type_every_positive_quota_is_listed() -> None:
    """Without a type, each positive quota is listed; no quota at all is a failure."""
    some = examine(None, metric("tpu-v6e-preemptible", 64), metric("tpu-v2", None),
                   metric("tpu-v5s-litepod", 16), metric("tpu-v5s-litepod-serving", 4))  # fmt: skip
    none = examine(None, metric("tpu-v6e", None), metric("tpu-v2", None))

    assert "chips or cores at once: v5e on-demand 16 or 4, v6e spot 64" == some.found
    assert "fail" == none.verdict


@pytest.mark.parametrize("limit", ["many", [], {}])
def test_non_numeric_limit_is_unknown(limit: Any) -> None:
    """A limit that isn't a number is unknown, not zero."""
    broken = metric("tpu-v6e", 8)
    broken["consumerQuotaLimits"][0]["quotaBuckets"] = [{"effectiveLimit": limit}]

    with pytest.raises(UnansweredError, match="Expected `int`") as caught:
        examine("v6e-8", broken)

    assert "garbled" == caught.value.reason
