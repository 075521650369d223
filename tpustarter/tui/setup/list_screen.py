"""The list of set-ups: environments, those for the user's path first, and this machine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content

from tpustarter.checking.plan.environments import SERVED
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES, SetupProfile
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.setup_plan import SetupPlan
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.home import course_facts
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.row_list import DelayedDetailRows, DetailRows, Row, RowList
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    adapt_commands,
    group_heading,
    status_word,
    style_sentence,
)
from tpustarter.tui.setup.step_details import WORDS

STYLES = {"ready": "pass", "begun": "next", "not here": "skip", "done": "pass"}
"""The styles of the coloured states."""
ONE_LINE = 116
"""Screen width, in columns, from which a set-up's purpose is kept on one line of the list."""
LOOKING = "..."
"""The state of a set-up that has not been planned yet."""
_ADDRESS = re.compile(r":? https?://\S+")


@dataclass(frozen=True)
class ListedSetup:
    """A listed set-up with its plan for this machine."""

    profile: SetupProfile
    plan: SetupPlan | None
    """The plan, or None if planning has failed or is not finished."""
    trouble: str = ""
    """The reason why planning has failed, or ""."""
    is_on_path: bool = False
    """True if a lesson on the user's path runs in it; servers do not count."""

    @property
    def is_machine(self) -> bool:
        """True if the set-up changes this machine instead of creating an environment."""
        return self.profile.name in MACHINE

    @property
    def state(self) -> str:
        """The set-up's state in a word or two, such as `done`."""
        if self.plan is None:
            return "not here" if self.trouble else LOOKING
        if self.is_machine:
            return self._state_of_machine(self.plan)
        steps = {step.id: step.state for step in self.plan.steps}
        if not steps or "blocked" in steps.values():
            return "not here"
        if {*steps.values()} == {"done"}:
            return "ready"
        return "begun" if steps.get("environment") == "done" else "not made"

    @staticmethod
    def _state_of_machine(plan: SetupPlan) -> str:
        """Return the state, which counts remaining steps, because they are independent."""
        states = [step.state for step in plan.steps]
        if left := states.count("todo"):
            return f"{left} left"
        return "done" if "done" in states or "blocked" not in states else "not here"

    @property
    def blocked_reason(self) -> str:
        """The reason why no step can be done on this machine, or "" if any can or is done."""
        if not self.is_machine or self.state != "not here":
            return ""
        steps = self.plan.steps if self.plan else []
        why = next((step.note for step in steps if step.state == "blocked"), self.trouble)
        return _ADDRESS.sub("", why)  # a row would wrap the web address; the plan shows it


