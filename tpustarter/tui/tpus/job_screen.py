"""The screen of one job: its workers, their output, and the job's end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from tpustarter.checking.plan import interpreters
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_completion, job_run, job_text
from tpustarter.cloud.jobs.job_completion import (
    ResultsFetched,
    StatesRead,
    TpuDeleted,
    TpuDeletionStarted,
    TpuRecreationStarted,
)
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import ConnectionChanged, TpuJob, WorkerJobState
from tpustarter.cloud.jobs.job_start import FolderSent, JobBegun
from tpustarter.core.problem import Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import TPU_CALL, TPU_RUN, EventsArrived, FactsLoaded
from tpustarter.tui.kit.confirm_name import TextDialog
from tpustarter.tui.kit.page import ConfirmWindow
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word
from tpustarter.tui.tpus import job_work, tpu_work
from tpustarter.tui.tpus.job_work import FirstFailure, JobDone, JobOpened, JobSubject, ScreenEvent
from tpustarter.tui.tpus.tpu_work import StoppedError
from tpustarter.tui.tpus.worker_output import PAINT_S, WorkersScreen, WorkerStatus

ANY_RESULT = "out/**"


class JobScreen(WorkersScreen[WorkerJobState]):
    """The workers of a job, and the output of the marked one."""

    HELP = """
The command runs on the workers, and this screen only follows it: leave it, or close the laptop, and
the job goes on. Each line of the list is a worker with the lines that it has written. What the
marked one wrote last is below, and **Enter** gives that the whole screen, and back.

* **Esc** goes back to the list of jobs, and the job goes on. A connection that is lost is made
  again by itself, and no line is missing afterwards.
