"""The list of jobs on a project's TPUs, with the state of each."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content

from tpustarter.checking.plan import interpreters
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_connection
from tpustarter.cloud.jobs.job_connection import JobList, JobState, ListedJob, TypedConnection
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.core.problem import Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import TPUS, FactsLoaded
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.row_list import DetailRows, Row, RowList
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    status_word,
    style_sentence,
)
from tpustarter.tui.tpus import tpu_work
from tpustarter.tui.tpus.job_form_screen import JobFormScreen
from tpustarter.tui.tpus.job_screen import JobScreen
from tpustarter.tui.tpus.job_work import JobSubject
from tpustarter.tui.tpus.tpu_rows import make_fact_line
from tpustarter.tui.tpus.tpu_work import StoppedError

WORDS: dict[JobState, tuple[str, str]] = {
    "running": ("run", "RUNNING"),
    "ended": ("done", "ENDED"),
    "failed": ("fail", "FAILED"),
    "stopped": ("warn", "STOPPED"),
    "lost": ("fail", "LOST"),
    "not-started": ("warn", "NOT STARTED"),
    "not-seen": ("notrun", "NOT SEEN"),
    "given-back": ("done", "GIVEN BACK"),
}
"""The status and the word of each state."""
DO: dict[JobState, str] = {
    "running": "Press Enter to follow it.",
    "ended": "Press Enter for its logs and results.",
    "failed": "Press Enter for its logs, and then f, which explains why.",
    "stopped": "Press Enter for its logs and results.",
    "lost": "Press Enter for its logs, as far as they are here.",
    "not-started": "Press Enter, and then s, which removes its folder from the workers.",
    "not-seen": "Press r to ask its workers, or Enter for its logs.",
    "given-back": "Press Enter for its logs. Its TPU is gone, and costs nothing any more.",
}
NOTHING = (
    "No job is known. A job is a command that runs on all workers of a TPU and goes on without a "
    "connection. Its logs and results come back here."
)


class JobListScreen(ListWithDetails):
    """The jobs of a project, the newest first."""

    HELP = """
A **job** is a command that runs on all workers of a TPU. It goes on when you close the laptop, and
its logs and results are kept on the workers until you fetch them.

Opening this screen asks every worker that is ready for its jobs, also for those that were started
from another machine. Those that this machine knows are in the list meanwhile.

