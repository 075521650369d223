"""The truth about a run in a sentence or two: what holds and where, and what was not tested."""

from __future__ import annotations

from tpustarter.checking.results import Run
from tpustarter.checking.verdict import verified_on, without_verdict
from tpustarter.terminal import visible


def place(run: Run) -> str:
    """Return the devices on which claims were shown to hold, in words; empty for none."""
    kind = verified_on(run)
    device = next(
        (result.ran_on for result in run.results if result.kind == kind and result.ran_on), None
    )
    if device is None:
        return ""
    count = device["count"]
    if kind == "tpu":
        where = str(run.target["where"])
        counts = {
            result.ran_on["count"]
            for result in run.results
            if result.kind == kind and result.ran_on
        }
        count = min(counts)
        if counts != {run.target.get("planned", run.target["devices"])} or not run.host.get(
            "chips"
        ):
            where = f"{count} devices of {device['kind']}"
        return where
    if kind in ("cpu", "virtual-cpu"):
        noun = "virtual CPU device" if kind == "virtual-cpu" else "CPU device"
        return f"{count} {noun}" + ("s" if count != 1 else "")
    return f"{device['kind']}" + (f", {count} devices" if count > 1 else "")


def headline(run: Run) -> str:
    """Return the whole truth in one or two sentences, whose numbers add up."""
    counts = run.counts()
    passed, warned = counts["pass"], counts["warn"]
    unknown = [result for result in run.results if without_verdict(result)]
    dependent = [result for result in unknown if result.reason == "dependency"]
    total = passed + warned + counts["fail"] + len(unknown)
    where = place(run)
    if not total:
        sentence = nothing(run)
        return sentence[0].upper() + sentence[1:] + closing(run, where)
    on = f" on {visible(where)}" if where else ""
    if total == 1:
        return _of_one(run, on, is_blocked=bool(dependent)) + closing(run, where)
    text = f"{passed} of {total} claims hold{on}"
    if counts["fail"]:
        text += f", {counts['fail']} {'does' if counts['fail'] == 1 else 'do'} not"
    if warned:
        text += f", {warned} {'has a warning' if warned == 1 else 'have warnings'}"
    independent = len(unknown) - len(dependent)
    if independent:
        text += f", {independent} {'has' if independent == 1 else 'have'} no verdict"
    if dependent:
        text += f", {len(dependent)} blocked by that"
    return text + closing(run, where)


def _of_one(run: Run, on: str, *, is_blocked: bool) -> str:
    """Return what became of the only claim."""
    counts = run.counts()
    if counts["pass"]:
        return f"The claim holds{on}"
    if counts["warn"]:
        return f"The claim has a warning{on}"
    if counts["fail"]:
        return f"The claim does not hold{on}"
    if is_blocked:
        return "The claim was not tested, as what it depends on failed"
    return "The claim has no verdict"


def nothing(run: Run) -> str:
    """Return why a run has no claim to tell of, as part of a sentence."""
    skipped = [result for result in run.results if result.status == "skip"]
    blocked = run.blocked.what if run.blocked else None
    why = "; ".join(
        dict.fromkeys(visible(result.detail) for result in skipped if result.detail != blocked)
    )
    if not why:
        return "nothing was checked"
    which = "this check does" if len(skipped) == 1 else f"these {len(skipped)} checks do"
    return f"nothing to check here: {which} not apply ({why})"


def closing(run: Run, where: str) -> str:
    """Return how a headline ends: what stopped the run, and what was not tested."""
    text = "." if run.stopped_by is None else ", stopped before the end."
    if run.blocked:
        text += f" No framework was started: {visible(run.blocked.what)}."
    if verified_on(run) != "tpu":
        text += " No TPU was tested." if where else " No device was tested."
    return text
