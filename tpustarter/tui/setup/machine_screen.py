"""The machine set-up screen, which asks for confirmation before commands run as root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from tpustarter.checking.machine_check import CheckRequest
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine import root_commands
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.setup_plan import Event, SetupPlan, StepEnded
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import SETUP, FactsLoaded
from tpustarter.tui.kit.confirm_commands import ConfirmCommands
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.setup.environment_screen import EnvironmentSetupScreen, ScreenFacts
from tpustarter.tui.setup.values_screen import SetupValuesScreen


@dataclass(frozen=True)
class PlannedMachine:
    """A plan for this machine's set-up, and whether there is anything to undo."""

    setup: MachineSetup
    can_undo: bool


class MachineSetupScreen(EnvironmentSetupScreen):
    """A machine set-up and its steps, before, during and after a run."""

    HELP = """
Each line is a step that changes something on this machine. Below it you see the exact command, or
the lines that will be written and the file that they go to. The details of the marked step say why
it is there, what it changes and what it needs.

* **y** runs the steps that are left. **o** runs only the marked one, once the steps are done that
  it needs. A step that fails doesn't stop the others, and the next `y` goes on from there.
* A step that **needs root** runs only after you have seen its command once more and pressed `y`.
  `n` runs the steps that need no root, and leaves the others. `Enter` is never a yes.
* **v** asks for the values that the steps are filled with, such as the name of a bucket.
* **x** stops the command that runs, and what that has started as root ends with it. Only apt first
  finishes the packages that it unpacks, and the next run waits for that. **Esc** asks before it
  stops anything.
* **z** shows what would be put back, and asks. Only what set-up itself changed is put back.
* **f** explains why the marked step failed, **c** runs the checks that prove the set-up, and **l**
  opens its lesson.

**blocked** means that a step can't be done here, and its details say why. **yours** is a step that
you do in another place, such as your own computer.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "values", "fill in", tooltip="tpustarter setup PROFILE --set NAME=VALUE"),
        Binding("y", "run", "run all left", tooltip="tpustarter setup PROFILE --yes --root"),
        Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
        Binding("o", "run_one", "only this", tooltip="tpustarter setup PROFILE --only STEP --yes"),
        Binding("c", "check", "check", tooltip="tpustarter check, for what this set-up changed"),
        Binding("x", "stop", "stop", tooltip="ends the command that runs, as Ctrl+C does"),
        Binding("z", "undo", "undo", tooltip="tpustarter setup PROFILE --undo"),
    ]

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        self._heading = f"Set up this machine: {profile}"
        self._planned: PlannedMachine | None = None
        """The latest plan of all steps."""
        self._only: tuple[str, ...] = ()
        self._root_permission: root_commands.RootPermission = False
        """The commands that the user has allowed to run as root."""

    def _make(
        self, *, only: tuple[str, ...] = (), root: root_commands.RootPermission = False
    ) -> MachineSetup:
        app = self.tutor
        return MachineSetup(
            self._profile,
            machine=app.machine,
            lessons=app.lessons,
            values=app.setup_values.get(self._profile, {}),
            only=only,
            root=root,
        )

    def _make_for_run(self) -> MachineSetup:
        return self._make(only=self._only, root=self._root_permission)

    @work(thread=True, exclusive=True, exit_on_error=False, group=SETUP)
    def _plan(self) -> None:
        try:
            setup = self._make()
        except Problem as problem:
            self.post_message(FactsLoaded(problem))
            return
        try:
            setup.list_undo_steps()
            can_undo = True
        except Problem:
            can_undo = False
        self.post_message(FactsLoaded(PlannedMachine(setup, can_undo)))

    def _take(self, what: ScreenFacts) -> None:
        """Show a plan or a problem, or ask for confirmation of undo steps."""
        if isinstance(what, PlannedMachine):
            self._planned = what
            if not self._runner.is_busy:
                self._setup = what.setup
                self._show()
        elif isinstance(what, Problem):
            self._show_problem(what)
        else:
            self._confirm_undo(what)

    def _show_problem(self, problem: Problem) -> None:
        """Show a problem; if entered values caused it, keep the earlier plan."""
        if self._planned:
            self.tutor.setup_values.pop(self._profile, None)
            self.tutor.push_screen(NoticeSheet("These values are not used", str(problem)))
        else:
            self.show_text(clean_text(str(problem)))

    @property
    def _steps(self) -> list[SetupStep]:
        """The latest plan's steps; those not done have the state of the last run."""
        of_run = self._setup.steps if self._setup and self._runner.is_busy else []
        latest = {step.id: step for step in of_run}
        latest |= {name: one.step for name, one in self._list.ended.items()}
        return [
            step if step.state == "done" and not self._runner.is_busy else latest.get(step.id, step)
            for step in self._planned_steps
        ]

    @property
    def _left(self) -> list[SetupStep]:
        """The remaining steps that can be run."""
        return [step for step in self._planned_steps if step.state == "todo"]

    @property
    def _planned_steps(self) -> list[SetupStep]:
        return self._planned.setup.steps if self._planned else []

    def _follow(self, event: Event) -> None:
        if isinstance(event, StepEnded) and event.step.state == "blocked":
            seen = {step.id: step.state for step in self._planned_steps}
            if seen.get(event.step.id) == "blocked" or event.step.note == root_commands.NOT_ALLOWED:
                return  # keep its state, because nothing has changed or the user declined
        super()._follow(event)

    def _finish(self) -> None:
        super()._finish()
        self._plan()

    def action_run(self) -> None:
        self._ask_for(self._left, ())

    def action_run_one(self) -> None:
        if step := self._highlighted_step():
            self._ask_for([one for one in self._left if one.id == step.id], (step.id,))

    def _ask_for(self, steps: Sequence[SetupStep], only: tuple[str, ...]) -> None:
        """Run steps, after confirmation if any of their commands needs root."""
        if self._planned is None:
            return
        if self._planned.setup.missing_values:
            self.action_values()
            return
        as_it_is = [step for step in steps if root_commands.NEED in step.needs]
        self._only, self._root_permission = only, frozenset(step.command for step in as_it_is)
        if not as_it_is:
            self._begin(undo=False)
            return
        others = len([one for one in self._planned.setup.list_rootless_steps() if one in steps])
        opening = phrases.choose_plural(len(as_it_is), "This command runs", "These commands run")
        opening += " as root, and so may change anything on this machine. Press `y` to run "
        opening += phrases.choose_plural(len(as_it_is), "it.", "them.")
        if others:
            opening += (
                f" `n` runs only what needs no root, which is {others} of {len(steps)} steps."
            )
        asking = ConfirmCommands(
            "Run this as root?",
            opening,
            as_it_is,
            self._planned.setup.format_command,
            others=others,
        )
        self.tutor.push_screen(asking, self._answered_root)

    def _answered_root(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer is None:
            return
        if not answer:
            self._root_permission = False
        self._begin(undo=False)

    @work(thread=True, exclusive=True, exit_on_error=False, group=SETUP)
    def action_undo(self) -> None:
        self.post_message(FactsLoaded(self._make().list_undo_steps()))

    def _confirm_undo(self, steps: Sequence[SetupStep]) -> None:
        if self._planned is None:
            return
        self._only = ()
        self._root_permission = frozenset(
            step.command for step in steps if root_commands.NEED in step.needs
        )
        opening = "This puts back what set-up changed, the last change first. Press `y` to do it."
        asking = ConfirmCommands(
            "Put this back?", opening, steps, self._planned.setup.format_command
        )
        self.tutor.push_screen(asking, self._answered)

    def action_values(self) -> None:
        if self._planned and not self._runner.is_busy:
            chosen = self._planned.setup.chosen_values
            self.tutor.push_screen(SetupValuesScreen(self._profile, chosen, self._take_values))

    def _take_values(self, values: dict[str, str]) -> None:
        self.tutor.setup_values[self._profile] = values
        self._list.ended = {}
        self.is_ready = False  # keys must wait for the plan with these values
        self._plan()

    def action_check(self) -> None:
        ids = tuple(step.proof for step in self._planned_steps if step.proof)
        request = CheckRequest(ids=ids, devices=self.tutor.choices.devices)
        self.tutor.go.open_checks(request, "Checks of this set-up")

    def _count(self) -> str:
        done = sum(step.state == "done" for step in self._steps)
        mine = sum(step.state == "manual" for step in self._steps)
        return f"{done} of {len(self._steps) - mine} steps done"

    def _summary(self, setup: SetupPlan) -> str:
        steps, left = self._steps, self._left
        logs = [one.log for one in self._list.ended.values() if one.log.exists()]
        log = f" The log is in {escape_text(setup.shorten_path(logs[-1]))}." if logs else ""
        if failed := [step for step in steps if step.state == "failed"]:
            return f"{escape_text(failed[0].title)}: failed. `y` tries again what is left.{log}"
        ended = [one.step for one in self._list.ended.values()]
        if kept := [step for step in ended if step.state == "blocked"]:
            return f"{escape_text(kept[0].title)}: not run, and its details say what to do.{log}"
        if any(step.state == "undone" for step in steps):
            return f"It is as it was before. `y` sets it up again.{log}"
        if self._planned and self._planned.setup.missing_values and left:
            names = ", ".join(escape_text(one.name) for one in self._planned.setup.missing_values)
            return f"Press `v` to fill in {names}. Nothing has run yet."
        if left:
            root = sum(root_commands.NEED in step.needs for step in left)
            who = "" if len(left) == 1 else "all " if root == len(left) else f"{root} "
            as_whom = f", {who}as root" if root else ""
            already = any(step.state == "done" for step in steps)
            said = f"{' Finished steps are skipped.' * already} Nothing has run yet."
            undo = " Later, `z` puts back what was changed."
            if self._list.ended:
                said = undo = ""
            count = phrases.format_count(len(left), "step is", "steps are")
            them = phrases.choose_plural(len(left), "it", "them")
            asks = ", and asks before anything runs as root" if root else ""
            return f"{count} left{as_whom}.{said} `y` runs {them}{asks}.{undo}{log}"
        return f"{self._end(steps)}{log}"

    def _end(self, steps: Sequence[SetupStep]) -> str:
        blocked = [step for step in steps if step.state == "blocked"]
        done = "Everything is done."
        if blocked:
            count = phrases.format_count(len(blocked), "step")
            done = f"What can be done here is done. {count} can't, and the details say why."
            if not any(step.state == "done" for step in steps):
                return "Nothing of it can be done here; the details say why. `l` opens the lesson."
        if mine := next((step for step in steps if step.state == "manual"), None):
            return f"{done} Next, yours: {escape_text(mine.title)}."
        if any(step.proof for step in steps):
            return f"{done} Next: `c` checks it."
        return f"{done} Next: `l` opens the lesson."

    def _can_run_highlighted(self) -> bool:
        step = self._highlighted_step()
        if step is None or self._planned is None:
            return False
        return self._planned.setup.can_start(step.id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "run_one":
            return self._can_run_highlighted() and not self._runner.is_busy
        if action == "values":
            return (
                bool(self._planned and self._planned.setup.chosen_values)
                and not self._runner.is_busy
            )
        if action == "undo":
            return bool(self._planned and self._planned.can_undo) and not self._runner.is_busy
        if action == "check":
            proofs = any(step.proof and step.state == "done" for step in self._planned_steps)
            return proofs and not self._runner.is_busy
        return super().check_action(action, parameters)
