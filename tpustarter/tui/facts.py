"""What Home says about this machine, looked up in a worker: nothing is started for it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking import interpreters, plan
from tpustarter.checking.interpreters import Interpreter
from tpustarter.machine import host
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui.settings import Settings


@dataclass(frozen=True)
class Facts:
    """A machine, in words."""

    rows: tuple[tuple[str, str], ...]
    """A name and what is known of it."""
    place: str
    """The devices in a few words, for the heading."""
    on_tpu: bool
    has_framework: bool
    """Whether the Python under test has one."""
    candidates: tuple[Interpreter, ...] = ()
    """The Python under test first, then the others that have a framework."""


def look(machine: host.Machine, settings: Settings) -> Facts:
    """Look at the machine; may wait a second for the metadata server."""
    chosen, others, trouble = None, list[Interpreter](), ""
    try:
        chosen, others = interpreters.choose(None, machine.env, Path.cwd())
    except Problem as problem:
        trouble = problem.what
    made = plan.make(
        machine,
        devices=settings.devices,
        gpu_plugin=bool(chosen and chosen.has_gpu_plugin),
    )
    on_tpu = made.platform == "tpu"
    rows = [("TPU" if on_tpu else "Devices", _devices(machine, made))]
    if made.blocked:
        hint = f"; {made.blocked.hint}" if made.blocked.hint else ""
        rows.append(("Note", made.blocked.what + hint))
    if chosen is None:
        rows.append(("Python", trouble))
    else:
        shown = interpreters.shown(chosen.path, machine.env, Path.cwd())
        rows.append(("Python", f"{python_version(chosen.path)}  {shown} ({chosen.why})"))
        rows.append(("JAX", _jax(chosen, on_tpu=on_tpu)))
    for other in others[:2]:
        shown = interpreters.shown(other.path, machine.env, Path.cwd())
        rows.append(("also", f"{shown}: {', '.join(other.frameworks)}"))
    return Facts(
        tuple((name, visible(text)) for name, text in rows),
        visible(made.where) if on_tpu else f"no TPU: {visible(made.where)}",
        on_tpu,
        bool(chosen and chosen.frameworks),
        tuple([chosen, *others] if chosen else others),
    )


def _devices(machine: host.Machine, made: plan.Plan) -> str:
    if made.platform != "tpu":
        chips = f"{plan.count(made.chips, 'TPU chip')} not used; " if made.chips else "no TPU; "
        return f"{chips}lessons and checks run on {made.where}"
    devices = f", {plan.count(made.devices, 'device')}" if made.devices else ""
    where = made.where.removeprefix("TPU ")  # the row says so
    if made.blocked:
        return f"{where}{devices}"
    users = "nobody" if host.sees_every_process(machine) else "nobody this user can see"
    return f"{where}{devices}, in use by {users}"


def _jax(chosen: Interpreter, *, on_tpu: bool) -> str:
    known = {name.split(" ")[0]: name.partition(" ")[2] for name in chosen.frameworks}
    if "jax" not in known:
        other = f"; it has {', '.join(chosen.frameworks)}" if known else ""
        return f"not in this Python yet{other}"
    libtpu = next(
        iter(chosen.path.parents[1].glob("lib/python3*/site-packages/libtpu-*.dist-info")), None
    )
    version = libtpu.name.split("-")[1].removesuffix(".dist") if libtpu else ""
    without = ", without libtpu: it cannot reach the TPU" if on_tpu else ""
    return known["jax"] + (f" with libtpu {version}" if libtpu else without)


def python_version(path: Path) -> str:
    """Return the version of a Python, read from files; `3.x` digits only where that is all."""
    if path == Path(sys.executable):
        return ".".join(str(part) for part in sys.version_info[:3])
    try:
        text = (path.parents[1] / "pyvenv.cfg").read_text(encoding="utf-8")
        if match := re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)", text, re.MULTILINE):
            return match[1]
    except OSError:
        pass
    match = re.search(r"python(3\.\d+)$", str(path.resolve()))
    return match[1] if match else "3"
