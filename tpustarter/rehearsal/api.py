"""The public `tpustarter.rehearse`: one function, one TPU, one answer; for a user's own tests."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tpustarter.core.json_values import as_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus
from tpustarter.probe.rehearse import device_queries, exports
from tpustarter.probe.rehearse.device_queries import PatchedDeviceQueries
from tpustarter.probe.rehearse.exports import LoweringJob
from tpustarter.probe.rehearse.rehearsal_messages import ExportedFields, ProgramSource
from tpustarter.rehearsal.compile import lowering
from tpustarter.rehearsal.programs.rehearsal_request import TIMEOUT_S, RehearsalRequest
from tpustarter.rehearsal.programs.user_program import LoweredProgram
from tpustarter.rehearsal.result_fields import (
    CollectiveOperation,
    MatrixProduct,
    ProgramArray,
    ProgramWork,
)
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.running import run_folder


@dataclass(frozen=True)
class CompilerAnswer:
    """The TPU compiler's answer for one program; sizes are bytes on one device."""

    program: str
    tpu: str
    status: str
    """`compiles`, `does-not-fit`, `refused`, or `error` where the compiler gave no answer."""
    reason: str | None = None
    """The reason why it does not compile, in one line."""
    detail: str = ""
    """The compiler's own words."""
    seconds: float = 0.0
    cached: bool = False
    hbm_bytes: int | None = None
    """Memory that the program needs; None if the compiler gives no figure."""
    hbm_limit_bytes: int | None = None
    excess_bytes: int | None = None
    """Bytes by which it exceeds a device's memory."""
    memory: dict[str, int] | None = None
    """`arguments`, `outputs`, `aliased` (in both), `temporaries` and `code`."""
    padding: dict[str, int] | None = None
    """`asked_bytes` and `laid_out_bytes` of arguments and outputs."""
    buffers: tuple[ProgramArray, ...] = ()
    """The largest arrays: `shape`, `kind`, `asked_bytes`, `laid_out_bytes`, `op`, `source`."""
    collectives: tuple[CollectiveOperation, ...] = ()
    """Communication between devices: `op`, `count`, `bytes`, `runs`, `link`, `source`."""
    dots: tuple[MatrixProduct, ...] = ()
    """Matrix products: `left`, `right`, `out`, `precision`, `count`."""
    loops: int | None = None
    flops: float | None = None
    bytes_accessed: float | None = None
    notes: tuple[str, ...] = ()
    """Remarks on the answer, such as that the function queries its device."""
    work: dict[str, object] | None = None
    """FLOPs counted in the trace; None for a program without one."""
    bound: dict[str, object] | None = None
    """A lower bound on the `seconds` of one run, with its `limiter` and `limits`: `matrix unit`,
    `HBM` and `links`. It is computed from documented peaks, and never a measurement."""
    compiler_model_seconds: float | None = None
    """The compiler's own estimate, never a measurement; None where it is meaningless."""

    @property
    def compiled(self) -> bool:
        """True if the compiler accepts the program for the memory of one device."""
        return self.status == "compiles"


def rehearse(
    function: Callable[..., object],
    *arguments: object,
    tpu: str,
    compiler: str | None = None,
    timeout_s: float = TIMEOUT_S,
    **named: object,
) -> CompilerAnswer:
    """Return the compiler's answer for a function on a TPU; see `tpustarter.rehearse`."""
    folder = run_folder.make_run_folder()
    try:
        name = str(getattr(function, "__name__", type(function).__name__))
        nothing = LoweredProgram(name, (), {})
        request = RehearsalRequest(
            program=nothing, tpus=(tpu,), compiler=compiler, timeout_s=timeout_s
        )
        (topology,) = Rehearsal(request).topologies
        path = folder / "program.mlirbc"
        written, notes = _lower(path, topology, LoweringJob(function, arguments, named))
        source: ProgramSource = {
            "artifact": written["artifact"],
            "lowered": written["lowered"],
            "program": name,
        }
        work = as_type(written.get("work"), ProgramWork)
        exported = LoweredProgram(name, (topology.name,), source, notes=notes, work=work)
        return _answer(replace(request, program=exported), name, tpu)
    finally:
        run_folder.remove_run_folder(folder)


def _answer(request: RehearsalRequest, name: str, tpu: str) -> CompilerAnswer:
    rehearsal = Rehearsal(request)
    for _ in rehearsal.events():
        pass
    if not rehearsal.results:
        why = f": {rehearsal.skipped[0]['reason']}" if rehearsal.skipped else ""
        raise Problem(f"no answer about `{name}` for {tpu}{why}", code=ExitCode.INCONCLUSIVE)
    return msgspec.convert(rehearsal.results[0], CompilerAnswer)


def _lower(
    path: Path, topology: tpus.Topology, job: LoweringJob
) -> tuple[ExportedFields, tuple[str, ...]]:
    jax = importlib.import_module("jax")
    fields = lowering.tpu_fields([topology])[topology.name]
    device = (
        device_queries.parse_device(fields) if device_queries.caches_traces_by_device(jax) else None
    )
    with PatchedDeviceQueries(jax) as answers, answers.answer_for(device) as queries:
        written = exports.export_to_file(path, job, answers=answers)
    return written, (*device_queries.describe_queries(queries), *written["notes"])
