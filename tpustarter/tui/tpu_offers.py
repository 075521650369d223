"""What Google offers a project, for the form: its zones, and the types of one zone.

What was kept is shown at once, and what Google says takes its place. Neither is needed to fill in
the form, so a list that nobody has is a note and no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud import offers
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock, format_age
from tpustarter.cloud.offers import Offer
from tpustarter.machine import tpus
from tpustarter.problem import Problem
from tpustarter.terminal import visible

SHOWN = 8
"""Offers that are named; the others are counted."""


@dataclass(frozen=True)
class Offered:
    """One list of Google's."""

    zone: str
    """Whose types they are; empty for the list of zones."""
    offer: Offer | None
    trouble: str = ""
    """Why there is no list, or why it is not from now."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return what can be typed: types are written as people write them."""
        if self.offer is None:
            return ()
        items = tuple(map(visible, self.offer.items))
        return tuple(dict.fromkeys(map(_short, items))) if self.zone else items


def kept(project: str, zone: str) -> Offered | None:
    """Return the list that was read last; null where there is none."""
    offer = offers.kept(_key(project, zone))
    return Offered(zone, offer) if offer else None


def ask(client: Client, clock: Clock, zone: str) -> Offered:
    """Return a list of Google's as it is now; where nobody answers, the one that was kept.

    Args:
        client: Of the project.
        clock: Says when that was.
        zone: Whose types are wanted; empty for the zones.
    """
    try:
        offer = offers.ask(
            _key(client.project, zone),
            lambda: client.types(zone) if zone else client.zones(),
            clock,
        )
    except Problem as problem:
        known = kept(client.project, zone)
        return Offered(zone, known.offer if known else None, _first_line(problem))
    return Offered(zone, offer, _first_line(offer.problem) if offer.problem else "")


def _first_line(problem: Problem) -> str:
    return visible(problem.what.partition("\n")[0])


def _key(project: str, zone: str) -> str:
    """Return the key under which the command line keeps the same list."""
    kind = "accelerator-types" if zone else "locations"
    return " ".join(filter(None, (project, kind, zone)))


def _short(name: str) -> str:
    try:
        return tpus.parse_type(name).name
    except LookupError:
        return name


def describe(offered: Offered, typed: str, now: datetime) -> Iterator[str]:
    """Yield what is offered that begins as it is typed, and how old the list is."""
    subject = f"{visible(offered.zone)} offers" if offered.zone else "Zones with TPUs:"
    if offered.offer is None:
        what = f"the types of {visible(offered.zone)}" if offered.zone else "the zones"
        yield f"Google's list of {what} is not known here: {offered.trouble}"
        return
    yield f"{subject} {listed(_fitting(offered.words, typed))}{_age(offered, now)}"


def describe_documented(typed: str) -> str:
    """Return which types there are at all, as long as no list of Google's is known."""
    return f"Documented types: {listed(_fitting(tpus.type_names(), typed))}. No zone has them all."


def _fitting(words: Sequence[str], typed: str) -> Sequence[str]:
    """Return the words that begin as it is typed; all where one is typed already, or none fits."""
    fitting = [word for word in words if word.startswith(typed)]
    return words if typed in words or not fitting else fitting


def listed(words: Sequence[str]) -> str:
    """Return words in one line; of many the first, and how many there are besides."""
    if not words:
        return "nothing"
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _age(offered: Offered, now: datetime) -> str:
    """Return how old a list is that is not from now."""
    age_s = (now - offered.offer.read).total_seconds() if offered.offer else 0
    if not offered.trouble and age_s < 60:
        return ""
    why = f", because {offered.trouble}" if offered.trouble else ""
    return f" (as of {format_age(age_s)} ago{why})"
