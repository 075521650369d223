"""What a check needs of this machine, and which of that is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpustarter.probe import adapters
from tpustarter.probe.target import target


def unmet_by_plan(needs: Mapping[str, Any]) -> str | None:
    """Return a need that devices of this run cannot meet, as planned before any were started."""
    platform = needs.get("platform", target().platform)
    if platform == target().platform or target().platform not in ("tpu", "gpu", "cpu"):
        return None
    return f"needs a {platform} device, found {target().platform}"


def unmet(framework: str, needs: Mapping[str, Any]) -> str | None:
    """Return the first need this machine does not meet, with the value found, or None."""
    device_needs = {
        key: needs[key] for key in ("devices", "platform", "generation") if key in needs
    }
    host_needs = {key: value for key, value in needs.items() if key not in device_needs}
    if host_needs:
        # Compiled anew in every process: only where it is needed.
        from tpustarter.machine import host

        reason = host.unmet(host.Machine(root=target().root, uid=target().uid), host_needs)
        if reason:
            return reason
    if not device_needs:
        return None
    ran_on = adapters.ran_on(framework) or {}
    return _unmet_devices(ran_on, device_needs)


def _unmet_devices(ran_on: Mapping[str, Any], needs: Mapping[str, Any]) -> str | None:
    count, platform = ran_on.get("count", 0), ran_on.get("platform", "none")
    if count < needs.get("devices", 0):
        return f"needs {needs['devices']} devices, found {count}"
    if platform != needs.get("platform", platform):
        return f"needs a {needs['platform']} device, found {platform}"
    generations = needs.get("generation")
    if generations and target().generation not in (
        [generations] if isinstance(generations, str) else generations
    ):
        return f"needs generation {generations}, found {target().generation or 'none'}"
    return None
