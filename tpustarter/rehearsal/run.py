"""Compile programs for TPUs that are not there, and report one stream of events.

The compiler's process lowers the programs of checks itself. The user's programs are first lowered
in the user's Python. No result counts as verified, because nothing is run.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import msgspec

from tpustarter.checking.plan import interpreters
from tpustarter.checking.results.results import REHEARSAL_SCHEMA
from tpustarter.checking.run.probe_session import ProbeSession
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import host, tpus
from tpustarter.probe.rehearse.rehearsal_messages import ProgramSource, TopologyFields
from tpustarter.rehearsal import comparison, roofline_bound
from tpustarter.rehearsal.compile import answer_cache, compiler, host_memory_limit, lowering
from tpustarter.rehearsal.compile.compiler import (
    CompileProgress,
    Compiler,
    CompileTask,
    CompileTaskDone,
    RehearsalAnswer,
)
from tpustarter.rehearsal.compile.compiler_pool import CompilerPool
from tpustarter.rehearsal.fit import dimension, fit_search
from tpustarter.rehearsal.programs import resolve, user_program, user_python
from tpustarter.rehearsal.programs.rehearsal_request import EVERY_GENERATION, RehearsalRequest
from tpustarter.rehearsal.programs.user_program import (
    DeviceQueriesFound,
    JitCallSiteSummary,
    LoweredProgram,
    ProgramWarning,
    ScriptEnded,
    ScriptOutput,
)
from tpustarter.rehearsal.result_fields import ComparedProgram, FittingSize, ResultFields
from tpustarter.rehearsal.saved_files import SavedFiles
from tpustarter.rehearsal.text import rehearsal_progress
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.process import Probe
from tpustarter.version import __version__


@dataclass(frozen=True)
class RehearsalStarted:
    """The compiler was found: its path and versions, the TPUs, and the number of tasks."""

    compiler: str
    versions: dict[str, str]
    tpus: tuple[str, ...]
    tasks: int


Event = (
    RehearsalStarted
    | CompileProgress
    | RehearsalAnswer
    | CompileTaskDone
    | ProgramWarning
    | DeviceQueriesFound
    | JitCallSiteSummary
    | ScriptOutput
    | ScriptEnded
    | FittingSize
)


def describe_local_chips(machine: host.Machine) -> str:
    """Return a phrase for the TPU chips of this machine, or "" if there are none.

    A Google device of unknown kind counts as one.
    """
    if host.list_chips(machine):
        return "TPU chips"
    unknown = host.unknown_google_devices(machine)
    return f"what may be TPU chips ({', '.join(unknown)})" if unknown else ""


class Rehearsal:
    """One rehearsal: `events` runs it and fills `results`, and `stop` ends it from any thread."""

    def __init__(
        self,
        request: RehearsalRequest,
        *,
        machine: host.Machine | None = None,
        checks: Path | None = None,
    ) -> None:
        self._request = request
        self._machine = machine or host.Machine()
        self._checks_folder = checks
        self._redact = Redactor(self._machine.env)
        # Several names may mean the same TPU: v5litepod-8 is v5e-8.
        self.topologies = [_topology(name, request.slices) for name in request.tpus]
        self.topologies = list({topology.name: topology for topology in self.topologies}.values())
        self._code = user_program.resolve_function(
            request.ids, request.arguments, request.framework, request.fit
        )
        names = _list_names(self.topologies, request.measured_s)
        _check_code(request, self._code)
        self._program = request.program or user_program.resolve_stablehlo(request.ids, names)
        own = self._code or user_program.require_script(request.script) or self._program
        self._checks = [] if own else resolve.resolve_checks(request.ids, checks)
        self._torch_checks = [check for check in self._checks if check.framework == "torch_xla"]
        self._compiler = self._found()
        self.saved_files = SavedFiles(request.save) if request.save else None
        self._jobs = CompilerPool()
        self._order: dict[tuple[str | None, str], int] = {}
        self._lowering: Probe | None = None
        self.functions: list[JitCallSiteSummary] = []
        """Functions that the script passed to `jax.jit`."""
        self.device_query_places: tuple[str, ...] = ()
        """Places where the script queries its device outside of jitted code."""
        self.script_error: str | None = None
        self.script_ended_early = False
        """True if the request's limit ended the script."""
        self.script_missing = ""
        """The module that the script failed to import."""
        self.script_place = ""
        """The line of the script that its error came through, such as `train.py:12`."""
        self.places: dict[tuple[str | None, str, str], str] = {}
        """The same for the errors of programs, keyed by check, program and TPU."""
        self.script_python: str | None = None
        """The Python that ran the script."""
        self.results: list[ResultFields] = []
        self.fits: list[FittingSize] = []
        """The largest sizes that fit, if `--fit` asks for them; only the last may be unfinished."""
        self.skipped: list[dict[str, str]] = []
        """Programs and checks that were left out: `name`, `tpu` and `reason`."""
        self.stopped_by: int | None = None
        self.progress = rehearsal_progress.RehearsalProgress(tpus=names)

    def _found(self) -> Path:
        # The user's options are verified first, so that their Problem is the one raised.
        if self._request.python is not None:
            interpreters.choose_interpreter(self._request.python, self._machine.env, Path.cwd())
        explicit = self._request.compiler
        named = (
            compiler.find_compiler_python(explicit, self._machine) if explicit is not None else None
        )
        if (chips := describe_local_chips(self._machine)) and not self._request.beside_tpu:
            raise Problem(
                f"this machine has {chips}, and the compiler was never tried beside a running job",
                hint="if nothing is running on them, add `--beside-tpu`",
                code=ExitCode.INCONCLUSIVE,
            )
        return named or compiler.find_compiler_python(None, self._machine)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the rehearsal; safe to call from any thread and signal handler."""
        self.stopped_by = number
        if self._lowering:
            self._lowering.interrupt()
        self._jobs.stop()

    def events(self) -> Iterator[Event]:
        """Compile everything, yielding events and filling `results` as they arrive."""
        with run_folder.hold_run_folder(self._redact, self._has_error) as folder:
            yield from self._events(self._session(folder))

    def _has_error(self) -> bool:
        failed = any(result["status"] == "error" for result in self.results)
        return failed or self.script_error is not None

    def _events(self, session: ProbeSession) -> Iterator[Event]:
        order = [
            topology.name for topology in rehearsal_progress.sort_outermost_first(self.topologies)
        ]
        tasks = sorted(self._tasks_of_checks(), key=lambda task: order.index(task.tpu))
        cache = None if self._request.fresh else str(answer_cache.make_cache_folder())
        jobs = self._jobs
        with jobs.open(
            session, jobs=self._request.jobs, timeout_s=self._request.timeout_s, cache=cache
        ):
            if self.stopped_by is not None:  # stop() came before there was a process to stop
                jobs.stop()
            versions = self._versions(jobs.first_compiler)
            compiler_path, names = (
                self._display_path(self._compiler),
                tuple(topology.name for topology in self.topologies),
            )
            yield RehearsalStarted(compiler_path, versions, names, len(tasks))
            if self._request.fit:
                yield from map(self._keep, self._fit_events(session))
                return
            if not self._checks:  # the user's code is lowered first, in a process of its own
                jobs.first_compiler.load_topology(_fields(self.topologies[0]))
            jobs.start(at_once=bool(self._request.jobs))
            lowered = chain(self._lower_own(session), self._lower_torch_checks(session))
            for item in chain(tasks, lowered):
                if isinstance(item, CompileTask):
                    self.progress.add_task(item.name, item.tpu)
                    jobs.add_task(item)
                else:
                    yield self._keep(item)
                yield from map(self._keep, jobs.read_events())
            self.progress.is_total_final = True
            jobs.complete()
            yield from map(self._keep, jobs.read_events())
        # Restore the order of the user's code, because answers arrive in any order.
        self.results.sort(key=lambda one: self._order.get((one["check"], one["program"]), 0))
        if (measured_s := self._request.measured_s) is not None:
            self.results = roofline_bound.add_measured_utilization(self.results, measured_s)

    @property
    def runs_script(self) -> bool:
        """True if a script of the user is run, whose output is shown."""
        return bool(self._request.script)

    @property
    def compares(self) -> bool:
        """True if the programs are alternatives to compare."""
        return self._request.compare

    @property
    def returns_zeros(self) -> bool:
        """True if the script's jitted functions return zeros instead of computing."""
        return self._request.until.zeros

    @property
    def exit_code(self) -> ExitCode:
        """The exit code: 0 if all compile, 1 if some cannot, 3 without a verdict."""
        if self.stopped_by is not None:
            interrupted = self.stopped_by == signal.SIGINT
            return ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED
        statuses = {result["status"] for result in self.results}
        if statuses & {"does-not-fit", "refused"}:
            return ExitCode.FAILED
        is_certain = not any(one.reason and one.tried for one in self.fits)
        succeeded = statuses == {"compiles"} and not self.script_error and is_certain
        return ExitCode.OK if succeeded else ExitCode.INCONCLUSIVE

    def document(self) -> dict[str, object]:
        """Return the results as the published document."""
        fields = [{k: v for k, v in result.items() if k != "key"} for result in self.results]
        return {
            "schema": REHEARSAL_SCHEMA,
            "source": "rehearsal",
            "tool": {"version": __version__},
            "results": fields,
            "skipped": self.skipped,
            "fits": [asdict(one) for one in self.fits],
            "comparison": [asdict(one) for one in self._compare()] if self.compares else [],
            "functions": [vars(function) for function in self.functions],
            "script_error": self.script_error,
            "script_ended_early": self.script_ended_early,
            "script_python": self.script_python,
            "asked": list(self.device_query_places),
            "exit_code": int(self.exit_code),
        }

    def _compare(self) -> Iterator[ComparedProgram]:
        for topology in self.topologies:
            yield from comparison.compare_programs(self.results, topology.name)

    def _session(self, folder: Path) -> ProbeSession:
        limits = host_memory_limit.memory_limit_variables(
            self._machine, self._request.memory_limit_bytes
        )
        return ProbeSession(
            self._compiler,
            probe_archive.build_probe_archive(folder / "probe.pyz", self._checks_folder),
            folder,
            {**self._machine.env, **compiler.QUIET, **limits},
            {"platform": "cpu", "root": str(self._machine.root), "uid": self._machine.uid},
            self._redact,
            drop=locations.find_sudo_caller(),
        )

    def _versions(self, first: Compiler) -> dict[str, str]:
        reported = first.read_versions()
        frameworks = reported.frameworks
        names = ("jax", "jaxlib", "libtpu")
        if missing := [name for name in names if name not in frameworks]:
            raise compiler.make_missing_compiler_problem(
                f"`{self._display_path(self._compiler)}` has no {' and no '.join(missing)}"
            )
        return {"python": reported.python_version, **{name: frameworks[name] for name in names}}

    def _tasks_of_checks(self) -> Iterator[CompileTask]:
        for topology in self.topologies:
            # Checks of speed compile for minutes; if started last, everything would wait for them.
            for check in sorted(self._checks, key=lambda one: one.level not in ("full", "soak")):
                needed = int(check.needs.get("devices", 1))
                if check in self._torch_checks:
                    continue
                if needed > topology.devices:
                    why = f"it needs {needed} devices, and {topology.name} has {topology.devices}"
                    self.skipped.append({"name": check.id, "tpu": topology.name, "reason": why})
                    continue
                source: ProgramSource = {"check": check.id, **self._saving(topology, check.id)}
                yield CompileTask(check.id, topology.name, _fields(topology), source)

    def _fit_events(self, compiling: ProbeSession) -> Iterator[fit_search.Event]:
        if self._code is None:
            return
        job = fit_search.FitJob(
            self._code,
            dimension.find_default(self._code),
            self.topologies,
            self._user_session(compiling, self._code),
            self._jobs.first_compiler,
            self._request.timeout_s,
            self._remember_probe,
            self._make_task,
            saves=self.saved_files is not None,
        )
        yield from fit_search.search_sizes(job)

    def _user_session(
        self, compiling: ProbeSession, code: user_program.UserFunction
    ) -> ProbeSession:
        most = max(topology.devices for topology in self.topologies)
        env = {**compiling.env, "JAX_NUM_CPU_DEVICES": str(most)}
        env |= user_python.torch_xla_variables(code)
        return replace(compiling, python=self._python(code.file.parent, code.torch), env=env)

    def _lower_own(self, compiling: ProbeSession) -> Iterator[CompileTask | Event]:
        timeout_s, topologies = self._request.timeout_s, self.topologies
        if self._request.script:
            most = max(topology.devices for topology in self.topologies)
            env = {**compiling.env, "JAX_NUM_CPU_DEVICES": str(most)}
            session = replace(compiling, python=self._python(Path.cwd()), env=env)
            self.script_python = self._display_path(session.python)
            words = self._request.script
            events = lowering.run_script(
                words, session, topologies, self._remember_probe, self._request.until
            )
        elif self._code:
            session = self._user_session(compiling, self._code)
            events = lowering.lower_programs(
                self._code, session, topologies, timeout_s, self._remember_probe
            )
        else:
            events = [self._program] if self._program else []
        yield from self._tasks_of_events(events)

    def _lower_torch_checks(self, compiling: ProbeSession) -> Iterator[CompileTask | Event]:
        if not self._torch_checks or self.stopped_by is not None:
            return
        ids = tuple(check.id for check in self._torch_checks)
        function = user_program.PROGRAMS_FUNCTION
        code = user_program.UserFunction(Path("/"), function, (), "torch_xla", ids)
        try:
            python = self._python(Path.cwd(), code.torch)
            env = {**compiling.env, **user_python.torch_xla_variables(code)}
            session = replace(compiling, python=python, env=env)
            events = lowering.lower_programs(
                code, session, self.topologies, self._request.timeout_s, self._remember_probe
            )
            yield from self._tasks_of_events(events)
        except Problem as problem:
            if len(ids) == len(self._checks):
                raise
            names = ", ".join(topology.name for topology in self.topologies)
            entry = {"name": f"torch_xla.* ({len(ids)} checks)", "tpu": names}
            self.skipped.append({**entry, "reason": problem.full_text})

    def _tasks_of_events(
        self, events: Iterable[LoweredProgram | Event | float]
    ) -> Iterator[CompileTask | Event]:
        for event in events:
            if isinstance(event, LoweredProgram):
                yield from self._tasks_of(event)
            elif isinstance(event, int | float):
                yield CompileProgress(compiler.YOUR_CODE, compiler.A_TPU, event)
            else:
                yield event

    def _tasks_of(self, exported: LoweredProgram) -> Iterator[CompileTask | Event]:
        self._order.setdefault((exported.check, exported.program), len(self._order))
        for topology in self.topologies:
            if topology.name not in exported.tpus:
                continue
            task = self._make_task(exported, topology)
            lowered = exported.source.get("lowered")
            needed = (lowered["devices"] if lowered else None) or 1
            if needed > topology.devices:
                why = f"it needs {needed} devices, and {topology.name} has {topology.devices}"
                self.skipped.append({"name": exported.program, "tpu": topology.name, "reason": why})
                continue
            if exported.error is None:
                yield task
                continue
            if exported.place:
                key = (exported.check, exported.program, topology.name)
                self.places[key] = exported.place
            failure = compiler.make_failed_program(
                task,
                exported.program,
                exported.error,
                detail=exported.traceback,
                refused=exported.refused,
            )
            yield RehearsalAnswer(compiler.add_notes(failure, exported.notes))

    def _make_task(self, exported: LoweredProgram, topology: tpus.Topology) -> CompileTask:
        check: ProgramSource = {} if exported.check is None else {"check": exported.check}
        source: ProgramSource = {
            **exported.source,
            **check,
            **self._saving(topology, exported.check),
            "work": msgspec.to_builtins(exported.work),
        }
        return CompileTask(
            exported.program, topology.name, _fields(topology), source, exported.notes
        )

    def _saving(self, topology: tpus.Topology, check: str | None) -> ProgramSource:
        if self.saved_files is None:
            return {}
        return {"save": str(self.saved_files.make_tpu_folder(topology.name, check))}

    def _remember_probe(self, probe: Probe) -> None:
        self._lowering = probe
        if self.stopped_by is not None:
            probe.interrupt()

    def _python(self, folder: Path, torch: str = "") -> Path:
        return user_python.find_python(
            self._request.python, self._machine, folder, torch, without_jax=self._compiler
        )

    def _keep(self, event: Event | BaseException) -> Event:
        if isinstance(event, BaseException):
            raise event
        self.progress.follow(event)
        if isinstance(event, RehearsalAnswer):
            answer_cache.save_compiler_answer(event.result)
            event = RehearsalAnswer(roofline_bound.add_bound(event.result))
            self.results.append(event.result)
        elif isinstance(event, FittingSize):
            if self.fits and not self.fits[-1].finished:
                del self.fits[-1]
            self.fits.append(event)
        elif isinstance(event, JitCallSiteSummary):
            self.functions.append(event)
        elif isinstance(event, DeviceQueriesFound):
            self.device_query_places = event.places
        elif isinstance(event, ScriptEnded):
            self.script_error, self.script_missing = event.error, event.missing_module
            self.script_place, self.script_ended_early = event.place, event.ended_early
        return event

    def _display_path(self, path: Path) -> str:
        return interpreters.format_path(path, self._machine.env, Path.cwd())


