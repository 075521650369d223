"""The client on bad days: pages, silence, lost servers, proxies, and answers that make no sense."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import google.auth
import pytest
from google.cloud import tpu_v2

from tests.support.cloud_runs import INTERNAL, PROJECT, ZONES, asked
from tests.support.fake_cloud import FakeClock, FakeCloud, Fault, Made, channel, serving
from tpustarter.cloud.api import credentials
from tpustarter.cloud.api import message_conversion as api_messages
from tpustarter.cloud.api import tpu_client as cloud_client
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.core.problem import ExitCode, Problem

FIRST = ZONES[0]
PLACE = f"projects/{PROJECT.name}/locations/{FIRST}"
RATE = (8, "Quota exceeded for quota metric 'Maximum number of CreateNode requests per minute'")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\x00[red]bert[/]\x9b31m"


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    """Run the service."""
    with serving() as served:
        yield served


def connected(cloud: FakeCloud, **limits: float) -> TpuClient:
    """Return a client of it."""
    return TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock, **limits)


def add_node(cloud: FakeCloud, name: str, **more: Any) -> None:
    """Add a node that was made directly."""
    full = f"{PLACE}/nodes/{name}"
    cloud.nodes[full] = tpu_v2.Node(name=full, accelerator_type="v6e-8", **more)


def test_two_thousand_nodes_come_in_pages(cloud: FakeCloud) -> None:
    """Two thousand nodes are listed in order, in four calls."""
    for number in range(2000):
        add_node(cloud, f"node-{number:04}")
    began = time.perf_counter()
    nodes = connected(cloud).nodes().items
    print(f"\n2,000 nodes in {time.perf_counter() - began:.2f} s")

    assert [f"node-{number:04}" for number in range(2000)] == [node.name for node in nodes]
    assert 4 == len(cloud.called("ListNodes"))


def test_zones_that_were_not_reached_are_named(cloud: FakeCloud) -> None:
    """Zones that were not reached are named in the listing."""
    cloud.unreachable = [FIRST, ZONES[1]]
    client = connected(cloud)

    assert (FIRST, ZONES[1]) == client.nodes().unreachable == client.queued_resources().unreachable


def test_unanswered_call_ends_with_error() -> None:
    """A call without an answer ends at its limit with an error, and isn't repeated."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        import grpc

        lines = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.enable_http_proxy", 0)])
        clock = FakeClock()
        client = TpuClient(PROJECT.name, channel=lines, clock=clock, read_s=0.3, write_s=0.3)
        with pytest.raises(CloudProblem) as caught:
            client.nodes()
        with pytest.raises(CloudProblem):
            client.zones()
        with pytest.raises(CloudProblem):
            client.create(asked())

        assert [] == clock.slept
        assert "network" == caught.value.kind
        lines.close()


def test_silent_server_hits_read_and_write_limits(cloud: FakeCloud) -> None:
    """Reads and writes to a silent server have separate time limits."""
    let_go = threading.Event()
    cloud.before_call = lambda _: let_go.wait() and None
    client = connected(cloud, read_s=0.2, write_s=0.2)
    for call in (
        client.zones,
        client.nodes,
        lambda: client.types(FIRST),
        lambda: client.node(FIRST, "bert"),
        lambda: client.operation("operations/1"),
        lambda: client.create(asked()),
        lambda: client.stop_node(FIRST, "bert"),
    ):
        with pytest.raises(CloudProblem) as caught:
            call()
        assert "network" == caught.value.kind
    let_go.set()

    assert [] == cloud.clock.slept


@pytest.mark.parametrize("failures", [1, 3])
def test_reads_are_retried_while_service_is_unavailable(cloud: FakeCloud, failures: int) -> None:
    """Reads are retried with growing pauses while the service is unavailable."""
    cloud.faults["ListNodes"] = [Fault(14, "connection reset by peer")] * failures
    add_node(cloud, "bert")

    assert ["bert"] == [node.name for node in connected(cloud).nodes().items]
    assert failures == len(cloud.clock.slept)
    assert sorted(cloud.clock.slept) == cloud.clock.slept


