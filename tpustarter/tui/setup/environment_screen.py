"""The environment set-up screen: the plan with reasons and commands, and then the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.core.problem import Problem
from tpustarter.machine import host
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.setup.environment import setup_profiles
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.setup_plan import Event, SetupPlan, StepEnded, StepStarted
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import SETUP, EventsArrived, FactsLoaded
from tpustarter.tui.explain import failed_run
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.page import ConfirmWindow
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import StackedText
from tpustarter.tui.setup import step_details
from tpustarter.tui.setup.step_run_state import StepRunState

ScreenFacts = Any
"""A plan, the problem in place of one, or what undo changes."""
CACHE_NOTE = (
    "What was downloaded stays in the cache of uv or pip, and makes the next set-up quicker."
)
"""The note about files that undo leaves on disk."""


class EnvironmentSetupScreen(ListWithDetails):
    """An environment set-up and its steps, before, during and after a run."""

    HELP = """
Nothing is run until you press `y`. Each step shows the exact command that it would run, and below
it the reason, what it changes, and what it needs.

* **y** runs the steps that are not done yet, in order, up to the first one that fails. What is done
  stays done, so the next `y` goes on from there.
* **c** checks an environment once it is made, and **r** rehearses a program with the compiler.
* **f** explains why the marked step failed. It searches the log for failures that are known.
* **x** stops the command that runs at once, and **Esc** asks before it does so.
* **z** removes what set-up made, after asking.
* **l** opens the lesson that explains it.
* **Enter** gives the marked step the whole screen, with all that `y` runs besides it. A second
  Enter brings the list back.

