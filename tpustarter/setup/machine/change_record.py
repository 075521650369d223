"""The changes that set-up made to this machine, with the settings before them, kept between runs.

One state file holds them for all profiles: at the top level by profile, and under `values` and
`proved` by profile again. If it cannot be read, nothing is changed or undone, because the current
setting would be recorded as the earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tpustarter.core import state
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine.step_kind import EarlierSetting

STATE = "setup-machine"
"""Name of the state file."""
VALUES, PROVED = "values", "proved"
"""Keys for the values given to a profile, and for its successful proofs."""

ProofConditions = tuple[list[str], list[list[str]]]
"""The command of a proof, and each step before it with its state."""


class StepProofRecord(msgspec.Struct):
    """The record of a successful proof, and the states of the steps it depended on."""

    circumstances: ProofConditions = msgspec.field(name="of")
    output: str = msgspec.field(default="", name="said")


_PARTS: dict[str, object] = {
    VALUES: dict[str, dict[str, str]],
    PROVED: dict[str, dict[str, StepProofRecord]],
}


def _read_record() -> dict[str, dict[str, object]]:
    why = "it is not of the form in which set-up writes it"
    try:
        stored = state.read_state_strictly(STATE) or {}
        for name, part in stored.items():
            msgspec.convert(part, _PARTS.get(name, dict[str, EarlierSetting]))
        return msgspec.convert(stored, dict[str, dict[str, object]])
    except msgspec.ValidationError:
        pass
    except state.UnreadableError as error:
        why = error.why
    file = state.find_state_path(STATE)
    raise Problem(
        f"what set-up changed on this machine is noted in `{file}`, which cannot be read: {why}",
        hint=f"`mv {file} {file}.broken` begins it anew; `--undo` then takes back nothing that was "
        "changed before",
    )


@dataclass(frozen=True)
class RecordedChanges:
    """The recorded changes of one profile."""

    profile: str

    def read_earlier_settings(self) -> dict[str, EarlierSetting]:
        """Return the steps carried out on this machine, each with the setting before it."""
        return msgspec.convert(_read_record().get(self.profile) or {}, dict[str, EarlierSetting])

    def remember(self, step_id: str, before: EarlierSetting, *, anew: bool = False) -> None:
        """Record the setting before a step's first change; `anew` replaces an earlier record."""
        befores = self.read_earlier_settings()
        if anew or step_id not in befores:
            state.save_state(STATE, {**_read_record(), self.profile: {**befores, step_id: before}})

    def forget(self, step_id: str) -> None:
        """Delete the record of a step that was undone."""
        befores = {
            name: before for name, before in self.read_earlier_settings().items() if name != step_id
        }
        state.save_state(STATE, {**_read_record(), self.profile: befores})

    def forget_all(self) -> None:
        """Delete all records of this profile, after everything was undone."""
        for part in (VALUES, PROVED):
            self.store(part, {})
        state.save_state(STATE, {**_read_record(), self.profile: {}})

    def values(self) -> dict[str, str]:
        """Return the values given to this profile."""
        return msgspec.convert(self._part(VALUES), dict[str, str])

    def proved(self) -> dict[str, StepProofRecord]:
        """Return this profile's successful proofs, keyed by step."""
        return msgspec.convert(self._part(PROVED), dict[str, StepProofRecord])

    def _part(self, name: str) -> dict[str, object]:
        return as_object(_read_record().get(name, {}).get(self.profile))

    def store_proof(self, step: SetupStep, above: Sequence[SetupStep], output: str) -> None:
        """Record a successful proof."""
        proof = msgspec.to_builtins(StepProofRecord(list_proof_conditions(step, above), output))
        self.store(PROVED, {**self._part(PROVED), step.id: proof})

    def store(self, part: str, value: Mapping[str, object]) -> None:
        """Save a part of this profile's record; an empty part is removed."""
        stored = _read_record()
        every = stored.get(part) or {}
        others = {name: one for name, one in every.items() if name != self.profile}
        own = {self.profile: dict(value)} if value else {}
        state.save_state(STATE, {**stored, part: {**others, **own}})


def list_proof_conditions(step: SetupStep, above: Sequence[SetupStep]) -> ProofConditions:
    """Return the command of a proof, and the states of the steps before it.

    A stored proof counts only while these are unchanged.
    """
    return list(step.command), [[one.id, one.state] for one in above]
