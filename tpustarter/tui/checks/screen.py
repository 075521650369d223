"""The checks screen, which shows a run's progress and then its results, the worst first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content

from tpustarter.checking.machine_check import CheckRequest, Event, MachineCheck, PlanMade
from tpustarter.checking.results import last_failures, next_step
from tpustarter.checking.results.results import Result, Run
from tpustarter.checking.run.runner import CheckStarted
from tpustarter.core.content import Check
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_progress
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import CHECKS, LOAD, EventsArrived, FactsLoaded
from tpustarter.tui.checks import check_explanation, check_rows, status_line
from tpustarter.tui.checks.check_details import (
    describe_claim,
    describe_findings_and_method,
    describe_result,
    format_check_details,
)
from tpustarter.tui.checks.check_explanation import CheckExplanation
from tpustarter.tui.checks.check_list import CheckHighlight, CheckList
from tpustarter.tui.checks.check_rows import STOPPED, WORDS
from tpustarter.tui.explain import failed_run
from tpustarter.tui.kit.list_with_details import LOW, ListWithDetails
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import StackedText

LISTED_BESIDE = 150
"""Minimum screen width, in columns, for showing the details next to a list of all claims."""
_HELP = """
Each line is one claim about this machine. What was found for the marked claim is below the
list, or beside it in a wide window.

* **Enter** shows all there is to read of a check on the whole screen: its findings, how it
  measures, how its lesson begins, the log of its process and its code. A second Enter brings the
  list back. **g** shows the log alone.
* **p** lists the checks that passed and those that don't apply, which otherwise have one row each.
* **f** explains why a check failed. It searches what the check wrote for failures that are known.
* **o** opens the lesson that explains the check, and **a** runs the marked check again. **s** shows
  the set-up plan where a new environment helps.
* **x** stops the run at once, and **Esc** asks before it does so. The checks that have not run by
  then are listed as such.
* **PASS** means that the claim holds, and **FAIL** that it doesn't. **WARN** has a remark that you
  should read, **ERROR** means that there is no verdict, and **skip** that the check doesn't apply
  here. The last line says on which devices this was shown. Only what ran on a TPU counts for a TPU.
