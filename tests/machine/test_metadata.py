"""The metadata server never blocks anything, and its answers describe the slice."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fake_metadata import serve, values
from tests.support.machines import lay_out
from tpustarter.machine import host, http_get

LONG_S = 60.0
"""A server that answers does so long before, on any machine."""


def test_metadata_gives_type_worker_and_endpoints(tmp_path: Path) -> None:
    """One host of four gets its number, the whole slice and its own share of it."""
    with serve(values("v6e-16", worker=1, hosts=4)) as address:
        env = {"GCE_METADATA_HOST": address}
        machine = lay_out(tmp_path, "v6e", chips=4, env=env)
        found = host.metadata(machine, LONG_S)

    shape = host.find_slice(machine, found)
    assert (found.state, found.zone) == ("ok", "us-central1-b")
    assert (shape.worker, shape.hosts, shape.waits) == (1, 4, True)
    assert (shape.devices, shape.host_devices, shape.host_chips) == (16, 4, 4)
    assert shape.chips_per_host_bounds == "2,2,1"
    assert shape.sources["hosts"] == "metadata worker-network-endpoints"


@pytest.mark.parametrize("mode", ["hang", "slow", "garbage", "stranger"])
def test_metadata_is_bounded_for_any_server(tmp_path: Path, mode: str) -> None:
    """A server may accept and never answer, drip for ever, or be something else."""
    with serve({}, mode) as address:  # type: ignore[arg-type]
        machine = lay_out(tmp_path, "v5e", env={"GCE_METADATA_HOST": address})
        found = host.metadata(machine, 0.2)

    assert found.state == "no-answer"
    assert found.why


def test_variable_sets_the_timeout(tmp_path: Path) -> None:
    """The timeout follows the variable of Google's own library, in whole seconds."""
    with serve({}, "hang") as address:
        env = {"GCE_METADATA_HOST": address, "GCE_METADATA_TIMEOUT": "0"}
        found = host.metadata(lay_out(tmp_path, "v5e", env=env))

    assert "no answer within 0 s" == found.why


def test_closed_metadata_port_is_named_as_reason(tmp_path: Path) -> None:
    """A closed port of the metadata server is distinguished from silence."""
    found = host.metadata(lay_out(tmp_path, "v5e"))

    assert found.state == "no-answer"
    assert "refused" in found.why.lower()


def test_metadata_is_bounded_with_silent_name_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up of a name has no time-out of its own."""
    answered = threading.Event()

    def silent(*_: Any, **__: Any) -> list[Any]:
        answered.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    env = {"GCE_METADATA_HOST": "metadata.google.internal"}
    found = host.metadata(lay_out(tmp_path, "v5e", env=env), 0.1)
    answered.set()

    assert found.state == "no-answer"


def test_a_laptop_asks_no_metadata_server(tmp_path: Path) -> None:
    """Off Google Cloud nothing is sent, so nothing can stall."""
    machine = lay_out(tmp_path)

    assert host.is_google_cloud(machine) is False
    assert host.metadata(machine) == host.Metadata("not-google", "not a Google Cloud machine")


def test_chips_are_enough_to_be_a_google_machine(tmp_path: Path) -> None:
    """A container may hide the firmware's name."""
    assert host.is_google_cloud(lay_out(tmp_path, "v5e", google=False)) is True


@pytest.mark.parametrize(
    ("env", "hosts", "waits"),
    [
        ({"TPU_WORKER_HOSTNAMES": "localhost"}, 1, False),
        ({"TPU_WORKER_HOSTNAMES": "a,b"}, 2, True),
        ({"TPU_ACCELERATOR_TYPE": "v5litepod-16"}, 4, True),
        ({"TPU_ACCELERATOR_TYPE": "v5litepod-16", "TPU_PROCESS_BOUNDS": "1,1,1"}, 4, False),
        ({"TPU_ACCELERATOR_TYPE": "nonsense"}, None, False),
        ({}, None, False),
    ],
)
def test_variables_give_host_count(
    tmp_path: Path, env: dict[str, str], hosts: int | None, waits: bool
) -> None:
    """`localhost` is one host; a process confined to its host does not wait."""
    shape = host.find_slice(lay_out(tmp_path, "v5e", env=env))

    assert (shape.hosts, shape.waits) == (hosts, waits)


