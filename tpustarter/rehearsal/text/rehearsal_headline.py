"""A rehearsal's headline, in a sentence or two: how much compiles, and on which TPUs it fits."""

from __future__ import annotations

from collections.abc import Sequence

from tpustarter.machine import tpus
from tpustarter.machine.generations import GENERATIONS
from tpustarter.rehearsal.result_fields import ResultFields, fits_memory
from tpustarter.text import phrases

WORDS = {"compiles": "ok", "does-not-fit": "too big", "refused": "refused", "error": "ERROR"}
"""The word for each status."""
NOT_RUN = "Nothing was run: this is a rehearsal, no TPU was tested."
MOST_NAMED = 3
"""Most TPUs that the headline names; the table above it has all of them."""


def format_headline(
    results: Sequence[ResultFields],
    *,
    own: bool = False,
    script: bool = False,
    stopped_of: int | None = None,
) -> str:
    """Return the headline in a sentence or two.

    Args:
        results: The compiler's answers.
        own: True for the user's own program, False for checks.
        script: True if a script of the user was run.
        stopped_of: Number of tasks of a rehearsal that was stopped; None if it was not.
    """
    if not results:
        return "Nothing was compiled."
    compiled = [result for result in results if result["status"] == "compiles"]
    programs = len({format_label(result) for result in results})
    text = _counted(results, len(compiled), own=own, stopped_of=stopped_of)
    if own and programs == 1:
        fits = [result["tpu"] for result in compiled if fits_memory(result)]
        over = [result["tpu"] for result in compiled if not fits_memory(result)]
        small = [result["tpu"] for result in results if result["status"] == "does-not-fit"]
        subject = (
            "one device"
            if all(result.get("devices", 1) == 1 for result in compiled)
            else "each device"
        )
        text += f": {subject} of {_format_tpus(fits)} holds it" if fits else ""
        text += f"{';' if fits else ':'} too big for {', '.join(small)}" if small else ""
        if over:
            text += f"{';' if fits or small else ':'} the compiler takes it for {', '.join(over)},"
            text += " but counts more memory than a device has, so don't rely on it"
    unknown = sum(result["status"] == "error" for result in results)
    text += f", {unknown} without an answer" if unknown else ""
    text += "; stopped before the end" if stopped_of is not None else ""
    ran = "Your script ran on CPU devices, and nothing on a TPU: this is a rehearsal, no TPU was "
    ran += "tested."
    return f"{text}. {ran if script else NOT_RUN}"


def _counted(
    results: Sequence[ResultFields], compiled: int, *, own: bool, stopped_of: int | None
) -> str:
    if stopped_of is None or own:
        return f"{compiled} of {max(len(results), stopped_of or 0)} compile"
    # The number of programs in the other checks is unknown.
    done = len({(result["check"], result["tpu"]) for result in results})
    failed = len(results) - compiled
    others = f" and {phrases.format_count(failed, 'does', 'do')} not" if failed else ""
    compile_ = phrases.format_count(compiled, "program compiles", "programs compile")
    far = f", in {done} of {max(done, stopped_of)} checks" if stopped_of > 1 else ""
    return f"{compile_}{others}{far}"


def format_label(result: ResultFields) -> str:
    """Return a program's displayed name: the name of its check, then its own."""
    check = result["check"]
    return f"{check.partition('.')[2]}: {result['program']}" if check else result["program"]


def find_larger_tpu(needed_bytes: float, devices: int) -> tpus.Topology | None:
    """Return the smallest TPU with enough devices and enough bytes per device, or None.

    TPUs that the app offers are tried first, and then all slices.
    """
    names = (name for row in GENERATIONS if row.counts for name in tpus.list_rehearsable_types(row))
    for known in (tpus.TOPOLOGIES, map(tpus.find_topology, names)):
        enough = [one for one in known if one.hbm_bytes >= needed_bytes and one.devices >= devices]
        if enough:
            return min(enough, key=lambda one: (one.devices, one.hbm_gib_per_device))
    return None


def _format_tpus(names: Sequence[str]) -> str:
    *first, last = names
    if len(names) > MOST_NAMED:
        return f"each of {len(names)} TPUs"
    return f"{', '.join(first)} or {last}" if first else last
