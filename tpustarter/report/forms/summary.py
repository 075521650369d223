"""A summary of a dozen lines with the facts that maintainers ask for first.

A line is there only where something is known. The questions were counted in closed threads of the
trackers: versions, kind of TPU, how many hosts, runtime version, who holds the device, the
framework's answer, how it was installed, and whether the host ran out of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tpustarter.machine import frameworks
from tpustarter.report.collect.framework_probe import ASIDE
from tpustarter.report.forms.view import Fields, View
from tpustarter.text import phrases

ASKED = (*frameworks.FRAMEWORKS, "torch")
"""Sections with answers of frameworks."""
_GIB = 1 << 30
_HOUR_S = 3600.0


def lines(view: View) -> Iterator[str]:
    """Yield the summary, a line for each question with an answer."""
    yield f"device: {tpu(view)}"
    for name, told in (
        ("slice", _slice(view)),
        ("in use", _users(view)),
        ("packages", _packages(view)),
        ("libtpu", _libtpu(view)),
        ("installed", _installed(view)),
        *_asked(view),
        ("variables", _variables(view)),
        ("host", _host(view)),
        ("memory", _memory(view)),
        ("host checks", _checks(view)),
        ("since the last good run", _changes(view)),
    ):
        if told:
            yield f"{name}: {told}"


def tpu(view: View) -> str:
    """Return the number and the kind of the chips on the PCI bus."""
    count = view.fact("tpu", "chips", 0)
    if not count:
        return "no TPU chip on PCI"
    kinds = "/".join(view.fact("tpu", "generation", [])) or "unknown"
    return f"{count} TPU chips ({kinds}), {view.fact('tpu', 'reachable_chips')} reachable"


def _slice(view: View) -> str:
    names = ("accelerator_type", "worker", "hosts", "runtime_version", "zone")
    told = {name: view.fact("metadata", name, None) for name in names}
    parts = [
        told["accelerator_type"],
        None if told["worker"] is None else f"worker {told['worker']} of {told['hosts']}",
        told["runtime_version"] and f"runtime version {told['runtime_version']}",
        told["zone"],
    ]
    return ", ".join(str(one) for one in parts if one)


def _users(view: View) -> str:
    """Return the holders of the device; empty where there is no TPU and no lock."""
    lock = cast("Fields", view.fact("tpu", "lock", {})).get("state", "absent")
    if lock == "absent" and not view.fact("tpu", "chips", 0):
        return ""
    holders = cast("list[Fields]", view.fact("tpu", "holders", []))
    shown = [f"pid {one.get('pid')} ({one.get('command')})" for one in holders]
    seen = (
        ""
        if view.fact("tpu", "sees_every_process", default=True)
        else " (not every process is seen)"
    )
    return f"{', '.join(shown) or 'by nobody'}{seen}; libtpu's lock is {lock}"


def _packages(view: View) -> str:
    packages = cast("Fields", view.fact("python", "packages", {}))
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def _libtpu(view: View) -> str:
    built = view.fact("python", "libtpu_build", "")
    others = [f"also {one}" for one in view.fact("python", "other_libtpu", [])]
    return "; ".join(filter(None, (str(built), *others)))


def _installed(view: View) -> str:
    """Return the installers of the frameworks, origins outside an index, and duplicates."""
    ways = set(cast("Fields", view.fact("python", "installed_by", {})).values())
    built = cast("Fields", view.fact("python", "not_from_an_index", {}))
    hidden = cast("list[Fields]", view.fact("python", "hidden", []))
    parts = [f"by {phrases.join(sorted(map(str, ways)))}"] if ways else []
    parts += [f"{name} from {one}" for name, one in built.items()]
    parts += [f"{one.get('name')} {one.get('version')} is claimed too" for one in hidden]
    return "; ".join(parts)


def unfinished(view: View, name: str) -> str:
    """Return that a framework was still being imported, and how busy the machine was, or ""."""
    step = view.fact(name, "unfinished_in", "")
    if not step:
        return ""
    load, cores = view.fact(name, "load", 0), view.fact(name, "cores", 1)
    is_busy = load > cores
    figures = f"load {load:g} on {phrases.count(cores, 'core', 'cores')}"
    why = f"the machine was busy ({figures})" if is_busy else f"it was still reading ({figures})"
    return f"{name} did not finish `{step}` in {view.fact(name, 'waited_s'):g} s, and {why}"


_STATES = {
    "failed": "failed in",
    "hung": "hung in",
    "crashed": "crashed in",
    "unfinished": "did not finish",
}
"""How a step that gave no answer is told, by its state."""


def _asked(view: View) -> Iterator[tuple[str, str]]:
    for name in ASKED:
        if not view.fact(name, "steps", []):
            continue
        steps = cast("list[Fields]", view.fact(name, "steps", []))
        steps = [one for one in steps if one.get("step") not in ASIDE]
        bad = next((one for one in steps if one.get("state") in _STATES), None)
        if bad:
            yield name, f"{_STATES[str(bad.get('state'))]} `{bad.get('step')}`"
        elif why := view.fact(name, "not_asked_because", ""):
            yield name, f"devices were not started, because {why}"
        elif view.fact(name, "platform", ""):
            local, total = (view.fact(name, one, None) for one in ("local", "total"))
            of = "" if total in (None, local) else f" of {total}"
            kind = view.fact(name, "kind", view.fact(name, "platform"))
            yield name, f"answers with {local}{of} {kind} devices"
    metrics = cast("Fields", view.fact("jax", "metrics", {}))
    for metric, title in (("ici_link_health", "link health"), ("tpu_throttle_score", "throttling")):
        if values := metrics.get(metric):
            yield title, ", ".join(map(str, values))


def _variables(view: View) -> str:
    values = cast("Fields", view.fact("variables", "values", {}))
    parts = [f"{name}={value}" for name, value in values.items()]
    parts += view.fact("variables", "flags", [])
    named = view.fact("variables", "set", [])
    return "; ".join(
        filter(None, (", ".join(map(str, parts)), f"set: {', '.join(named)}" if named else ""))
    )


def _host(view: View) -> str:
    cpus, uptime = view.fact("limits", "cpus", None), view.fact("resources", "uptime_s", None)
    kind = view.fact("resources", "container", "none")
    network = view.fact("resources", "host_network", None)
    parts = [
        view.fact("resources", "cpu", None),
        None if cpus is None else f"{cpus} CPUs",
        f"up {uptime / _HOUR_S:.1f} h" if isinstance(uptime, int | float) else None,
        None
        if kind == "none"
        else f"in a container ({kind}"
        + ("" if network is None else f", {'the' if network else 'not the'} host's network")
        + ")",
    ]
    return ", ".join(str(one) for one in parts if one)


def _memory(view: View) -> str:
    names = (("memory_bytes", "in all"), ("available_bytes", "free"), ("limit_bytes", "allowed"))
    parts = [gib(view.fact("resources", name, None), what) for name, what in names]
    kills = view.fact("resources", "oom_kills", 0)
    parts.append(
        f"memory ran out, and the kernel ended {kills} processes since it started" if kills else ""
    )
    return ", ".join(filter(None, parts))


def gib(value: Any, what: str) -> str:
    """Return bytes in GiB; empty for a value that is not a number."""
    return f"{value / _GIB:.0f} GiB {what}" if isinstance(value, int | float) else ""


def _checks(view: View) -> str:
    found = cast("list[Fields]", view.fact("checks", "findings", []))
    return ", ".join(f"{one.get('code')} ({one.get('verdict')})" for one in found)


def _changes(view: View) -> str:
    rows = [*view.fact("changes", "versions", []), *view.fact("changes", "machine", [])]
    changed = [
        f"{one.get('name')} {one.get('before')} became {one.get('now')}"
        for one in cast("list[Fields]", rows)
    ]
    return ", ".join(changed)
