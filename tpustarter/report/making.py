"""Makes a report: asks everything in order, cleans it, and judges what it says first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from tpustarter.report import (
    asking,
    collecting,
    hardware,
    identity,
    judging,
    known,
    reproducers,
    runs,
    software,
)
from tpustarter.report.cleaning import Cleaner, Unclean
from tpustarter.report.collecting import Collector, Context, Section
from tpustarter.report.pseudonyms import KINDS, Pseudonyms
from tpustarter.report.shapes import LeftOut
from tpustarter.version import __version__

SCHEMA = "tpustarter.bug-report/1"
"""Name of the document; `schema.json` is its shape."""
STATIC = (*software.COLLECTORS, *hardware.COLLECTORS, *runs.COLLECTORS)
"""What can be asked whatever the device does, in this order."""


@dataclass(frozen=True)
class Report:
    """A report, fit to be told."""

    document: dict[str, Any]
    """As `report.json` has it."""
    names: Pseudonyms
    """What leads back to the names; it stays on this machine."""


def make(
    context: Context,
    *,
    wanted: str | None = None,
    asks: bool = True,
    reproduces: Sequence[str] | None = (),
    only: Iterable[str] | None = None,
) -> Report:
    """Return the report on this machine.

    Args:
        context: Where to look.
        wanted: The tracker that the user named.
        asks: Whether frameworks are asked too, in processes of their own.
        reproduces: Ids of the checks and blocks of which files are made; empty for the newest
            that failed, null for none.
        only: Names of the collectors that are used; null for all.
    """
    began, started = time.monotonic(), datetime.now(timezone.utc)
    names = Pseudonyms(runs.remembered_names())
    identity.learn(names, context.machine)
    cleaner = Cleaner(context.machine.env, names)
    sections: list[Section] = []
    left_out: list[LeftOut] = []
    for one in _collectors(context, reproduces, asks=asks):
        if only is not None and one.name not in only:
            continue
        section, without = collecting.run(one, context, cleaner)
        sections.append(section)
        left_out += without
    sections, unproved = _proved(sections, cleaner)
    left_out += unproved
    facts = {one.name: one.facts for one in sections}
    unanswered = [fields(one) for one in sections if one.state != "answered"]
    document = {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "made": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 1),
        "first": judging.first(facts, unanswered, wanted),
        "sections": [fields(one) for one in sections],
        "replacements": {kind: names.counts[kind] for kind in KINDS} | {"secret": cleaner.secrets},
        "left_out": [{"what": one.what, "why": one.why} for one in left_out],
        "exit_code": 0,
    }
    return Report(document, names)


def _collectors(
    context: Context, reproduces: Sequence[str] | None, *, asks: bool
) -> Iterable[Collector]:
    """Yield the collectors; what is installed is known once the first of them have answered."""
    yield from STATIC
    if asks:
        if "packages" not in context.found and context.interpreter:
            prefix = context.interpreter.path.parent.parent
            context.found["packages"] = software.packages(prefix, context.machine.env)
        for name in asking.frameworks(context):
            context.progress(
                f"asking {asking.TITLES[name]} in a process of its own, for up to "
                f"{context.wait_s:g} s"
            )
            yield asking.collector(name, context.wait_s)
    if reproduces is not None:
        yield reproducers.collector(reproduces, "" if asks else "no framework was to be started")
    yield from known.COLLECTORS


def _proved(sections: Iterable[Section], cleaner: Cleaner) -> tuple[list[Section], list[LeftOut]]:
    """Return the sections of which every text is proved once more, now that all names are known."""
    kept: list[Section] = []
    left_out: list[LeftOut] = []
    for one in sections:
        why = _unproved([one.facts, one.why], cleaner)
        if why:
            left_out.append(LeftOut(one.name, why))
            kept.append(Section(one.name, one.title, "left out", {}, one.seconds, why))
        else:
            kept.append(one)
    return kept, left_out


def _unproved(value: Any, cleaner: Cleaner) -> str:
    """Return why a value may not be told after all; empty where it may."""
    try:
        for text in texts(value):
            cleaner.proved(text)
    except Unclean as error:
        return str(error)
    return ""


def texts(value: Any) -> Iterable[str]:
    """Yield every text in a value, the keys of its mappings left aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]  plain JSON
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]  plain JSON
            yield from texts(item)


def fields(one: Section) -> dict[str, Any]:
    """Return a section as the document has it."""
    return {
        "name": one.name,
        "title": one.title,
        "state": one.state,
        "why": one.why or None,
        "seconds": one.seconds,
        "facts": one.facts,
    }
