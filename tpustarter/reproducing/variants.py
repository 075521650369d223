"""What is changed to see what matters: precision, the device, how many there are, and `jit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpustarter.reproducing.program import Place, Program
from tpustarter.reproducing.trying import Outcome

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Variant:
    """One change of the settings or the devices."""

    title: str
    env: Mapping[str, str]
    told: str = ""
    """How the conclusion says it: it fails, or holds, ..."""
    why_not: str = ""
    """Why it does not apply; empty where it does."""


@dataclass(frozen=True)
class Tried:
    """A variant and what came of it; without an outcome it was not run."""

    variant: Variant
    outcome: Outcome | None
    why_not: str = ""

    @property
    def words(self) -> str:
        """Return the outcome as the table has it."""
        return self.outcome.words if self.outcome else f"not run: {self.why_not}"


def of(program: Program, place: Place) -> list[Variant]:
    """Return the variants of a file on this machine, those that do not apply with the reason."""
    first = Variant(AS_IT_IS, {}, "as it is")
    if not program.framework:
        return [first]
    return [first, _precision(program), _on_cpu(program, place), _one_device(program, place),
            _without_jit(program)]  # fmt: skip


def _precision(program: Program) -> Variant:
    name = "JAX_DEFAULT_MATMUL_PRECISION"
    why = "" if program.framework == "jax" else "it is set in code, and by no variable"
    if name in program.sets:
        why = "the claim sets the precision itself"
    return Variant(f"{name}=highest", {name: "highest"}, "at precision highest", why)


def _on_cpu(program: Program, place: Place) -> Variant:
    count = place.devices or 1
    env = {
        "jax": {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(count)},
        "torch_xla": {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(count),
                      "XLA_THREAD_POOL_SIZE": str(count)},
        "keras": {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu",
                  "JAX_NUM_CPU_DEVICES": str(count)},
    }.get(program.framework, {})  # fmt: skip
    why = ""
    if place.platform == "cpu":
        why = "it ran on the CPU already"
    elif not env:
        code = program.framework == "tensorflow"
        why = (
            "it is set in code, and by no variable" if code else "this framework has no CPU devices"
        )
    elif program.needs.get("platform", "cpu") != "cpu":
        why = f"the claim is about a {str(program.needs['platform']).upper()}"
    expected = {"EXPECTED_PLATFORM": "cpu", "EXPECTED_DEVICES": str(count)}
    return Variant("on CPU devices", {**env, **expected}, "on CPU devices", why)


def _one_device(program: Program, place: Place) -> Variant:
    chip = {"TPU_VISIBLE_CHIPS": "0", "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
            "TPU_PROCESS_BOUNDS": "1,1,1"}  # fmt: skip
    on_cpu = {"jax": {"JAX_NUM_CPU_DEVICES": "1"}, "torch_xla": {"CPU_NUM_DEVICES": "1"}}
    env = {"tpu": chip, "gpu": {"CUDA_VISIBLE_DEVICES": "0"},
           "cpu": on_cpu.get(program.framework, {})}.get(place.platform, {})  # fmt: skip
    why = ""
    if place.devices == 1:
        why = "there was one device only"
    elif program.needs.get("devices", 1) > 1:
        why = f"the claim needs {program.needs['devices']} devices"
    elif not env:
        why = "no variable says how many devices there are"
    title = "one chip" if place.platform == "tpu" else "one device"
    return Variant(title, {**env, "EXPECTED_DEVICES": "1"}, f"on {title}", why)


def _without_jit(program: Program) -> Variant:
    why = "" if program.framework == "jax" else "it is set in code, and by no variable"
    return Variant("JAX_DISABLE_JIT=1", {"JAX_DISABLE_JIT": "1"}, "without jit", why)


def conclusion(tried: Sequence[Tried]) -> str:
    """Return in one sentence what matters."""
    ran = [(one.variant.told, one.outcome) for one in tried if one.outcome]
    if not ran:
        return "It was not run."
    first = ran[0][1]
    same = [told for told, outcome in ran if _alike(outcome, first)]
    holds = [told for told, outcome in ran if outcome.kind == "holds"]
    other = [f"{told} it {outcome.words}" for told, outcome in ran
             if not _alike(outcome, first) and outcome.kind != "holds"]  # fmt: skip
    parts = [f"It {first.kind} {_listed(same)}"]
    if holds and first.kind != "holds":
        parts.append(f"it holds {_listed(holds)}")
    text = ", and ".join([*parts, *other])
    return f"{text}."


def _alike(one: Outcome, other: Outcome) -> bool:
    return (one.kind, one.codes, one.error) == (other.kind, other.codes, other.error)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
