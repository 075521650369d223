"""Parse the quotas that a refusal names, with their limits and locations.

Google's text uses the API's names of quotas, such as `TPUV6EPreemptiblePerProjectPerZoneForTPUAPI`,
and may list several at once. The error's details hold the same facts in fields.
Source: https://cloud.google.com/tpu/docs/quota (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Detail = Any
"""An error detail from Google's client, or its class; both are untyped."""

_REFUSAL = re.compile(
    r"Quota(?: limit)? '([\w,.-]+)'[\w ]*\. Limit:? ([\d.,]*\d)"
    r"(?: in ((?:zone|region) [\w-]+(?:, ?(?:zone|region) [\w-]+)*))?",
    re.IGNORECASE,
)
_TPU = re.compile(
    r"TPU(?P<generation>V\d+[EPX]?)s?(?P<kind>[A-Za-z]*?)"
    r"PerProject(?:Per(?P<where>Zone|Region))?(?:ForTPUAPI)?"
)
_COMPUTE = {
    "IN_USE_ADDRESSES": "external addresses",
    "INSTANCES": "VM instances",
    "TPUS_PER_TPU_FAMILY": "TPU chips of Compute Engine, per family",
}


@dataclass(frozen=True)
class ExceededQuota:
    """A quota that a request exceeded."""

    name: str
    """The name as Google spells it."""
    limit: int | None
    place: str = ""
    """For example `zone us-east5-a`; empty if Google gives none."""

    @property
    def words(self) -> str:
        """Return the name's meaning: `v5e serving, on-demand, per zone`."""
        return describe_quota(self.name)

    def __str__(self) -> str:
        """Return the quota as users see it: `v6e, spot, per region: limit 0 in region us-east5`."""
        limit = "" if self.limit is None else f"limit {self.limit}"
        where = f"in {self.place}" if self.place else ""
        return ": ".join(filter(None, (self.words, f"{limit} {where}".strip())))


def describe_quota(name: str) -> str:
    """Return a quota name's meaning; a name in another format is returned unchanged."""
    match = _TPU.fullmatch(name)
    if match is None:
        return _COMPUTE.get(name, name)
    kind = match["kind"].lower()
    what = match["generation"].lower()
    if "litepod" in kind:
        what = "v5e serving" if "serving" in kind else "v5e training"
    elif "pod" in kind and what in ("v2", "v3"):
        what += " slices"  # a single TPU VM of these has a separate quota
    tier = "spot" if "preempt" in kind or "spot" in kind else "on-demand"
    tier = "reserved" if "reserved" in kind else tier
    return f"{what}, {tier}" + (f", per {match['where'].lower()}" if match["where"] else "")


def parse_quotas(text: str, details: Sequence[object] = ()) -> tuple[ExceededQuota, ...]:
    """Return the distinct quotas that an error names in its text, or else in its details.

    Args:
        text: Google's own text.
        details: Messages of google.rpc, packed or not.
    """
    found = [*_in_text(text)]
    for detail in unpack_details(() if found else details):
        if detail.DESCRIPTOR.full_name == "google.rpc.QuotaFailure":
            for violation in detail.violations:
                found += [*_in_text(violation.description)] or [*_in_violation(violation)]
        elif detail.DESCRIPTOR.full_name == "google.rpc.ErrorInfo":
            found += _in_metadata(detail.metadata)
    return tuple(dict.fromkeys(found))


def _in_text(text: str) -> Iterator[ExceededQuota]:
    for match in _REFUSAL.finditer(text):
        names, limits = match[1].split(","), match[2].split(",")
        places = re.split(", ?", match[3] or "")
        for number, name in enumerate(names):
            limit = limits[min(number, len(limits) - 1)]
            yield ExceededQuota(name, _number(limit), places[min(number, len(places) - 1)])


def _in_violation(violation: object) -> Iterator[ExceededQuota]:
    """Yield the quota from the newer fields, which googleapis-common-protos has since 1.66."""
    if name := getattr(violation, "quota_id", "") or getattr(violation, "quota_metric", ""):
        places = getattr(violation, "quota_dimensions", {})
        place = next((f"{key} {places[key]}" for key in ("zone", "region") if key in places), "")
        yield ExceededQuota(name, getattr(violation, "quota_value", None), place)


def _in_metadata(fields: Mapping[str, str]) -> Iterator[ExceededQuota]:
    if name := fields.get("quota_limit") or fields.get("quota_metric"):
        yield ExceededQuota(name, _number(fields.get("quota_limit_value", "")), "")


def _number(text: str) -> int | None:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return None


def unpack_details(details: Sequence[Detail]) -> Iterator[Detail]:
    """Yield an error's details as messages of their own types, skipping unknown ones."""
    for detail in details:
        if getattr(getattr(detail, "DESCRIPTOR", None), "full_name", "") != "google.protobuf.Any":
            if hasattr(detail, "DESCRIPTOR"):
                yield detail
            continue
        from google.protobuf.message import DecodeError
        from google.rpc import error_details_pb2  # pyright: ignore[reportMissingTypeStubs]

        kind: Detail = getattr(error_details_pb2, detail.type_url.rpartition(".")[2], None)
        try:
            message = kind() if kind is not None and hasattr(kind, "DESCRIPTOR") else None
            if message is not None and detail.Unpack(message):
                yield message
        except DecodeError:
            continue