def _check_code(request: RehearsalRequest, code: user_program.UserFunction | None) -> None:
    if code:
        typed = () if request.tpus == EVERY_GENERATION else request.tpus
        file = request.ids[0].partition(":")[0]
        resolve.verify_function_and_arguments(code, file, request.arguments, typed)
    dimension.require_searchable_dimension(request, code)
    comparison.require_alternatives(request, code)


def _list_names(topologies: Sequence[tpus.Topology], measured_s: float | None) -> tuple[str, ...]:
    names = tuple(topology.name for topology in topologies)
    if measured_s is not None and len(names) > 1:
        raise Problem(
            f"a measured time is that of one TPU, and {len(names)} are asked for",
            hint="name the one that it was measured on with `--tpu`",
            code=ExitCode.USAGE,
        )
    return names


def _topology(name: str, slices: int) -> tpus.Topology:
    try:
        return tpus.find_topology(name, slices)
    except LookupError as error:
        hint = "name a type, such as `v5p-64`, or a topology, such as `v5p:2x4x4`"
        raise Problem(str(error), hint=hint, code=ExitCode.USAGE) from error


def _fields(topology: tpus.Topology) -> TopologyFields:
    return {
        "name": topology.name,
        "topology_name": topology.topology_name,
        "arguments": {**topology.arguments},
        "devices": topology.devices,
        "processes": topology.processes,
        "slices": topology.slices,
        "hbm_gib_per_device": topology.hbm_gib_per_device,
        "hbm_bytes": topology.hbm_bytes,
    }
