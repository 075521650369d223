"""The slice screen, with the hosts, the results of the checks on all hosts, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content

from tpustarter.checking.machine_check import Event, HostStateChanged, PlanMade
from tpustarter.checking.output import results_text
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.results import headline, last_failures
from tpustarter.checking.results.results import Run
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_progress
from tpustarter.slices.remote_slice_check import RemoteSliceCheck
from tpustarter.slices.slice_check import SliceRequest
from tpustarter.slices.start_options import StartOptions, make_engine
from tpustarter.slices.starting.launch_request import HostCommand
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, SLICE, EventsArrived, FactsLoaded
from tpustarter.tui.checks import check_rows, status_line
from tpustarter.tui.checks.check_details import describe_claim, describe_result
from tpustarter.tui.checks.check_list import CheckList
from tpustarter.tui.kit.list_with_details import LOW, ListWithDetails
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import LaidOutLines, StackedText, group_heading
from tpustarter.tui.slices.host_rows import PREFIX, describe_host_details, make_host_row
from tpustarter.tui.slices.start_question import StartQuestion

MOST_NAMED = 4
"""Maximum number of hosts named in the headline; more hosts are counted."""
DOES = (
    "which start the checks on every host. They use the chips of all hosts for some minutes, and "
    "nothing of them stays there."
)
DEFAULTS = SliceRequest()
"""The time limits of a run, which are the command line's defaults."""


@dataclass(frozen=True)
class PreparedStart:
    """A run whose commands have been built but not started."""

    check: RemoteSliceCheck
    commands: tuple[HostCommand, ...]


