"""What the form for a TPU holds: texts as they are typed, what is wrong with each, the requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tpustarter.cloud import compute_engine, gcloud, grants, request
from tpustarter.cloud.grants import Grant
from tpustarter.cloud.places import PLACEHOLDER, Project
from tpustarter.cloud.request import Request
from tpustarter.machine.tpus import TpuType
from tpustarter.problem import Problem

TIERS = ("on-demand", "spot", "reserved")
TYPED = {
    "name": ("name", "lowercase letters, digits and `-`"),
    "type": ("type", "such as v5e-1 or v6e-8"),
    "zones": ("zones", "one or more, tried in this order"),
    "version": ("version", "empty: the one Google documents"),
}
"""Fields that are typed: label, and a note beside."""
ADDRESSES = ("external and internal", "internal only")

CHOSEN = {"tier": ("tier", TIERS), "addresses": ("addresses", ADDRESSES)}
"""Fields that are chosen."""
ORDER = ("name", "type", "zones", "tier", "version", "addresses")
NOTES = {
    "on-demand": "yours until you delete it",
    "spot": "cheaper, but may be taken back",
    "reserved": "from a reservation of your project",
    ADDRESSES[0]: "the workers reach the internet",
    ADDRESSES[1]: "needs Private Google Access or NAT",
}
"""What a value that is chosen means."""


@dataclass(frozen=True)
class Draft:
    """The fields as they stand."""

    name: str = ""
    type: str = ""
    zones: str = ""
    tier: str = TIERS[0]
    version: str = ""
    addresses: str = ADDRESSES[0]

    @property
    def tpu(self) -> TpuType | None:
        """The TPU that is typed; null where that is none."""
        try:
            return request.parse_type(self.type.strip())
        except Problem:
            return None

    @property
    def zone_names(self) -> list[str]:
        """The zones typed, each once."""
        return list(dict.fromkeys(self.zones.replace(",", " ").split()))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the Cloud TPU API does not make this TPU, so that nothing can be sent."""
        return self.tpu is not None and compute_engine.is_needed(self.tpu)

    def errors(self) -> dict[str, str]:
        """Return what is wrong with each field that something is typed into."""
        checks: dict[str, Callable[[], object]] = {
            "name": lambda: request.check_name(self.name.strip()),
            "type": lambda: request.parse_type(self.type.strip()),
            "zones": lambda: [request.check_zone(zone) for zone in self.zone_names],
        }
        found: dict[str, str] = {}
        for field, check in checks.items():
            if getattr(self, field).strip() and (text := _problem(check)):
                found[field] = text
        tpu = self.tpu
        is_open = tpu and not self.version.strip() and not self.is_elsewhere
        if tpu and is_open and (text := _problem(lambda: request.default_version(tpu))):
            found["version"] = text
        return found

    def missing(self) -> list[str]:
        """Return the fields that must be filled in, and are not."""
        return [field for field in ("name", "type", "zones") if not getattr(self, field).strip()]

    def requests(self) -> list[Request]:
        """Return the same TPU in each zone; empty while something is missing or wrong."""
        if self.tpu is None or self.errors() or self.missing():
            return []
        return self._requests(self.tpu, self.zone_names)

    def _requests(self, tpu: TpuType, zones: list[str]) -> list[Request]:
        tier: Any = self.tier
        version = self.version.strip()
        if not version and not self.is_elsewhere:
            version = request.default_version(tpu)
        return [
            Request(
                name=self.name.strip(),
                type=tpu,
                zone=zone,
                version=version,
                tier=tier,
                internal_addresses=self.addresses == ADDRESSES[1],
            )
            for zone in zones
        ]

    def shown(self) -> Request | None:
        """Return a request to show, with capitals for what is missing; null for a wrong one."""
        if self.errors() or self.tpu is None:
            return None
        filled = Draft(
            self.name.strip() or "NAME", self.type, "", self.tier, self.version, self.addresses
        )
        return filled._requests(self.tpu, self.zone_names[:1] or ["ZONE"])[0]

    def commands(self, project: Project | None) -> list[tuple[str, ...]]:
        """Return the commands that do the same, the first zone's alone; raises Problem."""
        shown = self.shown()
        if shown is None:
            return []
        where = project or PLACEHOLDER
        if self.is_elsewhere:
            return [step.command for step in compute_engine.steps(shown, where)]
        return [gcloud.create(shown, where)]

    def zones_of(self, grant: Grant) -> list[str]:
        """Return the zones of a grant in its order: those with enough of this TPU, if any has."""
        tier: Any = self.tier
        fitting = grants.zones(grant, self.tpu, tier) if self.tpu else ()
        named = [row.zone for row in grant.allowances if row.tier == self.tier]
        return list(dict.fromkeys(fitting or named or [row.zone for row in grant.allowances]))


def _problem(check: Callable[[], object]) -> str:
    """Return what a check says; empty where it passes."""
    try:
        check()
    except Problem as problem:
        return problem.what
    return ""
