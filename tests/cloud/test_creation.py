"""Tests of walks over zones: the effect of each kind of error, and safe handling of requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from google.cloud import tpu_v2

from tests.support.cloud_runs import (
    CAPACITY,
    CONFIG,
    DENIED,
    FIRST,
    INTERNAL,
    PROJECT,
    QUOTA,
    SECOND,
    ZONES,
    WatchedClient,
    ZonesCloud,
    asked,
    everywhere,
    exhaust,
    in_ledger,
    told,
    two_zones,
    walk,
)
from tests.support.fake_cloud import NEVER, SOON, Fault, Made
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger_reconciliation import reconcile_ledger
from tpustarter.cloud.create.events import RequestMayExist
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.core.problem import Problem

CLOSED_ZONE = (7, f"Permission denied on 'locations/{FIRST}' (or it may not exist).")


@pytest.fixture
def cloud() -> Iterator[ZonesCloud]:
    """Run a service of two zones."""
    with two_zones(1) as served:
        yield served


def requested(cloud: ZonesCloud) -> list[str]:
    """Return the zones that were asked for a TPU, in order."""
    return [message.parent.rpartition("/")[2] for message in cloud.called("CreateQueuedResource")]


def test_first_zone_with_capacity_ends_search(cloud: ZonesCloud) -> None:
    """The first zone with capacity ends the search, and its TPU is in the ledger."""
    seen, resource = walk(cloud, everywhere())

    assert [f"RequestSent {FIRST}", f"RequestStateChanged {FIRST} ACCEPTED"] == told(seen)[:2]
    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert not isinstance(resource, Problem)
    assert resource is not None
    assert [FIRST] == requested(cloud)
    assert {(FIRST, "bert")} == cloud.ours() == in_ledger()


@pytest.mark.parametrize(
    ("error", "zones"),
    [
        (CAPACITY, [FIRST, SECOND]),
        (QUOTA, [FIRST, SECOND]),
        (CONFIG, [FIRST, SECOND]),
        (INTERNAL, [FIRST, SECOND]),
        (CLOSED_ZONE, [FIRST, SECOND]),
        (DENIED, [FIRST]),
    ],
    ids=["capacity", "quota", "config", "internal", "closed-zone", "denied"],
)
def test_error_decides_next_zone_or_end(
    cloud: ZonesCloud, error: tuple[int, str], zones: list[str]
) -> None:
    """The error decides between the next zone and the end of the walk."""
    cloud.refusals[FIRST] = [error] * 9
    seen, result = walk(cloud, everywhere())

    assert zones == requested(cloud)
    assert f"RequestRefused {FIRST}" in told(seen)
    if error is DENIED:
        assert isinstance(result, CloudProblem)
        assert "denied" == result.kind
        assert set() == in_ledger()
    else:
        assert not isinstance(result, Problem)
        assert (SECOND, "bert") in in_ledger()


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(CAPACITY, 3), (INTERNAL, 2), (QUOTA, 1), (CONFIG, 1), (DENIED, 1)],
    ids=["capacity", "internal", "quota", "config", "denied"],
)
def test_zone_attempts_are_limited(
    cloud: ZonesCloud, error: tuple[int, str], attempts: int
) -> None:
    """Capacity comes later, an internal error is tried once more, and the others never."""
    cloud.refusals[FIRST] = [error] * 9
    _, result = walk(cloud, [asked(FIRST)], rounds=3)

    assert attempts == len(requested(cloud))
    assert isinstance(result, CloudProblem)
    assert error[1].startswith(result.text[:20])


def test_pauses_between_rounds_are_minutes_and_vary(cloud: ZonesCloud) -> None:
    """Pauses between rounds are minutes long and vary, and there is none after the last one."""
    cloud.refusals[FIRST] = [CAPACITY] * 9
    walk(cloud, [asked(FIRST)], rounds=3)

    assert 2 == len(cloud.clock.slept)
    assert all(60 <= seconds <= 180 for seconds in cloud.clock.slept)
    assert cloud.clock.slept[0] != cloud.clock.slept[1]


def test_endless_queue_moves_to_next_zone(cloud: ZonesCloud) -> None:
    """A request that stays queued is deleted before the next zone is tried."""
    cloud.scripts[FIRST] = [(NEVER, None)]
    seen, _ = walk(cloud, everywhere(), patience_s=600)

    order = [
        row
        for row in told(seen)
        if row.startswith(("RequestSent", "RequestWithdrawn", "RequestGone", "TpuReady"))
    ]
    assert [
        f"RequestSent {FIRST}",
        f"RequestWithdrawn {FIRST}",
        f"RequestGone {FIRST}",
        f"RequestSent {SECOND}",
        f"TpuReady {SECOND} ACTIVE",
    ] == order
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()


def test_only_zone_is_retried_until_capacity(cloud: ZonesCloud) -> None:
    """With only one zone, its queue is awaited until there is capacity."""
    cloud.scripts[FIRST] = [((*NEVER, (86_400, "PROVISIONING"), (86_500, "ACTIVE")), None)]
    seen, _ = walk(cloud, [asked(FIRST)], patience_s=600)

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert 1 == len(requested(cloud))


def test_provisioning_request_is_followed_not_replaced(cloud: ZonesCloud) -> None:
    """A request that is being provisioned is followed, because Google can't delete it."""
    cloud.scripts[FIRST] = [
        (((0, "WAITING_FOR_RESOURCES"), (601, "PROVISIONING"), (2000, "ACTIVE")), None)
    ]
    seen, _ = walk(cloud, everywhere(), patience_s=615)

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert [FIRST] == requested(cloud)
    assert [] == cloud.called("DeleteQueuedResource")


