"""Makes a report: runs the collectors in order, and cleans and assesses their facts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import msgspec
from msgspec.structs import replace

from tpustarter.core.json_values import is_object
from tpustarter.report import reproducers, triage
from tpustarter.report.clean.allowed_fields import OmittedFact
from tpustarter.report.clean.cleaner import Cleaner, UncleanText
from tpustarter.report.clean.pseudonyms import KINDS, Pseudonyms
from tpustarter.report.collect import (
    check_runs,
    collector,
    frameworks,
    machine_sections,
    private_names,
    software,
)
from tpustarter.report.collect import known_failures as reported_failures
from tpustarter.report.collect.collector import Collector, ReportContext
from tpustarter.report.report_document import ReportDocument, ReportSection, read_facts
from tpustarter.version import __version__

SCHEMA = "tpustarter.bug-report/1"
"""Name of the document; its schema is `schema.json`."""
STATIC = (*software.COLLECTORS, *machine_sections.COLLECTORS, *check_runs.COLLECTORS)
"""The collectors that work regardless of the device, in this order."""


@dataclass(frozen=True)
class BugReport:
    """A report without the names of this machine, and the pseudonyms that replace them."""

    document: dict[str, object]
    """The content of `report.json`."""
    names: Pseudonyms
    """The only link back to the names; it stays on this machine."""


def make_report(
    context: ReportContext,
    *,
    tracker: str | None = None,
    query_frameworks: bool = True,
    reproducer_ids: Sequence[str] | None = (),
    only: Iterable[str] | None = None,
) -> BugReport:
    """Make a report on this machine.

    Args:
        context: The machine and the options.
        tracker: The tracker that the user named.
        query_frameworks: True to query frameworks too, in processes of their own.
        reproducer_ids: Ids of the checks and blocks to make reproducers for; empty for the newest
            failures, None for no reproducers.
        only: Names of the collectors to run; None for all.
    """
    began, started = time.monotonic(), datetime.now(timezone.utc)
    names = Pseudonyms(check_runs.read_saved_pseudonyms())
    private_names.add_names_of_machine(names, context.machine)
    cleaner = Cleaner(context.machine.env, names)
    sections: list[ReportSection] = []
    left_out: list[OmittedFact] = []
    for one in _list_collectors(context, reproducer_ids, query_frameworks=query_frameworks):
        if only is not None and one.name not in only:
            continue
        section, without = collector.run_collector(one, context, cleaner)
        sections.append(section)
        left_out += without
    sections, unclean = _omit_unclean(sections, cleaner)
    left_out += unclean
    unanswered = [one for one in sections if one.state != "answered"]
    document = ReportDocument(
        schema=SCHEMA,
        tool={"version": __version__},
        made=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 1),
        first=triage.triage_facts(read_facts(sections), unanswered, tracker),
        sections=sections,
        replacements={kind: names.counts[kind] for kind in KINDS} | {"secret": cleaner.secrets},
        left_out=[{"what": one.what, "why": one.why} for one in left_out],
    )
    return BugReport(msgspec.to_builtins(document), names)


def _list_collectors(
    context: ReportContext, reproducer_ids: Sequence[str] | None, *, query_frameworks: bool
) -> Iterable[Collector]:
    """Yield the collectors lazily, because the first ones find out which frameworks there are."""
    yield from STATIC
    if query_frameworks:
        if context.shared.packages is None and context.interpreter:
            prefix = context.interpreter.path.parent.parent
            context.shared.packages = software.read_packages(prefix, context.machine.env)
        for name in frameworks.list_frameworks(context):
            context.progress(
                f"asking {frameworks.TITLES[name]} in a process of its own, for up to "
                f"{context.wait_s:g} s"
            )
            yield frameworks.make_framework_collector(name, context.wait_s)
    if reproducer_ids is not None:
        yield reproducers.make_reproducer_collector(
            reproducer_ids, "" if query_frameworks else "no framework was to be started"
        )
    yield from reported_failures.COLLECTORS


def _omit_unclean(
    sections: Iterable[ReportSection], cleaner: Cleaner
) -> tuple[list[ReportSection], list[OmittedFact]]:
    """Leave out sections whose text is unclean now that all names are known."""
    kept: list[ReportSection] = []
    left_out: list[OmittedFact] = []
    for one in sections:
        why = _find_unclean([one.facts, one.why], cleaner)
        if why:
            left_out.append(OmittedFact(one.name, why))
        kept.append(replace(one, state="left out", facts={}, why=why) if why else one)
    return kept, left_out


def _find_unclean(value: object, cleaner: Cleaner) -> str:
    try:
        for text in list_texts(value):
            cleaner.require_clean(text)
    except UncleanText as error:
        return str(error)
    return ""


def list_texts(value: object) -> Iterable[str]:
    """Yield every text in a value, except the keys of its mappings."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for item in value.values():
            yield from list_texts(item)
    elif isinstance(value, list | tuple):
        items: list[object] = [*value]
        for item in items:
            yield from list_texts(item)
