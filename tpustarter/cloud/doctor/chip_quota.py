"""The chips that the project may have at once, by kind of TPU, tier and place.

Quota is a limit, not a promise of capacity, and this method does not return the chips in use. A
bucket without `effectiveLimit` has the limit 0, because Google's JSON leaves zeros out.
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
from tpustarter.cloud.doctor.project_answers import ProjectAnswer, ProjectQuestion
from tpustarter.cloud.doctor.wanted_tpu import WantedTpu
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
    """The quota for chips of one kind of TPU, in a zone, in a region, or in the project."""

    generation: str
    tier: str
    """`on-demand`, `spot` or `reserved`."""
    kind: str
    """`serving` for the second kind of v5e; `pod` for v2 and v3 of several hosts."""
    place: str
    """`zone` or `region`, or `project` for a limit that holds everywhere."""
    value: int

    @property
    def limit_text(self) -> str:
        """Return the limit in words, such as `16 in the zone`."""
        value = "unlimited" if self.value == UNLIMITED else str(self.value)
        return f"{value} in the {self.place}"


class QuotaBucket(msgspec.Struct, rename="camel"):
    """The value of a quota limit in the places that its dimensions name."""

    dimensions: dict[str, str] = {}
    effective_limit: int = 0


class QuotaLimit(msgspec.Struct, rename="camel"):
    """A limit of a metric: on chips at once, or on requests in a time."""

    unit: str = ""
    supported_locations: list[str] = []
    quota_buckets: list[QuotaBucket] = []


class QuotaMetric(msgspec.Struct, rename="camel"):
    """A row of services.consumerQuotaMetrics.list."""

    metric: str = ""
    consumer_quota_limits: list[QuotaLimit] = []


class RegionQuota(msgspec.Struct):
    """A quota of Compute Engine in a region."""

    metric: str = ""
    limit: Annotated[float, _FINITE] = 0
    usage: Annotated[float, _FINITE] = 0


class ComputeRegion(msgspec.Struct):
    """A region of Compute Engine, of regions.get."""

    quotas: list[RegionQuota] = []


def list_limits(metrics: Iterable[QuotaMetric], zone: str) -> list[ChipQuota]:
    """Return the limits that hold in a zone.

    Args:
        metrics: `metrics` of services.consumerQuotaMetrics.list.
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
        values = [_at(limit, zone) for limit in _of_chips(metric)]
        if all(value is not None for _, value in values):  # else the kind is not offered there
            found += [
                ChipQuota(generation, tier, kind, place, value or 0) for place, value in values
            ]
    return found


def _of_chips(metric: QuotaMetric) -> list[QuotaLimit]:
    """Return the limits of a quota without those on requests in a minute or a day."""
    limits = metric.consumer_quota_limits
    return [limit for limit in limits if not {"min", "d"} & {*limit.unit.split("/")}]


def _at(limit: QuotaLimit, zone: str) -> tuple[str, int | None]:
    """Return the kind of place of a limit, and its value there, or None if it does not apply."""
    place = next((word for word in ("zone", "region") if f"{{{word}}}" in limit.unit), "project")
    here = {"zone": zone, "region": zone.rpartition("-")[0]}.get(place, "")
    if here and limit.supported_locations and here not in limit.supported_locations:
        return place, None
    value = None
    for bucket in limit.quota_buckets:
        if bucket.dimensions in ({}, {place: here}):  # the most specific one comes last
            value = bucket.effective_limit
    return place, value


def examine_quota(subject: WantedTpu, google: RestClient) -> ProjectAnswer:
    """Return whether the quota allows the type in the zone, spot and on demand."""
    if subject.zone is None:
        found = "no zone is named, and quota differs from zone to zone"
        return ProjectAnswer("info", found, "tpustarter tpu doctor --zone ZONE --type TYPE")
    if zone_and_type.is_in_compute_engine(subject):
        found = "the Cloud TPU API does not make this generation, so its quota does not matter"
        return ProjectAnswer("info", found)
    path = f"v1beta1/projects/{subject.id}/services/{rest_client.TPU}/consumerQuotaMetrics"
    metrics = google.pages(rest_client.SERVICES, path, "metrics", QuotaMetric, pageSize=1000)
    found = [limit for limit in list_limits(metrics, subject.zone) if limit.tier != "reserved"]
    if subject.type:
        found = _of_type(subject.type, found)
    if not found:
        kind = subject.type.generation.name if subject.type else "TPUs"
        text = f"Google lists no quota of {kind} for {subject.zone}"
        return ProjectAnswer("unknown", text, _command(subject))
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
    """Return the tightest limit of each generation, tier and kind, over zone and region."""
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


def _of_type(tpu: TpuType, found: list[ChipQuota]) -> list[ChipQuota]:
    """Return the limits that a type may count against.

    v5e has two quotas, for training and for serving with at most 8 chips. Slices of that size were
    seen to count against either.

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
    """Return whether a type fits, and into which tier.

    v4 and v5p are counted in chips or in TensorCores, and the answer does not show in which.

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
    """Return whether a type fits: `maybe` where it fits as chips and not as cores."""
    if value == UNLIMITED or value >= max(tpu.chips, tpu.cores):
        return "yes"
    return "maybe" if value >= tpu.chips else "no"


def _describe(tier: str, found: list[ChipQuota]) -> str:
    """Return `spot 0 in the zone, 64 in the region`; for v5e both kinds, where there are two."""
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


def examine_machines(subject: WantedTpu, google: RestClient) -> ProjectAnswer:
    """Return whether Compute Engine allows a machine and an address for each host."""
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


def _command(subject: WantedTpu) -> str:
    words = "gcloud alpha services quota list --service=tpu.googleapis.com"
    return f"{words} --consumer=projects/{subject.project_text}"


def _region_command(subject: WantedTpu) -> str:
    return subject.gcloud("compute", "regions", "describe", subject.region or "REGION")


LOOKS = (
    ProjectQuestion(
        "quota",
        "the quota allows it",
        "https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics/list",
        examine_quota,
        _command,
    ),
    ProjectQuestion(
        "machines",
        "Compute Engine allows the machines",
        "https://docs.cloud.google.com/compute/docs/reference/rest/v1/regions/get",
        examine_machines,
        _region_command,
        matters=False,
    ),
)
