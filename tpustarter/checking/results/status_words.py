"""Words that several texts share, in a module light enough for commands that run no check."""

from __future__ import annotations

from tpustarter.checking.results.results import HostFields
from tpustarter.text import phrases

NOT_KNOWN = "no TPU known here"
"""The words for a machine without a TPU that this version knows."""


def explain_no_tpu(host_facts: HostFields) -> str:
    """Return why a run has no TPU: none exists, none is used, or none is recognized."""
    from tpustarter.machine import host

    if chips := host_facts.get("chips"):
        return f"{phrases.format_count(chips, 'TPU chip')} not used"
    unknown = host_facts.get("unknown_google_devices")
    return f"{NOT_KNOWN}, {host.describe_unknown_devices(unknown)}" if unknown else "no TPU"
