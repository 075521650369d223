"""Google's offers to a project, for the form: its zones, and the types of one zone.

A stored list is shown at once, and Google's response replaces it. The form works without either,
so a missing list is a note and not an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api import cached_offers
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.cached_offers import CloudOffer
from tpustarter.cloud.api.clock import Clock
from tpustarter.core.problem import Problem
from tpustarter.machine import tpus
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text

SHOWN = 8
"""Number of offers listed by name; the others are counted."""


@dataclass(frozen=True)
class FetchedNames:
    """A list of zones or types that Google offers, its age, and why it could not be read."""

    zone: str
    """The zone of the types; empty for the list of zones."""
    offer: CloudOffer | None
    trouble: str = ""
    """The reason why the list is missing, or is an earlier one."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that can be typed, with types in their common spelling."""
        if self.offer is None:
            return ()
        items = tuple(map(escape_text, self.offer.items))
        return tuple(dict.fromkeys(map(_short, items))) if self.zone else items


def read_stored_offers(project: str, zone: str) -> FetchedNames | None:
    """Return the stored list, or None if there is none."""
    offer = cached_offers.read_stored_offer(_key(project, zone))
    return FetchedNames(zone, offer) if offer else None


def fetch_offers(client: OfferingClient, clock: Clock, zone: str) -> FetchedNames:
    """Return a list from Google, or the stored one if the request fails.

    Args:
        client: The client of the project.
        clock: The clock that dates the list.
        zone: The zone of the types; empty for the list of zones.
    """
    try:
        offer = cached_offers.fetch_offer(
            _key(client.project, zone),
            lambda: client.types(zone) if zone else client.zones(),
            clock,
        )
    except Problem as problem:
        known = read_stored_offers(client.project, zone)
        return FetchedNames(zone, known.offer if known else None, problem.summary)
    return FetchedNames(zone, offer, offer.problem.summary if offer.problem else "")


def _key(project: str, zone: str) -> str:
    """Return the key under which the command line stores the same list."""
    kind = "accelerator-types" if zone else "locations"
    return " ".join(filter(None, (project, kind, zone)))


def _short(name: str) -> str:
    try:
        return tpus.parse_type(name).name
    except LookupError:
        return name


def describe_offers(offered: FetchedNames, typed: str, now: datetime) -> Iterator[str]:
    """Yield a sentence on the offers that begin with the typed text, and the age of the list."""
    subject = f"{escape_text(offered.zone)} offers" if offered.zone else "Zones with TPUs:"
    if offered.offer is None:
        what = f"the types of {escape_text(offered.zone)}" if offered.zone else "the zones"
        yield f"Google's list of {what} is not known here: {offered.trouble}"
        return
    yield f"{subject} {shorten_word_list(_fitting(offered.words, typed))}{_age(offered, now)}"


def describe_documented(typed: str) -> str:
    """Return a sentence on all documented types, for a zone whose list is not known."""
    types = shorten_word_list(_fitting(tpus.list_type_names(), typed))
    return f"Documented types: {types}. No zone has them all."


def _fitting(words: Sequence[str], typed: str) -> Sequence[str]:
    """Return the words that begin with the typed text; all if it is whole, or if none does."""
    fitting = [word for word in words if word.startswith(typed)]
    return words if typed in words or not fitting else fitting


def shorten_word_list(words: Sequence[str]) -> str:
    """Join words in one line; a long list is cut to its first words and a count."""
    return phrases.join_words(words, most=SHOWN) or "nothing"


def _age(offered: FetchedNames, now: datetime) -> str:
    """Return the age of a list, with the reason if there is one, or "" for a fresh list."""
    age_s = (now - offered.offer.read).total_seconds() if offered.offer else 0
    if not offered.trouble and age_s < 60:
        return ""
    why = f", because {offered.trouble}" if offered.trouble else ""
    return f" (as of {phrases.format_duration(age_s)} ago{why})"
