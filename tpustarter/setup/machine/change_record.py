"""The changes that set-up made to this machine, with the settings before them, kept between runs.

One state file holds them for every profile: by profile, and below `values` and `proved` by profile
again. Where it cannot be read, nothing is changed and nothing undone, because the present setting
would be recorded as the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tpustarter.core import state
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.steps import SetupStep

STATE = "setup-machine"
"""Name of the state file."""
VALUES, PROVED = "values", "proved"
"""Keys for the values given to a profile, and for its proofs that ended well."""


def _stored() -> dict[str, dict[str, Any]]:
    why = "it is not of the form in which set-up writes it"
    try:
        stored = cast("dict[str, dict[str, Any]]", state.read(STATE) or {})
        if all(map(_is_part, stored, stored.values())):
            return stored
    except state.UnreadableError as error:
        why = error.why
    file = state.place(STATE)
    raise Problem(
        f"what set-up changed on this machine is noted in `{file}`, which cannot be read: {why}",
        hint=f"`mv {file} {file}.broken` begins it anew; `--undo` then takes back nothing that was "
        "changed before",
    )


def _is_part(name: str, part: Any) -> bool:
    # It is a dictionary by step or by profile.
    if not isinstance(part, dict):
        return False
    values = cast("dict[str, Any]", part).values()
    if name in (VALUES, PROVED):
        return all(isinstance(value, dict) for value in values)
    return all(map(_is_before, values))


def _is_before(value: Any) -> bool:
    # `look` gives a text, names, or names by their kind.
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return bool(named) and all(map(_are_names, named.values()))
    return isinstance(value, str) or _are_names(value)


def _are_names(value: Any) -> bool:
    names = cast("list[Any]", value) if isinstance(value, list) else [None]
    return all(isinstance(name, str) for name in names)


@dataclass(frozen=True)
class Changes:
    """The recorded changes of one profile."""

    profile: str

    def befores(self) -> dict[str, Any]:
        """Return the steps that were carried out here, each with the setting before it."""
        return _stored().get(self.profile) or {}

    def remember(self, step_id: str, before: Any, *, anew: bool = False) -> None:
        """Record the setting before a step's first change; with `anew`, replace the record."""
        befores = self.befores()
        if anew or step_id not in befores:
            state.save(STATE, {**_stored(), self.profile: {**befores, step_id: before}})

    def forget(self, step_id: str) -> None:
        """Delete the record of a step that was undone."""
        befores = {name: before for name, before in self.befores().items() if name != step_id}
        state.save(STATE, {**_stored(), self.profile: befores})

    def forget_all(self) -> None:
        """Delete all records of this profile, after all of it was undone."""
        for part in (VALUES, PROVED):
            self.store(part, {})
        state.save(STATE, {**_stored(), self.profile: {}})

    def stored(self, part: str) -> dict[str, Any]:
        """Return the part `values` or `proved` of this profile."""
        every = _stored().get(part) or {}
        return every.get(self.profile) or {}

    def store(self, part: str, value: Mapping[str, Any]) -> None:
        """Save a part of this profile; an empty one is left out."""
        stored = _stored()
        every = stored.get(part) or {}
        others = {name: one for name, one in every.items() if name != self.profile}
        own = {self.profile: dict(value)} if value else {}
        state.save(STATE, {**stored, part: {**others, **own}})


def circumstances(step: SetupStep, above: Sequence[SetupStep]) -> list[Any]:
    """Return the state a proof depends on: its command, and the states of the steps above it."""
    return [list(step.command), [[one.id, one.state] for one in above]]
