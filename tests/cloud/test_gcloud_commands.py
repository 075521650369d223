"""The printed gcloud command and our own client ask Google for the same thing.

The real gcloud runs our command against a server on loopback that records what arrives. What our
client sends over gRPC is turned into the REST request that Google's own library would make of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from google.api_core import path_template
from google.cloud.tpu_v2.services.tpu.transports import rest_base
from google.protobuf import json_format

from tests.support import gcloud_requests, loopback
from tests.support.fake_cloud import Made, channel, serving
from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api import message_conversion as api_messages
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest

PROJECT = Project("my-project", "--project")
ZONE = "us-central1-b"
PLACE = f"projects/{PROJECT.name}/locations/{ZONE}"
UNCOMPARED = ("alt", "$alt", "pageSize")
"""Parts of the query that say how an answer is cut and spelt, not what is asked for."""


OLDER = ("/v1/projects/my-project/locations", "/v2/projects/my-project/locations")
"""gcloud lists zones with the older API alone, where the list is the same."""


@dataclass(frozen=True)
class Sent:
    """One HTTP request, without what is empty: gcloud sends empty values that gRPC leaves out."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any

    @classmethod
    def of(cls, method: str, target: str, query: list[tuple[str, Any]], body: Any) -> Sent:
        """Return a request in the form that is compared."""
        parts = urlsplit(target)
        pairs = [*parse_qsl(parts.query), *((key, _text(value)) for key, value in query)]
        wanted = {(key, value) for key, value in pairs if key not in UNCOMPARED and value}
        path = OLDER[1] if parts.path == OLDER[0] else parts.path
        return cls(method.upper(), path, tuple(sorted(wanted)), without_empty(body))


def _text(value: Any) -> str:
    """Return a value as it stands in a query; what is false is not sent by either side."""
    if isinstance(value, bool):
        return "True" if value else ""
    return str(value)


def without_empty(value: Any) -> Any:
    """Return JSON without empty objects, lists and texts, but for the three that say something.

    An empty `spot` is how a spot TPU is asked for, and an empty value of metadata or of a label
    is a value. All others say the same as their absence, which is what gRPC sends.
    """
    if not isinstance(value, dict):
        return [without_empty(one) for one in value] if isinstance(value, list) else value
    kept = {}
    for key, one in value.items():
        if key in ("spot", "metadata", "labels"):
            kept |= {key: one} if one or key == "spot" else {}
        elif (inner := without_empty(one)) not in ({}, [], "", None, False):
            kept[key] = inner
    return kept


def asked(name: str = "bert", zone: str = ZONE, kind: str = "v6e-8", **more: Any) -> TpuRequest:
    """Return a request with gcloud's defaults."""
    tpu = tpu_request.parse_type(kind)
    return TpuRequest(name, tpu, zone, "v2-alpha-tpuv6e", **more)


SCRIPT = """#!/bin/bash
# 'quoted', "double", a=b, c:d;e|f~g#h%i@j
pip install 'jax[tpu]' && echo "$HOME"
"""
DISK = f"projects/{PROJECT.name}/zones/{ZONE}/disks/data"

