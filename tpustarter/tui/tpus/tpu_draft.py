"""The data of the TPU form: its values, their errors, and the requests made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

from tpustarter.cloud.api import api_choice, compute_requests, gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_choice import ApiChoice
from tpustarter.cloud.api.project_and_zone import PLACEHOLDER, Project
from tpustarter.cloud.api.resources import Api, Tier
from tpustarter.cloud.create import flex_start, tpu_request
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant
from tpustarter.core.problem import Problem
from tpustarter.machine.tpus import TpuType

TIERS: tuple[Tier, ...] = ("on-demand", "spot", "reserved", "flex-start")
ADDRESSES = ("external and internal", "internal only")

APIS = ("as the type needs it", "cloud-tpu", "compute")
FIELDS: dict[str, str | tuple[str, ...]] = {
    "project": "empty: the one that gcloud uses",
    "name": "lowercase letters, digits and `-`",
    "type": "such as v5e-1 or v6e-8",
    "zones": "one or more, tried in this order",
    "tier": TIERS,
    "runs": "until Google deletes it, like 4h",
    "reservation": "name of the reservation",
    "version": "empty: the one Google documents",
    "addresses": ADDRESSES,
    "api": APIS,
}
"""The fields in order: the note on a text field, or the values of a field that has fixed ones."""
LABELS = {"reservation": "from"}
"""The labels that differ from the field's name."""
OF_TIER: dict[str, Tier] = {"runs": "flex-start", "reservation": "reserved"}
"""The fields that only one tier has."""
NOTES = {
    "on-demand": "yours until you delete it",
    "spot": "cheaper, but may be taken back",
    "reserved": "from a reservation of your project",
    "flex-start": "waits, then runs for a set time",
    APIS[0]: "Cloud TPU or Compute Engine",
    APIS[1]: "its requests wait in a queue",
    APIS[2]: "an instance, or a group of them",
    ADDRESSES[0]: "the workers reach the internet",
    ADDRESSES[1]: "needs Private Google Access or NAT",
}
"""The notes on the fixed values."""


