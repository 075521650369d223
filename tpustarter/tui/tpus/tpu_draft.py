"""The data of the form for a TPU: its texts, their errors, and the requests they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api.project_and_zone import PLACEHOLDER, Project
from tpustarter.cloud.api.resources import Tier
from tpustarter.cloud.create import compute_engine, tpu_request
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant
from tpustarter.core.problem import Problem
from tpustarter.machine.tpus import TpuType

TIERS: tuple[Tier, ...] = ("on-demand", "spot", "reserved")
TYPED = {
    "name": ("name", "lowercase letters, digits and `-`"),
    "type": ("type", "such as v5e-1 or v6e-8"),
    "zones": ("zones", "one or more, tried in this order"),
    "version": ("version", "empty: the one Google documents"),
}
"""The typed fields: label, and a note beside."""
ADDRESSES = ("external and internal", "internal only")

CHOSEN = {"tier": ("tier", TIERS), "addresses": ("addresses", ADDRESSES)}
"""The chosen fields: label and values."""
ORDER = ("name", "type", "zones", "tier", "version", "addresses")
NOTES = {
    "on-demand": "yours until you delete it",
    "spot": "cheaper, but may be taken back",
    "reserved": "from a reservation of your project",
    ADDRESSES[0]: "the workers reach the internet",
    ADDRESSES[1]: "needs Private Google Access or NAT",
}
"""The meanings of the chosen values."""


@dataclass(frozen=True)
class TpuDraft:
    """The present values of all fields of the form."""

    name: str = ""
    type: str = ""
    zones: str = ""
    tier: Tier = TIERS[0]
    version: str = ""
    addresses: str = ADDRESSES[0]

    @property
    def tpu(self) -> TpuType | None:
        """The typed TPU, or None if there is no such type."""
        try:
            return tpu_request.parse_type(self.type.strip())
        except Problem:
            return None

    @property
    def zone_names(self) -> list[str]:
        """The typed zones, each once."""
        return list(dict.fromkeys(self.zones.replace(",", " ").split()))

    @property
    def is_elsewhere(self) -> bool:
        """True if Compute Engine, not the Cloud TPU API, makes this TPU, so nothing can be sent."""
        return self.tpu is not None and compute_engine.is_needed(self.tpu)

    def errors(self) -> dict[str, str]:
        """Return the error of each wrong field that is not empty."""
        checks: dict[str, Callable[[], object]] = {
            "name": lambda: tpu_request.validate_tpu_name(self.name.strip()),
            "type": lambda: tpu_request.parse_type(self.type.strip()),
            "zones": lambda: [tpu_request.validate_zone(zone) for zone in self.zone_names],
        }
        found: dict[str, str] = {}
        for field, check in checks.items():
            if getattr(self, field).strip() and (text := _problem(check)):
                found[field] = text
        tpu = self.tpu
        is_open = tpu and not self.version.strip() and not self.is_elsewhere
        if tpu and is_open and (text := _problem(lambda: tpu_request.default_version(tpu))):
            found["version"] = text
        return found

    def list_missing(self) -> list[str]:
        """Return the names of the required fields that are empty."""
        return [field for field in ("name", "type", "zones") if not getattr(self, field).strip()]

    def requests(self) -> list[TpuRequest]:
        """Return the same request for each zone, or none if a field is missing or wrong."""
        if self.tpu is None or self.errors() or self.list_missing():
            return []
        return self._requests(self.tpu, self.zone_names)

    def _requests(self, tpu: TpuType, zones: list[str]) -> list[TpuRequest]:
        version = self.version.strip()
        if not version and not self.is_elsewhere:
            version = tpu_request.default_version(tpu)
        return [
            TpuRequest(
                name=self.name.strip(),
                type=tpu,
                zone=zone,
                version=version,
                tier=self.tier,
                internal_addresses=self.addresses == ADDRESSES[1],
            )
            for zone in zones
        ]

    def make_sample_request(self) -> TpuRequest | None:
        """Return a request to display, with `NAME` for no name, or None if a field is invalid."""
        if self.errors() or self.tpu is None:
            return None
        filled = TpuDraft(
            self.name.strip() or "NAME", self.type, "", self.tier, self.version, self.addresses
        )
        return filled._requests(self.tpu, self.zone_names[:1] or ["ZONE"])[0]

    def commands(self, project: Project | None) -> list[tuple[str, ...]]:
        """Return the gcloud commands for the first zone, or none if type or fields are wrong.

        Raises:
            Problem: It is not known how Compute Engine makes this TPU.
        """
        shown = self.make_sample_request()
        if shown is None:
            return []
        where = project or PLACEHOLDER
        if self.is_elsewhere:
            return [step.command for step in compute_engine.creation_steps(shown, where)]
        return [gcloud_commands.build_create_command(shown, where)]

    def list_zones(self, grant: Grant) -> list[str]:
        """Return the zones of a grant in its order: if any, those with enough of this TPU."""
        fitting = trc_grant.list_grant_zones(grant, self.tpu, self.tier) if self.tpu else ()
        named = [row.zone for row in grant.allowances if row.tier == self.tier]
        return list(dict.fromkeys(fitting or named or [row.zone for row in grant.allowances]))


def _problem(check: Callable[[], object]) -> str:
    """Return the problem that a check raises, as text, or an empty text if it passes."""
    try:
        check()
    except Problem as problem:
        return problem.full_text
    return ""
