"""Google's REST services on loopback, with a sound project that tests break piece by piece.

with serving(google) as address: os.environ["TPUSTARTER_REST_ENDPOINT"] = address
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support import loopback
from tpustarter.cloud.api import rest_client

PROJECT = "acme-llm-42"
NUMBER = "123456789012"
ACCOUNT = "billingAccounts/0A1B2C-3D4E5F-678901"
EMAIL = f"service-{NUMBER}@cloud-tpu.iam.gserviceaccount.com"
SECRETS = (PROJECT, NUMBER, "0A1B2C-3D4E5F-678901", "gserviceaccount.com", "alice@example.com")
"""Secrets that no text may contain unless names were requested."""
ZONE = "us-east1-d"
HANG = "hang"
"""A response that never arrives."""

Answer = Any
"""A response: a document; `(status, document or bytes)`; `HANG`; or a function of the query."""


def refusal(status: int, text: str, reason: str = "", service: str = "") -> tuple[int, Any]:
    """Return an error response as Google's services send it."""
    error: dict[str, Any] = {"code": status, "message": text}
    if reason:
        error["details"] = [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason,
                "domain": "googleapis.com",
                "metadata": {"service": service, "consumer": f"projects/{NUMBER}"},
            }
        ]
    return status, {"error": error}


def disabled(service: str) -> tuple[int, Any]:
    """Return the error response of an API that is not enabled."""
    place = f"https://console.developers.google.com/apis/api/x?project={NUMBER}"
    text = (
        f"{service} has not been used in project {NUMBER} before or it is disabled. Enable it "
        f"by visiting {place} then retry."
    )
    return refusal(403, text, "SERVICE_DISABLED", service)


def rule(name: str, *allowed: str, source: str = "0.0.0.0/0", **more: Any) -> dict[str, Any]:
    """Return a firewall rule that allows `tcp:22`, `icmp` or `all`."""
    protocols = [
        {"IPProtocol": one.partition(":")[0]}
        | ({"ports": [one.partition(":")[2]]} if ":" in one else {})
        for one in allowed
    ]
    network = f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/global/networks/default"
    return {
        "name": name,
        "network": network,
        "direction": "INGRESS",
        "sourceRanges": [source],
        "allowed": protocols,
        "disabled": False,
        **more,
    }


def metric(name: str, zone: int | None, region: int = -1, **zones: int | None) -> dict[str, Any]:
    """Return a quota with its limits by zone and region, in which 0 is omitted as Google does.

    Args:
        name: The quota's name, such as `tpu-v6e-preemptible`.
        zone: The limit of all zones that are not named.
        region: The limit of every region.
        zones: The limits of named zones, with `_` for `-`.
    """
    buckets = [_bucket(zone, {})]
    buckets += [_bucket(value, {"zone": key.replace("_", "-")}) for key, value in zones.items()]
    return {
        "metric": f"tpu.googleapis.com/{name}",
        "consumerQuotaLimits": [
            {
                "unit": "1/{project}/{zone}",
                "quotaBuckets": buckets,
                "supportedLocations": [ZONE, "us-east5-a"],
            },
            {
                "unit": "1/{project}/{region}",
                "quotaBuckets": [_bucket(region, {})],
                "supportedLocations": ["us-east1", "us-east5"],
            },
        ],
    }


