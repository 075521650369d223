"""The commands for TPUs that the Cloud TPU API does not make, as the real gcloud takes them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create import compute_engine
from tpustarter.cloud.create.compute_engine import ComputeEngineStep
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest, parse_type
from tpustarter.core.problem import Problem
from tpustarter.machine.generations import GENERATIONS

PROJECT = Project("my-project", "a test", gcloud_knows=True)
HOUR_S = 3600


def wanted(type_name: str = "tpu7x-8", zone: str = "us-central1-c", **others: Any) -> TpuRequest:
    """Return a request for a TPU on demand, or another one."""
    return TpuRequest("bert", parse_type(type_name), zone, others.pop("version", ""), **others)


def texts(steps: tuple[ComputeEngineStep, ...]) -> list[str]:
    """Return commands as texts."""
    return [" ".join(step.command) for step in steps]


def test_compute_engine_is_needed_from_tpu7x() -> None:
    """The Cloud TPU API has the others."""
    machines = [row.machine_types[-1][0] for row in GENERATIONS if row.machine_types]
    needed = {machine for machine in machines if compute_engine.is_needed(parse_type(machine))}

    assert {"tpu7x-standard-4t"} == needed


def test_single_host_is_instance_with_generation_defaults() -> None:
    """The boot disk is larger than the default, which has no room for a framework."""
    (command,) = texts(compute_engine.creation_steps(wanted(), PROJECT))
    expected = (
        "gcloud compute instances create bert --zone=us-central1-c "
        "--machine-type=tpu7x-standard-4t --image-family=ubuntu-accel-2404-amd64-tpu-tpu7x "
        "--image-project=ubuntu-os-accelerator-images --maintenance-policy=TERMINATE "
        "--boot-disk-size=200GB --scopes=cloud-platform --boot-disk-type=hyperdisk-balanced"
    )

    assert expected == command
    assert (
        "tpu7x-standard-1t" in texts(compute_engine.creation_steps(wanted("tpu7x-2"), PROJECT))[0]
    )


def test_several_hosts_are_policy_template_and_group() -> None:
    """The group makes all machines of a slice at once: 32 chips have 8 hosts."""
    steps = compute_engine.creation_steps(wanted("tpu7x-64", slices=2), PROJECT)
    policy, template, first, second = texts(steps)

    assert "--type=HIGH_THROUGHPUT --accelerator-topology=2x4x4 --region=us-central1" in policy
    assert "instance-templates create bert --machine-type=tpu7x-standard-4t" in template
    assert "managed create bert-0 --zone=us-central1-c --template=bert --size=8 " in first
    assert "managed create bert-1 " in second
    assert first.endswith("resourcePolicies/bert")
    assert all(step.sentence.endswith(".") for step in steps)


def test_every_created_resource_can_be_deleted() -> None:
    """Every name that is made is deleted, in an order that Google accepts."""
    assert ["instances delete bert --zone=us-central1-c --quiet"] == [
        text.removeprefix("gcloud compute ")
        for text in texts(compute_engine.removal_steps(wanted(), PROJECT))
    ]
    groups, template, policy = texts(
        compute_engine.removal_steps(wanted("tpu7x-64", slices=2), PROJECT)
    )

    assert "managed delete bert-0 bert-1 --zone=us-central1-c" in groups
    assert "instance-templates delete bert" in template
    assert "resource-policies delete bert --region=us-central1" in policy


def test_every_choice_becomes_gcloud_option() -> None:
    """Spot, labels, metadata with a comma, disks, network, no addresses, another project."""
    request = wanted(
        tier="spot",
        labels={"team": "a"},
        metadata={"x": "a,b"},
        data_disks=(DataDisk("projects/p/zones/z/disks/data", read_only=True),),
        network="net",
        subnetwork="sub",
        internal_addresses=True,
        service_account="me@p.iam.gserviceaccount.com",
        tags=("a", "b"),
    )
    (command,) = texts(compute_engine.creation_steps(request, Project("other", "a test")))

    for option in (
        "--project=other",
        "--provisioning-model=SPOT",
        "--labels=team=a",
        "--instance-termination-action=DELETE",
        "--metadata=^:^x=a,b",
        "--no-address",
        "--disk=name=data,mode=ro",
        "--network=net",
        "--subnet=sub",
        "--tags=a,b",
        "--service-account=me@p.iam.gserviceaccount.com",
    ):
        assert option in command.split()


def test_a_reservation_is_named() -> None:
    """Or its place is, where nobody named one."""
    path = "projects/p/locations/z/reservations/mine"
    (named,) = texts(
        compute_engine.creation_steps(wanted(tier="reserved", reservation=path), PROJECT)
    )
    (unnamed,) = texts(compute_engine.creation_steps(wanted(tier="reserved"), PROJECT))

    assert "--reservation-affinity=specific --reservation=mine" in named
    assert "--reservation=RESERVATION" in unnamed


@pytest.mark.parametrize("type_name", ["v5e-8", "v4-8", "v2-8"])
def test_generation_outside_compute_engine_is_refused(type_name: str) -> None:
    """It is left to the Cloud TPU API."""
    with pytest.raises(Problem, match="nothing is published"):
        compute_engine.creation_steps(wanted(type_name), PROJECT)


def test_slice_with_unknown_topology_is_refused() -> None:
    """The error lists those that are."""
    with pytest.raises(Problem, match="tpu7x-48") as error:
        compute_engine.creation_steps(wanted("tpu7x-48"), PROJECT)

    assert "8, 16, 32, 64" in (error.value.hint or "")


def test_topology_has_chips_of_its_type() -> None:
    """So that the group has the right number of machines."""
    for chips, shape in compute_engine._TOPOLOGIES["tpu7x"].items():
        x, y, z = map(int, shape.split("x"))

        assert chips == x * y * z
        assert parse_type(f"tpu7x-{chips * 2}").chips == chips


def test_flex_start_of_tpu_api_uses_alpha() -> None:
    """It has a time to run, and no tier."""
    request = wanted(
        "v6e-8", "us-east5-a", tier="spot", version="v2-alpha-tpuv6e", valid_until_s=2 * HOUR_S
    )
    (step,) = compute_engine.flex_start_steps(request, PROJECT, 4 * HOUR_S)
    words = step.command

    assert ("gcloud", "alpha", "compute", "tpus", "queued-resources", "create") == words[:6]
    assert {
        "--provisioning-model=flex-start",
        "--max-run-duration=14400s",
        "--valid-until-duration=7200s",
    } <= {*words}
    assert "--spot" not in words
    assert 1 == sum(word.startswith("--valid-until-duration") for word in words)


def test_flex_start_of_tpu7x_is_compute_engines() -> None:
    """It waits for capacity for two hours at most."""
    (step,) = compute_engine.flex_start_steps(wanted(), PROJECT, 4 * HOUR_S)

    assert {
        "--provisioning-model=FLEX_START",
        "--max-run-duration=14400s",
        "--request-valid-for-duration=7200s",
    } <= {*step.command}


@pytest.mark.parametrize(
    ("request_", "run_s"),
    [
        (wanted("v6e-8", "us-east1-d", version="x"), 4 * HOUR_S),
        (wanted("v4-8", "us-central2-b", version="x"), 4 * HOUR_S),
        (wanted(), 60),
        (wanted(), 8 * 24 * HOUR_S),
    ],
)
def test_flex_start_that_no_page_allows_is_refused(request_: TpuRequest, run_s: int) -> None:
    """Another zone or generation; less than ten minutes, more than seven days."""
    with pytest.raises(Problem, match="flex-start"):
        compute_engine.flex_start_steps(request_, PROJECT, run_s)


def test_notes_name_unfollowed_resources_and_fixed_options() -> None:
    """The boot disk can be chosen here, and not in the Cloud TPU API."""
    made = " ".join(compute_engine.creation_notes(wanted("tpu7x-64")))
    flex = " ".join(compute_engine.creation_notes(wanted("v6e-8"), run_s=HOUR_S))

    assert "does not serve TPU7x" in made
    assert "until you delete it" in made
    assert "its size cannot be chosen" in flex
    assert "gcloud components update" in made
    assert "gcloud components update" in flex


KNOWN_LATER = ("FLEX_START", "--target-size-policy-mode")
"""What gcloud 528.0.0 refuses and newer ones know."""


def gcloud_refuses(commands: list[tuple[str, ...]], folder: Path) -> dict[str, str]:
    """Return why the real gcloud refuses commands, by its own linter: nothing is sent."""
    file = folder / "commands.json"
    file.write_text(json.dumps([{"command_string": shlex.join(words)} for words in commands]))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "CLOUDSDK_CONFIG": str(folder / "gcloud"),
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
    }
    lint = ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={file}", "--format=json"]
    done = subprocess.run(lint, env=env, capture_output=True, text=True, timeout=120, check=False)
    rows, _ = json.JSONDecoder().raw_decode(done.stdout.lstrip())

    assert len(commands) == len(rows), done.stderr
    return {row["command_string"]: row["error_message"] for row in rows if not row["success"]}


@pytest.mark.skipif(
    shutil.which("gcloud") is None,
    reason="gcloud is not installed here, so it cannot say whether it takes these commands.",
)
def test_the_real_gcloud_takes_every_command(tmp_path: Path) -> None:
    """But for what only newer ones know; and a misspelt option is seen."""
    flex = wanted("v6e-8", "us-east5-a", version="v2-alpha-tpuv6e")
    whole = wanted(tier="spot", internal_addresses=True, labels={"a": "b"}, metadata={"x": "a,b"})
    reserved = wanted("tpu7x-16", tier="reserved")
    steps = [
        *compute_engine.creation_steps(whole, PROJECT),
        *compute_engine.creation_steps(reserved, PROJECT),
        *compute_engine.removal_steps(whole, PROJECT),
        *compute_engine.removal_steps(reserved, PROJECT),
        *compute_engine.flex_start_steps(flex, PROJECT, 4 * HOUR_S),
        *compute_engine.flex_start_steps(wanted(), PROJECT, 4 * HOUR_S),
    ]
    misspelt = (*steps[0].command, "--boot-disc-size=200GB")
    refusals = gcloud_refuses([misspelt, *(step.command for step in steps)], tmp_path)

    assert "--boot-disc-size" in refusals.pop(shlex.join(misspelt))
    assert [] == [why for why in refusals.values() if not any(word in why for word in KNOWN_LATER)]
