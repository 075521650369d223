"""A day over five zones in which everything goes wrong, and our process ends at each of its points.

Each zone has a bad day of its own. After a crash a new process reads the ledger, compares it with
what Google lists, and goes on. In the evening there is the one TPU that the user wanted.
"""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from tests.support.cloud_runs import (
    CAPACITY,
    INTERNAL,
    QUOTA,
    Crash,
    CrashError,
    WatchedClient,
    ZonesCloud,
    everywhere,
    exhaust,
    in_ledger,
)
from tests.support.cloud_runs import PROJECT as OURS
from tests.support.fake_cloud import NEVER, SOON, serving
from tpustarter.cloud.api import resource_states
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger_reconciliation import reconcile_ledger
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.delete import removal

FULL, NO_QUOTA, QUEUE, FLAKY, GOOD = ZONES = [
    "us-central1-a",
    "us-central2-b",
    "us-east1-d",
    "us-east5-a",
    "us-west4-a",
]
LONG = timedelta(hours=10)
"""How long the user wants the TPU."""
LOOK_S = 900.0


def bad_day() -> ZonesCloud:
    """Return the service, with what will happen in each zone."""
    cloud = ZonesCloud(zones=[*ZONES])
    cloud.refusals = {
        FULL: [CAPACITY] * 50,
        NO_QUOTA: [QUOTA] * 50,
        FLAKY: [INTERNAL, INTERNAL, *[CAPACITY] * 50],
    }
    cloud.is_lost = {GOOD: [False, True]}
    cloud.scripts = {
        QUEUE: [(NEVER, None)] * 50,
        # It gets capacity and loses it before it is of use; later it is there for three hours.
        GOOD: [
            ((*SOON[:3], (150, "SUSPENDING"), (200, "SUSPENDED")), None),
            ((*SOON, (3 * 3600, "SUSPENDING"), (3 * 3600 + 60, "SUSPENDED")), None),
            *[(SOON, None)] * 50,
        ],
    }
    cloud.add_foreign(QUEUE, "colleague")
    cloud.add_foreign(GOOD, "colleague", ((0, "ACTIVE"), (3600, "SUSPENDED")))
    return cloud


def live_through(cloud: ZonesCloud, client: WatchedClient) -> None:
    """Act as a user does all day: keep a TPU alive, and create another when it is lost."""
    evening = cloud.clock.time.replace(hour=8, minute=0, second=0, microsecond=0) + LONG
    while cloud.clock.now() < evening:
        exhaust(reconcile_ledger(client, cloud.clock))
        queued, nodes = client.queued_resources(), client.nodes()
        for one in removal.find_leftovers(client.project, queued.items, nodes.items).ours:
            exhaust(removal.carry_out_deletion(client, one, cloud.clock))
        creation = TpuCreation(client, OURS, cloud.clock)
        _, resource = exhaust(creation.run(everywhere(ZONES), patience_s=600))

        assert resource is not None
        while not (resource_states.is_leftover(resource) or cloud.clock.now() >= evening):
            cloud.clock.sleep(LOOK_S)
            resource = client.queued_resource(resource.zone, resource.name)

            assert resource is not None
    exhaust(reconcile_ledger(client, cloud.clock))


def active(cloud: ZonesCloud) -> list[str]:
    """Return zones in which there is a TPU of ours."""
    return [zone for zone, _ in sorted(cloud.ours())]


def day(crash: Crash) -> tuple[ZonesCloud, int]:
    """Return the service in the evening, and how many processes the day took."""
    random.seed(15)
    processes = 1
    with serving(bad_day()) as served:
        assert isinstance(served, ZonesCloud)
        try:
            live_through(served, WatchedClient(served, crash))
        except CrashError:
            processes += 1
            live_through(served, WatchedClient(served))
        return served, processes


def assert_good_evening(cloud: ZonesCloud) -> None:
    """There is one TPU of ours, it is in the ledger, and nothing else of ours is anywhere."""
    assert {(GOOD, "bert")} == cloud.ours() == in_ledger()
    assert ["seen"] == [entry.phase for entry in ledger.read_ledger()]
    assert (
        "ACTIVE" == cloud.existing()[f"projects/my-project/locations/{GOOD}/queuedResources/bert"]
    )
    assert {name for name in cloud.by_others if name in cloud.existing()} == cloud.by_others


def test_a_day_without_a_crash() -> None:
    """The walk ends in the good zone, three times, and others' resources are left alone."""
    crash = Crash()
    cloud, _ = day(crash)

    assert_good_evening(cloud)
    print(f"\ncalls that change something: {crash.calls}; in all: {len(cloud.calls)}")
    assert crash.calls >= 10


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 11))
def test_crash_at_any_call_changes_no_final_state(at: int, after: bool) -> None:
    """Ours ends at the n-th call that changes something, before or after it is carried out.

    Before it is carried out means between the ledger's write and the request.
    """
    cloud, processes = day(Crash(at, after))

    assert 2 == processes
    assert_good_evening(cloud)
