"""A dozen lines with what maintainers ask first, so that they need not unfold what was collected.

Each line is there only where something is known. The questions were counted in closed threads of
the trackers: versions, kind of TPU, how many hosts, runtime version, who holds the device, what the
framework says, how it was installed, and whether the host ran out of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tpustarter.report.asked import ASIDE
from tpustarter.report.view import Fields, View

FRAMEWORKS = ("jax", "torch", "torch_xla", "torch_tpu", "tensorflow")
_GIB = 1 << 30
_HOUR_S = 3600.0


def lines(view: View) -> Iterator[str]:
    """Yield what is known, a line for each question."""
    yield f"device: {tpu(view)}"
    for name, told in (
        ("slice", _slice(view)), ("in use", _users(view)), ("packages", _packages(view)),
        ("libtpu", _libtpu(view)), ("installed", _installed(view)), *_asked(view),
        ("variables", _variables(view)), ("host", _host(view)), ("memory", _memory(view)),
        ("host checks", _checks(view)), ("since the last good run", _changes(view)),
    ):  # fmt: skip
        if told:
            yield f"{name}: {told}"


def tpu(view: View) -> str:
    """Return the chips, as the PCI bus shows them."""
    count = view.fact("tpu", "chips", 0)
    if not count:
        return "no TPU chip on PCI"
    kinds = "/".join(view.fact("tpu", "generation", [])) or "unknown"
    return f"{count} TPU chips ({kinds}), {view.fact('tpu', 'reachable_chips')} reachable"


def _slice(view: View) -> str:
    """Return where this host is in its slice, and what it runs."""
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
    """Return who has the device; nothing where there is none and nobody locked it."""
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
    """Return the build of libtpu, and others that may be loaded in its place."""
    built = view.fact("python", "libtpu_build", "")
    others = [f"also {one}" for one in view.fact("python", "other_libtpu", [])]
    return "; ".join(filter(None, (str(built), *others)))


def _installed(view: View) -> str:
    """Return what installed the frameworks, which no index has, and which are claimed twice."""
    ways = set(cast("Fields", view.fact("python", "installed_by", {})).values())
    built = cast("Fields", view.fact("python", "not_from_an_index", {}))
    hidden = cast("list[Fields]", view.fact("python", "hidden", []))
    parts = [f"by {' and '.join(sorted(map(str, ways)))}"] if ways else []
    parts += [f"{name} from {one}" for name, one in built.items()]
    parts += [f"{one.get('name')} {one.get('version')} is claimed too" for one in hidden]
    return "; ".join(parts)


def _asked(view: View) -> Iterator[tuple[str, str]]:
    """Yield what came of asking each framework."""
    for name in FRAMEWORKS:
        if not view.fact(name, "steps", []):
            continue
        steps = cast("list[Fields]", view.fact(name, "steps", []))
        steps = [one for one in steps if one.get("step") not in ASIDE]
        bad = next(
            (one for one in steps if one.get("state") in ("failed", "hung", "crashed")), None
        )
        if bad:
            yield name, f"{bad.get('state')} in `{bad.get('step')}`"
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
    return "; ".join(filter(None, (", ".join(map(str, parts)),
                                   f"set: {', '.join(named)}" if named else "")))  # fmt: skip


def _host(view: View) -> str:
    """Return the processors, the container, and how long the host is up."""
    cpus, uptime = view.fact("limits", "cpus", None), view.fact("resources", "uptime_s", None)
    kind = view.fact("resources", "container", "none")
    network = view.fact("resources", "host_network", None)
    parts = [
        view.fact("resources", "cpu", None),
        None if cpus is None else f"{cpus} CPUs",
        f"up {uptime / _HOUR_S:.1f} h" if isinstance(uptime, int | float) else None,
        None if kind == "none" else f"in a container ({kind}"
        + ("" if network is None else f", {'the' if network else 'not the'} host's network") + ")",
    ]  # fmt: skip
    return ", ".join(str(one) for one in parts if one)


def _memory(view: View) -> str:
    """Return the host's memory; a process that the kernel ended shows that it ran out."""
    names = (("memory_bytes", "in all"), ("available_bytes", "free"), ("limit_bytes", "allowed"))
    parts = [gib(view.fact("resources", name, None), what) for name, what in names]
    kills = view.fact("resources", "oom_kills", 0)
    parts.append(f"memory ran out, and the kernel ended {kills} processes since it started"
                 if kills else "")  # fmt: skip
    return ", ".join(filter(None, parts))


def gib(value: Any, what: str) -> str:
    """Return an amount of memory in GiB; nothing where it is none."""
    return f"{value / _GIB:.0f} GiB {what}" if isinstance(value, int | float) else ""


def _checks(view: View) -> str:
    """Return which host checks found something."""
    found = cast("list[Fields]", view.fact("checks", "findings", []))
    return ", ".join(f"{one.get('code')} ({one.get('verdict')})" for one in found)


def _changes(view: View) -> str:
    """Return what is another version, or another machine, than it was then."""
    rows = [*view.fact("changes", "versions", []), *view.fact("changes", "machine", [])]
    changed = [f"{one.get('name')} {one.get('before')} became {one.get('now')}"
               for one in cast("list[Fields]", rows)]  # fmt: skip
    return ", ".join(changed)
