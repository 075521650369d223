"""The commands that lead a browser to this machine, by where the machine is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import fake_metadata
from tpustarter.machine.machine import Machine
from tpustarter.serving.tunnel import list_tunnels

SSH = {"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.2 22", "USER": "ada"}
NAMED = {"attributes/instance-id": "my-tpu", "zone": "projects/1/zones/us-west4-a", "name": "t1v-n"}


def commands(root: Path, env: Mapping[str, str]) -> list[str]:
    """Return the commands for a machine laid out in a folder."""
    machine = Machine(root=root, env=env)
    return [f"{way.when}: {' '.join(way.command)}" for way in list_tunnels(8765, machine)]


def test_local_browser_needs_no_tunnel(tmp_path: Path) -> None:
    """A browser on the same machine needs no tunnel."""
    assert [] == commands(tmp_path, {})


def test_machine_reached_by_ssh_keeps_that_address(tmp_path: Path) -> None:
    """The address is the one that the user's ssh has reached."""
    assert [": ssh -N -L 8765:127.0.0.1:8765 ada@10.0.0.2"] == commands(tmp_path, SSH)


@pytest.mark.parametrize("connection", ["", "10.0.0.9", "a b c d", "1 2 $(reboot) 4"])
def test_invalid_connection_gives_no_command(tmp_path: Path, connection: str) -> None:
    """An invalid SSH_CONNECTION gives no command, because commands are pasted."""
    assert [] == commands(tmp_path, {"SSH_CONNECTION": connection})


def test_a_tpu_vm_is_reached_by_gcloud(tmp_path: Path) -> None:
    """A TPU VM is reached by its name, zone and worker, and through IAP if it has no address."""
    worker = {"attributes/agent-worker-number": "2"}
    with fake_metadata.serve(NAMED | worker) as address:
        found = commands(tmp_path, {"GCE_METADATA_HOST": address, **SSH})
    place = "compute tpus tpu-vm ssh my-tpu --zone=us-west4-a --worker=2"

    assert [
        f": gcloud {place} -- -N -L 8765:127.0.0.1:8765",
        (
            f"If this machine has no external address: gcloud alpha {place} --tunnel-through-iap "
            "-- -N -L 8765:127.0.0.1:8765"
        ),
        "With plain ssh: ssh -N -L 8765:127.0.0.1:8765 ada@10.0.0.2",
    ] == found


def test_a_machine_of_compute_engine_is_another_command(tmp_path: Path) -> None:
    """A Compute Engine machine that isn't a TPU VM is reached by `gcloud compute ssh`."""
    with fake_metadata.serve({**NAMED, "attributes/instance-id": ""}) as address:
        first, *_ = commands(tmp_path, {"GCE_METADATA_HOST": address})

    assert ": gcloud compute ssh t1v-n --zone=us-west4-a -- -N -L 8765:127.0.0.1:8765" == first


@pytest.mark.parametrize("mode", ["hang", "garbage", "stranger"])
def test_missing_answer_leaves_name_as_placeholder(
    tmp_path: Path, mode: fake_metadata.Mode
) -> None:
    """If the metadata server doesn't answer, the command has placeholders for the name and zone."""
    with fake_metadata.serve(NAMED, mode) as address:
        first, *_ = commands(tmp_path, {"GCE_METADATA_HOST": address})

    assert ": gcloud compute tpus tpu-vm ssh NAME --zone=ZONE -- -N -L 8765:127.0.0.1:8765" == first