@dataclass(frozen=True)
class TpuDraft:
    """The current values of all fields of the form."""

    name: str = ""
    type: str = ""
    zones: str = ""
    tier: Tier = TIERS[0]
    version: str = ""
    addresses: str = ADDRESSES[0]
    project: str = ""
    """Id of the project; empty for the one that gcloud uses."""
    runs: str = ""
    """Time until a flex-start TPU is deleted."""
    reservation: str = ""
    api: str = APIS[0]

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

    def find_api(self) -> ApiChoice | None:
        """Return the API that makes this TPU, or None if the type or the choice is wrong."""
        try:
            return self._choose_api()
        except Problem:
            return None

    def _choose_api(self, zone: str = "") -> ApiChoice:
        tpu = tpu_request.parse_type(self.type.strip())
        typed = next((api for api in get_args(Api) if api == self.api), None)
        is_flex = self.tier == "flex-start"
        choice = api_choice.choose_api(tpu, zone, typed, is_flex_start=is_flex)
        if is_flex and choice.api == "cloud-tpu":
            raise Problem(
                "Google's client of the Cloud TPU API has no flex-start",
                hint="`tpustarter tpu create --flex-start` prints the gcloud command",
            )
        return choice

    @property
    def hidden(self) -> frozenset[str]:
        """The fields that the current tier does not have."""
        return frozenset(field for field, tier in OF_TIER.items() if tier != self.tier)

    def errors(self) -> dict[str, str]:
        """Return the error of each invalid field that is not empty."""
        checks: dict[str, Callable[[], object]] = {
            "project": lambda: project_and_zone.require_project(self.project.strip()),
            "runs": self._run_s,
            "name": lambda: tpu_request.validate_tpu_name(self.name.strip()),
            "type": lambda: tpu_request.parse_type(self.type.strip()),
            "zones": lambda: [tpu_request.validate_zone(zone) for zone in self.zone_names],
        }
        found: dict[str, str] = {}
        for field, check in checks.items():
            is_shown = field not in self.hidden
            if is_shown and getattr(self, field).strip() and (text := _problem(check)):
                found[field] = text
        tpu = self.tpu
        if tpu is None:
            return found
        if text := _problem(self._choose_api):
            return {**found, "api": text}
        if text := _problem(lambda: self._check_version(tpu)):
            found["version"] = text
        if not (found or self.list_missing()) and (text := _problem(self._check_possible)):
            found["type"] = text
        return found

    def _run_s(self) -> int:
        if self.tier != "flex-start":
            return 0
        return flex_start.validate_run_time(tpu_request.parse_duration(self.runs))

    def _check_version(self, tpu: TpuType) -> None:
        """Raise Problem if the version is missing, or if Compute Engine is given one."""
        if self._choose_api().api == "cloud-tpu":
            if not self.version.strip():
                tpu_request.default_runtime_version(tpu)
        elif self.version.strip():
            raise Problem("Compute Engine has no runtime versions, so leave this empty")

    def _check_possible(self) -> None:
        """Raise Problem for a request that Compute Engine cannot carry out."""
        tpu = tpu_request.parse_type(self.type.strip())
        for zone in self.zone_names:
            request = self.make_request(tpu, zone)
            if request.api == "compute":
                compute_requests.require_supported_request(request)

    def list_missing(self) -> list[str]:
        """Return the names of the required fields that are empty."""
        needed = (
            "name",
            "type",
            "zones",
            *(field for field in OF_TIER if field not in self.hidden),
        )
        return [field for field in needed if not getattr(self, field).strip()]

    def requests(self) -> list[TpuRequest]:
        """Return the same request for each zone, or none if a field is missing or wrong."""
        if self.tpu is None or self.errors() or self.list_missing():
            return []
        return [self.make_request(self.tpu, zone) for zone in self.zone_names]

    def make_request(self, tpu: TpuType, zone: str) -> TpuRequest:
        """Return the request for a zone; raises Problem if a field is invalid."""
        api = self._choose_api(zone).api
        version = self.version.strip()
        if not version and api == "cloud-tpu":
            version = tpu_request.default_runtime_version(tpu)
        return TpuRequest(
            name=self.name.strip(),
            type=tpu,
            zone=zone,
            version=version,
            tier=self.tier,
            internal_addresses=self.addresses == ADDRESSES[1],
            reservation=self.reservation.strip() if self.tier == "reserved" else "",
            api=api,
            run_s=self._run_s(),
        )

    def make_sample_request(self) -> TpuRequest | None:
        """Return a request to display, with `NAME` for no name, or None if a field is invalid."""
        if self.errors() or self.tpu is None:
            return None
        filled = replace(
            self,
            name=self.name.strip() or "NAME",
            runs=self.runs.strip() or "4h",
            reservation=self.reservation.strip() or "RESERVATION",
        )
        return filled.make_request(self.tpu, (self.zone_names or ["ZONE"])[0])

    def commands(self, project: Project | None) -> list[tuple[str, ...]]:
        """Return the gcloud commands for the first zone, or none if type or fields are wrong.

        Raises:
            Problem: It is not known how Compute Engine makes this TPU.
        """
        shown = self.make_sample_request()
        if shown is None:
            return []
        return gcloud_commands.build_create_commands(shown, project or PLACEHOLDER)

    def list_zones(self, grant: Grant) -> list[str]:
        """Return a grant's zones in its order; only those with enough chips, if there are any."""
        fitting = trc_grant.list_grant_zones(grant, self.tpu, self.tier) if self.tpu else ()
        named = [row.zone for row in grant.allowances if row.tier == self.tier]
        return list(dict.fromkeys(fitting or named or [row.zone for row in grant.allowances]))


def _problem(check: Callable[[], object]) -> str:
    """Return the text of the Problem that a check raises, or an empty string if it passes."""
    try:
        check()
    except Problem as problem:
        return problem.full_text
    return ""
