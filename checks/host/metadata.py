"""Metadata is consistent with this machine."""

import re

from tpustarter.machine import host
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.probe.finding import Finding, Hint, NoAnswer, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"google_cloud": True}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.cloud.google.com/compute/docs/metadata/overview"

SKIP = "TPU_SKIP_MDS_QUERY"
"""Without an answer, and without this variable, libtpu retries for minutes."""
_RESTART = "restart this machine; if the figures still differ, delete it and create another"


def run(machine: host.Machine | None = None):
    """Query the server once, and compare the chips that it reports with those on PCI."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    metadata = host.metadata(machine)
    chips = len(host.list_chips(machine))
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
            hint=Hint.run("export no_proxy=metadata.google.internal,169.254.169.254"),
        )
    shape = host.find_slice(machine, metadata)
    source = shape.sources.get("accelerator_type", "not given by variables or metadata")
    type_name = shape.accelerator_type or "unknown"
    yield Finding("HOST-METADATA-TYPE", f"TPU type ({source})", found=type_name)
    if chips and shape.host_chips:
        yield compare(
            code="HOST-METADATA-CHIPS",
            name="chips on PCI, compared with the TPU type",
            found=chips,
            expected=shape.host_chips,
            unit="chips",
            hint=_RESTART if chips != shape.host_chips else None,
        )
    elif metadata.state == "no-answer" and not _is_queried(machine, chips):
        raise NoAnswer(f"no answer of the metadata server ({_reason(metadata)})")
    elif metadata.state == "ok" and metadata.why:  # such as an error for one of the values
        raise NoAnswer(f"only a part of the metadata was told ({_reason(metadata)})")


def _answer(machine: host.Machine, metadata: host.Metadata, chips: int) -> Finding:
    answered, queried = metadata.state == "ok", _is_queried(machine, chips)
    return Finding(
        code="HOST-METADATA-ANSWER",
        name="answer of the metadata server",
        verdict="ok" if answered else "warn" if queried else "info",
        found=f"after {metadata.seconds:.2f} s" if answered else f"none ({_reason(metadata)})",
        expected="an answer" if queried else None,
        hint=None
        if answered or not queried
        else "if it cannot be reached, as in some containers, set "
        f"`{SKIP}=1 TPU_WORKER_ID=0 TPU_WORKER_HOSTNAMES=localhost` and TPU_ACCELERATOR_TYPE",
    )


def _is_queried(machine: host.Machine, chips: int) -> bool:
    skips = machine.env.get(SKIP, "").lower() in ("1", "true")
    return bool(chips) and not skips and not find_notebook_service(machine.env)


def _reason(metadata: host.Metadata) -> str:
    return re.sub(r"^\[Errno -?\d+\] ", "", metadata.why)
