"""The interface of a kind of step in a machine's set-up, and the state that it reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import msgspec

from tpustarter.setup.environment.steps import State

Before = str | list[str] | Annotated[dict[str, list[str]], msgspec.Meta(min_length=1)]
"""A setting before its change, in the form in which it is recorded: a text, names, or names by
their kind."""


@dataclass(frozen=True)
class StepState:
    """The state of a step, its reason, and the present setting, which undo restores."""

    state: State
    note: str = ""
    before: Before = ""


class StepKind(ABC):
    """A kind of set-up step; the step's header supplies the command or undo that a kind lacks."""

    @abstractmethod
    def read_state(self) -> StepState:
        """Return the state of the step."""

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the file that the step writes, and the lines in it."""
        return "", ()

    def command(self) -> tuple[str, ...]:
        """Return the command that carries out the step, or an empty tuple if the header has it."""
        return ()

    def undo(self, before: Before) -> tuple[str, ...]:
        """Return the command that restores the earlier setting, or none if the header has it."""
        del before
        return ()

    def make_undo_record(self, before: Before) -> Before:
        """Return the record for undo once the step is done."""
        return before
