"""Deleting: what Google allows in which state, and what stays in the ledger until it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.cloud import tpu_v2

from tests.support.cloud_runs import (
    FIRST,
    PROJECT,
    ZONES,
    WatchedClient,
    ZonesCloud,
    asked,
    exhaust,
    in_ledger,
    told,
    two_zones,
    walk,
)
from tests.support.fake_cloud import NEVER, SOON, Fault
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.create.events import RequestMayExist
from tpustarter.cloud.delete import ownership, removal, stop_and_start
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.core.problem import Problem


@pytest.fixture
def cloud() -> Iterator[ZonesCloud]:
    """Run a service of two zones."""
    with two_zones() as served:
        yield served


def doomed(cloud: ZonesCloud, name: str = "bert") -> DeletionPlan:
    """Return the deletion plan for a name."""
    client = WatchedClient(cloud)
    (one,) = removal.find_deletion_plans(
        client.queued_resources().items, client.nodes().items, name
    )
    return one


def forces(cloud: ZonesCloud) -> list[bool]:
    """Return the `force` of each deletion that was sent."""
    return [message.force for message in cloud.called("DeleteQueuedResource")]


def node(cloud: ZonesCloud, name: str, state: str = "READY") -> str:
    """Add a node that was made without a queued resource; returns its full name."""
    full = f"projects/my-project/locations/{FIRST}/nodes/{name}"
    cloud.nodes[full] = tpu_v2.Node(
        name=full, accelerator_type="v6e-8", state=tpu_v2.Node.State[state]
    )
    return full


@pytest.mark.parametrize(
    ("state", "force"),
    [
        ("ACCEPTED", False),
        ("WAITING_FOR_RESOURCES", False),
        ("ACTIVE", True),
        ("SUSPENDED", True),
        ("FAILED", True),
    ],
)
def test_force_is_used_for_requests_with_nodes(cloud: ZonesCloud, state: str, force: bool) -> None:
    """Requests with nodes are deleted by force, and others without."""
    cloud.scripts[FIRST] = [(((0, state),), None)]
    walk(cloud, [asked()], wait=False)
    one = doomed(cloud)
    (command,) = one.commands(PROJECT)
    _, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))

    assert is_gone
    assert [force] == forces(cloud)
    assert force == ("--force" in command)
    assert {} == cloud.existing()
    assert set() == in_ledger()


@pytest.mark.parametrize("state", ["CREATING", "PROVISIONING", "SUSPENDING"])
def test_deletion_waits_until_state_allows(cloud: ZonesCloud, state: str) -> None:
    """A deletion is sent as soon as the state allows it, before the request reaches its end."""
    following = "SUSPENDED" if state == "SUSPENDING" else "WAITING_FOR_RESOURCES"
    cloud.scripts[FIRST] = [(((0, state), (300, following)), None)]
    walk(cloud, [asked()], wait=False)
    events, is_gone = exhaust(
        removal.carry_out_deletion(WatchedClient(cloud), doomed(cloud), cloud.clock)
    )

    assert is_gone
    assert [
        f"RequestStateChanged {FIRST} {state}",
        f"RequestStateChanged {FIRST} {following}",
    ] == told(events)[:2]
    assert 1 == len(forces(cloud))
    assert set() == in_ledger()


def test_deletion_without_wait_is_not_sent_while_refused(cloud: ZonesCloud) -> None:
    """Without waiting, a deletion that Google refuses isn't sent; the request stays recorded."""
    cloud.scripts[FIRST] = [(((0, "PROVISIONING"),), None)]
    walk(cloud, [asked()], wait=False)
    (kept,), is_gone = exhaust(
        removal.carry_out_deletion(WatchedClient(cloud), doomed(cloud), cloud.clock, wait=False)
    )

    assert isinstance(kept, RequestMayExist)
    assert "PROVISIONING" in kept.why
    assert not is_gone
    assert [] == forces(cloud)
    assert {(FIRST, "bert")} == in_ledger()


def test_request_provisioned_after_display_is_deleted_by_force(cloud: ZonesCloud) -> None:
    """A request that was waiting when it was shown is deleted by force once it provisions."""
    cloud.scripts[FIRST] = [(NEVER, None)]
    walk(cloud, [asked()], wait=False)
    cloud.clock.sleep(60)
    one = doomed(cloud)
    (made,) = cloud.made.values()
    made.steps = (*NEVER, (60, "PROVISIONING"), (300, "ACTIVE"))
    _, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))

    assert is_gone
    assert [False, True] == forces(cloud)
    assert set() == in_ledger()


