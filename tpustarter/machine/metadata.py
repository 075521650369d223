"""What Google's metadata server says of this machine, asked for at most as long as the caller says.

Only `ask` touches the network.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tpustarter.machine.machine import Machine, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.machine.http_get import Answer

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
_FOLDER = "/computeMetadata/v1/instance"
_FLAVOR = {"Metadata-Flavor": "Google"}


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
    """Ask the metadata server for the keys above; return after at most `timeout_s` seconds.

    What an answer holds is taken only where it has the form that is documented for it: another one
    is unknown.
    """
    from tpustarter.machine import http_get  # takes long to import, and few machines need it

    started = time.monotonic()
    paths = {f"{_FOLDER}/{key}": key for key in KEYS}
    answers = http_get.get(address(machine), list(paths), _FLAVOR, timeout_s)
    values: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for path, answer in answers.items():
        why = _refused(answer)
        if why is None:
            values[paths[path]] = _text(answer)
        else:
            reasons[paths[path]] = why
    seconds = time.monotonic() - started
    why = plain(next(iter(reasons.values()), ""))
    if not values:
        return Metadata("no-answer", why, seconds=seconds)
    endpoints = _endpoints(values.get("attributes/worker-network-endpoints"))
    return Metadata(
        state="ok",
        why=why,
        accelerator_type=_name(values.get("attributes/accelerator-type")),
        worker_number=_index(values.get("attributes/agent-worker-number")),
        worker_endpoints=endpoints,
        tpu_env=_pairs(values.get("attributes/tpu-env") or ""),
        zone=_name(values.get("zone")),
        machine_type=_name(values.get("machine-type")),
        seconds=seconds,
    )


def _refused(answer: Answer | str) -> str | None:
    """Return why an answer says nothing; null for one, and for a key the server does not have."""
    if isinstance(answer, str):
        return answer
    if answer.headers.get("metadata-flavor") != "Google":
        return "something else answered at that address"
    return None if answer.status in (200, 404) else f"HTTP status {answer.status}"


def _text(answer: Answer | str) -> str | None:
    """Return the value in an answer; null where the server has none."""
    if isinstance(answer, str) or answer.status != 200:
        return None
    text = answer.body[:65536].decode("utf-8", "replace").strip()
    return None if text.startswith("<") else text


def entries(text: str | None) -> tuple[str, ...]:
    """Return the non-empty entries of a comma list."""
    return tuple(plain(part) for part in (text or "").split(",") if part.strip())


def _name(text: str | None) -> str | None:
    """Return a name, or the last part of one such as `projects/1/zones/us-central1-b`."""
    name = (text or "").rpartition("/")[2]
    return name if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name) else None


def _index(text: str | None) -> int | None:
    """Return the number of a worker; null for what is none."""
    return int(text) if text and re.fullmatch(r"[0-9]{1,5}", text) else None


def _endpoints(text: str | None) -> tuple[str, ...]:
    """Return the hosts of a slice, each `HOST` or `NAME:ID:HOST`; none where one of them is not.

    Source: jax/_src/clusters/cloud_tpu_cluster.py of JAX 0.12.0.1.
    """
    endpoints = entries(text)
    form = r"([\w-]*:[\w-]*:)?[A-Za-z0-9][\w.-]*"
    sound = all(re.fullmatch(form, endpoint, re.ASCII) for endpoint in endpoints)
    return endpoints if sound else ()


def _pairs(text: str) -> dict[str, str]:
    """Return the flat `KEY: 'value'` lines of the `tpu-env` attribute."""
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip().isidentifier():
            pairs[key.strip()] = plain(value.strip().strip("'\""))
    return pairs
