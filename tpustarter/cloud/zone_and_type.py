"""What Google offers where: whether the zone has TPUs, and the type is one of them.

The lists are those of the Cloud TPU API at this moment, for this project. That a type is offered
says nothing of how many are free.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from difflib import get_close_matches

from tpustarter.cloud import rest
from tpustarter.cloud.findings import Look, Seen, listed
from tpustarter.cloud.rest import Rest, UnansweredError
from tpustarter.cloud.subject import Subject

WORKERS = 8
IN_COMPUTE_ENGINE = "https://docs.cloud.google.com/tpu/docs/tpus-in-compute-engine"


def examine_zone(subject: Subject, google: Rest) -> Seen:
    """Say whether the zone is one that has Cloud TPU."""
    names = zones(subject, google)
    if subject.zone is None:
        found = f"no zone is named; {len(names)} zones have TPUs for this project"
        return Seen("info", found, "tpustarter tpu doctor --zone ZONE --type TYPE")
    if subject.zone in names:
        return Seen("ok", f"{subject.zone} has Cloud TPU for this project")
    near = get_close_matches(subject.zone, names, n=1, cutoff=0.8)
    if near:
        found = f"{subject.zone} has no Cloud TPU for this project; {near[0]} does"
        kind = f" --type {subject.type.name}" if subject.type else ""
        return Seen("fail", found, f"tpustarter tpu doctor --zone {near[0]}{kind}")
    found = f"{subject.zone} has no Cloud TPU for this project; {len(names)} other zones do"
    return Seen("fail", found, "tpustarter tpu zones")


def examine_type(subject: Subject, google: Rest) -> Seen:
    """Say whether the zone offers the type, and else which zone does."""
    if subject.type is None:
        return Seen("info", "no type is named", "tpustarter tpu doctor --type v6e-8")
    wanted = subject.type.accelerator_type
    if is_in_compute_engine(subject):
        found = f"{subject.type.name} is not in the Cloud TPU API; Compute Engine makes it"
        return Seen("info", found, IN_COMPUTE_ENGINE)
    if subject.zone is None:
        elsewhere, silent = _zones_with(wanted, zones(subject, google), subject, google)
        return _elsewhere(subject, subject.type.name, elsewhere, silent)
    names = zones(subject, google)
    if subject.zone in names and wanted in types(subject.zone, subject, google):
        return Seen("ok", f"{subject.zone} offers {subject.type.name}")
    others = [name for name in names if name != subject.zone]
    elsewhere, silent = _zones_with(wanted, others, subject, google)
    return _elsewhere(subject, subject.type.name, elsewhere, silent)


def is_in_compute_engine(subject: Subject) -> bool:
    """Return whether the type is of a generation that the Cloud TPU API does not have.

    Source: https://docs.cloud.google.com/tpu/docs/configure-networking-access (read 2026-11):
    "not supported on TPU7x and later".
    """
    return subject.type is not None and not subject.type.generation.cloud_tpu_api


def zones(subject: Subject, google: Rest) -> list[str]:
    """Return the zones that have Cloud TPU for the project."""
    path = f"v2/projects/{subject.id}/locations"
    rows = google.pages(rest.TPU, path, "locations", pageSize=200)
    names = sorted({str(row["locationId"]) for row in rows if row.get("locationId")})
    if not names:
        raise UnansweredError("garbled", "a list without any zone", service=rest.TPU)
    return names


def types(zone: str, subject: Subject, google: Rest) -> list[str]:
    """Return the accelerator types that a zone offers to the project."""
    path = f"v2/projects/{subject.id}/locations/{zone}/acceleratorTypes"
    rows = google.pages(rest.TPU, path, "acceleratorTypes", pageSize=1000)
    return [str(row["type"]) for row in rows if row.get("type")]


def _zones_with(
    wanted: str, names: Sequence[str], subject: Subject, google: Rest
) -> tuple[list[str], int]:
    """Return the zones that offer a type, and how many did not answer; asks several at once."""
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
                if wanted in types(zone, subject, google):
                    found.append(zone)
            except UnansweredError:
                silent.append(zone)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(min(WORKERS, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found), len(silent)


def _elsewhere(subject: Subject, wanted: str, elsewhere: list[str], silent: int) -> Seen:
    lead = f"{subject.zone} does not offer {wanted}" if subject.zone else ""
    unasked = f"; {silent} zones did not answer" if silent else ""
    if elsewhere:
        fix = f"tpustarter tpu doctor --zone {elsewhere[0]} --type {wanted}"
        if lead:
            return Seen("fail", f"{lead}; {listed(elsewhere)} {_does(elsewhere)}{unasked}", fix)
        return Seen("info", f"{wanted} is offered in {listed(elsewhere)}{unasked}", fix)
    if silent and not lead:
        raise UnansweredError("silent", service=rest.TPU)
    nobody = f"no zone that answered offers {wanted}" if silent else f"no zone offers {wanted}"
    fix = f"tpustarter tpu types --zone {subject.zone or 'ZONE'}"
    return Seen("fail", f"{nobody} to this project{unasked}", fix)


def _does(names: list[str]) -> str:
    return "do" if names[1:] else "does"


def _command(subject: Subject) -> str:
    zone = f"--zone={subject.zone or 'ZONE'}"
    return subject.gcloud("compute", "tpus", "tpu-vm", "accelerator-types", "list", zone)


LOOKS = (
    Look("zone", "the zone has Cloud TPU",
         "https://docs.cloud.google.com/tpu/docs/reference/rest/v2/projects.locations/list",
         examine_zone, lambda subject: subject.gcloud("compute", "tpus", "locations", "list")),
    Look("type", "the zone offers the type",
         "https://docs.cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes/list",
         examine_type, _command),
)  # fmt: skip
