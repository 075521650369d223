"""Collect facts about this machine, in a worker and without starting any program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking.plan import framework_plan, interpreters
from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.checking.results import no_tpu_reason
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import course
from tpustarter.machine import frameworks, host
from tpustarter.setup.environment.needed_setups import LessonPythons, read_lesson_pythons
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.machine_label import MachineLabelText
from tpustarter.tui.app.settings import Settings

NO_OTHER = (
    "to learn without a TPU, leave tpustarter with q, run `unset JAX_PLATFORMS` and start it again"
)
"""A hint for a machine without a TPU if `JAX_PLATFORMS` requests one."""


@dataclass(frozen=True)
class MachineFacts:
    """Facts about a machine, formatted for the home screen."""

    rows: tuple[tuple[str, str], ...]
    """Pairs of a name and a fact."""
    label: MachineLabelText
    """The label of the devices, for the heading."""
    on_tpu: bool
    has_framework: bool
    """True if the Python under test has a framework."""
    pythons: LessonPythons
    """The Python under test, if there is one, then other Pythons with a framework."""
    suggestion: tuple[str, str] = ("", "")
    """The id of the learning path that suits this machine, and the reason."""
    chips: int = 0
    """Number of TPU chips, or of the virtual devices used instead."""
    lacks_tpu: bool = False
    """True if `JAX_PLATFORMS` requests a TPU but this machine has none."""


def collect_machine_facts(machine: host.Machine, settings: Settings) -> MachineFacts:
    """Collect facts about a machine, waiting up to a second for the metadata server."""
    chosen, others, reason = None, list[Interpreter](), ""
    try:
        chosen, others = interpreters.choose_interpreter(None, machine.env, Path.cwd())
    except Problem as problem:
        reason = problem.full_text
    run_plan = framework_plan.make_plan(
        machine,
        devices=settings.devices,
        gpu_plugin=bool(chosen and chosen.has_gpu_plugin),
    )
    lacks_tpu = run_plan.platform == "tpu" and not (
        framework_plan.has_tpu(machine) or run_plan.unknown
    )
    on_tpu = run_plan.platform == "tpu" and not lacks_tpu
    no_tpu = no_tpu_reason.explain_no_tpu(framework_plan.make_host_fields(run_plan, machine))
    rows = [
        ("Devices", f"{run_plan.devices_text}, which lets JAX use nothing else"),
        ("Note", NO_OTHER),
    ]
    if not lacks_tpu:
        rows = [("TPU" if on_tpu else "Devices", _describe_devices(machine, run_plan))]
    if run_plan.blocked:
        hint = f"; {run_plan.blocked.hint}" if run_plan.blocked.hint else ""
        rows.append(("Note", run_plan.blocked.what + hint))
    if chosen is None:
        rows.append(("Python", reason))
    else:
        path = interpreters.format_path(chosen.path, machine.env, Path.cwd())
        version = interpreters.read_python_version(chosen.path) or "version unknown"
        rows.append(("Python", f"{version}  {path} ({chosen.why})"))
        rows += _describe_frameworks(chosen, on_tpu=on_tpu)
    for interpreter in others[:2]:
        path = interpreters.format_path(interpreter.path, machine.env, Path.cwd())
        rows.append(("also", f"{path}: {interpreter.frameworks_text}"))
    name, *rest = map(escape_text, run_plan.where_parts)
    return MachineFacts(
        tuple((name, escape_text(text)) for name, text in rows),
        MachineLabelText(name, "", tuple(rest), is_tpu=on_tpu)
        if on_tpu or lacks_tpu
        else MachineLabelText(escape_text(no_tpu), ", ".join([name, *rest])),
        on_tpu,
        bool(chosen and chosen.frameworks),
        read_lesson_pythons(tuple([chosen, *others] if chosen else others), on_tpu=on_tpu),
        _suggestion(machine, chosen, on_tpu=on_tpu),
        run_plan.chips if on_tpu else (run_plan.devices or 0) * run_plan.virtual,
        lacks_tpu,
    )


def _suggestion(
    machine: host.Machine, chosen: Interpreter | None, *, on_tpu: bool
) -> tuple[str, str]:
    names = [*chosen.frameworks] if chosen else []
    if chosen and chosen.has_torch:
        names.append("torch")
    return course.suggest_lesson_path(machine.env, on_tpu=on_tpu, frameworks=names)


def _describe_devices(machine: host.Machine, run_plan: framework_plan.FrameworkPlan) -> str:
    if run_plan.platform != "tpu":
        no_tpu = no_tpu_reason.explain_no_tpu(framework_plan.make_host_fields(run_plan, machine))
        return f"{no_tpu}; lessons and checks run on {run_plan.devices_text}"
    devices = f", {phrases.format_count(run_plan.devices, 'device')}" if run_plan.devices else ""
    where = run_plan.devices_text
    if run_plan.generation and framework_plan.has_tpu(machine):  # the row is already named TPU
        where = ", ".join([run_plan.generation, *run_plan.where_parts[1:]])
    if run_plan.blocked:
        return f"{where}{devices}"
    users = "nobody" if host.can_read_every_process(machine) else "nobody that you can see"
    return f"{where}{devices}, in use by {users}"


def _describe_frameworks(chosen: Interpreter, *, on_tpu: bool) -> list[tuple[str, str]]:
    """Return a row for each supported framework of a Python."""
    versions = chosen.frameworks
    known = {name: row for name, row in frameworks.FRAMEWORKS.items() if name in versions}
    if not known:
        others = f"; it has {chosen.frameworks_text}" if versions else ""
        return [("JAX", f"not in this Python yet{others}")]
    libtpu = next(
        iter(chosen.path.parents[1].glob("lib/python3*/site-packages/libtpu-*.dist-info")), None
    )
    version = libtpu.name.split("-")[1].removesuffix(".dist") if libtpu else ""
    warning = ", without libtpu, so it cannot reach the TPU" if on_tpu else ""
    beside = f" with libtpu {version}" if libtpu else warning
    return [(row.title, versions[name] + beside) for name, row in known.items()]
