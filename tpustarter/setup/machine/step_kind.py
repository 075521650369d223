"""The interface of a kind of step in a machine's set-up, and the state that it reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import msgspec

from tpustarter.setup.environment.steps import State

EarlierSetting = str | list[str] | Annotated[dict[str, list[str]], msgspec.Meta(min_length=1)]
"""A setting before its change, as it is recorded: a text, names, or names by kind."""


@dataclass(frozen=True)
class StepState:
    """A step's state, the reason for it, and the current setting, which undo restores."""

    state: State
    note: str = ""
    before: EarlierSetting = ""


class StepKind(ABC):
    """A kind of set-up step; the header supplies a command or undo that the kind lacks."""

    @abstractmethod
    def read_state(self) -> StepState:
        """Return the state of the step."""

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the file that the step writes, and the lines in it."""
        return "", ()

    def command(self) -> tuple[str, ...]:
        """Return the command for the step, or an empty tuple if the header has it."""
        return ()

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that restores the earlier setting; empty if the header has it."""
        del before
        return ()

    def make_undo_record(self, before: EarlierSetting) -> EarlierSetting:
        """Return the record that undo needs, once the step is done."""
        return before
