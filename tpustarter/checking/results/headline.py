"""The headline of a run, in a sentence or two: what holds and where, and what was not tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tpustarter.checking.results.results import Kind, Run, UsedDevices
from tpustarter.checking.results.verdict import find_verified_device, is_verdict_missing
from tpustarter.core.json_values import as_type
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text


@dataclass(frozen=True)
class RunSummary:
    """The counts of a run's results, and the devices and reasons named in its headline."""

    passed: int = 0
    warned: int = 0
    failed: int = 0
    undecided: int = 0
    """Claims without a verdict, except those counted in `dependent`."""
    dependent: int = 0
    """Claims not tested because a check they depend on failed."""
    devices: str = ""
    """The devices on which claims hold, as text; empty if there are none."""
    on_tpu: bool = False
    was_stopped: bool = False
    not_started: str = ""
    """The reason why no framework was started; empty if one was or could have been."""
    skipped: int = 0
    not_applicable: str = ""
    """The reason why the skipped checks do not apply."""

    @property
    def claims(self) -> int:
        """Number of claims, with or without a verdict."""
        return self.passed + self.warned + self.failed + self.undecided + self.dependent


def summarize_run(run: Run) -> RunSummary:
    """Count a run's checks by verdict, and collect the reasons named in its headline."""
    counts = run.count_statuses()
    unknown = [result for result in run.results if is_verdict_missing(result)]
    dependent = sum(result.reason == "dependency" for result in unknown)
    not_started = run.blocked.what if run.blocked else ""
    details = [result.detail for result in run.results if result.status == "skip"]
    return RunSummary(
        passed=counts["pass"],
        warned=counts["warn"],
        failed=counts["fail"],
        undecided=len(unknown) - dependent,
        dependent=dependent,
        devices=describe_devices(run),
        on_tpu=find_verified_device(run) == "tpu",
        was_stopped=run.stopped_by is not None,
        not_started=not_started,
        skipped=counts["skip"],
        not_applicable="; ".join(dict.fromkeys(one for one in details if one != not_started)),
    )


def read_summary(fields: Mapping[str, object]) -> RunSummary | None:
    """Return a summary read from a state file, or None if it is malformed."""
    is_whole = asdict(RunSummary()).keys() <= fields.keys()
    return as_type(fields, RunSummary) if is_whole else None


def describe_devices(run: Run) -> str:
    """Return a phrase for the devices on which checks passed, or "" if there are none."""
    kind = find_verified_device(run)
    device = next(
        (result.ran_on for result in run.results if result.kind == kind and result.ran_on), None
    )
    if device is None:
        return ""
    on = f" on {len(run.hosts)} hosts" if len(run.hosts) > 1 else ""
    return _name_devices(run, kind, device) + on


def _name_devices(run: Run, kind: Kind, device: UsedDevices) -> str:
    count = device.count
    if kind == "tpu":
        where = run.target.get("where", "")
        counts = {
            result.ran_on.count for result in run.results if result.kind == kind and result.ran_on
        }
        count = min(counts)
        if counts != {run.target.get("planned", run.target.get("devices"))} or not run.host.get(
            "chips"
        ):
            where = f"{count} devices of {device.kind}"
        return where
    if kind in ("cpu", "virtual-cpu"):
        noun = "virtual CPU device" if kind == "virtual-cpu" else "CPU device"
        return phrases.format_count(count, noun)
    return f"{device.kind}" + (f", {count} devices" if count > 1 else "")


def format_headline(run: Run) -> str:
    """Return a run's headline: one or two sentences whose numbers add up."""
    return format_run_summary(summarize_run(run))


def format_run_summary(
    summary: RunSummary, named: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return a summary as one or two sentences whose numbers add up.

    Args:
        summary: The summary of a run.
        named: Ids of checks to list after their count, by status: `fail` or `warn`.
    """
    total = summary.claims
    if not total:
        text = explain_no_claim(summary)
        return text[0].upper() + text[1:] + format_closing(summary)
    on = f" on {escape_text(summary.devices)}" if summary.devices else ""
    if total == 1:
        return _format_single_claim(summary, on) + format_closing(summary)
    names = {status: f" ({', '.join(ids)})" for status, ids in (named or {}).items() if ids}
    text = f"{summary.passed} of {total} claims hold{on}"
    if summary.failed:
        text += f", {phrases.format_count(summary.failed, 'does', 'do')} not{names.get('fail', '')}"
    if summary.warned:
        verb = phrases.format_count(summary.warned, "has a warning", "have warnings")
        text += f", {verb}{names.get('warn', '')}"
    if summary.undecided:
        text += f", {phrases.format_count(summary.undecided, 'has', 'have')} no verdict"
    if summary.dependent:
        text += f", {summary.dependent} blocked by that"
    return text + format_closing(summary)


def _format_single_claim(summary: RunSummary, on: str) -> str:
    if summary.passed:
        return f"The claim holds{on}"
    if summary.warned:
        return f"The claim has a warning{on}"
    if summary.failed:
        return f"The claim does not hold{on}"
    if summary.dependent:
        return "The claim was not tested, as what it depends on failed"
    return "The claim has no verdict"


def explain_no_claim(summary: RunSummary) -> str:
    """Return the reason why a run has no claim to report, as part of a sentence."""
    if not summary.not_applicable:
        return "nothing was checked"
    count = summary.skipped
    which = phrases.choose_plural(count, "this check does", f"these {count} checks do")
    return f"nothing to check here: {which} not apply ({escape_text(summary.not_applicable)})"


def format_closing(summary: RunSummary) -> str:
    """Return the end of a headline: a stop, frameworks not started, and devices not tested."""
    text = ", stopped before the end." if summary.was_stopped else "."
    if summary.not_started:
        text += f" No framework was started: {escape_text(summary.not_started)}."
    if not summary.on_tpu:
        text += " No TPU was tested." if summary.devices else " No device was tested."
    return text
