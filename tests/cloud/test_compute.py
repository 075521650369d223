"""TPUs of Compute Engine, got and given back over REST on loopback, as the Cloud TPU API's are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cloud_runs import Crash, CrashError, exhaust
from tests.support.fake_cloud import channel
from tests.support.fake_cloud import serving as serving_tpu_api
from tests.support.fake_compute import (
    DELETE_S,
    PROJECT,
    QUOTA,
    STOCKOUT,
    WAITS,
    ZONE,
    FakeCompute,
    connect,
    serving,
)
from tests.support.fake_google import refusal
from tpustarter.cloud.api import compute_requests, resource_states
from tpustarter.cloud.api.cloud_client import CloudClient
from tpustarter.cloud.api.compute_client import ComputeClient
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.rest_client import RestClient
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.billing import cost, inventory, ledger
from tpustarter.cloud.billing.ledger_reconciliation import reconcile_ledger
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.events import Event
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import removal, stop_and_start
from tpustarter.core.problem import ExitCode, Problem

HERE = Project(PROJECT, "--project")
OTHER = "us-central1-c"


@pytest.fixture
def compute() -> Iterator[FakeCompute]:
    """Run a service."""
    with serving() as running:
        yield running


def asked(kind: str = "v6e-8", zone: str = ZONE, name: str = "bert", **more: Any) -> TpuRequest:
    """Return a request for a TPU of Compute Engine."""
    return TpuRequest(name, tpu_request.parse_type(kind), zone, "", api="compute", **more)


def create(
    compute: FakeCompute, *requests: TpuRequest, client: ComputeClient | None = None, **how: Any
) -> tuple[list[Event], Any]:
    """Return the events of a TPU's creation, and the outcome."""
    client = client or connect(compute)
    return exhaust(TpuCreation(client, HERE, compute.clock).run(requests, **how))


def delete(compute: FakeCompute, name: str = "bert") -> list[bool]:
    """Delete all TPUs of a name, and return whether each is gone."""
    client = connect(compute)
    queued, nodes = client.resources()
    plans = removal.find_deletion_plans(queued.items, nodes.items, name)
    return [exhaust(removal.carry_out_deletion(client, one, compute.clock))[1] for one in plans]


def rows(compute: FakeCompute) -> list[tuple[str, str, int, str]]:
    """Return name, type, chips and state of each row of the list."""
    seen = inventory.fetch_overview(connect(compute), compute.clock)
    return [(row.name, row.type, row.chips, row.state.name) for row in seen.rows]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("v6e-8", 1), ("v5p-8", 1), ("tpu7x-8", 1), ("v6e-16", 3), ("tpu7x-64", 3)],
)
def test_tpu_is_created_listed_and_deleted(compute: FakeCompute, kind: str, parts: int) -> None:
    """A TPU is created, listed and deleted without a remaining resource."""
    _, resource = create(compute, asked(kind))
    made = [path for path, thing in compute.things.items() if thing]
    tpu = tpu_request.parse_type(kind)

    assert "ACTIVE" == resource.state
    assert parts == len(made)
    assert [("bert", kind, tpu.chips, "ACTIVE")] == rows(compute)
    assert ["seen"] == [entry.phase for entry in ledger.read_ledger()]
    assert [True] == delete(compute)
    assert {} == compute.existing()
    assert [] == ledger.read_ledger() == rows(compute)


def test_workers_of_slice_have_names_and_addresses(compute: FakeCompute) -> None:
    """They are the instances of its group, in the order of their names."""
    create(compute, asked("v6e-16"))
    node = connect(compute).node(ZONE, "bert")

    assert node is not None
    assert ("READY", 4) == (node.state, node.workers)
    assert ("bert-0000", "bert-0001", "bert-0002", "bert-0003") == node.instances
    assert 4 == len({*node.internal_addresses}) == len({*node.external_addresses})


@pytest.mark.parametrize("kind", ["v6e-8", "v6e-16"])
def test_lack_of_capacity_leaves_nothing(compute: FakeCompute, kind: str) -> None:
    """A lack of capacity leaves no instance behind."""
    compute.scripts = [(((0, "PROVISIONING"),), STOCKOUT)]
    with pytest.raises(CloudProblem) as error:
        create(compute, asked(kind), rounds=1)

    assert ("capacity", "no-capacity") == (
        error.value.kind,
        error.value.failure and error.value.failure.id,
    )
    assert {} == compute.existing()
    assert [] == ledger.read_ledger()


