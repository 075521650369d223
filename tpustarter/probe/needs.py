"""What a check needs of this machine, and which of that is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpustarter.machine import frameworks
from tpustarter.probe.target import target


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
    found = frameworks.ran_on(framework, virtual=target().virtual) or {}
    return _unmet_devices(found, device_needs)


def _unmet_devices(found: Mapping[str, Any], needs: Mapping[str, Any]) -> str | None:
    count, where = found.get("count", 0), found.get("platform", "none")
    if count < needs.get("devices", 0):
        return f"needs {needs['devices']} devices, found {count}"
    if where != needs.get("platform", where):
        return f"needs a {needs['platform']} device, found {where}"
    wanted = needs.get("generation")
    if wanted and target().generation not in ([wanted] if isinstance(wanted, str) else wanted):
        return f"needs generation {wanted}, found {target().generation or 'none'}"
    return None
