"""The Python and devices for a lesson's blocks, or the reason why they cannot run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.checking.plan import framework_plan, interpreters
from tpustarter.checking.plan.framework_plan import FrameworkPlan
from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.checking.results.results import BlockedFramework, HostFields, TargetFields
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks, host


@dataclass(frozen=True)
class RunTarget:
    """A lesson's Python, devices and obstacles, before anything is started."""

    machine: host.Machine
    redact: Redactor
    python: Path
    """The Python that runs the blocks."""
    plan: FrameworkPlan
    target: TargetFields
    """The Python and the devices as text, like `Run.target`."""
    host: HostFields
    blocked: BlockedFramework | None
    """The reason why no block of the lesson can run."""


def choose_target(
    lesson: Lesson, machine: host.Machine, *, python: str | None, devices: int | None
) -> RunTarget:
    """Choose the Python and devices for a lesson, without starting anything.

    Raises:
        Problem: `python` is not a Python, or none was found.
    """
    redact = Redactor(machine.env)
    folder, env = Path.cwd(), machine.env
    chosen, others = interpreters.choose_interpreter(python, env, folder, wanted=lesson.framework)
    device_plan = framework_plan.make_plan(
        machine, devices=devices, gpu_plugin=chosen.has_gpu_plugin
    )
    installed = chosen.frameworks or interpreters.read_framework_versions(
        chosen.path.parents[1], env
    )
    target: TargetFields = {
        "python": redact.redact_text(str(chosen.path)),
        "shown": interpreters.format_path(chosen.path, env, folder),
        "frameworks": dict(installed),
        "platform": device_plan.platform,
        "where": device_plan.devices_text,
        "devices": device_plan.devices,
        "virtual": device_plan.virtual,
        "env": framework_plan.framework_variables(device_plan, lesson.framework, env)
        if lesson.framework
        else {},
    }
    host_facts = framework_plan.make_host_fields(device_plan, machine)
    blocked = device_plan.blocked if lesson.framework else None
    blocked = (
        blocked
        or _find_missing(lesson, machine, chosen, others, target=target, chips=device_plan.chips)
        or _find_too_few(lesson, device_plan)
    )
    return RunTarget(machine, redact, chosen.path, device_plan, target, host_facts, blocked)


def _find_missing(
    lesson: Lesson,
    machine: host.Machine,
    chosen: Interpreter,
    others: Sequence[Interpreter],
    *,
    target: TargetFields,
    chips: int,
) -> BlockedFramework | None:
    folder, env, shown_path = Path.cwd(), machine.env, target.get("shown", "")
    prefix, installed = chosen.path.parents[1], dict(target.get("frameworks", {}))
    usable = [python for python in others if can_run(lesson, python)]
    hint = ""
    if usable:
        command = f"tpustarter learn {lesson.id} --run --python"
        path = interpreters.format_path(usable[0].path, env, folder)
        hint = f"`{command} {path}` runs it with {usable[0].frameworks_text}"
    if lesson.framework and lesson.framework not in installed:
        missing = framework_plan.explain_missing_framework(
            lesson.framework, shown_path, installed, (), chips=chips, asked=True
        )
        return replace(missing, hint=hint or missing.hint)
    if lesson.framework:
        if not interpreters.list_missing_packages(["jaxlib"], prefix, env):
            installed["jaxlib"] = "unknown"
        unusable = framework_plan.explain_unusable_framework(
            lesson.framework,
            shown_path,
            installed,
            (),
            asked=True,
            oldest=lesson.frameworks[lesson.framework],
        )
        if unusable:
            return replace(unusable, hint=hint or unusable.hint)
    missing = interpreters.list_missing_packages(lesson.packages, prefix, env)
    return framework_plan.explain_missing_packages(missing, shown_path) if missing else None


def _find_too_few(lesson: Lesson, device_plan: FrameworkPlan) -> BlockedFramework | None:
    devices = device_plan.devices
    if devices is None or devices >= lesson.devices:
        return None
    virtual = f"tpustarter learn {lesson.id} --run --devices {lesson.devices}"
    return BlockedFramework(
        f"this lesson needs {lesson.devices} devices, and this run has {devices}",
        ExitCode.NO_DEVICE,
        hint=f"`{virtual}` runs it on virtual CPU devices",
    )


def can_run(lesson: Lesson, python: Interpreter) -> bool:
    """Return whether a Python has one of the lesson's frameworks in a recent enough version."""
    installed = python.frameworks
    return any(
        name in installed
        and not frameworks.is_too_old(name, installed[name], oldest)
        and not frameworks.is_too_old(name, installed[name])
        for name, oldest in lesson.frameworks.items()
    )