def test_already_deleted_tpu_counts_as_deleted(cloud: ZonesCloud) -> None:
    """A TPU that is already deleted counts as deleted."""
    walk(cloud, [asked()])
    one = doomed(cloud)
    cloud.made.clear()
    events, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))

    assert is_gone
    assert f"RequestGone {FIRST}" == told(events)[-1]
    assert set() == in_ledger()


@pytest.mark.parametrize("carried_out", [True, False], ids=["after", "before"])
def test_lost_answer_finds_deletion(cloud: ZonesCloud, carried_out: bool) -> None:
    """A deletion whose answer was lost is followed, or is an error if Google has none."""
    walk(cloud, [asked()])
    one = doomed(cloud)
    cloud.faults["DeleteQueuedResource"] = [Fault(14, "Socket closed", after=carried_out)]
    happening = removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock)
    if carried_out:
        assert exhaust(happening)[1]
        assert set() == in_ledger()
        return
    with pytest.raises(CloudProblem) as caught:
        exhaust(happening)

    assert "network" == caught.value.kind
    assert {(FIRST, "bert")} == in_ledger()


def test_slow_deletion_stays_in_ledger(cloud: ZonesCloud) -> None:
    """A slow deletion stays in the ledger after a quarter of an hour."""
    walk(cloud, [asked()])
    cloud.delete_s = 5000
    one = doomed(cloud)
    before = cloud.clock.now()
    events, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))

    assert not is_gone
    assert f"RequestMayExist {FIRST}" == told(events)[-1]
    assert ["deleting"] == [entry.phase for entry in ledger.read_ledger()]
    assert 900 <= (cloud.clock.now() - before).total_seconds() < 960


def test_foreign_deletion_is_in_ledger_while_running(cloud: ZonesCloud) -> None:
    """The user asked for it by name; where Google refuses, it was never ours."""
    cloud.add_foreign(FIRST, "colleague")
    one = doomed(cloud, "colleague")
    cloud.faults["DeleteQueuedResource"] = [Fault(7, "Permission denied")]
    with pytest.raises(CloudProblem):
        exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))
    assert set() == in_ledger()

    cloud.delete_s = 5000
    exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock, wait=False))
    assert {(FIRST, "colleague")} == in_ledger()


def test_node_without_request_is_deleted_alone(cloud: ZonesCloud) -> None:
    """A node without a request is deleted alone; others of the zone stay."""
    full, other = node(cloud, "lonely"), node(cloud, "other")
    one = doomed(cloud, "lonely")
    _, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))

    assert is_gone
    assert [other] == [*cloud.nodes]
    assert [full] == [message.name for message in cloud.called("DeleteNode")]
    assert set() == in_ledger()


def test_leftovers_are_unrecoverable_requests(cloud: ZonesCloud) -> None:
    """Suspended and failed requests, and pre-empted nodes without a request, all of others."""
    for name, state in {
        "a": "SUSPENDED",
        "b": "FAILED",
        "c": "ACTIVE",
        "d": "ACCEPTED",
        "e": "SUSPENDING",
    }.items():
        cloud.add_foreign(FIRST, name, ((0, state),))
    node(cloud, "f", "PREEMPTED")
    node(cloud, "g", "READY")
    client = WatchedClient(cloud)
    found = leftovers(client)

    assert [] == found.ours
    assert ["a", "b", "f"] == [one.name for one in found.others]


def leftovers(client: WatchedClient) -> removal.Leftovers:
    """Return the leftovers of the project."""
    queued, nodes = client.queued_resources(), client.nodes()
    return removal.find_leftovers(client.project, queued.items, nodes.items)


@pytest.mark.parametrize(
    ("change", "is_ours"),
    [
        ({}, True),
        ({"phase": "sent", "asked": "2020-01-01T00:00:00+00:00"}, False),
        ({"created": "2020-01-01T00:00:00+00:00"}, False),
        ({"type": "v6e-1"}, False),
        ({"project": "another"}, False),
    ],
    ids=["seen", "unanswered", "made-anew", "other-type", "other-project"],
)
def test_leftover_request_is_ours_by_ledger(
    cloud: ZonesCloud, change: dict[str, Any], is_ours: bool
) -> None:
    """The entry must show this very request, and not only its name."""
    cloud.add_foreign(FIRST, "bert", ((0, "SUSPENDED"),))
    entry = replace(removal.make_entry_for_foreign_tpu(PROJECT.name, doomed(cloud)), created="")
    ledger.add_ledger_entry(replace(entry, **change))
    found = leftovers(WatchedClient(cloud))

    assert (is_ours, not is_ours) == (bool(found.ours), bool(found.others))


