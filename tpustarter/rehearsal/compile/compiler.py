"""The process that compiles for absent TPUs, and a second one that finds what filled memory.

A program that crashes the compiler or times out affects only itself, because the next one gets a
fresh process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.checking.run import probe_events
from tpustarter.checking.run.outcomes import make_process_ending
from tpustarter.checking.run.probe_events import PythonVersions
from tpustarter.checking.run.probe_session import ProbeSession, explain_unusable_python, start_probe
from tpustarter.checking.run.runner import START_S
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.probe.events import EndEvent
from tpustarter.probe.finding import Hint
from tpustarter.probe.rehearse.rehearsal_messages import (
    CompileCommand,
    ProgramSource,
    TopologyFields,
)
from tpustarter.rehearsal.compile import host_memory_limit, memory_report
from tpustarter.rehearsal.result_fields import FailedProgram, ResultFields
from tpustarter.running.process import (
    END_WAIT_S,
    FINISH_WAIT_S,
    CappedLog,
    Probe,
    ProbeGoneEvent,
    ProcessEvent,
)

QUIET = {
    "JAX_PLATFORMS": "cpu",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
}
"""Variables that keep libtpu quiet, off the chips, off the network, and out of the way of its other
users. Measured with jax 0.12.0.1 and libtpu 0.0.50.1: no lock file, no listening port."""

OUTSPOKEN = {"TPU_MIN_LOG_LEVEL": "1", "TPU_STDERR_LOG_LEVEL": "1"}
FLAGS = "--xla_tpu_impure_oom_fast_exit_threshold=-1 --xla_tpu_no_crash_on_oom=true"
"""Flags that make the compiler continue when memory runs out, and log its report."""

YOUR_CODE, A_TPU = "your code", "a TPU"
"""Shown in place of a program and its TPU while the user's code is lowered."""
TICK_S = 1.0
OPTION = "--compiler"
"""The option that names the Python that compiles."""
END_S = END_WAIT_S + FINISH_WAIT_S
"""Longest wait for a stopped process."""
_FATAL = re.compile(r"^F\d{4} [\d:.]+ +\d+ (?P<reason>\S+\] .*)$", re.MULTILINE)


@dataclass(frozen=True)
class CompileTask:
    """The programs of one check, or one program of the user, for one TPU."""

    name: str
    """Id of the check, or name of the program."""
    tpu: str
    topology: TopologyFields
    source: ProgramSource
    """`check`, or `artifact` with `program` and `lowered`, as the probe expects them."""
    notes: tuple[str, ...] = ()
    """Remarks that go with the answer."""
    explains_memory: bool = True
    """True to list the arrays of a program that does not fit, which takes as long again."""


@dataclass(frozen=True)
class CompileProgress:
    """A program is being compiled; sent once a second."""

    program: str
    tpu: str
    seconds: float
    check: str | None = None
    """The check that the program belongs to; None for the user's own program."""
    share: float = 0.0
    """Share of the task's programs that are done, from 0 to 1."""
    size: str = ""
    """The size being tried, such as `batch 1,024`, in a search for the largest one."""

    @property
    def title(self) -> str:
        """The program's name, followed by the size if one is compiled for."""
        return f"{self.program}, {self.size}" if self.size else self.program


@dataclass(frozen=True)
class RehearsalAnswer:
    """The compiler's answer for one program and one TPU, or the reason why there is none."""

    result: ResultFields


@dataclass(frozen=True)
class CompileTaskDone:
    """Sent when a task has ended; no more of its answers follow."""

    program: str
    tpu: str


