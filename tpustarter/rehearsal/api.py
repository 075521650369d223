"""`tpustarter.rehearse`: one function, one TPU, one answer; for a test of your own."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tpustarter.machine import tpus
from tpustarter.probe import device_questions, exports
from tpustarter.probe.device_questions import Answers
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import lowering
from tpustarter.rehearsal.own_code import Exported
from tpustarter.rehearsal.request import TIMEOUT_S, Request
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.running import run_folder


@dataclass(frozen=True)
class Answer:
    """What the TPU compiler says of one program; sizes are bytes on one device."""

    program: str
    tpu: str
    status: str
    """`compiles`, `does-not-fit`, `refused`, or `error` where the compiler gave no answer."""
    reason: str | None = None
    """Why it does not compile, in one line."""
    detail: str = ""
    """The compiler's own words."""
    seconds: float = 0.0
    cached: bool = False
    hbm_bytes: int | None = None
    """Memory the program needs; None where the compiler does not say."""
    hbm_limit_bytes: int | None = None
    excess_bytes: int | None = None
    """How much too much it needs."""
    memory: dict[str, int] | None = None
    """`arguments`, `outputs`, `aliased` (in both), `temporaries` and `code`."""
    padding: dict[str, int] | None = None
    """`asked_bytes` and `laid_out_bytes` of arguments and outputs."""
    buffers: tuple[dict[str, Any], ...] = ()
    """The biggest arrays: `shape`, `kind`, `asked_bytes`, `laid_out_bytes`, `op`, `source`."""
    collectives: tuple[dict[str, Any], ...] = ()
    """What goes between devices: `op`, `count`, `bytes`, `source`."""
    dots: tuple[dict[str, Any], ...] = ()
    """Matrix products: `left`, `right`, `out`, `precision`, `count`."""
    loops: int | None = None
    flops: float | None = None
    bytes_accessed: float | None = None
    notes: tuple[str, ...] = ()
    """What is to be known beside it, such as that the function asks where it runs."""
    compiler_model_seconds: float | None = None
    """The compiler's own estimate, never a measurement; None where it means nothing."""

    @property
    def compiles(self) -> bool:
        """Whether the program compiles, and one device holds its part of it."""
        return self.status == "compiles"


def rehearse(
    function: Any,
    *arguments: Any,
    tpu: str,
    compiler: str | None = None,
    timeout_s: float = TIMEOUT_S,
    **named: Any,
) -> Answer:
    """Return what the compiler says of a function for a TPU; see `tpustarter.rehearse`."""
    folder = run_folder.make()
    try:
        name = str(getattr(function, "__name__", type(function).__name__))
        nothing = Exported(name, (), {})
        request = Request(program=nothing, tpus=(tpu,), compiler=compiler, timeout_s=timeout_s)
        (topology,) = Rehearsal(request).topologies
        path = folder / "program.mlirbc"
        written, notes = _lower(path, topology, function, arguments, named)
        source = {"artifact": written["artifact"], "lowered": written["lowered"], "program": name}
        exported = Exported(name, (topology.name,), source, notes=notes)
        return _answer(replace(request, program=exported), name, tpu)
    finally:
        run_folder.remove(folder)


def _answer(request: Request, name: str, tpu: str) -> Answer:
    """Return what the compiler says of a program that was lowered."""
    rehearsal = Rehearsal(request)
    for _ in rehearsal.events():
        pass
    if not rehearsal.results:
        why = f": {rehearsal.skipped[0]['reason']}" if rehearsal.skipped else ""
        raise Problem(f"no answer about `{name}` for {tpu}{why}", code=ExitCode.INCONCLUSIVE)
    names = {field.name for field in fields(Answer)}
    answer = {key: value for key, value in rehearsal.results[0].items() if key in names}
    for key in ("buffers", "collectives", "dots", "notes"):
        answer[key] = tuple(answer.get(key, ()))
    return Answer(**answer)


def _lower(
    path: Path,
    topology: tpus.Topology,
    function: Any,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write a function lowered for a TPU; returns what was written, and what to say beside it."""
    jax: Any = importlib.import_module("jax")
    fields = lowering.tpu_fields([topology])[topology.name]
    device = device_questions.device_of(fields) if device_questions.can_separate(jax) else None
    with Answers(jax) as answers, answers.of(device) as asked:
        written = exports.write(path, function, *arguments, answers=answers, **named)
    return written, (*device_questions.notes(asked), *written["notes"])
