"""The project's quota for TPU chips in the Cloud TPU API, by generation, tier and location.

Quota is a limit, not a promise of capacity, and this method does not return the chips in use. A
bucket without `effectiveLimit` has the limit 0, because Google's JSON omits zeros.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.create import zone_and_type
from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectQuestion
from tpustarter.machine.tpus import TpuType
from tpustarter.text import phrases

CONSOLE = "https://console.cloud.google.com/iam-admin/quotas?service=tpu.googleapis.com"
UNLIMITED = -1
_METRIC = re.compile(r"tpu\.googleapis\.com/tpu-(v\d+[a-z]?)((?:-[a-z]+)*)")
_GENERATIONS = {"v5s": "v5e", "v4s": "v4"}
"""Generations by their names in Google's quotas."""
_TIERS = {"preemptible": "spot", "reserved": "reserved"}

_FINITE = msgspec.Meta(ge=-1, le=1e15)


@dataclass(frozen=True)
class ChipQuota:
    """The chip quota of one generation, tier and kind, in a zone, a region or the project."""

    generation: str
    tier: str
    """`on-demand`, `spot` or `reserved`."""
    kind: str
    """`serving` for v5e's second quota; `pod` for multi-host v2 and v3."""
    place: str
    """`zone` or `region`, or `project` for a limit that applies everywhere."""
    value: int

    @property
    def limit_text(self) -> str:
        """Return the limit as text, such as `16 in the zone`."""
        value = "unlimited" if self.value == UNLIMITED else str(self.value)
        return f"{value} in the {self.place}"


class QuotaBucket(msgspec.Struct, rename="camel"):
    """A quota limit's value for the locations given in its dimensions."""

    dimensions: dict[str, str] = {}
    effective_limit: int = 0


class QuotaLimit(msgspec.Struct, rename="camel"):
    """A metric's limit, on concurrent chips or on requests per period."""

    unit: str = ""
    supported_locations: list[str] = []
    quota_buckets: list[QuotaBucket] = []


class QuotaMetric(msgspec.Struct, rename="camel"):
    """A row of services.consumerQuotaMetrics.list."""

    metric: str = ""
    consumer_quota_limits: list[QuotaLimit] = []


class RegionQuota(msgspec.Struct):
    """A Compute Engine quota in a region."""

    metric: str = ""
    limit: Annotated[float, _FINITE] = 0
    usage: Annotated[float, _FINITE] = 0


class ComputeRegion(msgspec.Struct):
    """A Compute Engine region, as returned by regions.get."""

    quotas: list[RegionQuota] = []


def list_quota_limits(metrics: Iterable[QuotaMetric], zone: str) -> list[ChipQuota]:
    """Return the limits that apply in a zone.

    Args:
        metrics: The `metrics` returned by services.consumerQuotaMetrics.list.
        zone: The zone in which a TPU is wanted.
    """
    found: list[ChipQuota] = []
    for metric in metrics:
        match = _METRIC.fullmatch(metric.metric)
        if not match:
            continue
        words = match[2].strip("-").split("-")
        tier = next((_TIERS[word] for word in words if word in _TIERS), "on-demand")
        kind = next((word for word in words if word in ("serving", "pod")), "")
        generation = _GENERATIONS.get(match[1], match[1])
        values = [_at(limit, zone) for limit in _list_chip_limits(metric)]
        if all(value is not None for _, value in values):  # else it is not offered in the zone
            found += [
                ChipQuota(generation, tier, kind, place, value or 0) for place, value in values
            ]
    return found


def _list_chip_limits(metric: QuotaMetric) -> list[QuotaLimit]:
    """Return a metric's limits except those on requests per minute or day."""
    limits = metric.consumer_quota_limits
    return [limit for limit in limits if not {"min", "d"} & {*limit.unit.split("/")}]


