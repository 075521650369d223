"""What a set-up of this machine has changed, and what was before: remembered between runs.

One state holds it for every profile: by profile, and below `values` and `proved` by profile again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tpustarter import state
from tpustarter.setup.steps import Step

STATE = "setup-machine"
"""Name of the state."""
VALUES, PROVED = "values", "proved"
"""What was told to a profile, and which of its proofs ended well."""


@dataclass(frozen=True)
class Changes:
    """What is remembered of one profile."""

    profile: str

    def befores(self) -> dict[str, Any]:
        """Return the steps that were carried out here, with what was before."""
        return cast("dict[str, Any]", state.load(STATE).get(self.profile) or {})

    def remember(self, step_id: str, before: Any, *, anew: bool = False) -> None:
        """Remember what was before the first change, or `anew` what is known of it now."""
        befores = self.befores()
        if anew or step_id not in befores:
            state.save(STATE, {**state.load(STATE), self.profile: {**befores, step_id: before}})

    def forget(self, step_id: str) -> None:
        """Forget a step that was put back."""
        befores = {name: before for name, before in self.befores().items() if name != step_id}
        state.save(STATE, {**state.load(STATE), self.profile: befores})

    def forget_all(self) -> None:
        """Forget everything of this profile, as all of it was put back."""
        for part in (VALUES, PROVED):
            self.store(part, {})
        state.save(STATE, {**state.load(STATE), self.profile: {}})

    def stored(self, part: str) -> dict[str, Any]:
        """Return what is stored of this profile below `values` or `proved`."""
        every = cast("dict[str, dict[str, Any]]", state.load(STATE).get(part) or {})
        return every.get(self.profile) or {}

    def store(self, part: str, value: Mapping[str, Any]) -> None:
        """Store it; an empty one is left out."""
        stored = state.load(STATE)
        every = cast("dict[str, Any]", stored.get(part) or {})
        others = {name: one for name, one in every.items() if name != self.profile}
        own = {self.profile: dict(value)} if value else {}
        state.save(STATE, {**stored, part: {**others, **own}})


def circumstances(step: Step, above: Sequence[Step]) -> list[Any]:
    """Return what a proof depends on: its command, and how far the steps above it are."""
    return [list(step.command), [[one.id, one.state] for one in above]]
