"""Words shared by several texts, in a module that is cheap to import."""

from __future__ import annotations

from tpustarter.checking.results.results import HostFields
from tpustarter.text import phrases

NOT_KNOWN = "no TPU known here"
"""The text for a machine with no TPU that this version recognises."""


def explain_no_tpu(host_facts: HostFields) -> str:
    """Return the reason why a run has no TPU: none exists, none is used, or none is recognised."""
    from tpustarter.machine import host

    if chips := host_facts.get("chips"):
        return f"{phrases.format_count(chips, 'TPU chip')} not used"
    unknown = host_facts.get("unknown_google_devices")
    return f"{NOT_KNOWN}, {host.describe_unknown_devices(unknown)}" if unknown else "no TPU"