* **s** ends the command on all workers. The TPU stays, and is billed until you delete it.
* **g** gets results: the files of the job's folder that match a pattern.
* **f** explains why the job failed, from the log of the worker that failed first.
* What the job was started with is done at its end: results are fetched, and the TPU is given back.
  If nobody follows the job then, that is done when this screen is opened the next time.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "don't start", tooltip="Ctrl+C of `tpustarter tpu job start`"),
        Binding("s", "end_job", "stop job", tooltip="tpustarter tpu job stop NAME"),
        Binding("g", "fetch", "get results", tooltip="tpustarter tpu job fetch NAME PATTERN"),
        Binding("f", "why", "why it failed", tooltip="tpustarter explain LOG ..."),
    ]

    def __init__(self, subject: JobSubject) -> None:
        super().__init__(f"Job on {escape_text(subject.tpu)}")
        self._subject = subject
        self._job: TpuJob | None = None
        self._stage = f"Asking Google for the workers of `{escape_text(subject.tpu)}`"
        """The current step, until the workers have output."""
        self._lost: dict[str, str] = {}
        """The reasons for connections that are lost now, keyed by the workers' labels."""
        self._failure: FirstFailure | None = None
        self._news: list[str] = []
        """Events after the job's end, as sentences."""
        self._results: ResultsFetched | None = None
        self._done: JobDone | None = None
        self._is_over = False
        """True if the job is complete or its TPU is gone; then only its logs are read."""
        self._is_calling = False
        """True while a key's action stops the job or fetches results."""
        self.runner = self._run = ScreenRunner[ScreenEvent](
            self, TPU_RUN, self._tick, tick_s=PAINT_S
        )

    @property
    def has_begun(self) -> bool:
        """True if the job runs, or has run."""
        return self._job is not None and self._job.record.phase != "starting"

    def on_mount(self) -> None:
        self._run.begin(self._play)

    def _play(self) -> Iterator[ScreenEvent]:
        stopped = self._run.stopped
        try:
            client, clock = tpu_work.make_client(self.tutor, self._subject.project.name, stopped)
            for event in job_work.start_or_follow_job(self._subject, client, clock):
                if isinstance(event, JobOpened):
                    self._run.on_stop(event.job.cancel_calls)
                yield event
            yield JobDone()
        except StoppedError:
            return
        except Problem as problem:
            yield JobDone(None if stopped.is_set() else problem)

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._run.take_events(message):
            self._take(event)
        if not self._run.is_busy:
            self._done = self._done or JobDone()
            if problem := self._done.problem:
                self.show_error(problem)
        if self._job:
            self._show_job(self._job.record)
        self._tick()
        if not self._run.is_busy:
            self._mark_failure()
            if not self.has_class("-details"):  # the texts around the output may have grown
                self.call_after_refresh(self.query_one("#details").scroll_end, animate=False)
        self.refresh_bindings()

    def _take(self, event: ScreenEvent) -> None:
        match event:
            case JobOpened(job, board):
                self._job, self._board, self._lost = job, board, {}
                self._is_over = job.record.is_done or not job.workers
                self._stage = self._first_stage(job)
            case FolderSent():
                self._stage = "Starting the command"
                if self._subject.order and self._subject.order.profile:
                    self._stage = "Making the environment, which takes some minutes once"
            case JobBegun():
                self._stage = "Waiting for the first line"
            case ConnectionChanged(worker, lost):
                self._lost[worker] = lost
                for part in self._painted:
                    self.query_one(RowList).change(self.make_row(part))
            case FirstFailure():
                self._failure = event
            case ResultsFetched():
                self._results = event
            case TpuRecreationStarted() | TpuDeletionStarted() | TpuDeleted():
                self._news += job_text.describe_job_event(event)
                if isinstance(event, TpuRecreationStarted):
                    self._stage = f"Waiting for a new `{escape_text(event.record.tpu)}`"
            case JobDone():
                self._done = event
            case _:
                pass  # the board shows these

    def _first_stage(self, job: TpuJob) -> str:
        if self._subject.order is None:
            return "Connecting, which usually takes 5 to 20 s"
        return f"Sending the folder to {phrases.format_count(len(job.workers), 'worker')}"

    def _mark_failure(self) -> None:
        """Mark the worker that failed first."""
        if self._failure and self._failure.label:
            rows = map(self.make_row, self._painted)
            self.query_one(RowList).show(rows, highlight=self._failure.label)

    def _show_job(self, record: JobRecord) -> None:
        self.rename(f"Job {escape_text(record.id)}")
        lines = [f"`{worker_connection.quote_command(record.command)}`"]
        ends = [f"fetches {', '.join(record.fetch)}"] if record.fetch else []
        ends += [f"deletes `{record.tpu}`"] if record.give_back else []
        if ends and not record.is_done and not self._done:
            lines.append(f"At its end this screen {phrases.join_words(ends)}.")
        if one := self._results:
            files = f"{phrases.format_count(one.count, 'file')} ({job_text.format_size(one.bytes)})"
            lines.append(f"Results: {files} in {_shown(one.target)}")
        if self._done:
            lines.append(f"Logs: {_shown(record.log_folder)}")
        self.show_text("\n".join(map(escape_text, lines)), where="opening")

    def _tick(self) -> None:
        self.show_text(self._headline(self.show_workers()))

    def _headline(self, parts: Sequence[WorkerStatus[WorkerJobState]]) -> str:
        if self._is_calling:
            return self._stage
        if self._done:
            return escape_text(" ".join(self._describe_end()))
        if self._run.is_stopped:
            return "No longer following. The job goes on."
        if self._is_over:
            return "Reading the logs of the workers."
        passed = phrases.format_duration(self._run.seconds)
        if self._news:
            return escape_text(f"{self._news[-1]} {self._stage}, {passed}.")
        if not any(part.count or part.ended for part in parts):
            return f"{self._stage}, {passed}."
        running = sum(part.ended is None for part in parts)
        lost = [label for label, why in self._lost.items() if why]
        if lost:
            return f"{phrases.join_words(lost)} lost, connecting again. The job goes on there."
        if not running:
            more = "Fetching its results." if self._job and self._job.record.fetch else ""
            return f"The command has ended on all workers. {more}".strip()
        workers = phrases.format_count(len(parts), "worker")
        return f"{running} of {workers} run it. It goes on when you leave."

    def _describe_end(self) -> Iterator[str]:
        """Yield the sentences about a job that the screen no longer follows."""
        job = self._job
        if job is None:
            yield "Nothing was started." if self._subject.order else "Nothing is known of it."
            return
        if self._failure:
            label, what = self._failure.label, self._failure.what
            first = f"{label} failed first" if label and len(job.record.workers) > 1 else "Failed"
            yield f"{first}: {what.rstrip('.')}." if what else f"{first}."
            yield "f explains it."
        elif self._run.is_stopped:
            yield "No longer following. The job goes on."
        elif job.absence:
            yield f"These are the logs that are here, because {job.absence.summary}."
            yield f"{job_text.describe_record(job.record).capitalize()}."
        yield from self._news
        if job.workers and job.record.phase == "ended":
            yield f"`{job.record.tpu}` stays, and is billed until you delete it (d in the list)."

    def make_row(self, part: WorkerStatus[WorkerJobState]) -> Row:
        lines = phrases.format_count(part.count, "line")
        return Row(part.label, f"{part.label:<6} " + status_word(*self._word(part)), lines)

    def _word(self, part: WorkerStatus[WorkerJobState]) -> tuple[str, str]:
        """Return a worker's status, and its description."""
        if state := part.ended:
            text = escape_text(job_text.describe_state(state))
            if state.state == "running":
                return "run", text
            is_good = state.code == 0 and not state.is_stopped
            return ("done" if is_good else "warn" if state.is_stopped else "fail"), text
        if self._is_over:
            return "notrun", "its log, as far as it is here"
        if self._lost.get(part.label):
            return "warn", "lost, connecting again"
        return ("run", "running") if part.count else ("wait", "waiting")

    def describe_end(self, part: WorkerStatus[WorkerJobState]) -> Iterator[LaidOutLines]:
        if why := self._lost.get(part.label):
            yield HangingText("", escape_text(f"{part.label} {why}; connecting again"))

    def action_end_job(self) -> None:
        text = (
            "This ends the command on all workers, with everything that it has started. The TPU "
            "stays, and is billed until you delete it."
        )
        self.tutor.push_screen(ConfirmWindow("Stop the job?", text), self._end_job)

    def _end_job(self, yes: bool | None) -> None:  # noqa: FBT001  the answer of a window
        if yes and self._job:
            self._begin_call("Ending the command on all workers.")
            self._stop_job(self._job)

    def _begin_call(self, doing: str) -> None:
        self._is_calling, self._stage = True, doing
        self._tick()
        self.refresh_bindings()

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPU_CALL)
    def _stop_job(self, job: TpuJob) -> None:
        try:
            states = job.stop_command()
            job.record = job_run.save_job_end(job.record, states)
        except Problem as problem:
            self.post_message(FactsLoaded(problem))
        else:
            self.post_message(FactsLoaded(StatesRead(tuple(states), is_end=True)))

    def action_fetch(self) -> None:
        if job := self._job:
            usual = " ".join(job.record.fetch) or ANY_RESULT
            text = (
                f"Files of the job's folder on every worker come to `{job.record.id}` in "
                f"`{Path.cwd()}`, with a folder for each worker. A pattern such as `out/**` takes "
                "all of a folder; several have a space between them."
            )
            window = TextDialog("Get results", text, usual)
            self.tutor.push_screen(window, partial(self._fetch, job))

    def _fetch(self, job: TpuJob, typed: str | None) -> None:
        if patterns := (typed or "").split():
            self._begin_call("Fetching results.")
            self._fetch_results(job, patterns)

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPU_CALL)
    def _fetch_results(self, job: TpuJob, patterns: Sequence[str]) -> None:
        try:
            for event in job_completion.fetch_results(job, patterns, Path(job.record.id)):
                if isinstance(event, ResultsFetched):
                    self.post_message(FactsLoaded(event))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def on_facts_loaded(self, message: FactsLoaded[StatesRead | ResultsFetched | Problem]) -> None:
        self._is_calling = False
        what = message.facts
        if isinstance(what, Problem):
            self.show_error(what)
        elif isinstance(what, ResultsFetched):
            self._results = what
        else:
            for state in what.states:
                self._board.record_end(state.worker, state)
        if self._job:
            self._show_job(self._job.record)
        self._tick()
        self.refresh_bindings()

    def action_back(self) -> None:
        if self.has_begun and not self.has_class("-details"):
            self.stop_work()
        super().action_back()

    def action_why(self) -> None:
        if self._failure:
            self.tutor.go.open_explanation(self._failure.log)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        job = self._job
        is_there = job is not None and bool(job.workers) and job.record.phase != "given-back"
        can_call = is_there and not self._is_calling
        if action in ("stop", "back") and self.has_begun and not self.has_class("-details"):
            return action == "back"  # the job runs on the workers, so leaving ends nothing
        if action == "end_job":
            return can_call and any(
                part.ended is None or part.ended.state == "running" for part in self._painted
            )
        if action == "fetch":
            return can_call
        if action == "why":
            return self._failure is not None
        return super().check_action(action, parameters)


def _shown(path: Path) -> str:
    return interpreters.format_path(path, os.environ, Path.cwd())
