"""The metadata server's values about this machine, within the caller's timeout.

Only `fetch_metadata` uses the network.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tpustarter.machine.machine import Machine, clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.machine.http_get import HttpResponse

ADDRESS = "169.254.169.254"
"""The address of metadata.google.internal, which needs no name resolution."""
TIMEOUT_S = 3
"""Default timeout, which is that of Google's own library; a loaded machine needs over a second."""
TIMEOUT_VARIABLE = "GCE_METADATA_TIMEOUT"
"""Whole seconds instead of the default, as for Google's library.

Source: google/auth/environment_vars.py and compute_engine/_metadata.py of google-auth.
"""
KEYS = (
    "attributes/accelerator-type",
    "attributes/agent-worker-number",
    "attributes/worker-network-endpoints",
    "attributes/tpu-env",
    "zone",
    "machine-type",
)
"""Keys read one by one, because the recursive form also returns SSH keys and startup scripts."""
_FOLDER = "/computeMetadata/v1/instance"
_FLAVOR = {"Metadata-Flavor": "Google"}


def empty_mapping() -> Mapping[str, str]:
    """Return an empty mapping, as a default for fields."""
    return {}


@dataclass(frozen=True)
class Metadata:
    """The metadata server's values; missing ones are None or empty."""

    state: Literal["ok", "no-answer", "not-google"]
    why: str = ""
    """The reason why some or all values are missing."""
    accelerator_type: str | None = None
    worker_number: int | None = None
    worker_endpoints: tuple[str, ...] = ()
    tpu_env: Mapping[str, str] = field(default_factory=empty_mapping)
    zone: str | None = None
    machine_type: str | None = None
    seconds: float = 0.0


def server_address(machine: Machine) -> str:
    """Return the `host[:port]` of the metadata server, or of the one that a variable names."""
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP"):
        if machine.env.get(name):
            return machine.env[name].removeprefix("http://").strip("/")
    return ADDRESS


def fetch_metadata(machine: Machine, timeout_s: float | None = None) -> Metadata:
    """Return the metadata server's values for `KEYS`, after at most `timeout_s` seconds.

    Without a timeout, the user's variable or the default applies. A value is used only if it has
    its documented form; otherwise it is unknown.
    """
    from tpustarter.machine import http_get  # slow to import, and few machines need it

    if timeout_s is None:
        typed = machine.env.get(TIMEOUT_VARIABLE, "")
        timeout_s = int(typed) if re.fullmatch("[0-9]{1,4}", typed) else TIMEOUT_S
    started = time.monotonic()
    paths = {f"{_FOLDER}/{key}": key for key in KEYS}
    answers = http_get.fetch_paths(server_address(machine), list(paths), _FLAVOR, timeout_s)
    values: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for path, answer in answers.items():
        why = _refused(answer)
        if why is None:
            values[paths[path]] = _text(answer)
        else:
            reasons[paths[path]] = why
    seconds = time.monotonic() - started
    why = clean_text(next(iter(reasons.values()), ""))
    if not any(values.values()):
        why = why or "it told nothing of this machine"
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


def _refused(answer: HttpResponse | str) -> str | None:
    # A key that the server lacks is a valid response, not a refusal.
    if isinstance(answer, str):
        return answer
    if answer.headers.get("metadata-flavor") != "Google":
        return "something else answered at that address"
    return None if answer.status in (200, 404) else f"HTTP status {answer.status}"


def _text(answer: HttpResponse | str) -> str | None:
    if isinstance(answer, str) or answer.status != 200:
        return None
    text = answer.body[:65536].decode("utf-8", "replace").strip()
    return None if text.startswith("<") else text


def split_entries(text: str | None) -> tuple[str, ...]:
    """Return the non-empty entries of a comma-separated list."""
    return tuple(clean_text(part) for part in (text or "").split(",") if part.strip())


def _name(text: str | None) -> str | None:
    # The text is a name or a path such as `projects/1/zones/us-central1-b`.
    name = (text or "").rpartition("/")[2]
    return name if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name) else None


def _index(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,5}", text) else None


def _endpoints(text: str | None) -> tuple[str, ...]:
    # Each host is `HOST` or `NAME:ID:HOST`; if one is malformed, none is used. Source:
    # jax/_src/clusters/cloud_tpu_cluster.py of JAX 0.12.0.1.
    endpoints = split_entries(text)
    form = r"([\w-]*:[\w-]*:)?[A-Za-z0-9][\w.-]*"
    sound = all(re.fullmatch(form, endpoint, re.ASCII) for endpoint in endpoints)
    return endpoints if sound else ()


def _pairs(text: str) -> dict[str, str]:
    # The `tpu-env` attribute consists of flat lines of `KEY: 'value'`.
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip().isidentifier():
            pairs[key.strip()] = clean_text(value.strip().strip("'\""))
    return pairs
