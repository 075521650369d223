"""What Google's metadata server says of this machine, asked for at most as long as the caller says.

Only `ask` touches the network. Its bound holds for the whole look-up, also when the server accepts
and never answers or a name look-up stalls: threads that nobody waits for do the asking.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

from tpustarter.machine.machine import Machine, number, plain

ADDRESS = "169.254.169.254"
"""The address behind metadata.google.internal: asking it directly needs no name server."""
KEYS = (
    "attributes/accelerator-type",
    "attributes/agent-worker-number",
    "attributes/worker-network-endpoints",
    "attributes/tpu-env",
    "zone",
    "machine-type",
)
"""Asked one by one: the recursive form also returns ssh keys and start-up scripts."""


def empty() -> Mapping[str, str]:
    """Return a mapping without entries."""
    return {}


@dataclass(frozen=True)
class Metadata:
    """What the metadata server said; fields it did not answer are null."""

    state: Literal["ok", "no-answer", "not-google"]
    why: str = ""
    """Why there are no values, or not all."""
    accelerator_type: str | None = None
    worker_number: int | None = None
    worker_endpoints: tuple[str, ...] = ()
    tpu_env: Mapping[str, str] = field(default_factory=empty)
    zone: str | None = None
    machine_type: str | None = None
    seconds: float = 0.0


def address(machine: Machine) -> str:
    """Return `host[:port]` of the metadata server, with the overrides other tools honour."""
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP"):
        if machine.env.get(name):
            return machine.env[name].removeprefix("http://").strip("/")
    return ADDRESS


def ask(machine: Machine, timeout_s: float = 1.0) -> Metadata:
    """Ask the metadata server for the keys above; return after at most `timeout_s` seconds."""
    started = time.monotonic()
    answers: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    where = address(machine)
    threads = [
        threading.Thread(target=_get, args=(where, key, timeout_s, answers, reasons), daemon=True)
        for key in KEYS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, started + timeout_s - time.monotonic()))
    values = {key: text for key, text in dict(answers).items() if text is not None}
    late = [key for key in KEYS if key not in answers]
    why = next(iter(dict(reasons).values()), f"no answer within {timeout_s:g} s") if late else ""
    if len(late) == len(KEYS):
        return Metadata("no-answer", why, seconds=time.monotonic() - started)
    return Metadata(
        state="ok",
        why=why,
        accelerator_type=values.get("attributes/accelerator-type"),
        worker_number=number(values.get("attributes/agent-worker-number")),
        worker_endpoints=entries(values.get("attributes/worker-network-endpoints")),
        tpu_env=_pairs(values.get("attributes/tpu-env", "")),
        zone=_last(values.get("zone")),
        machine_type=_last(values.get("machine-type")),
        seconds=time.monotonic() - started,
    )


def _get(
    where: str, key: str, timeout_s: float, answers: dict[str, str | None], reasons: dict[str, str]
) -> None:
    """Ask for one key; a key the server does not have is null. Proxies are never used."""
    import http.client

    try:
        path = f"/computeMetadata/v1/instance/{key}"
        with closing(http.client.HTTPConnection(where, timeout=timeout_s)) as connection:
            connection.request("GET", path, headers={"Metadata-Flavor": "Google"})
            with connection.getresponse() as answer:
                body = answer.read(65536).decode("utf-8", "replace").strip()
    except (OSError, ValueError, http.client.HTTPException) as problem:
        reasons[key] = plain(str(problem) or type(problem).__name__)
        return
    if answer.getheader("Metadata-Flavor") != "Google":
        reasons[key] = "something else answered at that address"
    elif answer.status in (200, 404):
        answers[key] = body if answer.status == 200 and not body.startswith("<") else None
    else:
        reasons[key] = f"HTTP status {answer.status}"


def entries(text: str | None) -> tuple[str, ...]:
    """Return the non-empty entries of a comma list."""
    return tuple(plain(part) for part in (text or "").split(",") if part.strip())


def _last(name: str | None) -> str | None:
    """Return the last part of a resource name such as `projects/1/zones/us-central1-b`."""
    return plain(name.rpartition("/")[2]) if name else None


def _pairs(text: str) -> dict[str, str]:
    """Return the flat `KEY: 'value'` lines of the `tpu-env` attribute."""
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip().isidentifier():
            pairs[key.strip()] = plain(value.strip().strip("'\""))
    return pairs
