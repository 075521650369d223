"""The assessment at the top of a report: stale versions, known failures, the tracker, and hangs.

It reads only facts that a report contains, so a bundle from another machine can be assessed again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tpustarter.machine.frameworks import is_too_old
from tpustarter.report.forms import issue_trackers
from tpustarter.report.forms.issue_trackers import IssueTracker
from tpustarter.report.report_document import (
    FrameworkFacts,
    FrameworkHang,
    KnownFailureRow,
    KnownMatch,
    ReportFacts,
    ReportSection,
    ReportTriage,
    StalePackage,
    UnansweredSection,
)

NAMED_BY_USER = "you named it with `--for`"
"""The reason given for a tracker that the user chose."""


def triage_facts(
    facts: ReportFacts, unanswered: Sequence[ReportSection], wanted: str | None
) -> ReportTriage:
    """Assess a report from the facts in its sections.

    Args:
        facts: The facts of all sections.
        unanswered: Sections whose collector returned no facts.
        wanted: The tracker that the user named; None for the best match.
    """
    tracker, why = _choose_tracker(facts, wanted)
    return ReportTriage(
        stale=_list_stale_packages(facts.python.packages, facts.python.python_version),
        known=_list_known_failures(facts.known.matches),
        tracker=tracker.id,
        file_at=tracker.file_at,
        search_at=tracker.search_at,
        why_there=why,
        hung=_list_hangs(facts, {one.name for one in unanswered}),
        unanswered=list_unanswered_sections(unanswered),
    )


def list_unanswered_sections(sections: Iterable[ReportSection]) -> list[UnansweredSection]:
    """Return a row for each section whose collector returned no facts."""
    return [UnansweredSection(one.name, one.why, one.seconds) for one in sections]


def _list_stale_packages(packages: Mapping[str, str], python: str) -> list[StalePackage]:
    minor = ".".join(python.split(".")[:2])
    found: list[StalePackage] = []
    for name, version in packages.items():
        newest = issue_trackers.NEWEST_FOR.get((name, minor)) or issue_trackers.NEWEST.get(name)
        pinned = issue_trackers.PINNED.get(name) in packages
        if newest and not pinned and is_too_old(name, version, newest):
            found.append(StalePackage(name, version, newest))
    return found


def _list_known_failures(matches: Sequence[KnownFailureRow]) -> list[KnownMatch]:
    causes = [one for one in matches if one.role != "notice" and not one.explained_by]
    order = ("confirmed", "likely", "possible")
    unique: dict[str, KnownFailureRow] = {}
    for one in sorted(causes, key=lambda one: order.index(one.confidence)):
        unique.setdefault(one.id, one)
    kept = [*unique.values()][:3]
    return [msgspec.convert(one, KnownMatch, from_attributes=True) for one in kept]


def _list_hangs(facts: ReportFacts, unanswered: Collection[str]) -> list[FrameworkHang]:
    return [
        FrameworkHang(name, one.hung_in, one.waited_s, _explain_hang(one, facts, unanswered))
        for name, one in facts.frameworks.items()
        if one.hung_in
    ]


def _explain_hang(
    one: FrameworkFacts, facts: ReportFacts, unanswered: Collection[str]
) -> str | None:
    if "Metadata" in one.native_stack:
        return "its native stack shows that libtpu waits for the metadata server"
    if facts.tpu.chips and "metadata" in unanswered:
        return "the metadata server gives no answer, and libtpu asks it while it starts"
    if facts.metadata.waits_for_other_hosts:
        return "this is one of several hosts, and each waits for the others"
    return None


def _choose_tracker(facts: ReportFacts, wanted: str | None) -> tuple[IssueTracker, str]:
    if wanted:
        return issue_trackers.find_tracker(wanted), NAMED_BY_USER
    fails = [one.code for one in facts.checks.findings if one.verdict == "fail"]
    if facts.tpu.chips and re.search(r"HOST-(CHIPS|NODES?|METADATA)", " ".join(fails)):
        return issue_trackers.find_tracker("cloud-tpu"), (
            "host checks fail on this TPU VM before a framework is involved, and the VM is Google's"
        )
    tracker = issue_trackers.choose_tracker(list(facts.python.packages))
    if not facts.python.packages:
        return tracker, "no framework is installed in this Python, so this is a guess"
    hangs = any(one.hung_in for one in facts.frameworks.values())
    if hangs and facts.tpu.chips and tracker.id == "jax":
        return tracker, (
            "it hangs while libtpu starts, and JAX's maintainers take reports of libtpu; where a "
            "new TPU VM hangs too, Cloud TPU support can look at the host (`--for cloud-tpu`)"
        )
    return tracker, f"{tracker.title} is what is installed in this Python"