def test_next_zone_is_tried_without_capacity(compute: FakeCompute) -> None:
    """The next zone is tried without capacity, and at most one TPU exists at any time."""
    compute.scripts = [(((0, "PROVISIONING"),), STOCKOUT)]
    _, resource = create(compute, asked("v6e-16"), asked("v6e-16", OTHER))

    assert OTHER == resource.zone
    assert [(OTHER, "bert")] == [(one.zone, one.name) for one in ledger.read_ledger()]


@pytest.mark.parametrize(
    ("status", "text", "reason", "kind"),
    [
        (403, QUOTA, "quotaExceeded", "quota"),
        (403, "Quota 'X' exceeded.", "quotaExceeded", "quota"),
        (400, "Invalid value for field 'resource.machineType': 'x'", "invalid", "config"),
        (503, "Internal error. Please try again or contact Google Support.", "", "internal"),
        (403, "Required 'compute.instances.create' permission for 'projects/p'", "", "denied"),
    ],
)
def test_refusal_has_kind_of_known_failure(
    compute: FakeCompute, status: int, text: str, reason: str, kind: str
) -> None:
    """Quota and capacity are told apart, and a refused slice leaves neither template nor policy."""
    compute.refusals = {"instanceGroupManagers": [refusal(status, text, reason)]}
    with pytest.raises(CloudProblem) as error:
        connect(compute).create(asked("v6e-16"))

    assert kind == error.value.kind
    left = 2 if kind == "internal" else 0  # nobody knows whether the group was made
    assert left == len(compute.existing())


def test_flex_start_waits_and_is_withdrawn(compute: FakeCompute) -> None:
    """A flex-start request waits without being billed, and is withdrawn after the patience."""
    compute.scripts = [(WAITS, None)]
    request = {"tier": "flex-start", "run_s": 3600}
    _, resource = create(compute, asked(**request), asked(zone=OTHER, **request), patience_s=60)
    body = next(body for method, _, body in compute.asked if method == "POST")

    assert OTHER == resource.zone
    assert "flex-start" == resource.tier
    assert {"seconds": "3600"} == body["scheduling"]["maxRunDuration"]
    assert {"seconds": "7200"} == body["params"]["requestValidForDuration"]


def test_slice_without_machines_is_withdrawn(compute: FakeCompute) -> None:
    """A slice without machines is withdrawn after a while, and the next zone is tried."""
    compute.scripts = [(WAITS, None)]
    request = {"tier": "flex-start", "run_s": 3600}
    here, there = asked("v6e-16", **request), asked("v6e-16", OTHER, **request)
    _, resource = create(compute, here, there, patience_s=60)

    assert ("ACTIVE", OTHER) == (resource.state, resource.zone)
    assert [(OTHER, "bert")] == [(one.zone, one.name) for one in ledger.read_ledger()]


def test_group_that_waits_shows_why(compute: FakeCompute) -> None:
    """A group that waits for capacity shows its last error, which doesn't end the wait."""
    compute.scripts = [(((0, "PROVISIONING"),), None)]
    client = connect(compute)
    client.create(asked("v6e-16"))
    compute.things[f"zones/{ZONE}/instanceGroupManagers/bert"].fails = STOCKOUT
    resource = client.queued_resource(ZONE, "bert")

    assert resource is not None
    assert "WAITING_FOR_RESOURCES" == resource.state
    assert not resource_states.find_state_meaning(resource).billed
    assert STOCKOUT[0] in (resource.error or (0, ""))[1]


def test_group_without_machines_is_leftover(compute: FakeCompute) -> None:
    """A group whose machines were taken back is a leftover."""
    create(compute, asked("v6e-16", tier="spot"))
    compute.things[f"zones/{ZONE}/instanceGroupManagers/bert"].steps = ((0, "STOPPED"),)
    path = f"zones/{ZONE}/instanceGroupManagers/bert"
    stable = {**compute.existing()[path], "status": {"isStable": True}}
    compute.things[path].body = stable
    compute.clock.sleep(700)

    assert [("bert", "v6e-16", 16)] == [row[:3] for row in rows(compute)]


