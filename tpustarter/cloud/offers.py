"""What Google offers: zones, types and versions, asked live and kept with their date.

What was kept is shown only where Google cannot be asked, and then with its date. A generation's
documented zones are no substitute: what a project sees depends on its grants.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tpustarter import state
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.failures import CloudProblem
from tpustarter.problem import Problem

STATE = "tpu-offers"
_WRITING = threading.Lock()
"""Several lists may arrive at the same time, and all of them are in one file."""


@dataclass(frozen=True)
class Offer:
    """A list of Google's, and when it was read."""

    items: tuple[str, ...]
    read: datetime
    problem: CloudProblem | None = None
    """Why it is not from now; null for a list that has just been read."""


def ask(key: str, read: Callable[[], list[str]], clock: Clock) -> Offer:
    """Return a list of Google's; the last one read where Google cannot be reached now.

    Args:
        key: What it is a list of, such as `my-project zones`.
        read: Asks Google.
        clock: Says when that was.

    Raises:
        CloudProblem: Google refused, or cannot be reached and nothing was kept.
    """
    try:
        items = tuple(read())
    except CloudProblem as problem:
        known = kept(key)
        if problem.kind != "network" or known is None:
            raise
        return Offer(known.items, known.read, problem)
    offer = Offer(items, clock.now())
    with _WRITING:
        rows = {**state.load(STATE), key: {"items": list(items), "read": offer.read.isoformat()}}
        with contextlib.suppress(Problem):  # a full disk takes nothing from what Google has said
            state.save(STATE, rows)
    return offer


def kept(key: str) -> Offer | None:
    """Return what was read last; null where nothing was, or where it cannot be used."""
    row: Any = state.load(STATE).get(key)
    try:
        read, items = datetime.fromisoformat(row["read"]), cast("list[Any]", row["items"])
    except (KeyError, TypeError, ValueError):
        return None
    return Offer(tuple(map(str, items)), read) if read.tzinfo else None
