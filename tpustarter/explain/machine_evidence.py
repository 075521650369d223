"""Evidence from this machine that confirms a log's failures or counts against them.

It comes from the host checks that the failures name. They read files and start nothing on a device,
so they do not disturb a running job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.explain import program_python
from tpustarter.explain.failure_ranking import FailureMatch, sort_matches

if TYPE_CHECKING:
    from tpustarter.checking.machine_check import MachineCheck
    from tpustarter.checking.results.results import FindingFields
    from tpustarter.machine import host

NO_TPU = "this machine has no TPU"
_ELSEWHERE = "The rest of this list helps on a machine that has a TPU"
_WRONG = ("warn", "fail")
_OF_PYTHON = ("HOST-FRAMEWORKS-", "HOST-PYTHON-")
"""Prefixes of the codes of findings about the Python that was examined."""


@dataclass(frozen=True)
class MachineEvidence:
    """The host checks' findings on this machine."""

    findings: tuple[FindingFields, ...]
    has_tpu: bool | None
    """None if unknown, as in a report."""
    of_program: bool = True
    """True if the Python that was examined is the one that ran the program."""


@dataclass(frozen=True)
class HostChecks:
    """The host checks that can confirm a failure, for the failed program's Python."""

    check: MachineCheck
    of_program: bool

    def collect(self) -> MachineEvidence:
        """Run the planned checks to the end, and return their findings."""
        for _ in self.check.events():
            pass
        results = self.check.run.results
        facts = self.check.run.host
        has_tpu = bool(facts.get("chips") or facts.get("unknown_google_devices"))
        found = tuple(finding for result in results for finding in result.findings)
        return MachineEvidence(found, has_tpu, self.of_program)


def plan_host_checks(
    python: str,
    machine: host.Machine | None = None,
    checks: Path | None = None,
    *,
    is_tested: bool = False,
) -> HostChecks:
    """Plan the host checks; raise Problem if no Python can run them.

    Args:
        python: The Python that ran the program; empty if unknown.
        machine: The machine to examine; None for this one.
        checks: The folder of checks; None for the bundled ones.
        is_tested: True if the program ran in the Python under test, which is then examined.
    """
    # Imported here, because most logs are explained without a look at this machine.
    from tpustarter.checking.machine_check import CheckRequest, MachineCheck

    program = None if is_tested else program_python.locate_python(python)
    request = CheckRequest(ids=("host.*",), level="static", python=str(program or "") or None)
    check = MachineCheck(request, machine=machine, checks=checks)
    return HostChecks(check, of_program=is_tested or program is not None)


def can_confirm(matches: Sequence[FailureMatch]) -> bool:
    """Return whether this machine's host checks can add to the matches."""
    return any(match.failure.confirm or match.failure.without_tpu for match in matches)


def add_machine_evidence(
    matches: Sequence[FailureMatch], machine: MachineEvidence
) -> list[FailureMatch]:
    """Add this machine's evidence to the matches, and sort them again.

    A log may come from another machine. Because such logs are written on machines with a TPU, only
    a machine with a TPU can count against what the log shows.
    """
    return sort_matches([_looked_at(match, machine) for match in matches])


def _looked_at(match: FailureMatch, machine: MachineEvidence) -> FailureMatch:
    from tpustarter.checking.output.results_text import finding_line
    from tpustarter.checking.results.results import read_hint

    wanted = [code.partition(" ") for code in match.failure.confirm]
    seen = [
        (finding, word)
        for finding in machine.findings
        for code, _, word in wanted
        if finding["code"] == code and (machine.of_program or not code.startswith(_OF_PYTHON))
    ]
    for finding, word in seen:
        if _is_shown_by(finding, word):
            line = finding_line(finding)
            hint = read_hint(finding)
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
    return replace(match, confidence="possible", here=f"not so now: {finding_line(fine)}")


def _is_shown_by(finding: FindingFields, word: str) -> bool:
    from tpustarter.checking.output.results_text import finding_line

    if finding["verdict"] in _WRONG:
        return word.casefold() in finding_line(finding).casefold()
    return finding["verdict"] == "info" and bool(word) and finding["found"] == word
