"""Compute Engine's quota for TPU chips in a region: the limit, the chips in use, and the rest.

Compute Engine's quotas are separate from the Cloud TPU API's: chips per TPU family and region, and
spot chips per generation and region. The limits come from Service Usage, and the chips in use are
counted from the instances. Spot and flex-start use the spot quota first, and then the other one.
Sources: https://docs.cloud.google.com/compute/resource-usage
https://docs.cloud.google.com/compute/docs/instances/provisioning-models (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tpustarter.cloud.api import api_choice, rest_client
from tpustarter.cloud.api.compute_client import ComputeClient
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.billing import chips
from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.cloud.doctor.chip_quota import UNLIMITED, QuotaLimit, QuotaMetric
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectQuestion
from tpustarter.machine.tpus import TpuType
from tpustarter.text.phrases import join_words

CONSOLE = "https://console.cloud.google.com/iam-admin/quotas?service=compute.googleapis.com"
_ON_DEMAND = "compute.googleapis.com/tpus_per_tpu_family"
_SPOT = re.compile(r"compute\.googleapis\.com/preemptible_tpus?_(\w+)")
SPOT_TIERS = ("spot", "flex-start")


@dataclass(frozen=True)
class ChipsOfRegion:
    """A region's quota of TPU chips, and the chips in use."""

    tier: str
    """`on-demand` or `spot`."""
    limit: int
    used: int | None
    """None if the instances could not be counted."""

    @property
    def left(self) -> int | None:
        """Return the number of chips left, or None if there is no limit."""
        return None if self.limit == UNLIMITED else max(0, self.limit - (self.used or 0))

    def __str__(self) -> str:
        """Return the quota as text: `spot 8 of 16 chips in use, 8 left`."""
        if self.limit == UNLIMITED:
            return f"{self.tier} unlimited"
        if self.used is None:
            return f"{self.tier} {self.limit} chips, and those in use are not known"
        return f"{self.tier} {self.used} of {self.limit} chips in use, {self.left} left"


def examine_compute_quota(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that Compute Engine's quota allows the type in the region."""
    tpu = subject.type
    if tpu is None or subject.region is None:
        found = "no zone and type are named, and this quota is per region and family of TPUs"
        return ProjectAnswer("info", found, "tpustarter tpu doctor --zone ZONE --type TYPE")
    apis = api_choice.list_creating_apis(tpu, subject.zone or "")
    if "compute" not in apis:
        return ProjectAnswer("info", f"Compute Engine does not make {tpu.name}")
    is_second = apis[0] != "compute"
    try:
        answer = _judge(tpu, subject.region, list_quotas(subject, tpu, google))
    except UnansweredError as error:
        if not is_second:
            raise
        found = f"not known: {subject.hide(str(error))}"
        return ProjectAnswer("info", found, subject.quota_command(rest_client.COMPUTE))
    if is_second and answer.verdict != "ok":
        return ProjectAnswer("info", f"{answer.found}; the Cloud TPU API is the usual way")
    return answer


def list_quotas(subject: DoctorTarget, tpu: TpuType, google: RestClient) -> list[ChipsOfRegion]:
    """Return the quotas for a type in the zone's region, with the chips in use."""
    path = f"v1beta1/projects/{subject.id}/services/{rest_client.COMPUTE}/consumerQuotaMetrics"
    metrics = google.pages(rest_client.SERVICES, path, "metrics", QuotaMetric, pageSize=1000)
    region = subject.region or ""
    limits = _limits(metrics, tpu, region)
    try:
        nodes = ComputeClient(subject.id, google=google).nodes().items if limits else ()
        used = _count_used(nodes, tpu, region)
    except CloudProblem:
        used = None
    return [
        ChipsOfRegion(tier, limit, None if used is None else used[tier])
        for tier, limit in limits.items()
    ]


def _limits(metrics: Iterable[QuotaMetric], tpu: TpuType, region: str) -> dict[str, int]:
    """Return the limits in chips by tier, without tiers that Google does not list."""
    row = api_choice.read_generation_apis()[tpu.generation.name]
    found: dict[str, int] = {}
    for metric in metrics:
        spot = _SPOT.fullmatch(metric.metric)
        is_ours = spot is not None and spot[1].casefold() == tpu.generation.name
        if metric.metric != _ON_DEMAND and not is_ours:
            continue
        for limit in metric.consumer_quota_limits:
            value = _value(limit, region, "" if is_ours else row.tpu_family)
            if "{region}" in limit.unit and value is not None:
                found["spot" if is_ours else "on-demand"] = value
    return found


def _value(limit: QuotaLimit, region: str, family: str) -> int | None:
    """Return a limit's value from the most specific bucket that applies."""
    wanted = {"region": region.casefold(), "tpu_family": family.casefold()}
    holding = [
        (len(bucket.dimensions), bucket.effective_limit)
        for bucket in limit.quota_buckets
        if all(wanted.get(key) == value.casefold() for key, value in bucket.dimensions.items())
    ]
    return max(holding)[1] if holding else None


def _count_used(nodes: Iterable[TpuNode], tpu: TpuType, region: str) -> dict[str, int]:
    """Return how many of a generation's chips are in use in a region, keyed by tier."""
    used = {"on-demand": 0, "spot": 0}
    for node in nodes:
        its_type = chips.find_resource_type(node)
        is_here = find_region(node.zone) == region and node.state != "STOPPED"
        if is_here and its_type and its_type.generation == tpu.generation:
            used["spot" if node.tier in SPOT_TIERS else "on-demand"] += its_type.chips
    return used


def _judge(tpu: TpuType, region: str, quotas: list[ChipsOfRegion]) -> ProjectAnswer:
    if not quotas:
        family = api_choice.read_generation_apis()[tpu.generation.name].tpu_family
        text = f"Google lists no quota of Compute Engine for {family} in {region}"
        return ProjectAnswer("unknown", text, CONSOLE)
    text = "; ".join(map(str, quotas))
    fits = [one.tier for one in quotas if one.left is None or one.left >= tpu.chips]
    if fits:
        tiers = join_words(fits)
        return ProjectAnswer("ok", f"{tpu.name} fits as {tiers} in {region}: {text}")
    found = f"{tpu.name} needs {tpu.chips} chips in {region}, and does not fit: {text}"
    return ProjectAnswer("fail", f"{found}; this is quota, not capacity", CONSOLE)


QUESTIONS = (
    ProjectQuestion(
        "compute-quota",
        "Compute Engine's quota allows it",
        "https://docs.cloud.google.com/compute/resource-usage",
        examine_compute_quota,
        lambda subject: subject.quota_command(rest_client.COMPUTE),
    ),
)