def test_stop_and_start_pause_single_host(compute: FakeCompute) -> None:
    """A single host can be stopped and started; a slice is refused before sending."""
    create(compute, asked())
    client = connect(compute)
    node = client.node(ZONE, "bert")
    assert node is not None
    _, stopped = exhaust(stop_and_start.stop_or_start(client, "stop", node, compute.clock))
    seen = inventory.fetch_overview(client, compute.clock)

    assert "STOPPED" == stopped.state
    assert 0 == seen.billed_chips
    _, started = exhaust(stop_and_start.stop_or_start(client, "start", stopped, compute.clock))
    assert "READY" == started.state
    create(compute, asked("v6e-16", name="large"))
    large = client.node(ZONE, "large")
    assert large is not None
    with pytest.raises(Problem):
        stop_and_start.require_can_stop_or_start("stop", large)


def test_lost_answer_is_found_again(compute: FakeCompute) -> None:
    """A creation whose answer was lost is found again, and no second one is sent."""
    compute.is_lost = {"instances": [True]}
    _, resource = create(compute, asked())
    sent = [path for method, path, _ in compute.asked if method == "POST"]

    assert "ACTIVE" == resource.state
    assert 1 == len(sent)


class CrashingClient(ComputeClient):
    """The real client, which ends the process before or after a given change."""

    def __init__(self, compute: FakeCompute, crash: Crash) -> None:
        from google.auth.credentials import AnonymousCredentials

        google = RestClient(AnonymousCredentials(), address=compute.address, total_s=float("inf"))
        super().__init__(PROJECT, google=google, clock=compute.clock)
        self._crash = crash

    def _write(self, *words: Any, **more: Any) -> str:
        self._crash.passes(after=False)
        try:
            return super()._write(*words, **more)
        finally:
            self._crash.passes(after=True)


def create_and_delete(compute: FakeCompute, client: ComputeClient) -> None:
    """Create a slice, and delete it."""
    create(compute, asked("v6e-16"), client=client)
    queued, nodes = client.resources()
    (plan,) = removal.find_deletion_plans(queued.items, nodes.items, "bert")
    exhaust(removal.carry_out_deletion(client, plan, compute.clock))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 7))
def test_crash_at_any_change_loses_nothing(compute: FakeCompute, at: int, after: bool) -> None:
    """A slice takes three changes to make and three to delete; a new process goes on after each.

    Whatever exists and is ours is in the ledger at the crash, and nothing is left in the end.
    """
    compute.add_instance("colleague", "ct6e-standard-4t")
    client = CrashingClient(compute, Crash(at, after))
    with pytest.raises(CrashError):
        create_and_delete(compute, client)
    ours = [path for path in compute.existing() if "bert" in path]

    assert not ours or ["bert"] == [entry.name for entry in ledger.read_ledger()]
    compute.clock.sleep(2 * DELETE_S)
    fresh = connect(compute)
    compute.clock.sleep(700)
    queued, nodes = fresh.resources()
    for plan in removal.find_deletion_plans(queued.items, nodes.items, "bert"):
        assert exhaust(removal.carry_out_deletion(fresh, plan, compute.clock))[1]
    exhaust(reconcile_ledger(fresh, compute.clock))
    assert [f"zones/{ZONE}/instances/colleague"] == [*compute.existing()]
    assert [] == ledger.read_ledger()


def test_template_of_somebody_else_stays(compute: FakeCompute) -> None:
    """A template without this program's label is no leftover, and isn't deleted."""
    client = connect(compute)
    client.create(asked("v6e-16"))
    template = compute.things["global/instanceTemplates/bert"]
    template.body["properties"]["labels"] = {"team": "theirs"}
    policy = compute.things["regions/us-central1/resourcePolicies/bert"]
    policy.body["description"] = "the policy of the team"
    compute.clock.sleep(100)

    assert [True] == delete(compute)
    assert {template.body["name"]} == {row["name"] for row in compute.existing().values()}
    assert 2 == len(compute.existing())
    assert [] == rows(compute)


