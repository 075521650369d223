"""The commands that connect: the real gcloud and the real ssh take them as they are meant."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import loopback
from tests.support.processes import HANG_S
from tpustarter.cloud.api import workers
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs.remote_command import (
    RemoteCommand,
    WorkerCommand,
    WorkerEnded,
    WorkerLines,
)

PROJECT = Project("my-project", "--project")
NODE = TpuNode(
    "my-project",
    "us-central1-b",
    "bert",
    "v6e-8",
    "READY",
    workers=2,
    internal_addresses=("10.0.0.1", "10.0.0.2"),
)
TEXT = "cd ~/train  && python3 train.py --name='a  b'"


class _Tpus(loopback.Handler):
    """Answers what gcloud asks before it connects."""

    def _answer(self) -> None:
        self.read_json()
        answer: dict[str, Any] = {"name": "p", "commonInstanceMetadata": {"items": []}}
        if "getGuestAttributes" in self.path:
            items = [
                {"key": "ssh-ed25519", "value": "AAAAabcdef"},
                {"key": "hostname", "value": "t1v-n-0-w-1"},
            ]
            answer = {"guestAttributes": [{"queryValue": {"items": items}}]}
        elif self.command == "PATCH" or "/operations/" in self.path:  # it adds its key
            place = "projects/my-project/locations/us-central1-b"
            made = {"name": f"{place}/nodes/bert"}
            answer = {"name": f"{place}/operations/o", "done": True, "response": made}
        elif "/nodes/" in self.path:
            hosts = [{"ipAddress": f"10.0.0.{i}"} for i in (1, 2)]
            answer = {"id": "1", "state": "READY", "apiVersion": "V2", "networkEndpoints": hosts}
        self.send_document(answer)

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815  the base class's names


@pytest.fixture
def environment(home: Path) -> Iterator[dict[str, str]]:
    """Return an environment in which the real gcloud queries a server on loopback."""
    (home / ".ssh").mkdir()
    key = home / ".ssh/google_compute_engine"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with loopback.serve(_Tpus) as address:
        yield {
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "HOME": str(home),
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"http://{address}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"http://{address}/compute/v1/",
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
            "CLOUDSDK_CONFIG": str(home / "gcloud"),
        }


def gcloud(environment: dict[str, str], command: tuple[str, ...]) -> str:
    """Return the ssh command that the real gcloud would run for one of ours."""
    path = shutil.which("gcloud")
    if path is None or shutil.which("ssh-keygen") is None:
        pytest.skip("gcloud is not installed here, so that what it makes of this was not tried")
    words = list(command[1:])
    words.insert(words.index("--") if "--" in words else len(words), "--dry-run")
    done = subprocess.run(
        [path, *words], env=environment, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")
def test_real_gcloud_passes_command_text_unchanged(environment: dict[str, str]) -> None:
    """Directly and through IAP; what the user typed arrives as it was typed."""
    worker = Worker(NODE, 1, "w1")

    direct = gcloud(environment, worker_connection.gcloud_command(worker, PROJECT, TEXT, user="me"))
    iap = gcloud(environment, worker_connection.gcloud_command(worker, PROJECT, TEXT, iap=True))

    assert f" me@10.0.0.2 -- {TEXT}\n" in direct
    assert "-oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=30" in direct
    assert "start-iap-tunnel 't1v-n-0-w-1'" in iap
    assert f" -- {TEXT}\n" in iap


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")
def test_the_real_gcloud_forwards_to_port_22(environment: dict[str, str]) -> None:
    """So that its input and output are the worker's ssh server."""
    shown = gcloud(environment, worker_connection.tunnel_command(Worker(NODE, 1, "w1"), "me"))

    assert shown.rstrip().endswith(" me@10.0.0.2 -W localhost:22")
    assert "start-iap-tunnel 't1v-n-0-w-1'" in shown


def test_the_real_ssh_takes_every_option() -> None:
    """`ssh -G` prints what it understood, and connects to nobody."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("ssh is not installed here, so that what it reads was not tried")
    command = worker_connection.ssh_command(Worker(NODE, 1, "w1"), TEXT, iap=True, user="me")
    until = command.index("--")

    done = subprocess.run([ssh, "-G", *command[1:until]], capture_output=True, check=False)

    lines = done.stdout.decode().splitlines()
    assert 0 == done.returncode, done.stderr
    assert {
        "user me",
        "batchmode yes",
        "connecttimeout 20",
        "stricthostkeychecking accept-new",
        "hostkeyalias tpu.my-project.us-central1-b.bert-w1.0",
    } <= {*lines}
    (proxy,) = [line for line in lines if line.startswith("proxycommand ")]
    assert proxy.endswith("--worker=1 --tunnel-through-iap -- -W localhost:22")


def test_real_ssh_times_out_by_itself(tmp_path: Path) -> None:
    """Nobody who knows our key listens on this machine, and no question is asked."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("ssh is not installed here, so that its end was not tried")
    node = TpuNode(
        "my-project",
        "us-central1-b",
        "bert",
        "",
        "READY",
        workers=1,
        internal_addresses=("10.0.0.1",),
        external_addresses=("127.0.0.1",),
    )
    command = worker_connection.ssh_command(Worker(node, 0, "w0"), "true", user="nobody-here")

    events = list(
        RemoteCommand(
            [WorkerCommand("w0", (ssh, *command[1:]))], tmp_path, timeout_s=HANG_S
        ).events()
    )

    (ended,) = [one for one in events if isinstance(one, WorkerEnded)]
    assert (255, False) == (ended.code, ended.was_reachable)
    assert [one for one in events if isinstance(one, WorkerLines) and one.stream == "stderr"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ls",), "ls"),
        (("cd a && ls $HOME",), "cd a && ls $HOME"),
        (("ls", "a b", "$HOME"), "ls 'a b' '$HOME'"),
    ],
)
def test_single_argument_is_shell_text_several_are_quoted(
    words: tuple[str, ...], expected: str
) -> None:
    """As with ssh, but that no argument falls apart."""
    assert expected == worker_connection.quote_command(words)


VM = replace(NODE, api="compute", instances=("bert-0003",))
REQUEST = QueuedResource("my-project", "us-central1-b", "multi", "ACTIVE", nodes=("bert-0",))


@pytest.mark.parametrize(
    ("tpu", "expected"),
    [
        (NODE, "tpus tpu-vm ssh bert"),
        (VM, "ssh bert-0003"),
        (REQUEST, "tpus tpu-vm ssh bert-0"),
        (replace(REQUEST, api="compute", type="v6e-8"), "ssh bert-0"),
        (
            replace(REQUEST, api="compute", type="v6e-16"),
            "instance-groups managed list-instances bert-0",
        ),
    ],
)
def test_login_command_fits_the_api(tpu: TpuNode | QueuedResource, expected: str) -> None:
    """A slice of Compute Engine is listed, as long as its instances are not known."""
    zone = "--zone=us-central1-b"

    assert f"gcloud compute {expected} {zone}" == worker_connection.build_login_command(tpu)


def test_addresses_are_used_only_if_all_known() -> None:
    """Otherwise nobody knows whose they are."""
    one_of_two = replace(NODE, external_addresses=("192.0.2.1",))

    found = workers.choose_workers([one_of_two])

    assert ["", ""] == [worker.address for worker in found]
    assert all(worker.needs_iap for worker in found)