class SliceScreen(ListWithDetails):
    """A screen that runs the checks on all hosts of a slice."""

    HELP = """
The checks run on all hosts of a slice at the same time, and have one verdict. Before anything runs,
you see the commands that start them. **Enter** or **y** runs those, and Esc runs nothing.

* The first rows are the hosts, each with what it does: it is being connected, looks at itself,
  waits for the others, runs a check, or has ended. A host that is not reached has the reason beside
  it. The others wait for it, for two minutes at most, and report it as missing.
* Below them are the checks. A claim holds if it holds on every host, and each finding names its
  host.
* **Enter** shows all there is to read of the marked host or check. **o** opens the lesson of a
  check, and **p** lists the checks that share a row.
* **x** ends the run on every host, and **Esc** asks before it does so. It takes up to 10 seconds
  until nothing runs there any more.
* **a** runs all of it again, after you have seen the commands once more.
"""
    STILL_RUNS = "The hosts still run the checks. Press Esc again or x to end it on all of them."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
        Binding("a", "again", "again", tooltip="tpustarter check --all-hosts --start ENGINE"),
        Binding("p", "list_all", "list all", tooltip="tpustarter check --all-hosts -v"),
        Binding("p", "fold", "fold", tooltip="one row for what needs no attention"),
    ]

    def __init__(self, options: StartOptions) -> None:
        super().__init__(f"All hosts of {escape_text(', '.join(options.names) or 'the slice')}")
        self._options = options
        self._prepared: PreparedStart | None = None
        self._hosts: dict[int, HostStateChanged] = {}
        self._list = CheckList()
        self.runner = self._runner = ScreenRunner[Event | Run](self, SLICE, self._tick)

    def on_mount(self) -> None:
        self.action_again()

    def action_again(self) -> None:
        """Prepare a run, and then ask whether to start it."""
        self.show_text("Preparing the commands; nothing runs on a host yet.")
        self._prepare()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _prepare(self) -> None:
        try:
            engine = make_engine(self._options)
            check = RemoteSliceCheck(CheckRequest(), DEFAULTS, engine, checks=self.tutor.checks)
            self.post_message(FactsLoaded(PreparedStart(check, check.prepare())))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def on_facts_loaded(self, message: FactsLoaded[PreparedStart | Problem]) -> None:
        if isinstance(message.facts, Problem):
            self.show_text("Nothing was started. Press a to try again, or Esc to go back.")
            self.show_error(message.facts)
            return
        self._prepared = message.facts
        self.show_text("Nothing has been started yet.")
        title = "Check all hosts: nothing runs yet"
        question = StartQuestion(title, DOES, message.facts.commands, self._options.words)
        self.tutor.push_screen(question, lambda yes: self._answer(yes=yes))

    def _answer(self, *, yes: bool | None) -> None:
        if not yes or not self._prepared:
            self.show_text(
                "Nothing was started. Press a to see the commands again, or Esc to go back."
            )
            return
        check, commands = self._prepared.check, self._prepared.commands
        self._list = CheckList()
        self._list.begin()
        self._list.add(check.list_shared_checks())
        self._hosts = {
            one.host: HostStateChanged(one.host, one.name, "connecting")
            for one in commands
            if one.host is not None
        }
        self._runner.begin(lambda: self._play(check))
        self._show()
        self.refresh_bindings()

    def _play(self, check: RemoteSliceCheck) -> Iterator[Event | Run]:
        """Run the checks on the hosts; called in the worker thread."""
        self._runner.on_stop(check.stop)
        yield from check.events()
        lesson_progress.record_check_run(check.run)
        last_failures.save_failures(check.run)
        yield check.run

    def show_error(self, error: BaseException) -> None:
        """Show why the run has no verdict; a stop by the user is not an error."""
        if isinstance(error, Problem) and self._runner.is_stopped:
            self.show_text("Stopped on every host. Press a to run it again, or Esc to go back.")
        else:
            super().show_error(error)

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._runner.take_events(message):
            self._follow(event)
        if not self._runner.is_busy and self._list.run is None:  # it failed or was stopped early
            self._list.end(Run("", "", "quick"))
        self._show()
        self._tick()
        self.refresh_bindings()

    def _follow(self, event: Event | Run) -> None:
        if isinstance(event, HostStateChanged):
            self._hosts[event.host] = event
        elif isinstance(event, Run):
            self._list.end(event)
        else:
            self._list.follow(event)
            if isinstance(event, PlanMade):
                self.show_text(status_line.format_run_target(event.run), where="opening")

    def _tick(self) -> None:
        run = self._list.run
        if run:
            text = self._format_verdict(run) if run.results else self._explain_nothing()
        elif self._runner.is_stopped:
            text = f"Ending it on every host, {self._runner.seconds:.0f} s, usually at most 10 s."
        elif self._list.results or self._list.running:
            text = status_line.format_progress(self._list, self.size.width)
        else:
            text = f"{self._explain_wait()}, {self._runner.seconds:.0f} s; x ends it on every host."
        self.show_text(text)
        running = self._list.running
        if running and running in {option.id for option in self.query_one(RowList).options}:
            self.query_one(RowList).change(self._list.row(running, self.size.width))

    def _format_verdict(self, run: Run) -> str:
        """Return a run's headline, followed by `NEVER_TRIED` for a slice of TPUs."""
        is_slice = len(run.hosts) > 1 and run.target.get("platform") == "tpu"
        has_room = self.size.height >= LOW
        remark = f"\n{results_text.NEVER_TRIED}" if is_slice and has_room else ""
        return headline.format_headline(run) + remark

    def _explain_wait(self) -> str:
        """Describe the hosts that the run is waiting for before any check has a result."""
        missing = [one for one in self._hosts.values() if one.state == "missing"]
        if missing:
            return f"The others wait for {_name_hosts(missing)}, at most {DEFAULTS.wait_s:g} s"
        coming = [one for one in self._hosts.values() if one.state in ("connecting", "looking")]
        return f"Waiting for {_name_hosts(coming)}" if coming else "All hosts are reached"

    def _explain_nothing(self) -> str:
        if self._runner.is_stopped:
            return "Stopped on every host. Press a to run it again, or Esc to go back."
        return "This run has no verdict. Press Enter on a host to see why, or a to run it again."

    def _show(self) -> None:
        rows, ids, width = self.query_one(RowList), self._list.ids(), self.size.width
        hosts = [make_host_row(self._hosts[one]) for one in sorted(self._hosts)]
        checks = [self._list.row(one, width, has_names=self.has_class("-airy")) for one in ids]
        between = [Row(None, group_heading("On all of them"))] if hosts and checks else []
        rows.show([*hosts, *between, *checks])
        is_left_out = self._list.run is not None and not self._list.results
        total = 0 if is_left_out else len(self._list.checks)
        tally = check_rows.format_tally(self._list.results.values(), total)
        count = phrases.format_count(len(hosts), "host") if hosts else ""
        self.set_area_title("rows", ": ".join(filter(None, (count, tally))))
        self._show_details()

    @property
    def _highlighted(self) -> str:
        return self.query_one(RowList).highlighted_id or ""

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        highlighted = self._highlighted
        self.set_area_title("details", highlighted.replace(":", " "))
        if highlighted.startswith(PREFIX):
            self.show_details(
                StackedText(self._describe_host(int(highlighted.removeprefix(PREFIX))))
            )
        elif group := self._list.find_folds().get(highlighted):
            self.show_details(StackedText(check_rows.describe_folded_checks(highlighted, group)))
        elif check := self._list.checks.get(highlighted):
            result = self._list.results.get(highlighted)
            found = describe_result(result, check.source) if result else describe_claim(check)
            self.show_details(StackedText(found))
        else:
            self.show_details("")
        self.refresh_bindings()

    def _describe_host(self, host: int) -> Iterator[LaidOutLines | Content]:
        run = self._prepared.check.run if self._prepared else None
        facts = next((one for one in run.hosts if one["host"] == host), None) if run else None
        commands = self._prepared.commands if self._prepared and self.has_class("-details") else ()
        command = next((one for one in commands if one.host == host), None)
        return describe_host_details(self._hosts[host], facts, command)

    def action_details(self) -> None:
        if self._highlighted in self._list.find_folds() and not self.has_class("-details"):
            self.action_list_all()
        else:
            super().action_details()
            self._show_details()

    def action_list_all(self) -> None:
        """Toggle between listing and folding the checks that share a row."""
        chosen, folds = self._highlighted, self._list.find_folds()
        self._list.lists_all = not self._list.lists_all
        self._show()
        if highlighted := check_rows.find_counterpart(chosen, folds):
            rows = self.query_one(RowList)
            rows.highlighted = rows.get_option_index(highlighted)
        self.refresh_bindings()

    action_fold = action_list_all

    def action_lesson(self) -> None:
        self.tutor.go.open_lesson(self._lesson)

    @property
    def _lesson(self) -> str:
        check = self._list.checks.get(self._highlighted)
        return check.lesson if check else ""

    def on_resize(self) -> None:
        super().on_resize()
        if self._list.checks:
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "again":
            return not self._runner.is_busy
        if action in ("list_all", "fold"):
            is_listed = self._list.lists_all
            return bool(self._list.find_folds()) and is_listed == (action == "fold")
        if action == "lesson":
            return self.is_mounted and bool(self._lesson)
        return super().check_action(action, parameters)


def _name_hosts(hosts: Sequence[HostStateChanged]) -> str:
    if len(hosts) > MOST_NAMED:
        return f"{len(hosts)} hosts"
    numbers = phrases.join_words([str(one.host) for one in hosts])
    return f"{phrases.choose_plural(len(hosts), 'host', 'hosts')} {numbers}"
