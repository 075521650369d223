"""The verbs of `tpustarter tpu` for TPUs of Compute Engine, with both APIs on loopback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
from click.testing import CliRunner, Result

from tests.support import fake_cloud, fake_remote
from tests.support.fake_cloud import FakeClock, FakeCloud
from tests.support.fake_compute import ZONE, FakeCompute, serving
from tests.support.fake_google import refusal
from tpustarter.cli.tpu.command import tpu
from tpustarter.cloud.api import rest_client, tpu_client
from tpustarter.cloud.billing import ledger
from tpustarter.core.problem import ExitCode, Problem

BERT = ("create", "bert", "--type", "v6e-16", "--zone", ZONE, "--api", "compute")


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    """Run the Cloud TPU API."""
    with fake_cloud.serving(FakeCloud()) as running:
        yield running


@pytest.fixture
def compute(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCompute]:
    """Run both APIs; in Compute Engine everything is there at once."""
    clock = FakeClock(datetime.now(timezone.utc))
    with serving(FakeCompute(clock=clock)) as running:
        running.scripts = [(((0, "RUNNING"),), None)] * 3
        monkeypatch.setenv(rest_client.ENDPOINT, running.address)
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{cloud.port}")
        monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "my-project")
        yield running


def run(*words: str) -> Result:
    """Run `tpustarter tpu WORDS`."""
    return CliRunner().invoke(tpu, [*words])


def test_slice_from_creation_to_deletion(compute: FakeCompute) -> None:
    """A slice is created, listed, shown with its machines, and deleted with its parts."""
    created = run(*BERT, "--yes")
    listed = json.loads(run("list", "--json").stdout)["tpus"]
    shown = run("show", "bert").stdout
    deleted = run("delete", "bert", "--yes", "--no-wait")

    assert 0 == created.exit_code, created.exception
    assert [("bert", "compute", 16, True)] == [
        (row["name"], row["api"], row["chips"], row["made_here"]) for row in listed
    ]
    assert 4 == shown.count("from outside")
    assert 0 == deleted.exit_code, deleted.exception
    assert ["deleting"] == [entry.phase for entry in ledger.read_ledger()]
    sent = [path for method, path, _ in compute.asked if method == "DELETE"]
    assert [f"zones/{ZONE}/instanceGroupManagers/bert"] == sent


def test_package_of_compute_engine_is_not_needed(
    compute: FakeCompute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google's package for Compute Engine is not needed to list and create TPUs."""
    monkeypatch.setitem(sys.modules, "google.cloud.compute_v1", None)
    monkeypatch.setitem(sys.modules, "google.cloud.compute", None)
    created, listed = run(*BERT, "--yes"), run("list", "--json")

    assert [0, 0] == [created.exit_code, listed.exit_code]
    assert ["bert"] == [row["name"] for row in json.loads(listed.stdout)["tpus"]]


def test_leftovers_of_slice_are_deleted(compute: FakeCompute) -> None:
    """A template and a policy without a group are shown, and deleted once that is confirmed."""
    run(*BERT, "--yes")
    compute.things.pop(f"zones/{ZONE}/instanceGroupManagers/bert")
    refused = run("delete", "--leftovers")
    deleted = run("delete", "--leftovers", "--yes", "--no-wait")

    assert isinstance(refused.exception, Problem)
    assert "INCOMPLETE" in refused.stdout
    assert 0 == deleted.exit_code, deleted.exception
    assert {} == compute.existing()


def test_single_host_is_stopped_and_started(compute: FakeCompute) -> None:
    """The gcloud command of Compute Engine is shown first."""
    compute.add_instance("vm", "ct6e-standard-4t")
    stopped, started = run("stop", "vm", "--yes"), run("start", "vm", "--yes")

    assert "gcloud compute instances stop vm" in stopped.stdout
    assert "gcloud compute instances start vm" in started.stdout
    assert ["stop", "start"] == [
        path.rpartition("/")[2] for method, path, _ in compute.asked if method == "POST"
    ]


def test_name_of_both_apis_is_told_apart(compute: FakeCompute) -> None:
    """A name that both APIs have is refused without `--api`, so no wrong TPU is touched."""
    run("create", "bert", "--type", "v6e-8", "--zone", ZONE, "--yes", "--no-wait")
    compute.add_instance("bert", "ct6e-standard-8t")
    refused = run("delete", "bert", "--yes")
    stopped = run("stop", "bert", "--api", "compute", "--yes")
    deleted = run("delete", "bert", "--api", "compute", "--yes", "--no-wait")
    left = [one["api"] for one in json.loads(run("list", "--json").stdout)["tpus"]]

    assert ExitCode.USAGE == getattr(refused.exception, "code", None)
    assert 0 == stopped.exit_code, stopped.exception
    assert 0 == deleted.exit_code, deleted.exception
    assert ["POST stop", "DELETE bert"] == [
        f"{method} {path.rpartition('/')[2]}"
        for method, path, _ in compute.asked
        if method != "GET"
    ]
    assert "cloud-tpu" in left


def test_two_tpus_of_one_name_run_nothing(cloud: FakeCloud, compute: FakeCompute) -> None:
    """Nothing runs on two TPUs of one name, because they are no multislice."""
    compute.add_instance("bert", "ct6e-standard-8t")
    node = fake_remote.node()
    cloud.nodes[node.name] = node
    result = run("run", "bert", "--worker", "all", "--", "true")

    assert isinstance(result.exception, Problem)
    assert ExitCode.USAGE == result.exception.code
    assert "--api" in (result.exception.hint or "")


def test_refused_quota_is_told_from_capacity(compute: FakeCompute) -> None:
    """A refused quota has another exit code than missing capacity, and isn't in the ledger."""
    text = "Quota 'TPUS_PER_TPU_FAMILY' exceeded.  Limit: 0.0 in region us-central1."
    compute.refusals = {"instances": [refusal(403, text, "quotaExceeded")]}
    result = run("create", "one", "--type", "v6e-8", "--zone", ZONE, "--api", "compute", "--yes")

    assert isinstance(result.exception, Problem)
    assert ExitCode.DENIED == result.exception.code
    assert [] == ledger.read_ledger()


def test_ssh_config_names_machines_of_slice(compute: FakeCompute) -> None:
    """Each worker has an entry with its own address, and through IAP its own name."""
    run(*BERT, "--yes")
    direct = run("ssh-config", "bert", "--dry-run", "--user", "ada").stdout
    tunnel = run("ssh-config", "bert", "--dry-run", "--user", "ada", "--iap").stdout

    assert 4 == direct.count("HostName 192.0.2.")
    assert "gcloud compute ssh ada@bert-0003" in tunnel


def test_broken_tpus_are_asked_for_with_health_alone(compute: FakeCompute) -> None:
    """A service that doesn't answer leaves it unknown, and no TPU counts as sound."""
    plain = json.loads(run("list", "--json").stdout)
    asked = run("list", "--health", "--json")

    assert "unhealthy" not in plain
    assert (0, None) == (asked.exit_code, json.loads(asked.stdout)["unhealthy"])
    assert run("list", "--health").stdout.startswith(run("list").stdout)
