"""Compute Engine's quota for TPU chips: what the limit is, what is used, and what is left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fake_google import PROJECT, FakeGoogle, refusal, serving
from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.rest_client import RestClient
from tpustarter.cloud.create.tpu_request import parse_type
from tpustarter.cloud.doctor import compute_quota, diagnosis
from tpustarter.cloud.doctor.credential_check import make_anonymous_credentials
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer

ZONE = "us-central1-c"
METRICS = f"{rest_client.SERVICES}/v1beta1/projects/{PROJECT}/services/compute.googleapis.com"
INSTANCES = f"{rest_client.COMPUTE}/compute/v1/projects/{PROJECT}/aggregated"


def metric(name: str, *buckets: tuple[int, dict[str, str]]) -> dict[str, Any]:
    """Return a quota of chips per region, with its values."""
    rows = [{"effectiveLimit": str(value), "dimensions": places} for value, places in buckets]
    limit = {"unit": "1/{project}/{region}/{tpu_family}", "quotaBuckets": rows}
    return {"metric": f"compute.googleapis.com/{name}", "consumerQuotaLimits": [limit]}


def instance(machine: str, zone: str = ZONE, **more: Any) -> dict[str, Any]:
    """Return an instance that runs."""
    name = f"vm-{machine}"
    place = f"projects/{PROJECT}/zones/{zone}"
    types = f"{place}/machineTypes/{machine}"
    return {"name": name, "zone": place, "status": "RUNNING", "machineType": types, **more}


def ask(kind: str, metrics: list[Any], instances: Any = ()) -> ProjectAnswer:
    """Return the answer for a type in a zone."""
    google = FakeGoogle()
    google.answers[f"{METRICS}/consumerQuotaMetrics"] = {"metrics": metrics}
    rows = {f"zones/{ZONE}": {"instances": [*instances]}} if instances is not None else {}
    google.answers[f"{INSTANCES}/instances"] = (
        {"items": rows} if instances is not None else refusal(403, "denied")
    )
    for rest in ("instanceGroupManagers", "instanceTemplates", "resourcePolicies"):
        google.answers[f"{INSTANCES}/{rest}"] = {"items": {}}
    with serving(google) as address:
        subject = DoctorTarget(Project(PROJECT, "a test"), ZONE, parse_type(kind))
        client = RestClient(make_anonymous_credentials(), address=address)
        return compute_quota.examine_compute_quota(subject, client)


FAMILY = metric(
    "tpus_per_tpu_family",
    (0, {}),
    (16, {"region": "us-central1", "tpu_family": "TPU7X"}),
    (64, {"region": "us-east5", "tpu_family": "TPU7X"}),
    (4, {"region": "us-central1", "tpu_family": "CT6E"}),
)


@pytest.mark.parametrize(
    ("kind", "verdict", "said"),
    [
        ("tpu7x-8", "ok", "on-demand 8 of 16 chips in use, 8 left"),
        ("tpu7x-32", "fail", "on-demand 8 of 16 chips in use, 8 left"),
        ("v6e-4", "ok", "on-demand 0 of 4 chips in use, 4 left"),
        ("v6e-8", "info", "on-demand 0 of 4 chips in use, 4 left"),
        ("v5p-8", "info", "on-demand 0 of 0 chips in use, 0 left"),
        ("v5e-8", "info", "v5e-8"),
    ],
)
def test_quota_counts_chips_of_family(kind: str, verdict: str, said: str) -> None:
    """The most specific value holds; a second way that does not fit is no obstacle."""
    used = [instance("tpu7x-standard-4t"), instance("tpu7x-standard-4t")]
    answer = ask(kind, [FAMILY], used)

    assert verdict == answer.verdict
    assert said in answer.found


def test_spot_has_quota_of_its_own() -> None:
    """Spot chips are counted apart, and another region's are not counted."""
    spot = metric("preemptible_tpu_tpu7x", (32, {"region": "us-central1"}))
    used = [
        instance("tpu7x-standard-4t", scheduling={"provisioningModel": "SPOT"}),
        instance("tpu7x-standard-1t", "us-east5-a"),
    ]
    answer = ask("tpu7x-16", [FAMILY, spot], used)

    assert "ok" == answer.verdict
    assert "on-demand 0 of 16 chips in use, 16 left" in answer.found
    assert "spot 4 of 32 chips in use, 28 left" in answer.found


def test_uncounted_instances_are_said() -> None:
    """The limit is known, and what is in use is not."""
    assert "not known" in ask("tpu7x-8", [FAMILY], None).found
    assert "unknown" == ask("tpu7x-8", []).verdict


def test_report_without_project_is_table() -> None:
    """The project is the first row, and everything else was not tried."""
    from tpustarter.cloud.api.project_and_zone import PLACEHOLDER

    report = diagnosis.diagnose_project(DoctorTarget(PLACEHOLDER))
    first, *others = report.findings

    assert ("project", "fail") == (first.id, first.verdict)
    assert {"unknown"} == {finding.verdict for finding in others}
    assert len(diagnosis.QUESTIONS) == len(others)
    assert 1 == report.exit_code
