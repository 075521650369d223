"""A summary of about a dozen lines, with the facts that maintainers ask for first.

A line is present only if its fact is known. The questions were counted in closed threads of the
trackers: versions, kind of TPU, number of hosts, runtime version, the process that holds the
device, the framework's response, its installer, and whether the host ran out of memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.report.collect.framework_probe import OPTIONAL_STEPS
from tpustarter.report.forms.report_view import ReportView
from tpustarter.report.report_document import FRAMEWORK_SECTIONS, Figure
from tpustarter.text import phrases

_GIB = 1 << 30
_HOUR_S = 3600.0


def summarize_report(view: ReportView) -> Iterator[str]:
    """Yield the summary, a line for each question that has an answer."""
    yield f"device: {describe_chips(view)}"
    for name, text in (
        ("slice", _describe_slice(view)),
        ("in use", _describe_holders(view)),
        ("packages", _format_packages(view)),
        ("libtpu", _describe_libtpu(view)),
        ("installed", _describe_installation(view)),
        *_describe_frameworks(view),
        ("variables", _format_variables(view)),
        ("host", _describe_host(view)),
        ("memory", _describe_memory(view)),
        ("host checks", _format_findings(view)),
        ("since the last good run", _format_changes(view)),
    ):
        if text:
            yield f"{name}: {text}"


def describe_chips(view: ReportView) -> str:
    """Return the number and kind of the chips on the PCI bus."""
    facts = view.facts.tpu
    if not facts.chips:
        return "no TPU chip on PCI"
    kinds = "/".join(facts.generation) or "unknown"
    return f"{facts.chips} TPU chips ({kinds}), {facts.reachable_chips} reachable"


def _describe_slice(view: ReportView) -> str:
    metadata = view.facts.metadata
    parts = [
        metadata.accelerator_type,
        "" if metadata.worker is None else f"worker {metadata.worker} of {metadata.hosts}",
        metadata.runtime_version and f"runtime version {metadata.runtime_version}",
        metadata.zone,
    ]
    return ", ".join(filter(None, parts))


def _describe_holders(view: ReportView) -> str:
    """Return the holders of the device, or an empty string if there is no TPU and no lock."""
    facts = view.facts.tpu
    if facts.lock.state == "absent" and not facts.chips:
        return ""
    shown = [f"pid {one.pid} ({one.command})" for one in facts.holders]
    seen = "" if facts.sees_every_process else " (not every process is seen)"
    return f"{', '.join(shown) or 'by nobody'}{seen}; libtpu's lock is {facts.lock.state}"


def _format_packages(view: ReportView) -> str:
    return ", ".join(f"{name} {version}" for name, version in view.facts.python.packages.items())


def _describe_libtpu(view: ReportView) -> str:
    others = [f"also {one}" for one in view.facts.python.other_libtpu]
    return "; ".join(filter(None, (view.facts.python.libtpu_build, *others)))


def _describe_installation(view: ReportView) -> str:
    """Return the frameworks' installers, origins other than an index, and duplicates."""
    facts = view.facts.python
    ways = set(facts.installed_by.values())
    parts = [f"by {phrases.join_words(sorted(ways))}"] if ways else []
    parts += [f"{name} from {one}" for name, one in facts.not_from_an_index.items()]
    parts += [f"{one.name} {one.version} is claimed too" for one in facts.hidden]
    return "; ".join(parts)


def describe_unfinished_import(view: ReportView, name: str) -> str:
    """Describe an import that did not finish and the machine's load, or return "" if it did."""
    facts = view.facts.framework(name)
    if not facts.unfinished_in:
        return ""
    figures = f"load {facts.load:g} on {phrases.format_count(int(facts.cores), 'core')}"
    is_busy = facts.load > facts.cores
    why = f"the machine was busy ({figures})" if is_busy else f"it was still reading ({figures})"
    return f"{name} did not finish `{facts.unfinished_in}` in {facts.waited_s:g} s, and {why}"


_STATE_WORDS = {
    "failed": "failed in",
    "hung": "hung in",
    "crashed": "crashed in",
    "unfinished": "did not finish",
}
"""Words for a step without a result, keyed by its state."""


def _describe_frameworks(view: ReportView) -> Iterator[tuple[str, str]]:
    for name in FRAMEWORK_SECTIONS:
        facts = view.facts.framework(name)
        if not facts.steps:
            continue
        steps = [one for one in facts.steps if one.step not in OPTIONAL_STEPS]
        if bad := next((one for one in steps if one.state in _STATE_WORDS), None):
            yield name, f"{_STATE_WORDS[bad.state]} `{bad.step}`"
        elif facts.not_asked_because:
            yield name, f"devices were not started, because {facts.not_asked_because}"
        elif facts.platform:
            of = "" if facts.total in (None, facts.local) else f" of {facts.total}"
            yield name, f"answers with {facts.local}{of} {facts.kind or facts.platform} devices"
    metrics = view.facts.framework("jax").metrics
    for metric, title in (("ici_link_health", "link health"), ("tpu_throttle_score", "throttling")):
        if values := metrics.get(metric):
            yield title, values if isinstance(values, str) else ", ".join(values)


def _format_variables(view: ReportView) -> str:
    facts = view.facts.variables
    parts = [*(f"{name}={value}" for name, value in facts.values.items()), *facts.flags]
    named = f"set: {', '.join(facts.set)}" if facts.set else ""
    return "; ".join(filter(None, (", ".join(parts), named)))


def _describe_host(view: ReportView) -> str:
    facts, cpus = view.facts.resources, view.facts.limits.cpus
    network = "the host's network" if facts.host_network else "not the host's network"
    inside = [facts.container] if facts.host_network is None else [facts.container, network]
    parts = [
        facts.cpu,
        "" if cpus is None else f"{cpus} CPUs",
        "" if facts.uptime_s is None else f"up {facts.uptime_s / _HOUR_S:.1f} h",
        "" if facts.container == "none" else f"in a container ({', '.join(inside)})",
    ]
    return ", ".join(filter(None, parts))


def _describe_memory(view: ReportView) -> str:
    facts = view.facts.resources
    parts = [
        _format_gib(facts.memory_bytes, "in all"),
        _format_gib(facts.available_bytes, "free"),
        _format_gib(facts.limit_bytes, "allowed"),
        f"memory ran out, and the kernel ended {facts.oom_kills} processes since it started"
        if facts.oom_kills
        else "",
    ]
    return ", ".join(filter(None, parts))


def _format_gib(value: Figure | None, what: str) -> str:
    return "" if value is None else f"{value / _GIB:.0f} GiB {what}"


def _format_findings(view: ReportView) -> str:
    return ", ".join(f"{one.code} ({one.verdict})" for one in view.facts.checks.findings)


def _format_changes(view: ReportView) -> str:
    rows = [*view.facts.changes.versions, *view.facts.changes.machine]
    return ", ".join(f"{one.name} {one.before} became {one.now}" for one in rows)