class Compiler:
    """Compiles tasks one after another; `stop` ends it from any thread."""

    def __init__(self, session: ProbeSession, *, timeout_s: float, cache: str | None) -> None:
        self._session = session
        self._timeout_s = timeout_s
        self._cache = cache
        self._probe: Probe | None = None
        self._log: CappedLog | None = None
        self._memory_probe: Probe | None = None
        self._is_preparing = False
        """True if its process may be busy although no program was sent to it."""
        self.stopped = False

    def stop(self) -> None:
        """End the running processes; safe to call from any thread and signal handler."""
        self.stopped = True
        for probe in (self._probe, self._memory_probe):
            if probe:
                probe.interrupt()

    def read_versions(self) -> PythonVersions:
        """Start the compiler's process, and return its Python and package versions.

        Raises:
            Problem: It is not a Python, or its version is too old.
        """
        probe = self._ready()
        probe.send({"do": "versions"})
        event = probe.read(START_S)
        if event is not None and (versions := probe_events.parse_versions(event)):
            return versions
        text = self._log.read_since(0) if self._log else ""
        gone = self._end(gently=False)
        if self.stopped:
            raise Problem("stopped before anything was compiled", code=ExitCode.INTERRUPTED)
        raise explain_unusable_python(
            self._session.python,
            gone,
            self._session.redact.redact_text(text),
            waited_s=START_S if event is None else None,
            option=OPTION,
        )

    def load_topology(self, topology: TopologyFields) -> None:
        """Make the process load the compiler and describe a TPU before there is a task."""
        self._ready().send({"do": "prepare", "topology": topology})
        self._is_preparing = True

    def run(self, task: CompileTask) -> Iterator[CompileProgress | RehearsalAnswer]:
        """Compile the programs of a task, yielding progress and an answer for each program."""
        for told in self._run(task):
            if isinstance(told, CompileProgress):
                yield told
            else:
                yield RehearsalAnswer(add_notes(told, task.notes))

    def close(self) -> None:
        """End the process, and wait for its exit up to a timeout."""
        self._end(gently=not (self.stopped or self._is_preparing))

    def _run(self, task: CompileTask) -> Iterator[CompileProgress | ResultFields]:
        done: list[str] = []
        while not self.stopped:
            crashed = yield from self._pass(task, done)
            if crashed is None:
                return
            done.append(crashed)

    def _pass(
        self, task: CompileTask, done: list[str]
    ) -> Generator[CompileProgress | ResultFields, None, str | None]:
        probe = self._ready()
        position = self._log.size if self._log else 0
        self._is_preparing = False
        probe.send(self._command(task, done))
        program, began, check = task.name, time.monotonic(), task.source.get("check")
        compiling: str | None = None  # None until one begins, so a crash before is not retried
        # On a busy machine, loading the compiler may take longer than the user's timeout.
        limit_s, what = max(START_S, self._timeout_s), "the compiler was not ready"
        while True:
            passed_s = time.monotonic() - began
            event = probe.read(min(TICK_S, max(0, limit_s - passed_s)))
            if event is None and passed_s < limit_s:
                yield CompileProgress(program, task.tpu, passed_s, check)
            elif event is None:
                self._end(gently=False)
                yield make_failed_program(task, program, f"{what} within {limit_s:g} s", passed_s)
                return compiling
            elif event["event"] == "compiling":
                program = compiling = str(event["program"])
                began, limit_s, what = time.monotonic(), self._timeout_s, "not compiled"
                yield CompileProgress(program, task.tpu, 0.0, check, float(event.get("share", 0)))
            elif event["event"] == "rehearsed":
                done.append(program)
                yield from self._explain_memory(
                    task, self._session.redact.redact_value(event["result"])
                )
                began = time.monotonic()
            elif event["event"] == "end":
                if ended := self._ended(task, event):
                    yield ended
                return None
            elif event["event"] != "start":
                text = self._log.read_since(position) if self._log else ""
                self._end(gently=False)
                if self.stopped or event["event"] == "interrupted":
                    return None
                yield make_failed_program(
                    task, program, explain_compiler_exit(event, text), passed_s, text
                )
                return compiling

    def _command(self, task: CompileTask, done: list[str]) -> CompileCommand:
        return {
            "do": "rehearse",
            "id": f"{task.name} {task.tpu}",
            "timeout_s": 20 * self._timeout_s,  # each program has its own timeout, enforced here
            "tpu": task.tpu,
            "topology": task.topology,
            "cache": self._cache,
            "done": done,
            "explain": task.explains_memory,
            **task.source,
        }

    def _ended(self, task: CompileTask, event: EndEvent) -> FailedProgram | None:
        outcome, detail = (
            event.get("outcome"),
            self._session.redact.redact_text(str(event.get("detail"))),
        )
        if outcome == "done":
            return None
        return make_failed_program(task, task.name, detail, refused=outcome == "mismatch")

    def _explain_memory(
        self, task: CompileTask, result: ResultFields
    ) -> Iterator[CompileProgress | ResultFields]:
        names = [str(name) for name in result.pop("argument_names", [])]
        if result["status"] != "does-not-fit" or result["cached"] or not task.explains_memory:
            yield result
            return
        flags = f"{self._session.env.get('LIBTPU_INIT_ARGS', '')} {FLAGS}".strip()
        command: CompileCommand = {
            **self._command(task, []),
            "only": [result["program"]],
            "cache": None,
            "save": None,
            "explain": False,
        }
        self._memory_probe, log = start_probe(
            self._session, {**OUTSPOKEN, "LIBTPU_INIT_ARGS": flags}, stream=True
        )
        output = bytearray()
        began = time.monotonic()
        try:
            self._memory_probe.send(command)
            while not self.stopped and (passed_s := time.monotonic() - began) < self._timeout_s:
                event = self._memory_probe.read(TICK_S)
                if event is None:
                    yield CompileProgress(result["program"], task.tpu, passed_s, result["check"])
                elif event["event"] == "output":
                    output = (output + event["data"])[-memory_report.MOST_BYTES :]
                elif event["event"] in ("end", "gone"):
                    break
            self._memory_probe.end()
        finally:
            self._memory_probe.close()
            self._memory_probe = None
            log.close()
        report = memory_report.parse_memory_report(output.decode("utf-8", "replace"), names)
        redacted: memory_report.MemoryReport = self._session.redact.redact_value(report)
        yield {**result, **redacted}

    def _ready(self) -> Probe:
        if self._probe is None:
            self._probe, self._log = start_probe(self._session)
            if self.stopped:
                self._probe.interrupt()
        return self._probe

    def _end(self, *, gently: bool) -> ProbeGoneEvent | None:
        probe, self._probe = self._probe, None
        if probe is None:
            return None
        if not gently:
            probe.end()
        gone = probe.close()
        if self._log:
            self._log.close()
        return gone


