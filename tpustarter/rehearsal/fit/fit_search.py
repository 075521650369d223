"""The search for the largest size of a dimension that fits each TPU, by compiling programs.

Each size is lowered in the user's Python and compiled with the TPU compiler, one after another in
the same two processes. The result is a size that fits, and the next one, which does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.checking.run.probe_session import ProbeSession
from tpustarter.machine import tpus
from tpustarter.rehearsal.compile import answer_cache, compiler
from tpustarter.rehearsal.compile.compiler import (
    A_TPU,
    YOUR_CODE,
    CompileProgress,
    Compiler,
    CompileTask,
    RehearsalAnswer,
)
from tpustarter.rehearsal.compile.lowering import LoweringProblem, LoweringProcess
from tpustarter.rehearsal.fit.size_search import SizeSearch, list_step_sizes
from tpustarter.rehearsal.programs.user_program import (
    LoweredProgram,
    ProgramWarning,
    UserFunction,
)
from tpustarter.rehearsal.result_fields import FittingSize, ResultFields, TriedSize, fits_memory
from tpustarter.running.process import Probe

MOST = 2**31 - 1
"""The largest dimension that XLA accepts."""

Event = CompileProgress | RehearsalAnswer | ProgramWarning | FittingSize
Told = CompileProgress | ProgramWarning


@dataclass(frozen=True)
class FitJob:
    """The user's code with a dimension, and the processes that lower and compile it."""

    code: UserFunction
    default: int
    """The default that the user's function has for the dimension; 0 if none."""
    topologies: Sequence[tpus.Topology]
    session: ProbeSession
    """The user's Python, with CPU devices for the largest TPU."""
    compiler: Compiler
    timeout_s: float
    started: Callable[[Probe], None]
    """Called with the process that lowers, so that the caller can stop it."""
    make_task: Callable[[LoweredProgram, tpus.Topology], CompileTask]
    saves: bool
    """True if the texts of the programs are saved."""


@dataclass(frozen=True)
class _Program:
    """A program of the user's file, identified by its index in the file."""

    number: int
    name: str
    size_increment: int = 0
    """Smallest size that can be lowered; its multiples are tried. 0 if no size changes it."""
    digest: str = ""


