"""Walks over zones: what each kind of error leads to, and what is never forgotten or touched."""

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
    """It is followed to the end, and stays in the ledger as seen."""
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
    """Another zone may have what this one has not; a permission is missing everywhere."""
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
    """Nobody waits after the last one."""
    cloud.refusals[FIRST] = [CAPACITY] * 9
    walk(cloud, [asked(FIRST)], rounds=3)

    assert 2 == len(cloud.clock.slept)
    assert all(60 <= seconds <= 180 for seconds in cloud.clock.slept)
    assert cloud.clock.slept[0] != cloud.clock.slept[1]


def test_endless_queue_moves_to_next_zone(cloud: ZonesCloud) -> None:
    """The request is taken back and gone before another one is sent."""
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
    """A day in the queue is no reason to give up the place in it."""
    cloud.scripts[FIRST] = [((*NEVER, (86_400, "PROVISIONING"), (86_500, "ACTIVE")), None)]
    seen, _ = walk(cloud, [asked(FIRST)], patience_s=600)

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert 1 == len(requested(cloud))


def test_provisioning_request_is_followed_not_replaced(cloud: ZonesCloud) -> None:
    """Google refuses to delete it, so no other zone is asked, and it is taken when it is there."""
    cloud.scripts[FIRST] = [
        (((0, "WAITING_FOR_RESOURCES"), (601, "PROVISIONING"), (2000, "ACTIVE")), None)
    ]
    seen, _ = walk(cloud, everywhere(), patience_s=615)

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert [FIRST] == requested(cloud)
    assert [] == cloud.called("DeleteQueuedResource")


def test_request_with_capacity_during_deletion_is_kept(cloud: ZonesCloud) -> None:
    """Between the look and the deletion it went on to PROVISIONING; then it is followed."""
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
    """What is left of it is deleted by force, and the next zone is asked."""
    cloud.scripts[FIRST] = [((*SOON[:3], (150, "SUSPENDING"), (300, "SUSPENDED")), None)]
    seen, _ = walk(cloud, everywhere())

    assert f"TpuReady {SECOND} ACTIVE" == told(seen)[-1]
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()
    assert [True] == [message.force for message in cloud.called("DeleteQueuedResource")]


@pytest.mark.parametrize("error", [CAPACITY, QUOTA, INTERNAL])
def test_late_failure_moves_to_next_zone(cloud: ZonesCloud, error: tuple[int, str]) -> None:
    """Its error stands in the resource; it is deleted, for it holds name and quota."""
    cloud.scripts[FIRST] = [(((0, "ACCEPTED"), (60, "FAILED")), error)] * 9
    seen, _ = walk(cloud, everywhere())

    assert f"RequestRefused {FIRST}" in told(seen)
    assert {(SECOND, "bert")} == cloud.ours() == in_ledger()


def test_node_deleted_by_user_ends_creation(cloud: ZonesCloud) -> None:
    """Its request looks as after a pre-emption, and no other zone is asked in its place."""
    cloud.scripts[FIRST] = [((*SOON[:3], (150, "SUSPENDING"), (300, "SUSPENDED")), None)]
    cloud.suspended_by = tpu_v2.QueuedResourceState.StateInitiator.USER
    _, result = walk(cloud, everywhere())

    assert isinstance(result, CloudProblem)
    assert [FIRST] == requested(cloud)


def test_foreign_deletion_ends_creation(cloud: ZonesCloud) -> None:
    """That is said, nothing is asked anew, and the ledger is empty."""

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
    """It is neither gone on with nor deleted, and nothing of it gets into the ledger."""
    full = cloud.add_foreign(FIRST, "bert")
    _, result = walk(cloud, everywhere(zones))

    assert isinstance(result, CloudProblem)
    assert "name" == result.kind
    assert full in cloud.existing()
    assert set() == in_ledger()
    assert [] == requested(cloud) == cloud.called("DeleteQueuedResource")


def test_name_taken_during_request_is_refused(cloud: ZonesCloud) -> None:
    """Google refuses ours, so what has the name is not ours."""

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
    """Google is asked whether the request arrived, and if not it is sent once more."""
    cloud.faults["CreateQueuedResource"] = [Fault(14, "Socket closed", after=carried_out)]
    seen, _ = walk(cloud, everywhere())

    assert f"TpuReady {FIRST} ACTIVE" == told(seen)[-1]
    assert (1 if carried_out else 2) == len(requested(cloud))
    assert {(FIRST, "bert")} == cloud.ours() == in_ledger()


@pytest.mark.parametrize("carried_out", [True, False], ids=["after", "before"])
def test_lost_answer_without_network_keeps_entry(cloud: ZonesCloud, carried_out: bool) -> None:
    """The walk ends, and the ledger keeps what may exist until Google says what came of it."""
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
    """Its creation was answered with an internal error; another zone was faster."""
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
    """What Google took and does not show ends the wait after half an hour, and is kept."""
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
    """Its error is the one that is shown, and the next zone is asked."""
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
    """No second request is sent, also where other zones are named now."""
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
    """The earlier request stays as it is."""
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
    """A full disk, or a folder of somebody else's, ends it before the request leaves."""
    monkeypatch.setenv("TPUSTARTER_HOME", "/dev/full/state")
    _, result = walk(cloud, [asked(FIRST)])

    assert isinstance(result, Problem)
    assert "cannot write" in result.full_text
    assert [] == requested(cloud)


def test_creation_without_wait_is_accepted_and_recorded(cloud: ZonesCloud) -> None:
    """Its phase says that Google has answered."""
    _, resource = walk(cloud, everywhere(), wait=False)

    assert resource is None
    assert ["taken"] == [entry.phase for entry in ledger.read_ledger()]
    assert [FIRST] == requested(cloud)