def _at(limit: QuotaLimit, zone: str) -> tuple[str, int | None]:
    """Return a limit's scope, and its value in the zone or None if it does not apply."""
    place = next((word for word in ("zone", "region") if f"{{{word}}}" in limit.unit), "project")
    here = {"zone": zone, "region": find_region(zone)}.get(place, "")
    if here and limit.supported_locations and here not in limit.supported_locations:
        return place, None
    value = None
    for bucket in limit.quota_buckets:
        if bucket.dimensions in ({}, {place: here}):  # the most specific bucket comes last
            value = bucket.effective_limit
    return place, value


def examine_quota(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the quota allows the type in the zone, as spot and on demand."""
    if subject.zone is None:
        found = "no zone is named, and quota differs from zone to zone"
        return ProjectAnswer("info", found, "tpustarter tpu doctor --zone ZONE --type TYPE")
    if zone_and_type.is_in_compute_engine(subject):
        found = "the Cloud TPU API does not make this generation, so its quota does not matter"
        return ProjectAnswer("info", found)
    path = f"v1beta1/projects/{subject.id}/services/{rest_client.TPU}/consumerQuotaMetrics"
    metrics = google.pages(rest_client.SERVICES, path, "metrics", QuotaMetric, pageSize=1000)
    found = [
        limit for limit in list_quota_limits(metrics, subject.zone) if limit.tier != "reserved"
    ]
    if subject.type:
        found = _select_quotas(subject.type, found)
    if not found:
        kind = subject.type.generation.name if subject.type else "TPUs"
        text = f"Google lists no quota of {kind} for {subject.zone}"
        return ProjectAnswer("unknown", text, subject.quota_command(rest_client.TPU))
    return _judge(subject.type, found) if subject.type else _list(found)


def _list(found: list[ChipQuota]) -> ProjectAnswer:
    least: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (generation, tier, _), value in _least(found).items():
        least[generation, tier].append(value)
    some = [
        f"{generation} {tier} {_joined(values)}"
        for (generation, tier), values in sorted(least.items())
        if any(values)
    ]
    if some:
        return ProjectAnswer("info", f"chips or cores at once: {', '.join(some)}")
    return ProjectAnswer("fail", "the quota of every kind of TPU is 0 in this zone", CONSOLE)


def _least(found: list[ChipQuota]) -> dict[tuple[str, str, str], int]:
    """Return the tightest limit for each generation, tier and kind, over zone and region."""
    least: dict[tuple[str, str, str], int] = {}
    for limit in found:
        key = (limit.generation, limit.tier, limit.kind)
        values = [value for value in (limit.value, least.get(key, UNLIMITED)) if value >= 0]
        least[key] = min(values) if values else UNLIMITED
    return least


def _joined(values: list[int]) -> str:
    return phrases.join_words(
        ("unlimited" if value < 0 else value for value in dict.fromkeys(values)), "or"
    )


def _select_quotas(tpu: TpuType, found: list[ChipQuota]) -> list[ChipQuota]:
    """Return the limits that a type may count against.

    v5e has two quotas, one for training and one for serving with at most 8 chips. Slices of up to 8
    chips have been seen to count against either.
    Source: https://docs.cloud.google.com/tpu/docs/v5e-inference (read 2026-11).
    """
    name = tpu.generation.name
    found = [limit for limit in found if limit.generation == name]
    if name in ("v2", "v3"):
        return [limit for limit in found if (limit.kind == "pod") == (tpu.hosts > 1)]
    if tpu.chips > 8:
        return [limit for limit in found if limit.kind != "serving"]
    return found


def _judge(tpu: TpuType, found: list[ChipQuota]) -> ProjectAnswer:
    """Judge whether a type fits, and in which tiers.

    v4 and v5p are counted in chips or in TensorCores, and the response does not show which.
    Source: https://docs.cloud.google.com/tpu/docs/quota (read 2026-11).
    """
    least = _least(found)
    tiers = ("on-demand", "spot")
    fits = {
        tier: {_fit(tpu, value) for (_, other, _), value in least.items() if other == tier}
        for tier in tiers
    }
    text = "; ".join(_describe(tier, found) for tier in tiers)
    is_open = {tier: fits[tier] == {"yes"} for tier in tiers}
    if any(is_open.values()):
        on_demand = "on demand" if is_open["on-demand"] else "not on demand"
        spot = "as spot" if is_open["spot"] else "not as spot"
        joint = "and" if all(is_open.values()) else "but"
        first, second = (on_demand, spot) if is_open["on-demand"] else (spot, on_demand)
        return ProjectAnswer("ok", f"{tpu.name} fits {first} {joint} {second}: {text}")
    every = fits["on-demand"] | fits["spot"]
    if every <= {"no"}:
        return ProjectAnswer("fail", f"{tpu.name} does not fit: {text}", CONSOLE)
    why = (
        "Google counts chips or TensorCores" if "maybe" in every else "there are two quotas for it"
    )
    return ProjectAnswer("warn", f"{tpu.name} may not fit, for {why}: {text}", CONSOLE)


def _fit(tpu: TpuType, value: int) -> str:
    """Return `yes`, `no`, or `maybe` for a type that fits in chips but not in TensorCores."""
    if value == UNLIMITED or value >= max(tpu.chips, tpu.cores):
        return "yes"
    return "maybe" if value >= tpu.chips else "no"


def _describe(tier: str, found: list[ChipQuota]) -> str:
    """Return `spot 0 in the zone, 64 in the region`; for v5e, both kinds if there are two."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for limit in found:
        if limit.tier == tier:
            kinds[limit.kind].append(limit.limit_text)
    if not kinds:
        return f"{tier} not listed"
    if "serving" not in kinds:
        return f"{tier} {', '.join(text for kind in kinds.values() for text in kind)}"
    names = {"serving": "serving", "": "training", "pod": "training"}
    return f"{tier} " + ", ".join(
        f"{names[kind]} {', '.join(kinds[kind])}" for kind in sorted(kinds)
    )


def examine_machine_quota(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that Compute Engine's quota allows a machine and an IP address for each host."""
    if subject.region is None:
        found = "no zone is named, and this quota differs from region to region"
        return ProjectAnswer("info", found, "tpustarter tpu doctor --zone ZONE")
    path = f"compute/v1/projects/{subject.id}/regions/{subject.region}"
    answer = google.get(rest_client.COMPUTE, path, ComputeRegion)
    left: dict[str, int] = {}
    texts: list[str] = []
    for row in answer.quotas:
        if row.metric in ("IN_USE_ADDRESSES", "INSTANCES"):
            limit, used = int(row.limit), int(row.usage)
            left[row.metric] = limit - used
            noun = "addresses" if row.metric == "IN_USE_ADDRESSES" else "machines"
            texts.append(f"{used} of {limit} {noun}")
    if len(left) < 2:
        text = "no quota of machines and addresses in it"
        raise UnansweredError("garbled", text, service=rest_client.COMPUTE)
    hosts = subject.type.hosts if subject.type else 1
    used = f"{phrases.join_words(sorted(texts))} of {subject.region} are in use"
    if min(left.values()) >= hosts:
        return ProjectAnswer(
            "ok", f"{used}, and the {phrases.format_count(hosts, 'host')} of a TPU would fit"
        )
    found = f"{used}, and a TPU needs one of each for its {phrases.format_count(hosts, 'host')}"
    if left["INSTANCES"] >= hosts:
        found += "; `--internal-ips` needs no addresses"
    console = "https://console.cloud.google.com/iam-admin/quotas?service=compute.googleapis.com"
    return ProjectAnswer("warn", found, console)


def _region_command(subject: DoctorTarget) -> str:
    return subject.gcloud("compute", "regions", "describe", subject.region or "REGION")


QUESTIONS = (
    ProjectQuestion(
        "quota",
        "the quota allows it",
        "https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics/list",
        examine_quota,
        lambda subject: subject.quota_command(rest_client.TPU),
    ),
    ProjectQuestion(
        "machines",
        "Compute Engine allows the machines",
        "https://docs.cloud.google.com/compute/docs/reference/rest/v1/regions/get",
        examine_machine_quota,
        _region_command,
        can_block=False,
    ),
)
