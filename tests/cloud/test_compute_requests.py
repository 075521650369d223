"""Requests to Compute Engine: the same as the real gcloud's, and in Google's own types."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import gcloud_requests
from tests.support.fake_compute import ZONE, FakeCompute, connect, serving
from tests.support.gcloud_requests import Sent
from tpustarter.cloud.api import compute_requests, gcloud_commands
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest
from tpustarter.core.problem import Problem

PROJECT = Project("my-project", "--project")
SCRIPT = '#!/bin/bash\n# \'quoted\', "double", a=b, c:d;e|f\necho "$HOME"\n'
DISK = DataDisk(f"projects/my-project/zones/{ZONE}/disks/data", read_only=True)


def asked(kind: str = "v6e-8", **more: Any) -> TpuRequest:
    """Return a request for a TPU of Compute Engine."""
    return TpuRequest("bert", tpu_request.parse_type(kind), ZONE, "", api="compute", **more)


EVERYTHING: dict[str, Any] = {
    "tier": "spot",
    "labels": {"team": "a", "cost": ""},
    "metadata": {"startup-script": SCRIPT, "key": "a,b"},
    "data_disks": (DISK,),
    "network": "net",
    "subnetwork": "sub",
    "internal_addresses": True,
    "service_account": "tpu@my-project.iam.gserviceaccount.com",
    "tags": ("ssh", "iap"),
}
REQUESTS: dict[str, TpuRequest] = {
    "v6e-1": asked("v6e-1"),
    "v6e-4": asked("v6e-4"),
    "v6e-8": asked(),
    "v5p-8": asked("v5p-8"),
    "tpu7x-2": asked("tpu7x-2"),
    "tpu7x-8": asked("tpu7x-8"),
    "spot": asked(tier="spot"),
    "reserved": asked(tier="reserved", reservation="mine"),
    "reserved by path": asked(tier="reserved", reservation="projects/p/reservations/mine"),
    "labels": asked(labels={"team": "a"}),
    "metadata": asked(metadata={"key": "a,b", "other": "^:^b"}),
    "a start-up script": asked(metadata={"startup-script": SCRIPT}),
    "a data disk": asked(data_disks=(DISK, DataDisk(f"{DISK.source}-2"))),
    "a network": asked(network="net"),
    "a subnetwork": asked(network="net", subnetwork="sub"),
    "a subnetwork alone": asked(subnetwork="sub"),
    "internal addresses": asked(internal_addresses=True),
    "a service account": asked(service_account="tpu@my-project.iam.gserviceaccount.com"),
    "tags": asked(tags=("ssh",)),
    "everything": asked(**EVERYTHING),
    "a slice of v6e": asked("v6e-16"),
    "a slice of v5p": asked("v5p-32"),
    "a slice of TPU7x": asked("tpu7x-64", tier="spot"),
    "a reserved slice": asked("tpu7x-16", tier="reserved", reservation="mine"),
    "a slice with everything": asked("v6e-16", **EVERYTHING),
}
FLEX_START = {
    "flex-start": asked("v6e-8", tier="flex-start", run_s=14400),
    "a flex-start slice": asked("tpu7x-16", tier="flex-start", run_s=600),
}


def ours(request: TpuRequest) -> list[Sent]:
    """Return the HTTP requests that our client sends for a TPU request."""
    with serving() as compute:
        connect(compute).create(request)
        return sent(compute)


def sent(compute: FakeCompute) -> list[Sent]:
    """Return the requests to a service that change something."""
    rows = [(method, path, gcloud_requests.plain(body)) for method, path, body in compute.asked]
    return gcloud_requests.changes(rows)


def runnable(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command as gcloud 528 takes it: what is newer is in its alpha track, or nowhere."""
    words = tuple(word for word in command if not word.startswith("--request-valid-for"))
    is_newer = {"--target-size-policy-mode=bulk", "--provisioning-model=FLEX_START"} & {*words}
    return (words[0], "alpha", *words[1:]) if is_newer else words


def differences(pairs: dict[str, tuple[list[Sent], list[tuple[str, ...]]]], folder: Path) -> Any:
    """Return, by name, what both sides send where it is not the same."""
    commands = {
        f"{name} {number}": runnable(command)
        for name, (_, rows) in pairs.items()
        for number, command in enumerate(rows)
    }
    recorded = gcloud_requests.record_all(commands, folder)
    found: dict[str, Any] = {}
    for name, (mine, rows) in pairs.items():
        answers = [recorded[f"{name} {number}"] for number in range(len(rows))]
        theirs = [
            one
            for answer in answers
            for one in (
                [answer] if isinstance(answer, str) else gcloud_requests.changes(answer)[:1]
            )
        ]
        if mine != theirs:
            found[name] = (mine, theirs)
    return found


