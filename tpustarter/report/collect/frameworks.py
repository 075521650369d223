"""Collect facts from the frameworks, each in a process that is ended if it hangs.

Nothing is started on a device that is in use, or on one host of many, which would wait for the
others. A step without a result is reported with its duration, and with the place where the process
hung.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.checking.plan import framework_plan
from tpustarter.core import locations
from tpustarter.core.json_values import as_type
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.report.clean.allowed_fields import (
    FieldRule,
    choice_rule,
    clean_number,
    clean_version,
    cleaned_text_rule,
    list_rule,
    mapping_rule,
    pattern_rule,
    rows_rule,
)
from tpustarter.report.collect import framework_probe, machine_sections, software, stacks
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext
from tpustarter.running import lease, probe_archive, run_folder
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent, signal_name

STEPS: Mapping[str, tuple[str, ...]] = {
    "jax": ("import jax", "jax.devices()", "environment of JAX", "a product in JAX", "libtpu.sdk"),
    "torch": ("import torch", "environment of PyTorch"),
    "torch_xla": ("import torch", "import torch_xla", "devices of torch_xla"),
    "torch_tpu": ("import torch", "import torch_tpu", "devices of torch_tpu"),
    "tensorflow": ("import tensorflow", "devices of tensorflow"),
}
"""The steps for each framework, in order; after one without a result, no other is run."""
IMPORTS = frozenset(step for steps in STEPS.values() for step in steps if step.startswith("import"))
"""Steps that compute and read files, and take long on a busy machine or a slow disk."""
TPU_STEPS = {"libtpu.sdk": "libtpu", "devices of tensorflow": "tensorflow-tpu"}
"""Steps that run only if the plan is to use a TPU and this package is installed.

Many TPU VMs have a TensorFlow for the CPU next to JAX, which would fail to find a TPU.
"""
TITLES = {name: row.title for name, row in FRAMEWORKS.items()} | {"torch": "PyTorch"}
POLL_S = 0.2
WORK_S = 5.0
"""The last seconds of the wait, which show whether a process is working or stuck."""
BUSY_SHARE = 0.02
"""The share of that time that a working process gets a processor, even on a busy machine."""
END_S = 60.0
"""Seconds for writing stacks and ending a process, in addition to the wait itself."""
OUTPUT_LINES = 40
_FLOOD_BYTES = 4 * 1024 * 1024

Fields = dict[str, object]


class ProbeAnswer(msgspec.Struct):
    """An event of `framework_probe`."""

    event: Literal["ready", "begin", "end", "failed", "skipped"]
    step: str = ""
    seconds: float = 0.0
    facts: dict[str, object] = {}
    error: str = ""


@dataclass
class FrameworkAnswer:
    """The results from one framework, and the end of its process."""

    events: list[ProbeAnswer] = field(default_factory=list[ProbeAnswer])
    output: str = ""
    gone: ProbeGoneEvent | None = None
    """How the process ended by itself; None if it had to be ended."""
    is_working: bool = False
    """True if it was still computing or reading from disk at the timeout."""
    waited_s: float = 0.0
    device_log: str = ""
    """The last lines that libtpu wrote to this run's own log folder."""
    python_stack: str = ""
    native_stack: str = ""
    native_why: str = ""


def make_framework_collector(framework: str, wait_s: float) -> Collector:
    """Return the collector for one framework, which waits at most `wait_s` for its results."""
    title = f"What {TITLES[framework]} says, asked in a process of its own"
    return Collector(
        framework,
        title,
        lambda context: _query_framework(framework, context),
        _ALLOWED,
        limit_s=wait_s + END_S,
    )


def list_frameworks(context: ReportContext) -> list[str]:
    """Return the frameworks installed in the Python under test."""
    installed = context.shared.packages or {}
    named = {"tensorflow": ("tensorflow", "tensorflow-tpu")}
    return [one for one in STEPS if any(name in installed for name in named.get(one, (one,)))]


