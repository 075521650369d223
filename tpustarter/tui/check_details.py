"""What was found by one check, as the app shows it."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from tpustarter.checking import bars, causes, text
from tpustarter.checking.results import Result
from tpustarter.content import Check
from tpustarter.invocation import as_typed
from tpustarter.terminal import visible
from tpustarter.tui import painted
from tpustarter.tui.lines import Hanging, Lines, prose, word


def details(result: Result, source: str = "") -> Iterator[Lines | Content]:
    """Yield the claim, named as one unless it holds, each finding, and where the check ran.

    Args:
        result: What the check came to.
        source: The page that documents the claim, where it is known.
    """
    title = result.title if result.status == "pass" else f"Claim: {result.title}"
    yield Content.styled(visible(title), "bold")
    if result.status not in ("pass", "warn", "fail"):
        yield prose(text.summary(result))
    if result.cause:
        yield prose(f"This is {causes.sentence(result.cause)}.")
    for finding in result.findings:
        status = {"ok": "pass", "info": "", "warn": "warn", "fail": "fail"}
        verdict = str(finding["verdict"])
        label = word(status.get(verdict, ""), visible(verdict), 6)
        yield Hanging(label, prose(text.finding_line(finding)))
        if filled := bars.of_peak(finding):
            yield Content("      ") + painted.bar(filled)
        if finding["hint"] and verdict != "ok":  # nothing is to be done about what holds
            yield Hanging("      ", prose(as_typed(str(finding["hint"]))))
    if result.status == "error" or (result.status in ("fail", "warn") and not _has_hint(result)):
        yield Hanging("do    ", prose(text.next_step(result)))
    if result.lesson:
        yield Hanging("read  ", f"{visible(result.lesson)} (o)")
    if source:
        yield Hanging("page  ", visible(source))
    if result.ran_on:
        devices = result.ran_on
        virtual = "virtual " if devices.get("virtual") else ""
        where = visible(f"{devices.get('count')} x {virtual}{devices.get('kind')}")
        yield Hanging("on    ", Content.styled(where, "$muted"))


def of_claim(check: Check) -> Iterator[Lines | Content]:
    """Yield what a check that has no result yet claims, where that is documented and explained."""
    yield Content.styled(visible(f"Claim: {check.title}"), "bold")
    if check.lesson:
        yield Hanging("read  ", f"{visible(check.lesson)} (o)")
    yield Hanging("page  ", visible(check.source))


def _has_hint(result: Result) -> bool:
    """Return whether what to do already stands below a finding."""
    return any(
        finding["hint"] and finding["verdict"] in ("fail", "warn") for finding in result.findings
    )