Outside of the folder that the plan names, only the caches of uv and pip below your home grow, and
tpustarter notes where the folder is. No command gets administrator rights.
"""
    STILL_RUNS = "A command of this set-up still runs. Press Esc again or x to stop it."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "run", "run these commands", tooltip="tpustarter setup PROFILE --yes"),
        Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
        Binding("c", "check", "check it", tooltip="tpustarter check, in this environment"),
        Binding("r", "rehearse", "rehearse", tooltip="tpustarter rehearse"),
        Binding("x", "stop", "stop", tooltip="ends the command that runs, as Ctrl+C does"),
        Binding("z", "undo", "undo", tooltip="tpustarter setup PROFILE --undo"),
        Binding("l", "lesson", "lesson", tooltip="tpustarter learn, the lesson of this set-up"),
    ]

    late = ("lesson",)
    """The lesson's key comes last."""

    def __init__(self, profile: str = "jax") -> None:
        super().__init__(f"Set up {setup_profiles.find_profile(profile).title}")
        self._profile = profile
        self._setup: SetupPlan | None = None
        self.runner = self._runner = ScreenRunner[Event](self, SETUP, self._tick)
        self._list = StepRunState()

    def on_mount(self) -> None:
        self.show_text("looking at this machine ...")
        self._plan()

    @work(thread=True, exclusive=True, exit_on_error=False, group=SETUP)
    def _plan(self) -> None:
        try:
            self.post_message(FactsLoaded(self._make()))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def _make(self) -> SetupPlan:
        app = self.tutor
        return EnvironmentSetup(
            self._profile, machine=app.machine, lessons=app.lessons, checks=app.checks
        )

    def _make_for_run(self) -> SetupPlan:
        """Return a plan for one run, because a stopped plan cannot run again."""
        return self._make()

    @property
    def _steps(self) -> list[SetupStep]:
        """The steps with their displayed states."""
        return self._setup.steps if self._setup else []

    @property
    def _left(self) -> list[SetupStep]:
        """The steps that `y` runs."""
        return [step for step in self._steps if step.state != "done"]

    def on_facts_loaded(self, message: FactsLoaded[ScreenFacts]) -> None:
        self._take(message.facts)
        self.take_keys()
        self.refresh_bindings()

    def _take(self, what: ScreenFacts) -> None:
        """Show a plan or a problem, or ask for confirmation of what undo removes."""
        if isinstance(what, SetupPlan):
            self._setup = what
            self._show()
        elif isinstance(what, Problem):
            self.show_text(clean_text(str(what)))
        else:
            removed = "\n".join(f"* {item}" for item in what)
            text = f"This removes:\n\n{removed}\n\n{CACHE_NOTE}\n\nRemove it?"
            question = ConfirmWindow("Undo", text)
            self.tutor.push_screen(question, self._answered)

    def action_run(self) -> None:
        self._begin(undo=False)

    def _begin(self, *, undo: bool) -> None:
        if self._runner.is_busy:
            return
        self._list.begin()
        self._runner.begin(partial(self._play, undo=undo))
        self.refresh_bindings()

    def _play(self, *, undo: bool) -> Iterator[Event]:
        """Run the steps; called in the worker thread."""
        self.tutor.live.release()
        setup = self._make_for_run()
        self._setup = setup
        self._runner.on_stop(setup.stop)
        yield from self._events(setup.undo() if undo else setup.run())

    def _events(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield a run's events, and record the device holder while the proof may use the TPU."""
        live, on_tpu = self.tutor.live, host.guess_platform(self.tutor.machine) == "tpu"
        try:
            for event in events:
                if isinstance(event, StepStarted) and event.step.id == "prove" and on_tpu:
                    holder = DeviceHolder("tpustarter setup", os.getpid(), "TPU")
                    live.record_holder(holder, self.stop_work)
                elif isinstance(event, StepEnded):
                    live.record_release(self.stop_work)
                yield event
        finally:
            live.record_release(self.stop_work)

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._runner.take_events(message):
            self._follow(event)
        if not self._runner.is_busy:
            self._finish()
        self._show()
        self.refresh_bindings()

    def _follow(self, event: Event) -> None:
        self._list.follow(event)

    def _finish(self) -> None:
        self._list.running = None

    def _tick(self) -> None:
        what = "stopping" if self._runner.is_stopped else "running, downloads may take minutes"
        self.show_text(f"{what}, {self._list.seconds:.0f} s")

    def _show(self) -> None:
        setup = self._setup
        if setup is None:
            return
        rows = self.query_one(RowList)
        open_id = next((step.id for step in self._steps if step.state != "done"), None)
        to_highlight = self._list.find_row_to_highlight(self._steps) or (
            open_id if rows.highlighted_id is None else None
        )
        rows.show(
            [step_details.make_step_row(setup, step, self._list) for step in self._steps],
            highlight=to_highlight,
        )
        self.set_area_title("rows", self._count())
        self._show_details()
        if not self._runner.is_busy:
            self.show_text(self._summary(setup))

    def _count(self) -> str:
        done = sum(step.state == "done" for step in self._steps)
        return f"{done} of {len(self._steps)} steps done"

    def _summary(self, setup: SetupPlan) -> str:
        left = self._left
        blocked = next((step for step in setup.steps if step.state == "blocked"), None)
        failed = next((step for step in setup.steps if step.state == "failed"), None)
        log = (
            f" The log is in {escape_text(setup.shorten_path(setup.log))}."
            if self._list.ended
            else ""
        )
        if failed:
            return f"{escape_text(failed.title)}: failed. Press f to see why.{log}"
        if blocked:
            title = escape_text(blocked.title)
            return f"{title} cannot be done yet. Once what is in its way is gone, press y."
        if any(step.state == "undone" for step in setup.steps):
            folder = escape_text(setup.shorten_path(setup.folder))
            return f"{folder} is gone. Press y to make it again."
        if not left:
            return f"Everything is done. {self._next(setup)}"
        if self._list.ended:
            return f"{len(left)} of {len(setup.steps)} steps are left; y goes on.{log}"
        return self._offer(setup)

    def _offer(self, setup: SetupPlan) -> str:
        count = len(self._left)
        which = phrases.choose_plural(count, "the step that is", f"the {count} steps that are")
        does = ""
        if isinstance(setup, EnvironmentSetup) and setup.sizes:
            download, space = setup.sizes
            does = f" That downloads {download} and takes {space} on the disk."
        undo = f"Later, z removes {escape_text(setup.shorten_path(setup.folder))} again."
        already = "Finished steps are skipped. " if count < len(self._steps) else ""
        return f"{already}Nothing has run yet. Press y to run {which} left.{does} {undo}"

    def _next(self, setup: SetupPlan) -> str:
        if setup.profile.first_command:
            return f"Press l for the lesson on its first use.{self._in_a_shell(setup)}"
        if setup.profile.command == "check":
            others = "Lessons use this environment from now on. " * (self._profile == "jax")
            return f"{others}Press c to check it.{self._in_a_shell(setup)}"
        if setup.profile.command == "rehearse":
            return "Press r to rehearse a program with it."
        return f"`tpustarter {setup.profile.next_command}` starts it."

    def _in_a_shell(self, setup: SetupPlan) -> str:
        if not setup.profile.activated:
            return ""
        activate = setup.format_command(("source", str(setup.folder / "bin/activate")))
        return f" In a shell, `{escape_text(activate)}` makes it the Python of your programs."

    def action_check(self) -> None:
        if self._setup:
            request = CheckRequest(
                framework=self._setup.profile.framework, devices=self.tutor.choices.devices
            )
            self.tutor.go.open_checks(request)

    @property
    def _lesson(self) -> str:
        """The id of its lesson, or "" until there is a plan."""
        return self._setup.lesson.id if self._setup else ""

    def action_lesson(self) -> None:
        if not self.tutor.go.back_to_lesson(self._lesson):
            self.tutor.go.open_lesson(self._lesson)

    def action_rehearse(self) -> None:
        self.tutor.go.open_rehearsal()

    @on(RowList.OptionHighlighted)
    def _show_highlighted(self) -> None:
        self._show_details()
        if self.query_one(RowList).highlighted_id != self._list.running:
            self.query_one("#details", VerticalScroll).scroll_home(animate=False)
        self.refresh_bindings()

    def _highlighted_step(self) -> SetupStep | None:
        chosen = self.query_one(RowList).highlighted_id
        return next((step for step in self._steps if step.id == chosen), None)

    def _show_details(self) -> None:
        step = self._highlighted_step()
        self.set_area_title("details", format_commands(step.title).replace("`", "") if step else "")
        if step is None or self._setup is None:
            self.show_details("")
        elif step.id == self._list.running:
            self.show_details(Content(self._list.output))
            self.query_one("#details", VerticalScroll).scroll_end(animate=False)
        else:
            ended = self._list.ended.get(step.id)
            is_alone = self.has_class("-details")
            pieces = [*step_details.describe_step(self._setup, step, ended, with_command=is_alone)]
            if is_alone and self.check_action("run", ()):
                pieces += step_details.describe_other_steps(
                    self._setup, self._left, step, with_reasons=self.has_class("-airy")
                )
            self.show_details(StackedText(pieces))

    def action_details(self) -> None:
        super().action_details()
        self._show_details()
        self.query_one("#details", VerticalScroll).scroll_home(animate=False)

    def on_resize(self) -> None:
        super().on_resize()
        self._show_details()

    def action_explain(self) -> None:
        if ended := self._failed_step():
            why = "a command of this set-up is running" if self._runner.is_busy else ""
            self.tutor.go.open_explanation(
                failed_run.make_step_failure(escape_text(ended.step.title), ended), why_no_look=why
            )

    def _failed_step(self) -> StepEnded | None:
        return self._list.failure(self._highlighted_step())

    @work(thread=True, exclusive=True, exit_on_error=False, group=SETUP)
    def action_undo(self) -> None:
        if self._setup:
            self.tutor.live.release()  # because its Python may be removed
            self.post_message(FactsLoaded(self._setup.removed_by_undo()))

    def _answered(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer:
            self._begin(undo=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        states = {step.state for step in self._steps}
        if action == "run":
            return bool(self._left) and not self._runner.is_busy
        if action == "explain":
            return self._failed_step() is not None
        if action == "lesson":
            return bool(self._lesson) and not self._runner.is_busy
        if action in ("check", "rehearse"):
            profile = self._setup.profile if self._setup else None
            is_for_it = profile and profile.command == action and not profile.first_command
            return bool(is_for_it) and states == {"done"} and not self._runner.is_busy
        if action == "undo":
            steps = (
                [step for step in self._setup.steps if step.id != "python"] if self._setup else []
            )
            return any(step.state == "done" for step in steps) and not self._runner.is_busy
        return super().check_action(action, parameters)
