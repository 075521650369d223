"""Fetch the zones, types and versions that Google offers, and store them with a timestamp.

A stored list is used only if Google cannot be reached, and is then shown with its date. A
generation's documented zones are no substitute, because a project's grants decide which zones it
sees.
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
"""Lock for the file, because several lists may arrive at once and all are stored in one file."""


@dataclass(frozen=True)
class CloudOffer:
    """Zones, types or versions that Google offers, and the time they were read."""

    items: tuple[str, ...]
    read: datetime
    problem: CloudProblem | None = None
    """The reason for using a stored list; None for a list that was just read."""


class _StoredOffer(msgspec.Struct):
    items: tuple[str, ...]
    read: datetime


def fetch_offer(key: str, read: Callable[[], list[str]], clock: Clock) -> CloudOffer:
    """Return zones, types or versions from Google, or the stored list if Google cannot be reached.

    Args:
        key: The list's name, such as `my-project zones`.
        read: Fetches the list from Google.
        clock: Provides the time at which the list was read.

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
        with contextlib.suppress(Problem):  # a full disk does not invalidate Google's answer
            state.save_state(STATE, rows)
    return offer


def read_stored_offer(key: str) -> CloudOffer | None:
    """Return the stored list of TPU offers, or None if it is missing or unusable."""
    try:
        offer = msgspec.convert(state.load_state(STATE).get(key), _StoredOffer)
    except msgspec.ValidationError:
        return None
    return CloudOffer(offer.items, offer.read) if offer.read.tzinfo else None
