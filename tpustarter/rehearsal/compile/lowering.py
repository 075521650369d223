"""The process that runs the user's own code: it lowers a file's programs, or watches a script."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tpustarter.checking.run.probe_session import ProbeSession, start_probe
from tpustarter.checking.run.runner import START_S
from tpustarter.core import locations
from tpustarter.core.json_values import as_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import pip_command, tpus
from tpustarter.probe.events import EndEvent, OptionalEndEventFields
from tpustarter.probe.rehearse.rehearsal_messages import (
    AliasedArtifactFields,
    CheckField,
    LowerCommand,
    LoweringTargetFields,
    ProgramEvent,
    ProgramSource,
    RefusedEvent,
)
from tpustarter.rehearsal.compile import host_memory_limit
from tpustarter.rehearsal.programs import user_program
from tpustarter.rehearsal.programs.rehearsal_request import ScriptLimit
from tpustarter.rehearsal.programs.user_program import (
    DeviceQueriesFound,
    JitCallSiteSummary,
    LoweredProgram,
    ProgramWarning,
    ScriptEnded,
    ScriptOutput,
    UserFunction,
)
from tpustarter.rehearsal.result_fields import ProgramWork
from tpustarter.running.process import CappedLog, Probe, ProcessEvent

_PACKAGES = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "orbax": "orbax-checkpoint",
    "haiku": "dm-haiku",
    "tree": "dm-tree",
}
"""Packages whose name differs from their module's, keyed by module."""
_Opened = tuple[Probe, CappedLog]
ScriptEvent = (
    LoweredProgram
    | ProgramWarning
    | DeviceQueriesFound
    | JitCallSiteSummary
    | ScriptOutput
    | ScriptEnded
    | float
)
"""An event of a script, or the seconds that have passed while there was none."""
LAST = ", so nothing after it was tried"
_WANTED_VALUES = "PjRt buffer is null in TransferFromDevice"
"""The error with which torch_xla 2.9.0 ends its process when a tensor without memory is read."""
NEEDS_VALUES = (
    "torch_xla asked for the values of a tensor while it traced the program, most likely because "
    "it has no kernel for one of its operations and would compute that on the host"
)


def lower_programs(
    code: UserFunction,
    session: ProbeSession,
    topologies: Sequence[tpus.Topology],
    timeout_s: float,
    started: Callable[[Probe], None],
) -> Iterator[LoweredProgram | ProgramWarning | float]:
    """Yield the user's programs as they are lowered, and the seconds passed while none arrives.

    A program that times out or ends the process is the last one.

    Args:
        code: The function, module or checks to lower.
        session: The user's Python, with CPU devices for the largest TPU.
        topologies: The TPUs to lower for.
        timeout_s: Timeout for loading the file, and for each program.
        started: Called with the process, so that the caller can stop it.

    Raises:
        Problem: The file cannot be run, or has no such function.
    """
    with LoweringProcess(session, topologies, timeout_s, started) as process:
        yield from process.lower(code)


class LoweringProcess:
    """The process that runs the user's file and lowers its programs, once or for many sizes."""

    def __init__(
        self,
        session: ProbeSession,
        topologies: Sequence[tpus.Topology],
        timeout_s: float,
        started: Callable[[Probe], None],
    ) -> None:
        """Prepare the process, which starts on first use; see `lower_programs`."""
        self._session, self._topologies = session, topologies
        self._timeout_s, self._started = timeout_s, started
        self._open: _Opened | None = None

    def __enter__(self) -> LoweringProcess:  # noqa: PYI034  Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def lower(
        self, code: UserFunction, only: int | None = None
    ) -> Iterator[LoweredProgram | ProgramWarning | float]:
        """Yield the programs as `lower_programs` does, or only the one with index `only`."""
        if self._open is None:
            self._open = start_probe(self._session)
            self._started(self._open[0])
        self._open[0].send(self._command(code, only))
        names = [topology.name for topology in self._topologies]
        can_go_on = False
        try:
            can_go_on = yield from _programs(
                self._open, code, self._session, names, self._timeout_s
            )
        except LoweringProblem as problem:
            can_go_on = problem.has_ended
            raise
        finally:
            if not can_go_on:
                self._close()

    def _command(self, code: UserFunction, only: int | None) -> LowerCommand:
        return {
            "do": "trace",
            "id": code.name,
            "timeout_s": 20 * self._timeout_s,
            "file": str(code.file),
            "name": code.function,
            "folder": str(self._session.folder),
            "arguments": code.sized_arguments(),
            "dimension": code.dimension if not code.arguments else "",
            "size": code.size,
            "only": only,
            "torch": code.torch,
            "checks": list(code.checks),
            "tpus": tpu_fields(self._topologies),
        }

    def _close(self) -> None:
        if self._open is None:
            return
        (probe, log), self._open = self._open, None
        probe.end()
        probe.close()
        log.close()


def _wants_values(log: CappedLog) -> bool:
    return _WANTED_VALUES in log.read_since(0)