def _bucket(value: int | None, dimensions: dict[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {"dimensions": dimensions} if dimensions else {}
    return row | ({"effectiveLimit": str(value)} if value else {})


def _good() -> dict[str, Answer]:
    project = f"projects/{PROJECT}"
    compute = f"{rest_client.COMPUTE}/compute/v1/{project}"
    rules = [
        rule("default-allow-internal", "all", source="10.128.0.0/9"),
        rule("default-allow-ssh", "tcp:22", source="35.235.240.0/20"),
    ]
    services = [
        {"name": f"projects/{NUMBER}/services/{name}", "state": "ENABLED"}
        for name in rest_client.TITLES
    ]
    return {
        f"{rest_client.RESOURCES}/v3/{project}": {
            "name": f"projects/{NUMBER}",
            "projectId": PROJECT,
            "state": "ACTIVE",
        },
        f"{rest_client.RESOURCES}/v3/{project}:testIamPermissions": lambda asked: asked,
        f"{rest_client.RESOURCES}/v3/{project}:getIamPolicy": {
            "bindings": [
                {"role": "roles/owner", "members": ["user:alice@example.com"]},
                {"role": "roles/tpu.serviceAgent", "members": [f"serviceAccount:{EMAIL}"]},
            ]
        },
        f"{rest_client.BILLING}/v1/{project}/billingInfo": {
            "name": f"{project}/billingInfo",
            "projectId": PROJECT,
            "billingEnabled": True,
            "billingAccountName": ACCOUNT,
        },
        f"{rest_client.SERVICES}/v1/{project}/services:batchGet": {"services": services},
        f"{rest_client.SERVICES}/v1beta1/{project}/services/{rest_client.TPU}"
        "/consumerQuotaMetrics": {
            "metrics": [
                metric("tpu-v6e", None, us_east1_d=16),
                metric("tpu-v6e-preemptible", 64),
                metric("tpu-v5s-litepod", 8),
                metric("tpu-v5s-litepod-serving", None),
            ]
        },
        f"{rest_client.SERVICES}/v1beta1/{project}/services/{rest_client.COMPUTE}"
        "/consumerQuotaMetrics": {"metrics": []},
        f"{rest_client.TPU}/v2/{project}/locations": {
            "locations": [
                {"locationId": ZONE},
                {"locationId": "us-east5-a"},
                {"locationId": "us-west4-a"},
            ]
        },
        f"{rest_client.TPU}/v2/{project}/locations/{ZONE}/acceleratorTypes": {
            "acceleratorTypes": [{"type": "v6e-1"}, {"type": "v6e-8"}]
        },
        f"{rest_client.TPU}/v2/{project}/locations/us-east5-a/acceleratorTypes": {
            "acceleratorTypes": [{"type": "v6e-8"}, {"type": "v5p-8"}]
        },
        f"{rest_client.TPU}/v2/{project}/locations/us-west4-a/acceleratorTypes": {
            "acceleratorTypes": [{"type": "v5litepod-8"}]
        },
        f"{compute}/regions/us-east1": {
            "name": "us-east1",
            "quotas": [
                {"metric": "IN_USE_ADDRESSES", "limit": 8.0, "usage": 1.0},
                {"metric": "INSTANCES", "limit": 24.0, "usage": 2.0},
            ],
        },
        f"{compute}/global/networks/default": {
            "name": "default",
            "subnetworks": [
                "https://www.googleapis.com/compute/v1/projects/p/regions/us-east1/subnetworks/default"
            ],
        },
        f"{compute}/global/firewalls": {"kind": "compute#firewallList", "items": rules},
    }


@dataclass
class FakeGoogle:
    """The responses by `SERVICE/PATH`, and the requests."""

    answers: dict[str, Answer] = field(default_factory=_good)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def breaks(self, part: str, answer: Answer) -> FakeGoogle:
        """Set the response to every request whose address contains a part."""
        matches = [key for key in self.answers if part in key]
        assert matches, part
        self.answers |= dict.fromkeys(matches, answer)
        return self


@contextlib.contextmanager
def serving(google: FakeGoogle) -> Iterator[str]:
    """Run the services on a free loopback port; yields `host:port`."""
    ended = threading.Event()

    class Handler(loopback.Handler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536  # one packet for head and body, because two cost 40 ms

        def do_GET(self) -> None:  # noqa: N802  the name of the library
            self._answer(parse_qs(urlsplit(self.path).query))

        def do_POST(self) -> None:  # noqa: N802  the name of the library
            self._answer(self.read_json())

        def _answer(self, asked: dict[str, Any]) -> None:
            path = urlsplit(self.path).path.removeprefix("/")
            google.asked.append(path)
            google.headers.append(dict(self.headers))
            answer = google.answers.get(path, refusal(404, f"no such thing: {path}"))
            answer = answer(asked) if callable(answer) else answer
            if answer == HANG:
                ended.wait()  # it hangs until the server ends
                self.close_connection = True
                return
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            self.send_document(content, status)

    with loopback.serve(Handler) as address:
        try:
            yield address
        finally:
            ended.set()