@dataclass
class _Search:
    """The search for one program on one TPU: the sizes compiled, and the best of them."""

    program: _Program
    sizes: SizeSearch
    tried: list[TriedSize] = field(default_factory=list[TriedSize])
    answers: dict[int, ResultFields] = field(default_factory=dict[int, ResultFields])
    tasks: dict[int, CompileTask] = field(default_factory=dict[int, CompileTask])

    def record(self, size: int, result: ResultFields) -> None:
        """Record the answer for a size."""
        needed: int | None = result.get("hbm_bytes")
        fits = fits_memory(result)
        self.sizes.record(size // self.program.size_increment, needed or 0, fits=fits)
        self.tried.append(TriedSize(size, result["status"], fits, needed, result["reason"]))
        self.answers[size] = result

    def describe(self, dimension: str, tpu: str, *, finished: bool) -> FittingSize:
        """Return the result, or what is known so far."""
        step, largest = (
            self.program.size_increment,
            self.sizes.largest * self.program.size_increment,
        )
        following = next((one for one in self.tried if one.size == largest + step), None)
        broken = [
            one for one in (following, *reversed(self.tried)) if one and one.status == "error"
        ]
        reason = f"no answer for {broken[0].size:,}: {broken[0].reason}" if broken else None
        return FittingSize(
            self.program.name,
            tpu,
            dimension,
            step,
            largest or None,
            following.size if following else None,
            reason,
            tuple(sorted(self.tried, key=lambda one: one.size)),
            finished,
        )


def search_sizes(job: FitJob) -> Iterator[Event]:
    """Search for the largest size of each program on each TPU, until the compiler is stopped.

    Yields an unfinished `FittingSize` after each size. Then comes the answer for the largest size
    that fits, or for the smallest if none does, followed by the finished `FittingSize`.

    Raises:
        Problem: The file cannot be lowered at the first size that is tried.
    """
    for topology in job.topologies:
        process = LoweringProcess(job.session, [topology], job.timeout_s, job.started)
        with process:
            programs, failed = yield from _list_programs(job, process, topology)
            for lowered in failed:
                yield RehearsalAnswer(_make_error(job, lowered, topology))
            for program in programs:
                if job.compiler.stopped:
                    return
                yield from _search_program(job, process, topology, program)


def _list_programs(
    job: FitJob, process: LoweringProcess, topology: tpus.Topology
) -> Generator[Told, None, tuple[list[_Program], list[LoweredProgram]]]:
    # The first size must work; the smallest that also does is the step.
    steps = list_step_sizes(topology.devices, job.default)
    usual = job.default or steps[-1]
    lowered = yield from _lower(job, process, topology, usual)
    failed = [one for one in lowered if one.error]
    programs = [
        _Program(number, one.program, usual, _digest(one))
        for number, one in enumerate(lowered)
        if not one.error
    ]
    open_ones = {program.number: program for program in programs}
    settled: dict[int, _Program] = {}
    for step in steps:
        if not open_ones or step >= usual or job.compiler.stopped:
            break
        try:
            lowered = yield from _lower(job, process, topology, step)
        except LoweringProblem:
            continue
        for number, one in enumerate(lowered):
            if not one.error and (program := open_ones.pop(number, None)):
                settled[number] = replace(
                    program, size_increment=0 if _digest(one) == program.digest else step
                )
    return [settled.get(one.number, one) for one in programs], failed


def _digest(lowered: LoweredProgram) -> str:
    return hashlib.sha256(Path(lowered.source.get("artifact", "")).read_bytes()).hexdigest()


def _lower(
    job: FitJob,
    process: LoweringProcess,
    topology: tpus.Topology,
    size: int,
    only: _Program | None = None,
) -> Generator[Told, None, list[LoweredProgram]]:
    programs: list[LoweredProgram] = []
    code = replace(job.code, size=size)
    names = (only.name, topology.name) if only else (YOUR_CODE, A_TPU)
    for told in process.lower(code, only.number if only else None):
        if isinstance(told, LoweredProgram):
            programs.append(told)
        elif isinstance(told, ProgramWarning):
            yield told
        else:
            yield CompileProgress(*names, told, size=_label(job, size))
    return programs


def _search_program(
    job: FitJob, process: LoweringProcess, topology: tpus.Topology, program: _Program
) -> Iterator[Event]:
    step = program.size_increment
    if not step:
        reason = f"`{job.code.dimension}` changes nothing in it"
        name = job.code.dimension
        yield FittingSize(program.name, topology.name, name, 1, None, None, reason, ())
        return
    sizes = SizeSearch(job.default // step, MOST // step, topology.hbm_bytes)
    search = _Search(program, sizes)
    while not job.compiler.stopped and (count := sizes.find_next()) is not None:
        size = count * step
        result = yield from _answer(job, process, topology, search, size)
        if result is None:
            return
        search.record(size, result)
        yield search.describe(job.code.dimension, topology.name, finished=False)
        if result["status"] == "error" and size in search.tasks:
            break  # a crash or timeout would cost as much at every other size
    if not job.compiler.stopped:
        yield from _finish(job, topology, search)


def _answer(
    job: FitJob, process: LoweringProcess, topology: tpus.Topology, search: _Search, size: int
) -> Generator[Told, None, ResultFields | None]:
    # Returns None if the compiler was stopped.
    program = search.program
    try:
        lowered = yield from _lower(job, process, topology, size, program)
    except LoweringProblem as problem:
        lowered = [LoweredProgram(program.name, (topology.name,), {}, problem.full_text)]
    if not lowered:
        gone = f"there is no program {program.number + 1} at this size"
        lowered = [LoweredProgram(program.name, (topology.name,), {}, gone)]
    if lowered[0].error:
        return _make_error(job, lowered[0], topology)
    task = job.make_task(lowered[0], topology)
    search.tasks[size] = task
    quick = replace(task, explains_memory=False, source={**task.source, "save": None})
    result = yield from _compile(job, quick, program, size)
    if result and result["status"] != "does-not-fit":
        answer_cache.save_compiler_answer(result)
    return result


def _compile(
    job: FitJob, task: CompileTask, program: _Program, size: int
) -> Generator[CompileProgress, None, ResultFields | None]:
    result: ResultFields | None = None
    for event in job.compiler.run(task):
        if isinstance(event, RehearsalAnswer):
            result = event.result
        else:
            yield replace(event, program=program.name, size=_label(job, size))
    return result


def _label(job: FitJob, size: int) -> str:
    return f"{job.code.dimension} {size:,}"


def _finish(job: FitJob, topology: tpus.Topology, search: _Search) -> Iterator[Event]:
    program = search.program
    size = search.sizes.largest * program.size_increment or min(search.answers)
    result: ResultFields | None = search.answers[size]
    if size in search.tasks and (job.saves or result["status"] == "does-not-fit"):
        result = yield from _compile(job, search.tasks[size], program, size)
    if result is None:
        return
    result["program"] = program.name
    yield RehearsalAnswer(result)
    yield search.describe(job.code.dimension, topology.name, finished=True)


def _make_error(job: FitJob, lowered: LoweredProgram, topology: tpus.Topology) -> ResultFields:
    task = job.make_task(lowered, topology)
    failure = compiler.make_failed_program(
        task,
        lowered.program,
        str(lowered.error),
        detail=lowered.traceback,
        refused=lowered.refused,
    )
    return compiler.add_notes(failure, lowered.notes)