def test_request_with_capacity_during_deletion_is_kept(cloud: ZonesCloud) -> None:
    """A request that gets capacity during its deletion is followed and kept."""
    cloud.scripts[FIRST] = [(NEVER, None)]

    def provision(method: str) -> None:
        if method == "DeleteQueuedResource":
            (made,) = cloud.made.values()
            made.steps = (*NEVER, (30, "PROVISIONING"), (1500, "ACTIVE"))

    cloud.before_call = provision
    seen, _ = walk(cloud, everywhere(), patience_s=600)

    assert [f"RequestWithdrawn {FIRST}", f"RequestMayExist {FIRST}"] == [
        row for row in told(seen) if row.startswith(("RequestWithdrawn", "RequestMayExist"))
    ]
    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert [FIRST] == requested(cloud)


def test_preemption_before_use_moves_on(cloud: ZonesCloud) -> None:
    """A request that is pre-empted before use is deleted by force; the next zone is tried."""
    cloud.scripts[FIRST] = [((*SOON[:3], (150, "SUSPENDING"), (300, "SUSPENDED")), None)]
    seen, _ = walk(cloud, everywhere())

    assert f"TpuReady {SECOND} ACTIVE" == told(seen)[-1]
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()
    assert [True] == [message.force for message in cloud.called("DeleteQueuedResource")]


@pytest.mark.parametrize("error", [CAPACITY, QUOTA, INTERNAL])
def test_late_failure_moves_to_next_zone(cloud: ZonesCloud, error: tuple[int, str]) -> None:
    """A request that fails late is deleted, and the next zone is tried."""
    cloud.scripts[FIRST] = [(((0, "ACCEPTED"), (60, "FAILED")), error)] * 9
    seen, _ = walk(cloud, everywhere())

    assert f"RequestRefused {FIRST}" in told(seen)
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()


def test_node_deleted_by_user_ends_creation(cloud: ZonesCloud) -> None:
    """A node that the user deletes ends the creation, and no other zone is tried."""
    cloud.scripts[FIRST] = [((*SOON[:3], (150, "SUSPENDING"), (300, "SUSPENDED")), None)]
    cloud.suspended_by = tpu_v2.QueuedResourceState.StateInitiator.USER
    _, result = walk(cloud, everywhere())

    assert isinstance(result, CloudProblem)
    assert [FIRST] == requested(cloud)


def test_foreign_deletion_ends_creation(cloud: ZonesCloud) -> None:
    """A deletion by somebody else ends the creation, and the ledger is empty."""

    def delete(method: str) -> None:
        if method == "GetQueuedResource" and cloud.clock.slept[3:]:
            for made in cloud.made.values():
                made.deleted_at = made.deleted_at or cloud.clock.now()

    cloud.before_call = delete
    cloud.scripts[FIRST] = [(NEVER, None)]
    _, result = walk(cloud, everywhere())

    assert isinstance(result, CloudProblem)
    assert "missing" == result.kind
    assert 1 == len(requested(cloud))
    assert set() == in_ledger()


