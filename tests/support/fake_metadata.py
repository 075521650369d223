"""A metadata server on loopback with a choice of good and bad behaviour.

with serve(values, mode="ok") as address: Machine(env={"GCE_METADATA_HOST": address})
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from tests.support import loopback

Mode = Literal[
    "ok", "hang", "slow", "garbage", "stranger", "broken", "nothing", "partly broken", "empty"
]
"""`hang` accepts and never responds, `slow` sends one byte at a time, `garbage` sends no HTTP,
`stranger` returns 200 but is no metadata server, `broken` returns 500, `nothing` closes the
connection, `partly broken` has only the zone, and `empty` returns 200 without a body."""


def values(kind: str, *, worker: int = 0, hosts: int = 1, bounds: str = "2,2,1") -> dict[str, str]:
    """Return a Cloud TPU VM's metadata: TPU type, worker number, endpoints, and tpu-env."""
    ends = [f"unknown:unknown:10.0.0.{index + 2}" for index in range(hosts)]
    return {
        "attributes/accelerator-type": kind,
        "attributes/agent-worker-number": str(worker),
        "attributes/worker-network-endpoints": ",".join(ends),
        "attributes/tpu-env": (
            f"ACCELERATOR_TYPE: '{kind}'\nCHIPS_PER_HOST_BOUNDS: '{bounds}'\n"
            f"HOST_BOUNDS: '{hosts},1,1'\nWORKER_ID: '{worker}'\nZONE: 'us-central1-b'\n"
        ),
        "zone": "projects/1/zones/us-central1-b",
        "machine-type": "projects/1/machineTypes/n1-standard-96",
    }


@contextmanager
def serve(
    known: Mapping[str, str], mode: Mode = "ok", address: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[str]:
    """Serve `instance/...` keys on loopback; yields `host:port` for GCE_METADATA_HOST."""
    ended = threading.Event()

    class Handler(loopback.Handler):
        def do_GET(self) -> None:  # noqa: N802  the name of the library
            key = self.path.removeprefix("/computeMetadata/v1/instance/")
            body = known.get(key)
            if mode == "hang":
                ended.wait()  # it hangs until the server ends
            elif mode == "garbage":
                self.wfile.write(b"\x00\xff\x1b[31m not http \r\n\r\n")
            elif mode == "slow":
                self._drip()
            elif mode == "nothing":
                pass
            elif mode in ("broken", "empty") or (mode == "partly broken" and key != "zone"):
                self.send_response(200 if mode == "empty" else 500)
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
            elif mode == "stranger":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>log in to the hotel</html>")
            else:
                asked = self.headers.get("Metadata-Flavor") == "Google"
                self.send_response(403 if not asked else 200 if body is not None else 404)
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write((body or "<!DOCTYPE html><title>404</title>").encode())

        def _drip(self) -> None:
            """Send a byte every 50 ms, so that no single read of the client times out."""
            self.send_response(200)
            self.send_header("Metadata-Flavor", "Google")
            self.end_headers()
            while not ended.wait(0.05):
                self.wfile.write(b"a")

    with loopback.serve(Handler, address) as served:
        try:
            yield served
        finally:
            ended.set()