def creations() -> dict[str, tuple[list[Sent], list[tuple[str, ...]]]]:
    """Return each creation: what our client sends, and the commands for the same."""
    return {
        name: (ours(request), gcloud_commands.build_create_commands(request, PROJECT))
        for name, request in (REQUESTS | FLEX_START).items()
    }


def others() -> dict[str, tuple[list[Sent], list[tuple[str, ...]]]]:
    """Return the requests that stop, start and delete, of our client and of gcloud."""
    with serving() as compute:
        client = connect(compute)
        compute.add_instance("bert", "ct6e-standard-8t")
        client.stop_node(ZONE, "bert")
        client.start_node(ZONE, "bert")
        client.delete_node(ZONE, "bert")
        stop, start, delete = sent(compute)
    with serving() as compute:
        client = connect(compute)
        client.create(asked("v6e-16"))
        client.delete_queued_resource(ZONE, "bert", force=True)
        compute.clock.sleep(100)
        client.discard_parts(ZONE, "bert")
        slice_deletions = sent(compute)[3:]
    verbs = {"stop": stop, "start": start, "delete": delete}
    rows: dict[str, tuple[list[Sent], list[tuple[str, ...]]]] = {
        verb: ([one], [gcloud_commands.build_node_command(verb, ZONE, "bert", PROJECT, "compute")])
        for verb, one in verbs.items()
    }
    commands = gcloud_commands.build_group_delete_commands(ZONE, "bert", PROJECT)
    return rows | {"delete a slice": (slice_deletions, commands)}


@pytest.mark.skipif(
    shutil.which("gcloud") is None,
    reason="gcloud is not installed here, so its requests cannot be compared with ours.",
)
def test_gcloud_and_client_send_same_requests(gcloud_home: Path) -> None:
    """Method, path and body are equal for each command that is printed.

    gcloud 528 has no option for the time that a flex-start instance waits, so that part of ours is
    left out.
    """
    pairs = creations() | others()
    waits = pairs["flex-start"][0][0][2].pop("params")
    found = differences(pairs, gcloud_home)
    commands = sum(len(rows) for _, rows in pairs.values())
    print(f"\nrequests: {len(pairs)}, commands compared: {commands}, differences: {len(found)}")

    assert {"requestValidForDuration": {"seconds": "7200"}} == waits
    assert {} == found


@pytest.mark.skipif(
    shutil.which("gcloud") is None,
    reason="gcloud is not installed here, so its requests cannot be compared with ours.",
)
def test_comparison_sees_another_tier(gcloud_home: Path) -> None:
    """A command that asks for another tier is seen to differ."""
    command = gcloud_commands.build_create_commands(REQUESTS["v6e-8"], PROJECT)

    assert ["tier"] == [*differences({"tier": (ours(REQUESTS["spot"]), command)}, gcloud_home)]


def test_requests_fit_types_of_google() -> None:
    """Google's own types read every field that is sent, and have no other value of it."""
    from google.cloud import compute_v1

    types: dict[str, Any] = {
        "instances": compute_v1.Instance,
        "resourcePolicies": compute_v1.ResourcePolicy,
        "instanceTemplates": compute_v1.InstanceTemplate,
        "instanceGroupManagers": compute_v1.InstanceGroupManager,
    }
    for request in (REQUESTS | FLEX_START).values():
        for _, path, body in ours(request):
            read = types[path.rpartition("/")[2]].from_json(json.dumps(body))
            again = json.loads(type(read).to_json(read, use_integers_for_enums=False))

            assert body == gcloud_requests.plain(pick(again, body))


def pick(whole: Any, like: Any) -> Any:
    """Return the part of a document that another one has, with its numbers as they are there."""
    if isinstance(like, dict):
        return {key: pick(whole.get(key), one) for key, one in like.items()}
    if isinstance(like, list):
        return [pick(*pair) for pair in zip(whole, like, strict=True)]
    return type(like)(whole) if isinstance(like, str | int) and whole is not None else whole


@pytest.mark.parametrize(("name", "hint"), [("v6e-16", "--api cloud-tpu"), ("tpu7x-16", "bert-1")])
def test_several_slices_are_refused(name: str, hint: str) -> None:
    """The Cloud TPU API makes them with one request, if it makes that TPU at all."""
    with pytest.raises(Problem) as caught:
        compute_requests.require_supported_request(replace(asked(name), name="bert", slices=2))

    assert caught.value.hint
    assert hint in caught.value.hint


def test_slice_has_hosts_and_topology_of_its_type() -> None:
    """The topology has as many chips as the machines of the group together."""
    for name in ("v6e-16", "v6e-256", "v5p-16", "v5p-128", "tpu7x-16", "tpu7x-512"):
        request = asked(name)
        x, *rest = map(int, compute_requests.find_topology(request).split("x"))
        chips = x
        for side in rest:
            chips *= side

        assert request.type.chips == chips == 4 * request.type.hosts