"""


class ChecksScreen(ListWithDetails):
    """A run of checks with their results."""

    HELP = _HELP
    STILL_RUNS = "The checks still run. Press Esc again or x to stop them."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
        Binding("g", "log", "log", tooltip="tpustarter check ID -v"),
        Binding("a", "again", "again", tooltip="tpustarter check ID"),
        Binding("p", "list_all", "list all", tooltip="tpustarter check -v"),
        Binding("p", "fold", "fold", tooltip="one row for what needs no attention"),
        Binding("s", "setup", "set up", tooltip="tpustarter setup jax"),
    ]

    def __init__(self, request: CheckRequest, title: str = "") -> None:
        super().__init__(title or f"Checks, {request.level}")
        self._request = request
        self._list = CheckList()
        self._selfcheck: MachineCheck | None = None
        self.runner = self._runner = ScreenRunner[Event | Run | list[Check]](
            self, CHECKS, self._tick
        )
        self._about: dict[str, CheckExplanation] = {}
        """The explanations read so far, keyed by check id."""
        self._log_of: str | None = None
        """The check whose log is shown; highlighting another check closes the log."""
        self._highlight = CheckHighlight()
        self._opened = ""
        """The check shown on the whole screen, whose row may have been folded since."""

    def on_mount(self) -> None:
        self._start(self._request)

    def _start(self, request: CheckRequest) -> None:
        self._list.begin()
        self._runner.begin(partial(self._play, request))
        self.refresh_bindings()

    def _play(self, request: CheckRequest) -> Iterator[Event | Run | list[Check]]:
        """Run the checks; called in the worker thread."""
        app = self.tutor
        app.live.release()
        selfcheck = MachineCheck(request, machine=app.machine, checks=app.checks)
        self._selfcheck = selfcheck
        yield selfcheck.checks
        self._runner.on_stop(selfcheck.stop)
        yield from self._events(selfcheck)
        if not request.ids:
            lesson_progress.record_check_run(selfcheck.run)
        last_failures.save_failures(selfcheck.run)
        yield selfcheck.run

    def _events(self, selfcheck: MachineCheck) -> Iterator[Event]:
        """Yield a run's events, and record the device holder during the run."""
        live = self.tutor.live
        try:
            for event in selfcheck.events():
                if isinstance(event, CheckStarted) and event.check.framework != "host":
                    platform = selfcheck.run.target.get("platform", "")
                    if platform != "cpu":
                        name, accelerator = "tpustarter check", platform.upper()
                        holder = DeviceHolder(name, os.getpid(), accelerator)
                        live.record_holder(holder, self.stop_work)
                yield event
        finally:
            live.record_release(self.stop_work)

    def show_error(self, error: BaseException) -> None:
        """Show why nothing was run; a stop by the user is not an error."""
        if isinstance(error, Problem) and self._runner.is_stopped:
            self.show_text("Stopped before anything was run. Press Esc to go back.")
        else:
            super().show_error(error)

    @property
    def can_stop(self) -> bool:
        return super().can_stop and not (self._selfcheck and self._selfcheck.is_over)

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._runner.take_events(message):
            self._follow(event)
        if not self._runner.is_busy:
            self._finish()
        self._show()
        self.refresh_bindings()

    def _follow(self, event: Event | Run | list[Check]) -> None:
        if isinstance(event, list):
            self._list.add(event)
        elif isinstance(event, Run):
            self._list.end(event)
        else:
            self._list.follow(event)
            if isinstance(event, PlanMade):
                self.show_text(status_line.format_run_target(event.run), where="opening")

    def _finish(self) -> None:
        if self._list.run is None:  # it failed, or its request was rejected
            self._list.end(Run("", "", self._request.level))
        self._selfcheck = None
        self.show_text("")
        self._show_end()

    def _show_end(self) -> None:
        """Show the run's headline and, if it fits, the next key."""
        run = self._list.run
        if not run or not run.results:
            return
        line, hint = status_line.format_headline(run, self._request), ""
        if self.size.height >= LOW and not self._shows_log:
            result = self._highlighted_result()
            hint = (
                status_line.format_help_key(result)
                if self._opened
                else status_line.format_next_key(run)
            )
        self.show_text(f"{line}\n{hint}" if hint else line)

    def _tick(self) -> None:
        if self._list.running:
            self.query_one(RowList).change(self._list.row(self._list.running, self.size.width))
        elif self._runner.is_stopped or not self._list.results:
            activity = (
                "stopping" if self._runner.is_stopped else "choosing the Python and starting it"
            )
            self.show_text(f"{activity}, {self._list.seconds:.0f} s")

    def _show(self) -> None:
        known, ids = self._list, self._list.ids()
        if not known.run:
            line = status_line.format_progress(known, self.size.width)
            self.show_text(line + ", stopping" * self._runner.is_stopped)
        self.set_area_title(
            "rows", check_rows.format_tally(known.results.values(), len(known.checks))
        )
        rows = self.query_one(RowList)
        follows = self._highlight.is_following(rows.highlighted_id)
        row = known.running if follows else None
        if follows and known.run and ids:
            row = ids[0]
        width, has_names = self.size.width, self.has_class("-airy")
        rows.show([known.row(one, width, has_names=has_names) for one in ids], highlight=row)
        if follows:
            self._highlight.record_row(rows.highlighted_id)
        self._show_details()

    @on(RowList.OptionHighlighted)
    def show_highlighted_details(self) -> None:
        """Show the highlighted check's details, and close another check's log."""
        if self._log_of not in (None, self._chosen):
            self._log_of = None
            self._show_end()
        self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        result, chosen = self._highlighted_result(), self._chosen
        self.set_area_title(
            "details", f"{result.id}: {WORDS[result.status].lower()}" if result else chosen
        )
        if group := self._list.find_folds().get(chosen):
            self.show_details(StackedText(check_rows.describe_folded_checks(chosen, group)))
        elif result and self._log_of == result.id:
            log = clean_text(result.log.rstrip("\n")) or "This check wrote nothing."
            title = Content.styled(f"Log of {escape_text(result.id)}", "bold")
            self.show_details(Content.assemble(title, "\n", log))
        elif check := self._list.checks.get(chosen):
            found = [*(describe_result(result, check.source) if result else describe_claim(check))]
            about = self._about.get(chosen, CheckExplanation())
            if self.has_class("-details"):
                log = clean_text(result.log.rstrip("\n")) if result else ""
                self.show_details(format_check_details(check, found, about, log))
            elif self.size.width >= self.BESIDE:  # the explanation fits as well
                self.show_details(StackedText(describe_findings_and_method(check, found, about)))
                if chosen not in self._about:
                    self._look(check)
            else:
                self.show_details(StackedText(found))
        else:
            self.show_details("")

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self, check: Check) -> None:
        about = check_explanation.read_explanation(check, self.tutor.lessons)
        self.post_message(FactsLoaded((check.id, about)))

    def on_facts_loaded(self, message: FactsLoaded[tuple[str, CheckExplanation]]) -> None:
        name, about = message.facts
        self._about[name] = about
        self._show_details()

    @property
    def _chosen(self) -> str:
        """The id of the opened row, or of the highlighted one if none is open."""
        return self._opened or self.query_one(RowList).highlighted_id or ""

    @property
    def _meant(self) -> str:
        """The id that a key acts on; the user may not have noticed yet that the highlight moved."""
        seen = self._highlight.seen_row if self._runner.is_busy else ""
        return self._opened or (seen if seen in self._list.checks else self._chosen)

    def _highlighted_result(self) -> Result | None:
        return self._list.results.get(self._chosen)

    def action_details(self) -> None:
        meant = self._meant
        if meant in self._list.find_folds() and not self.has_class("-details"):
            self.action_list_all()
        else:
            super().action_details()
            self._opened = meant if self.has_class("-details") else ""
            self._show_details()
            self._show_end()
            if check := self._list.checks.get(self._opened):
                self._look(check)

    def action_list_all(self) -> None:
        rows = self.query_one(RowList)
        chosen, folds = rows.highlighted_id or "", self._list.find_folds()
        follows = self._highlight.is_following(rows.highlighted_id)
        self._list.lists_all = not self._list.lists_all
        self.place_details()
        self._show()
        if highlighted := check_rows.find_counterpart(chosen, folds):
            rows.highlighted = rows.get_option_index(highlighted)
        if follows:  # the user has not moved the highlight
            self._highlight.record_row(rows.highlighted_id)
        self.refresh_bindings()

    action_fold = action_list_all

    def action_log(self) -> None:
        self._log_of = None if self._log_of == self._chosen else self._chosen
        self._show_details()
        self._show_end()
        self.refresh_bindings()

    def action_back(self) -> None:
        if self._shows_log and not self.has_class("-details"):
            self.action_log()
            self.refresh_bindings()
        else:
            super().action_back()

    @property
    def _shows_log(self) -> bool:
        return self._log_of is not None and self._log_of == self._chosen

    def action_explain(self) -> None:
        result = self._failed_result()
        if result:
            run = self._list.run or (self._selfcheck and self._selfcheck.run)
            platform = run.target.get("platform") if run else ""
            why = "checks are running" if self._runner.is_busy else ""
            self.tutor.go.open_explanation(
                failed_run.make_check_failure(result, platform), why_no_look=why
            )

    def _failed_result(self) -> Result | None:
        result = self._highlighted_result()
        return result if result and next_step.is_unexplained(result) else None

    def action_lesson(self) -> None:
        lesson = self._lesson(self._meant)
        if self._runner.is_busy or not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.open_lesson(lesson)

    def action_setup(self) -> None:
        """Open the set-up that the highlighted check refers to, or else the run's first one."""
        result = self._highlighted_result()
        self.tutor.go.open_setup((result and next_step.find_setup(result)) or self._list.setup)

    def _lesson(self, name: str) -> str:
        check = self._list.checks.get(name)
        return check.lesson if check else ""

    def action_again(self) -> None:
        if ids := self._again():
            self._start(CheckRequest(ids=ids, devices=self._request.devices))

    def _again(self) -> tuple[str, ...]:
        """Return the ids of the checks to run again; none while checks are running."""
        chosen = self._chosen
        stopped = self._list.find_folds().get(STOPPED, ()) if chosen == STOPPED else ()
        ids = [chosen] if chosen in self._list.checks else [one.id for one in stopped]
        return () if self._runner.is_busy else tuple(ids)

    def on_unmount(self) -> None:
        """Stop the run a second time, to end a check that would end by itself later."""
        if self._selfcheck:
            self._selfcheck.stop()

    def place_details(self) -> None:
        least = LISTED_BESIDE if self._list.lists_all else self.BESIDE
        self.set_class(self.size.width >= least, "-beside")

    def on_resize(self) -> None:
        super().on_resize()
        if self._list.checks:
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "back" and self._shows_log:
            return True
        if action == "again":
            return bool(self._again())
        if action in ("list_all", "fold"):
            is_listed = self._list.lists_all
            return bool(self._list.find_folds()) and is_listed == (action == "fold")
        if action == "lesson":
            return bool(self._lesson(self._chosen))
        if action == "setup":
            return not self._runner.is_busy and bool(self._list.setup)
        if action == "explain":
            return self._failed_result() is not None
        if action == "log":
            return self._highlighted_result() is not None
        return super().check_action(action, parameters)
