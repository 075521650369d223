"""Variants of a failed run: matmul precision, the device, the number of devices, and `jit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpustarter.machine import frameworks
from tpustarter.reproducing.reproducer_file import FailureEnvironment, ReproducerFile
from tpustarter.reproducing.reproducer_run import TrialOutcome
from tpustarter.text import phrases

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Variant:
    """One change to the settings or the devices."""

    title: str
    env: Mapping[str, str]
    clause: str = ""
    """Its wording in the conclusion, after "It fails" or "it holds"."""
    why_not: str = ""
    """Why it does not apply; empty if it does."""


@dataclass(frozen=True)
class TriedVariant:
    """A variant and its outcome, which is None if it was not run."""

    variant: Variant
    outcome: TrialOutcome | None
    why_not: str = ""

    @property
    def words(self) -> str:
        """The variant's outcome in a few words, for a table cell."""
        return self.outcome.words if self.outcome else f"not run: {self.why_not}"


def list_variants(program: ReproducerFile, place: FailureEnvironment) -> list[Variant]:
    """Return a file's variants, with the reason for each that does not apply."""
    first = Variant(AS_IT_IS, {}, "as it is")
    if not program.framework:
        return [first]
    return [
        first,
        _precision(program),
        _on_cpu(program, place),
        _one_device(program, place),
        _without_jit(program),
    ]


def _precision(program: ReproducerFile) -> Variant:
    name = "JAX_DEFAULT_MATMUL_PRECISION"
    why = "" if program.framework == "jax" else "it is set in code, and by no variable"
    if name in program.sets:
        why = "the claim sets the precision itself"
    return Variant(f"{name}=highest", {name: "highest"}, "at precision highest", why)


def _on_cpu(program: ReproducerFile, place: FailureEnvironment) -> Variant:
    count = place.devices or 1
    known = frameworks.FRAMEWORKS.get(program.framework)
    env = (
        frameworks.platform_variables(program.framework, "cpu", count, {})
        if known and known.counts
        else {}
    )
    why = ""
    if place.platform == "cpu":
        why = "it ran on the CPU already"
    elif not env:
        why = "it is set in code, and by no variable"
        if known and not known.on_cpu:
            why = "this framework has no CPU devices"
    elif program.needs.get("platform", "cpu") != "cpu":
        why = f"the claim is about a {str(program.needs['platform']).upper()}"
    expected = {"EXPECTED_PLATFORM": "cpu", "EXPECTED_DEVICES": str(count)}
    return Variant("on CPU devices", {**env, **expected}, "on CPU devices", why)


def _one_device(program: ReproducerFile, place: FailureEnvironment) -> Variant:
    chip = {
        "TPU_VISIBLE_CHIPS": "0",
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
        "TPU_PROCESS_BOUNDS": "1,1,1",
    }
    known = frameworks.FRAMEWORKS.get(program.framework)
    on_cpu = dict.fromkeys(known.counts if known else (), "1")
    env = {"tpu": chip, "gpu": {"CUDA_VISIBLE_DEVICES": "0"}, "cpu": on_cpu}.get(place.platform, {})
    why = ""
    if place.devices == 1:
        why = "there was one device only"
    elif isinstance(needed := program.needs.get("devices"), int) and needed > 1:
        why = f"the claim needs {needed} devices"
    elif not env:
        why = "no variable says how many devices there are"
    title = "one chip" if place.platform == "tpu" else "one device"
    return Variant(title, {**env, "EXPECTED_DEVICES": "1"}, f"on {title}", why)


def _without_jit(program: ReproducerFile) -> Variant:
    why = "" if program.framework == "jax" else "it is set in code, and by no variable"
    return Variant("JAX_DISABLE_JIT=1", {"JAX_DISABLE_JIT": "1"}, "without jit", why)


def compare_outcomes(tried: Sequence[TriedVariant]) -> str:
    """Compare the outcomes of the variants in one sentence."""
    ran = [(one.variant.clause, one.outcome) for one in tried if one.outcome]
    if not ran:
        return "It was not run."
    first = ran[0][1]
    same = [clause for clause, outcome in ran if _alike(outcome, first)]
    holds = [clause for clause, outcome in ran if outcome.kind == "holds"]
    other = [
        f"{clause} it {outcome.words}"
        for clause, outcome in ran
        if not _alike(outcome, first) and outcome.kind != "holds"
    ]
    parts = [f"It {first.kind} {phrases.join_words(same)}"]
    if holds and first.kind != "holds":
        parts.append(f"it holds {phrases.join_words(holds)}")
    text = ", and ".join([*parts, *other])
    return f"{text}."


def _alike(one: TrialOutcome, other: TrialOutcome) -> bool:
    return (one.kind, one.codes, one.error) == (other.kind, other.codes, other.error)