CREATE: dict[str, TpuRequest] = {
    "on-demand": asked(),
    "spot": asked(tier="spot"),
    "reserved": asked(tier="reserved"),
    "another type": asked(kind="v5e-8"),
    "a slice of several hosts": asked(kind="v4-32"),
    "a multislice": asked(slices=3),
    "a spot multislice": asked(slices=2, tier="spot"),
    "labels": asked(labels={"team": "a", "cost-centre": "b_1"}),
    "an empty label": asked(labels={"team": ""}),
    "metadata": asked(metadata={"key": "value", "other": "1"}),
    "metadata with commas": asked(metadata={"key": "a,b,c", "other": "d"}),
    "metadata with equals signs": asked(metadata={"key": "a=b=c", "other": "=d"}),
    "metadata like an escape": asked(metadata={"key": "a", "other": "^:^b"}),
    "metadata first like an escape": asked(metadata={"a^:^b": "c"}),
    "a start-up script": asked(metadata={"startup-script": SCRIPT, "key": "a,b"}),
    "every separator": asked(metadata={"key": ":;|~#%@,", "other": "a"}),
    "flags for libtpu": asked(
        metadata={
            "startup-script": tpu_request.add_libtpu_flags("", "--xla_a=1 --xla_b=true,false")
        }
    ),
    "a data disk": asked(data_disks=(DataDisk(DISK),)),
    "two data disks": asked(data_disks=(DataDisk(DISK, read_only=True), DataDisk(DISK + "-2"))),
    "a network": asked(network="my-network"),
    "a subnetwork": asked(network="my-network", subnetwork="my-subnetwork"),
    "internal addresses": asked(internal_addresses=True),
    "a service account": asked(service_account="tpu@my-project.iam.gserviceaccount.com"),
    "tags": asked(tags=("ssh", "iap")),
    "a time limit": asked(valid_until_s=6 * 3600),
    "everything": asked(
        tier="spot",
        slices=2,
        labels={"team": "a"},
        metadata={"startup-script": SCRIPT, "key": "value"},
        data_disks=(DataDisk(DISK, read_only=True),),
        network="my-network",
        subnetwork="my-subnetwork",
        internal_addresses=True,
        service_account="tpu@my-project.iam.gserviceaccount.com",
        tags=("ssh",),
        valid_until_s=90,
    ),
}


@dataclass(frozen=True)
class Pair:
    """One command, and what our client does for the same."""

    command: tuple[str, ...]
    do: Callable[[TpuClient], object]
    rpc: str
    """The method that our client calls for it."""


def _create(one: TpuRequest) -> Pair:
    return Pair(
        gcloud_commands.build_create_command(one, PROJECT),
        lambda client: client.create(one),
        "CreateQueuedResource",
    )


def _others() -> dict[str, Pair]:
    both = ("queued-resources", "tpu-vm")
    queued, node = "queued-resources", "tpu-vm"
    return {
        "delete a request": Pair(
            gcloud_commands.build_delete_command(ZONE, "bert", PROJECT, force=False),
            lambda client: client.delete_queued_resource(ZONE, "bert", force=False),
            "DeleteQueuedResource",
        ),
        "delete a request by force": Pair(
            gcloud_commands.build_delete_command(ZONE, "bert", PROJECT, force=True),
            lambda client: client.delete_queued_resource(ZONE, "bert", force=True),
            "DeleteQueuedResource",
        ),
        "delete a node": Pair(
            gcloud_commands.build_node_command("delete", ZONE, "bert", PROJECT),
            lambda client: client.delete_node(ZONE, "bert"),
            "DeleteNode",
        ),
        "stop a node": Pair(
            gcloud_commands.build_node_command("stop", ZONE, "bert", PROJECT),
            lambda client: client.stop_node(ZONE, "bert"),
            "StopNode",
        ),
        "start a node": Pair(
            gcloud_commands.build_node_command("start", ZONE, "bert", PROJECT),
            lambda client: client.start_node(ZONE, "bert"),
            "StartNode",
        ),
        "describe a request": Pair(
            gcloud_commands.build_describe_command(queued, ZONE, "bert", PROJECT),
            lambda client: client.queued_resource(ZONE, "bert"),
            "GetQueuedResource",
        ),
        "describe a node": Pair(
            gcloud_commands.build_describe_command(node, ZONE, "bert", PROJECT),
            lambda client: client.node(ZONE, "bert"),
            "GetNode",
        ),
        **{
            f"list {kind} in {zone}": Pair(
                gcloud_commands.build_list_command(kind, zone, PROJECT),
                lambda client, kind=kind, zone=zone: (
                    client.queued_resources(zone) if kind == queued else client.nodes(zone)
                ),
                "ListQueuedResources" if kind == queued else "ListNodes",
            )
            for kind in both
            for zone in (ZONE, "-")
        },
        "list the zones": Pair(
            gcloud_commands.build_offer_command("locations", "", PROJECT),
            lambda client: client.zones(),
            "ListLocations",
        ),
        "list the types": Pair(
            gcloud_commands.build_offer_command("accelerator-types", ZONE, PROJECT),
            lambda client: client.types(ZONE),
            "ListAcceleratorTypes",
        ),
        "list the versions": Pair(
            gcloud_commands.build_offer_command("tpu-vm versions", ZONE, PROJECT),
            lambda client: client.versions(ZONE),
            "ListRuntimeVersions",
        ),
    }


