"""Set-up of the machine itself: packages, files and settings, each with its own undo.

`machine_steps` reads the steps and determines their states; this module runs and undoes them. A
step's `look` describes how its state is determined, and its `after` lists the steps that have to be
done before it. A step that cannot be done on this machine is blocked with the reason, and the
others run. Earlier settings are recorded so that undo restores them, and settings that set-up did
not change are left alone. A step runs as root only if it needs to and `root` allows it.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.running.supervised_command import LineLog
from tpustarter.setup.environment import made_environment as folders
from tpustarter.setup.environment.environment_facts import find_home
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine import root_commands, step_values
from tpustarter.setup.machine.change_record import PROVED, VALUES, RecordedChanges
from tpustarter.setup.machine.machine_steps import MachineSteps
from tpustarter.setup.setup_plan import Event, SetupPlan, StepEnded, StepResult


class MachineSetup(SetupPlan):
    """A profile's set-up of this machine: its steps, their run, and their undo."""

    def __init__(
        self,
        profile: str,
        *,
        machine: host.Machine | None = None,
        lessons: Path | None = None,
        root: root_commands.RootPermission = False,
        values: Mapping[str, str] | None = None,
        only: Sequence[str] = (),
    ) -> None:
        """Determine the remaining steps.

        Args:
            profile: A name in `profiles.MACHINE`.
            machine: The machine; None for this one.
            lessons: Folder of lessons; None for the built-in ones.
            root: True if steps that need root may run, or the commands that may.
            values: Values by name, as given with `--set`.
            only: Steps to show and run, with those that have to come before; empty for all.

        Raises:
            Problem: The profile or a step does not exist, or a value is invalid.
        """
        self._root = root
        self._refused = ""
        """Why sudo did not run a command."""
        self._is_undo = False
        self._values = dict(values or {})
        self.only = tuple(only)
        """Steps selected by the user; empty for all."""
        self._changes = RecordedChanges(profile)
        machine = machine or host.Machine()
        home = str(find_home(machine))  # under sudo, that of the user who called it
        super().__init__(profile, replace(machine, env={**machine.env, "HOME": home}), lessons)
        self._refresh()

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if done, undone or only planned, 1 for a failed step, 3 for one not done."""
        if not self._is_undo or any(step.state == "failed" for step in self.steps):
            return super().exit_code
        is_left = self._stopped and self._list_changed_steps()
        return int(ExitCode.INCONCLUSIVE if is_left else ExitCode.OK)

    @property
    def missing_values(self) -> list[step_values.StepValue]:
        """Values that have not been given yet."""
        return [one for one, text in self._declared.values.items() if text is None]

    @property
    def chosen_values(self) -> dict[step_values.StepValue, str | None]:
        """Values for the steps: as given, as recorded, or None."""
        return self._declared.values

    def fields(self) -> dict[str, object]:
        """Return the document of `SetupPlan.fields`, with the values for the steps."""
        values = [
            {"name": one.name, "meaning": one.meaning, "value": text}
            for one, text in self.chosen_values.items()
        ]
        return {**super().fields(), "values": self._redact.redact_value(values)}

    def needs_root(self, *, undo: bool = False) -> bool:
        """Return whether the remaining steps, or those to undo, need root."""
        if undo:
            ids = self._list_changed_steps()
            return any("root" in step.needs for step in self.steps if step.id in ids)
        return any("root" in step.needs for step in self.steps if step.state == "todo")

    def run(self) -> Iterator[Event]:
        """Run every remaining step that can be done on this machine.

        Raises:
            Problem: A value is missing, another set-up is running, or the log cannot be written.
        """
        if self.missing_values:
            raise step_values.make_missing_values_problem(self.missing_values, self.profile.name)
        return self._run()

    def _run(self) -> Iterator[Event]:
        self._has_run = True
        with folders.hold_setup_lock() as lock:
            self._refresh()
            allowed = [
                step
                for step in self.steps
                if step.state == "todo" and not self._explain_obstacle(step)
            ]
            log = self._open_log() if allowed else None
            if allowed and self.chosen_values:
                values = {one.name: text for one, text in self.chosen_values.items()}
                self._changes.store(VALUES, values)
            self._complete_records()
            try:
                for index in range(len(self.steps)):
                    if self._stopped:
                        break
                    step = self.steps[index]
                    if step.state == "todo" and (reason := self._find_obstacle(step)):
                        step = self._update_step(index, "blocked", reason)
                    if step.state == "blocked":
                        yield StepEnded(step, 0.0, (), self.log)
                    elif log and step.state == "todo":
                        yield from self._run_step(index, log, lock)
            finally:
                if log:
                    log.close()

    def _complete_records(self) -> None:
        # A killed run may not have recorded the packages of its step.
        changed = self._changes.read_earlier_settings()
        for step in self.steps:
            kind = self._declared.kinds[step.id]
            if kind and step.state == "done" and step.id in changed:
                self._changes.remember(step.id, kind.make_undo_record(changed[step.id]), anew=True)

    def _find_obstacle(self, step: SetupStep) -> str:
        if reason := self._explain_obstacle(step):
            return reason
        done = {one.id for one in self.steps if one.state == "done"}
        waiting = [name for name in self._declared.after[step.id] if name not in done]
        return f"`{waiting[0]}` comes first, and it is not done" if waiting else ""

    def can_start(self, step_id: str) -> bool:
        """Return whether a step remains, and all steps that have to come before it are done."""
        by_id = {step.id: step.state for step in self.steps}
        before = [by_id[name] for name in self._declared.after[step_id]]
        return by_id[step_id] == "todo" and {*before} <= {"done"}

    def list_rootless_steps(self) -> list[SetupStep]:
        """Return the remaining steps that can be done without root."""
        done = {step.id for step in self.steps if step.state == "done"}
        able: list[SetupStep] = []
        for step in self.steps:
            is_left = step.state == "todo" and root_commands.NEED not in step.needs
            if is_left and {*self._declared.after[step.id]} <= done:
                able.append(step)
                done.add(step.id)
        return able

    def _explain_obstacle(self, step: SetupStep) -> str:
        if self._refused and root_commands.NEED in step.needs:
            return self._refused
        return root_commands.explain_obstacle(step.command, step.needs, self._root)

    def _explain_refusal(self, step: SetupStep, log: LineLog) -> StepResult | None:
        options = f"{self.profile.name}{' --undo' * self._is_undo} --yes --root"
        refused = root_commands.explain_refusal(step.command, [*log.last], options)
        self._refused = self._refused or refused
        return ("blocked", refused) if refused else None

    def list_undo_steps(self) -> list[SetupStep]:
        """Return the steps to undo in reverse order, each with its undo command.

        Raises:
            Problem: Set-up has changed nothing.
        """
        changed = self._list_changed_steps()
        if not changed:
            raise Problem(
                f"`tpustarter setup {self.profile.name}` has changed nothing on this machine",
                code=ExitCode.INCONCLUSIVE,
            )
        return [
            replace(step, command=self._declared.build_undo_command(step))
            for step in reversed(self.steps)
            if step.id in changed
        ]

    def removed_by_undo(self) -> list[str]:
        """Return descriptions of the changes that undo reverts.

        Raises:
            Problem: There are none.
        """
        return [f"{step.title}:{self._describe_undo(step)}" for step in self.list_undo_steps()]

    def _describe_undo(self, step: SetupStep) -> str:
        if step.file:
            lines = "the lines between its marks in " * step.writes[0].startswith("# >>> ")
            return f" {lines}{self.shorten_path(Path(step.file))}"
        return f"\n  $ {self.format_command(step.command)}"

    def undo(self) -> Iterator[Event]:
        """Undo set-up's changes in reverse order.

        Raises:
            Problem: There are none, or undoing them needs root.
        """
        if any(self._explain_obstacle(step) for step in self.list_undo_steps()):
            raise Problem(
                "to put it back needs root",
                hint=f"`tpustarter setup {self.profile.name} --undo --yes --root` allows that",
                code=ExitCode.INCONCLUSIVE,
            )
        return self._undo_steps()

    def _undo_steps(self) -> Iterator[Event]:
        self._has_run = self._is_undo = True
        with folders.hold_setup_lock() as lock:
            log = self._open_log()
            self._changes.store(PROVED, {})
            try:
                needed: dict[str, str] = {}  # steps needed by one that could not be undone
                for index, step in reversed(list(enumerate(self.steps))):
                    if step.id not in self._list_changed_steps() or self._stopped:
                        continue
                    began = time.monotonic()
                    undoing = replace(step, command=self._declared.build_undo_command(step))
                    failure = yield from self._undo_step(undoing, log, lock, needed)
                    end, note = failure or ("undone", "")
                    if failure:
                        needed |= dict.fromkeys(self._declared.after[step.id], step.id)
                    else:
                        self._changes.forget(step.id)
                    ended = self._update_step(index, end, note)
                    tail = tuple(log.last) if end == "failed" else ()
                    yield StepEnded(ended, time.monotonic() - began, tail, self.log)
            finally:
                log.close()
            if not self._list_changed_steps():
                self._changes.forget_all()

    def _undo_step(
        self, undoing: SetupStep, log: LineLog, lock: int, needed: Mapping[str, str]
    ) -> Generator[Event, None, StepResult | None]:
        if above := needed.get(undoing.id):
            return "blocked", f"`{above}` needs it, and could not be put back"
        if reason := self._explain_obstacle(undoing):
            return "blocked", reason
        failure = yield from self._run_command(undoing, log, lock)
        return failure and (self._explain_refusal(undoing, log) or failure)

    def _make_steps(self) -> list[SetupStep]:
        self._declared = MachineSteps(
            self.lesson, self.profile.name, self._machine, values=self._values, only=self.only
        )
        return self._declared.steps

    def _carry_out(
        self, step: SetupStep, log: LineLog, lock: int
    ) -> Generator[Event, None, StepResult]:
        kind = self._declared.kinds[step.id]
        if kind:  # Recorded first, so that the changes of a killed run can be undone.
            self._changes.remember(step.id, kind.read_state().before)
        if failure := (yield from self._run_command(step, log, lock)):
            return self._explain_refusal(step, log) or failure
        if kind is None:
            above = self.steps[: [one.id for one in self.steps].index(step.id)]
            self._changes.store_proof(step, above, "\n".join([*log.last][-4:]))
            return "done", "its command ended well"
        seen = kind.read_state()
        if seen.state != "done":
            return "failed", f"the command succeeded, and yet: {seen.note or 'nothing has changed'}"
        self._changes.remember(
            step.id,
            kind.make_undo_record(self._changes.read_earlier_settings()[step.id]),
            anew=True,
        )
        return "done", seen.note

    def _list_changed_steps(self) -> list[str]:
        # A step counts only while its change is still in place.
        changed = self._changes.read_earlier_settings()
        ids: list[str] = []
        for step in self.steps:
            kind = self._declared.kinds[step.id]
            if kind is None or step.id not in changed:
                continue
            seen = kind.read_state()
            is_as_before = seen.state != "done" and seen.before == changed[step.id]
            if not is_as_before and self._declared.build_undo_command(step):
                ids.append(step.id)
        return ids