def _programs(
    opened: _Opened, code: UserFunction, session: ProbeSession, names: list[str], timeout_s: float
) -> Generator[LoweredProgram | ProgramWarning | float, None, bool]:
    # Returns True if the process accepts another command.
    probe, log = opened
    missing: dict[str, list[str]] = {}  # programs begun, with the TPUs that have none yet
    program: str | None = None
    check: str | None = None
    notes: tuple[str, ...] = ()
    first = began = time.monotonic()
    library = {"": "JAX", user_program.ANY_TORCH: "PyTorch"}.get(code.torch, code.torch)
    limit_s, what = max(START_S, timeout_s), f"{library} did not start in its Python"
    while True:
        passed_s = time.monotonic() - began
        event = probe.read(min(1.0, max(0.0, limit_s - passed_s)))
        if event is None and passed_s < limit_s:
            yield time.monotonic() - first
        elif event and event["event"] == "start":
            began = time.monotonic()
        elif event and (event["event"] == "ready" or event["event"] == "lowering"):
            began, limit_s, what = time.monotonic(), timeout_s, "not lowered"
            if event["event"] == "lowering":
                program, notes, check = str(event.get("program")), (), _check(event)
                missing.setdefault(f"{check} {program}", list(names))
        elif event and event["event"] != "met" and (told := _read_program(event, session)):
            began = time.monotonic()
            if isinstance(told, LoweredProgram):
                key = f"{told.check} {told.program}"
                missing[key] = [name for name in missing.get(key, []) if name not in told.tpus]
                program = None
            else:
                notes = (*notes, told.text)
            yield told
        elif event and event["event"] == "end" and event.get("outcome") == "done":
            return True
        else:
            reason = f"{what} within {limit_s:g} s" if event is None else _reason(event, session)
            end = event if event and event["event"] == "end" else None
            if event and event["event"] == "interrupted":
                raise Problem("stopped before anything was compiled", code=ExitCode.INTERRUPTED)
            if not missing:
                raise LoweringProblem(code.name, reason, end, session.python)
            # Between two programs, it is the file that has failed.
            tpus_left = tuple(names if program is None else missing[f"{check} {program}"])
            title, text = code.name if program is None else program, f"{reason}{LAST}"
            text = f"{NEEDS_VALUES}{LAST}" if _wants_values(log) else text
            lost = LoweredProgram(title, tpus_left, {}, text, notes=notes, check=check)
            yield replace(lost, place=_place(end, session))
            return end is not None


def tpu_fields(topologies: Sequence[tpus.Topology]) -> dict[str, LoweringTargetFields]:
    """Return the TPUs' fields for the probe: devices, slices, and a device's kind and cores."""
    fields: dict[str, LoweringTargetFields] = {}
    for topology in topologies:
        row = topology.type.generation
        cores = (row.cores_per_chip or 1) // (row.devices_per_chip or 1)
        fields[topology.name] = {
            "devices": topology.devices,
            "slices": topology.slices,
            "kind": row.device_kinds[0],
            "cores": cores,
        }
    return fields


def run_script(
    words: tuple[str, ...],
    session: ProbeSession,
    topologies: Sequence[tpus.Topology],
    started: Callable[[Probe], None],
    limit: ScriptLimit,
) -> Iterator[ScriptEvent]:
    """Run a script, yielding its events and output, and the seconds passed while none arrives.

    Args:
        words: The script and its arguments.
        session: The user's Python, with CPU devices for the largest TPU.
        topologies: The TPUs to lower for.
        started: Called with the process, so that the caller can stop it.
        limit: The limit at which the script is ended, if any.
    """
    path = locations.expand_path(words[0])
    probe, log = start_probe(session, stream=True)
    started(probe)
    try:
        probe.send(
            {
                "do": "script",
                "id": path.name,
                "timeout_s": 10 * 86400,
                "path": str(path.absolute()),
                "argv": list(words[1:]),
                "most_calls": limit.most_calls,
                "most_s": limit.most_s,
                "zeros": limit.zeros,
                "folder": str(session.folder),
                "tpus": tpu_fields(topologies),
            }
        )
        yield from _script_events(probe, session)
    finally:
        probe.end()
        probe.close()
        log.close()


def _script_events(probe: Probe, session: ProbeSession) -> Iterator[ScriptEvent]:
    began = time.monotonic()
    while True:
        event = probe.read(1.0)
        if event is None:
            yield time.monotonic() - began
        elif event["event"] == "output":
            yield ScriptOutput(event["name"], event["data"])
        elif event["event"] != "exported" and (read := _read_script_event(event, session)):
            yield read
        elif event["event"] == "end" and event.get("outcome") == "done":
            yield ScriptEnded(None, ended_early=event.get("ended_early") is True)
            return
        elif event["event"] == "interrupted":
            yield ScriptEnded("it was stopped")
            return
        elif event["event"] != "start":
            end = event if event["event"] == "end" else None
            missing = str((end and end.get("missing_module")) or "")
            yield ScriptEnded(_reason(event, session), missing, _place(end, session))
            return