@pytest.mark.parametrize(
    ("change", "is_ours"),
    [
        ({}, True),
        ({"name": "bert", "nodes": ("bert-0", "bert-1")}, True),
        ({"phase": "sent"}, False),
        ({"asked": "2099-01-01T00:00:00+00:00"}, False),
        ({"tier": "spot"}, False),
    ],
    ids=["seen", "of-multislice", "unanswered", "older", "other-tier"],
)
def test_leftover_node_is_ours_by_ledger(
    cloud: ZonesCloud, change: dict[str, Any], is_ours: bool
) -> None:
    """A node that was there before the request was sent is somebody else's."""
    full = node(cloud, "bert-0", "PREEMPTED")
    cloud.nodes[full].create_time = cloud.clock.now()
    entry = removal.make_entry_for_foreign_tpu(PROJECT.name, doomed(cloud, "bert-0"))
    ledger.add_ledger_entry(replace(entry, **change))
    found = leftovers(WatchedClient(cloud))

    assert (is_ours, not is_ours) == (bool(found.ours), bool(found.others))


@pytest.mark.parametrize("kind", ["request", "node"])
def test_deletion_takes_nothing_that_was_not_shown(cloud: ZonesCloud, kind: str) -> None:
    """The question may be open for hours, in which the name becomes another TPU's."""
    if kind == "request":
        cloud.add_foreign(FIRST, "bert", ((0, "SUSPENDED"),))
        plan = doomed(cloud)
        cloud.made.clear()
        cloud.clock.sleep(3600)
        cloud.add_foreign(FIRST, "bert")
    else:
        full = node(cloud, "bert", "READY")
        cloud.nodes[full].create_time = cloud.clock.now()
        plan = doomed(cloud)
        cloud.clock.sleep(3600)
        cloud.nodes[full].create_time = cloud.clock.now()
    before = cloud.existing()

    with pytest.raises(Problem):
        exhaust(removal.carry_out_deletion(WatchedClient(cloud), plan, cloud.clock))
    assert before.keys() == cloud.existing().keys()
    assert [] == ledger.read_ledger()


def test_parts_of_a_slice_are_no_other_slice() -> None:
    """The rest of one whose machines are gone has the creation time of its template."""
    now = datetime.now(timezone.utc)
    shown = QueuedResource("my-project", FIRST, "bert", "ACTIVE", created=now)
    later = replace(shown, created=now + timedelta(hours=1))

    ownership.require_same_resource(shown, None)
    ownership.require_same_resource(shown, replace(later, state="INCOMPLETE"))
    with pytest.raises(Problem):
        ownership.require_same_resource(shown, later)


def test_stop_ends_nothing_that_was_not_shown(cloud: ZonesCloud) -> None:
    """A TPU VM that has the name by now is somebody else's, and so is its work."""
    full = node(cloud, "bert", "READY")
    cloud.nodes[full].create_time = cloud.clock.now()
    client = WatchedClient(cloud)
    (shown,) = client.nodes().items
    cloud.clock.sleep(3600)
    cloud.nodes[full].create_time = cloud.clock.now()

    with pytest.raises(Problem):
        exhaust(stop_and_start.stop_or_start(client, "stop", shown, cloud.clock))
    assert [] == cloud.called("StopNode")


def test_multislice_is_deleted_with_its_nodes(cloud: ZonesCloud) -> None:
    """A multislice is deleted by the name of its request together with its nodes."""
    walk(cloud, [asked(slices=3)])
    one = doomed(cloud, "bert-1")

    assert "bert" == one.name
    assert ["bert-0", "bert-1", "bert-2"] == [row.name for row in one.nodes]
    _, is_gone = exhaust(removal.carry_out_deletion(WatchedClient(cloud), one, cloud.clock))
    assert is_gone
    assert {} == cloud.existing()


def test_a_name_in_two_zones_means_both(cloud: ZonesCloud) -> None:
    """A name in two zones means both, so the user must choose."""
    cloud.scripts[FIRST] = [(SOON, None)]
    for zone in ZONES:
        cloud.add_foreign(zone, "bert")
    client = WatchedClient(cloud)
    found = removal.find_deletion_plans(
        client.queued_resources().items, client.nodes().items, "bert"
    )

    assert ZONES == [one.zone for one in found]