@pytest.mark.parametrize("zones", [[FIRST], ZONES], ids=["one zone", "two zones"])
def test_taken_name_is_refused(cloud: ZonesCloud, zones: list[str]) -> None:
    """If the name is taken, nothing is adopted or deleted, and the ledger stays empty."""
    full = cloud.add_foreign(FIRST, "bert")
    _, result = walk(cloud, everywhere(zones))

    assert isinstance(result, CloudProblem)
    assert "name" == result.kind
    assert full in cloud.existing()
    assert set() == in_ledger()
    assert [] == requested(cloud) == cloud.called("DeleteQueuedResource")


def test_name_taken_during_request_is_refused(cloud: ZonesCloud) -> None:
    """A name that is taken during the request is refused, because the TPU isn't ours."""

    def take(method: str) -> None:
        if method == "CreateQueuedResource":
            cloud.add_foreign(FIRST, "bert")

    cloud.before_call = take
    _, result = walk(cloud, everywhere())

    assert isinstance(result, CloudProblem)
    assert "name" == result.kind
    assert set() == in_ledger()
    assert [] == cloud.called("DeleteQueuedResource")


@pytest.mark.parametrize("carried_out", [True, False], ids=["after", "before"])
def test_lost_answer_finds_created_request(cloud: ZonesCloud, carried_out: bool) -> None:
    """A lost answer leads to a query, and to a second request only if none arrived."""
    cloud.faults["CreateQueuedResource"] = [Fault(14, "Socket closed", after=carried_out)]
    seen, _ = walk(cloud, everywhere())

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert (1 if carried_out else 2) == len(requested(cloud))
    assert {(FIRST, "bert")} == cloud.ours() == in_ledger()


@pytest.mark.parametrize("carried_out", [True, False], ids=["after", "before"])
def test_lost_answer_without_network_keeps_entry(cloud: ZonesCloud, carried_out: bool) -> None:
    """A lost answer without a network ends the walk, and the ledger keeps the entry."""
    lost = Fault(14, "Socket closed", after=carried_out)
    cloud.faults["CreateQueuedResource"] = [lost, Fault(14, "Socket closed")]

    def no_network(method: str) -> None:
        if method == "CreateQueuedResource":
            cloud.faults["GetQueuedResource"] = [Fault(14, "Socket closed")] * 8

    cloud.before_call = no_network
    seen, result = walk(cloud, everywhere())

    assert isinstance(result, CloudProblem)
    assert "network" == result.kind
    assert isinstance(seen[-2], RequestMayExist)
    assert {(FIRST, "bert")} == in_ledger()

    cloud.before_call = None
    cloud.faults.clear()
    exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))
    assert {(FIRST, "bert")} == in_ledger()

    cloud.clock.sleep(601)
    _, left = exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))
    assert cloud.ours() == in_ledger() == {(entry.zone, entry.name) for entry in left}


def test_a_loser_that_shows_late_is_taken_back(cloud: ZonesCloud) -> None:
    """A slower request that appears late is deleted, because another zone was faster."""
    cloud.faults["CreateQueuedResource"] = [Fault(*INTERNAL, after=True)]
    cloud.scripts[FIRST] = [(NEVER, None)]
    late = f"projects/my-project/locations/{FIRST}/queuedResources/bert"
    hidden: list[Made] = []

    def hide(method: str) -> None:
        if method == "GetQueuedResource" and late in cloud.made and not hidden:
            hidden.append(cloud.made.pop(late))
        if cloud.clock.slept[3:] and hidden:
            cloud.made[late] = hidden[0]

    cloud.before_call = hide
    seen, _ = walk(cloud, everywhere(), patience_s=600)

    assert [f"RequestMayExist {FIRST}", f"RequestRefused {FIRST}"] == told(seen)[:2]
    assert [f"RequestWithdrawn {FIRST}", f"RequestGone {FIRST}"] == told(seen)[-2:]
    assert [FIRST, SECOND] == requested(cloud)
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()


