"""The probe itself on hosts behind ssh, with the JAX of the tests' own Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slices.engines.network import NETWORK, Hosts, network
from tests.slices.engines.seen import Seen
from tests.slices.fake_slice_probe import events
from tpustarter.core import content
from tpustarter.running import probe_archive
from tpustarter.slices.starting import ssh_launcher
from tpustarter.slices.starting.launch_request import LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

pytestmark = NETWORK
IDS = ("host.slice_arrived", "host.slice_alike", "jax.slice_devices", "jax.slice_collectives")


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Return two hosts."""
    with network(tmp_path_factory.mktemp("net"), 2) as made:
        yield made


@pytest.fixture
def hosts(two_hosts: Hosts) -> Iterator[Hosts]:
    """Return two hosts that a test leaves as they are."""
    yield two_hosts
    for host in two_hosts:
        host.clear()


def begin(hosts: Hosts, folder: Path, ids: tuple[str, ...] = IDS) -> RunningCommands:
    """Return a run of some checks on all hosts."""
    checks = [
        {"id": check.id, "framework": check.framework, "needs": check.needs,
         "timeout_s": check.timeout_s, "after": []}
        for check in content.read_checks()
        if check.id in ids
    ]  # fmt: skip
    document = {
        "devices": 2,
        "env": {"JAX_PLATFORMS": "cpu"},
        "slice": {"wait_s": 60, "checks": checks},
    }
    options = f"-F {hosts.config}"
    request = LaunchRequest(
        archive=probe_archive.build_probe_archive(folder / "probe.pyz", None, document),
        python=sys.executable,
        hosts=hosts.names,
        options={"ssh": options, "coordinator": ssh_launcher.find_coordinator("h0", options)},
    )
    return RunningCommands(ssh_launcher.build_commands(request), folder)


def test_checks_of_a_slice_run_behind_ssh(hosts: Hosts, tmp_path: Path) -> None:
    """Every host ends with the code of the run, and has nothing left."""
    seen = Seen(begin(hosts, tmp_path)).all()

    assert [0, 0] == [seen.ended[i].code for i in (0, 1)], seen.ended
    results = [one for one in events(seen.lines[0]) if one["event"] == "result"]
    print([(one.get("id"), one.get("status")) for one in results])
    assert all(host.is_clean() for host in hosts)