def _read_script_event(
    event: ProcessEvent, session: ProbeSession
) -> LoweredProgram | ProgramWarning | DeviceQueriesFound | JitCallSiteSummary | None:
    clean = session.redact.redact_text
    try:
        if event["event"] == "asked":
            return DeviceQueriesFound(tuple(clean(str(place)) for place in event["places"]))
        if event["event"] == "called":
            return as_type(session.redact.redact_value(event["function"]), JitCallSiteSummary)
    except (KeyError, TypeError):
        return None
    return _read_program(event, session)


def _read_program(
    event: ProcessEvent, session: ProbeSession
) -> LoweredProgram | ProgramWarning | None:
    # The user's code runs in that process, so the pipe may hold anything.
    clean = session.redact.redact_text
    try:
        if event["event"] == "exported" or event["event"] == "met":
            return _exported(event, session)
        if event["event"] == "warning":
            return ProgramWarning(clean(str(event["program"])), clean(str(event["text"])))
    except (KeyError, TypeError, ValueError):
        pass
    return None


def _exported(event: ProgramEvent, session: ProbeSession) -> LoweredProgram:
    name, names = str(event["program"]), tuple(str(name) for name in event["tpus"])
    check = _check(event)
    notes = tuple(session.redact.redact_text(str(note)) for note in event["notes"])
    if "error" in event:
        error = session.redact.redact_text(str(event["error"]))
        where = session.redact.redact_text(str(event.get("traceback") or ""))
        refused, place = bool(event["refused"]), _place(event, session)
        return LoweredProgram(name, names, {}, error, refused, notes, check, where, place)
    lowered = event["lowered"]
    devices, arguments, outputs = (
        lowered["devices"],
        lowered["free_arguments"],
        lowered["free_outputs"],
    )
    if devices is None or arguments is None or outputs is None:
        raise ValueError("a program that was just lowered has all facts")
    fields: AliasedArtifactFields = {
        "devices": int(devices),
        "shardy": bool(lowered["shardy"]),
        "free_arguments": [bool(one) for one in arguments],
        "free_outputs": [bool(one) for one in outputs],
    }
    if aliases := [[int(argument), int(out)] for argument, out in lowered.get("aliases", ())]:
        fields["aliases"] = aliases
    if lowered.get("named") is True:
        fields["named"] = True
    if pmapped := [str(name) for name in lowered.get("pmapped", ())]:
        fields["pmapped"] = pmapped
    source: ProgramSource = {
        "artifact": str(event["artifact"]),
        "lowered": fields,
        "program": name,
    }
    work = as_type(session.redact.redact_value(event.get("work")), ProgramWork)
    return LoweredProgram(name, names, source, notes=notes, check=check, work=work)


def _check(event: CheckField) -> str | None:
    check = event.get("check")
    return None if check is None else str(check)


def _place(event: RefusedEvent | EndEvent | None, session: ProbeSession) -> str:
    return session.redact.redact_text(str((event and event.get("place")) or ""))


def _reason(event: ProcessEvent, session: ProbeSession) -> str:
    if event["event"] == "gone":
        return host_memory_limit.explain_process_end(event)
    if event["event"] != "end":
        return "its process wrote something that is not an event"
    return session.redact.redact_text(str(event.get("detail") or ""))


class LoweringProblem(Problem):
    """The Problem of a file from which nothing could be lowered."""

    def __init__(self, name: str, reason: str, end: EndEvent | None, python: Path) -> None:
        """State the reason, with a hint if something is not installed.

        Args:
            name: The code, as on the command line.
            reason: The reason, for people.
            end: The event with which the process reported it; None if it was ended or is gone.
            python: The Python that lowers.
        """
        hint = None
        facts: OptionalEndEventFields = end or {}
        if lowerer := facts.get("missing_lowerer"):
            hint = f"{torch_install_hint(str(lowerer))}; the one that was tried is `{python}`"
        elif module := facts.get("missing_module"):
            hint = install_hint(str(module), str(python))
        summary = f"`{name}` cannot be lowered: {reason}"
        super().__init__(summary, hint=hint, code=ExitCode.INCONCLUSIVE)
        self.has_ended = end is not None
        """True if the process reported the failure, and accepts another command."""
        self.narrows = facts.get("narrows") is True
        """True if JAX would make the type of an argument half as wide."""


def torch_install_hint(name: str) -> str:
    """Return the hint for a PyTorch module that no Python found can lower."""
    if name == "torchax":
        return (
            "install `torchax` and `torch==2.9.0` in an environment of its own, and name that one "
            "with `--python PATH`"
        )
    return (
        "`tpustarter setup pytorch-xla` makes an environment with torch_xla; name one with "
        "`--python PATH`"
    )


def install_hint(module: str, python: str) -> str:
    """Return the hint to install the package of a module that a Python lacks."""
    package = module.partition(".")[0]
    package = _PACKAGES.get(package, package)
    command = pip_command.format_pip_command(f"{python} -m pip install {package}")
    return (
        f"`{command}` installs `{package}` for `{python}`; "
        "or name another Python with `--python PATH`"
    )
