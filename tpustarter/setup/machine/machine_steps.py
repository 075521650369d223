"""Read the steps of a machine's set-up from a lesson's header, with their values and states.

Nothing is started, and nothing is written.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from tpustarter.core.content import Lesson
from tpustarter.core.json_values import as_object, items_of_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.setup import server_commands
from tpustarter.setup.environment.environment_facts import find_home
from tpustarter.setup.environment.steps import SetupStep, State
from tpustarter.setup.machine import root_commands, step_kinds, step_values
from tpustarter.setup.machine.change_record import RecordedChanges, list_proof_conditions
from tpustarter.setup.machine.step_kind import StepKind, StepState


class _StepFields(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    title: str
    why: str
    look: str | step_kinds.Look = ""
    command: list[str] = []
    undo: list[str] = []
    changes: str = "nothing"
    needs: list[str] = []
    after: list[str] = []
    where: str = ""
    """Where the user does the step."""
    proof: str | None = None


class MachineSteps:
    """The steps of one profile with their states on this machine."""

    def __init__(
        self,
        lesson: Lesson,
        profile: str,
        machine: host.Machine,
        *,
        values: Mapping[str, str],
        only: Sequence[str],
    ) -> None:
        """Read the header, and determine the state of each step.

        Args:
            lesson: The lesson whose header has the steps.
            profile: The profile's name in the header.
            machine: The machine that the states are for.
            values: Values by name, as given by the user.
            only: Selected steps, which include those that come before them; empty for all.

        Raises:
            Problem: The header is invalid, a step does not exist, or a value does not fit.
        """
        self._profile = profile
        self._machine = machine
        self._changes = RecordedChanges(profile)
        self.steps: list[SetupStep] = []
        self.kinds: dict[str, StepKind | None] = {}
        """The kind of each step; None for a proof, and for a step that the user does elsewhere."""
        self.after: dict[str, list[str]] = {}
        """The steps that have to be done before each step."""
        self._undo: dict[str, list[str]] = {}
        """The header's own undo commands, keyed by step."""
        try:
            declared = select_steps(
                msgspec.convert(
                    as_object(lesson.header["setups"])[profile], list[dict[str, object]]
                ),
                only,
                profile,
            )
            self.values = self._choose(
                step_values.read_declared_values(lesson.header, declared), values
            )
            self._texts = self._list_placeholders()
            for fields in declared:
                self.steps.append(self._make_step(fields))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Problem(
                f"the steps in the header of `{lesson.path}` are broken: {error!r}"
            ) from error

    def build_undo_command(self, step: SetupStep) -> tuple[str, ...]:
        """Return the command that undoes a step, or an empty tuple if there is nothing to undo."""
        before, kind = self._changes.read_earlier_settings()[step.id], self.kinds[step.id]
        own = [*(kind.undo(before) if kind else ())]
        words: list[str] = []
        for word in self._undo[step.id] or ["{undo}"]:
            words += own if word == "{undo}" else [word.replace("{before}", str(before))]
        return self._runnable(words, step.needs)

    def _choose(
        self, every: Sequence[step_values.StepValue], given: Mapping[str, str]
    ) -> dict[step_values.StepValue, str | None]:
        before = self._changes.values()
        chosen = step_values.choose_values(every, given, before, self._profile)
        differing = [key for key, text in given.items() if before.get(key, text) != text]
        if differing and self._changes.read_earlier_settings():
            command = f"`tpustarter setup {self._profile}"
            raise Problem(
                f"{command}` was run with {differing[0]} `{before[differing[0]]}`",
                hint=f"{command} --undo` shows how to put that back; then set another",
                code=ExitCode.INCONCLUSIVE,
            )
        return {one: chosen[one.name] for one in every}

    def _list_placeholders(self) -> dict[str, str]:
        return {
            "home": str(find_home(self._machine)),
            **root_commands.find_user(),
            "python": sys.executable,
            "programs": str(server_commands.PROGRAMS),
            **{one.name: text or one.placeholder for one, text in self.values.items()},
        }

    def _make_step(self, fields: Mapping[str, object]) -> SetupStep:
        values = {name: step_values.fill_in_values(fields[name], self._texts) for name in fields}
        filled = msgspec.convert(values, _StepFields)
        self.after[filled.id] = filled.after
        self._undo[filled.id] = filled.undo
        kind = self.kinds[filled.id] = self._kind(filled)
        words = filled.command or [*(kind.command() if kind else ())]
        if not words and not filled.where:
            raise ValueError(f"`{filled.id}` has no command")
        file, lines = kind.writes() if kind else ("", ())
        needs = tuple(filled.needs)
        step = SetupStep(
            id=filled.id,
            title=filled.title,
            why=filled.why,
            command=self._runnable(words, needs),
            changes=filled.changes,
            needs=needs,
            proof=filled.proof,
            writes=lines,
            file=file,
        )
        if filled.where:
            note = f"you do this {filled.where}"
            return replace(step, state="manual", note=note, command=tuple(words))
        seen = kind.read_state() if kind else self._look_for_proof(step)
        state, note = self._determine_state(step, seen)
        return replace(step, state=state, note=note)

    def _kind(self, filled: _StepFields) -> StepKind | None:
        if filled.where or filled.look == "proof":
            return None
        if isinstance(filled.look, str):
            raise ValueError(f"no kind of look is called `{filled.look}`")
        home = str(find_home(self._machine))
        return step_kinds.make_step_kind(
            filled.look, f"{self._profile} {filled.id}", self._machine, home
        )

    def _look_for_proof(self, step: SetupStep) -> StepState:
        # A proof counts while its command and the steps before it are unchanged.
        proved = self._changes.proved().get(step.id)
        if proved and proved.circumstances == list_proof_conditions(step, self.steps):
            return StepState("done", proved.output)
        return StepState("todo")

    def _determine_state(self, step: SetupStep, seen: StepState) -> tuple[State, str]:
        states = {one.id: one.state for one in self.steps}
        waits = [name for name in self.after[step.id] if states[name] != "done"]
        never = [name for name in self.after[step.id] if states[name] == "blocked"]
        if seen.state != "done" and "systemd" in step.needs and not self._has_systemd():
            return "blocked", "it needs systemd, which does not run here"
        if seen.state == "blocked" and waits and not never:
            return "todo", ""  # those steps may remove what blocks this one
        if seen.state == "todo" and never:
            return "blocked", f"`{never[0]}` comes first, and cannot be done here"
        if seen.state == "todo" and step.command[:1] == ("sudo",):  # sudo was not found
            return "blocked", "you are not root here, and there is no `sudo`"
        return seen.state, seen.note

    def _has_systemd(self) -> bool:
        return self._machine.read_status("/run/systemd/system") is not None

    def _runnable(self, words: Sequence[str], needs: Sequence[str]) -> tuple[str, ...]:
        # A command that needs root begins with `sudo`, unless this program is root.
        first, *others = [*root_commands.sudo_prefix(needs), *words] if words else [""]
        path = self._machine.env.get("PATH", os.defpath)
        return (shutil.which(first, path=path) or first, *others) if first else ()


def select_steps(
    declared: Sequence[dict[str, object]], only: Sequence[str], profile: str
) -> list[dict[str, object]]:
    """Return the selected steps and those that come before them, in their order.

    Args:
        declared: All steps in a lesson's header.
        only: The requested ids; empty for all.
        profile: The name of the set-up, for the error.

    Raises:
        Problem: There is no step with a requested id.
    """
    by_id = {str(fields["id"]): fields for fields in declared}
    if unknown := [name for name in only if name not in by_id]:
        raise Problem(
            f"`tpustarter setup {profile}` has no step `{unknown[0]}`",
            hint=f"its steps are {', '.join(by_id)}",
            code=ExitCode.USAGE,
        )
    names, left = set[str](), list(only or by_id)
    while left:
        name = left.pop()
        names.add(name)
        left += [one for one in items_of_type(by_id[name].get("after"), str) if one not in names]
    return [fields for name, fields in by_id.items() if name in names]
