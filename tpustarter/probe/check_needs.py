"""The needs of a check, and those that this machine does not meet."""

from __future__ import annotations

import importlib.util

from tpustarter.probe import adapters
from tpustarter.probe.commands import CheckNeeds
from tpustarter.probe.events import AvailableDevices
from tpustarter.probe.target import target

_OF_DEVICES = ("devices", "platform", "generation")
"""Needs that depend on a framework's devices."""


def find_need_unmet_by_plan(needs: CheckNeeds) -> str | None:
    """Return a need that the planned devices cannot meet, or None, without starting any device."""
    platform = needs.get("platform", target().platform)
    if platform == target().platform or target().platform not in ("tpu", "gpu", "cpu"):
        return None
    return _other_platform(platform, target().platform)


def find_unmet_need(framework: str, needs: CheckNeeds) -> str | None:
    """Return the first need that this machine does not meet, with the value found, or None."""
    others = (*_OF_DEVICES, "hosts", "packages", "slices")
    host_needs = {key: value for key, value in needs.items() if key not in others}
    if host_needs:
        # Compiled again in every process, so it is used only if needed.
        from tpustarter.machine import host

        reason = host.find_unmet_check_need(
            host.Machine(root=target().root, uid=target().uid), host_needs
        )
        if reason:
            return reason
    if reason := _missing_packages(needs) or _too_few_hosts(needs):
        return reason
    if not any(key in needs for key in _OF_DEVICES):
        return None
    return _unmet_devices(adapters.read_devices(framework), needs)


def _other_platform(needed: str, found: str) -> str:
    here = f"only a {found.upper()}" if found in ("tpu", "gpu", "cpu") else "no device"
    return f"this run has {here}, and a {needed.upper()} is needed"


def _missing_packages(needs: CheckNeeds) -> str | None:
    missing = [name for name in needs.get("packages", ()) if not _is_installed(name)]
    return f"this Python has no {' and no '.join(missing)}" if missing else None


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even its parent package exists
        return False


def _too_few_hosts(needs: CheckNeeds) -> str | None:
    for kind, needed, count in (
        ("host", needs.get("hosts", 0), adapters.count_hosts),
        ("slice", needs.get("slices", 0), adapters.count_slices),
    ):
        if needed and (found := count()) < needed:
            some = f"one {kind}" if found == 1 else f"only {found} {kind}s"
            return f"this run has {some}, and {needed} are needed"
    return None


def _unmet_devices(ran_on: AvailableDevices | None, needs: CheckNeeds) -> str | None:
    count, platform = (ran_on["count"], ran_on["platform"]) if ran_on else (0, "none")
    if count < (needed := needs.get("devices", 0)):
        devices = f"only {count} device{'' if count == 1 else 's'}" if count else "no device"
        return f"this run has {devices}, and {needed} are needed"
    if platform != (needed_platform := needs.get("platform", platform)):
        return _other_platform(needed_platform, platform)
    generations = needs.get("generation")
    names = [generations] if isinstance(generations, str) else generations or ()
    if names and target().generation not in names:
        here = f"a TPU {target().generation}" if target().generation else "no TPU"
        return f"this run has {here}, and a TPU {' or '.join(names)} is needed"
    return None