def _query_framework(framework: str, context: ReportContext) -> Fields:
    if context.interpreter is None:
        raise CollectorUnanswered("there is no Python to test on this machine")
    run_plan = framework_plan.make_plan(
        context.machine, gpu_plugin=context.interpreter.has_gpu_plugin
    )
    why = run_plan.blocked.what if run_plan.blocked else ""
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(
                run_folder.hold_run_folder(Redactor(context.machine.env), lambda: False)
            )
            hold = None
            if run_plan.platform != "cpu" and not why:
                try:
                    hold = stack.enter_context(
                        lease.hold_device_lease("tpustarter report", context.machine)
                    )
                except Problem as problem:
                    why = problem.full_text
            env = framework_plan.make_probe_environment(
                run_plan, context.machine.env, folder, framework
            )
            installed = context.shared.packages or {}
            steps = [
                step
                for step in STEPS[framework]
                if step not in TPU_STEPS
                or (run_plan.platform == "tpu" and TPU_STEPS[step] in installed)
            ]
            one = _run_probe(steps, context, folder, env, hold, starts=not why)
    except Problem as problem:
        raise CollectorUnanswered(problem.full_text) from problem
    context.shared.outputs[framework] = "\n".join(
        [
            one.output,
            one.device_log,
            one.python_stack,
            one.native_stack,
            *(event.error for event in one.events),
        ]
    )
    facts = _make_facts(framework, one, run_plan.platform, why)
    if isinstance(info := facts.get("environment_info"), str):
        facts["environment_info"] = _redact_variables(info, context.machine.env)
    if unanswered := facts["hung_in"] or facts["unfinished_in"]:
        context.shared.hung[framework] = str(unanswered)
    return facts


def _run_probe(
    steps: Sequence[str],
    context: ReportContext,
    folder: Path,
    env: Mapping[str, str],
    hold: int | None,
    *,
    starts: bool,
) -> FrameworkAnswer:
    place = folder / "asked"
    place.mkdir()
    # In a folder of its own, because Python searches a script's folder for modules first.
    script = Path(shutil.copy(framework_probe.__file__, place / "framework_probe.py"))
    answers, stack_file = place / "answers", place / "stacks"
    for path in (answers, stack_file):
        path.touch()
    for path in (place, script, answers, stack_file):
        locations.chown_to_caller(path)
    python = context.interpreter.path if context.interpreter else Path(sys.executable)
    words = [str(python), "-u", "-X", "faulthandler", str(script), str(answers), str(stack_file)]
    words += ["start" if starts else "leave", *steps]
    log, here = CappedLog(folder / "probe-asked.log"), Path(sys.executable)
    probe_file = probe_archive.build_probe_archive(folder / "probe.pyz")
    caller = locations.find_sudo_caller()
    try:
        probe = Probe(here, probe_file, log, env=env, drop=caller, lease=hold, command=words)
    except OSError as error:
        raise Problem(f"`{python}` cannot be started: {error.strerror}") from error
    one, began = FrameworkAnswer(), time.monotonic()
    times: deque[float] = deque(maxlen=round(WORK_S / POLL_S))
    try:
        while one.gone is None and time.monotonic() - began < context.wait_s:
            event = probe.read(POLL_S)
            times.append(_read_cpu_time_s(probe.pid))
            one.gone = event if event and event["event"] == "gone" else None
        one.waited_s = time.monotonic() - began
        one.events = list(_read_events(answers))
        one.is_working = bool(times) and times[-1] - times[0] > BUSY_SHARE * len(times) * POLL_S
        if one.gone is None and one.events:  # before it is ready, a signal would end it
            one.python_stack = stacks.read_python_stacks(probe.pid, stack_file)
            one.native_stack, one.native_why = stacks.read_native_stacks(probe.pid, python, env)
    finally:
        probe.end()
        probe.close()
        log.close()
    place_shown = f"{place}/"
    one.output = log.read_since(max(0, log.size - _FLOOD_BYTES)).replace(place_shown, "")
    one.python_stack = one.python_stack.replace(place_shown, "")
    one.device_log = "\n".join(machine_sections.read_newest_lines(folder / "tpu_logs"))
    return one