* **Enter** opens the marked job: follow it, stop it, get its results, and see why it failed.
* **n** starts a job on the TPU that was marked in the list of TPUs, by a form. **r** asks again.
* The logs of the last jobs stay on this machine, so that they can be read when the TPU is gone.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "start", "new job", tooltip="tpustarter tpu job NAME -- COMMAND"),
        Binding("r", "ask", "ask again", tooltip="tpustarter tpu job list"),
        Binding("x", "stop", "stop waiting", tooltip="the workers' answers are not waited for"),
    ]

    def __init__(self, project: Project, tpu: ListedTpu | None) -> None:
        """Prepare the list.

        Args:
            project: The project of the TPUs.
            tpu: The TPU on which this screen can start a job, if any.
        """
        super().__init__("Jobs on TPUs")
        self._project, self._tpu = project, tpu
        self._jobs: dict[str, ListedJob] = {}
        self._stopped: threading.Event | None = None
        """Stops the current wait; None if there is none."""

    def on_screen_resume(self) -> None:
        """Query the workers again, because another screen may have started or ended a job."""
        self.action_ask()

    def action_ask(self) -> None:
        if self._stopped:
            self._stopped.set()
        self._stopped = threading.Event()
        self._show(JobList(job_connection.list_known_jobs(self._project.name)))
        self.show_text("Asking the workers for their jobs, usually 5 to 20 s.")
        self.refresh_bindings()
        self._ask(self._stopped)

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPUS)
    def _ask(self, stopped: threading.Event) -> None:
        try:
            client, _ = tpu_work.make_client(self.tutor, self._project.name, stopped)
            found = job_connection.list_jobs(client, self._project, None, TypedConnection(None))
        except StoppedError:
            return
        except Problem as problem:
            if not stopped.is_set():
                self.post_message(FactsLoaded(problem))
            return
        if not stopped.is_set():
            self.post_message(FactsLoaded(found))

    def on_facts_loaded(self, message: FactsLoaded[JobList | Problem]) -> None:
        self._stopped = None
        if isinstance(message.facts, Problem):
            self.show_text("The workers were not asked. Press r to try again.")
            self.show_error(message.facts)
        else:
            self._show(message.facts)
            silent = [f"Not asked: {text}." for text in message.facts.unreached]
            self.show_text(escape_text(" ".join(silent)))
        self.refresh_bindings()

    def _show(self, found: JobList) -> None:
        newest = sorted(found.jobs, key=lambda one: one.record.began, reverse=True)
        first = newest[0].record.id if newest else None
        is_new = bool(self._jobs) and first not in self._jobs
        self._jobs = {one.record.id: one for one in newest}
        rows = [_make_row(one, WallClock().now()) for one in newest]
        self.query_one(DetailRows).leading = self._jobs
        self.query_one(RowList).show(
            rows or _describe_nothing(self._tpu), highlight=first if is_new else None
        )
        self.set_class(not rows, "-empty")
        self.set_area_title("rows", phrases.format_count(len(rows), "job") if rows else "No job")
        if any(_was_on(one.record, self._tpu) for one in found.jobs):
            self._tpu = None
        where = f"Project {escape_text(self._project.name)}"
        if self._tpu:
            where += f"; n starts a job on `{escape_text(self._tpu.name)}`"
        self.show_text(where, where="opening")
        self._show_details()

    @property
    def _marked(self) -> ListedJob | None:
        return self._jobs.get(self.query_one(RowList).highlighted_id or "")

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        marked = self._marked
        details = self.query_one("#details")
        details.display = marked is not None
        if marked:
            self.show_details(StackedText(_describe_job(marked)))
            self.set_area_title("details", escape_text(marked.record.id))
            details.scroll_home(animate=False)
        self.refresh_bindings()

    @on(RowList.OptionSelected)
    def _open_job(self, event: RowList.OptionSelected) -> None:
        event.prevent_default()
        if marked := self._marked:
            record = marked.record
            subject = JobSubject(record.tpu, record.zone, self._project, record.id)
            self.tutor.push_screen(JobScreen(subject))

    def action_start(self) -> None:
        if self._tpu:
            self.tutor.push_screen(JobFormScreen(self._tpu, self._project))

    def stop_work(self) -> bool:
        if not self.can_stop or self._stopped is None:
            return False
        self._stopped.set()
        return True

    def action_stop(self) -> None:
        super().action_stop()
        self.show_text("No longer waiting for the workers. Press r to ask again.")

    @property
    def can_stop(self) -> bool:
        return self._stopped is not None and not self._stopped.is_set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "details":
            return False  # the screen of the job shows everything
        if action == "start":
            return self._tpu is not None
        if action == "ask":
            return not self.can_stop
        return super().check_action(action, parameters)


def _was_on(record: JobRecord, tpu: ListedTpu | None) -> bool:
    """Return whether a job has given back exactly this TPU, not another of the same name."""
    created = tpu.nodes[0].created if tpu else None
    is_given_back = record.phase == "given-back" and bool(tpu) and record.tpu == tpu.name
    return is_given_back and record.created == (created.isoformat() if created else "")


def _describe_nothing(tpu: ListedTpu | None) -> Iterator[Row]:
    yield Row(None, HangingText("", style_sentence(NOTHING)))
    if tpu:
        yield Row(None, "")
        then = f"Press n to start one on `{escape_text(tpu.name)}`."
        yield Row(None, HangingText("", style_sentence(then)))


def _make_row(job: ListedJob, now: datetime) -> Row:
    record = job.record
    command = escape_text(worker_connection.quote_command(record.command))
    label = Content.styled(escape_text(record.tpu), "bold") + f"  {command}"
    passed = phrases.format_duration(max(0.0, (now - record.start_time).total_seconds()))
    word = status_word(*WORDS[job.state])
    words = Content.styled(escape_text("; ".join(job.words())), "$muted")
    below = HangingText(Content("  ") + word + "  ", words)
    return Row(record.id, label, f"{passed} ago", (below,))


def _describe_job(job: ListedJob) -> Iterator[LaidOutLines]:
    record = job.record
    yield make_fact_line("do", DO[job.state])
    for text in job.words():
        yield make_fact_line("state", text)
    yield make_fact_line("command", f"`{worker_connection.quote_command(record.command)}`")
    if record.fetch or record.give_back:
        ends = [f"fetch {', '.join(record.fetch)}"] if record.fetch else []
        ends += [f"delete `{record.tpu}`"] if record.give_back else []
        done = "done" if record.is_done else "when it is followed to its end, with Enter"
        yield make_fact_line("then", f"{phrases.join_words(ends)}: {done}")
    yield make_fact_line("logs", interpreters.format_path(record.log_folder, os.environ))
