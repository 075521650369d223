"""The needs of a check, and which of them this machine does not meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpustarter.probe import adapters
from tpustarter.probe.adapters import AvailableDevices
from tpustarter.probe.target import target


def find_unmet_by_plan(needs: Mapping[str, Any]) -> str | None:
    """Return a need that the planned devices of this run cannot meet, before any are started."""
    platform = needs.get("platform", target().platform)
    if platform == target().platform or target().platform not in ("tpu", "gpu", "cpu"):
        return None
    return _other_platform(platform, target().platform)


def find_unmet(framework: str, needs: Mapping[str, Any]) -> str | None:
    """Return the first need this machine does not meet, with the value found, or None."""
    device_needs = {
        key: needs[key] for key in ("devices", "platform", "generation") if key in needs
    }
    host_needs = {
        key: value for key, value in needs.items() if key not in device_needs and key != "hosts"
    }
    if host_needs:
        # It is compiled again in every process, so only where it is needed.
        from tpustarter.machine import host

        reason = host.find_unmet(host.Machine(root=target().root, uid=target().uid), host_needs)
        if reason:
            return reason
    if "hosts" in needs and (hosts := adapters.count_hosts()) < needs["hosts"]:
        some = "one host" if hosts == 1 else f"only {hosts} hosts"
        return f"this run has {some}, and {needs['hosts']} are needed"
    if not device_needs:
        return None
    return _unmet_devices(adapters.read_devices(framework), device_needs)


def _other_platform(needed: str, found: str) -> str:
    here = f"only a {found.upper()}" if found in ("tpu", "gpu", "cpu") else "no device"
    return f"this run has {here}, and a {needed.upper()} is needed"


def _unmet_devices(ran_on: AvailableDevices | None, needs: Mapping[str, Any]) -> str | None:
    count, platform = (ran_on["count"], ran_on["platform"]) if ran_on else (0, "none")
    if count < needs.get("devices", 0):
        devices = f"only {count} device{'' if count == 1 else 's'}" if count else "no device"
        return f"this run has {devices}, and {needs['devices']} are needed"
    if platform != needs.get("platform", platform):
        return _other_platform(needs["platform"], platform)
    generations = needs.get("generation")
    names = [generations] if isinstance(generations, str) else generations or ()
    if names and target().generation not in names:
        here = f"a TPU {target().generation}" if target().generation else "no TPU"
        return f"this run has {here}, and a TPU {' or '.join(names)} is needed"
    return None
