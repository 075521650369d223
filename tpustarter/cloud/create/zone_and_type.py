"""Checks that a zone has TPUs and offers a type.

The lists are the Cloud TPU API's current ones for this project. That a type is offered does not
mean that there is free capacity.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectQuestion
from tpustarter.text import phrases

WORKERS = 8
IN_COMPUTE_ENGINE = "https://docs.cloud.google.com/tpu/docs/tpus-in-compute-engine"


class CloudZone(msgspec.Struct, rename="camel"):
    """A row of projects.locations.list."""

    location_id: str = ""


class OfferedType(msgspec.Struct):
    """A row of projects.locations.acceleratorTypes.list."""

    type: str = ""


def examine_zone(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the zone has Cloud TPU."""
    names = list_tpu_zones(subject, google)
    if subject.zone is None:
        found = f"no zone is named; {len(names)} zones have TPUs for this project"
        return ProjectAnswer("info", found, "tpustarter tpu doctor --zone ZONE --type TYPE")
    if subject.zone in names:
        return ProjectAnswer("ok", f"{subject.zone} has Cloud TPU for this project")
    near = phrases.near_matches(subject.zone, names)
    if near:
        found = f"{subject.zone} has no Cloud TPU for this project; {near[0]} does"
        kind = f" --type {subject.type.name}" if subject.type else ""
        return ProjectAnswer("fail", found, f"tpustarter tpu doctor --zone {near[0]}{kind}")
    found = f"{subject.zone} has no Cloud TPU for this project; {len(names)} other zones do"
    return ProjectAnswer("fail", found, "tpustarter tpu zones")


def examine_type(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the zone offers the type; if not, name zones that do."""
    if subject.type is None:
        return ProjectAnswer("info", "no type is named", "tpustarter tpu doctor --type v6e-8")
    wanted = subject.type.accelerator_type
    if is_in_compute_engine(subject):
        found = f"{subject.type.name} is not in the Cloud TPU API; Compute Engine makes it"
        return ProjectAnswer("info", found, IN_COMPUTE_ENGINE)
    if subject.zone is None:
        elsewhere, silent = _zones_with(wanted, list_tpu_zones(subject, google), subject, google)
        return _elsewhere(subject, subject.type.name, elsewhere, silent)
    names = list_tpu_zones(subject, google)
    if subject.zone in names and wanted in list_offered_types(subject.zone, subject, google):
        return ProjectAnswer("ok", f"{subject.zone} offers {subject.type.name}")
    others = [name for name in names if name != subject.zone]
    elsewhere, silent = _zones_with(wanted, others, subject, google)
    return _elsewhere(subject, subject.type.name, elsewhere, silent)


def is_in_compute_engine(subject: DoctorTarget) -> bool:
    """Return whether the type's generation is missing from the Cloud TPU API.

    Source: https://docs.cloud.google.com/tpu/docs/configure-networking-access (read 2026-11):
    "not supported on TPU7x and later".
    """
    return subject.type is not None and not subject.type.generation.cloud_tpu_api


def list_tpu_zones(subject: DoctorTarget, google: RestClient) -> list[str]:
    """Return the zones that offer Cloud TPU to the project."""
    path = f"v2/projects/{subject.id}/locations"
    rows = google.pages(rest_client.TPU, path, "locations", CloudZone, pageSize=200)
    names = sorted({row.location_id for row in rows if row.location_id})
    if not names:
        raise UnansweredError("garbled", "a list without any zone", service=rest_client.TPU)
    return names


def list_offered_types(zone: str, subject: DoctorTarget, google: RestClient) -> list[str]:
    """Return the accelerator types offered to the project in a zone."""
    path = f"v2/projects/{subject.id}/locations/{zone}/acceleratorTypes"
    rows = google.pages(rest_client.TPU, path, "acceleratorTypes", OfferedType, pageSize=1000)
    return [row.type for row in rows if row.type]


def _zones_with(
    wanted: str, names: Sequence[str], subject: DoctorTarget, google: RestClient
) -> tuple[list[str], int]:
    """Query zones concurrently; return those that offer a type, and how many did not respond."""
    found: list[str] = []
    silent: list[str] = []
    waiting = list(names)

    def ask() -> None:
        while waiting:
            try:
                zone = waiting.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                if wanted in list_offered_types(zone, subject, google):
                    found.append(zone)
            except UnansweredError:
                silent.append(zone)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(min(WORKERS, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found), len(silent)


def _elsewhere(
    subject: DoctorTarget, wanted: str, elsewhere: list[str], silent: int
) -> ProjectAnswer:
    lead = f"{subject.zone} does not offer {wanted}" if subject.zone else ""
    unasked = f"; {silent} zones did not answer" if silent else ""
    if elsewhere:
        zones = phrases.join_words(elsewhere, most=3)
        fix = f"tpustarter tpu doctor --zone {elsewhere[0]} --type {wanted}"
        if lead:
            do = phrases.choose_plural(len(elsewhere), "does", "do")
            return ProjectAnswer("fail", f"{lead}; {zones} {do}{unasked}", fix)
        return ProjectAnswer("info", f"{wanted} is offered in {zones}{unasked}", fix)
    if silent and not lead:
        raise UnansweredError("silent", service=rest_client.TPU)
    nobody = f"no zone that answered offers {wanted}" if silent else f"no zone offers {wanted}"
    fix = f"tpustarter tpu types --zone {subject.zone or 'ZONE'}"
    return ProjectAnswer("fail", f"{nobody} to this project{unasked}", fix)


def _command(subject: DoctorTarget) -> str:
    zone = f"--zone={subject.zone or 'ZONE'}"
    return subject.gcloud("compute", "tpus", "tpu-vm", "accelerator-types", "list", zone)


QUESTIONS = (
    ProjectQuestion(
        "zone",
        "the zone has Cloud TPU",
        "https://docs.cloud.google.com/tpu/docs/reference/rest/v2/projects.locations/list",
        examine_zone,
        lambda subject: subject.gcloud("compute", "tpus", "locations", "list"),
    ),
    ProjectQuestion(
        "type",
        "the zone offers the type",
        "https://docs.cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes/list",
        examine_type,
        _command,
    ),
)