PAIRS = {f"create: {name}": _create(one) for name, one in CREATE.items()} | _others()


def ours(pair: Pair) -> Sent:
    """Return our client's request as Google's own library sends it by REST."""
    with serving() as cloud:
        message = api_messages.make_queued_resource_message(asked(), PROJECT.name)
        if "Create" not in pair.rpc:
            cloud.made[f"{PLACE}/queuedResources/bert"] = Made(
                message, cloud.clock.now(), ((0, "WAITING_FOR_RESOURCES"),)
            )
        if pair.rpc.endswith("Node"):
            made = cloud.made.pop(f"{PLACE}/queuedResources/bert")
            spec = made.message.tpu.node_spec[0]
            name = f"{PLACE}/nodes/bert"
            cloud.nodes[name] = type(spec.node)(name=name)
        pair.do(TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock))
        (sent,) = cloud.called(pair.rpc)
    return as_rest(pair.rpc, sent)


def as_rest(rpc: str, message: Any) -> Sent:
    """Return a message as Google's library would send it over HTTP."""
    if rpc == "ListLocations":
        return Sent.of("GET", f"/v2/{message.name}/locations", [], None)
    rules: Any = getattr(rest_base._BaseTpuRestTransport, f"_Base{rpc}")
    wanted = path_template.transcode(rules._get_http_options(), type(message).pb(message))
    query = [*json_format.MessageToDict(wanted["query_params"]).items()]
    body = json_format.MessageToDict(wanted["body"]) if "body" in wanted else None
    return Sent.of(wanted["method"], wanted["uri"], query, body)


def theirs(command: tuple[str, ...], configuration: Path) -> Sent | str:
    """Return the first request that gcloud sends for a command; its error if it sends none."""
    requests: list[Sent] = []

    class Handler(loopback.Handler):
        def _answer(self) -> None:
            requests.append(Sent.of(self.command, self.path, [], self.read_json()))
            self.send_document({"name": f"{PLACE}/operations/one"})

        do_GET = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815  the names of the library

    with loopback.serve(Handler) as address:
        error = gcloud_requests.run_gcloud(command, configuration, TPU=f"http://{address}/")
    return requests[0] if requests else error


def differences(pairs: dict[str, Pair], configuration: Path) -> dict[str, tuple[Any, Any]]:
    """Return, by name, what the two sides send where it is not the same."""
    sent = {name: theirs(pair.command, configuration) for name, pair in pairs.items()}
    return {
        name: (mine, sent[name])
        for name, pair in pairs.items()
        if (mine := ours(pair)) != sent[name]
    }


@pytest.mark.skipif(
    shutil.which("gcloud") is None,
    reason="gcloud is not installed here, so its requests cannot be compared with ours.",
)
def test_gcloud_and_client_send_same_request(gcloud_home: Path) -> None:
    """Method, path, query and body are equal for every command that is printed."""
    found = differences(PAIRS, gcloud_home)

    creates = sum(name.startswith("create") for name in PAIRS)
    print(
        f"\ncommands compared: {len(PAIRS)}, of which create: {creates}; differences: {len(found)}"
    )
    assert {} == found
    assert creates >= 15


@pytest.mark.skipif(
    shutil.which("gcloud") is None,
    reason="gcloud is not installed here, so its requests cannot be compared with ours.",
)
def test_the_comparison_can_fail(gcloud_home: Path) -> None:
    """A command that asks for another tier is seen to differ."""
    pair = replace(PAIRS["create: spot"], command=PAIRS["create: on-demand"].command)

    assert ["tier"] == [*differences({"tier": pair}, gcloud_home)]
