"""The 44 real errors of Google Cloud, sent by the server or raised by the library as they are met.

Each row of `failures.yml` has its place here: the call at which its text was met, with the gRPC
code and the details that come with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Literal

import grpc
from google.rpc import error_details_pb2

from tests.support.fake_cloud import FakeCloud, Fault, channel, serving
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api import tpu_client as our_client
from tpustarter.cloud.api.errors import CloudFailure, CloudProblem
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_creation import TpuCreation

PROJECT = project_and_zone.Project("my-project", "a test", gcloud_knows=True)
ZONE = "us-central1-b"
ENDS_BADLY = (
    (0, "ACCEPTED"),
    (5, "WAITING_FOR_RESOURCES"),
    (60, "PROVISIONING"),
    (180, "SUSPENDING"),
    (240, "FAILED"),
)

How = Literal["list", "get", "create", "delete", "operation", "failed", "text", "no-adc", "reauth"]
"""A call; the error of an operation; the `failed_data` of a queued resource; what gcloud or ssh
prints; what google.auth raises."""


@dataclass(frozen=True)
class Met:
    """The place where an error occurs."""

    how: How
    code: int | None = None
    details: tuple[Any, ...] = ()


def _reason(reason: str, **metadata: str) -> tuple[Any, ...]:
    return (error_details_pb2.ErrorInfo(reason=reason, domain="googleapis.com", metadata=metadata),)


def _quota(description: str) -> tuple[Any, ...]:
    failure = error_details_pb2.QuotaFailure()
    failure.violations.add(subject="project:123456789012", description=description)
    return (failure,)


_SERVING = "TPUV5sLitepodServingPerProjectPerZoneForTPUAPI"
MET: dict[str, Met] = {
    "no-capacity": Met("operation", 8),
    "insufficient-reserved": Met("create", 8),
    "quota-create-rate": Met("create", 8),
    "in-use-addresses": Met("failed", 8),
    "instances-limit": Met("failed", 8),
    "quota-region-zero": Met("create", 8),
    "quota-exceeded": Met(
        "create", 8, _quota(f"Quota '{_SERVING}' exhausted. Limit 4 in zone us-east5-a")
    ),
    "queued-resource-holds-quota": Met("create", 8),
    "internal-error-size": Met("failed", 13),
    "accelerator-config-not-found": Met("create", 3),
    "topology-not-offered": Met("create", 3),
    "accelerator-not-in-zone": Met("create", 3),
    "zone-not-supported": Met("create", 3),
    "flex-start-not-supported": Met("operation", 3),
    "standard-with-spot": Met("create", 3),
    "reservation-not-found": Met("operation", 5),
    "reservation-must-be-named": Met("operation", 3),
    "no-default-network": Met("create", 3),
    "location-denied": Met(
        "list",
        7,
        _reason(
            "LOCATION_POLICY_VIOLATED",
            service="tpu.googleapis.com",
            consumer="projects/my-project",
            location="us-central2-b",
        ),
    ),
    "queue-denied": Met("create", 7),
    "type-denied": Met("create", 7),
    "iam-denied": Met("get", 7),
    "project-denied": Met("list", 7),
    "scopes": Met("list", 7),
    "no-adc": Met("no-adc"),
    "reauth": Met("reauth"),
    "api-or-zone-access": Met(
        "list",
        7,
        _reason("SERVICE_DISABLED", service="tpu.googleapis.com", consumer="projects/123456789012"),
    ),
    "billing-not-found": Met("list", 9, _reason("UREQ_PROJECT_BILLING_NOT_FOUND")),
    "billing-disabled": Met("list", 7, _reason("BILLING_DISABLED")),
    "free-trial-billing": Met("create", 7),
    "external-ip-policy": Met("failed", 9),
    "name-taken": Met("create", 6),
    "tpu-name-not-found": Met("delete", 5),
    "update-while-preempted": Met("operation", 3),
    "delete-while-active": Met("delete", 9),
    "delete-while-provisioning": Met("delete", 9),
    "terminal-state": Met("text"),
    "stopped-state": Met("text"),
    "maintenance": Met("text"),
    "iap-unable": Met("text"),
    "ssh-agent": Met("text"),
    "ssh-timeout": Met("text"),
    "iap-4003": Met("text"),
    "guest-attributes": Met("text", 3),
    "dns": Met("list", 14),
    "deadline": Met("list", 4),
}

_METHODS = {"list": "ListNodes", "get": "GetNode", "create": "CreateQueuedResource"}
_METHODS["delete"] = "DeleteQueuedResource"


def wanted() -> tpu_request.TpuRequest:
    """Return the request that the errors are about."""
    return tpu_request.TpuRequest(
        "bert", tpu_request.parse_type("v6e-8"), ZONE, "v2-alpha-tpuv6e", "spot"
    )


def meet(failure: CloudFailure, folder: Path, text: str | None = None) -> CloudProblem:
    """Return the error that our client raises in the situation of a row.

    Args:
        failure: The row; `MET` says where.
        folder: An empty one, for a socket.
        text: Google's words; the row's example where nothing is given.
    """
    met, text = MET[failure.id], text or failure.example
    if met.how == "text":
        return api_errors.make_cloud_problem(met.code, text, "gcloud did not connect to it")
    if met.how == "no-adc":
        with no_credentials(folder):
            return raised_by(_default_credentials)
    if met.how == "reauth":
        with expired_login(folder) as client:
            return raised_by(client.nodes)
    with serving() as cloud:
        client = TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        return raised_by(_scene(cloud, client, met, text))


def _raise(problem: CloudProblem | None) -> None:
    """Raise the error with which an operation ended."""
    if problem:
        raise problem


def raised_by(call: Callable[[], Any]) -> CloudProblem:
    """Return the CloudProblem that a call raises; anything else is an error of the test."""
    try:
        call()
    except CloudProblem as problem:
        return problem
    raise AssertionError("nothing was raised")


def _scene(cloud: FakeCloud, client: TpuClient, met: Met, text: str) -> Callable[[], Any]:
    """Make the server answer so; returns the call at which a user meets it."""
    if met.how == "operation":
        cloud.operations["start-1"] = (met.code or 2, text)
        name = f"projects/my-project/locations/{ZONE}/operations/start-1"
        return lambda: _raise(client.operation(name).problem)
    if met.how == "failed":
        cloud.scripts[ZONE] = [(ENDS_BADLY, (met.code or 2, text)) for _ in range(3)]
        return lambda: list(TpuCreation(client, PROJECT, cloud.clock).run([wanted()]))
    # Reads are tried again, and creations where there were too many in a minute.
    cloud.faults[_METHODS[met.how]] = [Fault(met.code or 2, text, details=met.details)] * 4
    calls: dict[str, Callable[[], Any]] = {
        "list": client.nodes,
        "get": lambda: client.node(ZONE, "ai"),
        "create": lambda: client.create(wanted()),
        "delete": lambda: client.delete_queued_resource(ZONE, "bert", force=False),
    }
    return calls[met.how]


def _raise(problem: CloudProblem | None) -> None:
    if problem is not None:
        raise problem


def _default_credentials() -> None:
    import google.auth

    our_client._convert_google_errors("list the nodes", google.auth.default)


@contextlib.contextmanager
def no_credentials(folder: Path) -> Iterator[None]:
    """Let google.auth find nothing: neither a file nor a metadata server is looked for."""
    before = dict(os.environ)
    os.environ.pop("GOOGLE_APPLICATION_CREDENTIALS", None)
    os.environ.update(HOME=str(folder), CLOUDSDK_CONFIG=str(folder), NO_GCE_CHECK="true")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _ExpiredLogin(BaseHTTPRequestHandler):
    """A server of tokens that requires the user to log in again."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"error": "invalid_grant", "error_subtype": "invalid_rapt"}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def expired_login(folder: Path) -> Iterator[TpuClient]:
    """Yield a client with a real login of google.auth that cannot be renewed.

    gRPC sends credentials only over a channel that it trusts, which a local socket is.
    """
    from google.auth.transport.grpc import AuthMetadataPlugin
    from google.auth.transport.requests import Request
    from google.oauth2.credentials import Credentials

    tokens = HTTPServer(("127.0.0.1", 0), _ExpiredLogin)
    threading.Thread(target=tokens.serve_forever, args=(0.01,), daemon=True).start()
    credentials = Credentials(
        token=None,
        refresh_token="none",
        token_uri=f"http://127.0.0.1:{tokens.server_port}/token",
        client_id="nobody",
        client_secret="none",
    )
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    address = f"unix:{folder}/socket"
    local = grpc.LocalConnectionType.UDS
    server.add_secure_port(address, grpc.local_server_credentials(local))
    server.start()
    login = grpc.metadata_call_credentials(AuthMetadataPlugin(credentials, Request()))
    trusted = grpc.composite_channel_credentials(grpc.local_channel_credentials(local), login)
    try:
        with grpc.secure_channel(address, trusted) as secure:
            yield TpuClient(PROJECT.name, channel=secure, clock=FakeCloud().clock)
    finally:
        server.stop(grace=None).wait()
        tokens.shutdown()
        tokens.server_close()


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """Yield a folder whose path is short: that of a socket has 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="t15-") as folder:
        yield Path(folder)