def make_failed_program(
    task: CompileTask,
    program: str,
    reason: str,
    seconds: float = 0.0,
    detail: str = "",
    *,
    refused: bool = False,
) -> FailedProgram:
    """Return the result of a program for which the compiler gave no answer."""
    return {
        "program": program,
        "check": task.source.get("check"),
        "tpu": task.tpu,
        "topology": task.topology["topology_name"],
        "status": "refused" if refused else "error",
        "reason": reason,
        "detail": detail,
        "seconds": seconds,
        "cached": False,
        "hbm_limit_bytes": task.topology["hbm_bytes"],
    }


def add_notes(result: ResultFields, notes: tuple[str, ...]) -> ResultFields:
    """Return a result with further remarks added to its `notes`."""
    noted = result.copy()
    if both := [*notes, *result.get("notes", ())]:
        noted["notes"] = both
    return noted


def explain_compiler_exit(event: ProcessEvent, text: str) -> str:
    """Return the reason why the compiler's process ended unexpectedly."""
    if event["event"] != "gone":
        return "the compiler's process wrote something that is not an event"
    if excess := host_memory_limit.format_memory_excess(event):
        return f"the compiler got no answer: {excess}"
    fatal = _FATAL.search(text)
    if fatal:
        return f"the compiler crashed: {fatal['reason'].partition('] ')[2][:300]}"
    if event["signal"] == 9:
        return "the compiler was killed, most likely because this machine ran out of memory"
    return f"the compiler crashed: {make_process_ending(event)[2]}"


def is_tpu_compiler_installed(machine: host.Machine) -> bool:
    """Return whether an environment with the TPU compiler is found without an explicit path."""
    return any(True for _ in interpreters.find_pythons_with_libtpu(machine.env, Path.cwd()))


def find_compiler_python(explicit: str | None, machine: host.Machine) -> Path:
    """Return the Python that has the TPU compiler.

    Raises:
        Problem: No Python has it, or `explicit` is not a Python.
    """
    if explicit is not None:
        return interpreters.choose_interpreter(explicit, machine.env, Path.cwd(), option=OPTION)[
            0
        ].path
    for interpreter in interpreters.find_pythons_with_libtpu(machine.env, Path.cwd()):
        return interpreter.path
    raise make_missing_compiler_problem("no Python found here has the TPU compiler")


def make_missing_compiler_problem(what: str) -> Problem:
    """Return the Problem for a missing JAX or libtpu."""
    return Problem(
        f"{what} (the packages `jax` and `libtpu`)",
        hint=Hint(
            "`tpustarter setup rehearse` makes an environment with both. It downloads 400 MB, and "
            "takes 1.2 GB on the disk. For one that you have, add `--compiler PATH`, or choose it "
            "in the settings of the tutor",
            setup="rehearse",
        ),
        code=ExitCode.INCONCLUSIVE,
    )
