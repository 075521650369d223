"""`tpustarter tpu cost`: asks the service, and says what chips cost and what is not known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone

import pytest
from click.testing import CliRunner, Result
from google.cloud import tpu_v2

from tests.support.fake_cloud import FakeCloud, serving
from tpustarter.cli.tpu import cost as tpu_cost
from tpustarter.cloud.api import tpu_client
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant, GrantAllowance
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import WIDTH


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """Run the service with a TPU on demand and one on spot, each made ten hours ago."""
    with serving() as running:
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{running.port}")
        for name, spot in (("paid", False), ("spot", True)):
            path = f"projects/my-project/locations/us-east5-a/nodes/{name}"
            running.nodes[path] = tpu_v2.Node(
                name=path,
                accelerator_type="v6e-8",
                state=tpu_v2.Node.State.READY,
                scheduling_config=tpu_v2.SchedulingConfig(spot=spot),
                create_time=datetime.now(timezone.utc) - timedelta(hours=10),
            )
        yield running


def cost(*arguments: str) -> Result:
    """Run the verb for a project."""
    return CliRunner().invoke(tpu_cost.cost_command, ["--project", "my-project", *arguments])


def test_cost_has_figure_source_and_exclusions(cloud: FakeCloud) -> None:
    """The cost has its figure, source and exclusions, within 80 columns."""
    done = cost()
    text = " ".join(done.stdout.split())

    assert 0 == done.exit_code
    assert "paid v6e-8 on-demand in us-east5-a, 10 h" in text
    assert "at most 216.0" in text
    assert "its price changes often: https://cloud.google.com/tpu/pricing" in text
    assert "Known together: at most 432.0" in text
    assert "Disks, external addresses, traffic and buckets" in text
    assert "read 2026-11-22: https://" in text
    assert [] == [
        line for line in done.stdout.splitlines() if len(line) > WIDTH and "https://" not in line
    ]
    assert {"ListQueuedResources", "ListNodes"} == {name for name, _ in cloud.calls}


def test_json_holds_same_costs(cloud: FakeCloud) -> None:
    """The JSON document has each TPU's kind of cost, and the zones that were not reached."""
    cloud.unreachable = ["us-west4-a"]
    document = json.loads(cost("--json").stdout)
    kinds = {row["name"]: row["kind"] for row in document["tpus"]}

    assert {"paid": "priced", "spot": "priced"} == kinds
    assert ["us-west4-a"] == document["unreachable"]
    assert pytest.approx(432, abs=1) == document["usd_at_most_known"]


def test_granted_tpu_costs_nothing(cloud: FakeCloud) -> None:
    """A TPU that the stored grant covers costs nothing."""
    first = date.today() - timedelta(days=5)
    trc_grant.save_grant(Grant((GrantAllowance("v6e", 64, "spot", "us-east5-a"),), first, 30))
    kinds = {row["name"]: row["kind"] for row in json.loads(cost("--json").stdout)["tpus"]}

    assert {"paid": "priced", "spot": "covered"} == kinds
    assert cloud.calls


def test_type_has_its_common_name(cloud: FakeCloud) -> None:
    """A TPU's type is shown as people type it, not as Google's `v5litepod-8`."""
    for node in cloud.nodes.values():
        node.accelerator_type = "v5litepod-8"
    text, document = cost(), json.loads(cost("--json").stdout)

    assert "paid  v5e-8 on-demand in us-east5-a" in text.stdout
    assert "litepod" not in text.stdout
    assert ["v5e-8", "v5e-8"] == [row["type"] for row in document["tpus"]]


def test_project_without_tpus_is_reported(cloud: FakeCloud) -> None:
    """A project without TPUs is reported as having no chips to bill."""
    cloud.nodes.clear()

    assert "Nothing exists that chips could be billed for" in cost().stdout


def test_dry_run_sends_nothing(cloud: FakeCloud) -> None:
    """A dry run shows the gcloud commands of both listings and sends nothing."""
    done = cost("--dry-run")

    assert "gcloud compute tpus tpu-vm list --zone=-" in " ".join(done.stdout.split())
    assert [] == cloud.calls


def test_wrong_zone_is_refused_before_sending(cloud: FakeCloud) -> None:
    """A wrong zone, such as a region, is refused before anything is sent."""
    done = cost("--zone", "us-east5")

    assert isinstance(done.exception, Problem)
    assert [] == cloud.calls
