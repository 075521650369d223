"""Submit one TPU request, and record it first, in case a lost response hides a billed TPU.

The ledger is written before the request is sent. If the response is lost, Google is queried to find
out whether the request arrived. If it did not, it is sent once more, which cannot create a second
TPU because names are unique in a zone. After an internal error of Google's, the caller decides
about another attempt.
"""

from __future__ import annotations

from collections.abc import Generator

from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api.api_client import UNANSWERED, ApiClient
from tpustarter.cloud.api.errors import CloudProblem, make_cloud_problem
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create.events import Event, RequestMayExist, RequestSent
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import ownership

LOST = "Google did not say whether it took the request, so it may have arrived"
ATTEMPTS = 2


def submit_request(
    client: ApiClient, project: Project, request: TpuRequest, entry: LedgerEntry
) -> Generator[Event, None, LedgerEntry]:
    """Send a request; return its ledger entry once Google has accepted it.

    Raises:
        CloudProblem: The name is taken, Google refused, or it is unknown whether the request
            arrived. Only in the last case does the ledger keep the entry.
    """
    may_exist = ledger.reread_ledger_entry(entry) is not entry
    _check_name_is_free(client, request)
    ledger.add_ledger_entry(entry)
    attempt = 0
    while True:
        attempt += 1
        operation = ""
        try:
            operation = client.create(request)
        except CloudProblem as error:
            is_lost = error.kind in UNANSWERED
            may_exist = may_exist or is_lost
            if not (may_exist and _has_arrived(client, entry)):
                if error.kind == "network" and attempt < ATTEMPTS:
                    entry = ledger.update_ledger_entry(entry, "sent", LOST)
                    continue
                if may_exist:
                    yield RequestMayExist(ledger.update_ledger_entry(entry, "sent", LOST), LOST)
                else:
                    ledger.remove_ledger_entry(entry)
                raise
        entry = ledger.update_ledger_entry(entry, "taken", operation=operation)
        yield RequestSent(entry, gcloud_commands.build_create_commands(request, project)[-1])
        return entry


def _check_name_is_free(client: ApiClient, request: TpuRequest) -> None:
    """Raise CloudProblem if the name is taken by a resource that could pass for this request's."""
    kind = "locations" if client.api == "cloud-tpu" else "zones"
    place = f"projects/{client.project}/{kind}/{request.zone}"
    taken = ""
    if client.queued_resource(request.zone, request.name) is not None:
        taken = f"{place}/queuedResources/{request.name}"
    else:
        names = {*request.node_names}
        if len(names) > 1:
            names &= {node.name for node in client.nodes(request.zone).items}
        elif client.node(request.zone, request.name) is None:
            names = set[str]()
        taken = f"{place}/nodes/{min(names)}" if names else ""
    if taken:
        doing = f"Google Cloud cannot create `{request.name}`, because the name is taken"
        raise make_cloud_problem(6, f"Resource '{taken}' already exists", doing)


def _has_arrived(client: ApiClient, entry: LedgerEntry) -> bool:
    """Return whether Google lists the resource, whose name was free before."""
    try:
        resource = client.queued_resource(entry.zone, entry.name)
    except CloudProblem:
        return False
    return resource is not None and ownership.matches_request(entry, resource)
