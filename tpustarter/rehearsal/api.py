"""`tpustarter.rehearse`: one function, one TPU, one answer; for a test of your own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tpustarter.probe import exports
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal.own_code import Exported
from tpustarter.rehearsal.run import TIMEOUT_S, Rehearsal, Request
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
        written = exports.write(folder / "program.mlirbc", function, *arguments, **named)
        return _answer(function, tpu, written, compiler, timeout_s)
    finally:
        run_folder.remove(folder)


def _answer(
    function: Any, tpu: str, written: Mapping[str, Any], compiler: str | None, timeout_s: float
) -> Answer:
    """Return what the compiler says of a program that was written."""
    name = str(getattr(function, "__name__", type(function).__name__))
    source = {"artifact": written["artifact"], "lowered": written["lowered"], "program": name}
    request = Request(
        program=Exported(name, None, source), tpus=(tpu,), compiler=compiler, timeout_s=timeout_s
    )
    rehearsal = Rehearsal(request)
    for _ in rehearsal.events():
        pass
    if not rehearsal.results:
        why = f": it {rehearsal.skipped[0]['reason']}" if rehearsal.skipped else ""
        raise Problem(f"no answer about `{name}` for {tpu}{why}", code=ExitCode.INCONCLUSIVE)
    names = {field.name for field in fields(Answer)}
    answer = {key: value for key, value in rehearsal.results[0].items() if key in names}
    for key in ("buffers", "collectives", "dots"):
        answer[key] = tuple(answer.get(key, ()))
    return Answer(**answer)
