"""Metadata is consistent with this machine."""

import re

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"google_cloud": True}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.cloud.google.com/compute/docs/metadata/overview"

SKIP = "TPU_SKIP_MDS_QUERY"


def run(machine: host.Machine | None = None):
    """Query the server once, and compare the chips that it reports with those on PCI."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    metadata = host.metadata(machine)
    chips = len(host.chips(machine))
    yield _answer(machine, metadata, chips)
    proxy = next((name for name in ("http_proxy", "HTTP_PROXY") if machine.env.get(name)), None)
    direct = machine.env.get("no_proxy", "") + machine.env.get("NO_PROXY", "")
    if proxy and "metadata.google.internal" not in direct and direct != "*":
        yield Finding(
            code="HOST-METADATA-PROXY",
            name="requests to the metadata server would pass through a proxy",
            verdict="warn",
            found=f"{proxy} is set",
            expected="no_proxy names metadata.google.internal",
            hint="run `export no_proxy=metadata.google.internal,169.254.169.254`",
        )
    shape = host.slice_shape(machine, metadata)
    source = shape.sources.get("accelerator_type", "not given by variables or metadata")
    yield Finding(
        code="HOST-METADATA-TYPE",
        name=f"TPU type ({source})",
        found=shape.accelerator_type or "unknown",
    )
    if chips and shape.host_chips:
        yield compare(
            code="HOST-METADATA-CHIPS",
            name="chips on PCI, compared with the TPU type",
            found=chips,
            expected=shape.host_chips,
            unit="chips",
            hint=None
            if chips == shape.host_chips
            else "restart this machine; if the figures still differ, delete it and create another",
        )


def _answer(machine: host.Machine, metadata: host.Metadata, chips: int) -> Finding:
    """Judge the answer: without one, and without the variable, libtpu retries for minutes."""
    answered = metadata.state == "ok"
    skipped = machine.env.get(SKIP, "").lower() in ("1", "true")
    queried = chips and not skipped
    return Finding(
        code="HOST-METADATA-ANSWER",
        name="answer of the metadata server",
        verdict="ok" if answered else "warn" if queried else "info",
        found=f"after {metadata.seconds:.2f} s" if answered else f"none ({_reason(metadata)})",
        expected="within 1 s" if queried else None,
        hint=None
        if answered or not queried
        else "if it cannot be reached, as in some containers, set "
        f"`{SKIP}=1 TPU_WORKER_ID=0 TPU_WORKER_HOSTNAMES=localhost` and TPU_ACCELERATOR_TYPE",
    )


def _reason(metadata: host.Metadata) -> str:
    """Return why there is no answer, without the number the system gives the error."""
    return re.sub(r"^\[Errno -?\d+\] ", "", metadata.why)
