"""Google's offers: zones, types and versions, read live and stored with their date.

A stored list is used only where Google cannot be reached, and then with its date. A generation's
documented zones are no substitute, because a project's grants decide which zones it sees.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.core import state
from tpustarter.core.problem import Problem

STATE = "tpu-offers"
_WRITING = threading.Lock()
"""Lock for the file: several lists may arrive at the same time, and all are in one file."""


@dataclass(frozen=True)
class CloudOffer:
    """Zones, types or versions that Google offers, with the time at which they were read."""

    items: tuple[str, ...]
    read: datetime
    problem: CloudProblem | None = None
    """The reason why the list is a stored one; None for a list that was just read."""


class _StoredOffer(msgspec.Struct):
    items: tuple[str, ...]
    read: datetime


def fetch_offer(key: str, read: Callable[[], list[str]], clock: Clock) -> CloudOffer:
    """Return zones, types or versions from Google; the stored list if Google cannot be reached.

    Args:
        key: The name of the list, such as `my-project zones`.
        read: Asks Google.
        clock: Gives the time of the answer.

    Raises:
        CloudProblem: Google refused, or cannot be reached and nothing is stored.
    """
    try:
        items = tuple(read())
    except CloudProblem as problem:
        known = read_stored_offer(key)
        if problem.kind != "network" or known is None:
            raise
        return CloudOffer(known.items, known.read, problem)
    offer = CloudOffer(items, clock.now())
    with _WRITING:
        rows = {
            **state.load_state(STATE),
            key: {"items": list(items), "read": offer.read.isoformat()},
        }
        with contextlib.suppress(Problem):  # Google's answer counts on a full disk too
            state.save_state(STATE, rows)
    return offer


def read_stored_offer(key: str) -> CloudOffer | None:
    """Return the stored list of TPU offers, or None if it is missing or unusable."""
    try:
        offer = msgspec.convert(state.load_state(STATE).get(key), _StoredOffer)
    except msgspec.ValidationError:
        return None
    return CloudOffer(offer.items, offer.read) if offer.read.tzinfo else None