class SetupListScreen(ListWithDetails):
    """The list of set-ups."""

    HELP = """
The first lines are environments that tpustarter can make, each in a folder of its own. Those that
the lessons of your path use come first. The last ones change this machine itself: its settings, its
packages and files of yours. **Enter** shows the plan of the marked one, and nothing is run before
you have seen its commands and pressed `y`. **l** opens the lesson on it.

* **ready** means that the environment is there, and that a check has proved it.
* **begun** means that some steps are done. The plan goes on from there.
* **not made** means that nothing of it exists yet.
* **3 left** means that three steps of this machine's set-up are not done yet, and **done** that
  none is left.
* **not here** means that it can't be done on this machine. The details say why.
"""
    BESIDE = 150
    """Larger than usual, because rows show the purpose and the details fit below the list."""
    ROWS = DelayedDetailRows
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "lesson", "lesson", tooltip="tpustarter learn, the lesson of this set-up"),
    ]

    def __init__(self, first_highlighted: str = "") -> None:
        self._first_highlighted = first_highlighted
        super().__init__("Set up an environment, or this machine")
        self._setups: dict[str, ListedSetup] = {}
        self._left = ""
        """The set-up whose plan was last opened."""

    def on_mount(self) -> None:
        self.query_one(DetailRows).leading = {**PROFILES, **MACHINE}
        self.show_text("looking at this machine ...")

    def on_screen_resume(self) -> None:
        """Plan the set-ups again, because the last opened one may have been run."""
        if left := self._setups.get(self._left):
            self._setups[self._left] = replace(left, plan=None, trouble="")
            self._show()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self) -> None:
        app = self.tutor
        course = course_facts.read_course(app.lessons)
        path = app.find_path(course.paths)
        order = list(path.lessons) if path else []
        setups = [self._plan_setup(profile, order) for profile in PROFILES.values()]
        place = {
            one.profile.name: order.index(one.plan.lesson.id)
            for one in setups
            if one.is_on_path and one.plan
        }
        setups.sort(key=lambda one: place.get(one.profile.name, len(order)))
        known_before = [one for one in self._setups.values() if one.is_machine]
        machine = known_before or [ListedSetup(profile, None) for profile in MACHINE.values()]
        self.post_message(FactsLoaded([*setups, *machine]))
        # Machine plans take longer, so show the others first.
        machine = [self._plan_setup(profile, order) for profile in MACHINE.values()]
        self.post_message(FactsLoaded([*setups, *machine]))

    def _plan_setup(self, profile: SetupProfile, lessons: Collection[str]) -> ListedSetup:
        """Plan a set-up; `lessons` has the ids of the lessons on the user's path."""
        app = self.tutor
        try:
            if profile.name in MACHINE:
                values = app.setup_values.get(profile.name, {})
                plan = MachineSetup(
                    profile.name, machine=app.machine, lessons=app.lessons, values=values
                )
                return ListedSetup(profile, plan)
            plan = EnvironmentSetup(
                profile.name, machine=app.machine, lessons=app.lessons, checks=app.checks
            )
        except Problem as problem:
            return ListedSetup(profile, None, str(problem))
        is_wanted = plan.lesson.id in lessons and profile.name not in SERVED
        return ListedSetup(profile, plan, is_on_path=is_wanted)

    def on_facts_loaded(self, message: FactsLoaded[list[ListedSetup]]) -> None:
        self._setups = {one.profile.name: one for one in message.facts}
        self._show()

    def on_resize(self) -> None:
        super().on_resize()
        if self._setups:
            self._show()

    def _show(self) -> None:
        rows = self.query_one(RowList)
        first = self._first_highlighted or next(iter(self._setups))
        rows.show([*self._rows()], highlight=rows.highlighted_id or first)
        states = [one.state for one in self._setups.values() if not one.is_machine]
        ready = f"{states.count('ready')} of {len(states)} environments ready"
        self.set_area_title("rows", "looking at this machine ..." if LOOKING in states else ready)
        self.show_text("Enter shows what would be run. Nothing runs before you have seen it.")
        self._show_details()
        self.refresh_bindings()

    def _rows(self) -> Iterator[Row]:
        width = max(map(len, self._setups)) + 2
        group = ""
        others = "Other environments"
        if not any(one.is_on_path for one in self._setups.values()):
            others = "Environments"
        for name, one in self._setups.items():
            wanted = "Environments for your path" if one.is_on_path else others
            wanted = "This machine" if one.is_machine else wanted
            if wanted != group:
                if group:
                    yield Row(None, "")
                group = wanted
                yield Row(None, group_heading(group))
            label = Content.styled(f"{name:<{width}}", "bold")
            state = status_word(STYLES.get(one.state, ""), one.state, 9)
            whole = state + label + adapt_commands(style_sentence(one.profile.meaning))
            why = style_sentence(one.blocked_reason).stylize("$muted")
            below = (HangingText(" " * (9 + width), why),) if one.blocked_reason else ()
            hang = 0 if self.size.width >= ONE_LINE else 9 + width
            yield Row(name, whole, more=below, hang=hang)

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        one = self._setups.get(self.query_one(RowList).highlighted_id or "")
        self.set_area_title("details", one.profile.name if one else "")
        has_room = self.has_class("-airy") and self.has_class("-beside")
        self.show_details(StackedText(_details(one, with_commands=has_room)) if one else "")

    def action_details(self) -> None:
        if chosen := self.query_one(RowList).highlighted_id:
            self._left = chosen
            self.tutor.go.open_setup(chosen)

    def action_lesson(self) -> None:
        if (lesson := self._lesson()) and not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.open_lesson(lesson)

    def _lesson(self) -> str:
        one = self._setups.get(self.query_one(RowList).highlighted_id or "")
        return one.plan.lesson.id if one and one.plan else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "lesson":
            return bool(self._lesson())
        return super().check_action(action, parameters)


def _details(one: ListedSetup, *, with_commands: bool) -> Iterator[LaidOutLines | Content]:
    """Yield a set-up's folder, command and lesson, and its steps with their states.

    Args:
        one: The set-up.
        with_commands: Whether to include each step's command or file.
    """
    if one.plan is None:
        yield HangingText("", style_sentence(one.trouble or "looking at this machine ..."))
        return
    yield adapt_commands(
        style_sentence(f"{one.profile.meaning[:1].upper()}{one.profile.meaning[1:]}")
    )
    yield Content("")
    if not one.is_machine:
        yield HangingText("folder   ", escape_text(one.plan.shorten_path(one.plan.folder)))
    yield HangingText("command  ", adapt_commands(Content(f"tpustarter setup {one.profile.name}")))
    yield HangingText("read     ", f"{escape_text(one.plan.lesson.id)} (l)")
    if with_commands:
        yield Content("")
    for step in one.plan.steps:
        style = {"done": "pass", "blocked": "warn"}.get(step.state, "wait")
        yield HangingText(
            status_word(style, WORDS.get(step.state, step.state), 9), style_sentence(step.title)
        )
        if step.state == "blocked":
            yield HangingText(" " * 9, style_sentence(step.note))
        elif with_commands and step.state != "done":
            yield HangingText(
                " " * 9, Content.styled(escape_text(_format_action(step, one.plan)), "$muted")
            )


def _format_action(step: SetupStep, plan: SetupPlan) -> str:
    if step.file:
        return f"to {plan.shorten_path(Path(step.file))}: {len(step.writes)} lines"
    return plan.format_command(step.command) if step.command else step.changes