def test_endless_operation_is_given_up(cloud: ZonesCloud) -> None:
    """A request that Google accepts but never shows is given up after 30 min, and is kept."""
    cloud.operations["bert"] = False

    def vanish(method: str) -> None:
        if method == "GetQueuedResource":
            cloud.made.clear()

    cloud.before_call = vanish
    _, result = walk(cloud, [asked(FIRST)])

    assert isinstance(result, Problem)
    assert "has not shown it for 30 min" in result.full_text
    assert {(FIRST, "bert")} == in_ledger()


def test_failed_operation_moves_to_next_zone(cloud: ZonesCloud) -> None:
    """A failed operation shows its error, and the next zone is tried."""
    cloud.operations["bert"] = QUOTA

    def vanish(method: str) -> None:
        if method == "GetQueuedResource" and len(requested(cloud)) == 1:
            cloud.made.clear()

    cloud.before_call = vanish
    seen, _ = walk(cloud, everywhere())

    assert f"RequestRefused {FIRST}" in told(seen)
    assert f"TpuReady {SECOND} ACTIVE" == told(seen)[-1]
    assert {(SECOND, "bert")} == in_ledger()


def test_following_continues_after_network_errors(cloud: ZonesCloud) -> None:
    """Looks without an answer are told, and the wait goes on."""
    calls = 0

    def fail_some(method: str) -> None:
        nonlocal calls
        calls += method == "GetQueuedResource"
        if calls in (5, 9):
            cloud.faults["GetQueuedResource"] = [Fault(14, "no route to host")] * 4

    cloud.before_call = fail_some
    seen, _ = walk(cloud, everywhere())

    assert "SendingPaused" in told(seen)
    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]


def test_creation_after_crash_resumes_existing_request(cloud: ZonesCloud) -> None:
    """After a crash, the existing request is resumed instead of sending a second one."""
    cloud.scripts[SECOND] = [(SOON, None)]
    happening = TpuCreation(WatchedClient(cloud), PROJECT, cloud.clock).run([asked(SECOND)])
    next(happening)
    happening.close()

    seen, _ = walk(cloud, [asked(FIRST)])

    assert [f"RequestResumed {SECOND}", f"TpuReady {SECOND} ACTIVE"] == [
        told(seen)[0],
        told(seen)[-1],
    ]
    assert [SECOND] == requested(cloud)
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()


def test_creating_again_as_another_type_is_refused(cloud: ZonesCloud) -> None:
    """Creating a TPU again as another type is refused, and the first request stays."""
    walk(cloud, [asked(FIRST)], wait=False)
    _, result = walk(cloud, [asked(FIRST, tier="on-demand")])

    assert isinstance(result, Problem)
    assert "exists already: you asked for it as v6e-8, spot" in result.full_text
    assert {(FIRST, "bert")} == cloud.ours() == in_ledger()


def test_same_name_from_another_day_is_left_alone(cloud: ZonesCloud) -> None:
    """A request of ours was never answered; days later somebody has made the same."""
    cloud.faults["CreateQueuedResource"] = [Fault(14, "Socket closed")] * 2
    walk(cloud, [asked(FIRST)])
    cloud.clock.time += timedelta(days=2)
    full = cloud.add_foreign(FIRST, "bert")
    _, result = walk(cloud, [asked(FIRST)])

    assert isinstance(result, Problem)
    assert "may be somebody else's" in result.full_text
    assert full in cloud.existing()
    assert [] == cloud.called("DeleteQueuedResource")


def test_unwritable_ledger_blocks_request(
    cloud: ZonesCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the ledger can't be written, no request is sent."""
    monkeypatch.setenv("TPUSTARTER_HOME", "/dev/full/state")
    _, result = walk(cloud, [asked(FIRST)])

    assert isinstance(result, Problem)
    assert "cannot write" in result.full_text
    assert [] == requested(cloud)


def test_creation_without_wait_is_accepted_and_recorded(cloud: ZonesCloud) -> None:
    """A creation without waiting is recorded once Google has accepted it."""
    _, resource = walk(cloud, everywhere(), wait=False)

    assert resource is None
    assert ["taken"] == [entry.phase for entry in ledger.read_ledger()]
    assert [FIRST] == requested(cloud)
