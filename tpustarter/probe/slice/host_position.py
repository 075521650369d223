"""A host's place in a job of several: its number, the number of hosts, and the coordinator.

JAX detects them as it does for the user's own program; only this module calls that detection.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from tpustarter.probe.slice.messages import GivenHostPosition


@dataclass(frozen=True)
class HostPosition:
    """A host's number in its job, the number of hosts, and the coordinator's address."""

    host: int
    """The host's number, from 0; host 0 coordinates."""
    hosts: int
    coordinator: str
    """Address of host 0, `NAME:PORT`, as known to all hosts."""
    detected: bool
    """True if JAX detected at least part of it."""

    @property
    def name(self) -> str:
        """The coordinator's host name, from its address."""
        return self.coordinator.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The coordinator's port."""
        return int(self.coordinator.rpartition(":")[2])


class UnknownHostPosition(Exception):  # noqa: N818  a result, not a program's error
    """Raised if nothing on this host names the other hosts. The message names what is missing."""


def find_host_position(given: GivenHostPosition, timeout_s: float) -> HostPosition:
    """Return this host's position: the given parts, and the rest as detected by JAX.

    Args:
        given: `coordinator`, `hosts` and `host`, each possibly None.
        timeout_s: Seconds to wait for the coordinator's name to be known.

    Raises:
        UnknownHostPosition: A part is neither given nor detected, or the parts are contradictory.
    """
    found: list[object] = [given.get("coordinator"), given.get("hosts"), given.get("host")]
    is_given = None not in found
    if not is_given:
        found = _detect(found, timeout_s)
    for value, option in zip(found, ("--coordinator", "--hosts", "--host"), strict=True):
        if value is None:
            raise UnknownHostPosition(f"JAX detects no cluster here, and {option} was not given")
    coordinator, hosts, host = str(found[0]), int(str(found[1])), int(str(found[2]))
    if not coordinator.rpartition(":")[2].isdigit():
        raise UnknownHostPosition(
            f"the coordinator's address is `{coordinator}`, expected HOST:PORT"
        )
    if not 0 <= host < hosts:
        raise UnknownHostPosition(f"this host has number {host}, expected 0 to {hosts - 1}")
    return HostPosition(host, hosts, coordinator, detected=not is_given)


def _detect(given: list[object], timeout_s: float) -> list[object]:
    # The first step of `jax.distributed.initialize()`, before it waits for the others (JAX 0.6.2 to
    # 0.12.0.1); there is no public function for it.
    try:
        clusters = importlib.import_module("jax._src.clusters")
        detect = clusters.ClusterEnv.auto_detect_unset_distributed_params
    except (ImportError, AttributeError) as error:
        raise UnknownHostPosition(f"this JAX cannot be asked for its cluster: {error}") from error
    try:
        return list(detect(*given, None, None, max(1, int(timeout_s))))[:3]
    except Exception as error:
        raise UnknownHostPosition(f"JAX's detection of the cluster failed: {error}") from error
