"""Words that several texts share; light, for whoever lists checks and runs none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_KNOWN = "no TPU known here"
"""How it is said that there is none among what this version knows."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def no_tpu(host_facts: Mapping[str, Any]) -> str:
    """Return why devices are not a TPU's: none is here, none is used, or none is known."""
    from tpustarter.machine import host

    if host_facts.get("chips"):
        return f"{count(host_facts['chips'], 'TPU chip')} not used"
    unknown = host_facts.get("unknown_google_devices")
    return f"{NOT_KNOWN}, {host.unknown_text(unknown)}" if unknown else "no TPU"