def _read_cpu_time_s(pid: int) -> float:
    """Return the CPU time of a process in seconds, or 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _read_events(file: Path) -> Iterator[ProbeAnswer]:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            if event := as_type(json.loads(line), ProbeAnswer):
                yield event


def _make_facts(framework: str, one: FrameworkAnswer, platform: str, why: str) -> Fields:
    begun = [event.step for event in one.events if event.event == "begin"]
    ended = {event.step: event for event in one.events if event.event in ("end", "failed")}
    hung = next((step for step in begun if step not in ended), None)
    is_slow = one.is_working and hung in IMPORTS
    steps = [_make_step_row(name, ended, begun, one) for name in STEPS[framework]]
    facts: Fields = {
        "planned_platform": platform,
        "steps": steps,
        "not_asked_because": why or None,
        "hung_in": (hung or "start of Python") if one.gone is None and not is_slow else None,
        "unfinished_in": hung if one.gone is None and is_slow else None,
        "load": round(os.getloadavg()[0], 1) if is_slow else None,
        "cores": os.cpu_count() if is_slow else None,
        "waited_s": round(one.waited_s, 1) if one.gone is None else None,
        "ended": _format_end(one, hung),
        "python_stack": one.python_stack or None,
        "native_stack": one.native_stack or None,
        "no_native_stack": one.native_why or None,
        "output": one.output.strip() or None,
        "libtpu_log": one.device_log.strip() or None,
    }
    for step, event in ended.items():
        answer = event.facts
        if step.startswith("import"):
            facts["version"] = answer.get("version")
        facts |= {
            key: answer[key]
            for key in (
                "platform",
                "kind",
                "local",
                "total",
                "processes",
                "platform_version",
                "sum_of_product",
                "metrics",
                "environment_info",
                "memory_bytes",
                "commits",
                "built_from",
            )
            if key in answer
        }
        if event.event == "failed":
            facts["aside" if step in framework_probe.OPTIONAL_STEPS else "error"] = event.error
    return facts


def _redact_variables(text: str, env: Mapping[str, str]) -> str:
    """Remove values that a report may not contain from a framework's text on its environment.

    Variables that this program set for the process are left out, because they are not the user's.
    """
    lines: list[str] = []
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if not (equals and name.startswith(("JAX_", "XLA_"))):
            lines.append(line)
        elif env.get(name) != value:
            continue
        elif name in software.FLAGS:
            lines.append(f"{name}={' '.join(software.list_redacted_flags(value))}")
        elif form := software.VARIABLES.get(name):
            lines.append(line if re.fullmatch(form, value) else f"{name}=(set)")
        elif name in software.NAMED_ONLY:
            lines.append(f"{name}=(set)")
    return "\n".join(lines)


def _format_end(one: FrameworkAnswer, hung: str | None) -> str | None:
    if one.gone is None or (one.gone["code"] == 0 and hung is None):
        return None
    number = one.gone["signal"]
    how = f"signal {signal_name(number)}" if number else f"exit code {one.gone['code']}"
    return f"{how} in {hung}" if hung else how


def _make_step_row(
    name: str, ended: Mapping[str, ProbeAnswer], begun: list[str], one: FrameworkAnswer
) -> Fields:
    if name in ended:
        state = "answered" if ended[name].event == "end" else "failed"
        return {"step": name, "state": state, "seconds": round(ended[name].seconds, 2)}
    if name in begun:
        state = "unfinished" if one.is_working and name in IMPORTS else "hung"
        state = "crashed" if one.gone else state
        return {"step": name, "state": state, "seconds": round(one.waited_s, 2)}
    return {"step": name, "state": "not asked", "seconds": None}


_STEP = choice_rule(*framework_probe.STEPS, "start of Python")
_ALLOWED: Mapping[str, FieldRule] = {
    "planned_platform": pattern_rule(r"[A-Za-z]{2,10}"),
    "steps": rows_rule(
        {
            "step": _STEP,
            "seconds": clean_number,
            "state": choice_rule(
                "answered", "failed", "unfinished", "hung", "crashed", "not asked"
            ),
        }
    ),
    "not_asked_because": cleaned_text_rule(2),
    "hung_in": _STEP,
    "unfinished_in": _STEP,
    "load": clean_number,
    "cores": clean_number,
    "waited_s": clean_number,
    "ended": cleaned_text_rule(1),
    "python_stack": cleaned_text_rule(80),
    "native_stack": cleaned_text_rule(160),
    "no_native_stack": cleaned_text_rule(1),
    "output": cleaned_text_rule(OUTPUT_LINES),
    "libtpu_log": cleaned_text_rule(OUTPUT_LINES),
    "version": clean_version,
    "platform": pattern_rule(r"[A-Za-z]{2,10}"),
    "kind": pattern_rule(r"[A-Za-z][\w ./()-]{0,40}"),
    "local": clean_number,
    "total": clean_number,
    "processes": clean_number,
    "platform_version": cleaned_text_rule(6),
    "sum_of_product": clean_number,
    "metrics": mapping_rule(
        dict.fromkeys(framework_probe.METRICS, list_rule(pattern_rule(r"[\w .:/%+-]{1,80}")))
    ),
    "environment_info": cleaned_text_rule(100),
    "error": cleaned_text_rule(40),
    "aside": cleaned_text_rule(6),
    "memory_bytes": clean_number,
    "commits": mapping_rule(dict.fromkeys(("torch", "torch_xla"), pattern_rule(r"[0-9a-f]{7,40}"))),
    "built_from": pattern_rule(r"unknown|v\d+\.\d+\.\d+(?:-rc\d)?(?:-\d{1,7}-g[0-9a-f]{6,40})?"),
}