def test_slow_connection_is_tried_once(cloud: FakeCloud) -> None:
    """A slow connection is tried once, because four attempts would take minutes."""
    cloud.faults["ListNodes"] = [Fault(14, "connect timed out")] * 9

    def look_long(_: Any) -> None:
        cloud.clock.time += timedelta(seconds=19)

    cloud.before_call = look_long
    with pytest.raises(CloudProblem):
        connected(cloud).nodes()

    assert 1 == len(cloud.called("ListNodes"))


@pytest.mark.parametrize(
    ("address", "is_taken"),
    [
        ("127.0.0.1:80", True),
        ("[::1]:80", True),
        ("localhost:80", True),
        ("::1:80", False),
        ("[[127.0.0.1]]:80", False),
        ("[127.0.0.1]:80", False),
        ("192.0.2.1:80", False),
    ],
)
def test_a_server_elsewhere_is_refused(
    address: str, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server elsewhere is refused, even if its IPv6 address has no brackets."""
    monkeypatch.setenv(cloud_client.ENDPOINT, address)
    if is_taken:
        assert address == cloud_client.find_tpu_test_server()
        return
    with pytest.raises(Problem):
        cloud_client.find_tpu_test_server()


def test_unavailable_service_fails_after_four_attempts(cloud: FakeCloud) -> None:
    """An unavailable service fails after four attempts and less than 20 s of pauses."""
    cloud.faults["ListNodes"] = [Fault(14, "connection reset by peer")] * 9
    with pytest.raises(CloudProblem) as caught:
        connected(cloud).nodes()

    assert "network" == caught.value.kind
    assert 4 == len(cloud.called("ListNodes"))
    assert sum(cloud.clock.slept) < 20


def test_changing_requests_are_sent_once(cloud: FakeCloud) -> None:
    """Requests that change something are sent once, since they may have been carried out."""
    for method, call in {
        "CreateQueuedResource": lambda client: client.create(asked()),
        "DeleteQueuedResource": lambda client: client.delete_queued_resource(
            FIRST, "b", force=True
        ),
        "DeleteNode": lambda client: client.delete_node(FIRST, "b"),
        "StopNode": lambda client: client.stop_node(FIRST, "b"),
        "StartNode": lambda client: client.start_node(FIRST, "b"),
    }.items():
        for code in (14, 13, 4, 2):
            cloud.faults[method] = [Fault(code, "no answer")]
            with pytest.raises(CloudProblem):
                call(connected(cloud))
        assert 4 == len(cloud.called(method))
    assert [] == cloud.clock.slept


def test_server_lost_during_call_is_error() -> None:
    """The second page never comes: one clear error and no half listing."""
    with serving() as cloud:
        for number in range(1200):
            add_node(cloud, f"node-{number}")
        client = connected(cloud, read_s=2.0)
        second = threading.Event()

        def go(_: str) -> None:
            if len(cloud.called("ListNodes")) == 2:
                cloud.faults["ListNodes"] = [Fault(14, "Socket closed")] * 9
                second.set()

        cloud.before_call = go
        with pytest.raises(CloudProblem) as caught:
            client.nodes()

        assert second.is_set()
        assert "network" == caught.value.kind
    with pytest.raises(CloudProblem) as caught:
        client.nodes()
    assert "network" == caught.value.kind


def test_creation_rate_limit_is_retried_after_minute(cloud: FakeCloud) -> None:
    """Google says that the request did not begin, so it is sent once more."""
    cloud.faults["CreateQueuedResource"] = [Fault(*RATE)]
    connected(cloud).create(asked())

    assert [60.0] == cloud.clock.slept
    assert 2 == len(cloud.called("CreateQueuedResource"))


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "grpc_proxy", "all_proxy"])
def test_proxy_is_not_used_for_loopback(
    cloud: FakeCloud, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy isn't used for a server on loopback."""
    for spelling in (name, name.upper()):
        monkeypatch.setenv(spelling, "http://127.0.0.1:9")
    monkeypatch.setenv(cloud_client.ENDPOINT, f"127.0.0.1:{cloud.port}")
    add_node(cloud, "bert")

    assert ["bert"] == [node.name for node in TpuClient(PROJECT.name).nodes().items]


@pytest.mark.parametrize(
    "address",
    [
        "tpu.googleapis.com:443",
        "10.0.0.1:80",
        "localhost",
        "127.0.0.1",
        ":80",
        "127.0.0.1:",
        "localhost.example.com:80",
        "0.0.0.0:80",
        "127.0.0.1:http",
        "127.0.0.1:99999",
        "127.0.0.1:0",
        "http://127.0.0.1:80",
        "169.254.169.254:80",
        "127.0.0.1:\u0663",
    ],
)
def test_an_endpoint_elsewhere_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint elsewhere is refused, so that no credentials are sent there."""
    monkeypatch.setenv(cloud_client.ENDPOINT, address)
    with pytest.raises(Problem) as caught:
        TpuClient(PROJECT.name)

    assert cloud_client.ENDPOINT in caught.value.full_text


@pytest.mark.parametrize("address", ["127.0.0.1:80", "localhost:8080", "[::1]:80", "127.1.2.3:1"])
def test_an_endpoint_on_this_machine_is_taken(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint on this machine is accepted in each of its forms."""
    monkeypatch.setenv(cloud_client.ENDPOINT, address)

    assert address == cloud_client.find_tpu_test_server()


def test_a_silent_metadata_server_has_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent metadata server means no credentials, without waiting 36 s for it."""
    monkeypatch.delattr(google.auth, "default")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"):
            monkeypatch.setenv(name, host)
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        with pytest.raises(CloudProblem) as caught:
            TpuClient(PROJECT.name)

        assert "default credentials" in caught.value.full_text + caught.value.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"type": "authorized_user"}',
        "\xff",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
    ids=lambda text: text[:9],
)
def test_broken_credentials_file_is_one_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken credentials file is one error, never a traceback."""
    file = tmp_path / "key.json"
    file.write_bytes(text.encode("latin-1"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    with pytest.raises(CloudProblem) as caught:
        credentials.find_credentials(PROJECT.name)

    assert ExitCode.DENIED == caught.value.code


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "it is a folder"),
        ("nothing", "there is no such file"),
        ("k" * 300, "File name too long"),
        ("pipe", "not a regular file"),
        ("../../../../../../../../dev/zero", "not a regular file"),
    ],
)
def test_special_credentials_files_are_refused(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A credentials path that is a pipe or other special file is refused without waiting."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / name))
    with pytest.raises(CloudProblem) as caught:
        credentials.find_credentials(PROJECT.name)

    assert (ExitCode.DENIED, text) == (caught.value.code, caught.value.text)


def test_user_credentials_name_quota_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User credentials name the quota project, unless they have one already."""
    file = tmp_path / "adc.json"
    rest = '"client_id": "a", "client_secret": "b", "refresh_token": "c", "type": "authorized_user"'
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    monkeypatch.setenv("PATH", str(tmp_path))
    file.write_text("{" + rest + "}")
    assert PROJECT.name == credentials.find_credentials(PROJECT.name).quota_project_id

    file.write_text("{" + rest + ', "quota_project_id": "another-project"}')
    assert "another-project" == credentials.find_credentials(PROJECT.name).quota_project_id


def test_unknown_enum_numbers_are_read(cloud: FakeCloud) -> None:
    """Unknown enum numbers are read and shown as numbers."""
    add_node(cloud, "bert")
    raw = tpu_v2.Node.pb(cloud.nodes[f"{PLACE}/nodes/bert"])
    raw.state, raw.health = 99, 98
    raw.symptoms.add().symptom_type = 97
    message = api_messages.make_queued_resource_message(asked(), PROJECT.name)
    tpu_v2.QueuedResource.pb(message).state.state = 96
    resource = api_messages.parse_queued_resource(message)
    (node,) = connected(cloud).nodes().items

    assert ("99", "98", "97") == (node.state, node.health, node.symptoms[0].kind)
    assert "96" == resource.state


def test_incomplete_messages_are_read() -> None:
    """Missing fields of a message are read as empty, and an impossible time as none."""
    node, resource = tpu_v2.Node(), tpu_v2.QueuedResource()
    assert ("", "", "", "") == (
        api_messages.parse_node(node).name,
        api_messages.parse_node(node).type,
        api_messages.parse_node(node).state,
        api_messages.parse_node(node).zone,
    )
    assert ((), None, "") == (
        api_messages.parse_queued_resource(resource).nodes,
        api_messages.parse_queued_resource(resource).error,
        api_messages.parse_queued_resource(resource).state,
    )

    tpu_v2.Node.pb(node).create_time.seconds = 10**15
    assert api_messages.parse_node(node).created is None
    tpu_v2.Node.pb(node).create_time.seconds = 1_800_000_000
    assert (
        datetime.fromtimestamp(1_800_000_000, timezone.utc) == api_messages.parse_node(node).created
    )

    spec = tpu_v2.QueuedResource.pb(resource).tpu.node_spec.add()
    spec.multislice_params.node_count = 2**31 - 1
    resource.name = f"{PLACE}/queuedResources/bert"
    names = api_messages.parse_queued_resource(resource).nodes
    assert ("bert-0", api_messages.MOST_SLICES) == (names[0], len(names))


def test_nameless_type_is_generation_and_topology() -> None:
    """A type without a name is described by generation and topology."""
    node = tpu_v2.Node(
        accelerator_config=tpu_v2.AcceleratorConfig(
            type_=tpu_v2.AcceleratorConfig.Type.V6E, topology="4x4"
        )
    )

    assert "V6E 4x4" == api_messages.parse_node(node).type


def is_harmless(text: str) -> bool:
    """Return whether a text has no control characters that a terminal would obey."""
    return all(char.isprintable() or char == "\n" for char in text)


def test_hostile_texts_do_not_reach_the_terminal(cloud: FakeCloud) -> None:
    """Hostile texts from Google don't reach the terminal unescaped."""
    add_node(cloud, "x", health_description=HOSTILE)
    raw = tpu_v2.Node.pb(cloud.nodes[f"{PLACE}/nodes/x"])
    raw.name = f"{PLACE}/nodes/{HOSTILE.replace('/', '')}"
    raw.accelerator_type = raw.runtime_version = HOSTILE
    raw.symptoms.add(details=HOSTILE, worker_id=HOSTILE)
    raw.network_endpoints.add(ip_address=HOSTILE)
    cloud.unreachable = [HOSTILE.replace("/", "")]
    cloud.zones = cloud.types[FIRST] = cloud.versions[FIRST] = [HOSTILE]
    made = Made(
        api_messages.make_queued_resource_message(asked(), PROJECT.name),
        cloud.clock.now(),
        ((0, "FAILED"),),
        (8, HOSTILE),
    )
    made.message.name = f"{PLACE}/queuedResources/bert"
    cloud.made[made.message.name] = made
    client = connected(cloud)
    shown = [
        repr(client.nodes().unreachable),
        *client.nodes().unreachable,
        *client.zones(),
        *client.types(FIRST),
        *client.versions(FIRST),
    ]
    (node,) = client.nodes().items
    (resource,) = client.queued_resources().items
    symptom = node.symptoms[0]
    shown += [
        node.name,
        node.type,
        node.health_description,
        node.runtime_version,
        symptom.details,
        symptom.worker,
        *node.internal_addresses,
    ]
    assert resource.error is not None
    shown.append(resource.error[1])
    for code in (3, 5, 7, 8, 13, 2):
        cloud.faults["ListLocations"] = [Fault(code, HOSTILE)]
        with pytest.raises(CloudProblem) as caught:
            client.zones()
        shown += [caught.value.full_text, caught.value.text, str(caught.value)]

    assert [] == [text for text in shown if not is_harmless(text)]
    assert "[red]bert[/]" in node.type


def test_unreadable_answer_is_one_error(cloud: FakeCloud) -> None:
    """An unreadable answer is one error with Google's own text."""
    cloud.faults["GetNode"] = [Fault(*INTERNAL)]
    with pytest.raises(CloudProblem) as caught:
        connected(cloud).node(FIRST, "bert")

    assert "internal" == caught.value.kind
