"""JAX's own coordination service, through which the hosts connect and exchange messages.

Its store has no public name in JAX (0.6.2 to 0.12.0.1); Orbax and others use it the same way. Only
this module does so.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Protocol

from tpustarter.probe.slice.host_position import HostPosition
from tpustarter.probe.slice.messages import (
    CheckCommand,
    CheckRecord,
    EndCommand,
    HeartbeatMessage,
)

PREFIX = "tpustarter"
HEARTBEAT_S = 90
"""Seconds without a heartbeat after which JAX ends a job without naming the host;
`shared_checks.SILENT_S` is earlier. It is fixed in older versions.
"""
FOR_EVER_MS = 7 * 24 * 3600 * 1000


def connect_to_other_hosts(place: HostPosition, timeout_s: float) -> None:
    """Connect this host with all others, blocking until they have joined.

    Raises whatever JAX raises.
    """
    jax = importlib.import_module("jax")
    initialize = jax.distributed.initialize
    known = inspect.signature(initialize).parameters
    more = (
        {"heartbeat_timeout_seconds": HEARTBEAT_S} if "heartbeat_timeout_seconds" in known else {}
    )
    initialize(
        place.coordinator,
        place.hosts,
        place.host,
        initialization_timeout=max(1, int(timeout_s)),
        **more,
    )


def disconnect_from_other_hosts() -> None:
    """Disconnect from the other hosts; every host must call this."""
    importlib.import_module("jax").distributed.shutdown()


def write_message(key: str, message: Mapping[str, object]) -> None:
    """Write a message for all hosts."""
    _client().key_value_set(f"{PREFIX}/{key}", json.dumps(message), allow_overwrite=True)


def wait_for_command(key: str) -> CheckCommand | EndCommand:
    """Return a message, waiting for it as long as the host that writes it is connected."""
    return json.loads(_client().blocking_key_value_get(f"{PREFIX}/{key}", FOR_EVER_MS))


def read_results(number: int) -> dict[str, CheckRecord]:
    """Return a check's results so far, keyed by host number."""
    return {host: json.loads(text) for host, text in _read_folder(f"result/{number}")}


def read_heartbeats() -> dict[str, HeartbeatMessage]:
    """Return each host's last heartbeat, keyed by host number."""
    return {host: json.loads(text) for host, text in _read_folder("alive")}


def _read_folder(folder: str) -> list[tuple[str, str]]:
    try:
        found = _client().key_value_dir_get(f"{PREFIX}/{folder}/")
    except Exception:  # noqa: BLE001  older versions raise if there is none yet
        return []
    return [(key.rpartition("/")[2], value) for key, value in found]


class _KeyValueStore(Protocol):
    def key_value_set(self, key: str, value: str, /, *, allow_overwrite: bool) -> None: ...
    def blocking_key_value_get(self, key: str, timeout_ms: int, /) -> str: ...
    def key_value_dir_get(self, folder: str, /) -> Iterable[tuple[str, str]]: ...


def _client() -> _KeyValueStore:
    return importlib.import_module("jax._src.distributed").global_state.client
