"""Checks: live while they run, worst first when done, one key from the explanation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.content import Content
from textual.timer import Timer

from tpustarter.checking import failures
from tpustarter.checking.results import Result, Run
from tpustarter.checking.runner import Started
from tpustarter.checking.selfcheck import Began, Event, Request, SelfCheck
from tpustarter.content import Check
from tpustarter.learning import progress
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import check_about, check_line, check_rows, failed
from tpustarter.tui.check_about import About
from tpustarter.tui.check_details import details, explained, of_claim, whole
from tpustarter.tui.check_list import CheckList
from tpustarter.tui.check_mark import CheckMark
from tpustarter.tui.check_rows import STOPPED, WORDS
from tpustarter.tui.lines import Stack
from tpustarter.tui.messages import CHECKS, LOOK, Arrived, Inbox, Looked, feed
from tpustarter.tui.plain import plain
from tpustarter.tui.screens import checks_keys
from tpustarter.tui.screens.split import LOW, Split
from tpustarter.tui.widgets import Rows

LISTED_BESIDE = 150
"""Columns from which a list of all claims leaves room for the details beside it."""


class Checks(Split):
    """Runs checks, and shows what they found."""

    HELP = checks_keys.HELP
    STILL_RUNS = "The checks still run. Press Esc again or x to stop them."
    BINDINGS: ClassVar[list[BindingType]] = checks_keys.BINDINGS

    def __init__(self, request: Request, title: str = "") -> None:
        super().__init__(title or f"Checks, {request.level}")
        self._request = request
        self._list = CheckList()
        self._selfcheck: SelfCheck | None = None
        self._inbox: Inbox[Event | Run | list[Check]] = Inbox()
        self._clock: Timer | None = None
        self._stopped = False
        self._about: dict[str, About] = {}
        """What is known of the checks that were looked at."""
        self._log_of: str | None = None
        """The check whose log is shown; that of the next one is not."""
        self._mark = CheckMark()
        self._opened = ""
        """The check that has the whole screen; its row may be folded meanwhile."""

    def on_mount(self) -> None:
        """Start at once: that is what the key that led here says."""
        super().on_mount()
        self._start(self._request)

    def _start(self, request: Request) -> None:
        self._stopped, self._selfcheck = False, None
        self._list.begin()
        self._inbox = Inbox()
        self._clock = self.set_interval(1.0, self._tick)
        self._tick()
        self.refresh_bindings()
        self._work(request, self._inbox)

    @work(thread=True, exclusive=True, exit_on_error=False, group=CHECKS)
    def _work(self, request: Request, inbox: Inbox[Event | Run | list[Check]]) -> None:
        app = self.tutor
        app.live.release()
        try:
            selfcheck = SelfCheck(request, machine=app.machine, checks=app.checks)
            self._selfcheck = selfcheck
            feed(self, inbox, [selfcheck.checks])
            if self._stopped:
                selfcheck.stop()
            feed(self, inbox, self._events(selfcheck))
            if not request.ids:
                progress.remember_check(selfcheck.run)
            failures.remember(selfcheck.run)
            feed(self, inbox, [selfcheck.run])
        except BaseException:
            feed(self, inbox, [Run("", "", request.level)])
            raise

    def _events(self, selfcheck: SelfCheck) -> Iterator[Event]:
        """Yield what happens; every heading says so while the device is held."""
        live = self.tutor.live
        try:
            for event in selfcheck.events():
                if isinstance(event, Started) and event.check.framework != "host":
                    platform = selfcheck.run.target["platform"]
                    if platform != "cpu":
                        holder = f"{platform.upper()}: tpustarter check, pid {os.getpid()}"
                        live.hold(holder, self.stop_work)
                yield event
        finally:
            live.let_go(self.stop_work)

    def show_error(self, error: BaseException) -> None:
        """Show why nothing was run; that it was stopped is no error."""
        if isinstance(error, Problem) and self._stopped:
            self.say("Stopped before anything was run. Press Esc to go back.")
        else:
            super().show_error(error)

    @property
    def _is_busy(self) -> bool:
        return self._clock is not None

    @property
    def can_stop(self) -> bool:
        """Whether a run goes on that was not stopped yet."""
        is_over = self._selfcheck is not None and self._selfcheck.is_over
        return self._is_busy and not self._stopped and not is_over

    def on_arrived(self, message: Arrived) -> None:
        """Show what has happened since."""
        if message.inbox is not self._inbox:
            return
        for event in message.inbox.take():
            self._follow(event)
        self._show()
        self.refresh_bindings()

    def _follow(self, event: Event | Run | list[Check]) -> None:
        if isinstance(event, list):
            self._list.add(event)
        elif isinstance(event, Run):
            self._finish(event)
        else:
            self._list.follow(event)
            if isinstance(event, Began):
                self.say(check_line.opening(event.run), where="opening")

    def _finish(self, run: Run) -> None:
        if self._clock:
            self._clock.stop()
        self._clock, self._selfcheck = None, None
        self._list.end(run)
        self.say("")
        self._say_the_end()

    def _say_the_end(self) -> None:
        """Say what a run came to, and where there is room the key that leads on from here."""
        run = self._list.run
        if not run or not run.results:
            return
        line, hint = check_line.at_the_end(run, self._request), ""
        if self.size.height >= LOW and not self._shows_log:
            result = self._marked_result()
            hint = check_line.what_helps(result) if self._opened else check_line.what_to_press(run)
        self.say(f"{line}\n{hint}" if hint else line)

    def _tick(self) -> None:
        """Say what is waited for; runs only while checks do."""
        if self._list.running:
            self.query_one(Rows).change(self._list.row(self._list.running, self.size.width))
        elif self._stopped or not self._list.results:
            activity = "stopping" if self._stopped else "choosing the Python and starting it"
            self.say(f"{activity}, {self._list.seconds:.0f} s")

    def _show(self) -> None:
        """Paint the rows, and how far the run is."""
        known, ids = self._list, self._list.ids()
        if not known.run:
            line = check_line.progress(known.results.values(), len(known.checks), self.size.width)
            self.say(line + ", stopping" * self._stopped)
        self.entitle("rows", check_rows.tally(known.results.values(), len(known.checks)))
        rows = self.query_one(Rows)
        follows = self._mark.follows(rows.chosen)
        mark = self._mark.place(known, ids) if follows else None
        width, has_names = self.size.width, self.has_class("-airy")
        rows.show([known.row(one, width, has_names=has_names) for one in ids], highlight=mark)
        if follows:
            self._mark.went_to(rows.chosen)
        self._show_details()

    @on(Rows.OptionHighlighted)
    def highlighted(self) -> None:
        """Show what was found for the marked check; a log was that of another one."""
        if self._log_of not in (None, self._chosen):
            self._log_of = None
            self._say_the_end()
        self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        result, chosen = self._marked_result(), self._chosen
        self.entitle(
            "details", f"{result.id}: {WORDS[result.status].lower()}" if result else chosen
        )
        if group := self._list.folds().get(chosen):
            self.show_details(Stack(check_rows.details(chosen, group)))
        elif result and self._log_of == result.id:
            log = plain(result.log.rstrip("\n")) or "This check wrote nothing."
            title = Content.styled(f"Log of {visible(result.id)}", "bold")
            self.show_details(Content.assemble(title, "\n", log))
        elif check := self._list.checks.get(chosen):
            found = [*(details(result, check.source) if result else of_claim(check))]
            about = self._about.get(chosen, About())
            if self.has_class("-details"):
                log = plain(result.log.rstrip("\n")) if result else ""
                self.show_details(whole(check, found, about, log))
            elif self.size.width >= self.BESIDE:  # there is room for it
                self.show_details(Stack(explained(check, found, about)))
                if chosen not in self._about:
                    self._look(check)
            else:
                self.show_details(Stack(found))
        else:
            self.show_details("")

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look(self, check: Check) -> None:
        about = check_about.read(check, self.tutor.lessons)
        self.post_message(Looked((check.id, about)))

    def on_looked(self, message: Looked) -> None:
        """Show what the file of a check and its lesson say of it."""
        name, about = message.what
        self._about[name] = about
        self._show_details()

    @property
    def _chosen(self) -> str:
        """The check that is looked at: the one that was opened, else the marked one."""
        return self._opened or self.query_one(Rows).chosen or ""

    @property
    def _meant(self) -> str:
        """The check that a key is for: who pressed it may not have seen the mark go on."""
        seen = self._mark.seen if self._is_busy else ""
        return self._opened or (seen if seen in self._list.checks else self._chosen)

    def _marked_result(self) -> Result | None:
        return self._list.results.get(self._chosen)

    def action_details(self) -> None:
        """Show the findings; a row that stands for many is unfolded."""
        meant = self._meant
        if meant in self._list.folds() and not self.has_class("-details"):
            self.action_list_all()
        else:
            super().action_details()
            self._opened = meant if self.has_class("-details") else ""
            self._show_details()
            self._say_the_end()
            if check := self._list.checks.get(self._opened):
                self._look(check)

    def action_list_all(self) -> None:
        """List what is folded by name, and fold it again."""
        rows = self.query_one(Rows)
        chosen, folds = rows.chosen or "", self._list.folds()
        follows = self._mark.follows(rows.chosen)
        self._list.lists_all = not self._list.lists_all
        self._place_details()
        self._show()
        if marked := check_rows.counterpart(chosen, folds):
            rows.highlighted = rows.get_option_index(marked)
        if follows:  # the mark is where it was put: the key was no move
            self._mark.went_to(rows.chosen)
        self.refresh_bindings()

    def action_fold(self) -> None:
        """Give what needs no attention one row again."""
        self.action_list_all()

    def action_log(self) -> None:
        """Show what the check's process wrote, and back."""
        self._log_of = None if self._log_of == self._chosen else self._chosen
        self._show_details()
        self._say_the_end()
        self.refresh_bindings()

    def action_back(self) -> None:
        """Close the log first, then as everywhere."""
        if self._shows_log and not self.has_class("-details"):
            self.action_log()
            self.refresh_bindings()
        else:
            super().action_back()

    @property
    def _shows_log(self) -> bool:
        """Whether the log of the marked check stands in the place of what it found."""
        return self._log_of is not None and self._log_of == self._chosen

    def action_explain(self) -> None:
        """Say why the marked check failed, as far as that is known."""
        result = self._failed_result()
        if result:
            run = self._list.run or (self._selfcheck and self._selfcheck.run)
            platform = run.target.get("platform") if run else ""
            why = "checks are running" if self._is_busy else ""
            self.tutor.go.to_explanation(failed.check(result, platform), why_no_look=why)

    def _failed_result(self) -> Result | None:
        result = self._marked_result()
        if result is None or result.cause:  # the details say why
            return None
        return result if result.status in ("fail", "error") else None

    def action_lesson(self) -> None:
        """Open the lesson that explains the marked check; go back to it where it is open."""
        lesson = self._lesson(self._meant)
        if self._is_busy or not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.to_lesson(lesson)

    def action_setup(self) -> None:
        """Show the set-up plan: what the marked check names, else the first one that names any."""
        results = [self._marked_result(), *map(self._list.results.get, self._list.ids())]
        named = (check_line.setup_of(result) for result in results if result)
        self.tutor.go.to_setup(next(filter(None, named), "jax"))

    def _needs_setup(self) -> bool:
        """Return whether set-up is what a result, or the headline, asks for."""
        return not self._is_busy and self._list.asks_for_setup

    def _lesson(self, name: str) -> str:
        check = self._list.checks.get(name)
        return check.lesson if check else ""

    def action_again(self) -> None:
        """Run the marked check once more, or the marked row of those that were stopped."""
        if ids := self._again():
            self._start(Request(ids=ids, devices=self._request.devices))

    def _again(self) -> tuple[str, ...]:
        """Return what can be run again; empty while something runs."""
        chosen = self._chosen
        stopped = self._list.folds().get(STOPPED, ()) if chosen == STOPPED else ()
        ids = [chosen] if chosen in self._list.checks else [one.id for one in stopped]
        return () if self._is_busy else tuple(ids)

    def stop_work(self) -> bool:
        """Stop the run."""
        if not self.can_stop:
            return False
        self._stopped = True
        if self._selfcheck:
            self._selfcheck.stop()
        return True

    def on_unmount(self) -> None:
        """Stop the run once more: nobody will read what a check that ends by itself has shown."""
        if self._selfcheck:
            self._selfcheck.stop()

    def action_stop(self) -> None:
        """Stop the run, and say so at once."""
        super().action_stop()
        self._tick()

    def _place_details(self) -> None:
        """Put the details beside the list, or below one that needs the width for its claims."""
        least = LISTED_BESIDE if self._list.lists_all else self.BESIDE
        self.set_class(self.size.width >= least, "-beside")

    def on_resize(self) -> None:
        """Lay the rows out anew."""
        super().on_resize()
        self._place_details()
        if self._list.checks:
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now; a log is left before anything is stopped."""
        if action == "back" and self._shows_log:
            return True
        if action == "again":
            return bool(self._again())
        if action in ("list_all", "fold"):
            is_listed = self._list.lists_all
            return bool(self._list.folds()) and is_listed == (action == "fold")
        if action == "lesson":
            return bool(self._lesson(self._chosen))
        if action == "setup":
            return self._needs_setup()
        if action == "explain":
            return self._failed_result() is not None
        if action == "log":
            return self._marked_result() is not None
        return super().check_action(action, parameters)
