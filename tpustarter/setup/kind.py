"""What a kind of step of a machine's set-up can do, and what looking at one tells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from tpustarter.setup.steps import State


@dataclass(frozen=True)
class Look:
    """How far a step is, why, and what its setting is now, which undo puts back."""

    state: State
    note: str = ""
    before: Any = ""


class Kind(ABC):
    """What a kind of look can do; what it cannot is left to the header's command and undo."""

    @abstractmethod
    def look(self) -> Look:
        """Return how far it is."""

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the file that it writes, and the lines as they will stand there."""
        return "", ()

    def command(self) -> tuple[str, ...]:
        """Return what brings it about."""
        return ()

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return what puts back what was before."""
        del before
        return ()

    def settled(self, before: Any) -> Any:
        """Return what to remember for undo once the step is done."""
        return before
