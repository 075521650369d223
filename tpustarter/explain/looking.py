"""Looks at this machine: what a log suggests is confirmed, or it falls back.

It runs the host checks that stand behind what can be confirmed. They read files and start nothing
on a device, so a job that is running is not disturbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tpustarter.checking.selfcheck import Request, SelfCheck
from tpustarter.checking.text import finding_line
from tpustarter.explain.ranking import Match, in_order
from tpustarter.machine import host

NO_TPU = "this machine has no TPU"
_ELSEWHERE = "The rest of this list helps on a machine that has a TPU"
_WRONG = ("warn", "fail")


@dataclass(frozen=True)
class Machine:
    """What the host checks found on this machine."""

    findings: tuple[Mapping[str, Any], ...]
    has_tpu: bool | None
    """Null where that is not known, as from a report."""


def look() -> Machine:
    """Run the host checks on this machine; raises Problem where no Python can run them."""
    return seen(host_checks())


def host_checks(machine: host.Machine | None = None, checks: Path | None = None) -> SelfCheck:
    """Return the host checks, to be run by `seen`; raises Problem where no Python can run them."""
    return SelfCheck(Request(ids=("host.*",), level="static"), machine=machine, checks=checks)


def seen(check: SelfCheck) -> Machine:
    """Run the host checks to their end, and return what they found."""
    for _ in check.events():
        pass
    found = tuple(finding for result in check.run.results for finding in result.findings)
    facts = check.run.host
    return Machine(found, bool(facts.get("chips") or facts.get("unknown_google_devices")))


def can_confirm(matches: Sequence[Match]) -> bool:
    """Return whether there is anything to look at."""
    return any(match.failure.confirm or match.failure.without_tpu for match in matches)


def confirmed(matches: Sequence[Match], machine: Machine) -> list[Match]:
    """Return the matches with what this machine shows of each, in their order by then.

    A log may come from another machine. So only one with a TPU, which is where such a log is made,
    can speak against what the log says.
    """
    return in_order([_looked_at(match, machine) for match in matches])


def _looked_at(match: Match, machine: Machine) -> Match:
    wanted = [code.partition(" ") for code in match.failure.confirm]
    seen = [
        (finding, word)
        for finding in machine.findings
        for code, _, word in wanted
        if finding["code"] == code
    ]
    for finding, word in seen:
        if _is_shown_by(finding, word):
            line = finding_line(dict(finding))
            hint = str(finding["hint"] or "")
            return replace(match, confidence="confirmed", here=line, hint=hint)
    if machine.has_tpu is False and match.failure.without_tpu:
        hint = f"if the program ran here, {match.failure.without_tpu}. {_ELSEWHERE}"
        return replace(match, here=NO_TPU, hint=hint)
    if machine.has_tpu is False and any("PID" in sign.values for sign in match.signs):
        return replace(match, here=f"{NO_TPU}, so the process belongs to another machine")
    if not seen or not machine.has_tpu:
        return match
    fine = next((finding for finding, word in seen if not word), None)
    if fine is None:
        return match
    return replace(match, confidence="possible", here=f"not so now: {finding_line(dict(fine))}")


def _is_shown_by(finding: Mapping[str, Any], word: str) -> bool:
    """Return whether a finding shows a failure: what is wrong, or a fact that its row asks for."""
    if finding["verdict"] in _WRONG:
        return word.casefold() in finding_line(dict(finding)).casefold()
    return finding["verdict"] == "info" and bool(word) and finding["found"] == word