def test_other_machines_are_no_tpus(compute: FakeCompute) -> None:
    """Machines without a TPU aren't listed; TPUs of an unknown machine type are."""
    compute.add_instance("web", "n2-standard-8")
    compute.add_instance("new", "tpu9x-standard-4t")

    assert [("new", "tpu9x-standard-4t", 0, "ACTIVE")] == rows(compute)


def test_many_instances_are_all_listed(compute: FakeCompute) -> None:
    """Pages are read to the end, and a zone that does not answer is said."""
    for number in range(700):
        compute.add_instance(f"vm-{number}", "ct6e-standard-1t" if number == 650 else "e2-small")
    compute.unreachable = [f"projects/{PROJECT}/zones/us-east5-a"]
    seen = inventory.fetch_overview(connect(compute), compute.clock)

    assert ["vm-650"] == [row.name for row in seen.rows]
    assert ("us-east5-a",) == seen.unreachable


def test_cost_counts_chips_of_instances(compute: FakeCompute) -> None:
    """The price is that of the generation and the region, whichever API has made it."""
    create(compute, asked("v6e-16"))
    compute.clock.sleep(3600)
    nodes = connect(compute).nodes()
    (one,) = cost.estimate_costs(nodes.items, compute.clock.now())

    assert ("priced", 16) == (one.kind, one.chips)
    assert one.usd is not None
    assert abs(one.usd - 16 * 2.7 * (one.hours or 0)) < 0.01


def test_both_apis_are_one_list(compute: FakeCompute) -> None:
    """A name of both is two rows, each deleted by its own API; a ledger entry is of one API."""
    with serving_tpu_api() as cloud:
        cloud.clock = compute.clock
        tpu = TpuClient(PROJECT, channel=channel(cloud), clock=compute.clock)
        both = CloudClient(PROJECT, tpu=tpu, compute=connect(compute))
        of_tpu = TpuRequest("bert", tpu_request.parse_type("v6e-8"), ZONE, "v2-alpha-tpuv6e")
        exhaust(TpuCreation(both, HERE, compute.clock).run([of_tpu]))
        compute.add_instance("bert", "ct6e-standard-4t")
        seen = inventory.fetch_overview(both, compute.clock)
        with pytest.raises(Problem):
            exhaust(TpuCreation(both, HERE, compute.clock).run([asked()]))
        queued, nodes = both.resources()
        plans = removal.find_deletion_plans(queued.items, nodes.items, "bert")
        apis = [plan.api for plan in plans]
        exhaust(removal.carry_out_deletion(both, plans[apis.index("compute")], compute.clock))

        assert {("cloud-tpu", 8, True), ("compute", 4, False)} == {
            (row.api, row.chips, row.made_here) for row in seen.rows
        }
        assert ["cloud-tpu"] == [row.api for row in both.resources()[0].items]
        assert ["cloud-tpu"] == [entry.api for entry in ledger.read_ledger()]


def test_api_that_refuses_is_named(compute: FakeCompute) -> None:
    """If one API refuses, the other API's TPUs are listed, and the refusal is named."""
    compute.refusals = {}
    with serving_tpu_api() as cloud:
        tpu = TpuClient(PROJECT, channel=channel(cloud), clock=compute.clock)
        denied = connect(compute)
        compute.answer = lambda *_: refusal(403, "Required 'compute.instances.list' permission")  # type: ignore[method-assign]
        seen = inventory.fetch_overview(
            CloudClient(PROJECT, tpu=tpu, compute=denied), compute.clock
        )

        assert () == seen.rows
        assert 1 == len(seen.unreachable)


@pytest.mark.parametrize(
    ("type_name", "commands"),
    [
        ("v6e-16", ["--slices 3 --api cloud-tpu"]),
        ("tpu7x-16", ["create bert-0 --type", "create bert-2 --type", "--api compute"]),
    ],
)
def test_several_slices_are_refused_with_their_commands(
    type_name: str, commands: list[str]
) -> None:
    """A group is one slice; where no request makes several, the commands for each are given."""
    with pytest.raises(Problem) as caught:
        compute_requests.require_supported_request(asked(type_name, slices=3))

    assert ExitCode.USAGE == caught.value.code
    assert [one for one in commands if one not in str(caught.value.hint)] == []
