"""What Home says about this machine, looked up in a worker: nothing is started for it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking import interpreters, plan, words
from tpustarter.checking.interpreters import Interpreter
from tpustarter.learning import course
from tpustarter.machine import frameworks, host
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui.settings import Settings

NO_OTHER = (
    "to learn without a TPU, leave tpustarter with q, run `unset JAX_PLATFORMS` and start it again"
)
"""What to do where that variable asks for a TPU and none is seen."""


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
    suggestion: tuple[str, str] = ("", "")
    """The id of the path that suits this machine, and why."""
    candidates: tuple[Interpreter, ...] = ()
    """The Python under test first, then the others that have a framework."""
    chips: int = 0
    """TPU chips of this machine, or the virtual devices that stand in for them."""
    lacks_tpu: bool = False
    """Whether `JAX_PLATFORMS` asks for a TPU where none is seen."""


def look(machine: host.Machine, settings: Settings) -> Facts:
    """Look at the machine; may wait a second for the metadata server."""
    chosen, others, reason = None, list[Interpreter](), ""
    try:
        chosen, others = interpreters.choose(None, machine.env, Path.cwd())
    except Problem as problem:
        reason = problem.what
    run_plan = plan.make(
        machine,
        devices=settings.devices,
        gpu_plugin=bool(chosen and chosen.has_gpu_plugin),
    )
    lacks_tpu = run_plan.platform == "tpu" and not (plan.sees_tpu(machine) or run_plan.unknown)
    on_tpu = run_plan.platform == "tpu" and not lacks_tpu
    no_tpu = words.no_tpu(plan.host_of(run_plan))
    rows = [("Devices", f"{run_plan.where}, which lets JAX use nothing else"), ("Note", NO_OTHER)]
    if not lacks_tpu:
        rows = [("TPU" if on_tpu else "Devices", _describe_devices(machine, run_plan))]
    if run_plan.blocked:
        hint = f"; {run_plan.blocked.hint}" if run_plan.blocked.hint else ""
        rows.append(("Note", run_plan.blocked.what + hint))
    if chosen is None:
        rows.append(("Python", reason))
    else:
        path = interpreters.shown(chosen.path, machine.env, Path.cwd())
        rows.append(("Python", f"{python_version(chosen.path)}  {path} ({chosen.why})"))
        rows += _describe_frameworks(chosen, on_tpu=on_tpu)
    for interpreter in others[:2]:
        path = interpreters.shown(interpreter.path, machine.env, Path.cwd())
        rows.append(("also", f"{path}: {', '.join(interpreter.frameworks)}"))
    return Facts(
        tuple((name, visible(text)) for name, text in rows),
        visible(run_plan.where if on_tpu or lacks_tpu else f"{no_tpu}: {run_plan.where}"),
        on_tpu,
        bool(chosen and chosen.frameworks),
        _suggestion(machine, chosen, on_tpu=on_tpu),
        tuple([chosen, *others] if chosen else others),
        run_plan.chips if on_tpu else (run_plan.devices or 0) * run_plan.virtual,
        lacks_tpu,
    )


def _suggestion(
    machine: host.Machine, chosen: Interpreter | None, *, on_tpu: bool
) -> tuple[str, str]:
    names = [name.split(" ")[0] for name in chosen.frameworks] if chosen else []
    if chosen and chosen.has_torch:
        names.append("torch")
    return course.suggestion(machine.env, on_tpu=on_tpu, frameworks=names)


def _describe_devices(machine: host.Machine, run_plan: plan.Plan) -> str:
    if run_plan.platform != "tpu":
        no_tpu = words.no_tpu(plan.host_of(run_plan))
        return f"{no_tpu}; lessons and checks run on {run_plan.where}"
    devices = f", {plan.count(run_plan.devices, 'device')}" if run_plan.devices else ""
    where = run_plan.where.removeprefix("TPU ")  # the row says so
    if run_plan.blocked:
        return f"{where}{devices}"
    users = "nobody" if host.sees_every_process(machine) else "nobody that you can see"
    return f"{where}{devices}, in use by {users}"


def _describe_frameworks(chosen: Interpreter, *, on_tpu: bool) -> list[tuple[str, str]]:
    """Return a row for each framework of a Python that checks and lessons know."""
    versions = {name.split(" ")[0]: name.partition(" ")[2] for name in chosen.frameworks}
    known = {name: row for name, row in frameworks.FRAMEWORKS.items() if name in versions}
    if not known:
        others = f"; it has {', '.join(chosen.frameworks)}" if versions else ""
        return [("JAX", f"not in this Python yet{others}")]
    libtpu = next(
        iter(chosen.path.parents[1].glob("lib/python3*/site-packages/libtpu-*.dist-info")), None
    )
    version = libtpu.name.split("-")[1].removesuffix(".dist") if libtpu else ""
    warning = ", without libtpu, so it cannot reach the TPU" if on_tpu else ""
    beside = f" with libtpu {version}" if libtpu else warning
    return [(row.title, versions[name] + beside) for name, row in known.items()]


def python_version(path: Path) -> str:
    """Return the version of a Python as files tell it, some of them only `3.x`; nothing is started.

    A shim, such as that of pyenv, decides when it is started: its version is unknown.
    """
    if path == Path(sys.executable):
        return ".".join(str(part) for part in sys.version_info[:3])
    try:
        config = path.parents[1] / "pyvenv.cfg"
        text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
        if match := re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)", text, re.MULTILINE):
            return match[1]
        program = path.resolve()
        if match := re.search(r"python(3\.\d+)t?$", program.name):
            return match[1]
        (library,) = program.parents[1].glob("lib/python3.*/os.py")
        return library.parent.name.removeprefix("python")
    except (OSError, ValueError, RuntimeError):  # no such file, several, links in a circle
        return "version unknown"