def test_a_machine_type_names_one_host_only(tmp_path: Path) -> None:
    """A Compute Engine machine type, without a TPU type, gives this host's share only."""
    known = {"machine-type": "projects/1/machineTypes/ct6e-standard-4t"}
    with serve(known) as address:
        machine = lay_out(tmp_path, "v6e", chips=4, env={"GCE_METADATA_HOST": address})
        shape = host.find_slice(machine, host.metadata(machine, LONG_S))

    assert (shape.hosts, shape.devices) == (None, None)
    assert (shape.host_chips, shape.host_devices) == (4, 4)


@pytest.mark.parametrize(
    ("kind", "named", "hosts", "misfit"),
    [
        ("v4-32", 1, 4, 1),
        ("v4-32", 4, 4, None),
        ("v5litepod-8", 1, 1, None),
        ("v5litepod-8", 2, 2, None),  # GKE makes it of two machines with four chips
        ("v5litepod-8", 4, 4, 4),
        ("v5litepod-16", 3, 4, 3),
        ("v9-99", 3, 3, None),
    ],
)
def test_hosts_that_contradict_type_are_named(
    tmp_path: Path, kind: str, named: int, hosts: int, misfit: int | None
) -> None:
    """The larger number counts, so that nothing is started that would wait; a share stays one."""
    with serve(values(kind, hosts=named)) as address:
        machine = lay_out(tmp_path, "v5e", chips=4, env={"GCE_METADATA_HOST": address})
        shape = host.find_slice(machine, host.metadata(machine, LONG_S))

    assert hosts == shape.hosts
    assert misfit == (shape.misfit.hosts if shape.misfit else None)
    assert shape.waits is (hosts > 1)
    assert shape.host_chips in (4, 8, None)


@pytest.mark.parametrize(("machine_type", "hosts"), [("ct6e-standard-8t", 1), ("n1-x", None)])
def test_machine_with_eight_chips_is_whole_slice(
    tmp_path: Path, machine_type: str, hosts: int | None
) -> None:
    """Slices of several hosts are made of machines with four chips."""
    with serve({"machine-type": f"projects/1/machineTypes/{machine_type}"}) as address:
        machine = lay_out(tmp_path, "v6e", chips=8, env={"GCE_METADATA_HOST": address})
        shape = host.find_slice(machine, host.metadata(machine, LONG_S))

    assert hosts == shape.hosts


def test_metadata_query_needs_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no thread can be started, a metadata server given by its IP address is still queried."""

    def refuse(**_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(http_get, "threading", SimpleNamespace(Thread=refuse))
    with serve(values("v5litepod-8")) as address:
        machine = lay_out(tmp_path, "v5e", env={"GCE_METADATA_HOST": address})
        by_name = host.Machine(machine.root, {"GCE_METADATA_HOST": "localhost:9"})
        assert "ok" == host.metadata(machine, LONG_S).state
        found = host.metadata(by_name, LONG_S)

    assert ("no-answer", "can't start new thread") == (found.state, found.why)


def test_the_command_for_all_workers_is_quoted(tmp_path: Path) -> None:
    """A value from the machine is quoted as one word of the command for all workers."""
    machine = lay_out(tmp_path, "v5e", env={"TPU_NAME": "my tpu; reboot"})
    command = host.all_workers_command("tpustarter check", machine)

    assert command == (
        "gcloud compute tpus tpu-vm ssh 'my tpu; reboot' --zone=ZONE --worker=all"
        " --command='tpustarter check'"
    )
